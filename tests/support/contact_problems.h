// Random impacts of rigid bodies, and their complementarity problems: with or without friction, with or without caps on
// the impulses, from regular to as degenerate as contact gets.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cmath>
#include <numbers>
#include <random>

#include "support/random_tree.h"

namespace scree::test {

struct ContactRecipe {
  int bodies = 2, contacts = 3;
  bool spatial = true;  // six dofs a body, else three
  int directions = 8;   // of friction: 0 none; 2 in the plane
  double mu = 0.5;
  bool capped = false;    // a largest normal impulse at every contact: m more unknowns, theory (14.3)
  double decades = 0;     // masses are spread over 10^(+-decades/2)
  double duplicates = 0;  // share of contacts that repeat the one before
  double opposed = 0;     // share of contacts that face the one before: what is between them is jammed
  double nearly = 0;      // relative deviation of contacts that repeat or face another: nearly singular, nearly jammed
  double at_rest = 0;     // share of bodies without velocity
  double zero_caps = 0;   // share of contacts whose cap is zero
  bool rounded = false;   // levers, normals, velocities and masses are multiples of 1/2
};

struct LcpProblem {
  Eigen::MatrixXd M;
  Eigen::VectorXd q;
  int size() const { return static_cast<int>(q.size()); }
};

// z = [beta; lambda_n; lambda_D; gamma], as in src/impact/contact_lcp.h.
struct ContactProblem {
  Eigen::MatrixXd J;  // m + t m rows, normals first, in coordinates of mass 1
  Eigen::VectorXd v, mu, caps;
  int contacts = 0, tangents = 0;
};

inline ContactProblem random_contacts(Random& random, const ContactRecipe& recipe) {
  const int dofs = recipe.spatial ? 6 : 3, m = recipe.contacts, t = recipe.directions == 0 ? 0 : recipe.spatial ? 2 : 1;
  std::normal_distribution<double> normal;
  const auto number = [&] {
    const double x = normal(random);
    return recipe.rounded ? std::round(2 * x) / 2 : x;
  };
  const auto happens = [&](double share) { return share > 0 && uniform(random, 0, 1) < share; };
  const auto vector = [&](bool planar) { return Eigen::Vector3d(number(), number(), planar ? 0 : number()); };

  Eigen::VectorXd inverse(dofs * recipe.bodies);  // square roots of inverse masses
  ContactProblem p;
  p.contacts = m;
  p.tangents = t;
  p.v.resize(dofs * recipe.bodies);
  for (int k = 0; k < recipe.bodies; ++k) {
    double mass = std::pow(10.0, uniform(random, -recipe.decades / 2, recipe.decades / 2));
    if (recipe.rounded) mass = std::exp2(std::round(std::log2(mass)));
    inverse.segment(dofs * k, dofs).setConstant(1 / std::sqrt(mass));
    inverse.segment(dofs * k + (recipe.spatial ? 3 : 2), recipe.spatial ? 3 : 1) *= recipe.rounded ? 2 : std::sqrt(2.5);
    const bool rests = happens(recipe.at_rest);
    for (int i = 0; i < dofs; ++i) p.v(dofs * k + i) = rests ? 0 : number();
  }
  p.J = Eigen::MatrixXd::Zero(m + t * m, dofs * recipe.bodies);
  for (int i = 0; i < m; ++i) {
    const bool twin = i > 0 && happens(recipe.duplicates), faces = i > 0 && !twin && happens(recipe.opposed);
    if (twin || faces) {
      p.J.row(i) = (faces ? -1 : 1) * p.J.row(i - 1);
      for (int k = 0; k < t; ++k) p.J.row(m + t * i + k) = p.J.row(m + t * (i - 1) + k);
      if (recipe.nearly > 0)
        for (int k = 0; k <= t; ++k)
          for (double& x : p.J.row(k == 0 ? i : m + t * i + k - 1)) x *= 1 + recipe.nearly * normal(random);
      continue;
    }
    // Between body a and the ground or body b.
    const int a = static_cast<int>(random() % static_cast<unsigned>(recipe.bodies));
    const int b = static_cast<int>(random() % static_cast<unsigned>(recipe.bodies));
    Eigen::Vector3d n;
    if (recipe.rounded) {
      n.setZero();
      n(static_cast<Eigen::Index>(random() % (recipe.spatial ? 3u : 2u))) = random() % 2 ? 1 : -1;
    } else {
      do n = vector(!recipe.spatial);
      while (n.norm() < 1e-3);
      n.normalize();
    }
    Eigen::Vector3d t1 = recipe.spatial ? n.unitOrthogonal() : Eigen::Vector3d(n.y(), -n.x(), 0);
    const Eigen::Vector3d t2 = n.cross(t1);
    const auto add = [&](int body, double sign) {
      const Eigen::Vector3d arm = vector(!recipe.spatial);
      const auto set = [&](int row, const Eigen::Vector3d& d) {
        const Eigen::Vector3d turn = arm.cross(d);
        auto part = p.J.row(row).segment(dofs * body, dofs);
        if (recipe.spatial)
          part << sign * d.transpose(), sign * turn.transpose();
        else
          part << sign * d.x(), sign * d.y(), sign * turn.z();
      };
      set(i, n);
      if (t > 0) set(m + t * i, t1);
      if (t > 1) set(m + t * i + 1, t2);
    };
    add(a, 1);
    if (b != a) add(b, -1);
  }
  p.v = p.v.cwiseQuotient(inverse);
  p.J = p.J * inverse.asDiagonal();
  p.mu = Eigen::VectorXd::Constant(m, recipe.mu);
  if (recipe.capped) {
    const double size = p.v.norm();
    p.caps.resize(m);
    for (double& c : p.caps) c = happens(recipe.zero_caps) ? 0 : size * uniform(random, 0, 1);
  }
  return p;
}

inline LcpProblem contact_lcp(const ContactProblem& p, int directions) {
  const int m = p.contacts, t = p.tangents, k = t == 0 ? 0 : t == 1 ? 2 : directions;
  const int impulses = m + k * m, caps = static_cast<int>(p.caps.size()), n = caps + impulses + (k > 0 ? m : 0);
  Eigen::MatrixXd J(impulses, p.J.cols());
  J.topRows(m) = p.J.topRows(m);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < k; ++j) {
      const double angle = 2 * std::numbers::pi * j / k;
      if (t == 1)
        J.row(m + k * i + j) = (j == 0 ? 1 : -1) * p.J.row(m + i);
      else
        J.row(m + k * i + j) = std::cos(angle) * p.J.row(m + t * i) + std::sin(angle) * p.J.row(m + t * i + 1);
    }
  LcpProblem lcp{Eigen::MatrixXd::Zero(n, n), Eigen::VectorXd::Zero(n)};
  lcp.M.block(caps, caps, impulses, impulses) = J * J.transpose();
  lcp.q.segment(caps, impulses) = J * p.v;
  if (caps > 0) {
    lcp.M.block(0, caps, m, m).diagonal().setConstant(-1);
    lcp.M.block(caps, 0, m, m).diagonal().setConstant(1);
    lcp.q.head(m) = p.caps;
  }
  for (int i = 0; i < m && k > 0; ++i) {
    const int gamma = caps + impulses + i, first = caps + m + k * i;
    lcp.M.block(first, gamma, k, 1).setOnes();
    lcp.M.block(gamma, first, 1, k).setConstant(-1);
    lcp.M(gamma, caps + i) = p.mu(i);
  }
  return lcp;
}

}  // namespace scree::test
