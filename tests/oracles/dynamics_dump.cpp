// A mechanism and scree's dynamics at random states, as JSON on stdout, for the oracles to repeat.
//
//   dynamics_dump FILE.urdf --states N --seed S
//   dynamics_dump --random TREES [--no-massless] [--followers] --states N --seed S
//
// One JSON object per line and mechanism. Numbers round-trip exactly.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "model/planar.h"
#include "model/tree.h"
#include "scree/dynamics.h"
#include "scree/urdf.h"
#include "support/followers.h"

namespace scree::test {
namespace {

using Json = nlohmann::json;

// A vector as a list, a matrix as a list of rows.
template <class Derived> Json list(const Eigen::MatrixBase<Derived>& m) {
  Json rows = Json::array();
  for (Eigen::Index i = 0; i < m.rows(); ++i) {
    if constexpr (Derived::ColsAtCompileTime == 1) {
      rows.push_back(m(i));
    } else {
      Json row = Json::array();
      for (Eigen::Index j = 0; j < m.cols(); ++j) row.push_back(m(i, j));
      rows.push_back(row);
    }
  }
  return rows;
}
Json place(const Pose& pose) { return {{"R", list(pose.R)}, {"p", list(pose.p)}}; }

Json describe(const Model& model) {
  Json bodies = Json::array();
  for (size_t i = 0; i < model.bodies().size(); ++i) {
    const Body& body = model.bodies()[i];
    const Joint& joint = model.joints()[i];
    Json entry = {{"name", body.name},
                  {"parent", body.parent.value()},
                  {"mass", body.mass},
                  {"com", list(body.com)},
                  {"inertia", list(body.inertia)},
                  {"joint", joint.name},
                  {"type", joint_type_name(joint.type)},
                  {"axis", list(joint.axis)},
                  {"X_PJ", place(joint.X_PJ)},
                  {"armature", joint.armature},
                  {"q_index", joint.q_index},
                  {"v_index", joint.v_index}};
    if (joint.type == JointType::planar) {
      Vec3 u1, u2;
      planar_directions(joint.axis, u1, u2);
      entry["u1"] = list(u1);
      entry["u2"] = list(u2);
    }
    if (joint.mimic)
      entry["mimic"] = {
          {"joint", joint.mimic->joint}, {"multiplier", joint.mimic->multiplier}, {"offset", joint.mimic->offset}};
    bodies.push_back(entry);
  }
  return {{"name", model.name()}, {"nq", model.nq()}, {"nv", model.nv()}, {"bodies", bodies}};
}

// What depends on the forces: once without external wrenches, once with one on every body.
Json motion(Dynamics& dynamics, const Eigen::VectorXd& v, const Eigen::VectorXd& vdot, const Eigen::VectorXd& tau,
            const Vec3& gravity) {
  Eigen::VectorXd bias(v.size()), force(v.size()), acceleration(v.size());
  dynamics.bias_force(v, gravity, bias);
  dynamics.inverse_dynamics(v, vdot, gravity, force);
  const bool solved = dynamics.forward_dynamics(v, tau, gravity, acceleration);
  const Dynamics::Derivatives& by = dynamics.inverse_dynamics_derivatives(v, vdot, gravity);
  Json result = {{"bias", list(bias)},
                 {"inverse_dynamics", list(force)},
                 {"by_q", list(by.by_q)},
                 {"by_v", list(by.by_v)},
                 {"by_vdot", list(by.by_vdot)}};
  result["forward_dynamics"] = solved ? list(acceleration) : Json();
  return result;
}

Json evaluate(const Model& model, Dynamics& dynamics, Random& random, int index) {
  const Eigen::VectorXd q = random_position(random, model);
  const Eigen::VectorXd v = random_velocity(random, model, 2);
  const Eigen::VectorXd vdot = random_velocity(random, model, 5);
  const Eigen::VectorXd tau = random_velocity(random, model, 10);
  const Vec3 gravity = random_vector(random, 10);
  dynamics.clear_external_wrenches();
  dynamics.set_position(q);

  const int count = static_cast<int>(model.bodies().size());
  Json poses = Json::array();
  for (int i = 0; i < count; ++i) poses.push_back(place(dynamics.body_pose(BodyIndex(i))));
  const Frame frame{"probe", BodyIndex(index % count), {random_rotation(random), random_vector(random)}};
  Eigen::Matrix3Xd point_jacobian(3, model.nv());
  Eigen::Matrix<double, 6, Eigen::Dynamic> frame_jacobian(6, model.nv());
  dynamics.point_jacobian(frame.body, frame.X_BF.p, point_jacobian);
  dynamics.frame_jacobian(frame, frame_jacobian);
  const Dynamics::Momentum momentum = dynamics.momentum(v);

  Json state = {{"q", list(q)},
                {"v", list(v)},
                {"vdot", list(vdot)},
                {"tau", list(tau)},
                {"gravity", list(gravity)},
                {"poses", poses},
                {"mass_matrix", list(dynamics.mass_matrix())},
                {"probe", {{"body", frame.body.value()}, {"X_BF", place(frame.X_BF)}}},
                {"point_jacobian", list(point_jacobian)},
                {"frame_jacobian", list(frame_jacobian)},
                {"momentum", {{"linear", list(momentum.linear)}, {"angular", list(momentum.angular)}}},
                {"kinetic_energy", dynamics.kinetic_energy(v)},
                {"gravity_energy", dynamics.gravity_energy(gravity)},
                {"center_of_mass", list(dynamics.center_of_mass())},
                {"free", motion(dynamics, v, vdot, tau, gravity)}};
  Json wrenches = Json::array();
  for (int i = 0; i < count; ++i) {
    const Vec3 moment = random_vector(random, 5), force = random_vector(random, 20);
    dynamics.set_external_wrench(BodyIndex(i), moment, force);
    wrenches.push_back({{"moment", list(moment)}, {"force", list(force)}});
  }
  state["wrenches"] = wrenches;
  state["pushed"] = motion(dynamics, v, vdot, tau, gravity);
  return state;
}

void dump(const Model& model, Random& random, int states) {
  Dynamics dynamics(model);
  Json list_of_states = Json::array();
  for (int k = 0; k < states; ++k) list_of_states.push_back(evaluate(model, dynamics, random, k));
  std::cout << Json{{"model", describe(model)}, {"states", list_of_states}} << '\n';
}

int run(const std::vector<std::string>& arguments) {
  std::string file;
  int trees = 0, states = 1;
  unsigned long seed = 0;
  bool massless = true, followers = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const auto number = [&] { return std::stoi(arguments.at(++i)); };
    if (word == "--states") {
      states = number();
    } else if (word == "--seed") {
      seed = static_cast<unsigned long>(number());
    } else if (word == "--random") {
      trees = number();
    } else if (word == "--no-massless") {
      massless = false;
    } else if (word == "--followers") {
      followers = true;
    } else {
      file = word;
    }
  }
  Random random(seed);
  if (!file.empty()) dump(load_urdf(file), random, states);
  while (trees > 0) {
    const Model model = followers ? random_followers(random, massless).model : random_tree(random, 0, massless).model;
    if (model.nv() == 0) continue;  // fixed joints only: nothing moves
    dump(model, random, states);
    --trees;
  }
  return 0;
}

}  // namespace
}  // namespace scree::test

int main(int argc, char** argv) {
  try {
    return scree::test::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dynamics_dump: %s\n", error.what());
    return 2;
  }
}
