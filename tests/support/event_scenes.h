// Seeded random scenes of rigid contact: a body, a chain or a robot thrown at ground of some kind, with any impact law.
#pragma once

#include <cmath>
#include <limits>
#include <string>

#include "scree/kinematics.h"
#include "scree/step.h"
#include "scree/urdf.h"
#include "support/paths.h"
#include "support/random_tree.h"

namespace scree::test {

struct EventScene {
  std::string name;
  Model model;
  ContactWorld world;
  Control control;
  State state;
  StepOptions options;
};

// [m] the smallest gap of all pairs, from frame poses and signed distances alone.
inline double smallest_gap(const Model& model, const ContactWorld& world, const Eigen::VectorXd& q) {
  double smallest = std::numeric_limits<double>::infinity();
  for (const ContactPoint& point : world.points) {
    const Vec3 centre = frame_pose(model, q, Frame{"", point.body, {}}) * point.p_B;
    for (size_t solid = 0; solid < world.environment.solids().size(); ++solid)
      smallest = std::min(smallest, world.environment.distance(solid, centre).value - point.radius);
  }
  return smallest;
}

inline void add_random_ground(Random& random, Environment& ground) {
  const int kind = static_cast<int>(uniform(random, 0, 6));
  const double slope = uniform(random, -0.4, 0.4);
  const auto floor = [&] { ground.add_plane(Vec3::Zero(), Vec3::UnitZ(), "floor"); };
  if (kind == 0) {
    floor();
  } else if (kind == 1) {
    ground.add_plane(Vec3::Zero(), Vec3(std::sin(slope), 0, std::cos(slope)), "slope");
  } else if (kind == 2) {  // a corner
    floor();
    ground.add_plane(Vec3(0.6, 0, 0), -Vec3::UnitX(), "wall");
  } else if (kind == 3) {  // a valley
    ground.add_plane(Vec3::Zero(), Vec3(std::sin(0.5), 0, std::cos(0.5)), "left");
    ground.add_plane(Vec3::Zero(), Vec3(-std::sin(0.6), 0, std::cos(0.6)), "right");
  } else if (kind == 4) {  // a block to fall on
    floor();
    const Mat3 turn = Eigen::AngleAxisd(slope, Vec3::UnitY()).toRotationMatrix();
    ground.add_box({turn, Vec3(0.1, 0, 0.1)}, Vec3(0.4, 3, 0.2), "block");
  } else {
    Eigen::MatrixXd heights(12, 12);
    for (Eigen::Index i = 0; i < heights.size(); ++i) heights(i) = uniform(random, -0.08, 0.08);
    ground.add_height_field(std::make_shared<const HeightField>(heights, Eigen::Vector2d(-2.75, -2.75), 0.5), "hills");
  }
}

inline EventScene random_event_scene(Random& random) {
  constexpr const char* kModels[] = {
      "box-planar",        "box",           "cube",    "chain-floating-2d", "chain-floating-3d",
      "robosimian-planar", "spider-planar", "walker2d"};
  const std::string name = kModels[static_cast<int>(uniform(random, 0, 8))];
  Model model = load_urdf(source_dir() + "/models/" + name + ".urdf");
  const Control still(model);
  EventScene scene{name, std::move(model), {}, still, {}, {}};
  add_random_ground(random, scene.world.environment);
  scene.world.points = contact_candidates(scene.model, ContactCandidates::automatic);
  scene.world.smooth.friction = uniform(random, 0, 1) < 0.15 ? 0 : uniform(random, 0.05, 1.2);
  const ImpactLaw laws[] = {ImpactLaw::anitescu_potra,    ImpactLaw::anitescu_potra, ImpactLaw::sequential,
                            ImpactLaw::poisson,           ImpactLaw::moreau,         ImpactLaw::gauss_seidel_max,
                            ImpactLaw::restitution_blend, ImpactLaw::reflections};
  EventOptions& event = scene.world.event;
  event.impact.law = laws[static_cast<int>(uniform(random, 0, 8))];
  event.restitution = event.impact.law == ImpactLaw::reflections ? 1
                      : uniform(random, 0, 1) < 0.4              ? 0
                                                                 : uniform(random, 0, 0.8);
  scene.options.integrator = IntegratorType::event;
  scene.options.dt = std::pow(10, uniform(random, -3.3, -2));
  for (const Joint& joint : scene.model.joints())
    if (velocity_count(joint.type) == 1) {
      scene.control.kp(joint.v_index) = uniform(random, 0, 200);
      scene.control.kd(joint.v_index) = uniform(random, 0, 2);
    }
  Eigen::VectorXd q = scene.model.neutral_position(), v(scene.model.nv());
  for (Eigen::Index a = 0; a < v.size(); ++a) v(a) = uniform(random, -1, 1);
  for (const Joint& joint : scene.model.joints()) {
    if (velocity_count(joint.type) == 1) {
      q(joint.q_index) += uniform(random, -0.4, 0.4);
    } else if (joint.type == JointType::planar) {
      q(joint.q_index + 2) = uniform(random, -3, 3);
      v.segment<3>(joint.v_index) << uniform(random, -2, 2), uniform(random, -2, 0), uniform(random, -4, 4);
    } else if (joint.type == JointType::floating) {
      const Quat r(random_rotation(random));
      q.segment<4>(joint.q_index + 3) << r.w(), r.x(), r.y(), r.z();
      v.segment<6>(joint.v_index) << random_vector(random, 2), random_vector(random, 4);
    }
  }
  scene.control.target = q;
  // Lifted until it is clear of the ground by a little.
  const Joint& base = scene.model.joints()[0];
  const int height = base.q_index + (base.type == JointType::planar ? 1 : 2);
  const double clear = uniform(random, 0.001, 0.2);
  for (int k = 0; k < 1000; ++k) {
    const double gap = smallest_gap(scene.model, scene.world, q);
    if (gap >= clear) break;
    q(height) += std::max(0.01, clear - gap);
    q(base.q_index) -= std::max(0.01, clear - gap);  // from the wall
  }
  scene.state = make_state(scene.model, q, v);
  return scene;
}

}  // namespace scree::test
