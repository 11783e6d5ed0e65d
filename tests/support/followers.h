// Random models in which joints follow others, beside the same ones in which all joints are free: what coupling makes
// of any equation is q_free = G q + offsets, v_free = G v, and G^T of forces.
#pragma once

#include <algorithm>
#include <vector>

#include "support/random_tree.h"

namespace scree::test {

struct Followers {
  Followers(Model free_, std::vector<Joint> joints) : free(std::move(free_)), model(rebuild(free, joints)) {
    G = Eigen::MatrixXd::Zero(free.nv(), model.nv());
    for (size_t i = 0; i < model.joints().size(); ++i) {
      const Joint &own = free.joints()[i], *lead = &model.joints()[i];
      double multiplier = 1;
      for (; lead->mimic; lead = &model.joint(model.find_joint(lead->mimic->joint)))
        multiplier *= lead->mimic->multiplier;
      for (int k = 0; k < velocity_count(own.type); ++k) G(own.v_index + k, lead->v_index + k) = multiplier;
    }
  }

  // The position of the free model, one joint after the other.
  Eigen::VectorXd free_position(const Eigen::VectorXd& q) const {
    Eigen::VectorXd out(free.nq());
    for (size_t i = 0; i < model.joints().size(); ++i) {
      const Joint& own = free.joints()[i];
      if (model.joints()[i].mimic)
        out(own.q_index) = position(model.joints()[i], q);
      else
        out.segment(own.q_index, position_count(own.type)) =
            q.segment(model.joints()[i].q_index, position_count(own.type));
    }
    return out;
  }

  Model free, model;
  Eigen::MatrixXd G;

 private:
  double position(const Joint& joint, const Eigen::VectorXd& q) const {
    if (!joint.mimic) return q(joint.q_index);
    return joint.mimic->multiplier * position(model.joint(model.find_joint(joint.mimic->joint)), q) +
           joint.mimic->offset;
  }
  static Model rebuild(const Model& from, const std::vector<Joint>& joints) {
    ModelBuilder builder(from.name());
    const auto name_of = [&](BodyIndex body) { return body.valid() ? from.body(body).name : std::string("world"); };
    for (size_t i = 0; i < from.bodies().size(); ++i)
      builder.add_body(from.bodies()[i], name_of(from.bodies()[i].parent), joints[i]);
    for (const ContactPoint& point : from.contact_points()) builder.add_contact_point(name_of(point.body), point);
    return builder.build();
  }
};

inline bool is_single(const Joint& joint) {
  return joint.type == JointType::revolute || joint.type == JointType::continuous || joint.type == JointType::prismatic;
}

// Of a model the single joints follow each other in any order: earlier or later ones, on the same path or another, in
// chains.
inline Followers with_followers(Random& random, const Model& free) {
  std::vector<Joint> joints = free.joints();
  std::vector<size_t> single;
  for (size_t i = 0; i < joints.size(); ++i)
    if (is_single(joints[i])) single.push_back(i);
  std::shuffle(single.begin(), single.end(), random);
  for (size_t k = 1; k < single.size(); ++k) {
    if (uniform(random, 0, 1) > 0.7) continue;
    const size_t to = single[std::uniform_int_distribution<size_t>(0, k - 1)(random)];
    const double multiplier = (uniform(random, 0, 1) < 0.5 ? -1 : 1) * uniform(random, 0.3, 1.5);
    joints[single[k]].mimic = Mimic{joints[to].name, multiplier, uniform(random, -0.5, 0.5)};
  }
  return {free, joints};
}

// A random tree with at least one follower.
inline Followers random_followers(Random& random, bool massless_bodies = true) {
  for (;;) {
    Followers both = with_followers(random, random_tree(random, 0, massless_bodies).model);
    if (both.model.nv() < both.free.nv()) return both;
  }
}

}  // namespace scree::test
