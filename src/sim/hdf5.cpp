#include "sim/hdf5.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "scree/error.h"
#include "sim/seal.h"

namespace scree::hdf5 {
namespace {

constexpr hsize_t kLargestExtent = 200'000'000;  // more rows than any run or mesh has: the file is damaged

size_t element_count(const Extents& shape) {
  return std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>());
}

Handle string_type(size_t size) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, size);
  H5Tset_cset(type, H5T_CSET_UTF8);
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  return type;
}

Handle open_object(hid_t file, const std::string& path) { return {H5Oopen(file, path.c_str(), H5P_DEFAULT), H5Oclose}; }

// The dataspace of `set` with entries [first, first + count) of its first dimension selected, and one that fits them.
std::pair<Handle, Handle> select(hid_t set, hsize_t first, hsize_t count) {
  Handle all(H5Dget_space(set), H5Sclose);
  Extents size(static_cast<size_t>(std::max(H5Sget_simple_extent_ndims(all), 0)));
  H5Sget_simple_extent_dims(all, size.data(), nullptr);
  if (size.empty() || first > size[0] || count > size[0] - first) return {};
  Extents start(size.size(), 0);
  start[0] = first;
  size[0] = count;
  H5Sselect_hyperslab(all, H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr);
  Handle part(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr), H5Sclose);
  return {std::move(all), std::move(part)};
}

std::string pack(const std::vector<std::string>& data, size_t length) {
  std::string packed(length * data.size(), '\0');
  for (size_t i = 0; i < data.size(); ++i) data[i].copy(packed.data() + i * length, length);
  return packed;
}

std::string without_padding(std::string text) {
  text.erase(std::min(text.find('\0'), text.size()));
  return text;
}

std::vector<std::string> unpack(const std::string& packed, size_t length) {
  std::vector<std::string> items;
  for (size_t i = 0; i < packed.size(); i += length) items.push_back(without_padding(packed.substr(i, length)));
  return items;
}

}  // namespace

// --- writing -------------------------------------------------------------------------------------------------------

Writer::Writer(const std::filesystem::path& file, std::string name) : name_(std::move(name)) {
  const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  H5Pset_userblock(creation, kSealSize);
  file_ = Handle(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT), H5Fclose);
  require(file_ >= 0, "/");
}

void Writer::close() {
  require(H5Fflush(file_, H5F_SCOPE_GLOBAL) >= 0, "/");
  require(file_.close() >= 0, "/");
}

void Writer::group(const std::string& path) {
  const Handle group(H5Gcreate2(file_, path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  require(group >= 0, path);
}

void Writer::numbers(const std::string& path, const std::vector<double>& data, const Extents& shape,
                     const std::string& units) {
  dataset(path, H5T_NATIVE_DOUBLE, shape, data.data());
  attribute(path, "units", units);
}

void Writer::integers(const std::string& path, const std::vector<int>& data, const Extents& shape,
                      const std::string& units) {
  dataset(path, H5T_NATIVE_INT, shape, data.data());
  attribute(path, "units", units);
}

void Writer::text(const std::string& path, std::string_view data) {
  const Handle type = string_type(std::max<size_t>(data.size(), 1));
  dataset(path, type, {}, data.empty() ? "" : data.data());
}

void Writer::strings(const std::string& path, const std::vector<std::string>& data, const Extents& shape) {
  size_t longest = 1;
  for (const std::string& item : data) longest = std::max(longest, item.size());
  dataset(path, string_type(longest), shape, pack(data, longest).data());
}

void Writer::create(const std::string& path, hid_t type, const Extents& shape, const std::string& units) {
  const Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose);
  Handle set(H5Dcreate2(file_, path.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  require(set >= 0 && set.close() >= 0, path);
  if (!units.empty()) attribute(path, "units", units);
}

void Writer::create_strings(const std::string& path, size_t length, const Extents& shape) {
  create(path, string_type(std::max<size_t>(length, 1)), shape, "");
}

void Writer::put(const std::string& path, hid_t type, hsize_t first, hsize_t count, const void* data) {
  if (count == 0) return;
  Handle set(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose);
  require(set >= 0, path);
  const auto [all, part] = select(set, first, count);
  require(part >= 0 && H5Dwrite(set, type, part, all, H5P_DEFAULT, data) >= 0, path);
  require(set.close() >= 0, path);
}

void Writer::put_strings(const std::string& path, hsize_t first, const std::vector<std::string>& data) {
  Handle set(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose);
  require(set >= 0, path);
  const Handle type(H5Dget_type(set), H5Tclose);
  require(set.close() >= 0, path);
  put(path, type, first, data.size(), pack(data, H5Tget_size(type)).data());
}

// Contiguous: on recorded motions shuffle and deflate save less than a fifth.
void Writer::dataset(const std::string& path, hid_t type, const Extents& shape, const void* data) {
  const Handle space(
      shape.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr),
      H5Sclose);
  Handle set(H5Dcreate2(file_, path.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  require(set >= 0, path);
  if (element_count(shape) > 0) require(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0, path);
  require(set.close() >= 0, path);
}

void Writer::attribute(const std::string& object, const std::string& key, hid_t type, const void* value) {
  const Handle owner = open_object(file_, object);
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle item(H5Acreate2(owner, key.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  require(item >= 0 && H5Awrite(item, type, value) >= 0, object + "@" + key);
}

// Of variable length, because h5py turns such attributes, and only such, into Python strings.
void Writer::attribute(const std::string& object, const std::string& key, const std::string& value) {
  const Handle type = string_type(H5T_VARIABLE);
  const char* pointer = value.c_str();
  attribute(object, key, type, &pointer);
}

void Writer::attribute(const std::string& object, const std::string& key, double value) {
  attribute(object, key, H5T_NATIVE_DOUBLE, &value);
}

void Writer::attribute(const std::string& object, const std::string& key, int value) {
  attribute(object, key, H5T_NATIVE_INT, &value);
}

void Writer::require(bool ok, const std::string& path) const {
  if (!ok) throw InputError(fmt::format("{}: {}: cannot write (is the disk full?)", name_, path));
}

// --- reading -------------------------------------------------------------------------------------------------------

Reader::Reader(const std::filesystem::path& file) : name_(file.string()) {
  check_seal(file);
  file_ = Handle(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (file_ < 0) throw InputError(name_ + ": cannot be opened by HDF5");
}

void Reader::fail(const std::string& path, const std::string& what) const {
  throw InputError(fmt::format("{}: {}: {}", name_, path, what));
}

Handle Reader::open_dataset(const std::string& path, H5T_class_t type, const char* expected) const {
  Handle set(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (set < 0) fail(path, "dataset is missing or damaged");
  const Handle stored(H5Dget_type(set), H5Tclose);
  if (H5Tget_class(stored) != type || H5Tis_variable_str(stored) > 0)
    fail(path, fmt::format("has another type, expected {}", expected));
  return set;
}

Extents Reader::extents(const std::string& path) const {
  const Handle set(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (set < 0) fail(path, "dataset is missing or damaged");
  const Handle space(H5Dget_space(set), H5Sclose);
  Extents shape(static_cast<size_t>(std::max(H5Sget_simple_extent_ndims(space), 0)));
  H5Sget_simple_extent_dims(space, shape.data(), nullptr);
  for (const hsize_t extent : shape)
    if (extent > kLargestExtent) fail(path, fmt::format("has shape [{}], the file is damaged", fmt::join(shape, ", ")));
  return shape;
}

void Reader::check_shape(const std::string& path, const Extents& expected) const {
  const Extents found = extents(path);
  if (found != expected)
    fail(path, fmt::format("has shape [{}], expected [{}]", fmt::join(found, ", "), fmt::join(expected, ", ")));
}

template <class Value>
std::vector<Value> Reader::read(const std::string& path, const Extents& shape, H5T_class_t type_class, hid_t type,
                                const char* expected) const {
  const Handle set = open_dataset(path, type_class, expected);
  check_shape(path, shape);
  std::vector<Value> values(element_count(shape));
  if (!values.empty() && H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    fail(path, "cannot be read, the file is damaged");
  return values;
}

std::vector<double> Reader::numbers(const std::string& path, const Extents& shape) const {
  return read<double>(path, shape, H5T_FLOAT, H5T_NATIVE_DOUBLE, "floating-point numbers");
}

std::vector<int> Reader::integers(const std::string& path, const Extents& shape) const {
  return read<int>(path, shape, H5T_INTEGER, H5T_NATIVE_INT, "integers");
}

void Reader::get(const std::string& path, hid_t type, const Extents& shape, hsize_t first, hsize_t count,
                 void* data) const {
  const Handle set = open_dataset(path, H5Tget_class(type),
                                  H5Tget_class(type) == H5T_FLOAT     ? "floating-point numbers"
                                  : H5Tget_class(type) == H5T_INTEGER ? "integers"
                                                                      : "strings of fixed length");
  check_shape(path, shape);
  const auto [all, part] = select(set, first, count);
  if (part < 0 || (count > 0 && H5Dread(set, type, part, all, H5P_DEFAULT, data) < 0))
    fail(path, "cannot be read, the file is damaged");
}

size_t Reader::string_length(const std::string& path) const {
  const Handle set = open_dataset(path, H5T_STRING, "strings of fixed length");
  return H5Tget_size(Handle(H5Dget_type(set), H5Tclose));
}

std::string Reader::text(const std::string& path) const { return strings(path, {})[0]; }

std::vector<std::string> Reader::strings(const std::string& path, const Extents& shape) const {
  const Handle set = open_dataset(path, H5T_STRING, "strings of fixed length");
  check_shape(path, shape);
  const Handle type(H5Dget_type(set), H5Tclose);
  const size_t length = H5Tget_size(type), count = element_count(shape);
  if (length > kLargestExtent || length * count > kLargestExtent) fail(path, "is too long, the file is damaged");
  std::string packed(length * count, '\0');
  if (count > 0 && H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, packed.data()) < 0)
    fail(path, "cannot be read, the file is damaged");
  return unpack(packed, length);
}

std::vector<std::string> Reader::strings(const std::string& path, const Extents& shape, hsize_t first,
                                         hsize_t count) const {
  const size_t length = string_length(path);
  if (length > kLargestExtent || count > kLargestExtent / length) fail(path, "is too long, the file is damaged");
  std::string packed(length * count, '\0');
  const Handle set = open_dataset(path, H5T_STRING, "strings of fixed length");
  get(path, Handle(H5Dget_type(set), H5Tclose), shape, first, count, packed.data());
  return unpack(packed, length);
}

std::vector<std::string> Reader::children(const std::string& path) const {
  const Handle group(H5Gopen2(file_, path.c_str(), H5P_DEFAULT), H5Gclose);
  if (group < 0) fail(path, "group is missing or damaged");
  std::vector<std::string> names;
  const auto collect = [](hid_t, const char* name, const H5L_info_t*, void* list) -> herr_t {
    static_cast<std::vector<std::string>*>(list)->emplace_back(name);
    return 0;
  };
  if (H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names) < 0)
    fail(path, "cannot be listed, the file is damaged");
  return names;
}

Handle Reader::open_attribute(const std::string& object, const std::string& key, H5T_class_t type,
                              const char* expected) const {
  const Handle owner = open_object(file_, object);
  if (owner < 0) fail(object, "is missing or damaged");
  Handle item(H5Aopen(owner, key.c_str(), H5P_DEFAULT), H5Aclose);
  if (item < 0) fail(object, fmt::format("attribute \"{}\" is missing or damaged", key));
  const Handle stored(H5Aget_type(item), H5Tclose);
  const Handle space(H5Aget_space(item), H5Sclose);
  if (H5Tget_class(stored) != type || H5Sget_simple_extent_npoints(space) != 1)
    fail(object, fmt::format("attribute \"{}\" is not {}", key, expected));
  return item;
}

std::string Reader::string_attribute(const std::string& object, const std::string& key) const {
  const Handle item = open_attribute(object, key, H5T_STRING, "one string");
  const Handle stored(H5Aget_type(item), H5Tclose);
  const Handle type = string_type(H5T_VARIABLE);
  char* pointer = nullptr;
  if (H5Tis_variable_str(stored) <= 0 || H5Aread(item, type, &pointer) < 0 || !pointer)
    fail(object, fmt::format("attribute \"{}\" cannot be read as a string of variable length", key));
  std::string value(pointer);
  H5free_memory(pointer);
  return value;
}

template <class Value>
Value Reader::read_attribute(const std::string& object, const std::string& key, H5T_class_t type_class, hid_t type,
                             const char* expected) const {
  const Handle item = open_attribute(object, key, type_class, expected);
  Value value{};
  if (H5Aread(item, type, &value) < 0) fail(object, fmt::format("attribute \"{}\" cannot be read", key));
  return value;
}

double Reader::number_attribute(const std::string& object, const std::string& key) const {
  return read_attribute<double>(object, key, H5T_FLOAT, H5T_NATIVE_DOUBLE, "one floating-point number");
}

bool Reader::has_attribute(const std::string& object, const std::string& key) const {
  return H5Aexists_by_name(file_, object.c_str(), key.c_str(), H5P_DEFAULT) > 0;
}

int Reader::integer_attribute(const std::string& object, const std::string& key) const {
  return read_attribute<int>(object, key, H5T_INTEGER, H5T_NATIVE_INT, "one integer");
}

}  // namespace scree::hdf5
