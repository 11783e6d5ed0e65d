// Tables for bench/peers/mujoco_contact.py, as CSV on stdout: what a motion asks for, what a run file holds.
//   scree_contact_tables motion MODEL.urdf MOTION.toml STEP DURATION   time, targets of the one-dof joints, their rates
//   scree_contact_tables run RUN.h5                                    time, all positions, deepest contact

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <exception>
#include <string>
#include <string_view>

#include "scree/error.h"
#include "scree/motion.h"
#include "scree/run.h"
#include "scree/urdf.h"

namespace {

double positive(std::string_view text, const char* name) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0) || !std::isfinite(value))
    throw scree::InputError(fmt::format("{}: '{}', expected a number of seconds > 0", name, text));
  return value;
}

void print_motion(const char* model_file, const char* motion_file, double step, double duration) {
  if (!(duration / step < 1e7))
    throw scree::InputError(fmt::format("{} s in steps of {} s, expected at most 1e7 rows", duration, step));
  const scree::Model model = scree::load_urdf(model_file);
  const scree::Motion motion = scree::load_motion(motion_file, model);
  Eigen::VectorXd q = model.neutral_position(), v = Eigen::VectorXd::Zero(model.nv());
  std::string names = "time", rates;
  for (const scree::Joint& joint : model.joints()) {
    if (velocity_count(joint.type) != 1) continue;
    names += "," + joint.name;
    rates += "," + joint.name + ".rate";
  }
  fmt::print("{}{}\n", names, rates);
  for (long k = 0; k <= std::lround(duration / step); ++k) {
    const double time = static_cast<double>(k) * step;
    motion.sample(time, q, v);
    std::string row = fmt::format("{}", time);
    for (const scree::Joint& joint : model.joints())
      if (velocity_count(joint.type) == 1) row += fmt::format(",{}", q(joint.q_index));
    for (const scree::Joint& joint : model.joints())
      if (velocity_count(joint.type) == 1) row += fmt::format(",{}", v(joint.v_index));
    fmt::print("{}\n", row);
  }
}

void print_run(const char* file) {
  const scree::LoadedRun loaded = scree::read_run(file);
  const scree::Run& run = loaded.run;
  const size_t nq = static_cast<size_t>(loaded.model.nq());
  std::string header = "time";
  for (size_t i = 0; i < nq; ++i) header += fmt::format(",q{}", i);
  fmt::print("{},penetration\n", header);
  for (size_t k = 0; k < run.rows(); ++k) {
    std::string row = fmt::format("{}", run.time[k]);
    for (size_t i = 0; i < nq; ++i) row += fmt::format(",{}", run.q(k, i));
    fmt::print("{},{}\n", row, run.penetration.empty() ? 0.0 : run.penetration[k]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string_view verb = argc > 1 ? argv[1] : "";
    if (verb == "motion" && argc == 6)
      print_motion(argv[2], argv[3], positive(argv[4], "STEP"), positive(argv[5], "DURATION"));
    else if (verb == "run" && argc == 3)
      print_run(argv[2]);
    else
      throw scree::InputError("expected: motion MODEL.urdf MOTION.toml STEP DURATION, or: run RUN.h5");
  } catch (const std::exception& error) {
    fmt::print(stderr, "scree_contact_tables: error: {}\n", error.what());
    return 2;
  }
  return 0;
}
