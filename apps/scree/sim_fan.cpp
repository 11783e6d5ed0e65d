#include "sim_fan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/atomic_file.h"
#include "import_report.h"
#include "interrupt.h"
#include "options.h"
#include "run/chunk_folder.h"
#include "run/fan_chunks.h"
#include "scree/error.h"
#include "scree/fan.h"
#include "terminal.h"

namespace scree::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kClusters = 10;    // and modes at the first split: told of, at most
constexpr size_t kExamples = 5;     // of failures
constexpr size_t kInstants = 5;     // at which the spread is told
constexpr double kRounding = 1e-6;  // of the widest range: what is narrower is not told
constexpr double kZero = 1e-12;     // [m, rad, m/s, rad/s] what is smaller is printed as zero
constexpr double kQuantiles[] = {0.05, 0.5, 0.95};

long parse_branches(const std::string& word) {
  long count = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
  if (error != std::errc() || end != word.data() + word.size() || count < 1)
    throw InputError(fmt::format("--branches: {}, expected an integer >= 1", word));
  return count;
}

struct Range {
  int coordinate = 0;
  double low = 0, median = 0, high = 0;  // 5, 50, 95 %
};

// What both the table and the JSON object tell.
struct Summary {
  long complete = 0, failed = 0, impacts = 0;
  size_t fewest = 0, most = 0;  // impacts of a branch
  double penetration = 0;
  std::vector<Range> end;        // of all coordinates in the last row
  std::vector<Range> widest;     // of these, the two widest positions and the widest velocity
  std::vector<size_t> instants;  // rows at which the spread is told

  Summary(const Scene& scene, const Fan& fan) {
    for (const FanBranch& branch : fan.branches) {
      ++(branch.status == RunStatus::complete ? complete : failed);
      most = std::max(most, branch.impacts.size());
      impacts += static_cast<long>(branch.impacts.size());
      penetration = std::max(penetration, branch.penetration);
    }
    fewest = most;
    for (const FanBranch& branch : fan.branches) fewest = std::min(fewest, branch.impacts.size());
    const int coordinates = fan.branches.empty() ? 0 : scene.model.nq() + scene.model.nv();
    const size_t last = fan.rows() - 1;
    for (int c = 0; c < coordinates; ++c)
      end.push_back({c, fan.quantile(last, c, kQuantiles[0]), fan.quantile(last, c, kQuantiles[1]),
                     fan.quantile(last, c, kQuantiles[2])});
    const auto nq = end.begin() + (end.empty() ? 0 : scene.model.nq());
    add_widest({end.begin(), nq}, 2);
    add_widest({nq, end.end()}, 1);
    // From the first split to the end.
    size_t from = 0;
    while (from < last && fan.time[from] < fan.first_split) ++from;
    for (size_t i = 0; i < kInstants && !std::isnan(fan.first_split); ++i) {
      const size_t row = from + (last - from) * i / (kInstants - 1);
      if (instants.empty() || row > instants.back()) instants.push_back(row);
    }
  }

 private:
  // Those that differ by more than rounding.
  void add_widest(std::vector<Range> ranges, size_t count) {
    std::stable_sort(ranges.begin(), ranges.end(),
                     [](const Range& a, const Range& b) { return a.high - a.low > b.high - b.low; });
    for (size_t i = 0; i < std::min(count, ranges.size()); ++i)
      if (const double width = ranges[i].high - ranges[i].low;
          width > std::max(kZero, kRounding * (ranges[0].high - ranges[0].low)))
        widest.push_back(ranges[i]);
  }
};

double settled(double x) { return std::abs(x) < kZero ? 0 : x; }

double median(const Fan& fan, const FanCluster& cluster, int coordinate) {
  std::vector<double> values;
  for (const long b : cluster.branches)
    if (const double x = fan.at(static_cast<size_t>(b), fan.rows() - 1, coordinate); !std::isnan(x))
      values.push_back(x);
  if (values.empty()) return std::nan("");
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return 0.5 * (values[(n - 1) / 2] + values[n / 2]);
}

std::string cluster_name(const FanCluster& cluster) {
  return cluster.modes.empty() ? "no impact at which modes differ" : fmt::format("{}", fmt::join(cluster.modes, "; "));
}

double share(size_t part, const Fan& fan) {
  return static_cast<double>(part) / static_cast<double>(std::max<size_t>(1, fan.branches.size()));
}

// "base.x [m]" -> {"base.x", " m"}; " [1]": no unit
std::pair<std::string, std::string> name_and_unit(const std::string& coordinate) {
  const size_t bracket = coordinate.rfind(" [");
  const std::string unit = coordinate.substr(bracket + 2, coordinate.size() - bracket - 3);
  return {coordinate.substr(0, bracket), unit == "1" ? "" : " " + unit};
}

Json number(double x) { return std::isfinite(x) ? Json(x) : Json(); }

// [m]: root mean square over the mass.
double in_metres(const Scene& scene, double spread) { return spread / std::sqrt(scene.model.total_mass()); }

void print_summary(const Scene& scene, const Fan& fan, const FanRequest& request) {
  const Summary summary(scene, fan);
  Json json;
  json["title"] = fan.title;
  json["scene"] = scene.file.string();
  json["model"] = scene.model.name();
  json["status"] = fan.interrupted ? "interrupted" : "complete";
  json["integrator"] = integrator_name(scene.options.integrator);
  json["dt"] = scene.options.dt;
  json["duration"] = scene.duration;
  json["dofs"] = scene.model.nv();
  json["total_mass"] = scene.model.total_mass();
  json["branches_wanted"] = fan.options.branches;
  json["branches"] = fan.branches.size();
  json["complete"] = summary.complete;
  json["step_failed"] = summary.failed;
  json["failures"] = Json::array();
  for (const FanBranch& branch : fan.branches)
    if (!branch.failure.empty() && json["failures"].size() < kExamples)
      json["failures"].push_back({{"branch", branch.index}, {"failure", branch.failure}});
  json["seed"] = fan.options.seed;
  json["sampler"] = outcome_sampler_name(fan.options.sampling.sampler);
  json["threads"] = fan.options.threads;
  json["impacts"] = summary.impacts;
  json["fewest_impacts"] = summary.fewest;
  json["most_impacts"] = summary.most;
  json["first_split"] = number(fan.first_split);
  json["split"] = Json::array();
  for (const FanShare& part : fan.split)
    json["split"].push_back(
        {{"mode", part.mode}, {"branches", part.branches}, {"share", share(static_cast<size_t>(part.branches), fan)}});
  json["clusters_found"] = fan.clusters.size();
  json["clusters"] = Json::array();
  for (size_t k = 0; k < std::min(kClusters, fan.clusters.size()); ++k) {
    const FanCluster& cluster = fan.clusters[k];
    Json end = Json::object();
    for (const Range& range : summary.end)
      end[fan.coordinates[static_cast<size_t>(range.coordinate)]] = number(median(fan, cluster, range.coordinate));
    json["clusters"].push_back({{"modes", cluster.modes},
                                {"branches", cluster.branches.size()},
                                {"share", share(cluster.branches.size(), fan)},
                                {"first_branch", fan.branches[static_cast<size_t>(cluster.branches[0])].index},
                                {"median_end", end}});
  }
  json["spread"] = Json::array();
  for (const size_t row : summary.instants)
    json["spread"].push_back({{"time", fan.time[row]},
                              {"mass_metric", number(fan.spread[row])},
                              {"metres", number(in_metres(scene, fan.spread[row]))}});
  json["end"] = Json::object();
  for (const Range& range : summary.end)
    json["end"][fan.coordinates[static_cast<size_t>(range.coordinate)]] = {
        {"q05", number(range.low)}, {"median", number(range.median)}, {"q95", number(range.high)}};
  json["widest"] =
      summary.widest.empty() ? Json() : Json(fan.coordinates[static_cast<size_t>(summary.widest[0].coordinate)]);
  json["penetration"] = summary.penetration;
  json["wall_time"] = fan.wall_time;
  json["out"] = request.out.empty() ? Json() : Json(request.out);
  json["html"] = request.html.empty() ? Json() : Json(request.html);
  print_json(json);
}

using Rows = std::vector<std::pair<std::string, std::string>>;

void add_failures(const Fan& fan, long failed, Rows& rows) {
  if (failed == 0) return;
  rows.emplace_back("failed", fmt::format("{}", failed));
  size_t told = 0;
  for (const FanBranch& branch : fan.branches)
    if (!branch.failure.empty() && told++ < kExamples)
      rows.emplace_back("", fmt::format("branch {}: {}", branch.index, branch.failure));
}

void add_clusters(const Fan& fan, const Summary& summary, Rows& rows) {
  rows.emplace_back(
      "clusters",
      fmt::format("{}, shares depend on the sampler and are no probabilities{}", fan.clusters.size(),
                  fan.clusters.size() > kClusters ? fmt::format("; the first {}:", kClusters) : std::string()));
  for (size_t k = 0; k < std::min(kClusters, fan.clusters.size()); ++k) {
    const FanCluster& cluster = fan.clusters[k];
    rows.emplace_back("",
                      fmt::format("{:5.1f} %  {}", 100 * share(cluster.branches.size(), fan), cluster_name(cluster)));
    std::string end;
    for (size_t i = 0; i < summary.widest.size(); ++i) {
      const int c = summary.widest[i].coordinate;
      const auto [name, unit] = name_and_unit(fan.coordinates[static_cast<size_t>(c)]);
      end += fmt::format("{}{} {:.6g}{}", i > 0 ? ", " : "", name, settled(median(fan, cluster, c)), unit);
    }
    if (!end.empty()) rows.emplace_back("", "         ends (medians) at " + end);
  }
}

void print_table(const Scene& scene, const Fan& fan) {
  const Summary summary(scene, fan);
  Rows rows = {
      {"title", fan.title},
      {"model", fmt::format("{}, {} dofs, {:.6g} kg", scene.model.name(), scene.model.nv(), scene.model.total_mass())},
      {"fan", fmt::format("{} branches of {:.6g} s, {} sampler, seed {}", fan.branches.size(), scene.duration,
                          outcome_sampler_name(fan.options.sampling.sampler), fan.options.seed)},
      {"complete", fmt::format("{}", summary.complete)}};
  add_failures(fan, summary.failed, rows);
  rows.emplace_back("impacts", fmt::format("{}, {} to {} a branch", summary.impacts, summary.fewest, summary.most));
  if (std::isnan(fan.first_split)) {
    rows.emplace_back("first split", "none: all branches are the same");
  } else {
    rows.emplace_back("first split", fmt::format("{:.6g} s", fan.first_split));
    for (size_t k = 0; k < std::min(kClusters, fan.split.size()); ++k)
      rows.emplace_back("", fmt::format("{:5.1f} %  {}", 100 * share(static_cast<size_t>(fan.split[k].branches), fan),
                                        fan.split[k].mode));
    if (fan.split.size() > kClusters) rows.emplace_back("", fmt::format("and {} others", fan.split.size() - kClusters));
    add_clusters(fan, summary, rows);
    std::string spread;
    for (const size_t row : summary.instants)
      spread += fmt::format("{}{:.3g} m at {:.4g} s", spread.empty() ? "" : ", ", in_metres(scene, fan.spread[row]),
                            fan.time[row]);
    rows.emplace_back("spread", spread + " (root mean square over the mass)");
  }
  for (size_t i = 0; i < summary.widest.size() && !std::isnan(fan.first_split); ++i) {
    const Range& range = summary.widest[i];
    const auto [name, unit] = name_and_unit(fan.coordinates[static_cast<size_t>(range.coordinate)]);
    rows.emplace_back(i == 0 ? "widest at the end" : "",
                      fmt::format("{}: 5 % {:.6g}, median {:.6g}, 95 % {:.6g}{}", name, settled(range.low),
                                  settled(range.median), settled(range.high), unit));
  }
  rows.emplace_back("penetration", fmt::format("deepest {:.3g} m", summary.penetration));
  rows.emplace_back("wall time", fmt::format("{:.3g} s, {} threads", fan.wall_time, fan.options.threads));
  print_pairs(rows);
}

void check(const FanRequest& request) {
  const auto refuse = [](const char* flag, const char* why) {
    throw InputError(fmt::format("{}: {}, expected none with --branches", flag, why));
  };
  if (request.refused) refuse(request.refused, "belongs to a single run");
  if (request.batch) refuse("--batch", "its trajectories differ by their start, branches by their impacts");
  if (!request.ghost.empty()) refuse("--ghost", "a replay shows one run");
  if (request.overrides.accuracy) refuse("--accuracy", "rows are a step of the scene apart");
  if (request.overrides.output) refuse("--output", "rows are a step of the scene apart");
  if (request.threads && (*request.threads < 0 || *request.threads > 1024))
    throw InputError(fmt::format("--threads: {}, expected an integer in [0, 1024]", *request.threads));
}

}  // namespace

void FanFlags::add(CLI::App& verb) {
  branches = verb.add_option("--branches", count,
                             "Run N futures of the scene, whose impacts take one outcome each of those that are "
                             "plausible (docs/fans.md); integrator event")
                 ->type_name("N")
                 ->group("Fan");
  verb.add_option("--sampler", sampler,
                  "Of the outcomes: persistent (one contact at a time, for short or long) or uniform (as the "
                  "dissertation)")
      ->type_name("NAME")
      ->group("Fan")
      ->needs(branches);
}

int simulate_fan(const FanFlags& flags, FanRequest request) {
  check(request);
  FanOptions options;
  options.branches = parse_branches(flags.count);
  if (request.seed) options.seed = static_cast<std::uint64_t>(*request.seed);
  options.threads = request.threads.value_or(0);
  options.chunk = request.chunk;
  options.resume = request.resume;
  if (!flags.sampler.empty()) options.sampling.sampler = outcome_sampler_from_name(flags.sampler);
  const Scene scene = load_scene(request.scene, request.overrides);
  if (!request.quiet) warn_of_repairs(scene.import_report);
  options.sampling.friction_directions = scene.world.impact.friction_directions;
  options.validate(scene);
  check_outputs({request.out, request.html}, scene.files);
  if (!request.quiet && !request.json)
    for (const std::string& warning : scene.warnings) print_warning(warning);

  catch_interrupts();
  const std::filesystem::path target = request.out.empty() ? std::filesystem::path() : output_target(request.out);
  std::optional<ChunkFolder> folder;
  if (!request.out.empty()) folder.emplace(target, "fan", options.resume);
  Fan fan;
  {
    Progress progress(!request.quiet && !request.json);
    fan = run_fan(scene, options, folder ? &*folder : nullptr, [&](long done, long total) {
      progress.count(static_cast<size_t>(done), static_cast<size_t>(total), "branches");
      return !interrupted();
    });
  }
  const bool write = !fan.branches.empty();
  const FanRequest wanted = request;
  const auto write_file = [&] { folder->guard([&] { write_fan(target, scene, fan); }); };
  if (write && !write_output(wanted.out, write_file)) request.out.clear();
  if (write && !write_output(wanted.html, [&] { write_fan_page(wanted.html, scene, fan); })) request.html.clear();
  const bool all_written = request.out == wanted.out && request.html == wanted.html;
  if (folder && !request.out.empty() && !fan.interrupted) folder->remove();

  if (request.json)
    print_summary(scene, fan, request);
  else if (!request.quiet)
    print_table(scene, fan);
  if (!request.quiet && !request.json && write)
    for (const std::string& file : {request.out, request.html})
      if (!file.empty()) print_message("wrote " + file);
  if (fan.interrupted) {
    const std::string note = folder ? folder->note() : "";
    print_error(fmt::format("interrupted after {} of {} branches{}{}", fan.branches.size(), options.branches,
                            write ? "" : ", nothing written", note.empty() ? "" : "; " + note));
    return 1;
  }
  const auto complete = [](const FanBranch& branch) { return branch.status == RunStatus::complete; };
  if (std::any_of(fan.branches.begin(), fan.branches.end(), complete)) return all_written ? 0 : 1;
  print_error(fmt::format("all {} branches failed: {}", fan.branches.size(), fan.branches[0].failure));
  return 1;
}

}  // namespace scree::cli
