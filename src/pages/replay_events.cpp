#include "pages/replay_events.h"

#include <fmt/format.h>

#include <algorithm>

#include "run/event_file.h"

namespace scree {
namespace {

using Json = nlohmann::json;

Json describe_contact(const Run& run, const EventContact& contact) {
  const auto& colliders = run.colliders;
  const std::string& solid = colliders[static_cast<size_t>(contact.b)].name;
  const double normal = contact.normal.dot(contact.impulse);
  return {{"point", colliders[static_cast<size_t>(contact.a)].name},
          {"solid", solid.empty() ? fmt::format("collider {}", contact.b) : solid},
          {"normal", normal},
          {"tangential", (contact.impulse - normal * contact.normal).norm()}};
}

Json describe_event(const Run& run, const Event& event) {
  Json row = {{"time", event.time}, {"kind", event_kind_name(event.kind)}, {"contacts", Json::array()}};
  const size_t listed = std::min(event.contacts.size(), kMostEventContacts);
  for (size_t i = 0; i < listed; ++i) row["contacts"].push_back(describe_contact(run, event.contacts[i]));
  if (listed < event.contacts.size()) row["more"] = event.contacts.size() - listed;
  if (event.bounces_end) row["bounces_end"] = *event.bounces_end;
  if (!is_impact(event.kind)) return row;
  row["law"] = impact_law_name(event.law);
  row["status"] = impact_status_name(event.status);
  row["steps"] = event.steps;
  row["energy"] = {event.energy_before, event.energy_after};
  if (event.certificate)  // an infinite cap is written as null
    row["certificate"] = {{"holds", event.certificate->holds}, {"cap", event.certificate->cap}};
  return row;
}

}  // namespace

Json describe_events(const Run& run, ArrayBlock& block) {
  std::vector<double> time;
  std::vector<std::uint32_t> kind;  // 0: impacts, 1: lift-off, 2: rest
  const size_t marked = std::min(run.events.size(), kMostEventMarks);
  for (size_t k = 0; k < marked; ++k) {
    const Event& event = run.events[k];
    time.push_back(event.time);
    kind.push_back(is_impact(event.kind) ? 0 : event.kind == EventKind::lift_off ? 1 : 2);
  }
  Json table = Json::array();
  for (size_t k = 0; k < std::min(run.events.size(), kMostEventRows); ++k)
    table.push_back(describe_event(run, run.events[k]));
  return {
      {"count", run.events.size()}, {"time", block.add(time)}, {"kind", block.add(kind)}, {"table", std::move(table)}};
}

}  // namespace scree
