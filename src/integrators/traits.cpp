#include "integrators/traits.h"

#include <fmt/format.h>

#include <array>

#include "scree/error.h"

namespace scree {
namespace {

using enum IntegratorType;
using enum Scheme;
using enum ContactKind;

constexpr auto kPoses = Inertia::poses;
constexpr auto kVelocities = Inertia::velocities;
constexpr auto kAccelerations = Inertia::accelerations;
constexpr std::optional<FrictionLaw> kNoFriction, kEnergy = FrictionLaw::energy, kViscous = FrictionLaw::viscous,
                                                  kCoulomb = FrictionLaw::coulomb;
constexpr auto kNo = HasDerivatives::no;
constexpr auto kFresh = HasDerivatives::without_history;
constexpr auto kYes = HasDerivatives::yes;

// clang-format off
constexpr IntegratorTraits kTable[] = {
    //                                                                                                          needs                                 deriv-
    //                                                      scheme          discretised     contact stages  law'   error  friction     lanes  atives  linear
    {pbd_nmdp2,     "pbd-nmdp2",     "accurate, the default",     nmdp2,          kPoses,         law,    2,  true,  true,  kNoFriction, false, kYes,   false},
    {pbfd_coulomb,  "pbfd-coulomb",  "fast",                      Scheme::friction, kPoses,       smooth, 1,  false, false, kCoulomb,    true,  kNo,    false},
    {pbfd_coulomb2, "pbfd-coulomb2", "fast, second order",        Scheme::friction, kPoses,       smooth, 2,  false, false, kCoulomb,    true,  kNo,    false},
    {event,         "event",         "rigid, impacts at their times", events,     kAccelerations, rigid,  1,  false, false, kNoFriction, false, kNo,    false},
    {ne_lcp,        "ne-lcp",        "rigid, the baseline",       lcp,            kAccelerations, rigid,  1,  false, false, kNoFriction, false, kNo,    true},
    {rk4,           "rk4",           "reference without contact", runge_kutta,    kAccelerations, none,   4,  false, false, kNoFriction, false, kNo,    false},
    {pbd,           "pbd",           "",                          backward_euler, kPoses,         none,   1,  false, false, kNoFriction, false, kFresh, false},
    {ne,            "ne",            "",                          backward_euler, kVelocities,    none,   1,  false, false, kNoFriction, false, kYes,   false},
    {ne_mdp,        "ne-mdp",        "",                          mdp,            kAccelerations, law,    1,  false, false, kNoFriction, false, kNo,    true},
    {ne_nmdp,       "ne-nmdp",       "",                          nmdp,           kVelocities,    law,    1,  true,  false, kNoFriction, false, kYes,   false},
    {ne_zonmdp,     "ne-zonmdp",     "",                          nmdp,           kVelocities,    law,    1,  false, false, kNoFriction, false, kNo,    false},
    {pbd_nmdp,      "pbd-nmdp",      "",                          nmdp,           kPoses,         law,    1,  true,  false, kNoFriction, false, kFresh, false},
    {pbd_zonmdp,    "pbd-zonmdp",    "",                          nmdp,           kPoses,         law,    1,  false, false, kNoFriction, false, kNo,    false},
    {ne_nmdp2,      "ne-nmdp2",      "",                          nmdp2,          kVelocities,    law,    2,  true,  true,  kNoFriction, false, kYes,   false},
    {pbd_friction,  "pbd-friction",  "",                          Scheme::friction, kPoses,       smooth, 1,  false, false, kEnergy,     false, kNo,    false},
    {pbfd,          "pbfd",          "",                          Scheme::friction, kPoses,       smooth, 1,  false, false, kViscous,    true,  kNo,    false},
    {pbd_friction2, "pbd-friction2", "",                          Scheme::friction, kPoses,       smooth, 2,  false, false, kEnergy,     false, kNo,    false},
    {pbfd2,         "pbfd2",         "",                          Scheme::friction, kPoses,       smooth, 2,  false, false, kViscous,    true,  kNo,    false},
};
// clang-format on
constexpr size_t kCount = std::size(kTable);

// Where in the table an integrator is. A type that has no row, or two, does not compile.
constexpr std::array<size_t, kCount> kRows = [] {
  std::array<size_t, kCount> rows{};
  std::array<bool, kCount> seen{};
  for (size_t k = 0; k < kCount; ++k) {
    const size_t type = static_cast<size_t>(kTable[k].type);
    if (seen.at(type)) throw "two rows of one integrator";
    seen[type] = true;
    rows[type] = k;
  }
  return rows;
}();

}  // namespace

std::span<const IntegratorTraits> all_integrators() { return kTable; }

const IntegratorTraits& traits(IntegratorType type) { return kTable[kRows[static_cast<size_t>(type)]]; }

const char* integrator_name(IntegratorType type) { return traits(type).name; }

std::vector<IntegratorType> integrators() {
  std::vector<IntegratorType> types;
  for (const IntegratorTraits& row : kTable) types.push_back(row.type);
  return types;
}

std::string integrator_names() {
  return names_of_integrators([](const IntegratorTraits&) { return true; });
}

IntegratorType integrator_from_name(std::string_view name) {
  for (const IntegratorTraits& row : kTable)
    if (name == row.name) return row.type;
  throw InputError(fmt::format("integrator \"{}\" is unknown, expected one of: {}", name, integrator_names()));
}

bool knows_contact(IntegratorType type) { return traits(type).contact != ContactKind::none; }
bool estimates_error(IntegratorType type) { return traits(type).error; }
bool uses_smooth_contact(IntegratorType type) { return traits(type).contact == ContactKind::smooth; }

IntegratorType default_integrator(const World& world) {
  return !world.has_contact() || world.law->differentiable() ? pbd_nmdp2 : pbd_zonmdp;
}

void check_accuracy(IntegratorType type) {
  if (!estimates_error(type))
    throw InputError(
        fmt::format("integrator \"{}\" does not estimate its error, which accuracy asks for, expected one of: {}",
                    integrator_name(type), names_of_integrators([](const auto& row) { return row.error; })));
}

void check_contact(IntegratorType type, const ContactLaw& contact_law) {
  if (!knows_contact(type))
    throw InputError(
        fmt::format("integrator \"{}\" knows no contact, expected one of: {}", integrator_name(type),
                    names_of_integrators([](const auto& row) { return row.contact != ContactKind::none; })));
  if (contact_law.differentiable() || !traits(type).law_derivative) return;
  throw InputError(fmt::format(
      "integrator \"{}\" needs the derivative of the contact law, which this law does not offer, expected one of: {}",
      integrator_name(type),
      names_of_integrators([](const auto& row) { return row.contact == ContactKind::law && !row.law_derivative; })));
}

}  // namespace scree
