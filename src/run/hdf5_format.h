// Numbers of the file format that writer and reader share. Sections are those of "HDF5 File Format Specification
// Version 3.0".
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "run/hdf5.h"
#include "run/seal.h"

namespace scree::hdf5 {

static_assert(std::endian::native == std::endian::little, "numbers are stored as they are in memory");

inline constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
inline constexpr std::uint64_t kUndefined = ~std::uint64_t{0};  // an address of nothing
inline constexpr std::uint64_t kSuperblockSize = 96;            // version 0, section II.A
inline constexpr std::uint64_t kTreeHeader = 24, kHeapHeader = 32, kNodeHeader = 8, kEntrySize = 40;  // section III
inline constexpr std::uint64_t kObjectHeader = 16, kMessageHeader = 8;                                // section IV.A
inline constexpr std::uint64_t kGlobalHeapHeader = 16, kGlobalObjectHeader = 16;                      // section III.E
inline constexpr std::uint64_t kVariableSize = 16;  // of a string in the global heap: length, address, number

enum Message : std::uint16_t {  // section IV.A.2
  kNil = 0x00,
  kDataspace = 0x01,
  kLinkInfo = 0x02,
  kDatatype = 0x03,
  kOldFillValue = 0x04,
  kFillValue = 0x05,
  kLink = 0x06,
  kExternalFiles = 0x07,
  kLayout = 0x08,
  kFilters = 0x0b,
  kAttribute = 0x0c,
  kOldModificationTime = 0x0e,
  kContinuation = 0x10,
  kSymbolTable = 0x11,
  kModificationTime = 0x12,
};

// Datatype messages, section IV.A.2.d: class and version, bit field, size, properties.
using namespace std::string_view_literals;
inline std::string_view datatype_of(Type type) {
  switch (type) {
    case Type::float64:  // IEEE 754: sign bit 63, exponent of 11 bits from 52 on with bias 1023, mantissa of 52 bits
      return "\x11\x20\x3f\x00\x08\x00\x00\x00\x00\x00\x40\x00\x34\x0b\x00\x34\xff\x03\x00\x00"sv;
    case Type::int32:
      return "\x10\x08\x00\x00\x04\x00\x00\x00\x00\x00\x20\x00"sv;
    case Type::int64:
      return "\x10\x08\x00\x00\x08\x00\x00\x00\x00\x00\x40\x00"sv;
    case Type::uint8:
      return "\x10\x00\x00\x00\x01\x00\x00\x00\x00\x00\x08\x00"sv;
    case Type::uint64:
      return "\x10\x00\x00\x00\x08\x00\x00\x00\x00\x00\x40\x00"sv;
    case Type::text:  // padded with zeros, UTF-8; its size follows
      return "\x13\x11\x00\x00"sv;
  }
  return {};
}
// A string of variable length, in the global heap.
inline constexpr std::string_view kVariableText =
    "\x19\x11\x01\x00\x10\x00\x00\x00\x10\x00\x00\x00\x01\x00\x00\x00\x00\x00\x08\x00"sv;

inline constexpr Type kNumberTypes[] = {Type::float64, Type::int32, Type::int64, Type::uint8, Type::uint64};
inline size_t number_size(Type type) {
  return type == Type::int32 ? sizeof(std::int32_t) : type == Type::uint8 ? 1 : sizeof(double);
}

struct Attribute {
  Type type;
  std::string bytes;  // of the number, or the string
};

struct Node {
  bool group = true;
  std::map<std::string, Attribute> attributes;
  std::map<std::string, std::unique_ptr<Node>> children;  // of a group; names in the order of the format
  // Of a dataset:
  Type type = Type::float64;
  size_t item = 0;  // [bytes] of one element
  Extents shape;    // empty: one element
  std::uint64_t address = kUndefined, size = 0;
};

inline std::uint64_t padded(std::uint64_t size) { return (size + 7) / 8 * 8; }

template <class Value> Value load(const char* at) {
  Value value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace scree::hdf5
