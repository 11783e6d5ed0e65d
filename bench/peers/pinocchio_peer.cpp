#include "peers/pinocchio_peer.h"

#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>
#include <stdexcept>

namespace scree::bench {
namespace {

namespace pin = pinocchio;

std::vector<pin::JointModel> joint_models(const Joint& joint, bool free_flyer) {
  const Vec3& axis = joint.axis;
  switch (joint.type) {
    case JointType::revolute:
    case JointType::continuous:
      if (axis == Vec3::UnitX()) return {pin::JointModelRX()};
      if (axis == Vec3::UnitY()) return {pin::JointModelRY()};
      if (axis == Vec3::UnitZ()) return {pin::JointModelRZ()};
      return {pin::JointModelRevoluteUnaligned(axis)};
    case JointType::prismatic:
      if (axis == Vec3::UnitX()) return {pin::JointModelPX()};
      if (axis == Vec3::UnitY()) return {pin::JointModelPY()};
      if (axis == Vec3::UnitZ()) return {pin::JointModelPZ()};
      return {pin::JointModelPrismaticUnaligned(axis)};
    case JointType::ball:
      return {pin::JointModelSpherical()};
    case JointType::floating:
      if (free_flyer) return {pin::JointModelFreeFlyer()};
      return {pin::JointModelTranslation(), pin::JointModelSpherical()};
    case JointType::fixed:
      return {};
    case JointType::planar:
      break;
  }
  throw std::invalid_argument("no twin of joint " + joint.name);
}

}  // namespace

struct PinocchioPeer::Impl {
  const Model& source;
  bool free_flyer;
  pin::Model model;
  pin::Data data;
  Motion motion;  // in Pinocchio's coordinates

  Impl(const Model& scree_model, bool flies)
      : source(scree_model), free_flyer(flies), model(build(scree_model, flies)), data(model) {}

  static pin::Model build(const Model& source, bool free_flyer) {
    pin::Model model;
    std::vector<std::pair<pin::JointIndex, pin::SE3>> place;  // of each body: its joint, and its pose on it
    for (size_t i = 0; i < source.bodies().size(); ++i) {
      const Body& body = source.bodies()[i];
      const Joint& joint = source.joints()[i];
      auto [parent, X] = body.parent.valid() ? place[static_cast<size_t>(body.parent.value())]
                                             : std::pair(pin::JointIndex{0}, pin::SE3::Identity());
      X = X * pin::SE3(joint.X_PJ.R, joint.X_PJ.p);
      for (const pin::JointModel& part : joint_models(joint, free_flyer && i == 0)) {
        parent = model.addJoint(parent, part, X, joint.name + part.shortname());
        X.setIdentity();
        model.armature.segment(model.idx_vs[parent], part.nv()).setConstant(joint.armature);
      }
      model.appendBodyToJoint(parent, pin::Inertia(body.mass, body.com, body.inertia), X);
      place.emplace_back(parent, X);
    }
    if (model.nv != source.nv()) throw std::logic_error("twin with other degrees of freedom");
    return model;
  }
};

PinocchioPeer::PinocchioPeer(const Model& model, bool free_flyer) : impl_(std::make_unique<Impl>(model, free_flyer)) {}
PinocchioPeer::~PinocchioPeer() = default;

int PinocchioPeer::first_common_dof() const { return impl_->free_flyer ? 6 : 0; }

void PinocchioPeer::set_motion(const Motion& motion) {
  Impl& d = *impl_;
  d.motion = motion;
  d.model.gravity.linear() = motion.gravity;
  for (const Joint& joint : d.source.joints()) {
    if (joint.type != JointType::ball && joint.type != JointType::floating) continue;
    const int first = joint.q_index + (joint.type == JointType::floating ? 3 : 0);
    const Eigen::Vector4d wxyz = motion.q.segment<4>(first);
    d.motion.q.segment<4>(first) << wxyz.tail<3>(), wxyz(0);
  }
  if (!d.free_flyer) return;
  // Linear velocity in body axes: u = R^T v, so udot = R^T vdot - omega x u, and forces turn as velocities do.
  const Mat3 Rt = Quat(motion.q(3), motion.q(4), motion.q(5), motion.q(6)).toRotationMatrix().transpose();
  const Vec3 u = Rt * motion.v.head<3>();
  d.motion.v.head<3>() = u;
  d.motion.vdot.head<3>() = Rt * motion.vdot.head<3>() - motion.v.segment<3>(3).cross(u);
  d.motion.tau.head<3>() = Rt * motion.tau.head<3>();
}

void PinocchioPeer::run(Function function, bool world_axes) {
  Impl& d = *impl_;
  const pin::Convention convention = world_axes ? pin::Convention::WORLD : pin::Convention::LOCAL;
  const Motion& m = d.motion;
  switch (function) {
    case Function::inverse_dynamics:
      pin::rnea(d.model, d.data, m.q, m.v, m.vdot);
      break;
    case Function::mass_matrix:
      pin::crba(d.model, d.data, m.q, convention);
      break;
    case Function::forward_dynamics:
      pin::aba(d.model, d.data, m.q, m.v, m.tau, convention);
      break;
    case Function::derivatives:
      pin::computeRNEADerivatives(d.model, d.data, m.q, m.v, m.vdot);
      break;
  }
}

std::vector<Eigen::MatrixXd> PinocchioPeer::result(Function function) const {
  const pin::Data& data = impl_->data;
  const Eigen::MatrixXd M = data.M.selfadjointView<Eigen::Upper>();
  switch (function) {
    case Function::inverse_dynamics:
      return {data.tau};
    case Function::mass_matrix:
      return {M};
    case Function::forward_dynamics:
      return {data.ddq};
    case Function::derivatives:
      return {data.dtau_dq, data.dtau_dv, M};
  }
  return {};
}

}  // namespace scree::bench
