#include "dynamics/kinematics.h"

#include "math/eigen.h"
#include "scree/kinematics.h"

namespace scree {

V3<double> root_position(const Tree& tree, const double* q) {
  if (tree.nodes.empty()) return {0, 0, 0};
  const Node& root = tree.nodes.front();
  const double* qi = q + root.q_index;
  V3<double> offset = {0, 0, 0};
  if (root.motion == JointMotion::translate)
    offset = (root.follows ? root.multiplier * qi[0] + root.offset : qi[0]) * root.axis;
  if (root.motion == JointMotion::planar) offset = qi[0] * root.u1 + qi[1] * root.u2;
  if (root.motion == JointMotion::floating) offset = {qi[0], qi[1], qi[2]};
  return root.p_PJ + root.R_PJ * offset;
}

void apply_displacement(const Tree& tree, const double* delta, double* q) {
  for (const Node& node : tree.nodes) {
    if (node.follows) continue;
    double* qi = q + node.q_index;
    const double* di = delta + node.v_index;
    const bool chart = has_chart(node);
    const int translations = chart ? node.nv - 3 : node.nv;
    for (int k = 0; k < translations; ++k) qi[k] += di[k];
    if (chart) {
      qi += translations;
      di += translations;
      store_quaternion(normalized(load_quaternion(qi) * quaternion_exp({di[0], di[1], di[2]})), qi);
    }
  }
}

namespace {

// Poses at q in true world coordinates.
Kinematics<double> kinematics_at(const Model& model, const Eigen::VectorXd& q) {
  const Tree& tree = tree_of(model);
  Kinematics<double> kinematics(tree);
  const std::vector<double> zero(static_cast<size_t>(tree.nv));
  forward_kinematics(tree, q.data(), zero.data(), kinematics);
  return kinematics;
}

}  // namespace

std::vector<Pose> body_poses(const Model& model, const Eigen::VectorXd& q) {
  const Kinematics<double> kinematics = kinematics_at(model, q);
  std::vector<Pose> poses;
  for (size_t i = 0; i < model.bodies().size(); ++i)
    poses.push_back({to_eigen(kinematics.R[i]), to_eigen(kinematics.p[i])});
  return poses;
}

Pose frame_pose(const Model& model, const Eigen::VectorXd& q, const Frame& frame) {
  if (!frame.body.valid()) return frame.X_BF;
  return body_poses(model, q)[static_cast<size_t>(frame.body.value())] * frame.X_BF;
}

Eigen::VectorXd integrate_position(const Model& model, const Eigen::VectorXd& q, const Eigen::VectorXd& v, double h) {
  Eigen::VectorXd result = q;
  const Eigen::VectorXd delta = h * v;
  apply_displacement(tree_of(model), delta.data(), result.data());
  return result;
}

Eigen::VectorXd position_difference(const Model& model, const Eigen::VectorXd& q0, const Eigen::VectorXd& q1) {
  Eigen::VectorXd v(model.nv());
  for (const Node& node : tree_of(model).nodes) {
    if (node.follows) continue;
    const bool chart = has_chart(node);
    const int translations = chart ? node.nv - 3 : node.nv;
    for (int k = 0; k < translations; ++k) v(node.v_index + k) = q1(node.q_index + k) - q0(node.q_index + k);
    if (chart) {
      const int at = node.q_index + translations;
      const V3<double> w = quaternion_log(conjugate(load_quaternion(q0.data() + at)) * load_quaternion(q1.data() + at));
      v.segment<3>(node.v_index + translations) = to_eigen(w);
    }
  }
  return v;
}

}  // namespace scree
