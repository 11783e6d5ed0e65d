#include "scree/impact_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/atomic_file.h"
#include "pages/impact_page.h"
#include "pages/impact_report.h"
#include "pages/replay_data.h"
#include "pages/replay_template.h"

namespace scree {
namespace {

using Json = nlohmann::ordered_json;
using Eigen::VectorXd;

constexpr size_t kSampleBytes = 1'800'000, kPathBytes = 900'000;  // base64 not counted
constexpr size_t kMostOutcomes = 200;
constexpr size_t kMostPathNumbers = 60'000;  // of the courses of laws, as JSON numbers
constexpr int kGrid = 100;                   // cells a side of a plane: as many points as its figures show
constexpr size_t kMostPlanes = 64;

Json vector_json(const auto& v) { return std::vector<double>(v.data(), v.data() + v.size()); }
Json body_json(const ImpactBody& b) {
  Json links = Json::array();
  for (const ImpactLink& l : b.links)
    links.push_back({{"name", l.name},
                     {"parent", l.parent},
                     {"joint", vector_json(l.joint)},
                     {"com", vector_json(l.com)},
                     {"angle", l.angle},
                     {"foot", l.foot ? vector_json(*l.foot) : Json(nullptr)},
                     {"footRadius", l.foot_radius}});
  const Mat3 by_rows = b.X_WB.R.transpose();
  return {{"name", b.name},
          {"shape", impact_shape_name(b.shape)},
          {"fixed", b.fixed},
          {"p", vector_json(b.X_WB.p)},
          {"R", vector_json(by_rows)},
          {"radius", b.radius},
          {"size", vector_json(b.size)},
          {"normal", vector_json(b.normal)},
          {"dof", b.first_dof},
          {"dofs", b.dofs},
          {"rotates", b.rotates},
          {"links", std::move(links)}};
}

Json contact_json(const ImpactScene& scene, const ImpactContact& c) {
  Json out = {{"label", c.label}};
  if (c.a < 0) return out;
  out["a"] = scene.bodies[static_cast<size_t>(c.a)].name;
  out["b"] = scene.bodies[static_cast<size_t>(c.b)].name;
  out["p"] = vector_json(Vec3(0.5 * (c.point_a + c.point_b)));
  out["n"] = vector_json(c.normal);
  return out;
}

Json outcome_json(const ImpactScene& scene, const ImpactResult& r, size_t most_points) {
  Json path = Json::array();
  const RowSelection kept =
      r.path.empty() ? RowSelection{} : select_rows(r.path.size(), std::max<size_t>(2, most_points));
  for (const size_t k : kept.rows) path.push_back(vector_json(r.path[k]));
  Json out = {{"law", impact_law_name(r.law)},
              {"note", r.note},
              {"status", impact_status_name(r.status)},
              {"steps", r.steps},
              {"v", vector_json(r.v)},
              {"normal", vector_json(r.normal_impulse)},
              {"tangential", vector_json(r.tangential_impulse)},
              {"before", r.energy_before},
              {"after", r.energy_after},
              {"path", std::move(path)},
              {"stride", kept.stride},
              {"certificate", nullptr}};
  if (const auto& c = r.certificate) {
    Json jammed = Json::array();
    for (const int i : c->jammed) jammed.push_back(scene.contacts[static_cast<size_t>(i)].label);
    out["certificate"] = {{"holds", c->holds},
                          {"tolerance", c->tolerance},
                          {"w", c->w},
                          {"cap", c->cap},
                          {"energy", {c->energy_ratio.lower, c->energy_ratio.upper}},
                          {"bits", c->bits},
                          {"jammed", std::move(jammed)}};
  }
  return out;
}

std::string floats(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return base64(bytes);
}

// Pairs of quantities whose planes decide which samples are kept.
std::vector<std::pair<size_t, size_t>> planes_of(const std::vector<ContactQuantity>& quantities) {
  std::vector<std::pair<size_t, size_t>> planes;
  for (size_t i = 0; i < quantities.size(); ++i)  // velocities of one contact first
    for (size_t j = i + 1; j < quantities.size(); ++j)
      if (quantities[i].contact == quantities[j].contact) planes.emplace_back(i, j);
  for (size_t i = 0; i < quantities.size(); ++i)
    for (size_t j = i + 1; j < quantities.size(); ++j)
      if (quantities[i].tangent < 0 && quantities[j].tangent < 0) planes.emplace_back(i, j);
  if (planes.size() > kMostPlanes) planes.resize(kMostPlanes);
  return planes;
}

// Q x kept, contact velocities of the samples worth drawing: one for every cell of a grid over every plane, the
// extremes of every quantity; as many as fit.
Eigen::MatrixXf thinned(const Eigen::MatrixXd& u, const std::vector<std::pair<size_t, size_t>>& planes, size_t most) {
  std::vector<Eigen::Index> kept;
  const VectorXd low = u.rowwise().minCoeff(), high = u.rowwise().maxCoeff();
  std::set<Eigen::Index> extremes;
  for (Eigen::Index q = 0; q < u.rows(); ++q) {
    Eigen::Index at = 0;
    u.row(q).minCoeff(&at);
    extremes.insert(at);
    u.row(q).maxCoeff(&at);
    extremes.insert(at);
  }
  std::vector<std::vector<bool>> taken(planes.size(), std::vector<bool>(static_cast<size_t>(kGrid * kGrid), false));
  const auto cell = [&](size_t q, Eigen::Index k) {
    const Eigen::Index i = static_cast<Eigen::Index>(q);
    const double width = high(i) - low(i);
    return width > 0 ? std::min(kGrid - 1, static_cast<int>((u(i, k) - low(i)) / width * kGrid)) : 0;
  };
  for (Eigen::Index k = 0; k < u.cols() && kept.size() < most; ++k) {
    bool wanted = extremes.contains(k) || planes.empty();
    for (size_t p = 0; p < planes.size(); ++p) {
      const size_t at = static_cast<size_t>(cell(planes[p].first, k) * kGrid + cell(planes[p].second, k));
      wanted = wanted || !taken[p][at];
      taken[p][at] = true;
    }
    if (wanted) kept.push_back(k);
  }
  Eigen::MatrixXf out(u.rows(), std::ssize(kept));
  for (size_t k = 0; k < kept.size(); ++k) out.col(static_cast<Eigen::Index>(k)) = u.col(kept[k]).cast<float>();
  return out;
}

Json set_json(const ImpactReport& report, const std::vector<ContactQuantity>& quantities) {
  const OutcomeSet& set = *report.set;
  const size_t count = quantities.size();
  Eigen::MatrixXd Q(static_cast<Eigen::Index>(count), report.scene.problem.dofs());
  for (size_t q = 0; q < count; ++q) Q.row(static_cast<Eigen::Index>(q)) = quantities[q].row.transpose();

  Json ranges = Json::array(), modes = Json::array(), extremes = Json::array();
  for (const ContactQuantity& q : quantities) {
    const Interval range = set.range(q.row), bound = outer_bound(set, q.row);
    ranges.push_back({{"range", {range.lower, range.upper}}, {"bound", {bound.lower, bound.upper}}});
  }
  for (size_t k = 0; k < std::min<size_t>(set.modes.size(), 40); ++k)
    modes.push_back({{"name", mode_name(report.scene, set.modes[k])}, {"count", set.modes[k].count}});
  for (const OutcomeExtreme& extreme : set.extremes) {
    if (extreme.v.size() == 0) continue;
    for (const ContactQuantity& q : quantities)
      if (extreme.direction == q.row || extreme.direction == -q.row)
        extremes.push_back({{"name", fmt::format("{} {}", extreme.direction == q.row ? "largest" : "smallest", q.name)},
                            {"value", q.row.dot(extreme.v)},
                            {"v", vector_json(extreme.v)}});
    if (extremes.size() >= 2 * kMostOutcomes) break;
  }

  Eigen::MatrixXf shown(static_cast<Eigen::Index>(count), 0);
  if (set.v.cols() > 0 && count > 0)
    shown = thinned(Q * set.v, planes_of(quantities), kSampleBytes / (sizeof(float) * count));
  std::vector<float> path_numbers;
  std::vector<int> lengths;
  for (const auto& path : set.paths) {
    if ((path_numbers.size() + path.size() * count) * sizeof(float) > kPathBytes) break;
    for (const VectorXd& v : path) {
      const VectorXd u = Q * v;
      for (Eigen::Index q = 0; q < u.size(); ++q) path_numbers.push_back(static_cast<float>(u(q)));
    }
    lengths.push_back(static_cast<int>(path.size()));
  }
  return {{"sampler", outcome_sampler_name(report.set_options.sampler)},
          {"samples", set.samples},
          {"finished", set.finished},
          {"unfinished", set.unfinished},
          {"failed", set.failed},
          {"step", set.step},
          {"maxSteps", report.set_options.max_steps},
          {"increments", set.increments},
          {"mostIncrements", set.most_increments},
          {"energy", {set.energy_ratio.lower, set.energy_ratio.upper}},
          {"largestImpulse", set.largest_impulse},
          {"impulseBound", set.impulse_bound},
          {"modes", std::move(modes)},
          {"modeCount", set.modes.size()},
          {"ranges", std::move(ranges)},
          {"extremes", std::move(extremes)},
          {"shown", shown.cols()},
          {"points", floats({shown.data(), shown.data() + shown.size()})},
          {"pathLengths", lengths},
          {"paths", floats(path_numbers)},
          {"pathsFound", set.paths.size()}};
}

}  // namespace

Json impact_page_data(const ImpactReport& report) {
  const ImpactScene& scene = report.scene;
  const std::vector<ContactQuantity> quantities = contact_quantities(scene);
  Json data = {{"title", scene.title},
               {"scene", scene.file.filename().string()},
               {"dimension", scene.dimension},
               {"law", impact_law_name(scene.law)},
               {"along", scene.along ? vector_json(*scene.along) : Json(nullptr)},
               {"v", vector_json(scene.problem.v)},
               {"notes", report.notes}};
  for (const char* key : {"bodies", "contacts", "dofs", "quantities", "outcomes"}) data[key] = Json::array();
  for (const ImpactBody& body : scene.bodies) data["bodies"].push_back(body_json(body));
  for (const ImpactContact& contact : scene.contacts) data["contacts"].push_back(contact_json(scene, contact));
  for (const ImpactDof& dof : scene.dofs) data["dofs"].push_back({{"name", dof.name}, {"unit", dof.unit}});
  for (const ContactQuantity& q : quantities) {
    // Rows have few entries: index and value.
    Json entries = Json::array();
    for (Eigen::Index j = 0; j < q.row.size(); ++j)
      if (q.row(j) != 0) entries.push_back({j, q.row(j)});
    data["quantities"].push_back(
        {{"name", q.name}, {"contact", q.contact}, {"tangent", q.tangent}, {"row", std::move(entries)}});
  }
  const size_t shown = std::min(report.outcomes.size(), kMostOutcomes);
  const size_t numbers = std::max<size_t>(1, shown * static_cast<size_t>(scene.problem.dofs()));
  for (size_t k = 0; k < shown; ++k)
    data["outcomes"].push_back(outcome_json(scene, report.outcomes[k], kMostPathNumbers / numbers));
  if (shown < report.outcomes.size())
    data["notes"].push_back(fmt::format("{} of {} outcomes are on this page", shown, report.outcomes.size()));
  data["set"] = report.set ? set_json(report, quantities) : Json(nullptr);
  return data;
}

void write_impact_page(const std::filesystem::path& file, const ImpactReport& report) {
  std::string page(impact_template());
  page.replace(page.find(kImpactPlaceholder), kImpactPlaceholder.size(),
               script_text(impact_page_data(report).dump(-1, ' ', false, Json::error_handler_t::replace)));
  write_atomically(file, page);
}

}  // namespace scree
