#include "run/chunk_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/atomic_file.h"
#include "run/seal.h"
#include "scree/error.h"
#include "scree/write_error.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

void check_settings(const fs::path& file, const char* what, const ChunkFolder::Settings& found,
                    const ChunkFolder::Settings& expected) {
  if (found == expected) return;
  for (size_t i = 0; i < std::min(found.size(), expected.size()); ++i)
    if (found[i] != expected[i])
      throw InputError(fmt::format("{}: is of another {}: {} is {}, expected {}", file.string(), what, found[i].first,
                                   found[i].second, expected[i].second));
  throw InputError(fmt::format("{}: is of another {}", file.string(), what));
}

}  // namespace

ChunkFolder::ChunkFolder(const fs::path& target, const char* what, bool resume)
    : folder_(target.string() + ".chunks"), what_(what) {
  std::error_code error;
  const bool exists = fs::exists(folder_, error);
  if (exists && !fs::is_directory(folder_, error)) fail("is in the way, expected a folder or nothing");
  if (!resume && !found().empty())
    fail(fmt::format("holds chunks of a {} that did not end, expected --resume to go on, or the folder removed", what));
  if (!exists && !fs::create_directory(folder_, error)) fail(fmt::format("cannot be made: {}", error.message()));
  lock_ = open((folder_ / "lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
  if (lock_ < 0) fail(fmt::format("cannot be locked: {}", std::strerror(errno)));
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {  // released when a process dies
    close(std::exchange(lock_, -1));
    fail("is in use by another process");
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error))  // of a process that was killed
    if (entry.path().extension() == ".tmp") fs::remove(entry.path(), error);
}

ChunkFolder::~ChunkFolder() {
  if (lock_ < 0) return;
  if (found().empty()) remove();
  close(lock_);
}

fs::path ChunkFolder::chunk(size_t k) const { return folder_ / fmt::format("{:06}.h5", k); }

std::vector<fs::path> ChunkFolder::found() const {  // NNNNNN.h5
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
    const std::string stem = entry.path().stem().string();
    if (entry.path().extension() == ".h5" && stem.size() >= 6 &&
        stem.find_first_not_of("0123456789") == std::string::npos)
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void ChunkFolder::remove() {
  std::error_code error;
  for (const fs::path& file : found()) fs::remove(file, error);
  fs::remove(folder_ / "lock", error);
  fs::remove(folder_, error);
}

void ChunkFolder::write(size_t k, const std::function<void(hdf5::Writer&)>& fill) const {
  guard([&] {
    AtomicFile target(chunk(k));
    hdf5::Writer out(target.temporary(), chunk(k).string());
    fill(out);
    out.close();
    seal_file(target.temporary());
    target.commit();
  });
}

size_t ChunkFolder::read(const Settings& settings,
                         const std::function<void(const fs::path&, const hdf5::Reader&)>& take) const {
  size_t damaged = 0;
  for (const fs::path& file : found()) {
    try {
      check_seal(file);
    } catch (const InputError&) {  // cut short or changed: it is run again
      ++damaged;
      continue;
    }
    const hdf5::Reader in(file);
    check_settings(file, what_, in.pairs("/settings"), settings);
    take(file, in);
  }
  return damaged;
}

void ChunkFolder::guard(const std::function<void()>& work) const {
  try {
    work();
  } catch (const WriteError& error) {
    const std::string where = note();
    throw WriteError(where.empty() ? error.what() : fmt::format("{}; {}", error.what(), where));
  }
}

std::string ChunkFolder::note() const {
  if (found().empty()) return {};
  return fmt::format("finished chunks are in {}, --resume goes on", folder_.string());
}

void ChunkFolder::fail(const std::string& what) const {
  throw InputError(fmt::format("{}: {}", folder_.string(), what));
}

void flush_folder_of(const fs::path& file) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);  // some file systems cannot: then the order of renames is theirs
  close(descriptor);
}

}  // namespace scree
