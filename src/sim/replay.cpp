#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "scree/error.h"
#include "sim/replay_data.h"
#include "sim/replay_template.h"

namespace scree {
namespace {

// Whole or not at all: a reader never sees half a file.
void write_file(const std::filesystem::path& file, std::initializer_list<std::string_view> parts) {
  namespace fs = std::filesystem;
  const fs::path temporary = fs::path(file).concat(fmt::format(".{}.tmp", getpid()));
  const auto fail = [&](const std::string& why) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw InputError(
        fmt::format("{}: cannot write: {}, expected a path to a file in a writable directory", file.string(), why));
  };
  if (fs::is_directory(file)) fail("is a directory");
  errno = 0;
  std::ofstream out(temporary, std::ios::binary);
  for (std::string_view part : parts) out << part;
  out.close();
  if (!out) fail(errno ? std::strerror(errno) : "write failed");
  std::error_code error;
  fs::rename(temporary, file, error);
  if (error) fail(error.message());
}

}  // namespace

void write_replay(const std::filesystem::path& file, const Model& model, const Run& run) {
  const std::string_view page = replay_template();
  const size_t at = page.find(kReplayPlaceholder);
  write_file(file,
             {page.substr(0, at), replay_json(replay_data(model, run)), page.substr(at + kReplayPlaceholder.size())});
}

}  // namespace scree
