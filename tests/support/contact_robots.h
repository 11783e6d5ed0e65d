// The two robots on a floor, in stance or thrown, for tests of the integrators with contact.
#pragma once

#include <memory>
#include <string>

#include "scree/kinematics.h"
#include "scree/motion.h"
#include "scree/step.h"
#include "scree/urdf.h"
#include "support/paths.h"
#include "support/random_tree.h"

namespace scree::test {

inline constexpr IntegratorType kContactIntegrators[] = {IntegratorType::ne_mdp, IntegratorType::ne_nmdp,
                                                         IntegratorType::ne_zonmdp, IntegratorType::pbd_nmdp,
                                                         IntegratorType::pbd_zonmdp};

inline constexpr double kSoft = 0.015;  // [m] of grounds soft enough for long steps

// `name` as in models/: "robosimian-planar", "spider-spatial", ...
struct ContactRobot {
  explicit ContactRobot(const std::string& name, const CoulombOptions& law = {.depth = kSoft})
      : model(load_urdf(source_dir() + "/models/" + name + ".urdf")), control(model) {
    const bool spider = model.name().starts_with("spider");
    world.surface.friction = spider ? 1.5 : 0.7;
    floor = spider ? -0.43 : -0.80;
    world.add(plane_collider({0, 0, floor}, Vec3::UnitZ()));
    world.law = make_coulomb(law);
    world.add(contact_candidates(model, ContactCandidates::named));
    stance = model.neutral_position();
    Eigen::VectorXd rate = Eigen::VectorXd::Zero(model.nv());
    motion("walk")->sample(0, stance, rate);
    control.target = stance;
    for (const Joint& joint : model.joints())
      if (velocity_count(joint.type) == 1) {
        control.kp(joint.v_index) = 1000;
        control.kd(joint.v_index) = 1;
      }
  }

  // Of this robot: "walk", "jump", ...
  std::shared_ptr<const Motion> motion(const std::string& what) const {
    const std::string robot = model.name().starts_with("spider") ? "spider" : "robosimian";
    return std::make_shared<Motion>(load_motion(source_dir() + "/motions/" + robot + "-" + what + ".toml", model));
  }
  void walk() { control.motion = motion("walk"); }

  bool planar() const { return model.joints()[0].type == JointType::planar; }
  int height_index() const { return planar() ? 1 : 2; }  // in q

  double lowest_foot(const Eigen::VectorXd& q) const {  // [m] above the floor
    double lowest = std::numeric_limits<double>::infinity();
    for (const Collider& foot : world.colliders) {
      if (foot.body == kWorld) continue;
      const Pose X_WB = frame_pose(model, q, Frame{"", foot.body, {}});
      lowest = std::min(lowest, (X_WB * foot.X_BS.p).z() - std::get<Sphere>(foot.shape).radius - floor);
    }
    return lowest;
  }

  // Joints within 0.3 rad of stance, tilted by up to 0.1 rad, the lowest foot within 3 cm of the floor, up to 1.5 m/s
  // and 3 rad/s.
  State random_state(Random& random) const {
    Eigen::VectorXd q = stance, v = Eigen::VectorXd::Zero(model.nv());
    for (const Joint& joint : model.joints())
      if (velocity_count(joint.type) == 1) {
        q(joint.q_index) += uniform(random, -0.3, 0.3);
        v(joint.v_index) = uniform(random, -3, 3);
      }
    if (planar()) {
      q(2) = uniform(random, -0.1, 0.1);
      v.head<3>() << uniform(random, -1.5, 1.5), uniform(random, -1.5, 1.5), uniform(random, -1, 1);
    } else {
      const Vec3 tilt = random_vector(random, 0.1);
      const Quat r(Eigen::AngleAxisd(tilt.norm(), tilt.normalized()));
      q.segment<4>(3) << r.w(), r.x(), r.y(), r.z();
      v.head<6>() << random_vector(random, 1.5), random_vector(random, 1);
    }
    q(height_index()) += uniform(random, -0.03, 0.03) - lowest_foot(q);
    return make_state(model, q, v);
  }

  Model model;
  World world;
  Control control;
  Eigen::VectorXd stance;
  double floor;
};

}  // namespace scree::test
