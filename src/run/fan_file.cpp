#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/atomic_file.h"
#include "run/build_info.h"
#include "run/fan_chunks.h"
#include "run/run_blocks.h"
#include "run/schedule.h"
#include "run/seal.h"
#include "scree/error.h"
#include "scree/fan.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

constexpr int kFanVersion = 2;  // 1: without /colliders
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
  out.create("/branches/final_state_hash", hdf5::Type::uint64, {all.size()}, "1");
  out.put("/branches/final_state_hash", 0, all.size(), hashes.data());
  write_numbers(out, "/branches/final_energy", all, "J", [](const FanBranch& b) { return b.final_energy; });
  write_numbers(out, "/branches/penetration", all, "m", [](const FanBranch& b) { return b.penetration; });
  write_numbers(out, "/branches/end_time", all, "s", [](const FanBranch& b) { return b.end_time; });
  write_integers(out, "/branches/cluster", all, [](const FanBranch& b) { return b.cluster; });
  out.integers("/branches/first_impact", first, {all.size() + 1}, "1");
}

void write_impacts(hdf5::Writer& out, const Fan& fan, std::uint64_t nv, TextTable& modes) {
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
      if (static_cast<std::uint64_t>(v.size()) != nv)
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

// --- chunks --------------------------------------------------------------------------------------------------------

constexpr size_t kChunk = 256;            // branches
constexpr double kChunkBytes = 64 << 20;  // of rows, at most, unless the user says how many branches

// What write_branches and write_impacts wrote, but for clusters.
std::vector<FanBranch> read_branches(const hdf5::Reader& in, std::uint64_t nv) {
  const std::uint64_t count = in.length("/branches/index"), impacts = in.length("/impacts/time");
  const std::vector<int> index = in.integers("/branches/index", {count}),
                         status = in.integers("/branches/status", {count}),
                         first = in.integers("/branches/first_impact", {count + 1}),
                         contacts = in.integers("/impacts/contacts", {impacts}),
                         mode = in.integers("/impacts/mode", {impacts}),
                         without_collision = in.integers("/impacts/without_collision", {impacts});
  const std::vector<std::string> failure = in.strings("/branches/failure", {count}),
                                 modes = in.strings("/modes", {in.length("/modes")});
  const std::vector<double> energy = in.numbers("/branches/final_energy", {count}),
                            penetration = in.numbers("/branches/penetration", {count}),
                            end_time = in.numbers("/branches/end_time", {count}),
                            time = in.numbers("/impacts/time", {impacts}),
                            energy_before = in.numbers("/impacts/energy_before", {impacts}),
                            energy_after = in.numbers("/impacts/energy_after", {impacts}),
                            v_before = in.numbers("/impacts/v_before", {impacts, nv}),
                            v_after = in.numbers("/impacts/v_after", {impacts, nv});
  std::vector<std::uint64_t> hash(count);
  in.get("/branches/final_state_hash", hdf5::Type::uint64, {count}, 0, count, hash.data());
  if (first.front() != 0 || !std::is_sorted(first.begin(), first.end()) ||
      static_cast<std::uint64_t>(first.back()) != impacts)
    in.fail("/branches/first_impact", fmt::format("expected from 0 to {} without decrease", impacts));
  const auto velocity = [&](const std::vector<double>& all, size_t i) -> Eigen::VectorXd {
    return Eigen::Map<const Eigen::VectorXd>(all.data() + i * nv, static_cast<Eigen::Index>(nv));
  };
  std::vector<FanBranch> branches(count);
  for (size_t b = 0; b < count; ++b) {
    if (status[b] < 0 || status[b] > static_cast<int>(RunStatus::step_failed))
      in.fail("/branches/status", fmt::format("row {} holds {}, expected 0 or 1", b, status[b]));
    FanBranch& branch = branches[b];
    branch.index = index[b];
    branch.status = static_cast<RunStatus>(status[b]);
    branch.failure = failure[b];
    branch.final_state_hash = hash[b];
    branch.final_energy = energy[b];
    branch.penetration = penetration[b];
    branch.end_time = end_time[b];
    for (size_t i = static_cast<size_t>(first[b]); i < static_cast<size_t>(first[b + 1]); ++i) {
      if (mode[i] < 0 || static_cast<size_t>(mode[i]) >= modes.size())
        in.fail("/impacts/mode", fmt::format("row {} holds {}, expected 0 to {}", i, mode[i], modes.size() - 1));
      FanImpact& impact = branch.impacts.emplace_back();
      impact.time = time[i];
      impact.contacts = contacts[i];
      impact.mode = modes[static_cast<size_t>(mode[i])];
      impact.kind = without_collision[i] != 0 ? EventKind::impact_without_collision : EventKind::impact;
      impact.energy_before = energy_before[i];
      impact.energy_after = energy_after[i];
      impact.v_before = velocity(v_before, i);
      impact.v_after = velocity(v_after, i);
    }
  }
  return branches;
}

}  // namespace

size_t fan_chunk_size(const Scene& scene, const FanOptions& options) {
  if (options.chunk > 0) return static_cast<size_t>(options.chunk);
  const double rows = static_cast<double>(Schedule(scene.options.dt, scene.duration).steps + 1);
  const double bytes = 8.0 * rows * std::max(1, scene.model.nq() + scene.model.nv());
  return std::clamp(static_cast<size_t>(kChunkBytes / bytes), size_t{1}, kChunk);
}

void write_fan_chunk(const ChunkFolder& folder, size_t k, const ChunkFolder::Settings& settings, const Scene& scene,
                     const Fan& fan, size_t first, size_t count) {
  const std::uint64_t nq = static_cast<std::uint64_t>(scene.model.nq()),
                      nv = static_cast<std::uint64_t>(scene.model.nv()), rows = fan.rows();
  Fan part;
  part.branches.assign(fan.branches.begin() + static_cast<std::ptrdiff_t>(first),
                       fan.branches.begin() + static_cast<std::ptrdiff_t>(first + count));
  folder.write(k, [&](hdf5::Writer& out) {
    out.pairs("/settings", settings);
    out.attribute("/", "chunk", static_cast<int>(k));
    out.create("/q", hdf5::Type::float64, {count, rows, nq}, "m, rad, unit quaternions (w, x, y, z)");
    out.create("/v", hdf5::Type::float64, {count, rows, nv}, kVelocityUnits);
    out.put("/q", 0, count, fan.q.data(first));
    out.put("/v", 0, count, fan.v.data(first));
    TextTable modes;
    write_branches(out, part);
    write_impacts(out, part, nv, modes);
    out.strings("/modes", modes.texts(), {modes.texts().size()});
  });
}

void read_fan_chunks(const ChunkFolder& folder, const ChunkFolder::Settings& settings, const Scene& scene, size_t chunk,
                     Fan& fan, std::vector<char>& ended) {
  const std::uint64_t nq = static_cast<std::uint64_t>(scene.model.nq()),
                      nv = static_cast<std::uint64_t>(scene.model.nv()), rows = fan.rows();
  folder.read(settings, [&](const fs::path& file, const hdf5::Reader& in) {
    const int k = in.integer_attribute("/", "chunk");
    if (k < 0 || static_cast<size_t>(k) > ended.size() / chunk || folder.chunk(static_cast<size_t>(k)) != file)
      in.fail("/", fmt::format("is chunk {}, expected another name", k));
    const size_t first = static_cast<size_t>(k) * chunk, count = std::min(chunk, ended.size() - first);
    std::vector<FanBranch> branches = read_branches(in, nv);
    if (branches.size() != count)
      in.fail("/branches", fmt::format("holds {} branches, expected {}", branches.size(), count));
    in.get("/q", hdf5::Type::float64, {count, rows, nq}, 0, count, fan.q.data(first));
    in.get("/v", hdf5::Type::float64, {count, rows, nv}, 0, count, fan.v.data(first));
    for (size_t b = 0; b < count; ++b) {
      fan.branches[first + b] = std::move(branches[b]);
      ended[first + b] = 1;
    }
  });
}

void write_fan(const fs::path& file, const Scene& scene, const Fan& fan) {
  const std::uint64_t branches = fan.branches.size(), rows = fan.rows();
  const std::uint64_t nq = static_cast<std::uint64_t>(scene.model.nq()),
                      nv = static_cast<std::uint64_t>(scene.model.nv());
  if (!fan.q.has_shape(branches, rows, nq) || !fan.v.has_shape(branches, rows, nv) || fan.spread.size() != rows)
    throw InputError(fmt::format("fan: q, v, spread hold {}, {}, {} numbers, expected those of {} branches and {} rows",
                                 fan.q.numbers().size(), fan.v.numbers().size(), fan.spread.size(), branches, rows));
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
      {"friction", fmt::format("{:.17g}", scene.world.surface.friction)},
      {"restitution", fmt::format("{:.17g}", scene.world.surface.restitution)},
      {"branches", fmt::format("{}", fan.options.branches)},
      {"seed", fmt::format("{}", fan.options.seed)},
      {"sampler", outcome_sampler_name(sampling.sampler)},
      {"sampling step", fmt::format("{:.17g} N s (0: half the bound of the impulse)", sampling.step)},
      {"sampling max_steps", fmt::format("{}", sampling.max_steps)},
      {"sampling closing", fmt::format("{:.17g} sqrt(J)", sampling.closing)},
      {"friction directions", fmt::format("{}", sampling.friction_directions)},
      {"cluster_impacts", fmt::format("{}", fan.options.cluster_impacts)},
  };
  out.pairs("/settings", settings);
  out.pairs("/identity", fan.identity);

  out.numbers("/time", fan.time, {rows}, "s");
  out.numbers("/q", fan.q.numbers(), {branches, rows, nq}, "m, rad, unit quaternions (w, x, y, z)");
  out.numbers("/v", fan.v.numbers(), {branches, rows, nv}, kVelocityUnits);
  out.numbers("/spread", fan.spread, {rows}, "kg^(1/2) m");
  TextTable modes;
  write_branches(out, fan);
  write_impacts(out, fan, nv, modes);
  write_clusters(out, fan, modes);
  out.strings("/modes", modes.texts(), {modes.texts().size()});
  write_colliders(out, scene.world.colliders);
  write_model(out, scene.model);
  out.text("/scene", scene.text);
  out.close();
  seal_file(target.temporary());
  target.commit();
}

}  // namespace scree
