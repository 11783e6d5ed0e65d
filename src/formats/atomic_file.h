// A file that appears whole or not at all: written under a temporary name in the same directory, flushed to disk, then
// renamed over the target.
#pragma once

#include <filesystem>
#include <string_view>

namespace scree {

class AtomicFile {
 public:
  // Creates the temporary file. Throws InputError if the target cannot be written: no such directory, no permission,
  // a directory or a device in its place.
  explicit AtomicFile(const std::filesystem::path& target);
  ~AtomicFile();  // removes the temporary file unless committed
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::filesystem::path& temporary() const { return temporary_; }  // exists and is empty: fill it, close it
  void commit();                                                         // flush and rename; throws InputError

 private:
  std::filesystem::path target_, temporary_;
  bool committed_ = false;
};

void write_atomically(const std::filesystem::path& file, std::string_view content);
// Throws what a later write_atomically would throw, and leaves nothing behind: to be asked before hours of computation.
void check_writable(const std::filesystem::path& file);

}  // namespace scree
