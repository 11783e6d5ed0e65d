#include "base/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/text.h"
#include "scree/error.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& file, const std::string& what) {
  throw InputError(fmt::format("{}: {}", shown(file), what));
}

}  // namespace

std::string shown(const fs::path& file) { return one_line(file.string(), 300); }

std::string lower_extension(const fs::path& file) {
  std::string extension = file.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

std::string read_file(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found) fail(file, "no such file");
  if (status.type() == fs::file_type::directory) fail(file, "is a directory, expected a file");
  if (status.type() == fs::file_type::none) fail(file, fmt::format("cannot be read ({})", error.message()));
  if (status.type() != fs::file_type::regular) fail(file, "is not a regular file");
  const auto size = fs::file_size(file, error);
  if (error) fail(file, fmt::format("cannot be read ({})", error.message()));
  if (size > kLargestFile) fail(file, fmt::format("is {} bytes, expected at most {}", size, kLargestFile));
  std::ifstream in(file, std::ios::binary);
  if (!in) fail(file, fmt::format("cannot be opened ({})", std::strerror(errno)));
  std::string bytes(size, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(size));
  if (in.bad() || static_cast<size_t>(in.gcount()) != size) fail(file, "cannot be read to its end");
  return bytes;
}

}  // namespace scree
