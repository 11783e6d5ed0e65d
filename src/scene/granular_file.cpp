// Tables of granular media (TOML, docs/contact.md).
#include <fmt/format.h>

#include <cmath>

#include "base/files.h"
#include "contact/granular.h"
#include "scene/toml_reader.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

constexpr double kLeastDepth = 1e-6;       // [m]
constexpr double kShortestLateral = 1e-6;  // of a direction
constexpr size_t kMostVertices = 64;       // per node
constexpr size_t kMostNodes = 100000;

// The arrays of a table, with every entry's own line in its message.
class GranularReader {
 public:
  GranularReader(const toml::table& root, std::string file) : root_(root), file_(std::move(file)) {}

  [[noreturn]] void fail(const toml::node& node, const std::string& entry, const std::string& what) const {
    throw InputError(one_line(fmt::format("{}:{}: {}: {}", file_, node.source().begin.line, entry, what)));
  }

  const toml::array& array(const toml::node& node, const std::string& entry, const std::string& expected) const {
    if (!node.is_array()) fail(node, entry, fmt::format("not an array, expected {}", expected));
    return *node.as_array();
  }

  double number(const toml::node& node, const std::string& entry, const char* unit) const {
    const double value = node.is_integer()          ? static_cast<double>(node.as_integer()->get())
                         : node.is_floating_point() ? node.as_floating_point()->get()
                                                    : std::nan("");
    if (!node.is_number()) fail(node, entry, fmt::format("not a number, expected one [{}]", unit));
    if (!(std::abs(value) <= kLargestNumber))
      fail(node, entry, fmt::format("{}, expected a finite number of at most {:g} {}", value, kLargestNumber, unit));
    return value;
  }

  // Increasing numbers in [lowest, highest].
  std::vector<double> grid(const char* key, double lowest, double highest, const char* unit) const {
    const toml::node& node = *root_.get(key);
    const toml::array& entries = array(node, key, "increasing numbers");
    if (entries.empty()) fail(node, key, "an empty array, expected at least one number");
    std::vector<double> values;
    for (const toml::node& item : entries) {
      const std::string entry = fmt::format("{}[{}]", key, values.size());
      const double value = number(item, entry, unit);
      if (!(value >= lowest && value <= highest))
        fail(item, entry, fmt::format("{}, expected a number in [{:.6g}, {:.6g}] {}", value, lowest, highest, unit));
      if (!values.empty() && !(value > values.back()))
        fail(item, entry, fmt::format("{}, expected more than the {} before it", value, values.back()));
      values.push_back(value);
    }
    return values;
  }

  // vertices[depth][inclination][vertex] = [fx, fy, fz] or [fx, fy, fz, mx, my, mz]
  void read_vertices(GranularTable& table) const {
    const toml::node& node = *root_.get("vertices");
    const toml::array& rows = sized(node, "vertices", table.depths.size(), "as many as depths");
    Eigen::Index column = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const std::string row = fmt::format("vertices[{}]", i);
      const toml::array& nodes = sized(rows[i], row, table.inclinations.size(), "as many as inclinations");
      for (size_t j = 0; j < nodes.size(); ++j) {
        const std::string place = fmt::format("{}[{}]", row, j);
        const toml::array& wrenches = array(nodes[j], place, "wrenches");
        if (column == 0) {
          if (wrenches.empty() || wrenches.size() > kMostVertices)
            fail(nodes[j], place, fmt::format("{} wrenches, expected 1 to {}", wrenches.size(), kMostVertices));
          table.vertex_count = static_cast<int>(wrenches.size());
          table.vertices.setZero(6, static_cast<Eigen::Index>(rows.size() * nodes.size() * wrenches.size()));
        }
        sized(nodes[j], place, static_cast<size_t>(table.vertex_count), "as many as at the first node");
        for (size_t k = 0; k < wrenches.size(); ++k)
          read_wrench(wrenches[k], fmt::format("{}[{}]", place, k), table.vertices.col(column++));
      }
    }
  }

 private:
  const toml::array& sized(const toml::node& node, const std::string& entry, size_t size, const char* why) const {
    const toml::array& entries = array(node, entry, fmt::format("an array of {}", size));
    if (entries.size() != size)
      fail(node, entry, fmt::format("an array of {}, expected {}, {}", entries.size(), size, why));
    return entries;
  }

  void read_wrench(const toml::node& node, const std::string& entry, Wrenches::ColXpr out) const {
    const toml::array& components = array(node, entry, "3 or 6 numbers");
    if (components.size() != 3 && components.size() != 6)
      fail(node, entry,
           fmt::format("an array of {}, expected 3 (force [N]) or 6 (force [N], moment [N m])", components.size()));
    for (size_t c = 0; c < components.size(); ++c)
      out(static_cast<Eigen::Index>(c)) = number(components[c], entry, c < 3 ? "N" : "N m");
    if (out(2) < 0) fail(node, entry, fmt::format("normal force {}, expected >= 0: the ground does not pull", out(2)));
  }

  const toml::table& root_;
  std::string file_;
};

}  // namespace

std::shared_ptr<const ContactLaw> load_granular(const fs::path& file) {
  std::string text;
  const toml::table root = parse_toml_file(file, text);
  const TomlReader keys(root, shown(file));
  const GranularReader arrays(root, shown(file));
  keys.check_keys({"title", "depths", "inclinations", "vertices", "lateral", "share_of_weight"});
  for (const char* key : {"depths", "inclinations", "vertices"}) keys.require(key);
  keys.string("title");

  GranularTable table;
  table.depths = arrays.grid("depths", kLeastDepth, kLargestNumber, "m");
  table.inclinations = arrays.grid("inclinations", -M_PI, M_PI, "rad");
  if (table.depths.size() * table.inclinations.size() > kMostNodes)
    keys.fail("inclinations", fmt::format("{} depths and {} inclinations, expected at most {} nodes",
                                          table.depths.size(), table.inclinations.size(), kMostNodes));
  arrays.read_vertices(table);
  if (const auto lateral = keys.numbers("lateral", 3)) {
    table.lateral = Vec3(lateral->data());
    if (!(table.lateral.norm() >= kShortestLateral))
      keys.fail("lateral", fmt::format("has length {}, expected a direction", table.lateral.norm()));
    table.lateral.normalize();
  }
  table.share_of_weight = keys.boolean("share_of_weight").value_or(false);
  return make_granular(std::move(table));
}

}  // namespace scree
