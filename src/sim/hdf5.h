// The little of HDF5 that run files need: groups, numeric and string datasets, string and number attributes.
// Every failure is an InputError "file: /path: what"; HDF5's own messages stay silent.
#pragma once

#include <hdf5.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace scree::hdf5 {

using Extents = std::vector<hsize_t>;

class Handle {  // closes what it holds
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Close closer) : id_(id), close_(closer) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }
  herr_t close() { return close_(std::exchange(id_, -1)); }  // for the file itself, where closing may fail: disk full

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

class Silence {  // HDF5 prints a stack of errors by default
 public:
  Silence() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Silence() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

class Writer {
 public:
  // Overwrites `file` and leaves room for a seal (sim/seal.h) in front. `name` stands for it in messages.
  Writer(const std::filesystem::path& file, std::string name);
  void close();  // throws if the last bytes could not be written

  void group(const std::string& path);
  void numbers(const std::string& path, const std::vector<double>& data, const Extents& shape,
               const std::string& units);
  void integers(const std::string& path, const std::vector<int>& data, const Extents& shape, const std::string& units);
  void text(const std::string& path, std::string_view data);
  void strings(const std::string& path, const std::vector<std::string>& data, const Extents& shape);
  void attribute(const std::string& object, const std::string& key, const std::string& value);
  void attribute(const std::string& object, const std::string& key, double value);
  void attribute(const std::string& object, const std::string& key, int value);

  // Datasets filled part by part: `put` writes `count` entries of the first dimension from entry `first` on. Data in
  // memory is of the same type.
  void create(const std::string& path, hid_t type, const Extents& shape, const std::string& units);
  void create_strings(const std::string& path, size_t length, const Extents& shape);
  void put(const std::string& path, hid_t type, hsize_t first, hsize_t count, const void* data);
  void put_strings(const std::string& path, hsize_t first, const std::vector<std::string>& data);

 private:
  void dataset(const std::string& path, hid_t type, const Extents& shape, const void* data);
  void attribute(const std::string& object, const std::string& key, hid_t type, const void* value);
  void require(bool ok, const std::string& path) const;

  Silence silence_;
  std::string name_;
  Handle file_;
};

class Reader {
 public:
  // Of a sealed file.
  explicit Reader(const std::filesystem::path& file);

  Extents extents(const std::string& path) const;
  // `shape` is what the dataset must have.
  std::vector<double> numbers(const std::string& path, const Extents& shape) const;
  std::vector<int> integers(const std::string& path, const Extents& shape) const;
  std::string text(const std::string& path) const;
  std::vector<std::string> strings(const std::string& path, const Extents& shape) const;
  // `count` entries of the first dimension from entry `first` on, as numbers of `type`; `shape` is that of the whole
  // dataset.
  void get(const std::string& path, hid_t type, const Extents& shape, hsize_t first, hsize_t count, void* data) const;
  std::vector<std::string> strings(const std::string& path, const Extents& shape, hsize_t first, hsize_t count) const;
  size_t string_length(const std::string& path) const;                // of the longest
  std::vector<std::string> children(const std::string& group) const;  // in order of their names
  std::string string_attribute(const std::string& object, const std::string& key) const;
  double number_attribute(const std::string& object, const std::string& key) const;
  int integer_attribute(const std::string& object, const std::string& key) const;
  bool has_attribute(const std::string& object, const std::string& key) const;

  [[noreturn]] void fail(const std::string& path, const std::string& what) const;

 private:
  Handle open_dataset(const std::string& path, H5T_class_t type, const char* expected) const;
  void check_shape(const std::string& path, const Extents& expected) const;
  template <class Value>
  std::vector<Value> read(const std::string& path, const Extents& shape, H5T_class_t type_class, hid_t type,
                          const char* expected) const;
  template <class Value>
  Value read_attribute(const std::string& object, const std::string& key, H5T_class_t type_class, hid_t type,
                       const char* expected) const;
  Handle open_attribute(const std::string& object, const std::string& key, H5T_class_t type,
                        const char* expected) const;

  Silence silence_;
  std::string name_;
  Handle file_;
};

}  // namespace scree::hdf5
