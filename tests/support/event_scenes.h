// Seeded random scenes of rigid contact: a body, a chain or a robot thrown at ground of some kind, with any impact law.
#pragma once

#include <cmath>
#include <limits>
#include <string>

#include "scree/dynamics.h"
#include "scree/kinematics.h"
#include "scree/step.h"
#include "scree/urdf.h"
#include "support/paths.h"
#include "support/random_tree.h"

namespace scree::test {

struct EventScene {
  std::string name;
  Model model;
  World world;
  Control control;
  State state;
  StepOptions options;
};

// [m] the smallest gap of all pairs, from frame poses and signed distances alone.
inline double smallest_gap(const Model& model, const World& world, const Eigen::VectorXd& q) {
  double smallest = std::numeric_limits<double>::infinity();
  for (const ContactPair& pair : world.pairs()) {
    const Collider &point = world.colliders[static_cast<size_t>(pair.a)],
                   &ground = world.colliders[static_cast<size_t>(pair.b)];
    const Vec3 centre = frame_pose(model, q, Frame{"", point.body, {}}) * point.X_BS.p;
    smallest = std::min(smallest, distance(ground, centre).value - std::get<Sphere>(point.shape).radius);
  }
  return smallest;
}

inline void add_random_ground(Random& random, World& world) {
  const int kind = static_cast<int>(uniform(random, 0, 6));
  const double slope = uniform(random, -0.4, 0.4);
  const auto floor = [&] { world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ(), "floor")); };
  if (kind == 0) {
    floor();
  } else if (kind == 1) {
    world.add(plane_collider(Vec3::Zero(), Vec3(std::sin(slope), 0, std::cos(slope)), "slope"));
  } else if (kind == 2) {  // a corner
    floor();
    world.add(plane_collider(Vec3(0.6, 0, 0), -Vec3::UnitX(), "wall"));
  } else if (kind == 3) {  // a valley
    world.add(plane_collider(Vec3::Zero(), Vec3(std::sin(0.5), 0, std::cos(0.5)), "left"));
    world.add(plane_collider(Vec3::Zero(), Vec3(-std::sin(0.6), 0, std::cos(0.6)), "right"));
  } else if (kind == 4) {  // a block to fall on
    floor();
    const Mat3 turn = Eigen::AngleAxisd(slope, Vec3::UnitY()).toRotationMatrix();
    world.add(box_collider({turn, Vec3(0.1, 0, 0.1)}, Vec3(0.4, 3, 0.2), "block"));
  } else {
    Eigen::MatrixXd heights(12, 12);
    for (Eigen::Index i = 0; i < heights.size(); ++i) heights(i) = uniform(random, -0.08, 0.08);
    world.add(height_field_collider(std::make_shared<const HeightField>(heights, Eigen::Vector2d(-2.75, -2.75), 0.5),
                                    "hills"));
  }
}

// Lifted from the ground by `clear` [m] if its base is free.
inline void lift_clear(const Model& model, const World& world, double clear, Eigen::VectorXd& q) {
  const Joint& base = model.joints()[0];
  const int height = base.q_index + (base.type == JointType::planar ? 1 : 2);
  for (int k = 0; k < 1000; ++k) {
    const double gap = smallest_gap(model, world, q);
    if (gap >= clear) break;
    q(height) += std::max(0.01, clear - gap);
    q(base.q_index) -= std::max(0.01, clear - gap);  // from the wall
  }
}

inline EventScene random_event_scene(Random& random) {
  constexpr const char* kModels[] = {
      "box-planar",        "box",           "cube",    "chain-floating-2d", "chain-floating-3d",
      "robosimian-planar", "spider-planar", "walker2d"};
  const std::string name = kModels[static_cast<int>(uniform(random, 0, 8))];
  Model model = load_urdf(source_dir() + "/models/" + name + ".urdf");
  const Control still(model);
  EventScene scene{name, std::move(model), {}, still, {}, {}};
  add_random_ground(random, scene.world);
  scene.world.add(contact_candidates(scene.model, ContactCandidates::automatic));
  scene.world.surface.friction = uniform(random, 0, 1) < 0.15 ? 0 : uniform(random, 0.05, 1.2);
  const ImpactLaw laws[] = {ImpactLaw::anitescu_potra,    ImpactLaw::anitescu_potra, ImpactLaw::sequential,
                            ImpactLaw::poisson,           ImpactLaw::moreau,         ImpactLaw::gauss_seidel_max,
                            ImpactLaw::restitution_blend, ImpactLaw::reflections};
  scene.world.impact.law = laws[static_cast<int>(uniform(random, 0, 8))];
  scene.world.surface.restitution = scene.world.impact.law == ImpactLaw::reflections ? 1
                                    : uniform(random, 0, 1) < 0.4                    ? 0
                                                                                     : uniform(random, 0, 0.8);
  scene.options.integrator = IntegratorType::event;
  scene.options.dt = std::pow(10, uniform(random, -3.3, -2));
  for (const Joint& joint : scene.model.joints())
    if (velocity_count(joint.type) == 1) {
      scene.control.kp(joint.v_index) = uniform(random, 0, 200);
      scene.control.kd(joint.v_index) = uniform(random, 0, 2);
    }
  Eigen::VectorXd q = scene.model.neutral_position(), v(scene.model.nv());
  for (Eigen::Index a = 0; a < v.size(); ++a) v(a) = uniform(random, -1, 1);
  for (const Joint& joint : scene.model.joints()) {
    if (velocity_count(joint.type) == 1) {
      q(joint.q_index) += uniform(random, -0.4, 0.4);
    } else if (joint.type == JointType::planar) {
      q(joint.q_index + 2) = uniform(random, -3, 3);
      v.segment<3>(joint.v_index) << uniform(random, -2, 2), uniform(random, -2, 0), uniform(random, -4, 4);
    } else if (joint.type == JointType::floating) {
      const Quat r(random_rotation(random));
      q.segment<4>(joint.q_index + 3) << r.w(), r.x(), r.y(), r.z();
      v.segment<6>(joint.v_index) << random_vector(random, 2), random_vector(random, 4);
    }
  }
  scene.control.target = q;
  lift_clear(scene.model, scene.world, uniform(random, 0.001, 0.2), q);
  scene.state = make_state(scene.model, q, v);
  return scene;
}

inline constexpr const char* kAllModels[] = {"ball",
                                             "block-repo",
                                             "block",
                                             "box-planar",
                                             "box",
                                             "chain-fixed-2d",
                                             "chain-fixed-3d",
                                             "chain-floating-2d",
                                             "chain-floating-3d",
                                             "compass-gait",
                                             "cube",
                                             "double-pendulum",
                                             "hopper",
                                             "pendulum",
                                             "robosimian-planar-literal",
                                             "robosimian-planar",
                                             "robosimian-spatial",
                                             "robosimian",
                                             "rod-planar",
                                             "spider-planar",
                                             "spider-spatial",
                                             "walker2d"};
inline constexpr int kPassiveModels = static_cast<int>(std::size(kAllModels));

// Nothing drives it: a model of models/ without control, thrown with spin. `model`, `law`: counted through by whoever
// wants all of them.
inline EventScene random_passive_scene(Random& random, int model_number, int law_number) {
  const std::string name = kAllModels[model_number % kPassiveModels];
  Model model = load_urdf(source_dir() + "/models/" + name + ".urdf");
  const Control limp(model);
  EventScene scene{name, std::move(model), {}, limp, {}, {}};
  World& world = scene.world;
  world.add(contact_candidates(scene.model, ContactCandidates::automatic));
  world.surface.friction = uniform(random, 0, 1) < 0.25 ? 0 : std::pow(10, uniform(random, -1.5, 1));
  world.impact.law = impact_laws()[static_cast<size_t>(law_number) % impact_laws().size()];
  const double kind = uniform(random, 0, 1);
  world.surface.restitution = world.impact.law == ImpactLaw::reflections || kind < 0.1 ? 1
                              : kind < 0.5                                             ? 0
                                                                                       : uniform(random, 0, 1);
  scene.options.integrator = IntegratorType::event;
  scene.options.dt = uniform(random, 2e-3, 1e-2);
  scene.options.explicit_pd = uniform(random, 0, 1) < 0.75;
  const double clear = uniform(random, 0.001, 0.3);
  Eigen::VectorXd q = scene.model.neutral_position(), v(scene.model.nv());
  const double turning = std::pow(10, uniform(random, -1, 1));  // [rad/s]
  for (Eigen::Index a = 0; a < v.size(); ++a) v(a) = uniform(random, -turning, turning);
  for (const Joint& joint : scene.model.joints()) {
    if (joint.type == JointType::prismatic) {
      v(joint.v_index) = uniform(random, -3, 3);
    } else if (velocity_count(joint.type) == 1) {
      q(joint.q_index) =
          std::clamp(q(joint.q_index) + uniform(random, -0.6, 0.6), joint.limits.lower, joint.limits.upper);
    } else if (joint.type == JointType::planar) {
      q(joint.q_index + 2) = uniform(random, -3, 3);
      v.segment<2>(joint.v_index) << uniform(random, -5, 5), uniform(random, -5, 1);
    } else if (joint.type == JointType::floating) {
      const Quat r(random_rotation(random));
      q.segment<4>(joint.q_index + 3) << r.w(), r.x(), r.y(), r.z();
      v.segment<3>(joint.v_index) = random_vector(random, 5);
    }
  }
  const JointType base = scene.model.joints()[0].type;
  if (base == JointType::planar || base == JointType::floating) {
    add_random_ground(random, world);
    lift_clear(scene.model, world, clear, q);
  } else {  // it cannot be lifted
    const double lowest = std::min(0.0, lowest_point(scene.model, world.colliders, q));
    world.add(plane_collider(Vec3(0, 0, lowest - clear), Vec3::UnitZ(), "floor"));
  }
  if (world.body_colliders() == 0) world.colliders.clear();  // ground that nothing can touch is refused
  scene.state = make_state(scene.model, q, v);
  return scene;
}

// What became of a passive scene. Potential energy is counted from the lowest row of the run.
struct PassiveCourse {
  long rows = 0, substeps = 0, rejected = 0, inaccurate = 0, impacts = 0;
  double largest = 0;   // [J] total energy
  double row_gain = 0;  // [J] from any row to the next
  double gain = 0;      // [J] from any row to any later one
  double reported = 0;  // [J] gains by the steps' own account
  std::string failure;  // why it ended before its time
};

inline PassiveCourse run_passive(EventScene& scene, double duration) {
  StepWorkspace workspace(scene.model, scene.world);
  Dynamics dynamics(scene.model);
  dynamics.set_position(scene.state.q);  // within its joint stops: these hold nothing
  PassiveCourse course;
  double bottom = dynamics.gravity_energy(scene.world.gravity);
  double last = dynamics.kinetic_energy(scene.state.v) + bottom, lowest = last, top = last;
  while (scene.state.time < duration) {
    const StepReport report = step(scene.model, scene.control, scene.options, scene.state, workspace);
    for (const Event& event : workspace.events())
      course.impacts += event.kind == EventKind::impact || event.kind == EventKind::impact_without_collision;
    course.substeps += report.substeps;
    course.rejected += report.rejected;
    course.inaccurate += report.inaccurate;
    course.reported += report.energy_gain;
    if (!report.converged()) {
      course.failure = report.reason;
      break;
    }
    ++course.rows;
    const double energy = report.kinetic_energy + report.potential_energy;
    course.row_gain = std::max(course.row_gain, energy - last);
    course.gain = std::max(course.gain, energy - lowest);
    last = energy;
    lowest = std::min(lowest, energy);
    top = std::max(top, energy);
    bottom = std::min(bottom, report.potential_energy);
  }
  course.largest = top - bottom;
  return course;
}

}  // namespace scree::test
