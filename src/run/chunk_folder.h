// The folder FILE.chunks/ in which a run, fan or batch keeps what it has finished until FILE is written, so that a
// killed one can be resumed. Of one process at a time. docs/batch.md, "While a batch runs".
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "run/hdf5.h"

namespace scree {

class ChunkFolder {
 public:
  using Settings = std::vector<std::pair<std::string, std::string>>;  // what all the chunks are a function of

  // `what`: "run", "fan" or "batch". Throws InputError: chunks of an earlier call without `resume`, or in use.
  ChunkFolder(const std::filesystem::path& target, const char* what, bool resume);
  ~ChunkFolder();  // removes the folder if there is no chunk in it
  ChunkFolder(const ChunkFolder&) = delete;
  ChunkFolder& operator=(const ChunkFolder&) = delete;

  const std::filesystem::path& path() const { return folder_; }
  std::filesystem::path chunk(size_t k) const;
  std::vector<std::filesystem::path> found() const;  // chunks, in order
  void remove();                                     // what is ours and nothing else

  // Writes chunk k, which `fill` fills in, /settings included. A WriteError says that --resume goes on.
  void write(size_t k, const std::function<void(hdf5::Writer&)>& fill) const;
  // The chunks found that are whole, by `take`; those that are not are counted. Throws InputError: of other settings.
  size_t read(const Settings& settings,
              const std::function<void(const std::filesystem::path&, const hdf5::Reader&)>& take) const;

  void guard(const std::function<void()>& work) const;  // a WriteError of it says that --resume goes on
  [[noreturn]] void fail(const std::string& what) const;

  std::string note() const;  // "finished chunks are in ..., --resume goes on", or empty if there are none

 private:
  std::filesystem::path folder_;
  const char* what_;
  int lock_ = -1;
};

void flush_folder_of(const std::filesystem::path& file);

}  // namespace scree
