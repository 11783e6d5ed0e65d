#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <functional>
#include <numeric>
#include <utility>

#include "run/hdf5_format.h"
#include "scree/write_error.h"

namespace scree::hdf5 {
namespace {

constexpr std::uint16_t kLeafEntries = 8;           // of a symbol table node: 2 K of the superblock
constexpr std::uint64_t kGlobalHeapSize = 4096;     // the smallest the library reads
constexpr std::uint16_t kMostGlobalObjects = 4000;  // of one heap; their numbers have 16 bits

std::uint64_t element_count(const Extents& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
}

class Bytes {
 public:
  template <class Value>
  requires std::is_arithmetic_v<Value> Bytes& add(Value value) {
    data_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& add(std::string_view bytes) {
    data_ += bytes;
    return *this;
  }
  Bytes& zeros(std::uint64_t count) {
    data_.append(count, '\0');
    return *this;
  }
  Bytes& pad() { return zeros(padded(data_.size()) - data_.size()); }
  Bytes& address(std::uint64_t value) { return add(value); }
  void replace(std::uint64_t at, const Bytes& bytes) { data_.replace(at, bytes.size(), bytes.data_); }
  std::uint64_t size() const { return data_.size(); }
  const std::string& data() const { return data_; }

 private:
  std::string data_;
};

std::string dataspace(const Extents& shape) {  // section IV.A.2.b, version 1 without largest extents
  Bytes out;
  out.add(std::uint8_t{1}).add(static_cast<std::uint8_t>(shape.size())).zeros(6);
  for (const std::uint64_t extent : shape) out.add(extent);
  return out.data();
}

std::string datatype(Type type, size_t item) {
  Bytes out;
  out.add(datatype_of(type));
  if (type == Type::text) out.add(static_cast<std::uint32_t>(item));
  return out.pad().data();
}

class Messages {  // of one object header
 public:
  void add(Message type, const std::string& body) {
    Bytes padded_body;
    padded_body.add(std::string_view(body)).pad();
    bytes_.add(static_cast<std::uint16_t>(type)).add(static_cast<std::uint16_t>(padded_body.size())).zeros(4);
    bytes_.add(std::string_view(padded_body.data()));
    ++count_;
  }
  std::string header() const {  // section IV.A.1.a
    Bytes out;
    out.add(std::uint8_t{1}).zeros(1).add(count_).add(std::uint32_t{1});
    return out.add(static_cast<std::uint32_t>(bytes_.size())).zeros(4).add(std::string_view(bytes_.data())).data();
  }

 private:
  std::uint16_t count_ = 0;
  Bytes bytes_;
};

// All that is not the contents of datasets, in one piece.
class Metadata {
 public:
  Metadata(std::uint64_t address, const Node& root) : address_(address) {
    find_largest(root);
    const std::uint64_t header = group(root);
    flush_heap();
    superblock_.add(kSignature).zeros(5).add(std::uint8_t{8}).add(std::uint8_t{8}).zeros(1);
    superblock_.add(static_cast<std::uint16_t>(kLeafEntries / 2)).add(tree_k_).zeros(4);
    superblock_.address(kSealSize).address(kUndefined).address(kSealSize + end()).address(kUndefined);
    superblock_.add(std::uint64_t{0}).address(header).zeros(kEntrySize - 16);
    assert(superblock_.size() == kSuperblockSize);
  }
  const std::string& bytes() const { return out_.data(); }
  const std::string& superblock() const { return superblock_.data(); }
  std::uint64_t end() const { return address_ + out_.size(); }

 private:
  // One node of a tree holds the largest group.
  void find_largest(const Node& node) {
    const size_t leaves = (node.children.size() + kLeafEntries - 1) / kLeafEntries;
    tree_k_ = static_cast<std::uint16_t>(std::max<size_t>(tree_k_, (leaves + 1) / 2));
    for (const auto& [name, child] : node.children) find_largest(*child);
  }

  std::uint64_t append(const std::string& bytes) {
    const std::uint64_t at = end();
    out_.add(std::string_view(bytes)).pad();
    return at;
  }

  // Section III.A.1, III.B, III.D: names in a local heap, entries in symbol table nodes, and a tree of one node.
  std::uint64_t group(const Node& node) {
    Bytes heap, entries;
    heap.zeros(8);                                                // the name before all names
    std::vector<std::pair<std::uint64_t, std::uint64_t>> leaves;  // address, place of its last name
    std::uint16_t count = 0;
    std::uint64_t name_at = 0;
    const auto end_leaf = [&] {
      if (count == 0) return;
      Bytes leaf;
      leaf.add("SNOD"sv).add(std::uint8_t{1}).zeros(1).add(count).add(std::string_view(entries.data()));
      leaf.zeros(static_cast<std::uint64_t>(kLeafEntries - count) * kEntrySize);
      leaves.emplace_back(append(leaf.data()), name_at);
      entries = {};
      count = 0;
    };
    for (const auto& [name, child] : node.children) {
      const std::uint64_t header = child->group ? group(*child) : dataset(*child);
      name_at = heap.size();
      heap.add(std::string_view(name)).zeros(1).pad();
      entries.add(name_at).address(header).zeros(kEntrySize - 16);
      if (++count == kLeafEntries) end_leaf();
    }
    end_leaf();
    Bytes tree;
    tree.add("TREE"sv).zeros(2).add(static_cast<std::uint16_t>(leaves.size())).address(kUndefined).address(kUndefined);
    tree.add(std::uint64_t{0});
    for (const auto& [address, last] : leaves) tree.address(address).add(last);
    tree.zeros(kTreeHeader + (4 * std::uint64_t{tree_k_} + 1) * 8 - tree.size());
    const std::uint64_t names = append(heap.data()), tree_at = append(tree.data());
    Bytes heap_header;
    heap_header.add("HEAP"sv).zeros(4).add(padded(heap.size())).add(std::uint64_t{1}).address(names);  // 1: nothing
                                                                                                       // free
    const std::uint64_t heap_at = append(heap_header.data());
    Messages messages;
    messages.add(kSymbolTable, Bytes().address(tree_at).address(heap_at).data());
    return append(with_attributes(messages, node).header());
  }

  std::uint64_t dataset(const Node& node) {
    Messages messages;
    messages.add(kDataspace, dataspace(node.shape));
    messages.add(kDatatype, datatype(node.type, node.item));
    messages.add(kFillValue, std::string("\x02\x02\x02\x01\0\0\0\0", 8));  // the default one, zero
    messages.add(kLayout, Bytes().add("\x03\x01"sv).address(node.address).add(node.size).data());
    return append(with_attributes(messages, node).header());
  }

  // Strings are of variable length, because h5py turns such attributes, and only such, into Python strings.
  Messages& with_attributes(Messages& messages, const Node& node) {
    for (const auto& [name, attribute] : node.attributes) {
      const bool text = attribute.type == Type::text;
      const std::string_view type = text ? kVariableText : datatype_of(attribute.type);
      const std::string space = dataspace({});
      Bytes body;  // section IV.A.2.m, version 1
      body.add(std::uint8_t{1}).zeros(1).add(static_cast<std::uint16_t>(name.size() + 1));
      body.add(static_cast<std::uint16_t>(type.size())).add(static_cast<std::uint16_t>(space.size()));
      body.add(std::string_view(name)).zeros(1).pad().add(type).pad().add(std::string_view(space)).pad();
      if (text)
        add_global(attribute.bytes, body);
      else
        body.add(std::string_view(attribute.bytes));
      messages.add(kAttribute, body.data());
    }
    return messages;
  }

  // Section III.E. Heaps come after all else; where one will be is known when it is full, so each has a place kept.
  void add_global(const std::string& text, Bytes& reference) {
    const std::uint64_t size = kGlobalObjectHeader + padded(text.size());
    if (global_count_ > 0 && (global_.size() + size > kGlobalHeapSize || global_count_ == kMostGlobalObjects))
      flush_heap();
    if (global_count_ == 0) {  // all of it is appended now, and filled in by flush_heap()
      global_size_ = std::max(kGlobalHeapSize, kGlobalHeapHeader + size);
      global_at_ = append(std::string(global_size_, '\0'));
      global_ = Bytes();
      global_.add("GCOL"sv).add(std::uint8_t{1}).zeros(3).add(global_size_);
    }
    global_.add(++global_count_).add(std::uint16_t{0}).zeros(4).add(std::uint64_t{text.size()});
    global_.add(std::string_view(text)).pad();
    reference.add(static_cast<std::uint32_t>(text.size())).address(global_at_).add(std::uint32_t{global_count_});
  }
  void flush_heap() {
    if (global_count_ == 0) return;
    const std::uint64_t left = global_size_ - global_.size();
    if (left >= kGlobalObjectHeader) global_.zeros(8).add(left);  // object 0: what is free
    out_.replace(global_at_ - address_, global_);
    global_count_ = 0;
  }

  std::uint64_t address_;
  std::uint16_t tree_k_ = 16;
  Bytes out_, superblock_, global_;
  std::uint64_t global_at_ = 0, global_size_ = 0;
  std::uint16_t global_count_ = 0;
};

std::string pack(const std::vector<std::string>& data, size_t length) {
  std::string packed(length * data.size(), '\0');
  for (size_t i = 0; i < data.size(); ++i) data[i].copy(packed.data() + i * length, length);
  return packed;
}

}  // namespace

Writer::Writer(const std::filesystem::path& file, std::string name)
    : name_(std::move(name)),
      file_(open(file.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666)),
      end_(kSuperblockSize),
      root_(std::make_unique<Node>()) {
  if (file_ < 0) fail("/", errno);
}

Writer::~Writer() {
  if (file_ >= 0) ::close(file_);
}

void Writer::close() {
  const Metadata metadata(end_, *root_);
  write("/", end_, metadata.bytes().data(), metadata.bytes().size());
  write("/", 0, metadata.superblock().data(), metadata.superblock().size());
  if (::close(std::exchange(file_, -1)) != 0) fail("/", errno);
}

void Writer::fail(const std::string& path, int error) const {
  throw WriteError(fmt::format("{}: {}: cannot write: {}", name_, path, std::strerror(error)));
}

void Writer::write(const std::string& path, std::uint64_t address, const void* data, std::uint64_t size) {
  const char* at = static_cast<const char*>(data);
  std::uint64_t offset = kSealSize + address;
  while (size > 0) {
    const ssize_t written = pwrite(file_, at, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(path, written < 0 ? errno : ENOSPC);
    at += written;
    offset += static_cast<std::uint64_t>(written);
    size -= static_cast<std::uint64_t>(written);
  }
}

Node& Writer::find(const std::string& path) {
  Node* node = root_.get();
  for (size_t from = 1; from < path.size();) {
    const size_t end = std::min(path.find('/', from), path.size());
    node = node->children.at(path.substr(from, end - from)).get();
    from = end + 1;
  }
  return *node;
}

Node& Writer::add(const std::string& path) {
  const size_t slash = path.rfind('/');
  auto& place = find(path.substr(0, slash)).children[path.substr(slash + 1)];
  assert(!place);
  place = std::make_unique<Node>();
  return *place;
}

Node& Writer::add_dataset(const std::string& path, Type type, size_t item, const Extents& shape) {
  Node& node = add(path);
  node.group = false;
  node.type = type;
  node.item = item;
  node.shape = shape;
  node.size = item * element_count(shape);
  if (node.size > 0) {
    node.address = end_;
    end_ += padded(node.size);
  }
  return node;
}

void Writer::group(const std::string& path) { add(path); }

void Writer::numbers(const std::string& path, const std::vector<double>& data, const Extents& shape,
                     const std::string& units) {
  create(path, Type::float64, shape, units);
  write(path, find(path).address, data.data(), find(path).size);
}

void Writer::integers(const std::string& path, const std::vector<int>& data, const Extents& shape,
                      const std::string& units) {
  create(path, Type::int32, shape, units);
  write(path, find(path).address, data.data(), find(path).size);
}

void Writer::text(const std::string& path, std::string_view data) {
  const Node& node = add_dataset(path, Type::text, std::max<size_t>(data.size(), 1), {});
  write(path, node.address, data.empty() ? "" : data.data(), node.size);
}

void Writer::strings(const std::string& path, const std::vector<std::string>& data, const Extents& shape) {
  size_t longest = 1;
  for (const std::string& item : data) longest = std::max(longest, item.size());
  const Node& node = add_dataset(path, Type::text, longest, shape);
  write(path, node.address, pack(data, longest).data(), node.size);
}

void Writer::pairs(const std::string& path, const std::vector<std::pair<std::string, std::string>>& rows) {
  std::vector<std::string> table;
  for (const auto& [name, value] : rows) table.insert(table.end(), {name, value});
  strings(path, table, {rows.size(), 2});
}

void Writer::create(const std::string& path, Type type, const Extents& shape, const std::string& units) {
  add_dataset(path, type, number_size(type), shape);
  if (!units.empty()) attribute(path, "units", units);
}

void Writer::create_strings(const std::string& path, size_t length, const Extents& shape) {
  add_dataset(path, Type::text, std::max<size_t>(length, 1), shape);
}

void Writer::put(const std::string& path, std::uint64_t first, std::uint64_t count, const void* data) {
  const Node& node = find(path);
  if (count == 0 || node.size == 0) return;
  const std::uint64_t entry = node.size / node.shape[0];
  assert(first + count <= node.shape[0]);
  write(path, node.address + first * entry, data, count * entry);
}

void Writer::put_strings(const std::string& path, std::uint64_t first, const std::vector<std::string>& data) {
  put(path, first, data.size(), pack(data, find(path).item).data());
}

void Writer::add_attribute(const std::string& object, const std::string& key, Type type, std::string bytes) {
  find(object).attributes[key] = {type, std::move(bytes)};
}

void Writer::attribute(const std::string& object, const std::string& key, const std::string& value) {
  add_attribute(object, key, Type::text, value);
}

void Writer::attribute(const std::string& object, const std::string& key, double value) {
  add_attribute(object, key, Type::float64, std::string(reinterpret_cast<const char*>(&value), sizeof value));
}

void Writer::attribute(const std::string& object, const std::string& key, int value) {
  add_attribute(object, key, Type::int32, std::string(reinterpret_cast<const char*>(&value), sizeof value));
}

}  // namespace scree::hdf5
