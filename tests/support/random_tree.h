// Seeded random models for property tests: branching, every joint type, massless intermediates, any distance from the
// origin.
#pragma once

#include <random>
#include <string>

#include "scree/model.h"

namespace scree::test {

using Random = std::mt19937_64;

inline double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}
inline Vec3 random_vector(Random& random, double size = 1) {
  return size * Vec3(uniform(random, -1, 1), uniform(random, -1, 1), uniform(random, -1, 1));
}
inline Mat3 random_rotation(Random& random) {
  std::normal_distribution<double> normal;
  return Quat(normal(random), normal(random), normal(random), normal(random)).normalized().toRotationMatrix();
}

// A body made of twelve point masses [kg] at known places [m]: a mass distribution to check second moments against.
struct PointMasses {
  std::vector<double> mass;
  std::vector<Vec3> place;
};
inline PointMasses random_points(Random& random) {
  PointMasses points;
  const Vec3 centre = random_vector(random, 0.2);
  for (int k = 0; k < 12; ++k) {
    points.mass.push_back(uniform(random, 0.05, 0.3));
    points.place.push_back(centre + random_vector(random, 0.3));
  }
  return points;
}
inline void set_inertia(Body& body, const PointMasses& points) {
  body.mass = 0;
  body.com.setZero();
  for (size_t k = 0; k < points.mass.size(); ++k) {
    body.mass += points.mass[k];
    body.com += points.mass[k] * points.place[k];
  }
  body.com /= body.mass;
  body.inertia.setZero();
  for (size_t k = 0; k < points.mass.size(); ++k) {
    const Vec3 r = points.place[k] - body.com;
    body.inertia += points.mass[k] * (r.squaredNorm() * Mat3::Identity() - r * r.transpose());
  }
}

struct RandomTree {
  Model model;
  std::vector<PointMasses> points;  // per body of the model; empty for massless ones
};

// `far`: distance of the root joint from the world origin [m]. `massless_bodies`: whether intermediate ones may have no
// mass.
inline RandomTree random_tree(Random& random, double far = 0, bool massless_bodies = true) {
  static constexpr JointType kTypes[] = {JointType::fixed,     JointType::revolute, JointType::continuous,
                                         JointType::prismatic, JointType::planar,   JointType::ball,
                                         JointType::floating};
  const int count = std::uniform_int_distribution<int>(1, 9)(random);
  ModelBuilder builder("random");
  std::vector<PointMasses> by_name;
  std::vector<bool> has_child(static_cast<size_t>(count), false);
  std::vector<int> parents;
  for (int i = 0; i < count; ++i) {
    const int parent = i == 0 ? -1 : std::uniform_int_distribution<int>(0, i - 1)(random);
    parents.push_back(parent);
    if (parent >= 0) has_child[static_cast<size_t>(parent)] = true;
  }
  for (int i = 0; i < count; ++i) {
    Body body;
    body.name = "b" + std::to_string(i);
    Joint joint;
    joint.name = "j" + std::to_string(i);
    joint.type = kTypes[std::uniform_int_distribution<int>(0, 6)(random)];
    joint.axis = random_vector(random) + Vec3(1.5, 0, 0);
    if (uniform(random, 0, 1) < 0.5)  // the recursions treat coordinate axes apart
      joint.axis =
          (uniform(random, 0, 1) < 0.5 ? -1 : 1) * Vec3::Unit(std::uniform_int_distribution<int>(0, 2)(random));
    joint.X_PJ = {random_rotation(random), random_vector(random, 0.5)};
    if (i == 0) joint.X_PJ.p += far * Vec3(0.6, -0.64, 0.48);
    if (joint.type != JointType::planar && joint.type != JointType::floating) joint.armature = uniform(random, 0, 0.1);
    PointMasses points;
    // A massless body between a one-dof joint and its children: a two-dof joint in the making.
    const bool massless = massless_bodies && has_child[static_cast<size_t>(i)] && velocity_count(joint.type) == 1 &&
                          uniform(random, 0, 1) < 0.4;
    if (!massless) {
      points = random_points(random);
      set_inertia(body, points);
    }
    by_name.push_back(points);
    builder.add_body(body, i == 0 ? "world" : "b" + std::to_string(parents[static_cast<size_t>(i)]), joint);
  }
  RandomTree tree{builder.build(), {}};
  for (const Body& body : tree.model.bodies()) tree.points.push_back(by_name[std::stoul(body.name.substr(1))]);
  return tree;
}

// A random position: angles and translations in +-size, rotations anywhere.
inline Eigen::VectorXd random_position(Random& random, const Model& model, double size = 1) {
  Eigen::VectorXd q(model.nq());
  for (Eigen::Index k = 0; k < q.size(); ++k) q(k) = uniform(random, -size, size);
  for (const Joint& joint : model.joints()) {
    if (joint.type != JointType::ball && joint.type != JointType::floating) continue;
    const Quat r(random_rotation(random));
    q.segment<4>(joint.q_index + (joint.type == JointType::floating ? 3 : 0)) << r.w(), r.x(), r.y(), r.z();
  }
  return q;
}
inline Eigen::VectorXd random_velocity(Random& random, const Model& model, double size = 1) {
  Eigen::VectorXd v(model.nv());
  for (Eigen::Index k = 0; k < v.size(); ++k) v(k) = uniform(random, -size, size);
  return v;
}

}  // namespace scree::test
