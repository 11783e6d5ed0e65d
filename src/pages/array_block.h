// All arrays of a replay in one block of little-endian bytes, each found by type, offset and count.
#pragma once

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <vector>

namespace scree {

class ArrayBlock {
 public:
  template <class T> nlohmann::json add(const std::vector<T>& values) {
    bytes_.resize((bytes_.size() + 7) / 8 * 8);  // typed arrays in the browser must be aligned
    const size_t offset = bytes_.size();
    bytes_.resize(offset + sizeof(T) * values.size());
    if (!values.empty()) std::memcpy(bytes_.data() + offset, values.data(), sizeof(T) * values.size());
    const char* type = std::is_same_v<T, float>    ? "f32"
                       : std::is_same_v<T, double> ? "f64"
                       : sizeof(T) == 2            ? "u16"
                                                   : "u32";
    return {{"type", type}, {"offset", offset}, {"count", values.size()}};
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace scree
