// A seal in front of a run file: its length and a checksum of all that follows. HDF5 follows the pointers in a damaged
// file wherever they lead (flipping bytes crashed or hung 1.10.8 about once in 1000 tries), so a file is checked whole
// before HDF5 sees it.
#pragma once

#include <cstdint>
#include <filesystem>

namespace scree {

inline constexpr std::uint64_t kSealSize = 512;  // [bytes], the smallest user block HDF5 can skip

void seal_file(const std::filesystem::path& file);  // fills the first kSealSize bytes; throws InputError
// Throws InputError if the file is missing, has no seal, or changed since it was sealed.
void check_seal(const std::filesystem::path& file);

}  // namespace scree
