// scree_fuzz --reader=NAME CORPUS [libFuzzer's options]: one reader, led by coverage (clang).
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "readers/readers.h"

namespace {

const scree::Reader* reader = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (int k = 1; k < *argc; ++k)
    if (const std::string_view word = (*argv)[k]; word.starts_with("--reader="))
      reader = &scree::find_reader(word.substr(9));
  if (reader) return 0;
  fmt::print(stderr, "no reader, expected --reader=NAME\n");
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  reader->read({reinterpret_cast<const char*>(data), size});
  return 0;
}
