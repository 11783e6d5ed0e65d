#include "model/tree.h"

#include "math/eigen.h"
#include "math/elimination.h"
#include "model/planar.h"
#include "scree/model.h"

#include <cmath>

namespace scree {
namespace {

JointMotion motion_of(JointType type) {
  switch (type) {
    case JointType::fixed:
      return JointMotion::none;
    case JointType::revolute:
    case JointType::continuous:
      return JointMotion::rotate;
    case JointType::prismatic:
      return JointMotion::translate;
    case JointType::planar:
      return JointMotion::planar;
    case JointType::ball:
      return JointMotion::ball;
    case JointType::floating:
      return JointMotion::floating;
  }
  return JointMotion::none;
}

// Q = (tr Ic / 2) I - Ic + m c c^T                                                              theory (2.2)
SecondMoment<double> second_moment(const Body& body) {
  const Mat3 Q =
      0.5 * body.inertia.trace() * Mat3::Identity() - body.inertia + body.mass * body.com * body.com.transpose();
  return {{Q(0, 0), Q(1, 1), Q(2, 2), Q(0, 1), Q(0, 2), Q(1, 2)}, to_v3(body.mass * body.com), body.mass};
}

// The coordinates that move a body.
std::vector<int> coordinates_of(const Tree& tree, size_t node) {
  std::vector<int> set;
  for (int a = tree.last_dof[node]; a >= 0; a = tree.dof_parent[static_cast<size_t>(a)])
    set.push_back(tree.coordinate[static_cast<size_t>(a)]);
  return set;
}

// What followers add: which dofs of a path share a coordinate, and the order of elimination.
void couple(Tree& tree) {
  // Depth first, with the way from the world and the last dof of every coordinate on it.
  std::vector<int> way, last(static_cast<size_t>(tree.nv), -1);
  const auto last_of = [&](int d) -> int& {
    return last[static_cast<size_t>(tree.coordinate[static_cast<size_t>(d)])];
  };
  for (int d = 0; d < tree.dofs; ++d) {
    const int parent = tree.dof_parent[static_cast<size_t>(d)];
    for (; !way.empty() && way.back() != parent; way.pop_back())
      last_of(way.back()) = tree.twin_above[static_cast<size_t>(way.back())];
    tree.twin_above.push_back(last_of(d));
    last_of(d) = d;
    way.push_back(d);
  }
  std::vector<bool> has_child(tree.nodes.size());
  for (const Node& node : tree.nodes)
    if (node.parent >= 0) has_child[static_cast<size_t>(node.parent)] = true;
  std::vector<std::vector<int>> paths;
  for (size_t i = 0; i < tree.nodes.size(); ++i)
    if (!has_child[i]) paths.push_back(coordinates_of(tree, i));
  tree.parent = elimination_parents(tree.nv, paths);
}

}  // namespace

void planar_directions(const Vec3& normal, Vec3& u1, Vec3& u2) {
  Eigen::Index dominant = 0;
  normal.cwiseAbs().maxCoeff(&dominant);
  const Eigen::Index first = dominant == 0 ? 1 : 0;
  const Eigen::Index second = dominant == 2 ? 1 : 2;
  u1 = Vec3::Unit(first) - normal * normal(first);
  u1.normalize();
  u2 = normal.cross(u1);
  if (u2(second) < 0) u2 = -u2;
}

Tree compile_tree(const std::vector<Body>& bodies, const std::vector<Joint>& joints,
                  const std::vector<Coupling>& couplings) {
  Tree tree;
  for (size_t i = 0; i < joints.size(); ++i) {
    if (couplings[i].master >= 0) continue;
    tree.nq += position_count(joints[i].type);
    tree.nv += velocity_count(joints[i].type);
  }
  tree.armature.assign(static_cast<size_t>(tree.nv), 0);
  tree.friction = tree.armature;
  for (size_t i = 0; i < bodies.size(); ++i) {
    const Body& body = bodies[i];
    const Joint& joint = joints[i];
    Vec3 u1 = Vec3::Zero(), u2 = Vec3::Zero();
    if (joint.type == JointType::planar) planar_directions(joint.axis, u1, u2);
    const int nv = velocity_count(joint.type);
    int last_dof = body.parent.valid() ? tree.last_dof[static_cast<size_t>(body.parent.value())] : -1;
    Aligned aligned = Aligned::none;
    double sign = 1;
    for (int k = 0; k < 3; ++k) {
      if (std::abs(joint.axis(k)) != 1) continue;
      aligned = static_cast<Aligned>(k + 1);
      sign = joint.axis(k);
    }
    const auto& [master, multiplier, offset] = couplings[i];
    tree.nodes.push_back({body.parent.value(), joint.q_index, joint.v_index, tree.dofs, nv, motion_of(joint.type),
                          aligned, joint.X_PJ.R != Mat3::Identity(), sign, to_v3(joint.axis), to_v3(u1), to_v3(u2),
                          to_m3(joint.X_PJ.R), to_v3(joint.X_PJ.p), second_moment(body), master >= 0, multiplier,
                          offset});
    for (int k = 0; k < nv; ++k) {
      tree.dof_parent.push_back(last_dof);
      last_dof = tree.dofs++;
      tree.dof_node.push_back(static_cast<int>(i));
      tree.coordinate.push_back(joint.v_index + k);
      tree.armature[static_cast<size_t>(joint.v_index + k)] += multiplier * multiplier * joint.armature;
      tree.friction[static_cast<size_t>(joint.v_index + k)] += std::abs(multiplier) * joint.friction;
    }
    tree.last_dof.push_back(last_dof);
  }
  if (tree.has_followers())
    couple(tree);
  else
    tree.parent = tree.dof_parent;
  return tree;
}

}  // namespace scree
