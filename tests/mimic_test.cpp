// Joints that follow others: every equation against G^T (...) G of the same model with free joints, closed forms, and
// motions that all integrators agree on.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <cmath>
#include <optional>

#include "contact/contact_set.h"
#include "control/joint_forces.h"
#include "dynamics/discretisation.h"
#include "integrators/lanes.h"
#include "integrators/smooth_stage_contact.h"
#include "integrators/smooth_stage_joints.h"
#include "integrators/smooth_stage_matrices.h"
#include "integrators/traits.h"
#include "math/eigen.h"
#include "math/elimination.h"
#include "model/coordinate_names.h"
#include "scree/batch.h"
#include "scree/derivatives.h"
#include "scree/dynamics.h"
#include "scree/error.h"
#include "scree/motion.h"
#include "scree/simulation.h"
#include "scree/urdf.h"
#include "solvers/tree_cholesky.h"
#include "solvers/tree_lu.h"
#include "support/followers.h"

namespace scree {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::Followers;
using test::Random;

// Entries of size one, a few dozen roundings and the condition of what was drawn.
constexpr double kRounding = 1e-12;

double off(const MatrixXd& a, const MatrixXd& b) {
  return a.size() == 0 ? 0 : (a - b).cwiseAbs().maxCoeff() / std::max(1.0, b.cwiseAbs().maxCoeff());
}

// --- the model -------------------------------------------------------------------------------------------------------

TEST(Mimic, FollowersHaveNoCoordinateOfTheirOwn) {
  Random random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const Followers both = test::random_followers(random);
    int nq = 0, nv = 0;
    for (const Joint& joint : both.model.joints()) {
      if (joint.mimic) continue;
      EXPECT_EQ(joint.q_index, nq);
      EXPECT_EQ(joint.v_index, nv);
      nq += position_count(joint.type);
      nv += velocity_count(joint.type);
    }
    EXPECT_EQ(both.model.nq(), nq);
    EXPECT_EQ(both.model.nv(), nv);
    EXPECT_EQ(position_names(both.model).size(), static_cast<size_t>(nq));
    EXPECT_EQ(velocity_names(both.model).size(), static_cast<size_t>(nv));
    EXPECT_EQ(position_units(both.model).size(), static_cast<size_t>(nq));
    EXPECT_EQ(velocity_units(both.model).size(), static_cast<size_t>(nv));
  }
}

TEST(Mimic, PositionsFollowExactly) {
  Random random(2);
  for (int trial = 0; trial < 200; ++trial) {
    const Followers both = test::random_followers(random);
    const VectorXd q = test::random_position(random, both.model), v = test::random_velocity(random, both.model);
    const VectorXd moved = integrate_position(both.model, q, v, 0.3);
    for (const VectorXd& at : {q, moved}) {
      const std::vector<Pose> own = body_poses(both.model, at), free = body_poses(both.free, both.free_position(at));
      for (size_t i = 0; i < own.size(); ++i) {
        EXPECT_LE((own[i].R - free[i].R).norm(), kRounding);
        EXPECT_LE((own[i].p - free[i].p).norm(), kRounding);
      }
    }
    EXPECT_LE(off(position_difference(both.model, q, moved), 0.3 * v), kRounding);
  }
}

// --- dynamics --------------------------------------------------------------------------------------------------------

TEST(Mimic, DynamicsAreThoseOfFreeJointsThroughG) {
  Random random(3);
  for (int trial = 0; trial < 300; ++trial) {
    const Followers both = test::random_followers(random);
    const Index n = both.model.nv();
    const MatrixXd& G = both.G;
    const VectorXd q = test::random_position(random, both.model), v = test::random_velocity(random, both.model),
                   a = test::random_velocity(random, both.model), tau = test::random_velocity(random, both.model, 5);
    const Vec3 gravity = test::random_vector(random, 10);
    Dynamics own(both.model), free(both.free);
    own.set_position(q);
    free.set_position(both.free_position(q));
    const int count = static_cast<int>(both.model.bodies().size());
    for (int i = 0; i < count; ++i) {
      const Vec3 moment = test::random_vector(random, 2), force = test::random_vector(random, 5);
      own.set_external_wrench(BodyIndex(i), moment, force);
      free.set_external_wrench(BodyIndex(i), moment, force);
    }
    const VectorXd v_free = G * v, a_free = G * a;
    const MatrixXd M = G.transpose() * free.mass_matrix() * G;
    EXPECT_LE(off(own.mass_matrix(), M), kRounding) << trial;
    VectorXd f(n), f_free(both.free.nv());
    own.inverse_dynamics(v, a, gravity, f);
    free.inverse_dynamics(v_free, a_free, gravity, f_free);
    EXPECT_LE(off(f, G.transpose() * f_free), kRounding) << trial;
    own.bias_force(v, gravity, f);
    free.bias_force(v_free, gravity, f_free);
    EXPECT_LE(off(f, G.transpose() * f_free), kRounding) << trial;
    VectorXd vdot(n);
    ASSERT_TRUE(own.forward_dynamics(v, tau, gravity, vdot)) << trial;
    const Eigen::LDLT<MatrixXd> dense(M);
    EXPECT_LE(off(vdot, dense.solve(tau - G.transpose() * f_free)), 1e-14 / dense.rcond()) << trial;
    const auto by = own.inverse_dynamics_derivatives(v, a, gravity);
    const auto by_free = free.inverse_dynamics_derivatives(v_free, a_free, gravity);
    EXPECT_LE(off(by.by_q, G.transpose() * by_free.by_q * G), kRounding) << trial;
    EXPECT_LE(off(by.by_v, G.transpose() * by_free.by_v * G), kRounding) << trial;
    EXPECT_LE(off(by.by_vdot, M), kRounding) << trial;
    EXPECT_NEAR(own.kinetic_energy(v), free.kinetic_energy(v_free), kRounding * (1 + free.kinetic_energy(v_free)));
    EXPECT_LE((own.momentum(v).linear - free.momentum(v_free).linear).norm(), 1e-11);
    EXPECT_LE((own.momentum(v).angular - free.momentum(v_free).angular).norm(), 1e-11);
    const BodyIndex body(trial % count);
    const Vec3 p = test::random_vector(random);
    Eigen::Matrix3Xd J(3, n), J_free(3, both.free.nv());
    own.point_jacobian(body, p, J);
    free.point_jacobian(body, p, J_free);
    EXPECT_LE(off(J, J_free * G), kRounding) << trial;
    Eigen::Matrix<double, 6, Eigen::Dynamic> F(6, n), F_free(6, both.free.nv());
    const Frame frame{"", body, {test::random_rotation(random), p}};
    own.frame_jacobian(frame, F);
    free.frame_jacobian(frame, F_free);
    EXPECT_LE(off(F, F_free * G), kRounding) << trial;
  }
}

// --- stages ----------------------------------------------------------------------------------------------------------

template <class Stage> void expect_reduced_stage(Random& random, bool first) {
  const Followers both = test::random_followers(random);
  const Index n = both.model.nv(), all = both.free.nv();
  const MatrixXd& G = both.G;
  const VectorXd q = test::random_position(random, both.model), v = test::random_velocity(random, both.model),
                 delta = test::random_velocity(random, both.model, 0.2);
  const State state = make_state(both.model, q, v), state_free = make_state(both.free, both.free_position(q), G * v);
  Stage own(both.model), free(both.free);
  const Vec3 gravity = test::random_vector(random, 10);
  const double h = 0.1;
  const VectorXd delta_free = G * delta;
  if (first) {
    own.begin_first(state, h, gravity);
    free.begin_first(state_free, h, gravity);
  } else {
    own.begin(state, h, gravity);
    free.begin(state_free, h, gravity);
  }
  own.set_trial(delta.data());
  free.set_trial(delta_free.data());
  VectorXd r(n), r_free(all);
  own.residual(r.data());
  free.residual(r_free.data());
  EXPECT_LE(off(r, G.transpose() * r_free), kRounding);
  MatrixXd J = MatrixXd::Zero(n, n), J_free = MatrixXd::Zero(all, all), K = J, K_free = J_free;
  own.jacobian(J.data());
  free.jacobian(J_free.data());
  EXPECT_LE(off(J, G.transpose() * J_free * G), kRounding);
  EXPECT_NEAR(own.kinetic_energy(), free.kinetic_energy(), kRounding * (1 + free.kinetic_energy()));
  own.kinetic_gradient(r.data());
  free.kinetic_gradient(r_free.data());
  EXPECT_LE(off(r, G.transpose() * r_free), kRounding);
  own.kinetic_hessian(J.data(), K.data());
  free.kinetic_hessian(J_free.data(), K_free.data());
  const auto full = [](const MatrixXd& upper) { return MatrixXd(upper.selfadjointView<Eigen::Upper>()); };
  EXPECT_LE(off(full(J), G.transpose() * full(J_free) * G), kRounding);
  EXPECT_LE(off(full(K), G.transpose() * full(K_free) * G), kRounding);
  // Velocities of points and their derivatives.
  const int node = static_cast<int>(both.model.bodies().size()) - 1;
  const V3<double> x = {0.3, -0.2, 0.4};
  EXPECT_LE((to_eigen(own.point_velocity(node, x)) - to_eigen(free.point_velocity(node, x))).norm(), kRounding);
  MatrixXd U = MatrixXd::Zero(3, n), U_free = MatrixXd::Zero(3, all);
  const auto fill = [&](Discretisation& stage, const Model& model, MatrixXd& to) {
    for_coordinates(tree_of(model), stage.trial(), static_cast<size_t>(node), [&](size_t c, const Twist<double>& xi) {
      to.col(static_cast<Index>(c)) =
          to_eigen(stage.point_velocity_change(static_cast<int>(c), xi, node, x, xi.v + cross(xi.w, x)));
    });
  };
  fill(own, both.model, U);
  fill(free, both.free, U_free);
  EXPECT_LE(off(U, U_free * G), kRounding);
  // The division by the mass matrix, and the second stage by differences: its start is a projection of its own.
  VectorXd x_mass = test::random_velocity(random, both.model);
  const VectorXd b = x_mass;
  ASSERT_TRUE(own.divide_by_mass(x_mass.data()));
  Dynamics dynamics(both.model);
  dynamics.set_position(integrate_position(both.model, q, delta, 1));
  bool charts = false;  // the dofs of charts are those of delta, not of v
  for (const Joint& joint : both.model.joints())
    charts |= joint.type == JointType::ball || joint.type == JointType::floating;
  if (!charts) {
    EXPECT_LE(off(dynamics.mass_matrix() * x_mass, b), 1e-11);
  }
  if (!first) return;
  const VectorXd unwanted = test::random_velocity(random, both.model);
  if (!own.begin_second(unwanted.data())) return;
  own.set_trial(delta.data());
  J.setZero();
  own.jacobian(J.data());
  constexpr double kStep = 1e-6;
  for (Index a = 0; a < n; ++a) {
    VectorXd up(n), down(n), at = delta;
    at(a) += kStep;
    own.set_trial(at.data());
    own.residual(up.data());
    at(a) -= 2 * kStep;
    own.set_trial(at.data());
    own.residual(down.data());
    // Truncation 1e-12 of third derivatives, rounding 1e-16/1e-6 of forces ~ 1/h^2.
    EXPECT_LE(off((up - down) / (2 * kStep), J.col(a)), 1e-6) << a;
  }
}

TEST(Mimic, StagesAreThoseOfFreeJointsThroughG) {
  Random random(4);
  for (int trial = 0; trial < 100; ++trial) {
    expect_reduced_stage<PositionBasedStage>(random, trial % 2);
    expect_reduced_stage<NewtonEulerStage>(random, trial % 2);
    if (HasFailure()) FAIL() << "trial " << trial;
  }
}

TEST(Mimic, JointForcesActAtTheFollowersOwnPosition) {
  Random random(5);
  for (int trial = 0; trial < 200; ++trial) {
    Followers drawn = test::random_followers(random);
    std::vector<Joint> joints = drawn.model.joints(), free_joints = drawn.free.joints();
    for (size_t i = 0; i < joints.size(); ++i) {
      if (!test::is_single(joints[i])) continue;
      joints[i].damping = test::uniform(random, 0, 1);
      joints[i].type = joints[i].type == JointType::prismatic ? JointType::prismatic : JointType::revolute;
      joints[i].limits = {test::uniform(random, -0.5, 0), test::uniform(random, 0, 0.5), 100, 0.2};
      free_joints[i] = joints[i];
      free_joints[i].mimic.reset();
    }
    ModelBuilder builder("free");
    for (size_t i = 0; i < joints.size(); ++i) {
      const BodyIndex parent = drawn.free.bodies()[i].parent;
      builder.add_body(drawn.free.bodies()[i], parent.valid() ? drawn.free.body(parent).name : "world", free_joints[i]);
    }
    const Followers both(builder.build(), joints);
    const MatrixXd& G = both.G;
    const Index n = both.model.nv(), all = both.free.nv();
    Control control(both.model), control_free(both.free);
    for (size_t i = 0; i < joints.size(); ++i) {
      const Joint &own = both.model.joints()[i], &free = both.free.joints()[i];
      if (own.mimic || !test::is_single(own)) continue;
      control_free.kp(free.v_index) = control.kp(own.v_index) = test::uniform(random, 0, 30);
      control_free.kd(free.v_index) = control.kd(own.v_index) = test::uniform(random, 0, 3);
      control_free.target(free.q_index) = control.target(own.q_index) = test::uniform(random, -1, 1);
      control_free.torque(free.v_index) = control.torque(own.v_index) = test::uniform(random, -1, 1);
    }
    const VectorXd q = test::random_position(random, both.model), v = test::random_velocity(random, both.model),
                   rest = test::random_velocity(random, both.model, 0.05),
                   delta = test::random_velocity(random, both.model, 0.2);
    const VectorXd q_free = both.free_position(q), v_free = G * v, rest_free = G * rest, delta_free = G * delta;
    const JointForces own(both.model), free(both.free);
    double value = 0, value_free = 0;
    VectorXd g = VectorXd::Zero(n), g_free = VectorXd::Zero(all);
    MatrixXd H = MatrixXd::Zero(n, n), H_free = MatrixXd::Zero(all, all);
    own.add_implicit(control, {q.data(), rest.data(), v.data(), 0.1}, delta.data(), value, g.data(), H.data());
    free.add_implicit(control_free, {q_free.data(), rest_free.data(), v_free.data(), 0.1}, delta_free.data(),
                      value_free, g_free.data(), H_free.data());
    EXPECT_NEAR(value, value_free, kRounding * (1 + std::abs(value_free)));
    EXPECT_LE(off(g, G.transpose() * g_free), kRounding);
    const auto full = [](const MatrixXd& upper) { return MatrixXd(upper.selfadjointView<Eigen::Upper>()); };
    EXPECT_LE(off(full(H), G.transpose() * full(H_free) * G), kRounding);
    own.explicit_force(control, q.data(), v.data(), g.data());
    free.explicit_force(control_free, q_free.data(), v_free.data(), g_free.data());
    EXPECT_LE(off(g, G.transpose() * g_free), kRounding);
    EXPECT_NEAR(own.stop_energy(q.data()), free.stop_energy(q_free.data()), 1e-11);
    EXPECT_NEAR(own.stop_power(q.data(), v.data()), free.stop_power(q_free.data(), v_free.data()), 1e-11);
  }
}

// --- elimination -----------------------------------------------------------------------------------------------------

// Structure of the factors by elimination itself, entry by entry.
std::vector<std::vector<bool>> filled(int n, const std::vector<std::vector<int>>& sets) {
  std::vector<std::vector<bool>> has(static_cast<size_t>(n), std::vector<bool>(static_cast<size_t>(n)));
  for (const std::vector<int>& set : sets)
    for (const int a : set)
      for (const int b : set) has[static_cast<size_t>(a)][static_cast<size_t>(b)] = true;
  for (size_t k = static_cast<size_t>(n); k-- > 0;)
    for (size_t i = 0; i < k; ++i)
      for (size_t j = 0; j < k; ++j)
        if (has[k][i] && has[k][j]) has[i][j] = true;
  return has;
}

TEST(Elimination, ParentsAreThoseOfTheFilledStructure) {
  Random random(6);
  for (int trial = 0; trial < 300; ++trial) {
    const int n = std::uniform_int_distribution<int>(1, 30)(random);
    std::vector<std::vector<int>> sets(std::uniform_int_distribution<size_t>(0, 12)(random));
    for (std::vector<int>& set : sets)
      for (int k = std::uniform_int_distribution<int>(0, 5)(random); k-- > 0;)
        set.push_back(std::uniform_int_distribution<int>(0, n - 1)(random));
    const std::vector<int> parent = elimination_parents(n, sets);
    const auto has = filled(n, sets);
    for (int i = 0; i < n; ++i) {
      int expected = -1;
      for (int j = 0; j < i; ++j)
        if (has[static_cast<size_t>(i)][static_cast<size_t>(j)]) expected = j;
      EXPECT_EQ(parent[static_cast<size_t>(i)], expected) << trial << ", " << i;
    }
  }
}

TEST(Elimination, FactorisationsSolveWhatDenseOnesSolve) {
  Random random(7);
  for (int trial = 0; trial < 300; ++trial) {
    const int n = std::uniform_int_distribution<int>(1, 30)(random);
    std::vector<std::vector<int>> sets(std::uniform_int_distribution<size_t>(0, 12)(random));
    MatrixXd A = MatrixXd::Identity(n, n), S = A;
    for (std::vector<int>& set : sets) {
      for (int k = std::uniform_int_distribution<int>(1, 5)(random); k-- > 0;)
        set.push_back(std::uniform_int_distribution<int>(0, n - 1)(random));
      VectorXd x = VectorXd::Zero(n), y = x;
      for (const int i : set) {
        x(i) = test::uniform(random, -1, 1);
        y(i) = x(i) + test::uniform(random, -0.3, 0.3);
      }
      S += x * x.transpose();
      A += x * y.transpose();
    }
    const std::vector<int> parent = elimination_parents(n, sets);
    const VectorXd b = VectorXd::LinSpaced(n, -1, 2);
    TreeCholesky cholesky(parent);
    ASSERT_TRUE(cholesky.factor(S.data()));
    VectorXd x = b;
    cholesky.solve(x.data());
    EXPECT_LE((S * x - b).norm(), 1e-12 * S.norm() * (1 + x.norm()));
    TreeLu lu(parent);
    if (!lu.factor(A.data())) continue;
    x = b;
    lu.solve(x.data());
    EXPECT_LE((A * x - b).norm(), 1e-10 * A.norm() * (1 + x.norm()));
    ASSERT_TRUE(lu.factor_symmetric(S.data()));
    x = b;
    lu.solve(x.data());
    EXPECT_LE((S * x - b).norm(), 1e-12 * S.norm() * (1 + x.norm()));
  }
}

TEST(Elimination, OfModelsWithoutFollowersIsTheKinematicTree) {
  Random random(8);
  for (int trial = 0; trial < 100; ++trial) {
    const Model model = test::random_tree(random).model;
    const Tree& tree = tree_of(model);
    std::vector<std::vector<int>> paths;
    for (const int last : tree.last_dof) {
      paths.emplace_back();
      for (int a = last; a >= 0; a = tree.dof_parent[static_cast<size_t>(a)]) paths.back().push_back(a);
    }
    EXPECT_EQ(elimination_parents(tree.nv, paths), tree.dof_parent);
    EXPECT_EQ(tree.parent, tree.dof_parent);
    EXPECT_EQ(tree.dofs, tree.nv);
  }
}

// --- contact ---------------------------------------------------------------------------------------------------------

// A leg whose knee follows its hip on the same path and an arm that follows it on another, on a floating trunk with
// feet: the smallest robot in which all kinds of coupling meet the ground.
Followers walker() {
  ModelBuilder builder("walker");
  const auto add = [&](const std::string& name, const std::string& parent, JointType type, const Vec3& axis,
                       const Vec3& place, double mass, double length) {
    Body body;
    body.name = name;
    body.mass = mass;
    body.com = Vec3(0, 0, -length / 2);
    body.inertia = mass * Vec3(0.02 + length * length / 12, 0.02 + length * length / 12, 0.01).asDiagonal();
    Joint joint;
    joint.name = name + "_joint";
    joint.type = type;
    joint.axis = axis;
    joint.X_PJ.p = place;
    builder.add_body(body, parent, joint);
  };
  const Vec3 y = Vec3::UnitY();
  add("trunk", "world", JointType::floating, y, {0, 0, 0}, 4, 0);
  for (const double side : {-1.0, 1.0})
    for (const double end : {-1.0, 1.0}) {
      const std::string leg = std::string(side < 0 ? "right" : "left") + (end < 0 ? "_hind" : "_fore");
      add(leg + "_thigh", "trunk", JointType::revolute, y, {0.2 * end, 0.15 * side, 0}, 0.5, 0.2);
      add(leg + "_shank", leg + "_thigh", JointType::revolute, y, {0, 0, -0.2}, 0.3, 0.2);
      ContactPoint foot;
      foot.name = leg + "_foot";
      foot.p_B = Vec3(0, 0, -0.2);
      foot.radius = 0.02;
      builder.add_contact_point(leg + "_shank", foot);
    }
  add("mast", "trunk", JointType::prismatic, Vec3::UnitZ(), {0, 0, 0.1}, 0.2, 0.1);
  Model free = builder.build();
  std::vector<Joint> joints = free.joints();
  for (Joint& joint : joints) {
    const std::string leg = joint.name.substr(0, joint.name.rfind('_', joint.name.rfind('_') - 1));
    if (joint.name.ends_with("_shank_joint")) joint.mimic = Mimic{leg + "_thigh_joint", -2, 0};
    if (joint.name == "left_fore_thigh_joint") joint.mimic = Mimic{"right_hind_thigh_joint", 1, 0};
    if (joint.name == "right_fore_thigh_joint") joint.mimic = Mimic{"left_hind_thigh_joint", -0.9, 0.1};
    if (joint.name == "mast_joint") joint.mimic = Mimic{"left_fore_shank_joint", 0.1, 0.02};
    if (joint.type != JointType::floating) joint.damping = 0.05, joint.armature = 0.01;
  }
  std::vector<Joint> free_joints = joints;
  for (Joint& joint : free_joints) joint.mimic.reset();
  return {Followers(free, free_joints).model, joints};
}

struct OnFloor {
  OnFloor() : both(walker()), control(both.model) {
    world.add(contact_candidates(both.model, ContactCandidates::named));
    q = both.model.neutral_position();
    for (const Joint& joint : both.model.joints()) {
      if (joint.mimic || joint.type == JointType::floating) continue;
      q(joint.q_index) = 0.5;
      control.kp(joint.v_index) = 80;
      control.kd(joint.v_index) = 2;
    }
    control.target = q;
    q(2) -= lowest_point(both.model, world.colliders, q);
    world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
    world.surface.friction = 0.7;
  }
  Followers both;
  World world;
  Control control;
  VectorXd q;
};

TEST(Mimic, ContactsAreThoseOfFreeJointsThroughG) {
  Random random(9);
  OnFloor on;
  CoulombOptions law;
  law.depth = 0.01;
  on.world.law = make_coulomb(law);
  const Followers& both = on.both;
  for (int trial = 0; trial < 20; ++trial) {
    VectorXd q = integrate_position(both.model, on.q, test::random_velocity(random, both.model, 0.1), 1);
    q(2) -= 0.05;
    const VectorXd v = test::random_velocity(random, both.model);
    const VectorXd delta = test::random_velocity(random, both.model, 0.02), delta_free = both.G * delta;
    NewtonEulerStage own(both.model), free(both.free);
    const State state = make_state(both.model, q, v),
                state_free = make_state(both.free, both.free_position(q), both.G * v);
    own.begin(state, 0.02, on.world.gravity);
    free.begin(state_free, 0.02, on.world.gravity);
    own.set_trial(delta.data());
    free.set_trial(delta_free.data());
    ContactSet set(both.model, on.world), set_free(both.free, on.world);
    set.select(own.trial(), 1, true);
    set_free.select(free.trial(), 1, true);
    set.evaluate(own.trial());
    set_free.evaluate(free.trial());
    set.count_touching();
    set_free.count_touching();
    ASSERT_EQ(set.size(), 4);
    const Index n = both.model.nv(), all = both.free.nv(), W = set.weight_count();
    VectorXd w(W);
    for (double& x : w) x = test::uniform(random, 0, 1.0 / set.vertex_count());
    const double scale = 1e3;  // [N]
    VectorXd r = VectorXd::Zero(n), r_free = VectorXd::Zero(all);
    set.add_forces(own.trial(), w, r.data());
    set_free.add_forces(free.trial(), w, r_free.data());
    EXPECT_LE(off(r, both.G.transpose() * r_free), kRounding);
    MatrixXd J = MatrixXd::Zero(n, n), J_free = MatrixXd::Zero(all, all);
    set.add_jacobian(own.trial(), w, J.data());
    set_free.add_jacobian(free.trial(), w, J_free.data());
    EXPECT_LE(off(J, both.G.transpose() * J_free * both.G), kRounding);
    MatrixXd B(n, W), B_free(all, W), U(3 * set.size(), n), U_free(3 * set.size(), all);
    set.force_columns(own.trial(), B);
    set_free.force_columns(free.trial(), B_free);
    EXPECT_LE(off(B, both.G.transpose() * B_free), kRounding * scale);
    set.velocity_rows(own, U);
    set_free.velocity_rows(free, U_free);
    EXPECT_LE(off(U, U_free * both.G), kRounding);
    set.point_jacobian(own.trial(), U);
    set_free.point_jacobian(free.trial(), U_free);
    EXPECT_LE(off(U, U_free * both.G), kRounding);
    set.find_active();
    set_free.find_active();
    const Index columns = set.dimension() * std::ssize(set.active());
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows(n, columns), rows_free(all, columns);
    set.force_rows(own.trial(), rows.data());
    set_free.force_rows(free.trial(), rows_free.data());
    EXPECT_LE(off(rows, both.G.transpose() * rows_free), kRounding);
  }
}

// The Jacobian of the smooth stage by differences of its residual: rows and columns scattered to coordinates.
TEST(Mimic, JacobianOfSmoothContactIsThatOfItsResidual) {
  struct Host final : ModelLaneHost {
    using ModelLaneHost::ModelLaneHost;
    bool next(LaneStart&) override { return false; }
    double step_length(int, double&) override { return 0; }
    void targets(int, double, double*, double*) override {}
    void stepped(int, const LaneReport&, const double*, const double*, const double*) override {}
  };
  Random random(10);
  const OnFloor on;
  const Model& model = on.both.model;
  for (const IntegratorType integrator : {IntegratorType::pbfd_coulomb, IntegratorType::pbfd_coulomb2}) {
    LaneSetup setup = make_lane_setup(model, on.world);
    StepOptions options;
    options.integrator = integrator;
    update_setup(options, on.world, setup);
    Host host(model, on.world, 1);
    SmoothStage<double> stage(setup);
    for (int trial = 0; trial < 10; ++trial) {
      VectorXd q = integrate_position(model, on.q, test::random_velocity(random, model, 0.05), 1);
      q(2) -= 0.02;
      const VectorXd v = test::random_velocity(random, model), delta = test::random_velocity(random, model, 0.01);
      std::copy(q.begin(), q.end(), stage.q.begin());
      std::copy(v.begin(), v.end(), stage.v.begin());
      std::copy(on.control.kp.begin(), on.control.kp.end(), stage.kp.begin());
      std::copy(on.control.kd.begin(), on.control.kd.end(), stage.kd.begin());
      std::copy(on.control.target.begin(), on.control.target.end(), stage.target.begin());
      stage.coefficients = smooth_coefficients(Pairs(model, on.world), 0.7, on.world.smooth);
      stage.substep = 0.01;
      stage.start(host);
      stage.begin(true);
      const Index n = model.nv();
      const auto residual = [&](const VectorXd& at) {
        stage.evaluate(at.data(), host);
        return VectorXd(Eigen::Map<const VectorXd>(stage.residual.data(), n));
      };
      residual(delta);
      stage.scale(true);
      stage.jacobian();
      MatrixXd J(n, n), by_difference(n, n);
      stage.dense_jacobian(0, J.data());
      VectorXd x = VectorXd::LinSpaced(n, -1, 1);
      const VectorXd b = x;
      ASSERT_TRUE(stage.factor());
      stage.solve(x.data());
      EXPECT_LE((J * x - b).norm(), 1e-12 * J.norm() * x.norm());
      for (Index a = 0; a < n; ++a) {
        const VectorXd step = 1e-7 * VectorXd::Unit(n, a);
        by_difference.col(a) = (residual(delta + step) - residual(delta - step)) / 2e-7;
      }
      // Contacts ~ 1 mm deep: (1e-7/1e-3)^2 of their stiffness, and rounding 1e-16/1e-7 of 1/h^2.
      EXPECT_LE((J - by_difference).norm(), 1e-6 * J.norm()) << integrator_name(integrator) << " " << trial;
    }
  }
}

// --- motions ---------------------------------------------------------------------------------------------------------

VectorXd run_to(const Model& model, const World& world, const Control& control, IntegratorType integrator, double dt,
                double end, const State& start, StepOptions options = {}) {
  options.integrator = integrator;
  options.dt = dt;
  options.accuracy = 0;
  options.max_turn = 1;
  options.explicit_pd = false;
  Simulation simulation(model, world, options);
  simulation.set_state(start);
  simulation.control() = control;
  for (int k = 0; k < static_cast<int>(std::lround(end / dt)); ++k) {
    const StepReport report = simulation.step();
    EXPECT_TRUE(report.converged()) << integrator_name(integrator) << ": " << report.reason;
    if (!report.converged()) break;
  }
  return position_difference(model, start.q, simulation.state().q);
}

// Motors, rotors, dampers and stops included: all integrators converge to the motion of rk4, at their order.
TEST(Mimic, AllIntegratorsConvergeToOneMotion) {
  Random random(11);
  OnFloor on;
  const Model& model = on.both.model;
  World world;
  world.gravity = Vec3(0, 0, -2);
  const State start = make_state(model, on.q, test::random_velocity(random, model, 1));
  constexpr double kEnd = 0.2;
  const VectorXd truth = run_to(model, world, on.control, IntegratorType::rk4, 2e-4, kEnd, start);
  for (const IntegratorType integrator : integrators()) {
    if (integrator == IntegratorType::rk4) continue;
    const bool second = integrator == IntegratorType::pbd_nmdp2 || integrator == IntegratorType::ne_nmdp2 ||
                        integrator == IntegratorType::pbfd2 || integrator == IntegratorType::pbfd_coulomb2 ||
                        integrator == IntegratorType::pbd_friction2;
    const double dt = integrator == IntegratorType::event ? 0.01 : 0.002;
    const double coarse = (run_to(model, world, on.control, integrator, dt, kEnd, start) - truth).norm();
    const double fine = (run_to(model, world, on.control, integrator, dt / 2, kEnd, start) - truth).norm();
    if (integrator == IntegratorType::event) {
      EXPECT_LE(fine, 1e-7);
      continue;
    }
    EXPECT_LE(fine, second ? 1e-4 : 2e-2) << integrator_name(integrator);
    EXPECT_NEAR(coarse / fine, second ? 4 : 2, second ? 0.4 : 0.2) << integrator_name(integrator);
  }
}

// A robot in free space: what is inside cannot change its momentum, and energy stays with steps that go to zero.
TEST(Mimic, FreeRobotsKeepMomentumAndEnergy) {
  Random random(12);
  const Followers both = walker();
  std::vector<Joint> joints = both.model.joints();
  for (Joint& joint : joints) joint.damping = 0;
  const Model model = Followers(both.free, joints).model;
  World world;
  world.gravity.setZero();
  const State start =
      make_state(model, test::random_position(random, model, 0.5), test::random_velocity(random, model, 1));
  Dynamics dynamics(model);
  dynamics.set_position(start.q);
  const Dynamics::Momentum before = dynamics.momentum(start.v);
  const Vec3 centre = dynamics.center_of_mass();
  const double energy = dynamics.kinetic_energy(start.v);
  struct Bound {
    IntegratorType integrator;
    double dt, linear, angular, energy;
  };
  // Backward Euler loses what its order says; rk4 and the second order schemes next to nothing. What pbd keeps is the
  // momentum of (T_{n+1} - T_n)/h, which v has to first order: its centre of mass goes straight ahead.
  const Bound bounds[] = {
      {IntegratorType::rk4, 1e-3, 1e-10, 1e-9, 1e-9},      {IntegratorType::event, 1e-2, 1e-9, 1e-8, 1e-7},
      {IntegratorType::pbd, 1e-3, 1e-3, 1e-3, 2e-2},       {IntegratorType::ne, 1e-3, 1e-2, 1e-2, 2e-2},
      {IntegratorType::pbd_nmdp2, 1e-3, 1e-4, 1e-4, 1e-4}, {IntegratorType::ne_nmdp2, 1e-3, 1e-4, 1e-4, 1e-4}};
  for (const Bound& bound : bounds) {
    StepOptions options;
    options.integrator = bound.integrator;
    options.dt = bound.dt;
    options.accuracy = 0;
    Simulation simulation(model, world, options);
    simulation.set_state(start);
    while (simulation.state().time < 0.5 - 1e-9) ASSERT_TRUE(simulation.step().converged());
    dynamics.set_position(simulation.state().q);
    const Dynamics::Momentum after = dynamics.momentum(simulation.state().v);
    const char* name = integrator_name(bound.integrator);
    if (bound.integrator == IntegratorType::pbd) {
      EXPECT_LE((dynamics.center_of_mass() - centre - 0.5 / model.total_mass() * before.linear).norm(), 1e-8) << name;
    }
    EXPECT_LE((after.linear - before.linear).norm(), bound.linear * (1 + before.linear.norm())) << name;
    EXPECT_LE((after.angular - before.angular).norm(), bound.angular * (1 + before.angular.norm())) << name;
    EXPECT_NEAR(dynamics.kinetic_energy(simulation.state().v), energy, bound.energy * energy) << name;
  }
}

// On the ground: every integrator with contact lets the robot down, and the ground bears its weight.
TEST(Mimic, RobotsStandOnTheGroundInEveryIntegrator) {
  OnFloor on;
  on.q(2) += 0.01;
  const double weight = on.both.model.total_mass() * 9.81;
  for (const IntegratorType integrator : integrators()) {
    if (!knows_contact(integrator)) continue;
    StepOptions options;
    options.integrator = integrator;
    options.dt = integrator == IntegratorType::event || integrator == IntegratorType::ne_lcp ? 0.002 : 0.01;
    options.explicit_pd = false;
    World world = on.world;
    world.smooth.damping = 0.3;
    Simulation simulation(on.both.model, world, options);
    simulation.set_state(on.q, VectorXd::Zero(on.both.model.nv()));
    simulation.control() = on.control;
    int iterations = 0, steps = 0;
    for (; simulation.state().time < 2 - 1e-9; ++steps) {
      const StepReport report = simulation.step();
      ASSERT_TRUE(report.converged()) << integrator_name(integrator) << ": " << report.reason;
      iterations += report.iterations;
    }
    double force = 0;
    for (const Contact& contact : simulation.contacts()) force += contact.force.z();
    EXPECT_NEAR(force, weight, 0.02 * weight) << integrator_name(integrator);
    EXPECT_LE(simulation.state().v.norm(), 0.05) << integrator_name(integrator);
    // Newton's method with a wrong matrix would crawl.
    const bool learns = integrator == IntegratorType::ne_zonmdp || integrator == IntegratorType::pbd_zonmdp;
    EXPECT_LE(iterations, (learns ? 40 : 12) * steps) << integrator_name(integrator);
  }
}

// Table I of the PBFD paper, whose optimisers put their Hessians together in their own ways.
TEST(Mimic, OptimisersOfSmoothContactEndAtOneStep) {
  const OnFloor on;
  const Model& model = on.both.model;
  Random random(15);
  for (int trial = 0; trial < 5; ++trial) {
    VectorXd q = integrate_position(model, on.q, test::random_velocity(random, model, 0.05), 1);
    q(2) -= 0.01;
    const State start = make_state(model, q, test::random_velocity(random, model, 0.5));
    for (const IntegratorType integrator : {IntegratorType::pbd_friction, IntegratorType::pbfd}) {
      std::optional<VectorXd> first;
      for (const Optimizer optimizer : {Optimizer::jtj_lm, Optimizer::lm, Optimizer::lbfgs}) {
        if (integrator == IntegratorType::pbfd && optimizer == Optimizer::lm) continue;
        StepOptions options;
        options.integrator = integrator;
        options.optimizer = optimizer;
        options.dt = 0.005;
        options.tolerance = 1e-7;
        StepWorkspace ws(model, on.world);
        State end = start;
        const StepReport report = step(model, on.control, options, end, ws);
        ASSERT_TRUE(report.converged()) << integrator_name(integrator) << ", " << optimizer_name(optimizer);
        if (!first) first = end.q;
        // Accelerations are balanced to 1e-7 and move nothing by more than that, h^2 and what stiff springs leave.
        EXPECT_LE((end.q - *first).cwiseAbs().maxCoeff(), 1e-9) << optimizer_name(optimizer);
      }
    }
  }
}

// --- closed forms ----------------------------------------------------------------------------------------------------

// Backward Euler on body transforms slows what turns with w by w^3 h: the matrix 2 R_n - R_{n-1} lies nearest to a
// rotation that is shorter by the part (w h)^2. A body that is sped up from rest at the rate a has lost this.
double lost_by_straight_paths(IntegratorType integrator, double a, double h, double end) {
  const IntegratorTraits& row = traits(integrator);
  return row.inertia == Inertia::poses && row.stages == 1 ? h * std::pow(a, 3) * std::pow(end, 4) / 4 : 0;
}

// Two discs on parallel axes, the second turning `ratio` times as fast the other way round: one dof of inertia
// I1 + ratio^2 I2.
Model gear_pair(double I1, double I2, double ratio, bool follower_first, JointType type = JointType::continuous) {
  ModelBuilder builder("gears");
  const auto add = [&](const std::string& name, double inertia, double x, bool follows) {
    Body body;
    body.name = name;
    body.mass = 1;
    body.inertia = Vec3(0.6 * inertia, 0.6 * inertia, inertia).asDiagonal();
    Joint joint;
    joint.name = name + "_axle";
    joint.type = type;
    joint.axis = Vec3::UnitZ();
    joint.X_PJ.p = Vec3(x, 0, 0);
    if (follows) joint.mimic = Mimic{"driver_axle", ratio, 0.2};
    builder.add_body(body, "world", joint);
  };
  if (follower_first) add("driven", I2, 0.3, true);
  add("driver", I1, 0, false);
  if (!follower_first) add("driven", I2, 0.3, true);
  return builder.build();
}

TEST(Mimic, GearPairAcceleratesWithItsEffectiveInertia) {
  constexpr double I1 = 0.02, I2 = 0.005, m = -3, torque = 0.13, end = 0.5;
  for (const bool first : {false, true}) {
    const Model model = gear_pair(I1, I2, m, first);
    ASSERT_EQ(model.nv(), 1);
    const double a = torque / (I1 + m * m * I2);
    Control control(model);
    control.torque(0) = torque;
    for (const IntegratorType integrator : integrators()) {
      StepOptions options;
      options.integrator = integrator;
      options.dt = 0.005;
      options.accuracy = 0;
      Simulation simulation(model, options);
      simulation.control() = control;
      while (simulation.state().time < end - 1e-9) ASSERT_TRUE(simulation.step().converged());
      const double lost =
          lost_by_straight_paths(integrator, a, options.dt, end) * (I1 + std::pow(m, 4) * I2) / (I1 + m * m * I2);
      EXPECT_NEAR(simulation.state().v(0), a * end - lost, 0.1 * lost + 1e-4 * a * end) << integrator_name(integrator);
      // The driven disc has turned m times as far, exactly.
      const Mat3 R = simulation.frame_pose("driven").R;
      const double angle = m * simulation.state().q(0) + 0.2;
      EXPECT_NEAR(R(0, 0), std::cos(angle), 1e-14);
      EXPECT_NEAR(R(1, 0), std::sin(angle), 1e-14);
    }
  }
}

TEST(Mimic, SpringDrivenGearPairSwingsAtItsFrequency) {
  constexpr double I1 = 0.02, I2 = 0.005, m = -3, k = 4;
  const Model model = gear_pair(I1, I2, m, true);
  const double omega = std::sqrt(k / (I1 + m * m * I2));
  for (const IntegratorType integrator : {IntegratorType::rk4, IntegratorType::event, IntegratorType::pbd_nmdp2,
                                          IntegratorType::ne_nmdp2, IntegratorType::pbfd_coulomb2}) {
    StepOptions options;
    options.integrator = integrator;
    options.dt = 1e-3;
    options.accuracy = 0;
    options.explicit_pd = false;
    Simulation simulation(model, options);
    simulation.control().kp(0) = k;
    simulation.set_state(VectorXd::Constant(1, 0.1), VectorXd::Zero(1));
    while (simulation.state().time < 1 - 1e-9) ASSERT_TRUE(simulation.step().converged());
    // Second order: phase errors of (omega h)^2 a radian, a tenth of a percent of it damped.
    EXPECT_NEAR(simulation.state().q(0), 0.1 * std::cos(omega), 1e-5) << integrator_name(integrator);
  }
}

// A rack that follows a pinion of radius r and falls: r^2 times its mass resists, r times its weight drives.
TEST(Mimic, RackDrivesItsPinion) {
  constexpr double I = 0.003, mass = 2, r = 0.05, end = 0.2;
  for (const bool rack_leads : {false, true}) {
    ModelBuilder builder("rack");
    Body pinion, rack;
    pinion.name = "pinion";
    pinion.mass = 1;
    pinion.inertia = Vec3(I, I, I).asDiagonal();
    rack.name = "rack";
    rack.mass = mass;
    rack.inertia = Vec3(0.1, 0.1, 0.1).asDiagonal();
    Joint axle, rail;
    axle.name = "axle";
    axle.type = JointType::continuous;
    axle.axis = Vec3::UnitY();
    rail.name = "rail";
    rail.type = JointType::prismatic;
    rail.axis = Vec3::UnitZ();
    rail.X_PJ.p = Vec3(r, 0, 0);
    if (rack_leads)
      axle.mimic = Mimic{"rail", 1 / r, 0};
    else
      rail.mimic = Mimic{"axle", r, 0};
    builder.add_body(pinion, "world", axle).add_body(rack, "world", rail);
    const Model model = builder.build();
    const double fall = -mass * 9.81 / (mass + I / (r * r));  // of the rack [m/s^2]
    for (const IntegratorType integrator : integrators()) {
      StepOptions options;
      options.integrator = integrator;
      options.dt = 0.002;
      options.accuracy = 0;
      Simulation simulation(model, options);
      while (simulation.state().time < end - 1e-9) ASSERT_TRUE(simulation.step().converged());
      const double v = simulation.state().v(0) * (rack_leads ? 1 : r);
      const double lost = r * lost_by_straight_paths(integrator, fall / r, options.dt, end) * I / (I + mass * r * r);
      EXPECT_NEAR(v, fall * end - lost, 0.1 * std::abs(lost) + 1e-3 * std::abs(fall * end))
          << integrator_name(integrator);
    }
  }
}

// --- derivatives, batches, inverse kinematics ------------------------------------------------------------------------

TEST(Mimic, StepsAreDifferentiated) {
  OnFloor on;
  const Model& model = on.both.model;
  const Index n = model.nv();
  Random random(13);
  int compared_standing = 0, compared_flying = 0;
  for (const bool standing : {false, true})
    for (const IntegratorType integrator : {IntegratorType::pbd_nmdp2, IntegratorType::ne_nmdp2, IntegratorType::ne,
                                            IntegratorType::pbd, IntegratorType::pbd_nmdp}) {
      if (standing && !knows_contact(integrator)) continue;
      World world;
      if (standing) {
        world = on.world;
        CoulombOptions law;
        law.depth = 0.01;
        world.law = make_coulomb(law);
      }
      VectorXd q = on.q;
      q(2) += standing ? -0.005 : 0.5;
      const State start =
          make_state(model, q, standing ? VectorXd(VectorXd::Zero(n)) : test::random_velocity(random, model));
      StepOptions options;
      options.integrator = integrator;
      options.dt = 0.01;
      options.tolerance = 1e-12;
      options.accuracy = 0;
      options.max_turn = 1;
      StepWorkspace ws(model, world);
      StepDerivatives by;
      State end = start;
      ASSERT_TRUE(step_with_derivatives(model, on.control, options, end, ws, by).converged());
      if (!by.valid || by.margin < 1e-3) continue;  // close to where it has none
      ++(standing ? compared_standing : compared_flying);
      const auto moved = [&](const VectorXd& dq, const VectorXd& dv, const VectorXd& torque) {
        State x = start;
        x.q = integrate_position(model, start.q, dq, 1);
        x.v += dv;
        Control control = on.control;
        control.torque += torque;
        EXPECT_TRUE(step(model, control, options, x, ws).converged());
        VectorXd out(2 * n);
        out << position_difference(model, end.q, x.q), options.dt * (x.v - end.v);
        return out;
      };
      const VectorXd zero = VectorXd::Zero(n);
      for (int trial = 0; trial < 6; ++trial) {
        const VectorXd along = test::random_velocity(random, model);
        constexpr double kStep = 1e-6;
        const VectorXd by_q = (moved(kStep * along, zero, zero) - moved(-kStep * along, zero, zero)) / (2 * kStep),
                       by_torque = (moved(zero, zero, 1e2 * kStep * along) - moved(zero, zero, -1e2 * kStep * along)) /
                                   (2e2 * kStep);
        VectorXd expected = by.by_state.topLeftCorner(2 * n, n) * along;
        expected.tail(n) *= options.dt;
        EXPECT_LE((by_q - expected).norm(), 2e-4 * (1 + expected.norm()))
            << integrator_name(integrator) << (standing ? " standing" : " in flight");
        expected = by.by_torque.topRows(2 * n) * along;
        expected.tail(n) *= options.dt;
        EXPECT_LE((by_torque - expected).norm(), 2e-4 * (expected.norm() + 1e-4))
            << integrator_name(integrator) << (standing ? " standing" : " in flight");
      }
    }
  EXPECT_EQ(compared_flying, 5);
  EXPECT_GE(compared_standing, 2);  // of three
}

TEST(Mimic, BatchesHaveTheBitsOfSingleRuns) {
  OnFloor on;
  const Model& model = on.both.model;
  for (const IntegratorType integrator : {IntegratorType::pbfd_coulomb, IntegratorType::pbfd_coulomb2}) {
    std::vector<std::uint64_t> alone;
    std::vector<State> starts;
    Random random(14);
    for (int i = 0; i < 11; ++i) {
      VectorXd q = integrate_position(model, on.q, test::random_velocity(random, model, 0.05), 1);
      q(2) += 0.03;
      starts.push_back(make_state(model, q, test::random_velocity(random, model, 0.3)));
    }
    StepOptions step_options;
    step_options.integrator = integrator;
    step_options.dt = 0.01;
    for (const State& start : starts) {
      Simulation simulation(model, on.world, step_options);
      simulation.set_state(start.q, start.v);
      simulation.control() = on.control;
      for (int k = 0; k < 30; ++k) {
        simulation.set_time(k * step_options.dt);
        ASSERT_TRUE(simulation.step().converged());
      }
      simulation.set_time(0.3);
      alone.push_back(state_hash(simulation.state()));
    }
    for (const int lanes : {1, 4, 8}) {
      if (!has_lanes(lanes)) continue;
      BatchOptions options;
      options.step = step_options;
      options.duration = 0.3;
      options.lanes = lanes;
      options.threads = 1;
      BatchSimulation batch(model, on.world, options);
      int ended = 0;
      batch.run(
          0, starts.size(),
          [&](size_t i, Trajectory& trajectory) {
            trajectory.q = starts[i].q;
            trajectory.v = starts[i].v;
            trajectory.control = on.control;
          },
          [&](size_t i, TrajectoryResult& result) {
            EXPECT_EQ(result.status, TrajectoryStatus::complete) << result.failure;
            EXPECT_EQ(result.final_state_hash, alone[i]) << lanes << " lanes, trajectory " << i;
            ++ended;
            return true;
          });
      EXPECT_EQ(ended, std::ssize(starts));
    }
  }
}

// A finger whose two joints bend together reaches the points of its curve, and the angle is found again.
TEST(Mimic, InverseKinematicsMovesWhatIsCoupled) {
  ModelBuilder builder("finger");
  std::string parent = "world";
  for (int i = 0; i < 3; ++i) {
    Body body;
    body.name = "link" + std::to_string(i);
    body.mass = 0.1;
    body.com = Vec3(0.05, 0, 0);
    body.inertia = Vec3(1e-5, 1e-4, 1e-4).asDiagonal();
    Joint joint;
    joint.name = "joint" + std::to_string(i);
    joint.type = JointType::revolute;
    joint.axis = Vec3::UnitZ();
    joint.X_PJ.p = Vec3(i == 0 ? 0 : 0.1, 0, 0);
    if (i > 0) joint.mimic = Mimic{"joint" + std::to_string(i - 1), 0.7, 0.1};
    builder.add_body(body, parent, joint);
    parent = body.name;
  }
  const Model model = builder.build();
  ASSERT_EQ(model.nv(), 1);
  for (const double angle : {-0.6, 0.0, 0.3, 1.1}) {
    const VectorXd wanted = VectorXd::Constant(1, angle);
    const Pose tip = body_poses(model, wanted)[2];
    PointTarget target;
    target.body = BodyIndex(2);
    target.p_B = Vec3(0.1, 0, 0);
    target.target = tip * target.p_B;
    const InverseKinematicsResult found = inverse_kinematics(model, VectorXd::Constant(1, angle + 0.3), {target}, {});
    EXPECT_TRUE(found.converged);
    EXPECT_NEAR(found.q(0), angle, 1e-9);
    // A frozen follower holds its master.
    const InverseKinematicsResult held =
        inverse_kinematics(model, VectorXd::Constant(1, angle + 0.3), {target}, {BodyIndex(1)});
    EXPECT_EQ(held.q(0), angle + 0.3);
  }
}

// --- files and mistakes ----------------------------------------------------------------------------------------------

std::string urdf_of(const std::string& mimic, const std::string& type = "revolute") {
  const std::string inertial =
      "<inertial><mass value='1'/><inertia ixx='0.1' iyy='0.1' izz='0.1' ixy='0' ixz='0' iyz='0'/></inertial>";
  const std::string limit = "<limit lower='-1' upper='1' effort='10' velocity='1'/>";
  return "<robot name='r'><link name='a'/><link name='b'>" + inertial + "</link><link name='c'>" + inertial +
         "</link><joint name='first' type='revolute'><parent link='a'/><child link='b'/><axis xyz='0 0 1'/>" + limit +
         "</joint><joint name='second' type='" + type + "'><parent link='b'/><child link='c'/><axis xyz='0 1 0'/>" +
         limit + mimic + "</joint></robot>";
}

Model read_urdf(const std::string& text) { return parse_urdf(text, "", {}); }

TEST(Mimic, UrdfIsReadAndWritten) {
  const Model model = read_urdf(urdf_of("<mimic joint='first' multiplier='-0.3' offset='0.25'/>"));
  EXPECT_EQ(model.nv(), 1);
  const std::optional<Mimic>& mimic = model.joint(model.find_joint("second")).mimic;
  ASSERT_TRUE(mimic);
  EXPECT_EQ(mimic->joint, "first");
  EXPECT_EQ(mimic->multiplier, -0.3);
  EXPECT_EQ(mimic->offset, 0.25);
  const std::string text = format_urdf(model);
  EXPECT_EQ(format_urdf(read_urdf(text)), text);
  EXPECT_NE(text.find("<mimic joint=\"first\" multiplier=\"-0.3\" offset=\"0.25\" />"), std::string::npos) << text;
  const Model standard = read_urdf(urdf_of("<mimic joint='first'/>"));
  EXPECT_EQ(standard.joint(standard.find_joint("second")).mimic->multiplier, 1);
  EXPECT_EQ(standard.joint(standard.find_joint("second")).mimic->offset, 0);
  ModelBuilder again(model);
  EXPECT_EQ(format_urdf(again.build()), text);
}

TEST(Mimic, MistakesAreNamed) {
  const auto expect = [](const std::string& mimic, const std::string& what, const std::string& type = "revolute") {
    try {
      UrdfOptions options;
      options.strict = true;
      (void)parse_urdf(urdf_of(mimic, type), "", options);
      ADD_FAILURE() << mimic << " was accepted";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  };
  expect("<mimic joint='fist'/>", "follows joint \"fist\", which does not exist, did you mean \"first\"?");
  expect("<mimic joint='second'/>", "follows itself");
  expect("<mimic joint='first' multiplier='0'/>", "mimic multiplier is 0");
  expect("<mimic joint='first' multiplier='nan'/>", "multiplier");
  expect("<mimic joint='first' multiplier='1e300'/>", "multiplier");
  expect("<mimic joint='first' multiplier='1e-13'/>", "expected a multiplier in");
  expect("<mimic joint='first' offset='inf'/>", "offset");
  expect("<mimic multiplier='2'/>", "joint");
  expect("<mimic joint='first'/>", "a floating joint cannot follow another", "floating");

  const auto build = [](std::optional<Mimic> a, std::optional<Mimic> b, JointType type_a = JointType::continuous) {
    ModelBuilder builder("pair");
    Body body;
    body.mass = 1;
    body.inertia = Mat3::Identity();
    Joint joint;
    joint.name = "a";
    joint.type = type_a;
    joint.mimic = std::move(a);
    body.name = "body_a";
    builder.add_body(body, "world", joint);
    joint.name = "b";
    joint.type = JointType::continuous;
    joint.mimic = std::move(b);
    body.name = "body_b";
    builder.add_body(body, "world", joint);
    return builder.build();
  };
  EXPECT_THROW(build(Mimic{"b", 1, 0}, Mimic{"a", 1, 0}), InputError);  // a circle
  EXPECT_THROW(build({}, Mimic{"a", 1, 0}, JointType::ball), InputError);
  EXPECT_THROW(build({}, Mimic{"a", 1, 0}, JointType::fixed), InputError);
  EXPECT_NO_THROW(build({}, Mimic{"a", 1, 0}));
}

// A master without mass moves what its follower carries.
TEST(Mimic, MasslessMastersNeedFollowersWithMass) {
  const auto build = [](double mass) {
    ModelBuilder builder("pair");
    Body body;
    body.name = "knob";
    Joint joint;
    joint.name = "a";
    joint.type = JointType::continuous;
    builder.add_body(body, "world", joint);
    body.name = "wheel";
    body.mass = mass;
    body.inertia = mass * Mat3::Identity();
    joint.name = "b";
    joint.mimic = Mimic{"a", 2, 0};
    return builder.add_body(body, "world", joint).build();
  };
  EXPECT_THROW(build(0), InputError);
  const Model model = build(1);
  Dynamics dynamics(model);
  EXPECT_NEAR(dynamics.mass_matrix()(0, 0), 4, 1e-15);
  Simulation simulation(model);
  EXPECT_TRUE(simulation.step().converged());
}

}  // namespace
}  // namespace scree
