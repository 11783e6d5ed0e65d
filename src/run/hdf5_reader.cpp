#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>

#include "run/hdf5_format.h"
#include "scree/error.h"

namespace scree::hdf5 {
namespace {

constexpr std::uint64_t kLargestExtent = 200'000'000;  // more rows than any run or mesh has: the file is damaged
constexpr size_t kMostDimensions = 4;
constexpr int kMostLevels = 8;  // of groups, and of trees of links
// Bytes read in all, over the size of the file: parts that are read twice are few, a file that points to its parts over
// and over is hostile.
constexpr std::uint64_t kMostTimes = 8, kAnyway = 1 << 20;

// What a file may not be. Caught where the path is known.
struct Damage {
  std::string what;
};
[[noreturn]] void damaged(std::string what) { throw Damage{std::move(what)}; }

// A piece of the file in memory; reads beyond its end are damage.
class Piece {
 public:
  explicit Piece(std::string bytes) : bytes_(std::move(bytes)) {}
  template <class Value> Value take() {
    const std::string_view bytes = take(sizeof(Value));
    return load<Value>(bytes.data());
  }
  std::string_view take(std::uint64_t size) {
    if (size > left()) damaged("a part is cut short");
    at_ += size;
    return std::string_view(bytes_).substr(at_ - size, size);
  }
  std::string_view take_padded(std::uint64_t size) {
    const std::string_view bytes = take(size);
    take(std::min(padded(size) - size, left()));
    return bytes;
  }
  void skip(std::uint64_t size) { take(size); }
  void expect(std::string_view bytes, const char* what) {
    if (take(bytes.size()) != bytes) damaged(fmt::format("{} expected", what));
  }
  std::uint64_t left() const { return bytes_.size() - at_; }

 private:
  std::string bytes_;
  std::uint64_t at_ = 0;
};

struct StoredType {
  std::optional<Type> type;  // empty: none of ours
  size_t item = 0;
  bool variable = false;  // text in the global heap
};

StoredType parse_type(std::string_view message) {
  StoredType stored;
  for (const Type type : kNumberTypes)
    if (message.starts_with(datatype_of(type))) return {type, number_size(type), false};
  if (message.starts_with(kVariableText)) return {Type::text, kVariableSize, true};
  if (message.size() >= 8 && message.starts_with(datatype_of(Type::text))) {
    stored.type = Type::text;
    stored.item = load<std::uint32_t>(message.data() + 4);
    if (stored.item == 0) damaged("strings of no length");
  }
  return stored;
}

Extents parse_space(Piece& message) {
  const int version = message.take<std::uint8_t>();
  const size_t rank = message.take<std::uint8_t>();
  if (version != 1) damaged(fmt::format("a shape of version {}", version));
  if (rank > kMostDimensions) damaged(fmt::format("{} dimensions", rank));
  message.skip(6);
  Extents shape;
  for (size_t k = 0; k < rank; ++k) shape.push_back(message.take<std::uint64_t>());
  for (const std::uint64_t extent : shape)
    if (extent > kLargestExtent) damaged(fmt::format("has shape [{}]", fmt::join(shape, ", ")));
  return shape;
}

const char* words_of(Type type) {
  return type == Type::float64 ? "floating-point numbers" : type == Type::text ? "strings of fixed length" : "integers";
}

std::vector<std::string> unpack(const std::string& packed, size_t length) {
  std::vector<std::string> items;
  for (size_t i = 0; i < packed.size(); i += length) {
    const std::string_view item = std::string_view(packed).substr(i, length);
    items.emplace_back(item.substr(0, std::min(item.find('\0'), item.size())));
  }
  return items;
}

}  // namespace

struct Reader::File {
  int descriptor = -1;
  std::uint64_t size = 0;           // [bytes] that HDF5 sees
  mutable std::uint64_t taken = 0;  // read so far

  explicit File(const std::filesystem::path& path) : descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status = {};
    if (descriptor < 0 || fstat(descriptor, &status) != 0)
      throw InputError(fmt::format("{}: cannot be opened: {}", path.string(), std::strerror(errno)));
    if (status.st_size > static_cast<off_t>(kSealSize)) size = static_cast<std::uint64_t>(status.st_size) - kSealSize;
  }
  ~File() { close(descriptor); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void check(std::uint64_t address, std::uint64_t count) const {
    if (address > size || count > size - address) damaged("a part lies beyond the end of the file");
  }
  void read(std::uint64_t address, std::uint64_t count, void* data) const {
    check(address, count);
    char* at = static_cast<char*>(data);
    while (count > 0) {
      const ssize_t got = pread(descriptor, at, count, static_cast<off_t>(kSealSize + address));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) damaged(got < 0 ? std::strerror(errno) : "it became shorter");
      at += got;
      address += static_cast<std::uint64_t>(got);
      count -= static_cast<std::uint64_t>(got);
    }
  }
  void spend(std::uint64_t count) const {
    taken += count;
    if (taken > kMostTimes * size + kAnyway) damaged("its parts overlap");
  }
  Piece piece(std::uint64_t address, std::uint64_t count) const {
    check(address, count);
    spend(count);
    std::string bytes(count, '\0');
    read(address, count, bytes.data());
    return Piece(std::move(bytes));
  }
};

namespace {

// Walks all objects of a file and hands them over by path. `File`: Reader::File.
template <class File> class Walk {
 public:
  Walk(const File& file, std::map<std::string, std::unique_ptr<Node>>& nodes) : file_(file), nodes_(nodes) {
    Piece block = file.piece(0, kSuperblockSize);
    block.expect(kSignature, "a superblock");
    block.expect("\0\0\0\0\0\x08\x08\0"sv, "superblock 0 with addresses of 8 bytes");
    block.skip(8);  // of trees; nodes tell their sizes
    if (block.take<std::uint64_t>() != kSealSize) damaged("the user block has another size");
    block.skip(8 + 8 + 8 + 8);  // free space, end, driver, name of the root
    object("/", block.template take<std::uint64_t>(), 0);
  }

 private:
  void object(const std::string& path, std::uint64_t address, int level) {
    try {
      if (level > kMostLevels) damaged("groups in groups without end");
      read_object(path, address, level);
    } catch (const Damage& damage) {
      if (damage.what.starts_with('/')) throw;
      throw Damage{path + ": " + damage.what};
    }
  }

  // Section IV.A.1.a
  void read_object(const std::string& path, std::uint64_t address, int level) {
    Piece prefix = file_.piece(address, kObjectHeader);
    prefix.expect("\x01\0"sv, "an object header of version 1");
    prefix.skip(2 + 4);
    struct Block {
      std::uint64_t address, size;
    };
    std::vector<Block> blocks = {{address + kObjectHeader, prefix.take<std::uint32_t>()}};
    auto node = std::make_unique<Node>();
    bool typed = false, shaped = false, placed = false;
    std::optional<std::pair<std::uint64_t, std::uint64_t>> links;  // tree, heap
    StoredType stored;
    for (size_t k = 0; k < blocks.size(); ++k) {
      Piece block = file_.piece(blocks[k].address, blocks[k].size);
      while (block.left() >= kMessageHeader) {
        const int type = block.take<std::uint16_t>();
        const std::uint64_t size = block.take<std::uint16_t>();
        const int flags = block.take<std::uint8_t>();
        block.skip(3);
        Piece message{std::string(block.take(size))};
        if ((flags & 2) != 0 && type != kNil) damaged("shares a part with another object");
        switch (type) {
          case kNil:
          case kOldFillValue:
          case kFillValue:
          case kOldModificationTime:
          case kModificationTime:
            break;
          case kDataspace:
            node->shape = parse_space(message);
            shaped = true;
            break;
          case kDatatype:
            stored = parse_type(message.take(size));
            typed = true;
            break;
          case kLayout:
            read_layout(message, *node);
            placed = true;
            break;
          case kAttribute:
            read_attribute(message, *node);
            break;
          case kContinuation: {
            const std::uint64_t at = message.take<std::uint64_t>();
            blocks.push_back({at, message.take<std::uint64_t>()});
            break;
          }
          case kSymbolTable: {
            const std::uint64_t tree = message.take<std::uint64_t>();
            links = {tree, message.take<std::uint64_t>()};
            break;
          }
          case kExternalFiles:
            damaged("is stored in another file, which scree does not read");
          case kFilters:
            damaged("is filtered (compressed), which scree does not read");
          case kLinkInfo:
          case kLink:
            damaged("is a group of another kind, which scree does not read");
          default:
            damaged(fmt::format("has a part of kind {}, which scree does not read", type));
        }
      }
    }
    node->group = links.has_value();
    if (node->group) {
      if (!groups_.insert(address).second) damaged("is linked twice");
      nodes_[path] = std::move(node);
      const std::string prefix_of_children = path == "/" ? path : path + "/";
      std::string last;
      read_tree(links->first, read_heap(links->second), kMostLevels, last,
                [&](const std::string& name, std::uint64_t at) {
                  nodes_.at(path)->children.emplace(name, nullptr);
                  object(prefix_of_children + name, at, level + 1);
                });
      return;
    }
    if (!typed || !shaped || !placed) damaged("is no group and no dataset");
    finish_dataset(stored, *node);
    nodes_[path] = std::move(node);
  }

  // Section IV.A.2.i: contiguous data in this file, nothing else.
  void read_layout(Piece& message, Node& node) {
    const int version = message.take<std::uint8_t>(), kind = message.take<std::uint8_t>();
    if (version != 3 || kind != 1)
      damaged(fmt::format("has layout {} of version {}, which scree does not read", kind, version));
    node.address = message.take<std::uint64_t>();
    node.size = message.take<std::uint64_t>();
  }

  void finish_dataset(const StoredType& stored, Node& node) {
    if (!stored.type || stored.variable) {
      node.item = 0;  // none of ours: whoever asks for it is told
      return;
    }
    node.type = *stored.type;
    node.item = stored.item;
    std::uint64_t size = node.item;
    for (const std::uint64_t extent : node.shape) {
      if (extent > 0 && size > file_.size / extent)
        damaged(fmt::format("has shape [{}], larger than the file", fmt::join(node.shape, ", ")));
      size *= extent;
    }
    if (node.address == kUndefined && size > 0) damaged("was never written");
    if (size > 0) file_.check(node.address, size);
    node.size = size;
  }

  // Section IV.A.2.m, version 1: one number or one string.
  void read_attribute(Piece& message, Node& node) {
    message.expect("\x01\0"sv, "an attribute of version 1");
    const std::uint64_t name_size = message.take<std::uint16_t>(), type_size = message.take<std::uint16_t>(),
                        space_size = message.take<std::uint16_t>();
    std::string name(message.take_padded(name_size));
    name.resize(std::min(name.find('\0'), name.size()));
    const StoredType stored = parse_type(message.take_padded(type_size));
    Piece space{std::string(message.take_padded(space_size))};
    if (!parse_space(space).empty() || !stored.type) return;  // none of ours: it is missing
    Attribute attribute{*stored.type, {}};
    if (stored.variable) {
      Piece reference{std::string(message.take(kVariableSize))};
      const std::uint64_t length = reference.take<std::uint32_t>(), heap = reference.take<std::uint64_t>();
      attribute.bytes = read_global(heap, reference.take<std::uint32_t>(), length);
    } else {
      attribute.bytes = message.take(stored.item);
    }
    if (attribute.type == Type::text)
      attribute.bytes.resize(std::min(attribute.bytes.find('\0'), attribute.bytes.size()));
    node.attributes.insert_or_assign(std::move(name), std::move(attribute));
  }

  // Section III.E
  std::string read_global(std::uint64_t address, std::uint32_t wanted, std::uint64_t length) {
    if (length == 0) return {};
    auto found = heaps_.find(address);
    if (found == heaps_.end()) {
      Piece header = file_.piece(address, kGlobalHeapHeader);
      header.expect("GCOL\x01\0\0\0"sv, "a heap of strings");
      const std::uint64_t size = header.take<std::uint64_t>();
      if (size < kGlobalHeapHeader) damaged("a heap of strings of no size");
      Piece body = file_.piece(address + kGlobalHeapHeader, size - kGlobalHeapHeader);
      std::map<std::uint32_t, std::string> strings;
      while (body.left() >= kGlobalObjectHeader) {
        const std::uint16_t number = body.take<std::uint16_t>();
        body.skip(2 + 4);
        const std::uint64_t bytes = body.take<std::uint64_t>();
        if (number == 0) break;  // the rest is free
        strings.emplace(number, body.take_padded(bytes));
      }
      found = heaps_.emplace(address, std::move(strings)).first;
    }
    const auto text = found->second.find(wanted);
    if (text == found->second.end() || text->second.size() < length) damaged("a string is missing");
    return text->second.substr(0, length);
  }

  // Section III.D: all names of a group.
  std::string read_heap(std::uint64_t address) {
    Piece header = file_.piece(address, kHeapHeader);
    header.expect("HEAP\0\0\0\0"sv, "a heap of names");
    const std::uint64_t size = header.take<std::uint64_t>();
    header.skip(8);
    return std::string(file_.piece(header.take<std::uint64_t>(), size).take(size));
  }

  // Section III.A.1 and III.B: links in the order of their names.
  template <class Take>
  void read_tree(std::uint64_t address, const std::string& names, int levels_left, std::string& last,
                 const Take& take) {
    Piece header = file_.piece(address, kTreeHeader);
    header.expect("TREE\0"sv, "a tree of links");
    const int level = header.take<std::uint8_t>();
    const std::uint64_t count = header.take<std::uint16_t>();
    if (level >= levels_left) damaged("trees in trees without end");
    Piece entries = file_.piece(address + kTreeHeader, 16 * count + 8);
    for (std::uint64_t k = 0; k < count; ++k) {
      entries.skip(8);
      const std::uint64_t child = entries.take<std::uint64_t>();
      if (level > 0)
        read_tree(child, names, level, last, take);
      else
        read_leaf(child, names, last, take);
    }
  }

  template <class Take>
  void read_leaf(std::uint64_t address, const std::string& names, std::string& last, const Take& take) {
    Piece header = file_.piece(address, kNodeHeader);
    header.expect("SNOD\x01\0"sv, "a node of links");
    const std::uint64_t count = header.take<std::uint16_t>();
    Piece entries = file_.piece(address + kNodeHeader, kEntrySize * count);
    for (std::uint64_t k = 0; k < count; ++k) {
      const std::uint64_t name_at = entries.take<std::uint64_t>(), object_at = entries.take<std::uint64_t>();
      const std::uint32_t kind = entries.take<std::uint32_t>();
      entries.skip(kEntrySize - 20);
      if (name_at >= names.size()) damaged("a name lies beyond its heap");
      const std::string name = names.substr(name_at, std::min(names.find('\0', name_at), names.size()) - name_at);
      if (name <= last || name.find('/') != std::string::npos) damaged("its links are not in order");
      if (kind > 1) damaged(fmt::format("\"{}\" is a symbolic link, which scree does not follow", name));
      last = name;
      take(name, object_at);
    }
  }

  const File& file_;
  std::map<std::string, std::unique_ptr<Node>>& nodes_;
  std::set<std::uint64_t> groups_;
  std::map<std::uint64_t, std::map<std::uint32_t, std::string>> heaps_;
};

}  // namespace

Reader::Reader(const std::filesystem::path& file) : name_(file.string()) {
  check_seal(file);
  file_ = std::make_unique<File>(file);
  try {
    const Walk<File> walk(*file_, nodes_);
  } catch (const Damage& damage) {
    throw InputError(fmt::format("{}: {}{}", name_, damage.what.starts_with('/') ? "" : "/: ", damage.what));
  }
}

Reader::~Reader() = default;

void Reader::fail(const std::string& path, const std::string& what) const {
  throw InputError(fmt::format("{}: {}: {}", name_, path, what));
}

const Node& Reader::dataset(const std::string& path) const {
  const auto found = nodes_.find(path);
  if (found == nodes_.end() || found->second->group) fail(path, "dataset is missing or damaged");
  return *found->second;
}

const Node& Reader::typed_dataset(const std::string& path, Type type) const {
  const Node& set = dataset(path);
  if (set.item == 0 || set.type != type) fail(path, fmt::format("has another type, expected {}", words_of(type)));
  return set;
}

Extents Reader::extents(const std::string& path) const { return dataset(path).shape; }

std::uint64_t Reader::length(const std::string& path) const {
  const Extents& shape = dataset(path).shape;
  if (shape.size() != 1) fail(path, "expected one column");
  return shape[0];
}

void Reader::check_shape(const std::string& path, const Node& set, const Extents& expected) const {
  if (set.shape != expected)
    fail(path, fmt::format("has shape [{}], expected [{}]", fmt::join(set.shape, ", "), fmt::join(expected, ", ")));
}

template <class Value> std::vector<Value> Reader::read(const std::string& path, const Extents& shape, Type type) const {
  const Node& set = typed_dataset(path, type);
  check_shape(path, set, shape);
  try {
    file_->spend(set.size);
    std::vector<Value> values(set.size / sizeof(Value));
    if (set.size > 0) file_->read(set.address, set.size, values.data());
    return values;
  } catch (const Damage& damage) {
    fail(path, damage.what);
  }
}

std::vector<double> Reader::numbers(const std::string& path, const Extents& shape) const {
  return read<double>(path, shape, Type::float64);
}

std::vector<int> Reader::integers(const std::string& path, const Extents& shape) const {
  return read<int>(path, shape, Type::int32);
}

void Reader::get(const std::string& path, Type type, const Extents& shape, std::uint64_t first, std::uint64_t count,
                 void* data) const {
  const Node& set = typed_dataset(path, type);
  check_shape(path, set, shape);
  if (shape.empty() || first > shape[0] || count > shape[0] - first) fail(path, "has fewer entries");
  if (count == 0 || set.size == 0) return;
  const std::uint64_t entry = set.size / shape[0];
  try {
    file_->read(set.address + first * entry, count * entry, data);
  } catch (const Damage& damage) {
    fail(path, damage.what);
  }
}

size_t Reader::string_length(const std::string& path) const { return typed_dataset(path, Type::text).item; }

std::string Reader::text(const std::string& path) const { return strings(path, {})[0]; }

std::vector<std::string> Reader::strings(const std::string& path, const Extents& shape) const {
  const std::vector<char> packed = read<char>(path, shape, Type::text);
  return unpack({packed.begin(), packed.end()}, string_length(path));
}

std::vector<std::pair<std::string, std::string>> Reader::pairs(const std::string& path) const {
  const Extents shape = extents(path);
  if (shape.size() != 2 || shape[1] != 2) fail(path, "expected two columns: name, value");
  const std::vector<std::string> table = strings(path, shape);
  std::vector<std::pair<std::string, std::string>> rows;
  for (size_t i = 0; i < table.size(); i += 2) rows.emplace_back(table[i], table[i + 1]);
  return rows;
}

std::vector<std::string> Reader::strings(const std::string& path, const Extents& shape, std::uint64_t first,
                                         std::uint64_t count) const {
  const Node& set = typed_dataset(path, Type::text);
  check_shape(path, set, shape);
  if (shape.empty() || count > shape[0]) fail(path, "has fewer entries");
  std::string packed(shape[0] > 0 ? set.size / shape[0] * count : 0, '\0');
  get(path, Type::text, shape, first, count, packed.data());
  return unpack(packed, set.item);
}

std::vector<std::string> Reader::children(const std::string& path) const {
  const auto found = nodes_.find(path);
  if (found == nodes_.end() || !found->second->group) fail(path, "group is missing or damaged");
  std::vector<std::string> names;
  for (const auto& [name, child] : found->second->children) names.push_back(name);
  return names;
}

bool Reader::has(const std::string& path) const { return nodes_.find(path) != nodes_.end(); }

const Attribute* Reader::find_attribute(const std::string& object, const std::string& key) const {
  const auto owner = nodes_.find(object);
  if (owner == nodes_.end()) return nullptr;
  const auto found = owner->second->attributes.find(key);
  return found == owner->second->attributes.end() ? nullptr : &found->second;
}

const Attribute& Reader::attribute(const std::string& object, const std::string& key, Type type) const {
  if (!has(object)) fail(object, "is missing or damaged");
  const Attribute* found = find_attribute(object, key);
  if (!found) fail(object, fmt::format("attribute \"{}\" is missing or damaged", key));
  if (found->type != type)
    fail(object, fmt::format("attribute \"{}\" is not one {}", key,
                             type == Type::text      ? "string"
                             : type == Type::float64 ? "floating-point number"
                                                     : "integer"));
  return *found;
}

std::string Reader::string_attribute(const std::string& object, const std::string& key) const {
  return attribute(object, key, Type::text).bytes;
}

double Reader::number_attribute(const std::string& object, const std::string& key) const {
  return load<double>(attribute(object, key, Type::float64).bytes.data());
}

int Reader::integer_attribute(const std::string& object, const std::string& key) const {
  return load<std::int32_t>(attribute(object, key, Type::int32).bytes.data());
}

bool Reader::has_attribute(const std::string& object, const std::string& key) const {
  return find_attribute(object, key) != nullptr;
}

}  // namespace scree::hdf5
