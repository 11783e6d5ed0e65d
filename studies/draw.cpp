#include "draw.h"

#include <algorithm>
#include <limits>

#include "scree/kinematics.h"

namespace scree {

Scene empty_scene(const Model& model) {
  Scene scene{.file = {},
              .title = {},
              .model = model,
              .import_report = {},
              .options = {},
              .q0 = model.neutral_position(),
              .v0 = Eigen::VectorXd::Zero(model.nv()),
              .control = Control(model),
              .world = {},
              .text = {}};
  scene.options.integrator = IntegratorType::pbd_nmdp2;
  return scene;
}

void add_floor(Scene& scene, double clearance, double friction, double depth, const Vec3& normal) {
  double lowest = std::numeric_limits<double>::infinity();
  const std::vector<Pose> poses = body_poses(scene.model, scene.q0);
  for (const ContactPoint& point : scene.model.contact_points())
    lowest = std::min(lowest, normal.dot(poses[static_cast<size_t>(point.body.value())] * point.p_B) - point.radius);
  scene.world.add(plane_collider((lowest - clearance) * normal, normal));
  scene.world.add(contact_candidates(scene.model, ContactCandidates::named));
  scene.world.surface.friction = friction;
  CoulombOptions law;
  law.depth = depth;
  scene.world.law = make_coulomb(law);
}

void hold_pose(Scene& scene, double kp, double kd) {
  scene.control.target = scene.q0;
  for (const Joint& joint : scene.model.joints()) {
    if (velocity_count(joint.type) != 1) continue;
    scene.control.kp(joint.v_index) = kp;
    scene.control.kd(joint.v_index) = kd;
  }
}

}  // namespace scree
