#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/files.h"
#include "base/text.h"
#include "formats/mesh_formats.h"
#include "formats/texture_colour.h"
#include "scree/error.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostNotes = 8;
constexpr size_t kMostTextures = 256;

// %20 and the like as bytes.
std::string decode_percent(std::string_view uri) {
  std::string text;
  for (size_t i = 0; i < uri.size(); ++i) {
    unsigned byte = 0;
    const bool escape = uri[i] == '%' && i + 2 < uri.size() && std::isxdigit(static_cast<unsigned char>(uri[i + 1])) &&
                        std::isxdigit(static_cast<unsigned char>(uri[i + 2]));
    if (escape) {
      std::from_chars(uri.data() + i + 1, uri.data() + i + 3, byte, 16);
      i += 2;
    }
    text += escape ? static_cast<char>(byte) : uri[i] == '\\' ? '/' : uri[i];
  }
  return text;
}

// How many folders above its start the path climbs.
int climb(const fs::path& path) {
  int depth = 0, lowest = 0;
  for (const fs::path& part : path) {
    if (part == "..")
      lowest = std::min(lowest, --depth);
    else if (part != "." && !part.empty())
      ++depth;
  }
  return -lowest;
}

}  // namespace

std::string MeshCompanions::read(std::string_view uri, int levels_up) {
  const std::string decoded = decode_percent(uri);
  if (!folder_) throw InputError(fmt::format("{} is another file, and there is none beside bytes", in_quotes(uri)));
  if (decoded.empty() || decoded.find('\0') != std::string::npos || decoded.find("://") != std::string::npos ||
      fs::path(decoded).is_absolute() || climb(decoded) > levels_up)
    throw InputError(fmt::format("{} is not read, expected a relative path within the mesh's folder{}", in_quotes(uri),
                                 levels_up > 0 ? fmt::format(" or {} above it", levels_up) : ""));
  const fs::path file = *folder_ / decoded;
  std::string bytes = read_file(file);
  if (std::find(files_.begin(), files_.end(), file) == files_.end()) files_.push_back(file);
  return bytes;
}

std::optional<Colour> MeshCompanions::texture(std::string_view uri) {
  // What an exporter left of its own machine, such as file:///C:/work/skin.png: the image may have come along.
  const size_t colon = uri.find(':');
  if (colon != std::string_view::npos || uri.starts_with('/')) {
    const size_t slash = uri.find_last_of("/\\");
    if (slash != std::string_view::npos) uri.remove_prefix(slash + 1);
  }
  const auto [it, is_new] = textures_.try_emplace(std::string(uri));
  if (!is_new) return it->second;
  if (textures_.size() > kMostTextures) {
    note(fmt::format("no colour from textures beyond the first {}", kMostTextures));
    return std::nullopt;
  }
  try {
    return it->second = mean_colour(read(uri, 2), in_quotes(uri));
  } catch (const InputError& error) {
    note(fmt::format("no colour from texture {}: {}", in_quotes(uri), error.what()));
    return std::nullopt;
  }
}

void MeshCompanions::note(const std::string& what) {
  const std::string line = one_line(what, 300);
  if (notes_.size() < kMostNotes && std::find(notes_.begin(), notes_.end(), line) == notes_.end())
    notes_.push_back(line);
}

}  // namespace scree
