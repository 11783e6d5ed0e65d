// Small mechanisms with known motion.
#pragma once

#include <functional>

#include "scree/model.h"
#include "scree/world.h"

namespace scree::test {

inline World weightless() {
  World world;
  world.gravity.setZero();
  return world;
}

// A slender rod of length l hanging from a hinge about y; centre of mass at l/2 below the hinge.
inline ModelBuilder& add_rod(ModelBuilder& builder, const std::string& name, const std::string& parent, double drop,
                             double mass, double l) {
  Body body;
  body.name = name;
  body.mass = mass;
  body.com = Vec3(0, 0, -l / 2);
  const double thin = 1e-4 * mass * l * l;  // a little thickness keeps the inertia definite
  body.inertia = Vec3(mass * l * l / 12 + thin, mass * l * l / 12 + thin, 2 * thin).asDiagonal();
  Joint joint;
  joint.name = name + "_hinge";
  joint.type = JointType::continuous;
  joint.axis = Vec3::UnitY();
  joint.X_PJ.p = Vec3(0, 0, -drop);
  return builder.add_body(body, parent, joint);
}

inline Model pendulum(double mass = 1.3, double l = 0.8) {
  ModelBuilder builder("pendulum");
  add_rod(builder, "rod", "world", 0, mass, l);
  return builder.build();
}

inline Model double_pendulum(double m1, double l1, double m2, double l2) {
  ModelBuilder builder("double_pendulum");
  add_rod(builder, "upper", "world", 0, m1, l1);
  add_rod(builder, "lower", "upper", l1, m2, l2);
  return builder.build();
}

// A hanging chain of equal rods, each hinged to the one before about alternating axes.
inline Model chain(int links, double link_length = 0.1) {
  ModelBuilder builder("chain");
  std::string parent = "world";
  for (int i = 0; i < links; ++i) {
    Body body;
    body.name = "link" + std::to_string(i);
    body.mass = 0.5;
    body.com = Vec3(0, 0, -link_length / 2);
    body.inertia = Vec3(4e-4, 4e-4, 1e-4).asDiagonal();
    Joint joint;
    joint.name = "hinge" + std::to_string(i);
    joint.type = JointType::continuous;
    joint.axis = i % 2 ? Vec3::UnitX() : Vec3::UnitY();
    joint.X_PJ.p = Vec3(0, 0, i == 0 ? 0 : -link_length);
    builder.add_body(body, parent, joint);
    parent = body.name;
  }
  return builder.build();
}

// One free body with the given inertia [kg m^2] in body axes.
inline Model free_body(double mass, const Mat3& inertia, const Vec3& com = Vec3::Zero()) {
  ModelBuilder builder("free_body");
  Body body;
  body.name = "body";
  body.mass = mass;
  body.com = com;
  body.inertia = inertia;
  Joint joint;
  joint.name = "base";
  joint.type = JointType::floating;
  builder.add_body(body, "world", joint);
  return builder.build();
}

// A body on one joint of any type, centred on the joint.
inline Model single_joint(Joint joint, double mass = 2, double inertia = 0.3) {
  ModelBuilder builder("single");
  Body body;
  body.name = "body";
  body.mass = mass;
  body.inertia = inertia * Mat3::Identity();
  joint.name = "joint";
  builder.add_body(body, "world", joint);
  return builder.build();
}

// The bodies and joints of a model, with friction in all joints of one dof.
inline Model with_friction(const Model& model, const std::function<double(const Joint&)>& friction) {
  ModelBuilder builder(model.name());
  for (size_t i = 0; i < model.bodies().size(); ++i) {
    const Body& body = model.bodies()[i];
    Joint joint = model.joints()[i];
    if (velocity_count(joint.type) == 1) joint.friction = friction(joint);
    builder.add_body(body, body.parent == kWorld ? "world" : model.body(body.parent).name, joint);
  }
  return builder.build();
}

}  // namespace scree::test
