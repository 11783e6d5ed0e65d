#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "formats/atomic_file.h"
#include "scree/error.h"
#include "scree/fan.h"
#include "sim/build_info.h"
#include "sim/run_blocks.h"
#include "sim/seal.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

constexpr int kFanVersion = 1;
constexpr const char* kVelocityUnits = "m/s, rad/s";

// Texts that repeat are stored once, in the order in which they come.
class TextTable {
 public:
  int add(const std::string& text) {
    const auto [at, fresh] = places_.emplace(text, static_cast<int>(texts_.size()));
    if (fresh) texts_.push_back(text);
    return at->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::map<std::string, int> places_;
  std::vector<std::string> texts_;
};

// A column with an entry for each of `items`.
template <class Items, class Get>
void write_numbers(hdf5::Writer& out, const std::string& path, const Items& items, const char* units, Get&& get) {
  std::vector<double> values;
  values.reserve(items.size());
  for (const auto& item : items) values.push_back(get(item));
  out.numbers(path, values, {items.size()}, units);
}
template <class Items, class Get>
void write_integers(hdf5::Writer& out, const std::string& path, const Items& items, Get&& get) {
  std::vector<int> values;
  values.reserve(items.size());
  for (const auto& item : items) values.push_back(static_cast<int>(get(item)));
  out.integers(path, values, {items.size()}, "1");
}

void write_branches(hdf5::Writer& out, const Fan& fan) {
  const std::vector<FanBranch>& all = fan.branches;
  out.group("/branches");
  write_integers(out, "/branches/index", all, [](const FanBranch& b) { return b.index; });
  write_integers(out, "/branches/status", all, [](const FanBranch& b) { return b.status; });
  std::string values;
  for (const RunStatus status : {RunStatus::complete, RunStatus::step_failed, RunStatus::interrupted})
    values += fmt::format("{}{} {}", values.empty() ? "" : ", ", static_cast<int>(status), run_status_name(status));
  out.attribute("/branches/status", "values", values);
  std::vector<std::string> failures;
  std::vector<std::uint64_t> hashes;
  std::vector<int> first = {0};
  for (const FanBranch& branch : all) {
    failures.push_back(branch.failure);
    hashes.push_back(branch.final_state_hash);
    first.push_back(first.back() + static_cast<int>(branch.impacts.size()));
  }
  out.strings("/branches/failure", failures, {all.size()});
  out.create("/branches/final_state_hash", H5T_NATIVE_UINT64, {all.size()}, "1");
  out.put("/branches/final_state_hash", H5T_NATIVE_UINT64, 0, all.size(), hashes.data());
  write_numbers(out, "/branches/final_energy", all, "J", [](const FanBranch& b) { return b.final_energy; });
  write_numbers(out, "/branches/penetration", all, "m", [](const FanBranch& b) { return b.penetration; });
  write_numbers(out, "/branches/end_time", all, "s", [](const FanBranch& b) { return b.end_time; });
  write_integers(out, "/branches/cluster", all, [](const FanBranch& b) { return b.cluster; });
  out.integers("/branches/first_impact", first, {all.size() + 1}, "1");
}

void write_impacts(hdf5::Writer& out, const Fan& fan, hsize_t nv, TextTable& modes) {
  std::vector<const FanImpact*> all;
  std::vector<int> branch;
  for (size_t b = 0; b < fan.branches.size(); ++b)
    for (const FanImpact& impact : fan.branches[b].impacts) {
      all.push_back(&impact);
      branch.push_back(static_cast<int>(b));
    }
  out.group("/impacts");
  out.integers("/impacts/branch", branch, {all.size()}, "1");
  write_numbers(out, "/impacts/time", all, "s", [](const FanImpact* i) { return i->time; });
  write_integers(out, "/impacts/contacts", all, [](const FanImpact* i) { return i->contacts; });
  write_integers(out, "/impacts/mode", all, [&](const FanImpact* i) { return modes.add(i->mode); });
  write_integers(out, "/impacts/ambiguous", all, [](const FanImpact* i) { return i->ambiguous; });
  write_integers(out, "/impacts/without_collision", all,
                 [](const FanImpact* i) { return i->kind == EventKind::impact_without_collision; });
  write_numbers(out, "/impacts/energy_before", all, "J", [](const FanImpact* i) { return i->energy_before; });
  write_numbers(out, "/impacts/energy_after", all, "J", [](const FanImpact* i) { return i->energy_after; });
  for (const auto& [path, member] :
       {std::pair{"/impacts/v_before", &FanImpact::v_before}, {"/impacts/v_after", &FanImpact::v_after}}) {
    std::vector<double> values;
    values.reserve(all.size() * nv);
    for (const FanImpact* impact : all) {
      const Eigen::VectorXd& v = impact->*member;
      if (static_cast<hsize_t>(v.size()) != nv)
        throw InputError(fmt::format("fan: {} has {} entries, expected {}", path, v.size(), nv));
      values.insert(values.end(), v.begin(), v.end());
    }
    out.numbers(path, values, {all.size(), nv}, kVelocityUnits);
  }
}

void write_clusters(hdf5::Writer& out, const Fan& fan, TextTable& modes) {
  std::vector<int> first = {0}, mode;
  for (const FanCluster& cluster : fan.clusters) {
    for (const std::string& text : cluster.modes) mode.push_back(modes.add(text));
    first.push_back(static_cast<int>(mode.size()));
  }
  out.group("/clusters");
  write_integers(out, "/clusters/size", fan.clusters, [](const FanCluster& c) { return c.branches.size(); });
  out.integers("/clusters/first_mode", first, {fan.clusters.size() + 1}, "1");
  out.integers("/clusters/mode", mode, {mode.size()}, "1");
  out.group("/split");
  write_integers(out, "/split/mode", fan.split, [&](const FanShare& s) { return modes.add(s.mode); });
  write_integers(out, "/split/branches", fan.split, [](const FanShare& s) { return s.branches; });
}

}  // namespace

void write_fan(const fs::path& file, const Scene& scene, const Fan& fan) {
  const hsize_t branches = fan.branches.size(), rows = fan.rows();
  const hsize_t nq = static_cast<hsize_t>(scene.model.nq()), nv = static_cast<hsize_t>(scene.model.nv());
  if (fan.q.size() != branches * rows * nq || fan.v.size() != branches * rows * nv || fan.spread.size() != rows)
    throw InputError(fmt::format("fan: q, v, spread hold {}, {}, {} numbers, expected those of {} branches and {} rows",
                                 fan.q.size(), fan.v.size(), fan.spread.size(), branches, rows));
  AtomicFile target(file);
  hdf5::Writer out(target.temporary(), file.string());
  out.attribute("/", "fan_version", kFanVersion);
  out.attribute("/", "scree_version", version());
  out.attribute("/", "title", fan.title);
  out.attribute("/", "status", fan.interrupted ? "interrupted" : "complete");
  out.attribute("/", "branches_wanted", static_cast<int>(fan.options.branches));
  out.attribute("/", "seed", fmt::format("{}", fan.options.seed));  // may exceed what an integer of HDF5 tools holds
  out.attribute("/", "sampler", outcome_sampler_name(fan.options.sampling.sampler));
  out.attribute("/", "wall_time", fan.wall_time);
  out.attribute("/", "first_split", fan.first_split);
  const OutcomeOptions& sampling = fan.options.sampling;
  const std::vector<std::pair<std::string, std::string>> settings = {
      {"integrator", integrator_name(scene.options.integrator)},
      {"dt", fmt::format("{:.17g} s", scene.options.dt)},
      {"duration", fmt::format("{:.17g} s", scene.duration)},
      {"friction", fmt::format("{:.17g}", scene.world.smooth.friction)},
      {"restitution", fmt::format("{:.17g}", scene.world.event.restitution)},
      {"branches", fmt::format("{}", fan.options.branches)},
      {"seed", fmt::format("{}", fan.options.seed)},
      {"sampler", outcome_sampler_name(sampling.sampler)},
      {"sampling step", fmt::format("{:.17g} N s (0: half the bound of the impulse)", sampling.step)},
      {"sampling max_steps", fmt::format("{}", sampling.max_steps)},
      {"sampling closing", fmt::format("{:.17g} sqrt(J)", sampling.closing)},
      {"friction directions", fmt::format("{}", sampling.friction_directions)},
      {"cluster_impacts", fmt::format("{}", fan.options.cluster_impacts)},
  };
  std::vector<std::string> table;
  for (const auto& [name, value] : settings) table.insert(table.end(), {name, value});
  out.strings("/settings", table, {settings.size(), 2});

  out.numbers("/time", fan.time, {rows}, "s");
  out.numbers("/q", fan.q, {branches, rows, nq}, "m, rad, unit quaternions (w, x, y, z)");
  out.numbers("/v", fan.v, {branches, rows, nv}, kVelocityUnits);
  out.numbers("/spread", fan.spread, {rows}, "kg^(1/2) m");
  TextTable modes;
  write_branches(out, fan);
  write_impacts(out, fan, nv, modes);
  write_clusters(out, fan, modes);
  out.strings("/modes", modes.texts(), {modes.texts().size()});
  write_environment(out, scene.world.environment);
  write_model(out, scene.model);
  out.text("/scene", scene.text);
  out.close();
  seal_file(target.temporary());
  target.commit();
}

}  // namespace scree
