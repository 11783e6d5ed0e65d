#include "run/seal.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "scree/error.h"
#include "scree/write_error.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTitle = "scree run file, HDF5 from byte 512\n";

// FNV-1a notices every change of one byte, and others but for one in 2^64.
std::string expected_seal(std::istream& stream) {
  std::vector<char> block(1 << 20);
  std::uint64_t hash = 0xcbf29ce484222325u, size = kSealSize;
  stream.seekg(static_cast<std::streamoff>(kSealSize));
  while (stream.read(block.data(), std::ssize(block)), stream.gcount() > 0) {
    size += static_cast<std::uint64_t>(stream.gcount());
    for (std::streamsize i = 0; i < stream.gcount(); ++i)
      hash = (hash ^ static_cast<unsigned char>(block[static_cast<size_t>(i)])) * 0x100000001b3u;
  }
  std::string seal = fmt::format("{}bytes {}\nfnv1a {:016x}\n", kTitle, size, hash);
  seal.resize(kSealSize, '\0');
  return seal;
}

}  // namespace

void seal_file(const fs::path& file) {
  std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
  const std::string seal = expected_seal(stream);
  stream.clear();
  stream.seekp(0);
  stream.write(seal.data(), std::ssize(seal));
  stream.close();
  if (!stream) throw WriteError(fmt::format("{}: cannot write: the seal did not fit", file.string()));
}

void check_seal(const fs::path& file) {
  const auto fail = [&](const char* what) { throw InputError(fmt::format("{}: {}", file.string(), what)); };
  std::error_code error;
  if (!fs::exists(file, error)) fail("no such file, expected a run file (HDF5)");
  if (!fs::is_regular_file(file, error)) fail("is not a regular file, expected a run file (HDF5)");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail("cannot be opened");
  std::string seal(kSealSize, '\0');
  stream.read(seal.data(), std::ssize(seal));
  if (!seal.starts_with(kTitle)) fail("is not a run file of scree");
  stream.clear();
  if (seal != expected_seal(stream)) fail("is damaged or was changed after scree wrote it");
}

}  // namespace scree
