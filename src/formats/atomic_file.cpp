#include "formats/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "scree/error.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& file, const std::string& why) {
  throw InputError(fmt::format("{}: cannot write: {}", file.string(), why));
}

// Symbolic links are followed, so that the rename replaces the file and not the link.
fs::path resolve_target(const fs::path& file) {
  if (file.empty()) throw InputError("output file: the name is empty, expected a path");
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::none) fail(file, error.message());
  if (fs::is_directory(status)) fail(file, "it is a directory, expected a file name");
  if (!fs::exists(status)) {
    if (!file.has_filename()) fail(file, "it ends in a slash, expected a file name");
    return file;
  }
  if (!fs::is_regular_file(status)) fail(file, "it exists and is not a regular file");
  if (access(file.c_str(), W_OK) != 0) fail(file, std::strerror(errno));
  return fs::canonical(file, error);
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& target) : target_(resolve_target(target)) {
  static std::atomic<unsigned> counter{0};
  const fs::path directory = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  int descriptor = -1;
  do {  // a file left by a killed process may have our name
    temporary_ = directory / fmt::format(".scree-{}-{}.tmp", getpid(), counter++);
    descriptor = open(temporary_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  } while (descriptor < 0 && errno == EEXIST);
  if (descriptor < 0) fail(target, fmt::format("directory {}: {}", directory.string(), std::strerror(errno)));
  close(descriptor);
}

AtomicFile::~AtomicFile() {
  if (!committed_) unlink(temporary_.c_str());
}

void AtomicFile::commit() {
  const int descriptor = open(temporary_.c_str(), O_RDONLY | O_CLOEXEC);
  const bool flushed = descriptor >= 0 && fsync(descriptor) == 0;
  const int flush_error = errno;
  if (descriptor >= 0) close(descriptor);
  if (!flushed) fail(target_, std::strerror(flush_error));
  if (rename(temporary_.c_str(), target_.c_str()) != 0) fail(target_, std::strerror(errno));
  committed_ = true;
}

void write_atomically(const fs::path& file, std::string_view content) {
  AtomicFile output(file);
  const int descriptor = open(output.temporary().c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) fail(file, std::strerror(errno));
  while (!content.empty()) {
    const ssize_t written = write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int write_error = errno;
      close(descriptor);
      fail(file, std::strerror(write_error));
    }
    content.remove_prefix(static_cast<size_t>(written));
  }
  if (close(descriptor) != 0) fail(file, std::strerror(errno));
  output.commit();
}

void check_writable(const fs::path& file) { const AtomicFile probe(file); }

}  // namespace scree
