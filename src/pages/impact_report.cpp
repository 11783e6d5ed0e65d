#include "pages/impact_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "scree/error.h"

namespace scree {
namespace {

using Json = nlohmann::ordered_json;
using Eigen::VectorXd;
using Row = std::vector<std::string>;

constexpr double kSame = 1e-9;      // of |v_0|_M: outcomes closer than that are one
constexpr double kNothing = 1e-12;  // of the largest number of a table: shown as 0
constexpr size_t kMostColumns = 6;  // contacts or outcomes side by side
constexpr size_t kMostModes = 16;

double mass_norm(const ImpactProblem& p, const VectorXd& v) { return std::sqrt(std::max(0.0, v.dot(p.M * v))); }

std::string number(double value, double scale = 0) {
  if (std::abs(value) <= kNothing * scale) value = 0;
  return fmt::format("{:.6g}", value);
}

// Columns padded to their longest cell; the first to the left, numbers to the right.
std::string table(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows)
    for (size_t k = 0; k < row.size(); ++k) {
      if (k == widths.size()) widths.push_back(0);
      widths[k] = std::max(widths[k], row[k].size());
    }
  const auto is_number = [](const std::string& cell) {
    return !cell.empty() && (std::isdigit(static_cast<unsigned char>(cell.back())) || cell == "-" || cell == "inf");
  };
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t k = 0; k < row.size(); ++k) {
      const bool right = k > 0 && (is_number(row[k]) || &row == &rows[0]) &&
                         std::all_of(rows.begin() + 1, rows.end(),
                                     [&](const Row& r) { return r.size() <= k || is_number(r[k]) || r[k].empty(); });
      line += right ? fmt::format("{:>{}}  ", row[k], widths[k]) : fmt::format("{:<{}}  ", row[k], widths[k]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string bodies_of(const ImpactScene& scene, const ImpactContact& c) {
  if (c.a < 0) return "";
  const auto name = [&](int body, int link) {
    const ImpactBody& b = scene.bodies[static_cast<size_t>(body)];
    return link < 0 ? b.name : b.name + "." + b.links[static_cast<size_t>(link)].name;
  };
  return name(c.a, c.link_a) + " - " + name(c.b, c.link_b);
}

std::string velocity_table(const ImpactReport& report) {
  const ImpactScene& scene = report.scene;
  const VectorXd& before = scene.problem.v;
  double scale = before.cwiseAbs().maxCoeff();
  std::string text;
  for (size_t first = 0; first < report.outcomes.size(); first += kMostColumns) {
    const size_t last = std::min(report.outcomes.size(), first + kMostColumns);
    std::vector<Row> rows = {{"velocity", "before"}};
    for (size_t k = first; k < last; ++k)
      rows[0].push_back(report.outcomes.size() == 1 ? "after" : fmt::format("after [{}]", k + 1));
    for (Eigen::Index j = 0; j < before.size(); ++j) {
      const ImpactDof& dof = scene.dofs[static_cast<size_t>(j)];
      Row row = {dof.unit.empty() ? dof.name : fmt::format("{} [{}]", dof.name, dof.unit), number(before(j), scale)};
      for (size_t k = first; k < last; ++k) row.push_back(number(report.outcomes[k].v(j), scale));
      rows.push_back(std::move(row));
    }
    text += table(rows) + "\n";
  }
  return text;
}

std::string contact_table(const ImpactScene& scene, const ImpactResult& result) {
  const ImpactProblem& p = scene.problem;
  const int t = p.tangents();
  Row head = {"contact", "bodies", "vn before [m/s]", "vn after"};
  for (int k = 0; k < t; ++k) {
    head.push_back(t == 1 ? "vt before" : fmt::format("vt{} before", k + 1));
    head.push_back(t == 1 ? "vt after" : fmt::format("vt{} after", k + 1));
  }
  head.push_back("normal impulse [N s]");
  for (int k = 0; k < t; ++k) head.push_back(t == 1 ? "tangential" : fmt::format("tangential {}", k + 1));
  const VectorXd n0 = p.Jn * p.v, n1 = p.Jn * result.v, t0 = p.Jt * p.v, t1 = p.Jt * result.v;
  const double speed = std::max(n0.cwiseAbs().maxCoeff(), t > 0 ? t0.cwiseAbs().maxCoeff() : 0);
  const double impulse = result.normal_impulse.size() > 0 ? result.normal_impulse.cwiseAbs().maxCoeff() : 0;
  std::vector<Row> rows = {head};
  for (int i = 0; i < p.contacts(); ++i) {
    const ImpactContact& c = scene.contacts[static_cast<size_t>(i)];
    Row row = {c.label, bodies_of(scene, c), number(n0(i), speed), number(n1(i), speed)};
    for (int k = 0; k < t; ++k) {
      row.push_back(number(t0(t * i + k), speed));
      row.push_back(number(t1(t * i + k), speed));
    }
    row.push_back(result.normal_impulse.size() > i ? number(result.normal_impulse(i), impulse) : "-");
    for (int k = 0; k < t; ++k)
      row.push_back(result.tangential_impulse.size() > t * i + k ? number(result.tangential_impulse(t * i + k), impulse)
                                                                 : "-");
    rows.push_back(std::move(row));
  }
  return table(rows) + "\n";
}

std::string labels_of(const ImpactScene& scene, const std::vector<int>& contacts) {
  std::vector<std::string> labels;
  for (const int i : contacts) labels.push_back(scene.contacts[static_cast<size_t>(i)].label);
  return fmt::format("{}", fmt::join(labels, ", "));
}

std::string ratio_text(const ImpactResult& r) {
  return r.energy_before > 0 ? number(r.energy_after / r.energy_before, 1) : "-";
}

// Rounded so that it still encloses.
std::string interval_text(const Interval& i) { return fmt::format("[{:.17g}, {:.17g}]", i.lower, i.upper); }

std::string facts(const ImpactScene& scene, const ImpactResult& r) {
  std::vector<Row> rows;
  rows.push_back({"status", impact_status_name(r.status)});
  if (!r.note.empty()) rows.push_back({"note", r.note});
  rows.push_back({"steps", fmt::format("{}", r.steps)});
  rows.push_back({"kinetic energy", fmt::format("{} J before, {} J after, ratio {}", number(r.energy_before),
                                                number(r.energy_after, r.energy_before), ratio_text(r))});
  rows.push_back({"approaching still", fmt::format("at most {} m/s", number(r.approach))});
  if (r.residual > 0) rows.push_back({"residual", fmt::format("{:.2e}, of the complementarity problems", r.residual)});
  if (const auto& c = r.certificate) {
    rows.push_back({"certificate", c->holds ? "holds" : "does not hold"});
    rows.push_back({"  tolerance", fmt::format("{:g}", c->tolerance)});
    if (c->w > 0)
      rows.push_back({"  margin of the cone", fmt::format("{:.6g} (witness of norm {:.6g})", 1 / c->w, c->w)});
    rows.push_back({"  steps", fmt::format("{} of at most {:.6g}", c->steps, c->cap)});
    rows.push_back({"  energy ratio in", interval_text(c->energy_ratio)});
    rows.push_back({"  least velocity in", interval_text(c->least_velocity)});
    rows.push_back({"  arithmetic", fmt::format("{} bits, {} steps taken again", c->bits, c->redone)});
    rows.push_back({"  jammed contacts", c->jammed.empty()
                                             ? "none"
                                             : fmt::format("{}; energy removed {} J", labels_of(scene, c->jammed),
                                                           number(c->energy_removed))});
  }
  if (const auto& s = r.supplement)
    rows.push_back({"2017 supplement", s->drift_holds ? fmt::format("drift {:.3g}, least tolerance {:.3g}, {} bits for "
                                                                    "the tolerance asked",
                                                                    s->drift, s->least_tolerance, s->bits)
                                                      : fmt::format("no bound in double, {} bits for the tolerance "
                                                                    "asked",
                                                                    s->bits)});
  return table(rows);
}

// One line an outcome.
std::string outcome_table(const ImpactReport& report) {
  const ImpactScene& scene = report.scene;
  const std::vector<ContactQuantity> quantities = contact_quantities(scene);
  const bool few = scene.contacts.size() <= kMostColumns;
  Row head = {"", "law", "status", "steps", "energy ratio"};
  if (few)
    for (const ContactQuantity& q : quantities) head.push_back(q.name);
  else
    head.insert(head.end(), {"largest vn", "open"});
  head.push_back("note");
  std::vector<Row> rows = {head};
  const double scale = mass_norm(scene.problem, scene.problem.v);
  const double speed = (scene.problem.Jn * scene.problem.v).cwiseAbs().maxCoeff();
  for (size_t k = 0; k < report.outcomes.size(); ++k) {
    const ImpactResult& r = report.outcomes[k];
    Row row = {fmt::format("[{}]", k + 1), impact_law_name(r.law), impact_status_name(r.status),
               fmt::format("{}", r.steps), ratio_text(r)};
    if (few) {
      for (const ContactQuantity& q : quantities) row.push_back(number(q.row.dot(r.v), speed));
    } else {
      const VectorXd vn = scene.problem.Jn * r.v;
      row.push_back(number(vn.maxCoeff()));
      row.push_back(fmt::format("{}", (vn.array() > 1e-6 * scale).count()));
    }
    row.push_back(r.note);
    rows.push_back(std::move(row));
  }
  return table(rows) + "\n";
}

std::string set_text(const ImpactReport& report) {
  const ImpactScene& scene = report.scene;
  const OutcomeSet& set = *report.set;
  const auto share = [](long part, long of) {
    return of > 0 ? fmt::format("{:.3f} %", 100.0 * static_cast<double>(part) / static_cast<double>(of)) : "-";
  };
  std::vector<Row> rows;
  rows.push_back({"sampler", outcome_sampler_name(report.set_options.sampler)});
  rows.push_back({"samples", fmt::format("{}", set.samples)});
  rows.push_back({"finished", fmt::format("{} ({}); {} not after {} increments, {} failed", set.finished,
                                          share(set.finished, set.samples), set.unfinished,
                                          report.set_options.max_steps, set.failed)});
  rows.push_back(
      {"increments",
       fmt::format("{:.4g} an impact, at most {}; of at most {} N s each",
                   set.samples > 0 ? static_cast<double>(set.increments) / static_cast<double>(set.samples) : 0,
                   set.most_increments, number(set.step))});
  rows.push_back(
      {"energy ratio", fmt::format("{} to {}", number(set.energy_ratio.lower, 1), number(set.energy_ratio.upper, 1))});
  rows.push_back({"total impulse", fmt::format("at most {} N s found, {} N s by the bound", number(set.largest_impulse),
                                               number(set.impulse_bound))});
  rows.push_back({"largest gain of energy", fmt::format("{:.2e} of the energy before", set.largest_gain)});
  rows.push_back({"residual", fmt::format("{:.2e}, of the complementarity problems", set.worst_residual)});
  std::string text = table(rows) + "\n";

  rows = {{"share", "outcome"}};
  long told = 0;
  for (size_t k = 0; k < std::min(set.modes.size(), kMostModes); ++k) {
    rows.push_back({share(set.modes[k].count, set.finished), mode_name(scene, set.modes[k])});
    told += set.modes[k].count;
  }
  if (set.modes.size() > kMostModes)
    rows.push_back({share(set.finished - told, set.finished), fmt::format("{} others", set.modes.size() - kMostModes)});
  text += table(rows) + "\n";

  if (set.finished == 0) return text;
  rows = {{"velocity [m/s]", "before", "from", "to", "bound below", "bound above"}};
  const auto bound = [](double x) { return std::isfinite(x) ? number(x) : std::string("-"); };
  const double speed = (scene.problem.Jn * scene.problem.v).cwiseAbs().maxCoeff();
  for (const ContactQuantity& q : contact_quantities(scene)) {
    const Interval range = set.range(q.row), outer = outer_bound(set, q.row);
    rows.push_back({q.name, number(q.row.dot(scene.problem.v), speed), number(range.lower, speed),
                    number(range.upper, speed), bound(outer.lower), bound(outer.upper)});
  }
  return text + table(rows);
}

Json vector_json(const VectorXd& v) { return std::vector<double>(v.data(), v.data() + v.size()); }
Json interval_json(const Interval& i) { return {i.lower, i.upper}; }

Json result_json(const ImpactScene& scene, const ImpactResult& r) {
  const ImpactProblem& p = scene.problem;
  const int t = p.tangents();
  Json contacts = Json::array();
  const VectorXd vn = p.Jn * r.v, vt = p.Jt * r.v;
  for (int i = 0; i < p.contacts(); ++i) {
    Json contact = {{"contact", scene.contacts[static_cast<size_t>(i)].label}, {"vn", vn(i)}};
    contact["vt"] = vector_json(vt.segment(t * i, t));
    if (r.normal_impulse.size() == p.contacts()) contact["normal_impulse"] = r.normal_impulse(i);
    if (r.tangential_impulse.size() == t * p.contacts())
      contact["tangential_impulse"] = vector_json(r.tangential_impulse.segment(t * i, t));
    contacts.push_back(std::move(contact));
  }
  Json out = {{"law", impact_law_name(r.law)},
              {"status", impact_status_name(r.status)},
              {"note", r.note},
              {"velocity", vector_json(r.v)},
              {"contacts", std::move(contacts)},
              {"energy_before", r.energy_before},
              {"energy_after", r.energy_after},
              {"steps", r.steps},
              {"approach", r.approach},
              {"residual", r.residual},
              {"certificate", nullptr}};
  if (r.certificate) {
    out["certificate"] = certificate_json(*r.certificate);
    Json jammed = Json::array();
    for (const int i : r.certificate->jammed) jammed.push_back(scene.contacts[static_cast<size_t>(i)].label);
    out["certificate"]["jammed"] = std::move(jammed);
  }
  if (const auto& s = r.supplement)
    out["supplement"] = {{"drift_holds", s->drift_holds},
                         {"drift", s->drift},
                         {"least_tolerance", s->least_tolerance},
                         {"bits", s->bits}};
  return out;
}

Json set_json(const ImpactReport& report) {
  const OutcomeSet& set = *report.set;
  Json modes = Json::array(), ranges = Json::array();
  for (const OutcomeMode& mode : set.modes)
    modes.push_back({{"outcome", mode_name(report.scene, mode)}, {"count", mode.count}});
  for (const ContactQuantity& q : contact_quantities(report.scene))
    ranges.push_back({{"velocity", q.name},
                      {"before", q.row.dot(report.scene.problem.v)},
                      {"range", interval_json(set.range(q.row))},
                      {"bound", interval_json(outer_bound(set, q.row))}});
  return {{"sampler", outcome_sampler_name(report.set_options.sampler)},
          {"step", set.step},
          {"max_steps", report.set_options.max_steps},
          {"seed", report.set_options.seed},
          {"samples", set.samples},
          {"finished", set.finished},
          {"unfinished", set.unfinished},
          {"failed", set.failed},
          {"increments", set.increments},
          {"most_increments", set.most_increments},
          {"at_rest", set.at_rest},
          {"outcomes", std::move(modes)},
          {"ranges", std::move(ranges)},
          {"energy_ratio", interval_json(set.energy_ratio)},
          {"largest_gain", set.largest_gain},
          {"worst_residual", set.worst_residual},
          {"largest_impulse", set.largest_impulse},
          {"impulse_bound", set.impulse_bound},
          {"interrupted", set.interrupted}};
}

}  // namespace

std::vector<ContactQuantity> contact_quantities(const ImpactScene& scene) {
  const ImpactProblem& p = scene.problem;
  const int t = p.tangents();
  std::vector<ContactQuantity> quantities;
  for (int i = 0; i < p.contacts(); ++i)
    quantities.push_back({"vn_" + scene.contacts[static_cast<size_t>(i)].label, i, -1, p.Jn.row(i).transpose()});
  for (int i = 0; i < p.contacts(); ++i)
    for (int k = 0; k < t; ++k)
      quantities.push_back(
          {fmt::format("vt{}_{}", t == 1 ? "" : std::to_string(k + 1), scene.contacts[static_cast<size_t>(i)].label), i,
           k, p.Jt.row(t * i + k).transpose()});
  return quantities;
}

Interval outer_bound(const OutcomeSet& set, const VectorXd& c) {
  Interval bound{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (const OutcomeExtreme& extreme : set.extremes) {
    if (extreme.direction == c) bound.upper = std::min(bound.upper, extreme.bound);
    if (extreme.direction == -c) bound.lower = std::max(bound.lower, -extreme.bound);
  }
  return bound;
}

std::string mode_name(const ImpactScene& scene, const OutcomeMode& mode) {
  constexpr const char* kVerbs[] = {"sticks", "slides", "opens"};
  if (std::all_of(mode.contacts.begin(), mode.contacts.end(), [](ContactMode m) { return m == ContactMode::stick; }))
    return "rest: every contact sticks";
  std::vector<std::string> parts;
  if (mode.contacts.size() <= 8) {
    for (size_t i = 0; i < mode.contacts.size(); ++i)
      parts.push_back(scene.contacts[i].label + " " + kVerbs[static_cast<size_t>(mode.contacts[i])]);
    return fmt::format("{}", fmt::join(parts, ", "));
  }
  for (const auto& [kind, verb] : {std::pair{ContactMode::open, "open"}, {ContactMode::slide, "slide"}}) {
    std::vector<int> contacts;
    for (size_t i = 0; i < mode.contacts.size(); ++i)
      if (mode.contacts[i] == kind) contacts.push_back(static_cast<int>(i));
    if (!contacts.empty()) parts.push_back(fmt::format("{}: {}", verb, labels_of(scene, contacts)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

Json certificate_json(const ImpactCertificate& c) {
  return {{"holds", c.holds},
          {"tolerance", c.tolerance},
          {"w", c.w},
          {"witness", vector_json(c.witness)},
          {"cap", c.cap},
          {"steps", c.steps},
          {"theta", c.theta},
          {"delta", c.delta},
          {"rho", c.rho},
          {"step_error", c.step_error},
          {"energy_ratio", interval_json(c.energy_ratio)},
          {"least_velocity", interval_json(c.least_velocity)},
          {"bits", c.bits},
          {"redone", c.redone},
          {"energy_removed", c.energy_removed}};
}

std::vector<ImpactLaw> applicable_impact_laws(const ImpactProblem& problem) {
  const bool friction = problem.mu.size() > 0 && problem.mu.maxCoeff() > 0;
  std::vector<ImpactLaw> laws;
  for (const ImpactLaw law : impact_laws())
    if (law == ImpactLaw::routh ? problem.contacts() == 1 : !impact_law_is_elastic(law) || !friction)
      laws.push_back(law);
  return laws;
}

void add_all_outcomes(ImpactReport& report, ImpactLaw law, ImpactOptions options, const ImpactSearch& search) {
  const ImpactProblem& p = report.scene.problem;
  options.law = law;
  ImpactOutcomes found = all_impact_outcomes(p, options, search);
  const double near = kSame * mass_norm(p, p.v);
  const size_t first = report.outcomes.size();
  std::vector<int> more;
  for (ImpactResult& outcome : found.outcomes) {
    size_t k = first;
    while (k < report.outcomes.size() &&
           !(report.outcomes[k].status == outcome.status && mass_norm(p, report.outcomes[k].v - outcome.v) <= near))
      ++k;
    if (k < report.outcomes.size()) {
      ++more[k - first];
    } else {
      report.outcomes.push_back(std::move(outcome));
      more.push_back(0);
    }
  }
  for (size_t k = 0; k < more.size(); ++k)
    if (more[k] > 0)
      report.outcomes[first + k].note +=
          fmt::format("{}{} more the same", report.outcomes[first + k].note.empty() ? "" : ", ", more[k]);
  if (!found.complete) {
    report.incomplete.push_back(law);
    report.notes.push_back(
        fmt::format("{}: not complete, there may be more outcomes{}", impact_law_name(law),
                    found.nodes > 0 ? fmt::format(": the search ended after {} nodes", found.nodes) : ""));
  }
  if (found.continuum)
    report.notes.push_back(fmt::format("{}: outcomes form a continuum, its corners are told", impact_law_name(law)));
}

bool every_outcome_resolved(const ImpactReport& report) {
  return std::all_of(report.outcomes.begin(), report.outcomes.end(),
                     [](const ImpactResult& r) { return r.status == ImpactStatus::resolved; });
}

std::string impact_report_text(const ImpactReport& report) {
  const ImpactScene& scene = report.scene;
  std::string text = fmt::format("{}: {} degrees of freedom, {} contacts\n", scene.title, scene.problem.dofs(),
                                 scene.problem.contacts());
  if (report.outcomes.size() == 1) {
    const ImpactResult& r = report.outcomes[0];
    text += fmt::format("law: {}\n\n", impact_law_name(r.law)) + velocity_table(report) + contact_table(scene, r) +
            facts(scene, r);
  } else if (!report.outcomes.empty()) {
    text += "\n" + outcome_table(report) + velocity_table(report);
  }
  if (report.set) text += "\n" + set_text(report);
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

std::string impact_report_json(const ImpactReport& report) {
  const ImpactScene& scene = report.scene;
  Json dofs = Json::array(), contacts = Json::array(), outcomes = Json::array();
  for (const ImpactDof& dof : scene.dofs) dofs.push_back({{"name", dof.name}, {"unit", dof.unit}});
  const VectorXd vn = scene.problem.Jn * scene.problem.v, vt = scene.problem.Jt * scene.problem.v;
  const int t = scene.problem.tangents();
  for (int i = 0; i < scene.problem.contacts(); ++i) {
    const ImpactContact& c = scene.contacts[static_cast<size_t>(i)];
    contacts.push_back({{"label", c.label},
                        {"bodies", bodies_of(scene, c)},
                        {"vn", vn(i)},
                        {"vt", vector_json(vt.segment(t * i, t))}});
  }
  for (const ImpactResult& r : report.outcomes) outcomes.push_back(result_json(scene, r));
  Json out = {{"scene", scene.file.string()},
              {"title", scene.title},
              {"dofs", std::move(dofs)},
              {"velocity", vector_json(scene.problem.v)},
              {"contacts", std::move(contacts)},
              {"outcomes", std::move(outcomes)},
              {"set", nullptr},
              {"incomplete", Json::array()},
              {"notes", report.notes}};
  for (const ImpactLaw law : report.incomplete) out["incomplete"].push_back(impact_law_name(law));
  if (report.set) out["set"] = set_json(report);
  return out.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace scree
