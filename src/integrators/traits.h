// What is to be known of every integrator, in one table: a row each.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "contact/smooth_contact.h"
#include "scree/step.h"

namespace scree {

enum class Scheme {  // whose substep it takes
  backward_euler,    // pbd.cpp, ne.cpp
  runge_kutta,       // rk4.cpp
  mdp,               // mdp.cpp
  nmdp,              // nmdp.cpp, one stage
  nmdp2,             // nmdp.cpp, two stages
  lcp,               // ne_lcp.cpp
  events,            // event.cpp, which has a loop of its own
  friction,          // friction.cpp; in lanes lockstep.h
};

enum class Inertia {  // the discretisation
  poses,              // position_based.h
  velocities,         // newton_euler.h, at the end of the step
  accelerations,      // explicit, or linear in the end of the step: mass matrix and bias forces
};

enum class ContactKind {
  none,
  law,     // World::law
  rigid,   // no depth, dry friction
  smooth,  // World::smooth
};

enum class HasDerivatives {  // step_with_derivatives
  no,
  without_history,  // from a state without body_rates
  yes,
};

struct IntegratorTraits {
  IntegratorType type;
  const char* name;
  const char* role;  // what users choose it for, in words; empty: there for the papers
  Scheme scheme;
  Inertia inertia;
  ContactKind contact;
  int stages;
  bool law_derivative;                  // needs that of the contact law
  bool error;                           // is estimated, and held to StepOptions::accuracy
  std::optional<FrictionLaw> friction;  // of smooth contact
  bool lanes;                           // batches can take it
  HasDerivatives derivatives;
  bool linear;  // in the displacement: its substeps are not shortened for turning, so that its own largest stable step
                // can be seen

  bool for_users() const { return role[0] != 0; }
  bool from_energy() const { return friction == FrictionLaw::energy; }  // contact: it minimises that, not 1/2 |R|^2
};

std::span<const IntegratorTraits> all_integrators();  // those for users first
const IntegratorTraits& traits(IntegratorType type);

// Throws InputError if the optimizer cannot serve the integrator: the exact Hessian of 1/2 |R|^2 holds third
// derivatives.                                                                                          theory (11.12)
void check_optimizer(const StepOptions& options);

// "a, b, c" of those that `has` says, in the order of the table.
template <class Has> std::string names_of_integrators(Has has) {
  std::string names;
  for (const IntegratorTraits& row : all_integrators())
    if (has(row)) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

}  // namespace scree
