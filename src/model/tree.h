// Tree: the model as the recursions see it. One node per body in parent-before-child order, all constants inline. No
// Eigen types: files compiled for one processor (math/pack.h) read it, too.
#pragma once

#include <vector>

#include "math/spatial.h"

namespace scree {

// How a joint moves its body, as a product of one-dof factors; rotation charts are the one exception. theory (1.1)
enum class JointMotion : unsigned char {
  none,       // fixed
  rotate,     // revolute, continuous: R(axis, q)
  translate,  // prismatic: axis q
  planar,     // translate along u1, u2, then rotate about axis
  ball,       // rotation in an exponential chart
  floating,   // translate along x, y, z, then the rotation of a ball joint
};

enum class Aligned : unsigned char { none, x, y, z };  // a joint axis along a coordinate axis, either way

struct Node {
  int parent;   // -1: the world
  int q_index;  // first position; of a follower: its master's
  int v_index;  // first coordinate; likewise
  int dof;      // first joint dof
  int nv;       // joint dofs
  JointMotion motion;
  Aligned aligned;
  bool turned;             // R_PJ is not the identity
  double axis_sign;        // -1 if aligned against the coordinate axis
  V3<double> axis;         // unit, joint frame
  V3<double> u1, u2;       // planar only: the in-plane directions
  M3<double> R_PJ;         // joint frame in the parent
  V3<double> p_PJ;         // [m]
  SecondMoment<double> S;  // about the body origin, body axes     theory (2.1)
  // A follower: one dof, whose position is multiplier * (that of its master) + offset.                    theory (1.10)
  bool follows;
  double multiplier, offset;
};

// Does the joint end in a rotation chart? Its last three dofs are the chart's.
inline bool has_chart(const Node& node) {
  return node.motion == JointMotion::ball || node.motion == JointMotion::floating;
}

// Recursions run over joint dofs, one for each factor of every joint. The entries of v, delta and of matrices are
// coordinates: dofs of followers share those of their masters. Without followers both numberings are one.
struct Tree {
  std::vector<Node> nodes;
  std::vector<int> dof_parent;  // the dof before it on the way to the world, -1 at the root
  std::vector<int> last_dof;    // per node: the last dof on the way from the world to it, -1 if none
  std::vector<int> dof_node;    // the node each dof moves
  std::vector<int> coordinate;  // of each dof
  // By coordinate.
  std::vector<int> parent;  // as factorisations of matrices eliminate them (math/elimination.h); dof_parent without
                            // followers
  std::vector<double> armature;  // of its joint and those that follow: sum of multiplier^2 armature
  std::vector<double> friction;  // dry friction against its rate, likewise: sum of |multiplier| friction
  // By dof: the next one on the way to the world that shares its coordinate, -1 if none. Empty without followers.
  std::vector<int> twin_above;
  int nq = 0, nv = 0, dofs = 0;
  bool has_followers() const { return dofs > nv; }
};

struct Body;
struct Joint;
class Model;
const Tree& tree_of(const Model& model);
// What a joint follows, chains resolved; master < 0: nothing.
struct Coupling {
  int master = -1;
  double multiplier = 1, offset = 0;
};
Tree compile_tree(const std::vector<Body>& bodies, const std::vector<Joint>& joints,
                  const std::vector<Coupling>& couplings);

}  // namespace scree
