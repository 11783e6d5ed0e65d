#include "scene/batch_scene.h"

#include <fmt/format.h>

#include <cmath>

#include "base/random.h"
#include "math/sin_cos.h"
#include "model/joint_finder.h"

namespace scree {
namespace {

constexpr double kWidest = 1e6;        // [m, rad, m/s, rad/s] of noise
constexpr double kLargestScale = 1e6;  // of gains

// What the draws are for: two streams share no numbers.
enum Stream : std::uint64_t { kPosition, kVelocity, kTarget, kParameter };

// ln x for x in (0, 1], from + - * / alone, so that no standard library has a say in the bits.
//   x = m 2^e, m in [1/sqrt 2, sqrt 2):  ln m = 2 atanh s = 2 (s + s^3/3 + ...),  s = (m - 1)/(m + 1), |s| < 0.1716:
// the first term left out, s^23/23, is below 2e-19 of the sum.
double natural_log(double x) {
  int e = 0;
  double m = std::frexp(x, &e);
  if (m < 0.70710678118654752) {
    m *= 2;
    --e;
  }
  const double s = (m - 1) / (m + 1), s2 = s * s;
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * s2 + 1.0 / k;
  return e * 0.69314718055994531 + 2 * s * sum;
}

bool is_base(JointType type) { return type == JointType::planar || type == JointType::floating; }

double deviation(const TomlReader& table, const std::string& key, double value) {
  if (!(value >= 0 && value <= kWidest))
    table.fail(key, fmt::format("{}, expected a number in [0, {:g}]", value, kWidest));
  return value;
}

// A number for every joint but the base, or a table: "*" for the same, and joints by name, each with a number for all
// its degrees of freedom or a number for each.
Eigen::VectorXd read_noise(const TomlReader& batch, const std::string& key, const Model& model, bool motors_only) {
  if (!batch.has(key)) return {};
  Eigen::VectorXd sigma = Eigen::VectorXd::Zero(model.nv());
  const auto set_all = [&](double value) {
    for (const Joint& joint : model.joints())
      if (!is_base(joint.type)) sigma.segment(joint.v_index, velocity_count(joint.type)).setConstant(value);
  };
  if (!batch.is_table(key)) {
    set_all(deviation(batch, key, *batch.number(key)));
    return sigma;
  }
  const TomlReader table = *batch.table(key);
  if (table.has("*")) set_all(deviation(table, "*", *table.number("*")));
  const JointFinder joints(model);
  for (const std::string& name : table.keys()) {
    if (name == "*") continue;
    const Joint* joint = nullptr;
    table.blame(name, [&] { joint = &joints.find(name); });
    const int nv = velocity_count(joint->type);
    if (nv == 0) table.fail(name, "a fixed joint does not move");
    if (joint->mimic) table.fail(name, joints.who_leads(*joint));
    if (motors_only && is_base(joint->type))
      table.fail(name, fmt::format("a {} joint has no motor", joint_type_name(joint->type)));
    auto segment = sigma.segment(joint->v_index, nv);
    if (table.is_array(name)) {
      const std::vector<double> values = *table.numbers(name, nv);
      for (int k = 0; k < nv; ++k) segment(k) = deviation(table, name, values[static_cast<size_t>(k)]);
    } else {
      segment.setConstant(deviation(table, name, *table.number(name)));
    }
  }
  return sigma;
}

// The field of the contact that a parameter sets; null: a factor of the gains.
double* contact_field(const std::string& name, double& friction, SmoothContactOptions& smooth) {
  if (name == "friction") return &friction;
  if (name == "depth") return &smooth.depth.emplace(smooth.depth.value_or(0));
  if (name == "stiffness") return &smooth.stiffness.emplace(smooth.stiffness.value_or(0));
  if (name == "speed") return &smooth.speed;
  if (name == "drag") return &smooth.drag.emplace(smooth.drag.value_or(0));
  if (name == "creep") return &smooth.creep;
  if (name == "damping") return &smooth.damping;
  return nullptr;
}

BatchVariation::Range read_range(const TomlReader& batch, const std::string& key, const World& world) {
  const auto numbers = batch.numbers(key, 2, 1e30);
  if (!numbers) return {};
  const double low = (*numbers)[0], high = (*numbers)[1];
  if (!(low <= high)) batch.fail(key, fmt::format("[{}, {}], expected [low, high] with low <= high", low, high));
  for (const double value : {low, high}) {
    SmoothContactOptions smooth = world.smooth;
    Surface surface = world.surface;
    if (double* field = contact_field(key, surface.friction, smooth)) {
      *field = value;
      batch.blame(key, [&] { surface.validate(), smooth.validate(); });
    } else if (!(value >= 0 && value <= kLargestScale)) {
      batch.fail(key, fmt::format("{}, expected numbers in [0, {:g}]", value, kLargestScale));
    }
  }
  return std::array{low, high};
}

// q * exp(w) on the quaternion (w, x, y, z) at q.
void turn(const Vec3& w, double* q) {
  const double angle = w.norm();
  if (angle == 0) return;
  const SinCos<double> half = sin_cos(0.5 * angle);
  const Vec3 d = half.sin / angle * w;
  const double a = q[0], x = q[1], y = q[2], z = q[3], c = half.cos;
  const Eigen::Vector4d r(a * c - x * d(0) - y * d(1) - z * d(2), a * d(0) + x * c + y * d(2) - z * d(1),
                          a * d(1) - x * d(2) + y * c + z * d(0), a * d(2) + x * d(1) - y * d(0) + z * c);
  const double norm = std::sqrt(r.squaredNorm());
  for (int k = 0; k < 4; ++k) q[k] = r(k) / norm;
}

void displace(const Joint& joint, const Eigen::VectorXd& delta, Eigen::VectorXd& q) {
  const double* d = delta.data() + joint.v_index;
  double* at = q.data() + joint.q_index;
  if (joint.type == JointType::ball) return turn(Vec3(d), at);
  const int straight = joint.type == JointType::floating ? 3 : velocity_count(joint.type);
  for (int k = 0; k < straight; ++k)
    if (d[k] != 0) at[k] += d[k];
  if (joint.type == JointType::floating) turn(Vec3(d + 3), at + 3);
}

Eigen::VectorXd draw_noise(const Eigen::VectorXd& sigma, std::uint64_t seed, std::uint64_t trajectory, Stream stream) {
  Eigen::VectorXd noise(sigma.size());
  for (Eigen::Index i = 0; i < sigma.size(); ++i)
    noise(i) = sigma(i) > 0 ? sigma(i) * Draw(seed, trajectory, stream, static_cast<std::uint64_t>(i)).normal() : 0;
  return noise;
}

}  // namespace

Draw::Draw(std::uint64_t seed, std::uint64_t trajectory, std::uint64_t stream, std::uint64_t item)
    : state_(split_mix(seed)) {
  for (const std::uint64_t part : {trajectory, stream, item}) state_ = split_mix(state_ + kSplitMixStep * (part + 1));
}

std::uint64_t Draw::next() { return split_mix(state_ += kSplitMixStep); }
double Draw::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

// The polar method. G. Marsaglia, T. Bray, A convenient method for generating normal variables, SIAM Review 6, 1964
double Draw::normal() {
  for (;;) {
    const double u = 2 * uniform() - 1, v = 2 * uniform() - 1, s = u * u + v * v;
    if (s > 0 && s < 1) return u * std::sqrt(-2 * natural_log(s) / s);
  }
}

const std::vector<BatchParameter>& batch_parameters() {
  static const std::vector<BatchParameter> parameters = {
      {"friction", "1", &BatchVariation::friction},       {"depth", "m", &BatchVariation::depth},
      {"stiffness", "N/m^a", &BatchVariation::stiffness}, {"speed", "m/s", &BatchVariation::speed},
      {"drag", "N s^b/m^(b+c+1)", &BatchVariation::drag}, {"creep", "m/s", &BatchVariation::creep},
      {"damping", "s/m", &BatchVariation::damping},       {"kp_scale", "1", &BatchVariation::kp_scale},
      {"kd_scale", "1", &BatchVariation::kd_scale}};
  return parameters;
}

double batch_parameter(const BatchParameter& parameter, const BatchVariation& variation, double friction,
                       const SmoothContactOptions& smooth, std::uint64_t seed, std::uint64_t trajectory) {
  const BatchVariation::Range& range = variation.*parameter.range;
  if (trajectory == 0 || !range) {
    SmoothContactOptions scene = smooth;
    const double* field = contact_field(parameter.name, friction, scene);
    return field ? *field : 1;
  }
  const auto item = static_cast<std::uint64_t>(&parameter - batch_parameters().data());
  const auto [low, high] = *range;
  return low + Draw(seed, trajectory, kParameter, item).uniform() * (high - low);
}

BatchVariation read_batch_variation(const TomlReader& scene, const Model& model, const Control& control,
                                    const World& world) {
  const SmoothContactOptions& smooth = world.smooth;
  BatchVariation variation;
  const auto batch = scene.table("batch");
  if (!batch) return variation;
  std::vector<std::string> known = {"seed", "trajectories", "position", "velocity", "target", "max_penetration"};
  for (const BatchParameter& parameter : batch_parameters()) known.emplace_back(parameter.name);
  batch->check_keys(known);
  if (const auto seed = batch->integer("seed")) {
    if (*seed < 0) batch->fail("seed", fmt::format("{}, expected an integer >= 0", *seed));
    variation.seed = static_cast<std::uint64_t>(*seed);
  }
  if (const auto count = batch->integer("trajectories")) {
    if (*count < 1 || *count > kMostTrajectories)
      batch->fail("trajectories", fmt::format("{}, expected an integer in [1, {}]", *count, kMostTrajectories));
    variation.trajectories = *count;
  }
  variation.position = read_noise(*batch, "position", model, false);
  variation.velocity = read_noise(*batch, "velocity", model, false);
  variation.target = read_noise(*batch, "target", model, true);
  if (variation.target.size() > 0 && control.motion)
    batch->fail("target", "given beside control.motion, which sets the targets, expected one of them");
  if (const auto depth = batch->number("max_penetration")) {
    if (!(*depth > 0 && *depth <= 1e6))
      batch->fail("max_penetration", fmt::format("{}, expected a number in (0, 1e6] m", *depth));
    variation.max_penetration = *depth;
  }
  for (const BatchParameter& parameter : batch_parameters())
    variation.*parameter.range = read_range(*batch, parameter.name, world);
  // Of each pair the contact takes one.
  const auto exclude = [&](const char* key, bool useless, const char* other) {
    if (useless) batch->fail(key, fmt::format("given together with {}, expected one of them", other));
  };
  exclude("depth", variation.depth && variation.stiffness, "batch.stiffness");
  exclude("depth", variation.depth && smooth.stiffness, "contact.smooth.stiffness");
  exclude("speed", variation.speed && variation.drag, "batch.drag");
  exclude("speed", variation.speed && smooth.drag, "contact.smooth.drag");
  // Trajectory 0 has the scene's own value.
  if (variation.depth && !smooth.depth) batch->fail("depth", "given without contact.smooth.depth, expected it too");
  if (variation.stiffness && !smooth.stiffness)
    batch->fail("stiffness", "given without contact.smooth.stiffness, expected it too");
  if (variation.drag && !smooth.drag) batch->fail("drag", "given without contact.smooth.drag, expected it too");
  return variation;
}

void vary(const Model& model, const BatchVariation& variation, std::uint64_t seed, std::uint64_t trajectory,
          Trajectory& out) {
  if (trajectory == 0) return;
  const auto displace_all = [&](const Eigen::VectorXd& sigma, Stream stream, Eigen::VectorXd& q) {
    if (sigma.size() == 0) return;
    const Eigen::VectorXd delta = draw_noise(sigma, seed, trajectory, stream);
    for (const Joint& joint : model.joints())
      if (!joint.mimic) displace(joint, delta, q);
  };
  displace_all(variation.position, kPosition, out.q);
  displace_all(variation.target, kTarget, out.control.target);
  if (variation.velocity.size() > 0) out.v += draw_noise(variation.velocity, seed, trajectory, kVelocity);
  for (const BatchParameter& parameter : batch_parameters()) {
    if (!(variation.*parameter.range)) continue;
    const double value = batch_parameter(parameter, variation, out.friction, out.smooth, seed, trajectory);
    if (double* field = contact_field(parameter.name, out.friction, out.smooth)) {
      *field = value;
    } else {
      (parameter.range == &BatchVariation::kp_scale ? out.control.kp : out.control.kd) *= value;
    }
  }
}

}  // namespace scree
