#include "run/event_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scree/error.h"

namespace scree {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kUnitSlack = 1e-6;  // of a normal, as run_contacts.cpp

struct ContactVector {
  const char* path;
  const char* units;
  Vec3 EventContact::*data;
};
constexpr ContactVector kContactVectors[] = {
    {"/events/contacts/position", "m", &EventContact::position},
    {"/events/contacts/normal", "1", &EventContact::normal},
    {"/events/contacts/impulse", "N s", &EventContact::impulse},
    {"/events/contacts/velocity_before", "m/s", &EventContact::velocity_before},
    {"/events/contacts/velocity_after", "m/s", &EventContact::velocity_after},
};

constexpr EventKind kKinds[] = {EventKind::impact, EventKind::impact_without_collision, EventKind::lift_off,
                                EventKind::rest};
constexpr ImpactStatus kStatuses[] = {ImpactStatus::resolved, ImpactStatus::budget, ImpactStatus::not_certified,
                                      ImpactStatus::solver_failed};

// One problem of event k, contact i of all.
std::optional<RunProblem> contact_problem(const Run& run, const EventContact& contact, size_t i) {
  if (auto problem = find_pair_problem(run, "/events/contacts", i, contact.a, contact.b)) return problem;
  for (const ContactVector& column : kContactVectors)
    if (!(contact.*column.data).allFinite()) return RunProblem{column.path, fmt::format("row {} is not finite", i)};
  if (!(std::abs(contact.normal.norm() - 1) <= kUnitSlack))
    return RunProblem{"/events/contacts/normal",
                      fmt::format("row {} has length {}, expected 1", i, contact.normal.norm())};
  return std::nullopt;
}

std::optional<RunProblem> impact_problem(const Event& event, size_t k, int nv) {
  const auto number = [&](const char* path, double found, bool good,
                          const char* expected) -> std::optional<RunProblem> {
    if (good && std::isfinite(found)) return std::nullopt;
    return RunProblem{path, fmt::format("row {} holds {}, expected {}", k, found, expected)};
  };
  if (auto problem = number("/events/energy_before", event.energy_before, event.energy_before >= 0, "J >= 0"))
    return problem;
  if (auto problem = number("/events/energy_after", event.energy_after, event.energy_after >= 0, "J >= 0"))
    return problem;
  if (auto problem = number("/events/steps", static_cast<double>(event.steps), event.steps >= 0, "a whole number >= 0"))
    return problem;
  // A cap may be infinite in double; it is no number only without a certificate.
  if (event.certificate && !(event.certificate->cap >= 0))
    return RunProblem{"/events/cap", fmt::format("row {} holds {}, expected >= 0", k, event.certificate->cap)};
  for (const auto& [path, v] :
       {std::pair{"/events/v_before", &event.v_before}, std::pair{"/events/v_after", &event.v_after}}) {
    if (v->size() != nv && v->size() != 0)
      return RunProblem{path, fmt::format("row {} has {} numbers, expected {}", k, v->size(), nv)};
    if (!v->allFinite()) return RunProblem{path, fmt::format("row {} is not finite", k)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<RunProblem> find_event_problem(const Run& run, int nv) {
  if (run.event_row.size() != run.events.size())
    return RunProblem{"/events/row",
                      fmt::format("has {} entries, expected {}", run.event_row.size(), run.events.size())};
  size_t contacts = 0;
  for (size_t k = 0; k < run.events.size(); ++k) {
    const Event& event = run.events[k];
    if (!std::isfinite(event.time) || (k > 0 && event.time < run.events[k - 1].time))
      return RunProblem{"/events/time",
                        fmt::format("row {} holds {}, expected finite times that do not decrease", k, event.time)};
    if (run.event_row[k] >= run.rows() || (k > 0 && run.event_row[k] < run.event_row[k - 1]))
      return RunProblem{"/events/row", fmt::format("row {} holds {}, expected rows 0 to {} that do not decrease", k,
                                                   run.event_row[k], run.rows() - 1)};
    if (event.bounces_end && !std::isfinite(*event.bounces_end))
      return RunProblem{"/events/bounces_end", fmt::format("row {} holds {}, expected s", k, *event.bounces_end)};
    if (is_impact(event.kind))
      if (auto problem = impact_problem(event, k, nv)) return problem;
    for (const EventContact& contact : event.contacts)
      if (auto problem = contact_problem(run, contact, contacts++)) return problem;
  }
  return std::nullopt;
}

void write_events(hdf5::Writer& out, const Run& run, int nv) {
  if (run.events.empty()) return;
  std::vector<std::string> kind, law, status;
  std::vector<double> time, steps, energy_before, energy_after, bounces_end, cap, v_before, v_after;
  std::vector<int> row, certified, first = {0}, a, b;
  const auto add_velocity = [&](const Event& event, const Eigen::VectorXd& v, std::vector<double>& column) {
    for (Eigen::Index i = 0; i < nv; ++i) column.push_back(is_impact(event.kind) && v.size() > 0 ? v(i) : kNone);
  };
  for (size_t k = 0; k < run.events.size(); ++k) {
    const Event& event = run.events[k];
    const bool impact = is_impact(event.kind);
    time.push_back(event.time);
    row.push_back(static_cast<int>(run.event_row[k]));
    kind.push_back(event_kind_name(event.kind));
    law.push_back(impact ? impact_law_name(event.law) : "");
    status.push_back(impact ? impact_status_name(event.status) : "");
    steps.push_back(impact ? static_cast<double>(event.steps) : 0);
    energy_before.push_back(impact ? event.energy_before : kNone);
    energy_after.push_back(impact ? event.energy_after : kNone);
    certified.push_back(impact && event.certificate ? event.certificate->holds : -1);
    cap.push_back(impact && event.certificate ? event.certificate->cap : kNone);
    bounces_end.push_back(event.bounces_end.value_or(kNone));
    add_velocity(event, event.v_before, v_before);
    add_velocity(event, event.v_after, v_after);
    for (const EventContact& contact : event.contacts) {
      a.push_back(contact.a);
      b.push_back(contact.b);
    }
    first.push_back(static_cast<int>(a.size()));
  }
  const std::uint64_t count = run.events.size(), contacts = a.size(), dofs = static_cast<std::uint64_t>(nv);
  out.group("/events");
  out.numbers("/events/time", time, {count}, "s");
  out.integers("/events/row", row, {count}, "1");
  out.strings("/events/kind", kind, {count});
  out.strings("/events/law", law, {count});
  out.strings("/events/status", status, {count});
  out.numbers("/events/steps", steps, {count}, "1");
  out.numbers("/events/energy_before", energy_before, {count}, "J");
  out.numbers("/events/energy_after", energy_after, {count}, "J");
  out.integers("/events/certified", certified, {count}, "1");
  out.numbers("/events/cap", cap, {count}, "1");
  out.numbers("/events/bounces_end", bounces_end, {count}, "s");
  out.numbers("/events/v_before", v_before, {count, dofs}, "m/s, rad/s");
  out.numbers("/events/v_after", v_after, {count, dofs}, "m/s, rad/s");
  out.integers("/events/first_contact", first, {count + 1}, "1");
  out.group("/events/contacts");
  out.integers("/events/contacts/a", a, {contacts}, "1");
  out.integers("/events/contacts/b", b, {contacts}, "1");
  for (const ContactVector& column : kContactVectors) {
    std::vector<double> values;
    for (const Event& event : run.events)
      for (const EventContact& contact : event.contacts)
        values.insert(values.end(), (contact.*column.data).begin(), (contact.*column.data).end());
    out.numbers(column.path, values, {contacts, 3}, column.units);
  }
}

void read_events(const hdf5::Reader& in, int nv, Run& run) {
  if (!in.has("/events")) return;
  const std::uint64_t count = in.length("/events/time"), dofs = static_cast<std::uint64_t>(nv);
  const std::vector<double> time = in.numbers("/events/time", {count}), steps = in.numbers("/events/steps", {count}),
                            energy_before = in.numbers("/events/energy_before", {count}),
                            energy_after = in.numbers("/events/energy_after", {count}),
                            cap = in.numbers("/events/cap", {count}),
                            bounces_end = in.numbers("/events/bounces_end", {count}),
                            v_before = in.numbers("/events/v_before", {count, dofs}),
                            v_after = in.numbers("/events/v_after", {count, dofs});
  const std::vector<std::string> kind = in.strings("/events/kind", {count}), law = in.strings("/events/law", {count}),
                                 status = in.strings("/events/status", {count});
  const std::vector<int> row = in.integers("/events/row", {count}),
                         certified = in.integers("/events/certified", {count}),
                         first = in.integers("/events/first_contact", {count + 1});
  const std::uint64_t contacts = in.length("/events/contacts/a");
  const std::vector<int> a = in.integers("/events/contacts/a", {contacts}),
                         b = in.integers("/events/contacts/b", {contacts});
  std::vector<std::vector<double>> vectors;
  for (const ContactVector& column : kContactVectors) vectors.push_back(in.numbers(column.path, {contacts, 3}));
  if (first.front() != 0 || static_cast<std::uint64_t>(first.back()) != contacts ||
      !std::is_sorted(first.begin(), first.end()))
    in.fail("/events/first_contact", fmt::format("goes from {} to {}, expected from 0 to {} without decrease",
                                                 first.front(), first.back(), contacts));

  const auto velocity = [&](const std::vector<double>& column, size_t k) -> Eigen::VectorXd {
    if (dofs == 0 || std::isnan(column[k * dofs])) return {};
    return Eigen::Map<const Eigen::VectorXd>(column.data() + k * dofs, nv);
  };
  for (size_t k = 0; k < count; ++k) {
    Event event;
    event.time = time[k];
    const auto known = std::find_if(std::begin(kKinds), std::end(kKinds),
                                    [&](EventKind item) { return kind[k] == event_kind_name(item); });
    if (known == std::end(kKinds))
      in.fail("/events/kind", fmt::format("row {} holds \"{}\", expected impact, impact without collision, lift-off or "
                                          "rest",
                                          k, kind[k]));
    event.kind = *known;
    if (row[k] < 0) in.fail("/events/row", fmt::format("row {} holds {}, expected >= 0", k, row[k]));
    run.event_row.push_back(static_cast<std::uint64_t>(row[k]));
    if (!std::isnan(bounces_end[k])) event.bounces_end = bounces_end[k];
    if (is_impact(event.kind)) {
      try {
        event.law = impact_law_from_name(law[k]);
      } catch (const InputError& error) {
        in.fail("/events/law", fmt::format("row {}: {}", k, error.what()));
      }
      const auto end = std::find_if(std::begin(kStatuses), std::end(kStatuses),
                                    [&](ImpactStatus item) { return status[k] == impact_status_name(item); });
      if (end == std::end(kStatuses))
        in.fail("/events/status", fmt::format("row {} holds \"{}\", expected a status of impacts", k, status[k]));
      event.status = *end;
      // Whole numbers up to 2^53 are exact; what lies beyond was never counted.
      if (!(steps[k] >= 0 && steps[k] <= 9007199254740992.0 && steps[k] == std::floor(steps[k])))
        in.fail("/events/steps", fmt::format("row {} holds {}, expected a whole number >= 0", k, steps[k]));
      event.steps = static_cast<long>(steps[k]);
      event.energy_before = energy_before[k];
      event.energy_after = energy_after[k];
      if (certified[k] < -1 || certified[k] > 1)
        in.fail("/events/certified", fmt::format("row {} holds {}, expected -1, 0 or 1", k, certified[k]));
      if (certified[k] >= 0) {
        event.certificate.emplace();
        event.certificate->holds = certified[k] == 1;
        event.certificate->cap = cap[k];
        event.certificate->steps = event.steps;
      }
      event.v_before = velocity(v_before, k);
      event.v_after = velocity(v_after, k);
    }
    for (int i = first[k]; i < first[k + 1]; ++i) {
      const size_t at = static_cast<size_t>(i);
      EventContact contact;
      contact.a = a[at];
      contact.b = b[at];
      for (size_t c = 0; c < std::size(kContactVectors); ++c)
        contact.*kContactVectors[c].data = Vec3(vectors[c].data() + 3 * at);
      event.contacts.push_back(contact);
    }
    run.events.push_back(std::move(event));
  }
  if (const auto problem = find_event_problem(run, nv)) in.fail(problem->path, problem->what);
}

}  // namespace scree
