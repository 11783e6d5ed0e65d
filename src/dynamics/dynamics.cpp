#include "scree/dynamics.h"

#include "dynamics/dynamics_impl.h"
#include "math/eigen.h"
#include "scree/kinematics.h"

namespace scree {

Dynamics::Impl::Impl(const Model& m)
    : model(m),
      tree(tree_of(m)),
      kinematics(tree),
      pass(tree),
      articulated(tree),
      reduction(tree),
      zero(static_cast<size_t>(tree.nv)),
      mass(Eigen::MatrixXd::Zero(tree.nv, tree.nv)),
      derivatives{mass, mass, mass} {}

Dynamics::Dynamics(const Model& model) : impl_(std::make_unique<Impl>(model)) {
  set_position(model.neutral_position());
}
Dynamics::~Dynamics() = default;
Dynamics::Dynamics(Dynamics&&) noexcept = default;
Dynamics& Dynamics::operator=(Dynamics&&) noexcept = default;

void Dynamics::set_position(const VectorIn& q) {
  Impl& d = *impl_;
  d.kinematics.origin = root_position(d.tree, q.data());
  forward_kinematics(d.tree, q.data(), d.zero.data(), d.kinematics);
}

Pose Dynamics::body_pose(BodyIndex body) const {
  const size_t i = static_cast<size_t>(body.value());
  return {to_eigen(impl_->kinematics.R[i]), to_eigen(impl_->kinematics.p[i] + impl_->kinematics.origin)};
}

void Dynamics::inverse_dynamics(const VectorIn& v, const VectorIn& vdot, const Vec3& gravity, VectorOut tau) {
  Impl& d = *impl_;
  newton_euler_pass<Depth::forces>(d.tree, d.kinematics, v.data(), vdot.data(), to_v3(gravity), d.pass);
  d.reduction.covector(tau.data(), [&](double* by_dof) { project_forces(d.tree, d.kinematics, d.pass, by_dof); });
  for (int a = 0; a < d.tree.nv; ++a) tau(a) += d.tree.armature[static_cast<size_t>(a)] * vdot(a);
}

void Dynamics::bias_force(const VectorIn& v, const Vec3& gravity, VectorOut force) {
  Impl& d = *impl_;
  newton_euler_pass<Depth::forces>(d.tree, d.kinematics, v.data(), d.zero.data(), to_v3(gravity), d.pass);
  d.reduction.covector(force.data(), [&](double* by_dof) { project_forces(d.tree, d.kinematics, d.pass, by_dof); });
}

const Eigen::MatrixXd& Dynamics::mass_matrix() {
  Impl& d = *impl_;
  world_second_moments(d.tree, d.kinematics, d.pass.sigma);
  sum_over_subtrees(d.tree, d.pass.sigma);
  d.fill_mass_matrix(d.mass);
  return d.mass;
}

void Dynamics::Impl::fill_mass_matrix(Eigen::MatrixXd& out) {
  reduction.matrix(out.data(), [&](double* by_dof) { composite_mass_matrix(tree, kinematics, pass.sigma, by_dof); });
  for (int a = 0; a < tree.nv; ++a) out(a, a) += tree.armature[static_cast<size_t>(a)];
}

bool Dynamics::forward_dynamics(const VectorIn& v, const VectorIn& tau, const Vec3& gravity, VectorOut vdot) {
  Impl& d = *impl_;
  return articulated_body(d.tree, d.kinematics, v.data(), tau.data(), to_v3(gravity), d.pass, d.articulated,
                          vdot.data()) &&
         vdot.allFinite();
}

const Dynamics::Derivatives& Dynamics::inverse_dynamics_derivatives(const VectorIn& v, const VectorIn& vdot,
                                                                    const Vec3& gravity) {
  Impl& d = *impl_;
  newton_euler_pass<Depth::derivatives>(d.tree, d.kinematics, v.data(), vdot.data(), to_v3(gravity), d.pass);
  d.reduction.matrix(d.derivatives.by_q.data(), d.derivatives.by_v.data(), [&](double* by_q, double* by_v) {
    scree::inverse_dynamics_derivatives(d.tree, d.kinematics, d.pass, by_q, by_v);
  });
  d.fill_mass_matrix(d.derivatives.by_vdot);
  return d.derivatives;
}

void Dynamics::set_external_wrench(BodyIndex body, const Vec3& moment_B, const Vec3& force_B) {
  impl_->pass.external[static_cast<size_t>(body.value())] = {to_v3(moment_B), to_v3(force_B)};
}

void Dynamics::clear_external_wrenches() {
  for (Wrench<double>& w : impl_->pass.external) w = {{0, 0, 0}, {0, 0, 0}};
}

void Dynamics::point_jacobian(BodyIndex body, const Vec3& p_B, Eigen::Ref<Eigen::Matrix3Xd> J) {
  const Impl& d = *impl_;
  J.setZero();
  if (!body.valid()) return;
  const size_t i = static_cast<size_t>(body.value());
  const V3<double> p = d.kinematics.R[i] * to_v3(p_B) + d.kinematics.p[i];
  for_coordinates(d.tree, d.kinematics, i, [&](size_t c, const Twist<double>& xi) {
    J.col(static_cast<Eigen::Index>(c)) = to_eigen(xi.v + cross(xi.w, p));
  });
}

void Dynamics::frame_jacobian(const Frame& frame, Eigen::Ref<Eigen::Matrix<double, 6, Eigen::Dynamic>> J) {
  const Impl& d = *impl_;
  J.setZero();
  if (!frame.body.valid()) return;
  const size_t i = static_cast<size_t>(frame.body.value());
  const V3<double> p = d.kinematics.R[i] * to_v3(frame.X_BF.p) + d.kinematics.p[i];
  for_coordinates(d.tree, d.kinematics, i, [&](size_t c, const Twist<double>& xi) {
    J.col(static_cast<Eigen::Index>(c)) << to_eigen(xi.w), to_eigen(xi.v + cross(xi.w, p));
  });
}

FrameVelocity frame_velocity(const Model& model, const Eigen::VectorXd& q, const Eigen::VectorXd& v,
                             const Frame& frame) {
  Dynamics dynamics(model);
  dynamics.set_position(q);
  Eigen::Matrix<double, 6, Eigen::Dynamic> J(6, model.nv());
  dynamics.frame_jacobian(frame, J);
  const Eigen::Matrix<double, 6, 1> motion = J * v;
  return {motion.head<3>(), motion.tail<3>()};
}

const std::vector<Twist<double>>& Dynamics::Impl::body_twists(const double* v) {
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const Node& node = tree.nodes[i];
    Twist<double> V = {{0, 0, 0}, {0, 0, 0}};
    if (node.parent >= 0) V = pass.V[static_cast<size_t>(node.parent)];
    for (int k = 0; k < node.nv; ++k) V += v[node.v_index + k] * kinematics.xi[static_cast<size_t>(node.dof + k)];
    pass.V[i] = V;
  }
  return pass.V;
}

Dynamics::Momentum Dynamics::momentum(const VectorIn& v) {
  Impl& d = *impl_;
  d.body_twists(v.data());
  Wrench<double> sum = {{0, 0, 0}, {0, 0, 0}};
  for (size_t i = 0; i < d.tree.nodes.size(); ++i)
    sum += world_second_moment(d.tree.nodes[i].S, d.kinematics.R[i], d.kinematics.p[i]) * d.pass.V[i];
  return {to_eigen(sum.f), to_eigen(sum.m + cross(d.kinematics.origin, sum.f))};
}

double Dynamics::kinetic_energy(const VectorIn& v) {
  Impl& d = *impl_;
  d.body_twists(v.data());
  double energy = 0;
  for (size_t i = 0; i < d.tree.nodes.size(); ++i) {
    const Twist<double>& V = d.pass.V[i];
    energy += 0.5 * dot(V, world_second_moment(d.tree.nodes[i].S, d.kinematics.R[i], d.kinematics.p[i]) * V);
  }
  for (int a = 0; a < d.tree.nv; ++a) energy += 0.5 * d.tree.armature[static_cast<size_t>(a)] * v(a) * v(a);
  return energy;
}

double Dynamics::gravity_energy(const Vec3& gravity) const {
  return -impl_->model.total_mass() * gravity.dot(center_of_mass());
}

Vec3 Dynamics::center_of_mass() const {
  const Impl& d = *impl_;
  V3<double> moment = {0, 0, 0};
  double mass = 0;
  for (size_t i = 0; i < d.tree.nodes.size(); ++i) {
    const SecondMoment<double>& S = d.tree.nodes[i].S;
    moment += d.kinematics.R[i] * S.b + S.m * d.kinematics.p[i];
    mass += S.m;
  }
  return mass > 0 ? Vec3(to_eigen(moment) / mass + to_eigen(d.kinematics.origin)) : Vec3(Vec3::Zero());
}

}  // namespace scree
