// The little of HDF5 that run files need, written and read by ourselves: groups of hard links, contiguous datasets of
// numbers and fixed-length strings, attributes of one number or string. docs/run-files.md, "What of HDF5".
//
// The format is that of "HDF5 File Format Specification Version 3.0" with superblock 0, object headers 1 and symbol
// tables, which every version of the library reads, and which it writes by default: files that the library wrote for
// scree are read, too. Why not the library: a close that fails for want of space makes its exit handler crash, and it
// follows the pointers of a hostile file wherever they lead, into other files as well. Here all that is not of the
// above (external and virtual storage, soft and external links, filters, ...) is refused, and every offset and size is
// checked against the file before it is used.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace scree::hdf5 {

using Extents = std::vector<std::uint64_t>;

enum class Type { float64, int32, int64, uint8, uint64, text };  // text: of a fixed length, padded with zeros

struct Attribute;
struct Node;  // a group or dataset

// Failures are WriteErrors "file: /path: cannot write: why".
class Writer {
 public:
  // Overwrites `file` and leaves room for a seal (sim/seal.h) in front. `name` stands for it in messages.
  Writer(const std::filesystem::path& file, std::string name);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  void close();  // a file that was not closed is of no use

  void group(const std::string& path);
  void numbers(const std::string& path, const std::vector<double>& data, const Extents& shape,
               const std::string& units);
  void integers(const std::string& path, const std::vector<int>& data, const Extents& shape, const std::string& units);
  void text(const std::string& path, std::string_view data);
  void strings(const std::string& path, const std::vector<std::string>& data, const Extents& shape);
  void pairs(const std::string& path, const std::vector<std::pair<std::string, std::string>>& rows);  // n x 2 strings
  void attribute(const std::string& object, const std::string& key, const std::string& value);
  void attribute(const std::string& object, const std::string& key, double value);
  void attribute(const std::string& object, const std::string& key, int value);

  // Datasets filled part by part: `put` writes `count` entries of the first dimension from entry `first` on.
  void create(const std::string& path, Type type, const Extents& shape, const std::string& units);
  void create_strings(const std::string& path, size_t length, const Extents& shape);
  void put(const std::string& path, std::uint64_t first, std::uint64_t count, const void* data);
  void put_strings(const std::string& path, std::uint64_t first, const std::vector<std::string>& data);

 private:
  Node& find(const std::string& path);
  Node& add(const std::string& path);
  Node& add_dataset(const std::string& path, Type type, size_t item, const Extents& shape);
  void add_attribute(const std::string& object, const std::string& key, Type type, std::string bytes);
  void write(const std::string& path, std::uint64_t address, const void* data, std::uint64_t size);
  [[noreturn]] void fail(const std::string& path, int error) const;

  std::string name_;
  int file_ = -1;
  std::uint64_t end_;  // first address that is free
  std::unique_ptr<Node> root_;
};

// Failures are InputErrors "file: /path: what".
class Reader {
 public:
  // Of a sealed file. Reads and checks all but the contents of datasets.
  explicit Reader(const std::filesystem::path& file);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Extents extents(const std::string& path) const;
  // `shape` is what the dataset must have.
  std::vector<double> numbers(const std::string& path, const Extents& shape) const;
  std::vector<int> integers(const std::string& path, const Extents& shape) const;
  std::string text(const std::string& path) const;
  std::vector<std::string> strings(const std::string& path, const Extents& shape) const;
  std::vector<std::pair<std::string, std::string>> pairs(const std::string& path) const;
  std::uint64_t length(const std::string& path) const;  // of a dataset of one dimension
  // `count` entries of the first dimension from entry `first` on; `shape` is that of the whole dataset.
  void get(const std::string& path, Type type, const Extents& shape, std::uint64_t first, std::uint64_t count,
           void* data) const;
  std::vector<std::string> strings(const std::string& path, const Extents& shape, std::uint64_t first,
                                   std::uint64_t count) const;
  size_t string_length(const std::string& path) const;                // of the longest
  std::vector<std::string> children(const std::string& group) const;  // in order of their names
  bool has(const std::string& path) const;
  std::string string_attribute(const std::string& object, const std::string& key) const;
  double number_attribute(const std::string& object, const std::string& key) const;
  int integer_attribute(const std::string& object, const std::string& key) const;
  bool has_attribute(const std::string& object, const std::string& key) const;

  [[noreturn]] void fail(const std::string& path, const std::string& what) const;

 private:
  const Node& dataset(const std::string& path) const;
  const Node& typed_dataset(const std::string& path, Type type) const;
  void check_shape(const std::string& path, const Node& set, const Extents& expected) const;
  const Attribute* find_attribute(const std::string& object, const std::string& key) const;
  const Attribute& attribute(const std::string& object, const std::string& key, Type type) const;
  template <class Value> std::vector<Value> read(const std::string& path, const Extents& shape, Type type) const;

  struct File;
  std::string name_;
  std::unique_ptr<File> file_;
  std::map<std::string, std::unique_ptr<Node>> nodes_;  // by path
};

}  // namespace scree::hdf5
