// A file that appears whole or not at all: written under another name or none in the directory of its target, flushed
// to disk, then given the target's name.
#pragma once

#include <filesystem>
#include <string_view>

namespace scree {

// The file that a write to `file` creates or replaces: symbolic links are followed, also to a file that is not there
// yet. Throws InputError if it cannot be written: no permission, a directory or a device in its place.
std::filesystem::path output_target(const std::filesystem::path& file);

class AtomicFile {
 public:
  // How the content is kept until commit(). `unnamed` (O_TMPFILE): vanishes with its process. `named`, where the file
  // system does not know such files: .scree-HOST-PID-N.tmp; one of a killed process is removed by the next process that
  // makes one beside it.
  enum class Temporary { unnamed, named };

  // Throws InputError if the target cannot be written, WriteError if the disk is full or broken. A file that is
  // replaced keeps its permissions, owner and group; if its owner cannot be kept, it is refused.
  explicit AtomicFile(const std::filesystem::path& target, Temporary temporary = Temporary::unnamed);
  ~AtomicFile();  // removes the temporary file unless committed
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::filesystem::path& temporary() const { return temporary_; }  // exists and is empty: fill it, close it
  void commit();                                                         // flush and name; throws WriteError

 private:
  bool open_unnamed();
  void open_named();
  void keep_owner();
  void keep_permissions() const;

  std::filesystem::path target_, directory_;
  std::filesystem::path temporary_;  // unnamed: as this process sees it, in /proc/self/fd
  std::filesystem::path name_;       // empty: it has none
  int descriptor_ = -1;
};

void write_atomically(const std::filesystem::path& file, std::string_view content);
// Throws what a later write_atomically would throw, and leaves nothing behind: to be asked before hours of computation.
void check_writable(const std::filesystem::path& file);

}  // namespace scree
