// A step of `event` in which closed contacts last.                                                        theory (15.3)
#pragma once

#include "integrators/substeps.h"
#include "integrators/workspace.h"

namespace scree {

// The contacts are ws.event.active; the state after a try is ws.event.trial, forces are in ws.contacts.
class LastingStep {
 public:
  LastingStep(const Control& control, const StepOptions& options, const State& state, StepWorkspace::Impl& ws,
              StepReport& report)
      : control_(control),
        options_(options),
        event_(options.event),
        state_(state),
        ws_(ws),
        c_(ws.event),
        report_(report),
        first_(ws.event.first) {}

  void begin();                                            // with ws.dynamics at the state
  const char* attempt(double h);                           // why it failed; null: it did not
  double work() const { return work_; }                    // [J] of drives, joint damping and friction in it
  double friction_work() const { return friction_work_; }  // [J] of that, <= 0
  // The last attempt failed because no finite force keeps the contacts closed, and with what velocity they approach
  // then.
  bool impulsive() const { return impulsive_ == Impulsive::yes; }
  const Eigen::VectorXd& approaching_velocity() const { return v_approaching_; }
  bool is_jump(const Eigen::VectorXd& v);  // from the state's velocity
  void dismiss() { impulsive_ = Impulsive::no; }

 private:
  const Kinematics<double>& kinematics() const { return DynamicsAccess::impl(ws_.dynamics).kinematics; }
  RigidContact contact(int pair) const { return rigid_contact(ws_.pairs, kinematics(), pair); }
  bool solve_step(double h, SubstepResult& result);
  // In the middle of the step, c_.middle having the pose there and the velocity at the start, contacts do not approach
  // and friction opposes their slip. `pairs` are at the start of the step, or, in a second pass, at the end of the
  // `first`. Leaves h v in ws.delta, h times the velocity without contact in ws.trial_delta, and slots with forces in
  // ws.lcp. False: not solved.                                                                           theory (15.3)
  bool solve_contacts(const std::vector<LastingPair>& pairs, const Control& control, double h, SubstepResult& result,
                      const LastingPass* first = nullptr);
  bool solve_pass(const std::vector<LastingPair>& pairs, const Control& control, double h, SubstepResult& result,
                  const LastingPass* first);
  void store_contacts();
  void find_work(double h);
  bool prepare_rows();
  void solve_rows(Eigen::Index m);
  bool push_rows(Eigen::Index m);
  bool put_on_surface(Eigen::VectorXd& q);
  void take_all_normals();
  bool push_out(Eigen::VectorXd& q);
  bool displace(Eigen::VectorXd& q, double sign, bool one_sided);
  bool stop_approach(State& at);
  bool find_impulsive(double h, const Control& control);
  bool shorten_flow();
  double distance(const Eigen::VectorXd& v);
  void set_end(double h);
  void describe(const Eigen::VectorXd& v);

  const Control& control_;
  const StepOptions& options_;
  const EventOptions& event_;
  const State& state_;
  StepWorkspace::Impl& ws_;
  EventScratch& c_;
  StepReport& report_;
  enum class Impulsive { unknown, no, yes } impulsive_ = Impulsive::no;
  Eigen::VectorXd v_approaching_;
  double work_ = 0, friction_work_ = 0;
  LastingPass& first_;
};

}  // namespace scree
