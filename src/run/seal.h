// A seal in front of a run file: its length and a checksum of all that follows. A file that
// was damaged or cut short is told from one that is hostile, which has a seal like any other (sim/hdf5.h).
#pragma once

#include <cstdint>
#include <filesystem>

namespace scree {

inline constexpr std::uint64_t kSealSize = 512;  // [bytes], the smallest user block HDF5 can skip

void seal_file(const std::filesystem::path& file);  // fills the first kSealSize bytes; throws WriteError
// Throws InputError if the file is missing, has no seal, or changed since it was sealed.
void check_seal(const std::filesystem::path& file);

}  // namespace scree
