#include "run/identity.h"

#include <fmt/format.h>

#include <cmath>

#include "run/build_info.h"
#include "scene/batch_scene.h"
#include "scree/urdf.h"

namespace scree {
namespace {

// FNV-1a over all that is added.
class Hash {
 public:
  void bytes(const void* data, size_t size) {
    const auto* at = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < size; ++i) hash_ = (hash_ ^ at[i]) * 0x100000001b3u;
  }
  void integer(std::uint64_t value) { bytes(&value, sizeof value); }
  void number(double value) { bytes(&value, sizeof value); }
  void text(const std::string& value) {
    integer(value.size());
    bytes(value.data(), value.size());
  }
  template <class Dense> void numbers(const Dense& values) {
    integer(static_cast<std::uint64_t>(values.size()));
    for (Eigen::Index j = 0; j < values.cols(); ++j)
      for (Eigen::Index i = 0; i < values.rows(); ++i) number(values(i, j));
  }
  std::string hex() const { return fmt::format("{:016x}", hash_); }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

std::string model_hash(const Model& model) {
  Hash hash;
  hash.text(format_urdf(model));
  for (const Shape& shape : model.shapes()) {
    const auto* mesh = std::get_if<Mesh>(&shape.geometry);
    if (!mesh || !mesh->data) continue;
    for (const Vec3& p : mesh->data->vertices) hash.numbers(p);
    for (const auto& triangle : mesh->data->triangles)
      for (const int vertex : triangle) hash.integer(static_cast<std::uint64_t>(vertex));
  }
  return hash.hex();
}

struct ShapeHash {
  Hash& hash;
  void operator()(const Sphere& sphere) const { hash.number(sphere.radius); }
  void operator()(const Box& box) const { hash.numbers(box.size); }
  void operator()(const std::shared_ptr<const HeightField>& field) const {
    hash.numbers(field->heights());
    hash.numbers(field->origin());
    hash.number(field->spacing());
  }
  void operator()(const auto&) const {}  // planes; nothing else touches
};

std::string world_hash(const World& world) {
  Hash hash;
  hash.numbers(world.gravity);
  for (const Collider& collider : world.colliders) {
    hash.integer(static_cast<std::uint64_t>(collider.body.value()));
    hash.numbers(collider.X_BS.R);
    hash.numbers(collider.X_BS.p);
    hash.integer(collider.shape.index());
    std::visit(ShapeHash{hash}, collider.shape);
  }
  hash.number(world.surface.friction);
  hash.number(world.surface.restitution);
  const SmoothContactOptions& s = world.smooth;
  for (const double value : {s.normal_exponent, s.slip_exponent, s.depth_exponent, s.depth.value_or(-1),
                             s.stiffness.value_or(-1), s.speed, s.drag.value_or(-1), s.creep, s.damping})
    hash.number(value);
  hash.integer(static_cast<std::uint64_t>(s.form));
  hash.integer(static_cast<std::uint64_t>(world.impact.law));
  hash.integer(static_cast<std::uint64_t>(world.impact.friction_directions));
  hash.integer(static_cast<std::uint64_t>(world.impact.max_steps));
  hash.number(world.impact.tolerance);
  return hash.hex();
}

std::string start_hash(const Scene& scene) {
  Hash hash;
  hash.numbers(scene.q0);
  hash.numbers(scene.v0);
  const Control& control = scene.control;
  for (const Eigen::VectorXd* values :
       {&control.kp, &control.kd, &control.target, &control.target_velocity, &control.torque})
    hash.numbers(*values);
  if (control.motion) {
    for (const Motion::Keyframe& frame : control.motion->keyframes()) {
      hash.number(frame.time);
      hash.numbers(frame.q);
    }
    // Where it starts again shows in what follows its end.
    Eigen::VectorXd q = control.target, v = control.target_velocity;
    for (int k = 1; k <= 16; ++k) {
      control.motion->sample(control.motion->end() * (1 + k / 16.0), q, v);
      hash.numbers(q);
    }
  }
  return hash.hex();
}

std::string variation_hash(const BatchVariation& variation) {
  Hash hash;
  for (const Eigen::VectorXd* values : {&variation.position, &variation.velocity, &variation.target})
    hash.numbers(*values);
  for (const BatchParameter& parameter : batch_parameters()) {
    const BatchVariation::Range& range = variation.*parameter.range;
    hash.integer(range ? 1 : 0);
    if (range)
      for (const double value : *range) hash.number(value);
  }
  return hash.hex();
}

std::string text_hash(const std::string& text) {
  Hash hash;
  hash.text(text);
  return hash.hex();
}

// The contact law by what it answers at depths from the surface to 0.3 m and bodies turned in several ways.
std::string law_hash(const ContactLaw& law) {
  Hash hash;
  hash.integer(static_cast<std::uint64_t>(law.vertex_count()));
  hash.number(law.reach());
  Wrenches vertices(6, law.vertex_count());
  ContactGeometry geometry;
  geometry.share_of_weight = 1;
  geometry.firm_depth = 1;  // that of the model is a function of model and world
  geometry.friction = 1;    // that of the world is its own
  for (int turn = 0; turn < 5; ++turn)
    for (int depth = -1; depth < 12; ++depth) {
      geometry.depth = depth < 0 ? -1e-3 : 1e-4 * std::pow(2.0, depth);
      geometry.R_CB = Eigen::AngleAxisd(0.3 * turn, Vec3(1, 2, 3).normalized()).toRotationMatrix();
      law.vertices(geometry, vertices);
      hash.numbers(vertices);
    }
  return hash.hex();
}

std::string event_hash(const EventOptions& event) {
  Hash hash;
  for (const double value :
       {event.touch, event.rest_speed, event.simultaneous, event.flight_accuracy, event.energy_accuracy})
    hash.number(value);
  hash.integer(static_cast<std::uint64_t>(event.max_events));
  hash.integer(static_cast<std::uint64_t>(event.max_tries));
  return hash.hex();
}

std::string saved_state_hash(const std::optional<SavedState>& from) {
  if (!from) return "none";
  Hash hash;
  const auto& [time, q, v, last_step, body_rates, contact_weights, contact_loads] = from->state;
  for (const double value : {time, last_step, from->next_step}) hash.number(value);
  hash.numbers(q);
  hash.numbers(v);
  for (const Mat34& rate : body_rates) hash.numbers(rate);
  for (const std::vector<double>* values : {&contact_weights, &contact_loads})
    for (const double value : *values) hash.number(value);
  return hash.hex();
}

Identity scene_settings(const Scene& scene) {
  return {{"scree version", version()},
          {"scene text (FNV-1a)", text_hash(scene.text)},
          {"model", scene.model.name()},
          {"model (FNV-1a)", model_hash(scene.model)},
          {"world (FNV-1a)", world_hash(scene.world)},
          {"initial state and control (FNV-1a)", start_hash(scene)}};
}

Identity step_settings(const StepOptions& step, double duration) {
  return {{"integrator", integrator_name(step.integrator)},
          {"dt", fmt::format("{:.17g} s", step.dt)},
          {"duration", fmt::format("{:.17g} s", duration)},
          {"tolerance", fmt::format("{:.17g} m/s^2, rad/s^2", step.tolerance)},
          {"max_iterations", fmt::format("{}", step.max_iterations)},
          {"max_halvings", fmt::format("{}", step.max_halvings)},
          {"max_turn", fmt::format("{:.17g} rad", step.max_turn)},
          {"optimizer", optimizer_name(step.optimizer)}};
}

Identity joined(std::initializer_list<Identity> parts) {
  Identity all;
  for (const Identity& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// What integrators without lanes also depend on.
Identity contact_settings(const Scene& scene) {
  return {{"contact law (FNV-1a)", law_hash(*scene.world.law)},
          {"events (FNV-1a)", event_hash(scene.options.event)},
          {"dissipation", dissipation_name(scene.options.dissipation)},
          {"solver", contact_solver_name(scene.options.solver)},
          {"max_outer", fmt::format("{}", scene.options.max_outer)},
          {"explicit_pd", scene.options.explicit_pd ? "true" : "false"}};
}

}  // namespace

Identity batch_settings(const Scene& scene, const BatchOptions& options, size_t trajectories, std::uint64_t seed,
                        size_t chunk) {
  return joined({scene_settings(scene),
                 {{"variation (FNV-1a)", variation_hash(scene.batch)},
                  {"trajectories", fmt::format("{}", trajectories)},
                  {"seed", fmt::format("{}", seed)}},
                 step_settings(options.step, options.duration),
                 {{"rows every", fmt::format("{} steps", options.rows_every)},
                  {"max_penetration", fmt::format("{:.17g} m", options.max_penetration)},
                  {"chunk", fmt::format("{} trajectories", chunk)}}});
}

Identity run_settings(const Scene& scene, const RunOptions& options) {
  return joined({scene_settings(scene),
                 step_settings(scene.options, scene.duration),
                 contact_settings(scene),
                 {{"accuracy", fmt::format("{:.17g} m", scene.options.accuracy)},
                  {"output", fmt::format("{:.17g} s", scene.output)},
                  {"checkpoint", fmt::format("{:.17g} s", options.checkpoint)},
                  {"from (FNV-1a)", saved_state_hash(options.from)}}});
}

Identity fan_settings(const Scene& scene, const FanOptions& options, size_t chunk) {
  const OutcomeOptions& sampling = options.sampling;
  return joined({scene_settings(scene),
                 step_settings(scene.options, scene.duration),
                 contact_settings(scene),
                 {{"branches", fmt::format("{}", options.branches)},
                  {"seed", fmt::format("{}", options.seed)},
                  {"sampler", outcome_sampler_name(sampling.sampler)},
                  {"sampling step", fmt::format("{:.17g} N s", sampling.step)},
                  {"sampling max_steps", fmt::format("{}", sampling.max_steps)},
                  {"sampling closing", fmt::format("{:.17g} sqrt(J)", sampling.closing)},
                  {"friction directions", fmt::format("{}", sampling.friction_directions)},
                  {"chunk", fmt::format("{} branches", chunk)}}});
}

}  // namespace scree
