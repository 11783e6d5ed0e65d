// Whole files in (formats/atomic_file.h: out), with errors a user can act on.
#pragma once

#include <filesystem>
#include <string>

namespace scree {

inline constexpr size_t kLargestFile = size_t{256} << 20;  // [bytes]; no model or mesh file in use comes near

// The path as messages show it.
std::string shown(const std::filesystem::path& file);
// The extension with its dot, in lower case.
std::string lower_extension(const std::filesystem::path& file);
// Throws InputError if `file` is missing, not a regular file, unreadable or larger than kLargestFile.
std::string read_file(const std::filesystem::path& file);

}  // namespace scree
