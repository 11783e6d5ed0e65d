// What the lanes of a pack ask their owner for: the next trajectory, targets, ground that is not flat, and the rare
// things that go lane by lane. Plain types only: its callers are compiled for different processors (math/pack.h), its
// implementations are not.
#pragma once

#include <cstdint>
#include <vector>

#include "contact/point_cluster.h"
#include "contact/smooth_contact.h"
#include "model/tree.h"

namespace scree {

// Numbers of one lane. Not a std::vector, whose functions other files share.
class LaneBuffer {
 public:
  explicit LaneBuffer(int count) : data_(new double[static_cast<size_t>(count > 0 ? count : 1)]()) {}
  ~LaneBuffer() { delete[] data_; }
  LaneBuffer(const LaneBuffer&) = delete;
  LaneBuffer& operator=(const LaneBuffer&) = delete;
  double* data() { return data_; }

 private:
  double* data_;
};

// A model, its ground and the options of a step, as the lanes see them.
struct LaneJoint {
  int q_index, v_index,
      nv;  // of a follower those of its master, whose position times `multiplier` plus `offset` it has
  bool follows, ball, limited;
  double multiplier, offset;
  double armature, damping, effort;        // as Joint
  double friction;                         // of the coordinate, at its first joint; 0 at those that follow
  double lower, upper, stiffness, margin;  // of its stops
};
// A pair by its number, as Pairs has it (contact/pairs.h): a rounded point of a body and a solid.
struct LanePair {
  int node, solid;
  V3<double> p_B;
  double radius;
  bool plane;                // the solid is the half space behind a plane; if not, LaneHost::ground is asked
  V3<double> point, normal;  // of the plane
};
struct LaneSetup {
  const Tree* tree;
  std::vector<LaneJoint> joints;
  std::vector<LanePair> pairs;
  std::vector<PointCluster> clusters;  // of these points, by their numbers
  std::vector<int> points;
  std::vector<int> solids;  // the first pair of each
  SmoothLaw law;
  bool two_stages;  // theory section 9 in place of backward Euler
  V3<double> gravity;
  double tolerance;
  int max_iterations, max_halvings;
  double max_turn;
};

// Where a trajectory starts.
struct LaneStart {
  int id;  // >= 0, of the trajectory
  const double *q, *v;
  const double* body_rates;  // 12 numbers a body, columns of [R | p]; null: from v
  const double *kp, *kd, *torque;
  SmoothCoefficients<double> coefficients;
};

// One step of one trajectory. The counters are those of StepReport.
struct LaneReport {
  bool converged = false;
  int iterations = 0, substeps = 0, rejected = 0, stages = 0, damped = 0, stationary = 0, contacts = 0;
  double smallest_step = 0, largest_step = 0, residual = 0, penetration = 0, last_step = 0;
};

class LaneHost {
 public:
  virtual ~LaneHost();
  // The next trajectory for a lane; false: none is left.
  virtual bool next(LaneStart& start) = 0;
  // Length of the next step of a trajectory [s], and when it starts; 0: it has ended.
  virtual double step_length(int id, double& time) = 0;
  // Targets of control at `time`: nq positions, nv velocities.
  virtual void targets(int id, double time, double* target, double* target_velocity) = 0;
  // A step is done, or failed (then q, v and the rates are not to be used). body_rates: null with two stages.
  virtual void stepped(int id, const LaneReport& report, const double* q, const double* v,
                       const double* body_rates) = 0;
  // Contacts at the end of a substep, in world axes, if they are wanted.
  virtual bool wants_contacts() const;
  virtual void clear_contacts();
  virtual void touches(int pair, const V3<double>& position, const V3<double>& normal, const V3<double>& force,
                       double depth);

  // Signed distance of p to the solid of a pair that is no plane, its gradient and Hessian; far above the ground any
  // distance not larger, and no gradient.
  virtual void ground(int pair, const V3<double>& p, double& distance, V3<double>& normal, M3<double>& hessian) = 0;
  // At most the distance, and cheap.
  virtual double ground_bound(int pair, const V3<double>& p) = 0;
  // Potential of a ball joint's control and stops: adds to value, gradient (3) and the upper triangle of H (3x3).
  struct BallControl {
    const double *q, *rest, *delta, *kp, *kd, *target, *target_velocity, *torque;
    double h;
  };
  virtual void ball_joint(int joint, const BallControl& control, double& value, double* gradient, double* H) = 0;
  // q <- q (+) delta
  virtual void displace(const double* delta, double* q) = 0;
  // Levenberg-Marquardt for a lane whose Newton steps fail: takes in the Jacobian (n x n, column-major), residual and
  // weights of the merit function; then steps for any damping. False: not a finite step.
  virtual void damp(int lane, const double* jacobian, const double* residual, const double* weights) = 0;
  virtual bool damped_step(int lane, double damping, double* step) = 0;
  // The largest cosine between the weighted residual and a column of the Jacobian: 0 where 1/2 |R|^2 is stationary.
  virtual double slope(int lane) = 0;
};

// Runs all trajectories of its host to their ends, `lanes()` at a time.
class LaneMachine {
 public:
  virtual ~LaneMachine();
  virtual void run(LaneHost& host) = 0;
};

}  // namespace scree
