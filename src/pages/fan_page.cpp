#include "pages/fan_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/atomic_file.h"
#include "model/planar.h"
#include "model/tree.h"
#include "pages/replay_contacts.h"
#include "pages/replay_data.h"
#include "pages/replay_template.h"
#include "scree/error.h"

namespace scree {
namespace {

using Json = nlohmann::json;
using Indices = std::vector<size_t>;

constexpr double kProbabilities[] = {0.05, 0.25, 0.5, 0.75, 0.95};
constexpr double kEndProbabilities[] = {0.05, 0.5, 0.95};
constexpr size_t kMedianRows = 100;  // that the most typical branch is looked for in, at most
constexpr size_t kMostModes = 20;    // of a cluster: the first ones
constexpr size_t kModeBytes = 300'000;
const std::string kOtherMode = "another mode (names beyond 0.3 MB are left out)";
constexpr double kSameTime = 1e-9;  // relative: the impact at the first split has the same time in all branches

Json to_json(const Vec3& a) { return {a.x(), a.y(), a.z()}; }
Json to_json(const Quat& r) { return {r.x(), r.y(), r.z(), r.w()}; }
Json finite_or_null(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

// The numbers of a fan by branch, row and coordinate: positions first, then velocities.
class FanNumbers {
 public:
  explicit FanNumbers(const Fan& fan) : fan_(fan) {}
  size_t coordinates() const { return fan_.q.columns() + fan_.v.columns(); }
  size_t positions() const { return fan_.q.columns(); }
  double operator()(size_t branch, size_t row, size_t c) const {
    return c < positions() ? fan_.q(branch, row, c) : fan_.v(branch, row, c - positions());
  }
  // Rows the branch reached: the first ones.
  size_t reached(size_t branch) const {
    size_t rows = 0;
    while (rows < fan_.rows() && !std::isnan((*this)(branch, rows, 0))) ++rows;
    return rows;
  }

 private:
  const Fan& fan_;
};

[[noreturn]] void fail(const std::string& what) { throw InputError("fan page: " + what); }

void check_fan(const Scene& scene, const Fan& fan) {
  const size_t rows = fan.rows(), branches = fan.branches.size();
  const size_t nq = static_cast<size_t>(scene.model.nq()), nv = static_cast<size_t>(scene.model.nv());
  if (rows == 0) fail("the fan has no rows, expected at least one");
  if (branches == 0) fail("the fan has no branches, expected at least one");
  if (nq == 0) fail(fmt::format("model {} has no coordinates, expected at least one", scene.model.name()));
  const auto expect = [&](const char* name, size_t found, size_t expected) {
    if (found != expected) fail(fmt::format("{} has {} entries, expected {}", name, found, expected));
  };
  const auto expect_shape = [&](const char* name, const TableStack& stack, size_t columns) {
    if (!stack.has_shape(branches, rows, columns))
      fail(fmt::format("{} is {} x {} x {}, expected {} x {} x {}", name, stack.tables(), stack.rows(), stack.columns(),
                       branches, rows, columns));
  };
  expect_shape("q", fan.q, nq);
  expect_shape("v", fan.v, nv);
  expect("coordinates", fan.coordinates.size(), nq + nv);
  expect("spread", fan.spread.size(), rows);
  for (size_t r = 0; r < rows; ++r)
    if (!std::isfinite(fan.time[r]) || (r > 0 && fan.time[r] <= fan.time[r - 1]))
      fail(fmt::format("time of row {} is {}, expected finite and increasing times", r, fan.time[r]));
  const FanNumbers table(fan);
  for (size_t b = 0; b < branches; ++b) {
    const size_t reached = table.reached(b);
    if (reached == 0) fail(fmt::format("branch {} has no rows, expected at least one", b));
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < nq + nv; ++c)
        if (const double x = table(b, r, c); r < reached ? !std::isfinite(x) : !std::isnan(x))
          fail(fmt::format("branch {}, row {}: {} is {}, expected finite numbers, then NaN to the end", b, r,
                           fan.coordinates[c], x));
  }
  for (size_t k = 0; k < fan.clusters.size(); ++k) {
    if (fan.clusters[k].branches.empty()) fail(fmt::format("cluster {} has no branches, expected at least one", k));
    for (const long b : fan.clusters[k].branches)
      if (b < 0 || static_cast<size_t>(b) >= branches)
        fail(fmt::format("cluster {} has branch {}, expected 0 to {}", k, b, branches - 1));
  }
}

// Sorts `values`. Linear between order statistics, as Fan::quantile.
std::vector<double> quantiles(std::vector<double>& values, const auto& probabilities) {
  std::sort(values.begin(), values.end());
  std::vector<double> out;
  for (const double p : probabilities) {
    if (values.empty()) {
      out.push_back(std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    const double at = p * static_cast<double>(values.size() - 1);
    const size_t below = static_cast<size_t>(at), above = std::min(below + 1, values.size() - 1);
    const double u = at - static_cast<double>(below);
    out.push_back((1 - u) * values[below] + u * values[above]);
  }
  return out;
}

std::vector<double> column(const FanNumbers& table, const Indices& branches, size_t row, size_t c) {
  std::vector<double> values;
  for (const size_t b : branches)
    if (const double x = table(b, row, c); !std::isnan(x)) values.push_back(x);
  return values;
}

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  double width() const { return std::max(0.0, high - low); }
};

// Of all branches, so that no choice of branches or rows changes it.
std::vector<Range> coordinate_ranges(const FanNumbers& table, const Fan& fan) {
  std::vector<Range> ranges(table.coordinates());
  for (size_t b = 0; b < fan.branches.size(); ++b)
    for (size_t r = 0; r < fan.rows(); ++r)
      for (size_t c = 0; c < ranges.size(); ++c)
        if (const double x = table(b, r, c); !std::isnan(x)) {
          ranges[c].low = std::min(ranges[c].low, x);
          ranges[c].high = std::max(ranges[c].high, x);
        }
  return ranges;
}

// The member nearest to the members' median motion: least sum over rows and positions of ((q - median) / range)^2,
// among those that came furthest.
size_t typical_branch(const FanNumbers& table, const Indices& members, const Indices& rows,
                      const std::vector<Range>& ranges) {
  size_t furthest = 0;
  for (const size_t b : members) furthest = std::max(furthest, table.reached(b));
  Indices last;
  for (const size_t b : members)
    if (table.reached(b) == furthest) last.push_back(b);
  std::vector<double> distance(last.size(), 0.0);
  const size_t every = std::max<size_t>(1, rows.size() / kMedianRows);
  for (size_t k = 0; k < rows.size(); k += every)
    for (size_t c = 0; c < table.positions(); ++c) {
      if (ranges[c].width() == 0) continue;
      std::vector<double> values = column(table, members, rows[k], c);
      const double median = quantiles(values, std::array{0.5})[0];
      for (size_t i = 0; i < last.size(); ++i)
        if (const double x = table(last[i], rows[k], c); !std::isnan(x))
          distance[i] += std::pow((x - median) / ranges[c].width(), 2);
    }
  return last[static_cast<size_t>(std::min_element(distance.begin(), distance.end()) - distance.begin())];
}

Json describe_joints(const Model& model) {
  Json joints = Json::array();
  for (size_t i = 0; i < model.joints().size(); ++i) {
    const Joint& joint = model.joints()[i];
    Json item = {{"type", joint_type_name(joint.type)},
                 {"position", to_json(joint.X_PJ.p)},
                 {"quaternion", to_json(Quat(joint.X_PJ.R))},
                 {"axis", to_json(joint.axis)},
                 {"q", joint.q_index}};
    if (joint.type == JointType::planar) {
      Vec3 u1, u2;
      planar_directions(joint.axis, u1, u2);
      item["u1"] = to_json(u1);
      item["u2"] = to_json(u2);
    }
    if (const Node& node = tree_of(model).nodes[i]; node.follows) {
      item["multiplier"] = node.multiplier;
      item["offset"] = node.offset;
    }
    joints.push_back(std::move(item));
  }
  return joints;
}

// "base.x [m]": name and unit.
Json describe_coordinates(const FanNumbers& table, const Fan& fan, const std::vector<Range>& ranges) {
  Json out = Json::array();
  for (size_t c = 0; c < table.coordinates(); ++c) {
    const std::string& text = fan.coordinates[c];
    const size_t open = text.rfind(" [");
    const bool unit = open != std::string::npos && text.back() == ']';
    out.push_back({{"name", unit ? text.substr(0, open) : text},
                   {"unit", unit ? text.substr(open + 2, text.size() - open - 3) : ""},
                   {"velocity", c >= table.positions()},
                   {"low", ranges[c].low},
                   {"high", ranges[c].high}});
  }
  return out;
}

// All branches, or `most` of them: `wanted` and others evenly spaced.
Indices choose_branches(size_t total, size_t most, const Indices& wanted) {
  Indices chosen(total);
  std::iota(chosen.begin(), chosen.end(), size_t{0});
  if (total <= most) return chosen;
  std::set<size_t> kept;
  for (const size_t b : wanted)
    if (kept.size() < most) kept.insert(b);
  for (size_t k = 0; k < most && kept.size() < most; ++k) kept.insert(k * total / most);
  for (size_t b = 0; kept.size() < most; ++b) kept.insert(b);
  return {kept.begin(), kept.end()};
}

// 0 ... 65534 from the coordinate's smallest to its largest value, kNoSample where the branch had ended.
std::vector<std::uint16_t> encode(const FanNumbers& table, const Indices& branches, const Indices& rows,
                                  const std::vector<Range>& ranges) {
  std::vector<std::uint16_t> codes;
  codes.reserve(table.coordinates() * branches.size() * rows.size());
  for (size_t c = 0; c < table.coordinates(); ++c) {
    const double scale = ranges[c].width() > 0 ? (kNoSample - 1) / ranges[c].width() : 0;
    for (const size_t b : branches)
      for (const size_t r : rows) {
        const double x = table(b, r, c);
        codes.push_back(std::isnan(x) ? kNoSample
                                      : static_cast<std::uint16_t>(std::lround((x - ranges[c].low) * scale)));
      }
  }
  return codes;
}

// Modes by number, in the order of first use. Those beyond kModeBytes share one name.
class ModeTable {
 public:
  std::uint32_t index(const std::string& mode) {
    const auto found = known_.find(mode);
    if (found != known_.end()) return found->second;
    bytes_ += mode.size() + 4;  // quotes, comma, and one more
    if (bytes_ > kModeBytes && mode != kOtherMode) return index(kOtherMode);
    names_.push_back(mode);
    return known_[mode] = static_cast<std::uint32_t>(names_.size() - 1);
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::map<std::string, std::uint32_t> known_;
  std::vector<std::string> names_;
  size_t bytes_ = 0;
};

// The first impacts of every branch, so many that all have at most kMostFanImpacts.
size_t impacts_per_branch(const Fan& fan, const Indices& branches) {
  size_t most = 0;
  for (const size_t b : branches) most = std::max(most, fan.branches[b].impacts.size());
  const auto total = [&](size_t limit) {
    size_t sum = 0;
    for (const size_t b : branches) sum += std::min(limit, fan.branches[b].impacts.size());
    return sum;
  };
  size_t low = 0, high = most;  // total(low) fits
  while (low < high) {
    const size_t middle = (low + high + 1) / 2;
    if (total(middle) <= kMostFanImpacts)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

Json add_impacts(const Fan& fan, const Indices& branches, ModeTable& modes, ArrayBlock& block) {
  const size_t limit = impacts_per_branch(fan, branches);
  std::vector<std::uint32_t> first = {0}, contacts, mode, count, flags;  // 1: more than one outcome, 2: no collision
  std::vector<double> time;
  std::vector<float> before, after;
  for (const size_t b : branches) {
    const std::vector<FanImpact>& all = fan.branches[b].impacts;
    count.push_back(static_cast<std::uint32_t>(all.size()));
    for (size_t k = 0; k < std::min(limit, all.size()); ++k) {
      time.push_back(all[k].time);
      contacts.push_back(static_cast<std::uint32_t>(std::max(0, all[k].contacts)));
      mode.push_back(modes.index(all[k].mode));
      flags.push_back((all[k].ambiguous ? 1u : 0u) | (all[k].kind == EventKind::impact_without_collision ? 2u : 0u));
      before.push_back(static_cast<float>(all[k].energy_before));
      after.push_back(static_cast<float>(all[k].energy_after));
    }
    first.push_back(static_cast<std::uint32_t>(time.size()));
  }
  return {{"limit", limit},
          {"count", block.add(count)},
          {"first", block.add(first)},
          {"time", block.add(time)},
          {"contacts", block.add(contacts)},
          {"mode", block.add(mode)},
          {"before", block.add(before)},
          {"after", block.add(after)},
          {"flags", block.add(flags)}};
}

// Of ModeTable for all branches, at most: those shown have fewer.
size_t mode_bytes(const Fan& fan) {
  std::set<std::string_view> known;
  size_t bytes = 100;
  for (const FanBranch& branch : fan.branches)
    for (const FanImpact& impact : branch.impacts)
      if (bytes < 2 * kModeBytes && known.insert(impact.mode).second) bytes += 2 * impact.mode.size() + 4;  // escapes
  return bytes;
}

const FanImpact* impact_at(const FanBranch& branch, double time) {
  for (const FanImpact& impact : branch.impacts)
    if (std::abs(impact.time - time) <= kSameTime * (1 + std::abs(time))) return &impact;
  return nullptr;
}

// What the branches did at the first split: modes with counts and energies lost, velocities before and after.
Json describe_split(const Model& model, const Fan& fan) {
  if (!std::isfinite(fan.first_split)) return nullptr;
  struct Outcome {
    long count = 0;
    Range lost;
  };
  std::map<std::string, Outcome> outcomes;
  std::vector<std::vector<double>> after(static_cast<size_t>(model.nv()));
  const FanImpact* sample = nullptr;
  long missing = 0;
  for (const FanBranch& branch : fan.branches) {
    const FanImpact* impact = impact_at(branch, fan.first_split);
    if (!impact) {
      ++missing;
      continue;
    }
    sample = impact;
    Outcome& outcome = outcomes[impact->mode];
    const double lost = impact->energy_before - impact->energy_after;
    ++outcome.count;
    outcome.lost.low = std::min(outcome.lost.low, lost);
    outcome.lost.high = std::max(outcome.lost.high, lost);
    if (impact->v_after.size() == model.nv())
      for (size_t i = 0; i < after.size(); ++i) after[i].push_back(impact->v_after(static_cast<Eigen::Index>(i)));
  }
  std::vector<std::pair<std::string, Outcome>> sorted(outcomes.begin(), outcomes.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  Json modes = Json::array(), velocities = Json::array();
  for (size_t k = 0; k < std::min(sorted.size(), kMostFanClusters); ++k) {
    const auto& [mode, outcome] = sorted[k];
    modes.push_back({{"mode", mode}, {"count", outcome.count}, {"lost", {outcome.lost.low, outcome.lost.high}}});
  }
  for (size_t i = 0; i < after.size() && sample && !after[i].empty(); ++i) {
    const bool known = sample->v_before.size() == model.nv();
    velocities.push_back({{"before", known ? Json(sample->v_before(static_cast<Eigen::Index>(i))) : Json(nullptr)},
                          {"after", quantiles(after[i], kEndProbabilities)}});
  }
  return {{"modes", std::move(modes)},
          {"mode_count", sorted.size()},
          {"missing", missing},
          {"velocities", std::move(velocities)}};
}

Json describe_failures(const FanNumbers& table, const Fan& fan) {
  Json out = Json::array();
  for (size_t b = 0; b < fan.branches.size() && out.size() < kMostFanFailures; ++b) {
    const FanBranch& branch = fan.branches[b];
    if (branch.status == RunStatus::complete) continue;
    out.push_back({{"branch", branch.index},
                   {"end", fan.time[std::max<size_t>(1, table.reached(b)) - 1]},
                   {"reason", branch.failure.empty() ? run_status_name(branch.status) : branch.failure}});
  }
  return out;
}

}  // namespace

Json fan_page_data(const Scene& scene, const Fan& fan) {
  check_fan(scene, fan);
  const FanNumbers table(fan);
  const size_t branches = fan.branches.size(), coordinates = table.coordinates();
  const std::vector<Range> ranges = coordinate_ranges(table, fan);

  ArrayBlock block;
  Json data = describe_model(scene.model, block, kReplayBytes / 8);
  data["version"] = 1;
  data["title"] = fan.title;
  data["joints"] = describe_joints(scene.model);
  if (scene.world.has_contact()) {
    std::string note = data["note"];
    data["environment"] = describe_environment(scene.world.colliders, block, kReplayBytes / 16, note);
    data["contact_points"] = describe_contact_points(scene.world.colliders);
    data["note"] = note;
  }
  data["coordinates"] = describe_coordinates(table, fan, ranges);
  data["branches"] = branches;
  data["failed"] = std::count_if(fan.branches.begin(), fan.branches.end(),
                                 [](const FanBranch& branch) { return branch.status != RunStatus::complete; });
  data["failures"] = describe_failures(table, fan);
  data["interrupted"] = fan.interrupted;
  data["wall_time"] = fan.wall_time;
  data["first_split"] = finite_or_null(fan.first_split);
  data["split"] = describe_split(scene.model, fan);
  data["recorded_rows"] = fan.rows();

  // Clusters: the largest ones with the branch that stands for each.
  Indices everyone(branches), all_rows(fan.rows());
  std::iota(everyone.begin(), everyone.end(), size_t{0});
  std::iota(all_rows.begin(), all_rows.end(), size_t{0});
  const size_t typical = typical_branch(table, everyone, all_rows, ranges);
  Indices wanted = {typical};
  std::vector<std::uint32_t> cluster_of(branches, 0xffffffffu);
  std::vector<float> ends;
  Json clusters = Json::array();
  for (size_t k = 0; k < fan.clusters.size(); ++k) {
    const FanCluster& cluster = fan.clusters[k];
    const Indices members(cluster.branches.begin(), cluster.branches.end());
    for (const size_t b : members) cluster_of[b] = static_cast<std::uint32_t>(k);
    if (k >= kMostFanClusters) continue;
    wanted.push_back(typical_branch(table, members, all_rows, ranges));
    const size_t listed = std::min(cluster.modes.size(), kMostModes);
    clusters.push_back(
        {{"modes", std::vector<std::string>(cluster.modes.begin(), cluster.modes.begin() + static_cast<long>(listed))},
         {"mode_count", cluster.modes.size()},
         {"count", members.size()},
         {"representative", fan.branches[wanted.back()].index}});
    for (size_t c = 0; c < coordinates; ++c) {
      std::vector<double> values = column(table, members, fan.rows() - 1, c);
      for (const double x : quantiles(values, kEndProbabilities)) ends.push_back(static_cast<float>(x));
    }
  }
  data["clusters"] = std::move(clusters);
  data["cluster_count"] = fan.clusters.size();
  data["ends"] = block.add(ends);
  data["typical"] = fan.branches[typical].index;

  // Room: every row takes a time, a spread, five quantiles and a code of every branch for each coordinate; every branch
  // its number, cluster, rows and energies, and its impacts. base64 makes 4 characters of 3 bytes; entries of arrays in
  // the JSON and their alignment take less than 100 each.
  const size_t header = replay_json(data).size() + block.bytes().size() / 3 * 4 + 20 * 100 + mode_bytes(fan);
  const size_t per_impact = 28, per_branch = 24;  // [byte]
  const size_t left = header < kReplayBytes ? (kReplayBytes - header) / 4 * 3 : 0;
  const auto bytes = [&](size_t rows, size_t shown) {
    return rows * (12 + coordinates * (20 + 2 * shown)) + per_branch * shown;
  };
  size_t recorded_impacts = 0;
  for (const FanBranch& branch : fan.branches) recorded_impacts += branch.impacts.size();
  const size_t room = left - std::min(left, per_impact * std::min(kMostFanImpacts, recorded_impacts));
  // Every stride-th row and the last one. Rows give way down to kLeastFanRows, then branches, then rows again.
  const auto row_count = [&](size_t stride) { return (fan.rows() - 1 + stride - 1) / stride + 1; };
  size_t stride = 1, shown_count = branches;
  while (row_count(stride) > kMostFanRows ||
         (bytes(row_count(stride), branches) > room && row_count(stride + 1) >= kLeastFanRows))
    ++stride;
  while (shown_count > 1 && bytes(row_count(stride), shown_count) > room)
    shown_count -= std::max<size_t>(1, shown_count / 64);
  while (row_count(stride) > 2 && bytes(row_count(stride), shown_count) > room) ++stride;
  if (bytes(row_count(stride), shown_count) > room)
    throw InputError(
        fmt::format("fan page of {}: {} bodies and {} coordinates take more than the {} bytes a page may have",
                    scene.model.name(), scene.model.bodies().size(), coordinates, kReplayBytes));

  const RowSelection kept = select_rows(fan.rows(), std::max<size_t>(2, row_count(stride)));
  const Indices shown = choose_branches(branches, shown_count, wanted);
  std::vector<double> time;
  std::vector<float> spread, bands, energy, penetration;
  // Per square root of the mass a length: root mean square distance of the mass from where it is on average.
  double mass = 0;
  for (const Body& body : scene.model.bodies()) mass += body.mass;
  const double scale = mass > 0 ? std::sqrt(mass) : 1;
  for (const size_t r : kept.rows) {
    time.push_back(fan.time[r]);
    spread.push_back(static_cast<float>(fan.spread[r] / scale));
  }
  for (size_t c = 0; c < coordinates; ++c) {
    std::vector<std::vector<double>> by_row;
    for (const size_t r : kept.rows) {
      std::vector<double> values = column(table, everyone, r, c);
      by_row.push_back(quantiles(values, kProbabilities));
    }
    for (size_t p = 0; p < std::size(kProbabilities); ++p)
      for (const std::vector<double>& row : by_row) bands.push_back(static_cast<float>(row[p]));
  }
  std::vector<std::uint32_t> numbers, cluster, ended;
  for (const size_t b : shown) {
    numbers.push_back(static_cast<std::uint32_t>(fan.branches[b].index));
    cluster.push_back(cluster_of[b]);
    const size_t reached = table.reached(b);
    ended.push_back(
        static_cast<std::uint32_t>(std::lower_bound(kept.rows.begin(), kept.rows.end(), reached) - kept.rows.begin()));
    energy.push_back(static_cast<float>(fan.branches[b].final_energy));
    penetration.push_back(static_cast<float>(fan.branches[b].penetration));
  }
  ModeTable modes;
  data["stride"] = kept.stride;
  data["time"] = block.add(time);
  data["spread"] = block.add(spread);
  data["quantiles"] = block.add(bands);
  data["shown"] = block.add(numbers);
  data["cluster"] = block.add(cluster);
  data["reached"] = block.add(ended);
  data["final_energy"] = block.add(energy);
  data["penetration"] = block.add(penetration);
  data["impacts"] = add_impacts(fan, shown, modes, block);
  data["modes"] = modes.names();
  data["values"] = block.add(encode(table, shown, kept.rows, ranges));
  data["data"] = base64(block.bytes());
  return data;
}

void write_fan_page(const std::filesystem::path& file, const Scene& scene, const Fan& fan) {
  std::string page(fan_template());
  page.replace(page.find(kFanPlaceholder), kFanPlaceholder.size(), replay_json(fan_page_data(scene, fan)));
  write_atomically(file, page);
}

}  // namespace scree
