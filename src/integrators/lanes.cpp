#include "integrators/lanes.h"

#include <cmath>
#include <limits>

#include "contact/near_pairs.h"
#include "dynamics/kinematics.h"
#include "integrators/lockstep.h"
#include "integrators/traits.h"
#include "math/eigen.h"

namespace scree {

// Each in a file compiled for the processor that has it.
LaneMachine* new_lanes4(const LaneSetup& setup);
LaneMachine* new_lanes8(const LaneSetup& setup);

// Here and not in the header: the files of single processors must not have copies of their own.
LaneHost::~LaneHost() = default;
bool LaneHost::wants_contacts() const { return false; }
void LaneHost::clear_contacts() {}
void LaneHost::touches(int, const V3<double>&, const V3<double>&, const V3<double>&, double) {}
LaneMachine::~LaneMachine() = default;

bool has_lanes(int lanes) {
  if (lanes == 1) return true;
#ifdef __x86_64__
  if (lanes == 4) return __builtin_cpu_supports("avx2");
  if (lanes == 8)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#endif
  return false;
}

int widest_lanes() {
  for (const int lanes : {8, 4})
    if (has_lanes(lanes)) return lanes;
  return 1;
}

std::unique_ptr<LaneMachine> make_lanes(int lanes, const LaneSetup& setup) {
#ifdef __x86_64__
  if (lanes == 4) return std::unique_ptr<LaneMachine>(new_lanes4(setup));
  if (lanes == 8) return std::unique_ptr<LaneMachine>(new_lanes8(setup));
#endif
  return std::make_unique<Lockstep<double>>(setup);
}

LaneSetup make_lane_setup(const Model& model, const World& world) {
  LaneSetup setup{};
  setup.tree = &tree_of(model);
  for (size_t j = 0; j < model.joints().size(); ++j) {
    const Joint& joint = model.joints()[j];
    const Node& node = setup.tree->nodes[j];
    const JointLimits& l = joint.limits;
    const double friction =
        velocity_count(joint.type) == 1 && !node.follows ? setup.tree->friction[static_cast<size_t>(node.v_index)] : 0;
    setup.joints.push_back({joint.q_index, joint.v_index, velocity_count(joint.type), node.follows,
                            joint.type == JointType::ball, std::isfinite(l.lower) || std::isfinite(l.upper),
                            node.multiplier, node.offset, joint.armature, joint.damping, joint.effort, friction,
                            l.lower, l.upper, l.stiffness, l.margin});
  }
  const Pairs pairs(model, world);
  const NearPairs near(pairs);
  setup.clusters = near.clusters();
  setup.points = near.points();
  for (int solid = 0; solid < near.solid_count(); ++solid) setup.solids.push_back(solid);
  for (int pair = 0; pair < pairs.count(); ++pair) {
    LanePair& to = setup.pairs.emplace_back();
    to.node = pairs.node_of(pair);
    to.solid = pair % near.solid_count();
    to.p_B = to_v3(pairs.centre(pair));
    to.radius = pairs.radius(pair);
    to.plane = std::holds_alternative<Plane>(pairs.b(pair).shape);
    const Pose& X_WS = pairs.b(pair).X_BS;
    if (to.plane) to.point = to_v3(X_WS.p), to.normal = to_v3(X_WS.R.col(2));
  }
  return setup;
}

void update_setup(const StepOptions& options, const World& world, LaneSetup& setup) {
  const IntegratorTraits& row = traits(options.integrator);
  setup.law.friction = row.friction.value_or(FrictionLaw::coulomb);
  setup.law.printed = world.smooth.form == SmoothContactOptions::Form::printed;
  setup.law.alpha = world.smooth.normal_exponent;
  setup.law.beta = world.smooth.slip_exponent;
  setup.law.gamma = world.smooth.depth_exponent;
  setup.two_stages = row.stages == 2;
  setup.gravity = to_v3(world.gravity);
  setup.tolerance = options.tolerance;
  setup.max_iterations = options.max_iterations;
  setup.max_halvings = options.max_halvings;
  setup.max_turn = options.max_turn;
}

// How much softer a spring is than a law if nothing else is said. Firmer ones throw what they carry: docs/choosing.md.
constexpr double kSpring = 5;

SmoothCoefficients<double> smooth_coefficients(const Pairs& pairs, double friction, const SmoothContactOptions& o) {
  const double share = pairs.share_of_weight(), depth = o.depth.value_or(kSpring * pairs.firm_depth());
  return {o.stiffness.value_or(share / std::pow(depth, o.normal_exponent)),
          o.stiffness ? std::pow(share / *o.stiffness, 1 / o.normal_exponent) : depth,
          o.drag.value_or(share / ((o.slip_exponent + 1) * std::pow(o.speed, o.slip_exponent) *
                                   std::pow(depth, o.depth_exponent + 1))),
          friction,
          o.creep,
          o.damping};
}

Contact ModelLaneHost::contact(int pair, const V3<double>& position, const V3<double>& normal, const V3<double>& force,
                               double depth) const {
  return {.a = pairs_.colliders_of(pair).a,
          .b = pairs_.colliders_of(pair).b,
          .position = to_eigen(position),
          .normal = to_eigen(normal),
          .force = to_eigen(force),
          .moment = Vec3::Zero(),
          .depth = depth};
}

ModelLaneHost::ModelLaneHost(const Model& model, const World& world, int lanes)
    : model_(model),
      world_(world),
      pairs_(model, world),
      damped_(static_cast<size_t>(lanes)),
      weighted_(model.nv(), model.nv()) {
  for (Damped& d : damped_) {
    d.JWJ.setZero(model.nv(), model.nv());
    d.shifted = d.JWJ;
    d.JWr.setZero(model.nv());
    d.x = d.JWr;
    d.llt.compute(Eigen::MatrixXd::Identity(model.nv(), model.nv()));
  }
}

double ModelLaneHost::ground_bound(int pair, const V3<double>& p) {
  const Vec3 at = to_eigen(p);
  if (!(at.cwiseAbs().maxCoeff() < 1e12)) return std::numeric_limits<double>::infinity();  // as ground()
  return distance_bound(pairs_.b(pair), at) - 1e-14 * at.cwiseAbs().sum();                 // less rounding
}

void ModelLaneHost::ground(int pair, const V3<double>& p, double& distance, V3<double>& normal, M3<double>& hessian) {
  const Vec3 at = to_eigen(p);
  if (!(at.cwiseAbs().maxCoeff() < 1e12)) {  // a trial pose beyond all numbers: its residual says so
    distance = std::numeric_limits<double>::infinity();
    return;
  }
  const Collider& ground = pairs_.b(pair);
  constexpr double kNear = 0.1;  // [m] above the ground where its normal is wanted, too
  distance = distance_bound(ground, at);
  if (!(distance < pairs_.radius(pair) + kNear)) return;
  const SignedDistance d = scree::distance(ground, at);
  distance = d.value;
  normal = to_v3(d.gradient);
  hessian = to_m3(d.hessian);
}

void ModelLaneHost::ball_joint(int joint, const BallControl& c, double& value, double* gradient, double* H) {
  JointForces::add_ball(model_.joints()[static_cast<size_t>(joint)],
                        {c.q, c.rest, c.delta, c.kp, c.kd, c.target, c.target_velocity, c.torque, c.h}, value, gradient,
                        H, 3);
}

void ModelLaneHost::displace(const double* delta, double* q) { apply_displacement(tree_of(model_), delta, q); }

// Minimises 1/2 |W^(1/2) (r + J x)|^2 + damping/2 sum D_a x_a^2, D the diagonal of J^T W J.             theory (11.11)
void ModelLaneHost::damp(int lane, const double* jacobian, const double* residual, const double* weights) {
  Damped& d = damped_[static_cast<size_t>(lane)];
  const Eigen::Index n = model_.nv();
  const Eigen::Map<const Eigen::MatrixXd> J(jacobian, n, n);
  const Eigen::Map<const Eigen::VectorXd> r(residual, n), w(weights, n);
  weighted_.noalias() = w.asDiagonal() * J;
  d.JWJ.noalias() = J.transpose() * weighted_;
  d.JWr.noalias() = weighted_.transpose() * r;
  d.size = std::sqrt(r.cwiseAbs2().dot(w));
}

bool ModelLaneHost::damped_step(int lane, double damping, double* step) {
  Damped& d = damped_[static_cast<size_t>(lane)];
  d.shifted = d.JWJ;
  // A column of zeros must not make the matrix singular.
  d.shifted.diagonal().array() += damping * d.JWJ.diagonal().array().max(1e-12 * d.JWJ.diagonal().maxCoeff());
  d.llt.compute(d.shifted);
  d.x = -d.JWr;
  if (d.llt.info() != Eigen::Success) return false;
  d.llt.solveInPlace(d.x);
  std::copy(d.x.begin(), d.x.end(), step);
  return d.x.allFinite();
}

double ModelLaneHost::slope(int lane) {
  const Damped& d = damped_[static_cast<size_t>(lane)];
  double largest = 0;
  for (Eigen::Index a = 0; a < d.JWr.size(); ++a)
    if (d.JWJ(a, a) > 0) largest = std::max(largest, std::abs(d.JWr(a)) / (std::sqrt(d.JWJ(a, a)) * d.size));
  return largest;
}

}  // namespace scree
