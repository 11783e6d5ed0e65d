// Trajectories of set-valued impacts: draws their choices, or follows and changes given ones.       theory (14.10)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/random.h"
#include "impact/routh_set.h"
#include "scree/outcome_set.h"

namespace scree {

// The choices of a trajectory, so that it can be repeated and changed.
struct Program {
  Program() = default;
  explicit Program(int contacts) : m(static_cast<size_t>(contacts)) {}
  size_t m = 0;
  std::vector<int> contact;
  std::vector<Increment::Pick> pick;
  std::vector<std::uint64_t> seed;
  std::vector<double> caps;  // m for each increment

  size_t size() const { return contact.size(); }
  void clear() {
    contact.clear();
    pick.clear();
    seed.clear();
    caps.clear();
  }
  void resize(size_t n) {
    contact.resize(n);
    pick.resize(n);
    seed.resize(n);
    caps.resize(n * m);
  }
  void push(int i) {
    contact.push_back(i);
    pick.push_back(Increment::Pick::ones);
    seed.push_back(0);
    caps.resize(caps.size() + m, 0.0);
  }
  void erase(size_t k) {
    const auto at = [](auto& x, size_t i) { return x.begin() + static_cast<std::ptrdiff_t>(i); };
    contact.erase(at(contact, k));
    pick.erase(at(pick, k));
    seed.erase(at(seed, k));
    caps.erase(at(caps, k * m), at(caps, (k + 1) * m));
  }
  void rotate(size_t k) {  // the last increment becomes number k
    const auto at = [](auto& x, size_t i) { return x.begin() + static_cast<std::ptrdiff_t>(i); };
    std::rotate(at(contact, k), contact.end() - 1, contact.end());
    std::rotate(at(pick, k), pick.end() - 1, pick.end());
    std::rotate(at(seed, k), seed.end() - 1, seed.end());
    std::rotate(at(caps, k * m), caps.end() - static_cast<std::ptrdiff_t>(m), caps.end());
  }
  double* caps_of(size_t k) { return caps.data() + k * m; }
  Increment increment(size_t k) const {
    const double* c = caps.data() + k * m;
    return {contact[k], contact[k] < 0 ? c : c + contact[k], pick[k], seed[k]};
  }
};

enum class TrajectoryEnd { finished, unfinished, failed };

// One for each thread. Allocates nothing once programs have reached their length, unless solutions are listed.
class Explorer {
 public:
  Explorer(const RouthSystem& system, const OutcomeOptions& options, double step, double closing)
      : walker(system), program(system.contacts()), system_(system), options_(options), step_(step) {
    closing_.assign(static_cast<size_t>(system.contacts()), closing);
    approaching_.reserve(closing_.size());
  }

  // Draws every choice.
  TrajectoryEnd sample(RandomStream& random, std::vector<Eigen::VectorXd>* path) {
    program.clear();
    together_ = options_.sampler == OutcomeSampler::uniform || random.chance(kTogether);
    return run(random, path);
  }

  // Follows `program`, leaves out what has become idle, then draws.
  TrajectoryEnd run(RandomStream& random, std::vector<Eigen::VectorXd>* path) {
    walker.start();
    if (path) path->assign(1, walker.y());
    size_t k = 0;
    while (walker.approaching()) {
      if (walker.increments() >= options_.max_steps) return close(path);
      while (k < program.size() && idle(program.contact[k])) program.erase(k);
      if (k == program.size()) draw(random);
      if (!walker.advance(program.increment(k))) return TrajectoryEnd::failed;
      if (path) path->push_back(walker.y());
      ++k;
    }
    program.resize(k);
    return TrajectoryEnd::finished;
  }

  // Changes one choice or a few of them, a little or altogether.
  void mutate(RandomStream& random) {
    together_ = random.chance(kTogether);
    do {
      mutate_once(random);
    } while (random.chance(kFurther));
  }

  RouthWalker walker;
  Program program;  // of the last trajectory

 private:
  static constexpr double kTogether = 0.3;  // trajectories of uniform draws for all contacts
  static constexpr double kAlone = 0.25;    // of others: increments of one contact
  static constexpr double kNone = 0.35;     // contacts of other increments that have no allowance
  static constexpr double kWhole = 0.5;     // allowances that are all of `step`
  static constexpr double kDecades = 2.6;   // others: log-uniform over so many decades
  static constexpr double kListed = 0.02;   // increments that pick one of all solutions, of small problems
  static constexpr double kFurther = 0.3;   // changes followed by another

  bool idle(int contact) const {
    return contact >= 0 && walker.normal_velocity()(contact) >= -system_.separated(contact);
  }

  // Algorithm 2: one small increment of all contacts.
  TrajectoryEnd close(std::vector<Eigen::VectorXd>* path) {
    if (options_.closing == 0) return TrajectoryEnd::unfinished;
    if (!walker.advance({-1, closing_.data()})) return TrajectoryEnd::failed;
    if (path) path->push_back(walker.y());
    return walker.approaching() ? TrajectoryEnd::unfinished : TrajectoryEnd::finished;
  }

  // One contact acts alone, all of them act at uniform rates, or each acts not at all, without limit or for a
  // while.
  void draw(RandomStream& random) {
    approaching_.clear();
    for (int i = 0; i < system_.contacts(); ++i)
      if (!idle(i)) approaching_.push_back(i);
    const int any = approaching_[static_cast<size_t>(random.below(static_cast<int>(approaching_.size())))];
    const bool alone = !together_ && system_.contacts() > 1 && random.chance(kAlone);
    program.push(alone ? any : -1);
    double* caps = program.caps_of(program.size() - 1);
    for (size_t i = 0; i < program.m; ++i) caps[i] = together_ ? step_ * random.uniform() : share(random);
    if (!together_) caps[any] = allowance(random);  // something moves
    pick_solution(random, program.size() - 1);
  }

  // Of several solutions. Lemke's algorithm does not come upon all of them; listing takes some hundred times as long.
  void pick_solution(RandomStream& random, size_t k) {
    if (!options_.vary_solutions) return;
    const bool listed = options_.sampler == OutcomeSampler::persistent && random.chance(kListed);
    program.pick[k] = listed ? Increment::Pick::listed : Increment::Pick::drawn;
    program.seed[k] = random.bits();
  }

  double share(RandomStream& random) const { return random.chance(kNone) ? 0 : allowance(random); }
  double allowance(RandomStream& random) const {
    return random.chance(kWhole) ? step_ : step_ * std::pow(10, -kDecades * random.uniform());
  }

  void mutate_once(RandomStream& random) {
    if (program.size() == 0) return;
    const size_t k = static_cast<size_t>(random.below(static_cast<int>(program.size())));
    double* caps = program.caps_of(k);
    const double kind = random.uniform();
    if (kind < 0.6) {
      const double size = std::pow(10, -4 * random.uniform());
      const size_t only = static_cast<size_t>(random.below(2 * system_.contacts())), m = program.m;
      for (size_t i = 0; i < m; ++i)
        if (only >= m || only == i || program.contact[k] >= 0)
          caps[i] = std::min(step_, caps[i] * std::exp(size * (2 * random.uniform() - 1)));
    } else if (kind < 0.7) {
      caps[program.contact[k] >= 0 ? program.contact[k] : random.below(system_.contacts())] = share(random);
    } else if (kind < 0.8) {
      program.erase(k);
    } else if (kind < 0.85) {
      program.push(-1);
      double* fresh = program.caps_of(program.size() - 1);
      for (size_t i = 0; i < program.m; ++i) fresh[i] = share(random);
      program.rotate(k);
    } else if (kind < 0.92 && options_.vary_solutions) {
      pick_solution(random, k);
    } else {
      program.resize(k);
    }
  }

  const RouthSystem& system_;
  const OutcomeOptions& options_;
  double step_;
  bool together_ = true;
  std::vector<double> closing_;
  std::vector<int> approaching_;
};

}  // namespace scree
