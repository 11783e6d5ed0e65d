// Build a leg in C++, without a model file: a hip that slides up and down a rail, a thigh and a shank with motors. Drop
// it on a plane, hold its pose with PD control and print where it comes to rest and what the foot bears.
#include <cstdio>

#include "scree/scree.h"

namespace {

scree::Body rod(const char* name, double mass, double length) {  // hangs from its joint along -z
  scree::Body body;
  body.name = name;
  body.mass = mass;
  body.com = scree::Vec3(0, 0, -length / 2);
  body.inertia = scree::Vec3(mass * length * length / 12, mass * length * length / 12, 1e-3 * mass).asDiagonal();
  return body;
}

scree::Joint hinge(const char* name, double z) {  // about y, at height z of the parent
  scree::Joint joint;
  joint.name = name;
  joint.type = scree::JointType::revolute;
  joint.X_PJ.p = scree::Vec3(0, 0, z);
  joint.axis = scree::Vec3::UnitY();
  return joint;
}

scree::Model leg() {
  scree::Body hip;
  hip.name = "hip";
  hip.mass = 2;                                  // [kg]
  hip.inertia = 0.01 * scree::Mat3::Identity();  // [kg m^2]
  scree::Joint rail;
  rail.name = "rail";
  rail.type = scree::JointType::prismatic;
  rail.axis = scree::Vec3::UnitZ();
  scree::ContactPoint foot;
  foot.name = "foot";
  foot.p_B = scree::Vec3(0, 0, -0.4);
  foot.radius = 0.02;  // [m]
  return scree::ModelBuilder("leg")
      .add_body(hip, "world", rail)
      .add_body(rod("thigh", 1, 0.4), "hip", hinge("hip_pitch", 0))
      .add_body(rod("shank", 1, 0.4), "thigh", hinge("knee", -0.4))
      .add_contact_point("shank", foot)
      .build();
}

}  // namespace

int main() {
  scree::Model model = leg();
  scree::World world;
  world.add(scree::plane_collider(scree::Vec3::Zero(), scree::Vec3::UnitZ()));
  world.add(scree::contact_candidates(model, scree::ContactCandidates::automatic));
  scree::Simulation simulation(std::move(model), std::move(world));  // pbd-nmdp2, steps of 10 ms

  Eigen::VectorXd q = simulation.model().neutral_position();
  const auto at = [&](const char* joint) { return simulation.model().joint(simulation.model().find_joint(joint)); };
  q(at("rail").q_index) = 0.9;  // [m]
  q(at("hip_pitch").q_index) = 0.6;
  q(at("knee").q_index) = -1.2;
  simulation.set_state(q, Eigen::VectorXd::Zero(simulation.model().nv()));
  simulation.control().target = q;
  for (const char* motor : {"hip_pitch", "knee"}) {
    simulation.control().kp(at(motor).v_index) = 400;  // [N m/rad]
    simulation.control().kd(at(motor).v_index) = 20;   // [N m s/rad]
  }
  for (int k = 0; k < 300; ++k) {
    if (!simulation.step().converged()) return std::fprintf(stderr, "step %d failed\n", k), 1;
    if (k % 50 == 49) {
      const double speed = simulation.frame_velocity("hip").linear.z();
      std::printf("t = %.1f s: hip at %.3f m, %+.3f m/s\n", simulation.state().time, simulation.frame_pose("hip").p.z(),
                  speed);
    }
  }
  std::printf("rests at %.3f m, the foot bears %.1f N of %.1f N\n", simulation.frame_pose("hip").p.z(),
              simulation.contact_force("shank").force.z(), 9.81 * simulation.model().total_mass());
}
