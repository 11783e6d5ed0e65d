// Trajectories in the lanes of this processor: which machine runs them, and what models and the world tell it.
#pragma once

#include <Eigen/Cholesky>
#include <memory>
#include <vector>

#include "contact/pairs.h"
#include "control/joint_forces.h"
#include "integrators/lane_host.h"
#include "scree/step.h"

namespace scree {

int widest_lanes();         // 8 with AVX-512, 4 with AVX2, else 1
bool has_lanes(int lanes);  // 1, and 4 or 8 where the processor knows them
std::unique_ptr<LaneMachine> make_lanes(int lanes, const LaneSetup& setup);  // refers to `setup`

// For `model` on the ground of `world`. update_setup() takes in options of a step; it allocates nothing.
LaneSetup make_lane_setup(const Model& model, const World& world);
void update_setup(const StepOptions& options, const World& world, LaneSetup& setup);
SmoothCoefficients<double> smooth_coefficients(const Pairs& pairs, double friction,
                                               const SmoothContactOptions& options);

// What all hosts answer alike.
class ModelLaneHost : public LaneHost {
 public:
  ModelLaneHost(const Model& model, const World& world, int lanes);
  void ground(int pair, const V3<double>& p, double& distance, V3<double>& normal, M3<double>& hessian) override;
  double ground_bound(int pair, const V3<double>& p) override;
  void ball_joint(int joint, const BallControl& control, double& value, double* gradient, double* H) override;
  void displace(const double* delta, double* q) override;
  void damp(int lane, const double* jacobian, const double* residual, const double* weights) override;
  bool damped_step(int lane, double damping, double* step) override;
  double slope(int lane) override;

 protected:
  // A contact as `touches` tells of it.
  Contact contact(int pair, const V3<double>& position, const V3<double>& normal, const V3<double>& force,
                  double depth) const;
  const Model& model_;
  const World& world_;
  const Pairs pairs_;

 private:
  struct Damped {  // Levenberg-Marquardt of one lane
    Eigen::MatrixXd JWJ, shifted;
    Eigen::VectorXd JWr, x;
    double size = 0;  // sqrt of the merit
    Eigen::LLT<Eigen::MatrixXd> llt;
  };
  std::vector<Damped> damped_;
  Eigen::MatrixXd weighted_;
};

}  // namespace scree
