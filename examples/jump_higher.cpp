// Robosimian learns to jump higher. Its motion is a spline through keyframes; gradient ascent moves the joint positions
// of the keyframe that extends the legs. The gradient comes from the derivatives of the steps, chained backwards, and
// is compared with a difference of whole rollouts. Prints a table; fails if the jump did not grow.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "scree/derivatives.h"
#include "scree/dynamics.h"
#include "scree/kinematics.h"
#include "scree/motion.h"
#include "scree/urdf.h"

using Eigen::Index;
using Eigen::VectorXd;

namespace {

constexpr double kStep = 0.01;              // [s]
constexpr int kSettle = 100, kSteps = 130;  // until the crouch is reached; until the robot is in the air
constexpr double kGravity = 9.81;           // [m/s^2]
constexpr size_t kExtended = 2;             // the keyframe that changes

struct Jump {
  explicit Jump(const std::string& folder)
      : model(scree::load_urdf(folder + "/models/robosimian-planar.urdf")),
        control(model),
        motion(scree::load_motion(folder + "/motions/robosimian-single-jump.toml", model)),
        dynamics(model) {
    world.add(scree::plane_collider({0, 0, -0.8}, scree::Vec3::UnitZ()));
    world.add(scree::contact_candidates(model, scree::ContactCandidates::named));
    for (const scree::Joint& joint : model.joints())
      if (scree::velocity_count(joint.type) == 1) {
        control.kp(joint.v_index) = 1000;
        control.kd(joint.v_index) = 1;
      }
    options.integrator = scree::IntegratorType::ne_nmdp2;
    options.dt = kStep;
    options.accuracy = 0;       // steps of one size: the result is a smooth function of the keyframe
    options.tolerance = 1e-10;  // and known well enough to be differenced
  }

  // Targets of a step: those of the motion at its end, with the keyframe moved by `change`.
  void set_targets(int step, const VectorXd& change) {
    motion.sample((step + 1) * kStep, control.target, control.target_velocity);
    const auto [position, rate] = share(step);
    for (const scree::Joint& joint : model.joints())
      if (scree::velocity_count(joint.type) == 1) {
        control.target(joint.q_index) += position * change(joint.v_index);
        control.target_velocity(joint.v_index) += rate * change(joint.v_index);
      }
  }

  // How much of a change of the keyframe the targets of a step see, and their rates: the basis of the spline.
  std::pair<double, double> share(int step) const {
    const double time = (step + 1) * kStep;
    const auto& keys = motion.keyframes();
    const bool before = time <= keys[kExtended].time;
    const double from = keys[before ? kExtended - 1 : kExtended].time,
                 to = keys[before ? kExtended : kExtended + 1].time;
    const double s = (time - from) / (to - from);
    if (s < 0 || s > 1) return {0, 0};
    const double blend = s * s * (3 - 2 * s), rate = 6 * s * (1 - s) / (to - from);
    return before ? std::pair(blend, rate) : std::pair(1 - blend, -rate);
  }

  // [m] the highest the centre of mass would get from here in free flight, above where it stood.
  double apex(const VectorXd& q, const VectorXd& v) {
    dynamics.set_position(q);
    const double rise = dynamics.momentum(v).linear.z() / model.total_mass();
    return dynamics.center_of_mass().z() + rise * std::abs(rise) / (2 * kGravity);
  }

  // Its gradient by (dq, v): an explicit function, differenced.
  VectorXd apex_gradient(const scree::State& state) {
    constexpr double e = 1e-6;
    const Index n = model.nv();
    VectorXd out(2 * n);
    for (Index a = 0; a < n; ++a) {
      const VectorXd unit = VectorXd::Unit(n, a);
      out(a) = (apex(scree::integrate_position(model, state.q, unit, e), state.v) -
                apex(scree::integrate_position(model, state.q, unit, -e), state.v)) /
               (2 * e);
      out(n + a) = (apex(state.q, state.v + e * unit) - apex(state.q, state.v - e * unit)) / (2 * e);
    }
    return out;
  }

  // Runs the jump; with `gradient`, also how the apex changes with the keyframe.
  double run(const VectorXd& change, VectorXd* gradient) {
    const Index n = model.nv();
    scree::StepWorkspace workspace(model, world);
    if (settled.q.size() == 0) {  // until here nothing depends on the keyframe
      settled = scree::make_state(model, motion.keyframes()[0].q, VectorXd::Zero(n));
      for (int k = 0; k < kSettle; ++k) {
        set_targets(k, VectorXd::Zero(n));
        if (!scree::step(model, control, options, settled, workspace).converged()) return NAN;
      }
    }
    scree::State state = settled;
    std::vector<scree::StepDerivatives> derivatives(gradient ? kSteps - kSettle : 0);
    margin = 1;
    for (int k = kSettle; k < kSteps; ++k) {
      set_targets(k, change);
      if (!gradient) {
        if (!scree::step(model, control, options, state, workspace).converged()) return NAN;
        continue;
      }
      scree::StepDerivatives& d = derivatives[static_cast<size_t>(k - kSettle)];
      if (!scree::step_with_derivatives(model, control, options, state, workspace, d).converged() || !d.valid)
        return NAN;
      margin = std::min(margin, d.margin);
    }
    if (gradient) {
      gradient->setZero(n);
      VectorXd sensitivity = VectorXd::Zero(derivatives.back().by_state.rows());  // by (dq, v, contact loads)
      sensitivity.head(2 * n) = apex_gradient(state);
      for (int k = kSteps - 1; k >= kSettle; --k) {
        const scree::StepDerivatives& d = derivatives[static_cast<size_t>(k - kSettle)];
        const auto [position, rate] = share(k);
        *gradient += position * d.by_target.transpose() * sensitivity;
        *gradient += rate * d.by_target_velocity.transpose() * sensitivity;
        sensitivity = d.by_state.transpose() * sensitivity;
      }
    }
    return apex(state.q, state.v);
  }

  scree::Model model;
  scree::World world;
  scree::Control control;
  scree::Motion motion;
  scree::Dynamics dynamics;
  scree::StepOptions options;
  scree::State settled;
  double margin = 1;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: jump_higher FOLDER (of models/ and motions/)\n"), 2;
  Jump jump(argv[1]);
  VectorXd change = VectorXd::Zero(jump.model.nv()), gradient;
  double height = jump.run(change, &gradient);
  const double before = height;
  double worst = 0, length = 0.1;  // [rad] of a move
  std::printf("%4s %10s %16s %16s %10s\n", "move", "apex [m]", "gradient [m/rad]", "difference", "margin");
  for (int k = 0;; ++k) {
    // The slope along the gradient, once by derivatives and once by rollouts 2e-5 rad apart.
    const VectorXd direction = gradient.normalized();
    const double e = 1e-5, slope = gradient.norm(), margin = jump.margin;
    const double difference =
        (jump.run(change + e * direction, nullptr) - jump.run(change - e * direction, nullptr)) / (2 * e);
    worst = std::max(worst, std::abs(difference / slope - 1));
    std::printf("%4d %10.4f %16.6f %16.6f %10.1e\n", k, height, slope, difference, margin);
    if (k == 5) break;
    for (;; length *= 0.5) {
      const VectorXd trial = change + length * direction;
      VectorXd next;
      const double reached = jump.run(trial, &next);
      if (reached > height) {
        change = trial;
        gradient = next;
        height = reached;
        break;
      }
      if (length < 1e-4) return std::fprintf(stderr, "no way up from %g m\n", height), 1;
    }
  }
  // Rollouts are known to 1e-10 m/s^2 x (0.3 s)^2 = 1e-11 m, their difference over 2e-5 rad to 1e-6 m/rad; a hundred
  // times that for errors that grow on the way, and for curvature.
  if (!(worst < 1e-4)) return std::fprintf(stderr, "the gradient is off by %g of its size\n", worst), 1;
  if (!(height > before + 0.05)) return std::fprintf(stderr, "it did not learn to jump\n"), 1;
  std::printf("the jump grew by %.2f m, gradients agree with differences\n", height - before);
}
