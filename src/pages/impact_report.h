// What the text, the JSON and the page of an impact have in common.
#pragma once

#include <nlohmann/json.hpp>

#include "scree/impact_page.h"

namespace scree {

// A velocity of a contact: a row c of Jn or Jt, c.v.
struct ContactQuantity {
  std::string name;  // vn_A, vt_A; in space vt1_A, vt2_A
  int contact = 0;
  int tangent = -1;  // -1: normal
  Eigen::VectorXd row;
};
std::vector<ContactQuantity> contact_quantities(const ImpactScene& scene);  // normals, then tangents

// Bound of c.v from outside if the set has one for this direction, else infinite with its sign.
Interval outer_bound(const OutcomeSet& set, const Eigen::VectorXd& c);

std::string mode_name(const ImpactScene& scene, const OutcomeMode& mode);  // "rest", "A opens, B sticks"

nlohmann::ordered_json certificate_json(const ImpactCertificate& certificate);

}  // namespace scree
