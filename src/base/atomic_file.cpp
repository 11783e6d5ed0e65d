#include "base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "scree/error.h"
#include "scree/write_error.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as the kernel
constexpr mode_t kPermissions = 07777;

[[noreturn]] void fail(const fs::path& file, const std::string& why) {
  throw InputError(fmt::format("{}: cannot write: {}", file.string(), why));
}
[[noreturn]] void fail_writing(const fs::path& file, int error) {  // no mistake of the user: a full or broken disk
  throw WriteError(fmt::format("{}: cannot write: {}", file.string(), std::strerror(error)));
}

fs::path directory_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

// Names of temporary files: .scree-HOST-PID-N.tmp. The host, because a directory may be shared between machines.
std::string prefix() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return fmt::format(".scree-{}-", host);
}

// Whether the name is that of a temporary file of a process of this machine that is no more.
bool is_stale(const std::string& name, const std::string& ours) {
  if (!name.starts_with(ours) || !name.ends_with(".tmp")) return false;
  pid_t process = 0;
  const char* const begin = name.data() + ours.size();
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), process);
  return error == std::errc() && *end == '-' && process > 0 && kill(process, 0) != 0 && errno == ESRCH;
}

void remove_stale(const fs::path& directory) {
  const std::string ours = prefix();
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error))
    if (is_stale(entry.path().filename().string(), ours)) unlink(entry.path().c_str());
}

fs::path new_name(const fs::path& directory) {
  static std::atomic<unsigned> counter{0};
  return directory / fmt::format("{}{}-{}.tmp", prefix(), getpid(), counter++);
}

}  // namespace

fs::path output_target(const fs::path& file) {
  if (file.empty()) throw InputError("output file: the name is empty, expected a path");
  std::error_code error;
  fs::path target = file;
  for (int links = 0; fs::is_symlink(fs::symlink_status(target, error)); ++links) {
    if (links == kMostLinks) fail(file, std::strerror(ELOOP));
    target = directory_of(target) / fs::read_symlink(target, error);
  }
  const fs::file_status status = fs::status(target, error);
  if (status.type() == fs::file_type::none) fail(file, error.message());
  if (fs::is_directory(status)) fail(file, "it is a directory, expected a file name");
  if (!fs::exists(status)) {
    if (!target.has_filename()) fail(file, "it ends in a slash, expected a file name");
    return target;
  }
  if (!fs::is_regular_file(status)) fail(file, "it exists and is not a regular file");
  if (access(target.c_str(), W_OK) != 0) fail(file, std::strerror(errno));
  return target;
}

AtomicFile::AtomicFile(const fs::path& target, Temporary temporary)
    : target_(output_target(target)), directory_(directory_of(target_)) {
  if (temporary == Temporary::named || !open_unnamed()) open_named();
  if (descriptor_ < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO)) fail_writing(target, errno);
  if (descriptor_ < 0) fail(target, fmt::format("directory {}: {}", directory_.string(), std::strerror(errno)));
  keep_owner();
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  if (!name_.empty()) unlink(name_.c_str());
}

bool AtomicFile::open_unnamed() {
  descriptor_ = open(directory_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (descriptor_ < 0) return false;
  temporary_ = fmt::format("/proc/self/fd/{}", descriptor_);
  if (access(temporary_.c_str(), F_OK) == 0) return true;
  close(descriptor_);  // no /proc: nobody could open it
  return false;
}

void AtomicFile::open_named() {
  remove_stale(directory_);
  const mode_t mode = access(target_.c_str(), F_OK) == 0 ? 0600 : 0666;  // a replaced file may be private
  do {
    name_ = temporary_ = new_name(directory_);
    descriptor_ = open(name_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);
  } while (descriptor_ < 0 && errno == EEXIST);
}

void AtomicFile::keep_owner() {
  struct stat old {};
  struct stat now {};
  if (stat(target_.c_str(), &old) != 0 || fstat(descriptor_, &now) != 0) return;
  if (old.st_uid == now.st_uid && old.st_gid == now.st_gid) return;
  if (fchown(descriptor_, old.st_uid, old.st_gid) == 0) return;
  const std::string why = std::strerror(errno);
  close(descriptor_);
  if (!name_.empty()) unlink(name_.c_str());
  fail(target_,
       fmt::format("it belongs to user {}, group {}, which the new file could not ({})", old.st_uid, old.st_gid, why));
}

void AtomicFile::keep_permissions() const {
  struct stat old {};
  if (stat(target_.c_str(), &old) != 0) return;  // a new file: as the user's mask has it
  if (fchmod(descriptor_, old.st_mode & kPermissions) != 0) fail(target_, std::strerror(errno));
}

void AtomicFile::commit() {
  const auto check = [&](bool done) {
    if (!done) fail_writing(target_, errno);
  };
  keep_permissions();
  check(fsync(descriptor_) == 0);
  const auto link_to = [&](const fs::path& name) {
    return linkat(AT_FDCWD, temporary_.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  };
  // A name can be given to what has none, but not taken from another file: that needs a rename.
  bool placed = name_.empty() && link_to(target_);
  if (!placed && name_.empty()) {
    check(errno == EEXIST);
    remove_stale(directory_);
    fs::path name;
    bool linked = false;
    do {
      name = new_name(directory_);
      linked = link_to(name);
    } while (!linked && errno == EEXIST);
    check(linked);
    name_ = name;
  }
  if (!placed) check(rename(name_.c_str(), target_.c_str()) == 0);
  name_.clear();
}

void write_atomically(const fs::path& file, std::string_view content) {
  AtomicFile output(file);
  const int descriptor = open(output.temporary().c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) fail_writing(file, errno);
  while (!content.empty()) {
    const ssize_t written = write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int write_error = errno;
      close(descriptor);
      fail_writing(file, write_error);
    }
    content.remove_prefix(static_cast<size_t>(written));
  }
  if (close(descriptor) != 0) fail_writing(file, errno);
  output.commit();
}

void check_writable(const fs::path& file) { const AtomicFile probe(file); }

}  // namespace scree
