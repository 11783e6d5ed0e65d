// The contacts of a stage: which pairs of colliders take part, and at a trial pose their geometry, the wrenches
// the ground can exert, and how these change with the pose.                                            theory section 8
//
// Pairs that come near the ground are slots of the set. A slot in the air has no force, so contacts appear and vanish
// as the trial pose moves; a pair that was left out and touches after all is added by `add_missing`.
#pragma once

#include <vector>

#include "contact/near_pairs.h"
#include "dynamics/discretisation.h"

namespace scree {

class ContactSet {
 public:
  ContactSet(const Model& model, const World& world);

  int size() const { return static_cast<int>(slots_.size()); }  // slots
  int vertex_count() const { return vertices_; }                // per slot; those the law needs for this model
  int weight_count() const { return size() * vertices_; }       // entries of w
  // Of all pairs. State keeps so many numbers, or, were it more than kMostDense, those of the slots alone.
  size_t all_weights() const { return static_cast<size_t>(pairs_.count()) * static_cast<size_t>(vertices_); }

  // Of slots, before dense matrices of them fill a gigabyte.
  static constexpr int kMostWeights = 6000;
  // Takes the pairs that are within `margin` [m] of touching at the pose `kin` as slots, or, had they more than
  // kMostWeights, those that may touch there; none counts yet. First order
  // asks the law for its derivative; zeroth order learns how it depends on depth from the poses it is evaluated at.
  // Forces count once, or, `scaled`, as take_out_impacts has it.
  void select(const Kinematics<double>& kin, double margin, bool first_order, bool scaled = false);
  // Adds the pairs that touch at the pose of the last `evaluate` and are not slots. How many?
  int add_missing(const Kinematics<double>& kin);
  // Lets slots that can exert a force at this pose take part in the kinetic energy, from now on. Did one join?
  bool count_touching();

  // The slots as they are, and a selection of just these: a stage looked at again.
  struct Pick {
    int pair;
    bool counted;
  };
  void picks(std::vector<Pick>& out) const;
  void select(const std::vector<Pick>& picks, bool scaled);
  double depth(int slot) const { return slots_[static_cast<size_t>(slot)].depth; }  // [m] at the trial pose
  bool can_push(int slot) const { return depth(slot) > -reach_; }

  // Warm starts: weights as State keeps them, to and from weights by slot.
  void load_weights(const std::vector<double>& from, Eigen::VectorXd& w) const;
  void store_weights(const Eigen::VectorXd& w, std::vector<double>& to);
  // At the end of a step: weights, and the load of every pair [N]: its normal force, but not more than twice what it
  // was at the start of the step, or the weight of the robot. What exceeds that is an impact and no load.
  // theory (9.3)
  void store(const Eigen::VectorXd& w, State& state);

  // Clusters of points and points that were held against the ground, and slots whose vertices the law was asked for, so
  // far: measures of work.
  long looks() const { return looks_ + near_.looks(); }
  long laws() const { return laws_; }

  // Geometry and wrenches at a trial pose. Everything below speaks of it.
  void evaluate(const Kinematics<double>& kin);
  // r_a -= xi_a . W, W the wrench of weights w.                                                        theory (8.5)
  void add_forces(const Kinematics<double>& kin, const Eigen::VectorXd& w, double* residual);
  // The derivative of that, into a full column-major matrix.                                           theory (8.6)
  void add_jacobian(const Kinematics<double>& kin, const Eigen::VectorXd& w, double* jacobian);
  // B = dr/dw, nv x weight_count().                                                                    theory (8.5)
  void force_columns(const Kinematics<double>& kin, Eigen::Ref<Eigen::MatrixXd> B) const;

  // The slots that can exert a force at this pose. `force_rows` are the generalized forces of unit forces along the
  // axes of their contact frames, and with moments() of unit moments: dimension() columns a slot, nv rows, row-major.
  // The vertices of an active slot are combinations of them, the columns of vertices(slot).
  const std::vector<int>& active() const { return active_; }
  void find_active();
  int dimension() const { return dimension_; }
  void force_rows(const Kinematics<double>& kin, double* out) const;
  auto vertices(int slot) const {
    return local_.block(0, static_cast<Eigen::Index>(slot) * vertices_, dimension_, vertices_);
  }

  // Velocities of the counted surface points, 3 rows a slot (zero where not counted), and their derivatives.
  // theory (8.4), (8.7)
  void velocities(Discretisation& stage, Eigen::Ref<Eigen::VectorXd> u) const;
  void velocity_rows(Discretisation& stage, Eigen::Ref<Eigen::MatrixXd> U) const;

  // Jacobian of the counted surface points of bodies moving with kin.xi, 3 rows a slot.
  void point_jacobian(const Kinematics<double>& kin, Eigen::Ref<Eigen::MatrixXd> J) const;

  // The second stage of a step, theory (9.3), (9.10). Of the forces f at this pose, a pair that carried the load f_n at
  // the start of the step keeps the share theta = min(1, 2 f_n / f); the accelerations of the rest, J^T (1 - theta) f,
  // are added to `forces`. In the next selection its forces count (1 - (1 - gamma) theta) / gamma times.
  void take_out_impacts(Discretisation& first, const Eigen::VectorXd& w, const State& state,
                        const std::vector<Twist<double>>& start, Eigen::VectorXd& forces);

  // Slots whose force Newton's method may hold while the pose moves. A slot with weight that does not use all that its
  // polytope offers has a force that does not depend on how deep it is, theory (8.18). `settle` takes the slots with
  // weight as candidates; `hold` holds those of them that use less than all: add_jacobian then leaves out their slope
  // by depth. After the next `evaluate`, `keep_forces` scales the weights of the held ones so that their forces stay;
  // one whose polytope has become too small uses all of it, and is no candidate any more.
  void settle(const Eigen::VectorXd& w);
  void settle_none();
  void hold(const Eigen::VectorXd& w);
  void keep_forces(Eigen::VectorXd& w);
  // The share of the way from the pose of the last `hold` to this one that leaves every slot with weight in the ground,
  // at a tenth of its depth; 1 if they all are.
  double share_in_ground(const Eigen::VectorXd& w) const;

  // Contacts in the ground or with a force, ordered by a and b.
  void report(const Kinematics<double>& kin, const Eigen::VectorXd& w, std::vector<Contact>& out);

 private:
  struct Slot {
    int pair;
    double scale;        // of its forces
    bool settled, held;  // see settle, hold
    double held_depth;   // [m] at the last hold
    bool counted;        // takes part in the kinetic energy
    bool empty;          // its vertices are zero
    // at the trial pose, positions relative to the origin of the kinematics
    double depth;
    Proximity at;
    ContactFrame frame;
    double learnt_depth;  // zeroth order: where the law was evaluated before, at least 0
    ContactGeometry geometry;
  };
  void start_selection(bool first_order, bool scaled);
  void add_slot(int pair);
  const std::vector<int>& slots_by_pair();
  void learn(size_t slot);
  void evaluate(const Kinematics<double>& kin, size_t slot);
  Wrench<double> wrench_of(size_t slot, const Eigen::VectorXd& w) const;
  V3<double> surface_change(const Slot& slot, const Twist<double>& xi) const;

  const Model& model_;
  const Tree& tree_;
  const World& world_;
  Pairs pairs_;
  NearPairs near_;
  std::vector<int> used_;  // of the vertices the law offers; empty: all
  int vertices_, dimension_;
  double reach_;
  double weight_ = 0;  // [N]
  std::vector<Slot> slots_;
  std::vector<int> slot_of_;              // by pair, -1: not a slot
  std::vector<int> order_;                // slots by pair
  std::vector<Wrench<double>> wrenches_;  // vertices in world axes about the origin, by slot
  // Vertices in the contact frames, by slot; zeroth order: those at `learnt_depth`, and their slopes since.
  Wrenches local_, learnt_, slope_;
  Wrenches offered_;         // by the law, to one slot
  Eigen::VectorXd weights_;  // of one slot, of all that the law offers
  std::vector<int> active_;
  std::vector<double> sizes_;   // of the vertices, at the last `hold`
  std::vector<double> scales_;  // by pair, of the next scaled selection
  bool scaled_ = false;
  bool first_order_ = true;
  long looks_ = 0, laws_ = 0;
};

}  // namespace scree
