// Writes the replays and the study the browser test opens: make_replay DIRECTORY. The motions, contacts and figures are
// made up, not simulated: what is tested is the page. Every joint type, every shape and each kind of run the page must
// tell apart occurs.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>

#include "scree/kinematics.h"
#include "scree/research/study.h"
#include "scree/run.h"

namespace scree {
namespace {

constexpr double kPi = 3.14159265358979323846;

Body make_body(const std::string& name) {
  Body body;
  body.name = name;
  body.mass = 1;
  body.inertia = 0.01 * Mat3::Identity();
  return body;
}

Joint make_joint(const std::string& name, JointType type, const Vec3& p, const Vec3& axis = Vec3::UnitY()) {
  Joint joint;
  joint.name = name;
  joint.type = type;
  joint.X_PJ.p = p;
  joint.axis = axis;
  return joint;
}

Shape make_shape(Geometry geometry, ShapeRole role, const Vec3& p, std::array<double, 4> rgba = {0.7, 0.7, 0.7, 1}) {
  Shape shape;
  shape.role = role;
  shape.X_BS.p = p;
  shape.geometry = std::move(geometry);
  shape.rgba = rgba;
  return shape;
}

std::shared_ptr<const TriangleMesh> octahedron() {
  TriangleMesh mesh;
  for (double s : {1.0, -1.0})
    for (int k = 0; k < 3; ++k) mesh.vertices.push_back(s * Vec3::Unit(k));
  mesh.triangles = {{0, 1, 2}, {1, 3, 2}, {3, 4, 2}, {4, 0, 2}, {1, 0, 5}, {3, 1, 5}, {4, 3, 5}, {0, 4, 5}};
  return std::make_shared<const TriangleMesh>(std::move(mesh));
}

// A ball whose quarters have colours, one of them translucent.
std::shared_ptr<const TriangleMesh> painted_octahedron() {
  TriangleMesh mesh = *octahedron();
  const std::array<float, 4> red = {0.9f, 0.05f, 0.05f, 1}, green = {0.05f, 0.6f, 0.1f, 1},
                             blue = {0.1f, 0.1f, 0.9f, 0.4f};
  mesh.colours = {red, green, blue, green, red, green, blue, red};
  return std::make_shared<const TriangleMesh>(std::move(mesh));
}

// A robot a tenth of a millimetre long, of a painted mesh and one that is nothing but a point.
Model tiny_painted() {
  ModelBuilder builder("tiny_painted");
  builder.add_body(make_body("bead"), "world", make_joint("hinge", JointType::revolute, Vec3::Zero()));
  builder.add_shape("bead", make_shape(Mesh{"beads.dae", Vec3::Constant(5e-5), painted_octahedron()}, ShapeRole::view,
                                       Vec3::Zero(), {0.1, 0.9, 0.9, 1}));
  TriangleMesh point{{Vec3::Zero()}, {{0, 0, 0}}};
  builder.add_shape("bead", make_shape(Mesh{"point.stl", Vec3::Ones(), std::make_shared<const TriangleMesh>(point)},
                                       ShapeRole::view, Vec3::Zero()));
  for (int k = 0; k < 300; ++k) {
    ContactPoint point_on;
    point_on.name = "point" + std::to_string(k);
    point_on.p_B = 5e-5 * Vec3(std::cos(0.1 * k), std::sin(0.1 * k), 0);
    builder.add_contact_point("bead", point_on);
  }
  return builder.build();
}

// A trunk on a floating joint, two arms of three links each, a ball on a ball joint, a slider.
Model all_shapes() {
  ModelBuilder builder("all_shapes");
  builder.add_body(make_body("trunk"), "world", make_joint("base", JointType::floating, {0, 0, 0}));
  builder.add_shape("trunk", make_shape(Box{{0.6, 0.35, 0.2}}, ShapeRole::view, Vec3::Zero(), {0.24, 0.36, 0.5, 1}));
  builder.add_shape("trunk", make_shape(Box{{0.62, 0.37, 0.22}}, ShapeRole::collision, Vec3::Zero()));
  for (const auto& [side, x] : {std::pair{"left", -0.3}, {"right", 0.3}}) {
    std::string parent = "trunk";
    for (int k = 0; k < 5; ++k) {
      const std::string link = std::string(side) + "_link" + std::to_string(k + 1);
      const Vec3 at = k == 0 ? Vec3(x, 0, -0.05) : Vec3(0, 0, -0.2);
      builder.add_body(make_body(link), parent,
                       make_joint(std::string(side) + "_joint" + std::to_string(k + 1), JointType::revolute, at));
      const std::array<double, 4> rgba = {0.78 - 0.08 * k, 0.52, 0.3 + 0.08 * k, 1};
      if (k % 2 == 0)
        builder.add_shape(link, make_shape(Capsule{0.045, 0.14}, ShapeRole::view, {0, 0, -0.1}, rgba));
      else
        builder.add_shape(link, make_shape(Cylinder{0.035, 0.18}, ShapeRole::view, {0, 0, -0.1}, rgba));
      builder.add_shape(link, make_shape(Capsule{0.05, 0.14}, ShapeRole::collision, {0, 0, -0.1}));
      parent = link;
    }
  }
  builder.add_body(make_body("head"), "trunk", make_joint("neck", JointType::ball, {0, 0, 0.1}));
  builder.add_shape("head", make_shape(Mesh{"octahedron.stl", {0.12, 0.12, 0.18}, octahedron()}, ShapeRole::view,
                                       {0, 0, 0.18}, {0.45, 0.6, 0.5, 1}));
  builder.add_body(make_body("slider"), "trunk", make_joint("rail", JointType::prismatic, {0, -0.25, 0}, {1, 0, 0}));
  builder.add_shape("slider", make_shape(Sphere{0.07}, ShapeRole::collision, Vec3::Zero()));  // no view shape
  builder.add_shape("world", make_shape(Plane{}, ShapeRole::collision, Vec3::Zero()));
  return builder.build();
}

Model no_shapes() {
  ModelBuilder builder("no_shapes");
  std::string parent = "world";
  for (int k = 0; k < 4; ++k) {
    const std::string link = "link" + std::to_string(k + 1);
    builder.add_body(make_body(link), parent,
                     make_joint("joint" + std::to_string(k + 1), JointType::revolute, {0, 0, k == 0 ? 1.0 : -0.3}));
    parent = link;
  }
  return builder.build();
}

// Every angle swings, every slider slides, a floating base bobs along x.
Run swing(const Model& model, double dt, size_t rows) {
  Run run;
  run.settings = {{"integrator", "pbd"}, {"dt", "5 ms"}, {"gravity", "0 0 -9.81 m/s^2"}, {"duration", "4 s"}};
  for (size_t r = 0; r < rows; ++r) {
    const double t = dt * static_cast<double>(r);
    Eigen::VectorXd q = model.neutral_position();
    for (size_t i = 0; i < model.joints().size(); ++i) {
      const Joint& joint = model.joints()[i];
      const double wave = 0.5 * std::sin(2 * kPi * 0.5 * t + 0.4 * static_cast<double>(i));
      if (joint.type == JointType::floating) q.segment<3>(joint.q_index) << 0.3 * t, 0, 1.2 + 0.2 * wave;
      if (joint.type == JointType::revolute) q(joint.q_index) = wave;
      if (joint.type == JointType::prismatic) q(joint.q_index) = 0.4 * wave;
      if (joint.type == JointType::ball) q.segment<4>(joint.q_index) << std::cos(wave), 0, 0, std::sin(wave);
    }
    run.time.push_back(t);
    run.q.append(q);
    run.v.append(Eigen::VectorXd::Zero(model.nv()));
    run.kinetic_energy.push_back(3 * std::pow(std::sin(2 * kPi * 0.5 * t), 2));
    run.potential_energy.push_back(40 - 3 * std::pow(std::sin(2 * kPi * 0.5 * t), 2));
    run.residual.push_back(r == 0 ? 0 : 1e-9 * (1.1 + std::sin(40 * t)));
    run.iterations.push_back(r == 0 ? 0 : 3 + static_cast<int>(r % 7 == 0));
    run.substeps.push_back(r == 0 ? 0 : 1);
    run.rejected.push_back(0);
  }
  return run;
}

// A trunk on a floating or planar joint and four legs of one capsule each, with a contact point at every foot.
Model four_legs(JointType base) {
  ModelBuilder builder("four_legs");
  builder.add_body(make_body("trunk"), "world", make_joint("base", base, {0, 0, 0}));
  builder.add_shape("trunk", make_shape(Box{{0.8, 0.4, 0.15}}, ShapeRole::view, Vec3::Zero(), {0.24, 0.36, 0.5, 1}));
  for (int k = 0; k < 4; ++k) {
    const std::string leg = "leg" + std::to_string(k + 1);
    const Vec3 hip(k < 2 ? 0.35 : -0.35, k % 2 == 0 ? 0.2 : -0.2, 0);
    builder.add_body(make_body(leg), "trunk", make_joint("hip" + std::to_string(k + 1), JointType::revolute, hip));
    builder.add_shape(leg, make_shape(Capsule{0.04, 0.42}, ShapeRole::view, {0, 0, -0.25}, {0.75, 0.52, 0.34, 1}));
    ContactPoint foot;
    foot.name = "foot" + std::to_string(k + 1);
    foot.p_B = Vec3(0, 0, -0.5);
    builder.add_contact_point(leg, foot);
  }
  return builder.build();
}

// Walks along x; legs swing in diagonal pairs and carry the trunk while they are behind their half of the cycle.
Run walk(const Model& model, double dt, size_t rows, double speed) {
  Run run;
  run.title = "Four legs on the ground";
  run.settings = {{"integrator", "pbd-nmdp"}, {"dt", "50 ms"}, {"contact points", "4"}};
  run.first_contact.push_back(0);
  run.colliders = contact_candidates(model, ContactCandidates::named);  // 0 to 3: the feet. 4: the first of the ground
  for (size_t r = 0; r < rows; ++r) {
    const double t = dt * static_cast<double>(r);
    Eigen::VectorXd q = model.neutral_position();
    if (model.joints()[0].type == JointType::floating)
      q.head<4>() << speed * t, 0, 0.485 + 0.01 * std::sin(4 * kPi * t), std::cos(0.05 * std::sin(2 * kPi * t));
    else
      q.head<3>() << speed * t, 0.485 + 0.01 * std::sin(4 * kPi * t), 0.1 * std::sin(2 * kPi * t);
    if (model.joints()[0].type == JointType::floating) q(4) = std::sin(0.05 * std::sin(2 * kPi * t));
    for (int k = 0; k < 4; ++k)
      q(model.joints()[static_cast<size_t>(k) + 1].q_index) =
          0.4 * std::sin(2 * kPi * t + (k == 0 || k == 3 ? 0 : kPi));
    const auto poses = body_poses(model, q);
    double deepest = 0;
    for (int k = 0; r > 0 && k < 4; ++k) {
      const double phase = 2 * kPi * t + (k == 0 || k == 3 ? 0 : kPi);
      if (std::cos(phase) > 0.1) continue;
      const ContactPoint& point = model.contact_points()[static_cast<size_t>(k)];
      Contact contact;
      contact.a = k;
      contact.b = 4;
      contact.position = poses[static_cast<size_t>(point.body.value())] * point.p_B;
      contact.position.z() = 0;
      contact.force = Vec3(60 * std::sin(phase), 10, 400 - 150 * std::cos(phase));
      contact.depth = 0.01 - 0.004 * std::cos(phase);
      deepest = std::max(deepest, contact.depth);
      run.contacts.push_back(contact);
    }
    run.first_contact.push_back(run.contacts.size());
    run.penetration.push_back(deepest);
    run.energy_gain.push_back(0);
    run.optimality.push_back(r == 0 ? 0 : 1e-9);
    run.outer.push_back(r == 0 ? 0 : 12 + static_cast<int>(r % 5));
    run.time.push_back(t);
    run.q.append(q);
    run.v.append(Eigen::VectorXd::Zero(model.nv()));
    run.kinetic_energy.push_back(5 + std::sin(4 * kPi * t));
    run.potential_energy.push_back(40 + std::sin(4 * kPi * t));
    run.residual.push_back(r == 0 ? 0 : 1e-9);
    run.iterations.push_back(r == 0 ? 0 : 4);
    run.substeps.push_back(r == 0 ? 0 : r % 9 == 0 ? 2 : 1);
    run.rejected.push_back(r > 0 && r % 18 == 0 ? 1 : 0);
  }
  return run;
}

std::shared_ptr<const HeightField> hills() {
  Eigen::MatrixXd heights(60, 40);
  for (int i = 0; i < heights.rows(); ++i)
    for (int j = 0; j < heights.cols(); ++j) heights(i, j) = 0.08 * std::sin(0.5 * i) * std::cos(0.4 * j) - 0.06;
  return std::make_shared<const HeightField>(heights, Eigen::Vector2d(-1.5, -2), 0.1);
}

// Feet that hit the ground again and again: an impact, a rest and a lift-off in turn; one impact has more contacts than
// are listed, others no certificate or one that does not hold.
void add_events(Run& run, size_t count) {
  const EventKind kinds[] = {EventKind::impact, EventKind::rest, EventKind::lift_off};
  for (size_t k = 0; k < count; ++k) {
    Event event;
    event.time = run.time.back() * (0.5 + static_cast<double>(k)) / static_cast<double>(count);
    event.kind = k == 6 ? EventKind::impact_without_collision : kinds[k % 3];
    for (int c = 0; c < (k == 3 ? 15 : 1 + static_cast<int>(k % 2)); ++c) {
      EventContact contact;
      contact.a = (static_cast<int>(k) + c) % 4;
      contact.b = 4;
      contact.impulse = Vec3(0.3, 0.4, 2.0 + static_cast<double>(k));
      event.contacts.push_back(contact);
    }
    if (event.kind == EventKind::rest) event.bounces_end = event.time + 1e-3;
    event.law = k == 0 ? ImpactLaw::anitescu_potra : ImpactLaw::reflections;
    event.status = k == 9 ? ImpactStatus::not_certified : ImpactStatus::resolved;
    event.steps = static_cast<long>(k) + 1;
    event.energy_before = 12.5;
    event.energy_after = 12.5 - 0.25 * static_cast<double>(1 + k % 7);
    if (k == 3 || k == 9) {
      event.certificate.emplace();
      event.certificate->holds = k == 3;
      event.certificate->cap = 120;
    }
    run.event_row.push_back(
        static_cast<std::uint64_t>(std::upper_bound(run.time.begin(), run.time.end(), event.time) - run.time.begin()));
    run.events.push_back(event);
  }
}

StudyResult study() {
  StudyResult out;
  out.name = "made-up";
  out.title = "Step size and error";
  out.summary = "Slopes and times of a method that does not exist, to look at the page.";
  out.rows = {{"order of accuracy", "", "1", 1.02, "0.95 to 1.05", StudyVerdict::reproduced},
              {"time per step", "ms", "14.2", 0.83, "", StudyVerdict::reported},
              {"largest stable step", "s", "0.05", "0.02 <b>not bold</b>", "at least 0.05", StudyVerdict::differs}};
  out.settings = {{"seed", "42"}, {"machine", "2 cores"}};
  StudyFigure convergence{
      "Error against step size", {"step", "s", true}, {"error", "m", true}, {}, {"Slope 1 is dashed."}};
  StudySeries measured{"scree", {}, {}, false}, second{"zeroth order", {}, {}, false},
      reference{"slope 1", {}, {}, true};
  for (int k = 0; k < 9; ++k) {
    const double h = 0.1 * std::pow(0.5, k);
    for (StudySeries* series : {&measured, &second, &reference}) series->x.insert(series->x.begin(), h);
    measured.y.insert(measured.y.begin(), 0.3 * h * (1 + 0.1 * std::sin(k)));
    second.y.insert(second.y.begin(), k == 4 ? 0.0 : 0.9 * h);
    reference.y.insert(reference.y.begin(), 0.2 * h);
  }
  convergence.series = {measured, second, reference};
  StudyFigure height{"Base height", {"time", "s", false}, {"height", "m", false}, {}, {}};
  StudySeries coarse{"0.05 s", {}, {}, false}, fine{"0.003 s", {}, {}, false};
  for (int k = 0; k <= 40; ++k) {
    coarse.x.push_back(0.05 * k);
    coarse.y.push_back(0.5 + 0.02 * std::sin(0.3 * k));
  }
  for (int k = 0; k <= 600; ++k) {
    fine.x.push_back(2.0 / 600 * k);
    fine.y.push_back(0.5 + 0.021 * std::sin(6 * fine.x.back()));
  }
  height.series = {coarse, fine};
  StudyFigure bars{
      "Cost of a step", {"contacts", "", false}, {"time", "ms", true}, {}, {"One point alone is drawn, too."}};
  bars.series = {{"scree", {4}, {0.8}, false}, {"empty", {}, {}, false}};
  out.figures = {convergence, height, bars};
  return out;
}

void write_all(const std::filesystem::path& directory) {
  const Model model = all_shapes();
  Run run = swing(model, 0.005, 801);
  run.title = "Every shape, every joint";
  write_replay(directory / "all_shapes.html", model, run);

  const Model tiny = tiny_painted();
  Run beads = swing(tiny, 0.02, 51);
  beads.title = "Tiny and painted";
  beads.colliders = contact_candidates(tiny, ContactCandidates::named);
  beads.colliders.push_back(plane_collider({0, 0, -6e-5}, Vec3::UnitZ()));
  beads.first_contact.assign(beads.rows() + 1, 0);
  for (auto* column : {&beads.optimality, &beads.penetration, &beads.energy_gain}) column->assign(beads.rows(), 0);
  beads.outer.assign(beads.rows(), 0);
  write_replay(directory / "tiny_painted.html", tiny, beads);

  run = swing(model, 0.005, 101);
  run.title = "</script><script>window.injected = true</script><img src=x onerror='window.injected = true'>";
  run.settings.push_back({"note", "<script>window.injected = true</script><!--"});
  run.status = RunStatus::step_failed;
  write_replay(directory / "hostile_title.html", model, run);

  const Model sticks = no_shapes();
  run = swing(sticks, 0.01, 1);
  run.title = "One row, no shapes";
  write_replay(directory / "one_row.html", sticks, run);

  const Model legs = four_legs(JointType::floating);
  run = walk(legs, 0.05, 61, 0.3);
  run.colliders.push_back(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
  run.colliders.push_back(plane_collider(Vec3(1.5, 0, 0), Vec3(-0.3, 0, 1).normalized(), "ramp"));
  for (int k = 0; k < 3; ++k)
    run.colliders.push_back(
        box_collider({Mat3::Identity(), {0.4 + 0.15 * k, 1.0, 0.05 + 0.1 * k}}, {1.0 - 0.3 * k, 0.6, 0.1}));
  write_replay(directory / "contact.html", legs, run);

  Run eventful = walk(legs, 0.05, 61, 0.3);
  eventful.colliders = run.colliders;
  add_events(eventful, 24);
  write_replay(directory / "events.html", legs, eventful);
  eventful.events.clear();
  eventful.event_row.clear();
  add_events(eventful, 620);
  write_replay(directory / "many_events.html", legs, eventful);

  run = walk(legs, 0.05, 41, 0.1);
  run.title = "Four legs on hills";
  run.colliders.push_back(height_field_collider(hills()));
  write_replay(directory / "terrain.html", legs, run);

  const Model flat = four_legs(JointType::planar);
  run = walk(flat, 0.05, 121, 1.5);
  run.title = "Four legs in a plane, far away";
  run.colliders.push_back(plane_collider(Vec3(0, 0, -0.02), Vec3::UnitZ()));
  write_replay(directory / "far.html", flat, run);

  // Ghosts: of the same model, faster, at a fifth of the step and shorter; of another model and longer; for one row.
  run = walk(legs, 0.05, 61, 0.3);
  run.colliders.push_back(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
  Run ghost = walk(legs, 0.01, 201, 0.35);
  ghost.title = "Four legs <i>faster</i>";
  ghost.settings = {{"integrator", "pbd-nmdp"}, {"dt", "10 ms"}, {"seed", "7"}};
  ghost.status = RunStatus::interrupted;
  ghost.colliders = run.colliders;
  write_replay(directory / "ghost.html", legs, run, {legs, ghost});

  ghost = swing(model, 0.005, 1201);
  ghost.title = "Every shape, longer";
  write_replay(directory / "ghost_other.html", legs, run, {model, ghost});

  run = swing(sticks, 0.01, 1);
  ghost = swing(sticks, 0.01, 51);
  write_replay(directory / "ghost_one_row.html", sticks, run, {sticks, ghost});

  write_study_page(directory / "study.html", study());
}

}  // namespace
}  // namespace scree

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_replay DIRECTORY\n";
    return 2;
  }
  std::filesystem::create_directories(argv[1]);
  scree::write_all(argv[1]);
}
