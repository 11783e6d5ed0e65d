// Explores the outcomes of set-valued impacts: Algorithms 1 and 2 of the dissertation (`uniform`), and trajectories
// that stay with a choice, followed by a search for extremes (`persistent`).
#include "scree/outcome_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>

#include "base/in_parallel.h"
#include "base/names.h"
#include "impact/outcome_setup.h"
#include "scree/error.h"

namespace scree {
namespace {

constexpr const char* kSamplers[] = {"uniform", "persistent"};
constexpr int kMostContacts = 60;  // of the persistent sampler's searches: one for every row of Jn and Jt
// Of the persistent sampler (its draws: explorer.h):
constexpr double kSearched = 0.5;  // share of the samples that searches extremes
constexpr size_t kClimbers = 64;   // at most, best trajectories from which a direction is searched
constexpr int kTries = 6;          // of each of them before the worse half is left
constexpr double kNiche = 0.1;     // of |v_0|_M: nearer outcomes are not searched from twice

struct Tally {
  long finished = 0, unfinished = 0, failed = 0, increments = 0, at_rest = 0;
  int most_increments = 0;
  double largest_impulse = 0, worst_residual = 0, largest_gain = 0;
  double least_energy = std::numeric_limits<double>::infinity(), most_energy = 0;
  std::map<std::vector<ContactMode>, long> modes;

  void add(const Tally& other) {
    finished += other.finished;
    unfinished += other.unfinished;
    failed += other.failed;
    increments += other.increments;
    at_rest += other.at_rest;
    most_increments = std::max(most_increments, other.most_increments);
    largest_impulse = std::max(largest_impulse, other.largest_impulse);
    worst_residual = std::max(worst_residual, other.worst_residual);
    largest_gain = std::max(largest_gain, other.largest_gain);
    least_energy = std::min(least_energy, other.least_energy);
    most_energy = std::max(most_energy, other.most_energy);
    for (const auto& [mode, count] : other.modes) modes[mode] += count;
  }
};

// What the trajectories of one task found.
struct Found {
  Tally tally;
  Eigen::MatrixXd y;          // columns: outcomes
  std::vector<long> samples;  // theirs
  std::vector<std::vector<Eigen::VectorXd>> paths;
};

class Sampling {
 public:
  Sampling(const ImpactProblem& problem, const OutcomeOptions& options, const std::function<bool(long, long)>& progress)
      : problem_(problem),
        options_(options),
        progress_(progress),
        setup_(problem, options, true),
        system_(setup_.system) {
    choose_directions();
  }

  OutcomeSet run() {
    const bool search = options_.sampler == OutcomeSampler::persistent && directions_.rows() > 0;
    const long searches = search ? static_cast<long>(kSearched * static_cast<double>(options_.samples)) : 0;
    const long drawn = options_.samples - searches;
    sample(drawn);
    if (!stopped_) find_best();
    if (searches > 0 && !stopped_) search_extremes(searches);
    return collect();
  }

 private:
  int contacts() const { return system_.contacts(); }

  // c.v = (L^-1 c).y
  void choose_directions() {
    directions_ = options_.directions;
    if (directions_.size() == 0) {
      const Eigen::Index rows = problem_.Jn.rows() + problem_.Jt.rows();
      directions_.resize(2 * rows, problem_.dofs());
      for (Eigen::Index i = 0; i < rows; ++i) {
        const bool normal = i < problem_.Jn.rows();
        directions_.row(2 * i) = normal ? problem_.Jn.row(i) : problem_.Jt.row(i - problem_.Jn.rows());
        directions_.row(2 * i + 1) = -directions_.row(2 * i);
      }
      if (contacts() > kMostContacts) directions_.resize(0, problem_.dofs());
    }
    directions_y_ = directions_;
    if (directions_.rows() > 0) directions_y_ = system_.all.normalised(directions_);
  }

  template <class Body> void in_parallel(long tasks, Body&& body) {
    std::atomic<long> next = 0;
    scree::in_parallel(thread_count(options_.threads), [&] {
      Explorer explorer(system_, options_, setup_.step, setup_.closing);
      for (long task = next++; task < tasks && !stopped_; task = next++) body(explorer, task);
    });
  }

  void report(long done) {
    if (!progress_) return;
    const std::lock_guard lock(mutex_);
    done_ += done;
    if (!progress_(done_, options_.samples)) stopped_ = true;
  }

  void count(const RouthWalker& walker, Eigen::Ref<Eigen::VectorXd> y, Tally& tally, std::vector<ContactMode>& mode) {
    setup_.blend(y);
    ++tally.finished;
    tally.most_increments = std::max(tally.most_increments, walker.increments());
    tally.largest_impulse = std::max(tally.largest_impulse, walker.impulse());
    const double energy = y.squaredNorm();
    tally.least_energy = std::min(tally.least_energy, energy);
    tally.most_energy = std::max(tally.most_energy, energy);
    tally.at_rest += setup_.classify(y, mode);
    ++tally.modes[mode];
  }

  void finish(const Explorer& explorer, Tally& tally) {
    tally.worst_residual = explorer.walker.worst_residual;
    tally.largest_gain = explorer.walker.largest_gain;
  }

  void sample(long samples) {
    drawn_ = samples;
    // Trajectories a task, fewer of large problems, so that an interrupt does not wait.
    const long chunk = std::clamp(2000L / (contacts() * contacts()), 1L, 256L);
    found_.resize(static_cast<size_t>((samples + chunk - 1) / chunk));
    in_parallel(static_cast<long>(found_.size()), [&](Explorer& explorer, long task) {
      const long first = task * chunk, last = std::min(samples, first + chunk);
      Found found;
      found.y.resize(problem_.dofs(), last - first);
      std::vector<ContactMode> mode(static_cast<size_t>(contacts()));
      std::vector<Eigen::VectorXd> path;
      for (long index = first; index < last; ++index) {
        RandomStream random(options_.seed, sample_stream(index));
        const bool keep = index < options_.paths;
        const TrajectoryEnd end = explorer.sample(random, keep ? &path : nullptr);
        found.tally.increments += explorer.walker.increments();
        found.tally.unfinished += end == TrajectoryEnd::unfinished;
        found.tally.failed += end == TrajectoryEnd::failed;
        if (end != TrajectoryEnd::finished) continue;
        auto y = found.y.col(found.tally.finished);
        y = explorer.walker.y();
        found.samples.push_back(index);
        count(explorer.walker, y, found.tally, mode);
        if (keep) found.paths.push_back(path);
        if (keep && setup_.restitution > 0) found.paths.back().push_back(y);
      }
      finish(explorer, found.tally);
      found.y.conservativeResize(Eigen::NoChange, found.tally.finished);
      found_[static_cast<size_t>(task)] = std::move(found);
      report(last - first);
    });
  }

  struct Climber {
    double value;
    Eigen::VectorXd y;
    long sample;
    Program program;
  };

  // The best samples in every direction, no two of them near each other.
  void find_best() {
    const Eigen::Index directions = directions_y_.rows();
    climbers_.resize(static_cast<size_t>(directions));
    extremes_.resize(climbers_.size());
    for (const Found& found : found_) {
      const Eigen::MatrixXd values = directions_y_ * found.y;
      for (Eigen::Index k = 0; k < values.cols(); ++k)
        for (Eigen::Index c = 0; c < directions; ++c)
          enter(climbers_[static_cast<size_t>(c)], values(c, k), found.y.col(k), found.samples[static_cast<size_t>(k)]);
    }
    in_parallel(directions, [&](Explorer& explorer, long c) {
      for (Climber& climber : climbers_[static_cast<size_t>(c)]) {
        RandomStream random(options_.seed, sample_stream(climber.sample));
        explorer.sample(random, nullptr);
        climber.program = explorer.program;
        if (&climber == &climbers_[static_cast<size_t>(c)].front()) record(explorer, static_cast<size_t>(c));
      }
    });
  }

  void enter(std::vector<Climber>& list, double value, const Eigen::Ref<const Eigen::VectorXd>& y, long sample) const {
    if (list.size() == kClimbers && !(value > list.back().value)) return;
    const auto near = [&](const Climber& other) { return (other.y - y).norm() <= kNiche * system_.speed; };
    const auto neighbour = std::find_if(list.begin(), list.end(), near);
    if (neighbour != list.end()) {
      if (!(value > neighbour->value)) return;
      list.erase(neighbour);
    }
    if (list.size() == kClimbers) list.pop_back();
    const auto at = std::find_if(list.begin(), list.end(), [&](const Climber& other) { return value > other.value; });
    list.insert(at, {value, y, sample, Program(contacts())});
  }

  // Runs the program at hand once more for its path.
  void record(Explorer& explorer, size_t c) {
    RandomStream none(0, 0);
    std::vector<Eigen::VectorXd> path;
    const Program kept = explorer.program;
    explorer.run(none, &path);
    explorer.program = kept;
    Eigen::VectorXd y = explorer.walker.y();
    setup_.blend(y);
    OutcomeExtreme& extreme = extremes_[c];
    extreme.value = directions_y_.row(static_cast<Eigen::Index>(c)).dot(y);
    extreme.v = system_.all.to_v(y);
    if (setup_.restitution > 0) path.push_back(y);
    extreme.path.clear();
    for (const Eigen::VectorXd& point : path) extreme.path.push_back(system_.all.to_v(point));
  }

  // Every climber tries small changes of its choices and keeps what is better; the better half of them goes on, with
  // twice the tries, until one is left.
  void search_extremes(long searches) {
    const long directions = directions_y_.rows();
    std::vector<Found> found(climbers_.size());
    in_parallel(directions, [&](Explorer& explorer, long c) {
      Found& mine = found[static_cast<size_t>(c)];
      std::vector<Climber>& climbers = climbers_[static_cast<size_t>(c)];
      const long first = searches * c / directions, budget = searches * (c + 1) / directions - first;
      mine.y.resize(problem_.dofs(), budget);
      std::vector<ContactMode> mode(static_cast<size_t>(contacts()));
      long used = 0;
      const auto climb = [&](Climber& climber, long tries) {
        for (; tries > 0 && used < budget; --tries, ++used) {
          RandomStream random(options_.seed, search_stream(first + used));
          explorer.program = climber.program;
          explorer.mutate(random);
          const TrajectoryEnd end = explorer.run(random, nullptr);
          mine.tally.increments += explorer.walker.increments();
          mine.tally.unfinished += end == TrajectoryEnd::unfinished;
          mine.tally.failed += end == TrajectoryEnd::failed;
          if (end != TrajectoryEnd::finished) continue;
          auto y = mine.y.col(mine.tally.finished);
          y = explorer.walker.y();
          count(explorer.walker, y, mine.tally, mode);
          const double value = directions_y_.row(c).dot(y);
          if (!(value > climber.value)) continue;
          climber.value = value;
          climber.program = explorer.program;
          if (value > extremes_[static_cast<size_t>(c)].value) record(explorer, static_cast<size_t>(c));
        }
      };
      // Rounds of as many tries each: n climbers, n/2 with twice the tries, ...
      const size_t affordable = static_cast<size_t>(budget / (kTries * (1 + std::lround(std::log2(kClimbers)))));
      climbers.resize(std::min(climbers.size(), std::max<size_t>(1, affordable)), Climber{});
      for (long tries = kTries; climbers.size() > 1; tries *= 2) {
        for (Climber& climber : climbers) climb(climber, tries);
        std::stable_sort(climbers.begin(), climbers.end(),
                         [](const Climber& a, const Climber& b) { return a.value > b.value; });
        climbers.resize((climbers.size() + 1) / 2, Climber{});
      }
      if (!climbers.empty()) climb(climbers.front(), budget);
      finish(explorer, mine.tally);
      mine.y.conservativeResize(Eigen::NoChange, mine.tally.finished);
      report(budget);
    });
    for (Found& each : found) found_.push_back(std::move(each));
  }

  OutcomeSet collect() {
    OutcomeSet set;
    set.step = setup_.step;
    set.samples = options_.samples;
    set.interrupted = stopped_;
    Tally tally;
    for (const Found& found : found_) tally.add(found.tally);
    set.finished = tally.finished;
    set.unfinished = tally.unfinished;
    set.failed = tally.failed;
    if (stopped_) set.samples = tally.finished + tally.unfinished + tally.failed;
    set.increments = tally.increments;
    set.most_increments = tally.most_increments;
    set.at_rest = tally.at_rest;
    set.largest_gain = tally.largest_gain;
    set.worst_residual = tally.worst_residual;
    set.largest_impulse = tally.largest_impulse;
    const double energy = system_.y0.squaredNorm();
    if (tally.finished > 0 && energy > 0) set.energy_ratio = {tally.least_energy / energy, tally.most_energy / energy};
    for (const auto& [mode, count] : tally.modes) set.modes.push_back({mode, count});
    std::stable_sort(set.modes.begin(), set.modes.end(),
                     [](const OutcomeMode& a, const OutcomeMode& b) { return a.count > b.count; });
    set.v.resize(problem_.dofs(), tally.finished);
    Eigen::Index column = 0;
    for (Found& found : found_) {
      for (Eigen::Index k = 0; k < found.y.cols(); ++k) set.v.col(column++) = system_.all.to_v(found.y.col(k));
      for (std::vector<Eigen::VectorXd>& path : found.paths) {
        for (Eigen::VectorXd& point : path) point = system_.all.to_v(point);
        set.paths.push_back(std::move(path));
      }
      found = {};
    }
    set.extremes = std::move(extremes_);
    // How far outcomes may approach; the elastic one that they are blended with by the tolerance of its law.
    Eigen::VectorXd approach = system_.separated;
    if (setup_.restitution > 0)
      approach = approach.cwiseMax(ImpactOptions().tolerance * system_.speed *
                                   system_.all.J().topRows(contacts()).rowwise().norm());
    for (size_t c = 0; c < set.extremes.size(); ++c) {
      OutcomeExtreme& extreme = set.extremes[c];
      Eigen::Index best = 0;
      const double value = set.v.cols() > 0 ? (directions_.row(static_cast<Eigen::Index>(c)) * set.v).maxCoeff(&best)
                                            : -std::numeric_limits<double>::infinity();
      if (value > extreme.value) {
        extreme.value = value;
        if (!(extreme.v.size() > 0 && extreme.v == set.v.col(best))) extreme.path = {problem_.v, set.v.col(best)};
        extreme.v = set.v.col(best);
      }
      const Eigen::VectorXd direction = directions_y_.row(static_cast<Eigen::Index>(c)).transpose();
      extreme.direction = directions_.row(static_cast<Eigen::Index>(c)).transpose();
      // Energy as it was found, rounding included; and what rounding of v and c.v may add.
      const double radius = std::sqrt(std::max(energy, tally.most_energy));
      const double terms = extreme.v.size() > 0 ? extreme.direction.cwiseAbs().dot(extreme.v.cwiseAbs()) : 0;
      extreme.bound = outer_bound(setup_.generators, system_.all.J().topRows(contacts()), approach, system_.y0, radius,
                                  direction, setup_.impulse) +
                      4 * static_cast<double>(problem_.dofs()) * std::numeric_limits<double>::epsilon() * terms;
    }
    set.r = Eigen::VectorXd::Zero(problem_.dofs());
    if (setup_.impulse.exists) {
      set.r_norm = setup_.impulse.r.norm();
      set.impulse_bound = 2 * set.r_norm * system_.speed;
      set.r = Eigen::LLT<Eigen::MatrixXd>(problem_.M).matrixL() * setup_.impulse.r;
    }
    return set;
  }

  const ImpactProblem& problem_;
  const OutcomeOptions& options_;
  const std::function<bool(long, long)>& progress_;
  OutcomeSetup setup_;
  const RouthSystem& system_;
  Eigen::MatrixXd directions_, directions_y_;
  std::vector<Found> found_;
  std::vector<std::vector<Climber>> climbers_;  // of every direction, best first
  std::vector<OutcomeExtreme> extremes_;
  long drawn_ = 0, done_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
};

}  // namespace

const char* outcome_sampler_name(OutcomeSampler sampler) { return kSamplers[static_cast<int>(sampler)]; }

OutcomeSampler outcome_sampler_from_name(const std::string& name) {
  const std::vector<std::string> names(std::begin(kSamplers), std::end(kSamplers));
  for (size_t k = 0; k < names.size(); ++k)
    if (name == names[k]) return static_cast<OutcomeSampler>(k);
  throw InputError(fmt::format("unknown sampler \"{}\"{}", name, suggestion(name, names)));
}

void OutcomeOptions::validate(const ImpactProblem& problem) const {
  const auto fail = [](const char* name, auto value, const std::string& expected) {
    throw InputError(fmt::format("{}: {}, expected {}", name, value, expected));
  };
  const long most = kMaxNumbers / std::max(1, problem.dofs());
  if (samples < 1 || samples > most) fail("samples", samples, fmt::format("1 to {}", most));
  if (!(step >= 0 && step <= 1e30)) fail("step", step, "a number >= 0 [N s]");
  if (max_steps < 1) fail("max_steps", max_steps, "at least 1");
  if (!(closing >= 0 && closing <= 1e30)) fail("closing", closing, "a number >= 0");
  if (friction_directions < 3 || friction_directions > 64) fail("friction_directions", friction_directions, "3 to 64");
  if (!(separated >= 1e-14 && separated <= 1e-3)) fail("separated", separated, "a number in [1e-14, 1e-3]");
  if (threads < 0 || threads > 1024) fail("threads", threads, "0 to 1024");
  if (paths < 0) fail("paths", paths, "at least 0");
  if (directions.size() > 0 && directions.cols() != problem.dofs())
    fail("directions", directions.cols(), fmt::format("{} columns, one a dof", problem.dofs()));
  if (!directions.allFinite()) fail("directions", "a number that is not finite", "finite numbers");
}

std::string OutcomeMode::name() const {
  constexpr const char* kVerbs[] = {"sticks", "slides", "opens"};
  std::string text;
  for (size_t i = 0; i < contacts.size(); ++i) {
    text += fmt::format("{}{} {}", i > 0 ? ", " : "", impact_contact_label(static_cast<int>(i)),
                        kVerbs[static_cast<size_t>(contacts[i])]);
  }
  return text;
}

Interval OutcomeSet::range(const Eigen::VectorXd& c) const {
  if (v.cols() == 0) return {std::nan(""), std::nan("")};
  const Eigen::VectorXd values = v.transpose() * c;
  return {values.minCoeff(), values.maxCoeff()};
}

// Andrew's monotone chain.
Eigen::MatrixXd OutcomeSet::hull(const Eigen::VectorXd& a, const Eigen::VectorXd& b) const {
  using Point = std::array<double, 2>;
  std::vector<Point> points(static_cast<size_t>(v.cols()));
  for (Eigen::Index k = 0; k < v.cols(); ++k) points[static_cast<size_t>(k)] = {a.dot(v.col(k)), b.dot(v.col(k))};
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  std::vector<Point> corners;
  const auto turn = [](const Point& o, const Point& p, const Point& q) {
    return (p[0] - o[0]) * (q[1] - o[1]) - (p[1] - o[1]) * (q[0] - o[0]);
  };
  for (int side = 0; side < 2 && points.size() > 2; ++side) {
    const size_t first = corners.size();
    for (const Point& p : points) {
      while (corners.size() >= first + 2 && turn(corners[corners.size() - 2], corners.back(), p) <= 0)
        corners.pop_back();
      corners.push_back(p);
    }
    corners.pop_back();
    std::reverse(points.begin(), points.end());
  }
  if (points.size() <= 2) corners = points;
  Eigen::MatrixXd out(2, static_cast<Eigen::Index>(corners.size()));
  for (size_t k = 0; k < corners.size(); ++k) out.col(static_cast<Eigen::Index>(k)) << corners[k][0], corners[k][1];
  return out;
}

OutcomeSet sample_outcomes(const ImpactProblem& problem, const OutcomeOptions& options,
                           const std::function<bool(long, long)>& progress) {
  problem.validate();
  options.validate(problem);
  return Sampling(problem, options, progress).run();
}

ImpactResult sample_outcome(const ImpactProblem& problem, const OutcomeOptions& options, long index) {
  problem.validate();
  options.validate(problem);
  if (index < 0) throw InputError(fmt::format("index: {}, expected at least 0", index));
  return OutcomeDraw(problem, options).sample(options.seed, index, nullptr);
}

}  // namespace scree
