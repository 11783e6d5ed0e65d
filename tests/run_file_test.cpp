#include <gtest/gtest.h>
#include <hdf5.h>

#include <random>

#include "model/coordinate_names.h"
#include "pages/replay_data.h"
#include "run/hdf5.h"
#include "run/run_contacts.h"
#include "run/seal.h"
#include "scree/error.h"
#include "scree/run.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

const std::filesystem::path kScenes = std::filesystem::path(source_dir()) / "tests/data/scenes";

std::string message_of(const std::filesystem::path& file) {
  try {
    read_run(file);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

class RunFile : public testing::Test {
 protected:
  const TempFolder folder;
  const Scene scene = load_scene(kScenes / "joints.toml");
  const scree::Run run = run_scene(scene);
  const std::filesystem::path file = folder / "run.h5";

  void expect_refused(const std::string& part) {
    const std::string message = message_of(file);
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_NE(message.find(file.string()), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
};

// Random contacts of points "heel" and "toe" with a plane, a box and a height field; rows 0 and 3 have none.
void add_contacts(scree::Run& run) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  const auto vector = [&] { return Vec3(normal(random), normal(random), normal(random)); };
  const Mat3 turn = Eigen::AngleAxisd(0.7, Vec3(1, 2, 3).normalized()).toRotationMatrix();
  const Eigen::MatrixXd heights = Eigen::MatrixXd::NullaryExpr(5, 4, [&] { return normal(random); });
  run.colliders.push_back(point_collider(BodyIndex(0), vector(), 0.1, "heel"));
  run.colliders.push_back(point_collider(BodyIndex(1), vector(), 0, "toe"));
  run.colliders.push_back(plane_collider(vector(), vector(), "ramp"));
  run.colliders.push_back(box_collider({turn, vector()}, Vec3(1, 2, 0.3), ""));
  run.colliders.push_back(height_field_collider(
      std::make_shared<const HeightField>(heights, Eigen::Vector2d(normal(random), normal(random)), 0.1), "hills"));
  run.first_contact = {0};
  for (size_t row = 0; row < run.rows(); ++row) {
    run.outer.push_back(static_cast<int>(row));
    run.optimality.push_back(normal(random));
    run.penetration.push_back(normal(random));
    run.energy_gain.push_back(1e-3 * static_cast<double>(row));
    for (size_t k = 0; row % 3 != 0 && k < 1 + random() % 4; ++k) {
      Contact contact{static_cast<int>(random() % 2), 2 + static_cast<int>(random() % 3)};
      contact.position = vector();
      contact.normal = vector().normalized();
      contact.force = vector();
      contact.moment = vector();
      contact.depth = normal(random);
      run.contacts.push_back(contact);
    }
    run.first_contact.push_back(run.contacts.size());
  }
}

// Events of every kind, with 0 to 3 contacts, with and without a certificate; two in the same row at the same time.
void add_events(scree::Run& run, int nv) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  const auto vector = [&] { return Vec3(normal(random), normal(random), normal(random)); };
  const EventKind kinds[] = {EventKind::impact, EventKind::rest, EventKind::lift_off,
                             EventKind::impact_without_collision};
  for (size_t k = 0; k < 9; ++k) {
    Event event;
    event.time = run.time[1] * static_cast<double>(k / 2);
    event.kind = kinds[k % 4];
    for (size_t c = 0; c < k % 4; ++c) {
      EventContact contact{static_cast<int>(random() % 2), 2 + static_cast<int>(random() % 3)};
      contact.position = vector();
      contact.normal = vector().normalized();
      contact.impulse = vector();
      contact.velocity_before = vector();
      contact.velocity_after = vector();
      event.contacts.push_back(contact);
    }
    if (event.kind == EventKind::rest && k > 3) event.bounces_end = event.time + 1e-7;
    if (k % 4 == 0 || k % 4 == 3) {
      event.law = k == 4 ? ImpactLaw::reflections : ImpactLaw::sequential;
      event.status = k == 3 ? ImpactStatus::budget : ImpactStatus::resolved;
      event.steps = static_cast<long>(7 * k);
      event.energy_before = 3 + normal(random) * 0.1;
      event.energy_after = 1 + normal(random) * 0.1;
      if (k != 0) event.certificate.emplace();
      if (event.certificate) {
        event.certificate->holds = k == 4;
        event.certificate->cap = k == 8 ? std::numeric_limits<double>::infinity() : 1234.5;
      }
      event.v_before = Eigen::VectorXd::NullaryExpr(nv, [&] { return normal(random); });
      event.v_after = Eigen::VectorXd::NullaryExpr(nv, [&] { return normal(random); });
    }
    run.events.push_back(event);
    run.event_row.push_back(1 + k / 2);
  }
}

// --- running -------------------------------------------------------------------------------------------------------

TEST(RunScene, RowsAreAtMultiplesOfDtAndTheLastStepIsCutShort) {
  const Scene scene = load_scene(kScenes / "pendulum.toml");  // 0.25 s in steps of 0.02 s: 12 whole ones and a half
  const scree::Run run = run_scene(scene);
  ASSERT_EQ(run.rows(), 14u);
  for (size_t k = 0; k < 13; ++k) EXPECT_EQ(run.time[k], static_cast<double>(k) * 0.02);
  EXPECT_EQ(run.time.back(), 0.25);
  EXPECT_EQ(run.status, RunStatus::complete);
  // Fourth order at 0.02 s: the energy of a 10 J pendulum is kept to (w h)^4 ~ (3.1 * 0.02)^4 = 1.5e-5 relative.
  const auto energy = [&](size_t k) { return run.kinetic_energy[k] + run.potential_energy[k]; };
  EXPECT_NEAR(energy(0), 0.5 * 1.001 * 0.25 - 9.81 * std::cos(1.0), 1e-12);  // (m l^2 + I) w^2 / 2 - m g l cos q
  EXPECT_NEAR(energy(13), energy(0), 1.5e-4);
}

TEST(RunScene, RoundingAddsNoExtraStep) {
  SceneOverrides overrides;
  for (const double duration :
       {1.1, 0.3, 0.7, 2.3}) {  // 1.1 / 0.1 = 11.000000000000002, 0.3 / 0.1 = 2.9999999999999996
    overrides.dt = 0.1;
    overrides.duration = duration;
    const scree::Run run = run_scene(load_scene(kScenes / "pendulum.toml", overrides));
    EXPECT_EQ(run.rows(), static_cast<size_t>(std::lround(duration * 10)) + 1) << duration;
    EXPECT_EQ(run.time.back(), duration);
  }
}

TEST(RunScene, MatchesSteppingByHand) {
  const Scene scene = load_scene(kScenes / "joints.toml");  // 10 whole steps
  const scree::Run run = run_scene(scene);
  Simulation simulation(scene.model, scene.world, scene.options);
  simulation.set_state(scene.q0, scene.v0);
  simulation.control() = scene.control;
  for (int k = 0; k < 10; ++k) ASSERT_TRUE(simulation.step().converged());
  EXPECT_EQ(simulation.state().q, run.q.row(run.rows() - 1));
}

TEST(RunScene, StopsWhenAskedAndKeepsWhatItHas) {
  const Scene scene = load_scene(kScenes / "joints.toml");
  const scree::Run run = run_scene(scene, [](double time, double) { return time < 0.045; });
  EXPECT_EQ(run.status, RunStatus::interrupted);
  EXPECT_EQ(run.rows(), 6u);  // 0 to 0.05 s
}

TEST(RunScene, EndsBeforeTheStepThatFails) {
  Scene scene = load_scene(kScenes / "pendulum.toml");
  scene.options.max_halvings = 0;
  scene.v0(0) = 24.9;  // 0.498 rad per step is allowed; at the bottom sqrt(v^2 + 2 g (1 - cos 1)) makes it 0.5016
  const scree::Run run = run_scene(scene);
  EXPECT_EQ(run.status, RunStatus::step_failed);
  EXPECT_LT(run.time.back(), 0.25);
  EXPECT_TRUE(run.q.has_shape(run.rows(), 1));
  bool told = false;
  for (const auto& [name, value] : run.settings) told |= name == "failure" && value.find("did not converge") < 200;
  EXPECT_TRUE(told);
}

TEST(RunScene, RecordsTheContactsOfEveryStep) {
  Scene scene = load_scene(kScenes / "pendulum.toml");
  EXPECT_TRUE(run_scene(scene).first_contact.empty()) << "no environment, no contact columns";
  scene.duration = 0.5;  // long enough to fall from 1 rad to the ground at acos 0.9 = 0.45 rad
  scene.options.integrator = IntegratorType::pbd_nmdp;
  scene.world.add(plane_collider({0, 0, -0.9}, Vec3::UnitZ()));
  scene.world.add(point_collider(BodyIndex(0), {0, 0, -1}, 0, "bob"));
  const scree::Run run = run_scene(scene);
  ASSERT_EQ(run.status, RunStatus::complete);
  ASSERT_EQ(run.first_contact.size(), run.rows() + 1);
  EXPECT_EQ(run.first_contact[1], 0u) << "row 0 has no contacts";
  EXPECT_EQ(run.first_contact.back(), run.contacts.size());
  ASSERT_EQ(run.colliders.size(), 2u);
  EXPECT_EQ(run.colliders[0].name, "ground");
  EXPECT_EQ(run.colliders[1].name, "bob");
  // Stepping by hand gives the same contacts.
  Simulation simulation(scene.model, scene.world, scene.options);
  simulation.set_state(scene.q0, scene.v0);
  simulation.control() = scene.control;
  size_t touched = 0;
  for (size_t row = 1; row < run.rows(); ++row) {
    const StepReport report = simulation.step();
    EXPECT_EQ(run.outer[row], report.outer);
    EXPECT_EQ(run.optimality[row], report.optimality);
    EXPECT_EQ(run.penetration[row], report.penetration);
    ASSERT_EQ(run.first_contact[row + 1] - run.first_contact[row], simulation.contacts().size());
    for (size_t k = 0; k < simulation.contacts().size(); ++k, ++touched)
      EXPECT_EQ(run.contacts[run.first_contact[row] + k].force, simulation.contacts()[k].force);
  }
  EXPECT_GT(touched, 0u);
  const auto setting = [&](const std::string& key) {
    for (const auto& [name, value] : run.settings)
      if (name == key) return value;
    return std::string("absent");
  };
  EXPECT_EQ(setting("contact points"), "1");
  EXPECT_EQ(setting("solids"), "1");
  EXPECT_NE(setting("median outer iterations"), "absent");
  EXPECT_NE(setting("deepest penetration"), "absent");
}

TEST(ContactSummary, MedianPassesOverRowZeroAndDeepestIsOfTheWholeRun) {
  scree::Run run;
  run.time = {0, 1, 2, 3, 4};
  run.colliders.push_back(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
  run.outer = {0, 9, 1, 5, 3};
  run.penetration = {0, 0.01, 0.04, 0.02, 0.03};
  run.contacts.resize(5);
  run.first_contact = {0, 0, 1, 2, 3, 5};
  const ContactSummary summary = summarise_contacts(run);
  EXPECT_EQ(summary.contacts, 2u);
  EXPECT_EQ(summary.penetration, 0.04);
  EXPECT_EQ(summary.median_outer, 4);  // of 1 3 5 9
  run.contacts[3].force = Vec3(1, 2, 3);
  run.contacts[4].normal = Vec3(0.6, 0, 0.8);
  run.contacts[4].force = Vec3(10, 7, 10);
  EXPECT_NEAR(total_normal_force(run, 4), 3 + 14, 1e-14);
}

// --- the file ------------------------------------------------------------------------------------------------------

TEST_F(RunFile, ComesBackBitForBitWithoutTheModelFiles) {
  write_run(file, scene.model, run);
  EXPECT_EQ(folder.count(), 1) << "a temporary file was left behind";
  const LoadedRun loaded = read_run(file);
  EXPECT_EQ(loaded.run.title, run.title);
  EXPECT_EQ(loaded.run.status, run.status);
  EXPECT_EQ(loaded.run.settings, run.settings);
  EXPECT_EQ(loaded.run.scene_text, run.scene_text);
  EXPECT_EQ(loaded.run.time, run.time);
  EXPECT_EQ(loaded.run.q, run.q);
  EXPECT_EQ(loaded.run.v, run.v);
  EXPECT_EQ(loaded.run.kinetic_energy, run.kinetic_energy);
  EXPECT_EQ(loaded.run.potential_energy, run.potential_energy);
  EXPECT_EQ(loaded.run.residual, run.residual);
  EXPECT_EQ(loaded.run.iterations, run.iterations);
  EXPECT_EQ(loaded.run.substeps, run.substeps);
  EXPECT_EQ(loaded.run.rejected, run.rejected);
  EXPECT_EQ(loaded.run.wall_time, run.wall_time);
  EXPECT_EQ(loaded.run.final_state_hash, run.final_state_hash);

  EXPECT_EQ(format_urdf(loaded.model), format_urdf(scene.model));
  const auto& mesh = std::get<Mesh>(loaded.model.shapes()[1].geometry);
  const auto& original = std::get<Mesh>(scene.model.shapes()[1].geometry);
  EXPECT_EQ(mesh.data->vertices, original.data->vertices);
  EXPECT_EQ(mesh.data->triangles, original.data->triangles);
  EXPECT_EQ(mesh.data->colours, original.data->colours);
}

TEST(RunFileMeshes, ColoursComeBack) {
  const TempFolder folder;
  const std::string triangles = "mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n";
  folder.write("m.mtl", "newmtl red\nKd 0.9 0.1 0.3\nnewmtl blue\nKd 0 0 1\n");
  folder.write("m.obj", triangles + "usemtl red\nf 1 2 3\nusemtl blue\nf 1 2 4\nf 1 3 4\nusemtl red\nf 2 3 4\n");
  const std::filesystem::path robot = folder.write(
      "r.urdf",
      "<robot name=\"r\"><link name=\"a\"/><joint name=\"j\" type=\"continuous\"><parent link=\"a\"/><child "
      "link=\"b\"/></joint><link name=\"b\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\" "
      "ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial><visual><geometry><mesh filename=\"m.obj\"/></geometry></visual>"
      "</link></robot>");
  const Scene scene = load_scene(folder.write("s.toml", "model = \"r.urdf\"\nduration = 0.02\nstep.dt = 0.01\n"));
  write_run(folder / "r.h5", scene.model, run_scene(scene));
  const LoadedRun loaded = read_run(folder / "r.h5");
  const auto& before = std::get<Mesh>(scene.model.shapes()[0].geometry).data->colours;
  ASSERT_EQ(before.size(), 4u);
  EXPECT_EQ(std::get<Mesh>(loaded.model.shapes()[0].geometry).data->colours, before);
  const hdf5::Reader file(folder / "r.h5");
  EXPECT_EQ(file.extents("/model/meshes/0/colours"), (hdf5::Extents{2, 4}));  // each once
}

TEST_F(RunFile, NamesEveryCoordinate) {
  const std::vector<std::string> q = {"base.x",  "base.y",      "base.z",      "base.qw",     "base.qx",     "base.qy",
                                      "base.qz", "shoulder.qw", "shoulder.qx", "shoulder.qy", "shoulder.qz", "slide",
                                      "top.x",   "top.z",       "top.angle",   "hinge"};
  const std::vector<std::string> v = {"base.vx", "base.vy",     "base.vz",     "base.wx",     "base.wy",
                                      "base.wz", "shoulder.wx", "shoulder.wy", "shoulder.wz", "slide",
                                      "top.vx",  "top.vz",      "top.w",       "hinge"};
  EXPECT_EQ(position_names(scene.model), q);
  EXPECT_EQ(velocity_names(scene.model), v);
}

TEST_F(RunFile, HoldsAModelWithoutDofs) {
  ModelBuilder builder("rock");
  Body body;
  body.name = "rock";
  body.mass = 1;
  body.inertia = Mat3::Identity();
  Joint joint;
  joint.name = "glue";
  const Model model = builder.add_body(body, "world", joint).build();
  scree::Run empty;
  empty.time = {0, 1};
  empty.q = empty.v = Table(2, 0);
  empty.kinetic_energy = empty.potential_energy = empty.residual = {0, 0};
  empty.iterations = empty.substeps = empty.rejected = {0, 0};
  write_run(file, model, empty);
  EXPECT_EQ(read_run(file).model.nv(), 0);
  EXPECT_EQ(read_run(file).run.time, empty.time);
}

TEST_F(RunFile, ContactsAndGroundComeBack) {
  scree::Run contact = run;
  add_contacts(contact);
  write_run(file, scene.model, contact);
  const scree::Run loaded = read_run(file).run;
  EXPECT_EQ(loaded.outer, contact.outer);
  EXPECT_EQ(loaded.optimality, contact.optimality);
  EXPECT_EQ(loaded.penetration, contact.penetration);
  EXPECT_EQ(loaded.energy_gain, contact.energy_gain);
  EXPECT_EQ(loaded.first_contact, contact.first_contact);
  ASSERT_EQ(loaded.contacts.size(), contact.contacts.size());
  ASSERT_GT(loaded.contacts.size(), 10u);
  for (size_t i = 0; i < loaded.contacts.size(); ++i) {
    const Contact &a = loaded.contacts[i], &b = contact.contacts[i];
    EXPECT_EQ(a.a, b.a);
    EXPECT_EQ(a.b, b.b);
    EXPECT_EQ(a.position, b.position);
    EXPECT_EQ(a.normal, b.normal);
    EXPECT_EQ(a.force, b.force);
    EXPECT_EQ(a.moment, b.moment);
    EXPECT_EQ(a.depth, b.depth);
  }
  ASSERT_EQ(loaded.colliders.size(), 5u);
  for (size_t k = 0; k < 5; ++k) {
    const Collider &a = loaded.colliders[k], &b = contact.colliders[k];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.body, b.body);
    EXPECT_EQ(a.X_BS.R, b.X_BS.R);
    EXPECT_EQ(a.X_BS.p, b.X_BS.p);
    EXPECT_EQ(a.shape.index(), b.shape.index());
  }
  EXPECT_EQ(std::get<Sphere>(loaded.colliders[0].shape).radius, 0.1);
  EXPECT_EQ(std::get<Sphere>(loaded.colliders[1].shape).radius, 0);
  EXPECT_TRUE(std::holds_alternative<Plane>(loaded.colliders[2].shape));
  EXPECT_EQ(std::get<Box>(loaded.colliders[3].shape).size, Vec3(1, 2, 0.3));
  const auto& field = *std::get<std::shared_ptr<const HeightField>>(loaded.colliders[4].shape);
  const auto& hills = *std::get<std::shared_ptr<const HeightField>>(contact.colliders[4].shape);
  EXPECT_EQ(field.heights(), hills.heights());
  EXPECT_EQ(field.origin(), hills.origin());
  EXPECT_EQ(field.spacing(), hills.spacing());
}

TEST_F(RunFile, EventsComeBack) {
  scree::Run contact = run;
  add_contacts(contact);
  add_events(contact, scene.model.nv());
  write_run(file, scene.model, contact);
  const scree::Run loaded = read_run(file).run;
  EXPECT_EQ(loaded.event_row, contact.event_row);
  ASSERT_EQ(loaded.events.size(), 9u);
  for (size_t k = 0; k < 9; ++k) {
    const Event &a = loaded.events[k], &b = contact.events[k];
    EXPECT_EQ(a.time, b.time);
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(a.law, b.law);
    EXPECT_EQ(a.status, b.status);
    EXPECT_EQ(a.steps, b.steps);
    EXPECT_EQ(a.energy_before, b.energy_before);
    EXPECT_EQ(a.energy_after, b.energy_after);
    EXPECT_EQ(a.bounces_end, b.bounces_end);
    EXPECT_EQ(a.v_before, b.v_before);
    EXPECT_EQ(a.v_after, b.v_after);
    ASSERT_EQ(a.certificate.has_value(), b.certificate.has_value());
    if (a.certificate) {
      EXPECT_EQ(a.certificate->holds, b.certificate->holds);
      EXPECT_EQ(a.certificate->cap, b.certificate->cap);
    }
    ASSERT_EQ(a.contacts.size(), b.contacts.size());
    for (size_t c = 0; c < a.contacts.size(); ++c) {
      EXPECT_EQ(a.contacts[c].a, b.contacts[c].a);
      EXPECT_EQ(a.contacts[c].b, b.contacts[c].b);
      EXPECT_EQ(a.contacts[c].position, b.contacts[c].position);
      EXPECT_EQ(a.contacts[c].normal, b.contacts[c].normal);
      EXPECT_EQ(a.contacts[c].impulse, b.contacts[c].impulse);
      EXPECT_EQ(a.contacts[c].velocity_before, b.contacts[c].velocity_before);
      EXPECT_EQ(a.contacts[c].velocity_after, b.contacts[c].velocity_after);
    }
  }
  // scree view shows what scree sim --html showed.
  EXPECT_EQ(replay_data(scene.model, loaded)["events"], replay_data(scene.model, contact)["events"]);
}

TEST_F(RunFile, WithoutEventsNamesNone) {
  scree::Run contact = run;
  add_contacts(contact);
  write_run(file, scene.model, contact);
  const hid_t handle = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  EXPECT_EQ(H5Lexists(handle, "/events", H5P_DEFAULT), 0);
  H5Fclose(handle);
  EXPECT_TRUE(read_run(file).run.events.empty());
}

TEST_F(RunFile, NamesAMissingOrStrangePartOfTheEvents) {
  scree::Run contact = run;
  add_contacts(contact);
  add_events(contact, scene.model.nv());
  for (const char* path : {"/events/time",
                           "/events/row",
                           "/events/kind",
                           "/events/law",
                           "/events/status",
                           "/events/steps",
                           "/events/energy_before",
                           "/events/energy_after",
                           "/events/certified",
                           "/events/cap",
                           "/events/bounces_end",
                           "/events/v_before",
                           "/events/v_after",
                           "/events/first_contact",
                           "/events/contacts",
                           "/events/contacts/a",
                           "/events/contacts/b",
                           "/events/contacts/position",
                           "/events/contacts/normal",
                           "/events/contacts/impulse",
                           "/events/contacts/velocity_before",
                           "/events/contacts/velocity_after"}) {
    write_run(file, scene.model, contact);
    const hid_t handle = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    ASSERT_GE(H5Ldelete(handle, path, H5P_DEFAULT), 0) << path;
    H5Fclose(handle);
    seal_file(file);
    expect_refused(path);
  }
  const auto swapped = [&](const char* from, const char* to, const std::string& expected) {
    write_run(file, scene.model, contact);
    const hid_t handle = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    H5Ldelete(handle, to, H5P_DEFAULT);
    ASSERT_GE(H5Lcreate_hard(handle, from, handle, to, H5P_DEFAULT, H5P_DEFAULT), 0);
    H5Fclose(handle);
    seal_file(file);
    expect_refused(expected);
  };
  swapped("/events/law", "/events/kind", "/events/kind: row 0 holds \"sequential\"");
  swapped("/events/kind", "/events/law", "/events/law: row 0: ");
  swapped("/events/kind", "/events/status", "/events/status: row 0 holds \"impact\"");
  swapped("/events/row", "/events/certified", "/events/certified: row 3 holds 2");
  swapped("/events/energy_before", "/events/steps", "/events/steps: row 0 holds");
  swapped("/events/contacts/impulse", "/events/contacts/normal", "/events/contacts/normal: row 0 has length");
}

TEST_F(RunFile, RefusesEventsThatDoNotFit) {
  const auto with = [&](auto&& change, const std::string& expected) {
    scree::Run wrong = run;
    add_contacts(wrong);
    add_events(wrong, scene.model.nv());
    change(wrong);
    try {
      write_run(file, scene.model, wrong);
      FAIL() << expected;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
    EXPECT_EQ(folder.count(), 0);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  with([](scree::Run& r) { r.event_row.pop_back(); }, "/events/row: has 8 entries, expected 9");
  with([](scree::Run& r) { r.event_row[8] = 11; }, "/events/row: row 8 holds 11, expected rows 0 to 10");
  with([](scree::Run& r) { std::swap(r.event_row[0], r.event_row[7]); }, "/events/row: row 1 holds");
  with([](scree::Run& r) { r.events[5].time = 0; }, "/events/time: row 5 holds 0");
  with([&](scree::Run& r) { r.events[2].time = nan; }, "/events/time: row 2 holds nan");
  with([&](scree::Run& r) { r.events[0].energy_after = nan; }, "/events/energy_after: row 0 holds nan");
  with([](scree::Run& r) { r.events[0].energy_before = -1; }, "/events/energy_before: row 0 holds -1");
  with([](scree::Run& r) { r.events[4].v_after.resize(2); }, "/events/v_after: row 4 has 2 numbers, expected 14");
  with([&](scree::Run& r) { r.events[4].certificate->cap = nan; }, "/events/cap: row 4 holds nan");
  with([&](scree::Run& r) { *r.events[5].bounces_end = nan; }, "/events/bounces_end: row 5 holds nan");
  with([](scree::Run& r) { r.events[1].contacts[0].a = 2; }, "/events/contacts/a: row 0 holds 2");
  with([](scree::Run& r) { r.events[2].contacts[1].b = 1; }, "/events/contacts/b: row 2 holds 1");
  with([](scree::Run& r) { r.events[2].contacts[1].normal *= 2; }, "/events/contacts/normal: row 2 has length 2");
  with([&](scree::Run& r) { r.events[3].contacts[0].impulse.x() = nan; }, "/events/contacts/impulse: row 3 is not");
}

TEST_F(RunFile, WithoutAnEnvironmentNamesNoContacts) {
  write_run(file, scene.model, run);
  const hid_t handle = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  for (const char* path : {"/contacts", "/colliders", "/report/outer"})
    EXPECT_EQ(H5Lexists(handle, path, H5P_DEFAULT), 0) << path;
  H5Fclose(handle);
  EXPECT_TRUE(read_run(file).run.first_contact.empty());
}

TEST_F(RunFile, NamesAMissingOrStrangePartOfTheContacts) {
  scree::Run contact = run;
  add_contacts(contact);
  for (const char* path : {"/contacts",           "/contacts/first",           "/contacts/a",
                           "/contacts/b",         "/contacts/position",        "/contacts/normal",
                           "/contacts/force",     "/contacts/moment",          "/contacts/depth",
                           "/report/outer",       "/report/optimality",        "/report/penetration",
                           "/report/energy_gain", "/colliders/name",           "/colliders/shape",
                           "/colliders/body",     "/colliders/position",       "/colliders/rotation",
                           "/colliders/size",     "/colliders/field4/heights", "/colliders/field4/spacing"}) {
    write_run(file, scene.model, contact);
    const hid_t handle = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    ASSERT_GE(H5Ldelete(handle, path, H5P_DEFAULT), 0) << path;
    H5Fclose(handle);
    seal_file(file);
    expect_refused(path);
  }
  const auto swapped = [&](const char* from, const char* to, const std::string& expected) {
    write_run(file, scene.model, contact);
    const hid_t handle = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    H5Ldelete(handle, to, H5P_DEFAULT);
    ASSERT_GE(H5Lcreate_hard(handle, from, handle, to, H5P_DEFAULT, H5P_DEFAULT), 0);
    H5Fclose(handle);
    seal_file(file);
    expect_refused(expected);
  };
  swapped("/time", "/contacts/first", "/contacts/first: has another type, expected integers");
  swapped("/contacts/depth", "/contacts/force", "/contacts/force: has shape");
  swapped("/contacts/force", "/contacts/normal", "/contacts/normal: row 0 has length");
  swapped("/contacts/first", "/contacts/a", "/contacts/b: has shape");
  swapped("/colliders/name", "/colliders/shape", "/colliders: row 0: shape is \"heel\", expected sphere, box");
  swapped("/colliders/position", "/colliders/size", "/colliders: row 0: ");  // a negative radius
}

TEST_F(RunFile, RefusesContactsThatDoNotFit) {
  const auto with = [&](auto&& change, const std::string& expected) {
    scree::Run wrong = run;
    add_contacts(wrong);
    change(wrong);
    try {
      write_run(file, scene.model, wrong);
      FAIL() << expected;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
    EXPECT_EQ(folder.count(), 0);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  with([](scree::Run& r) { r.contacts[2].a = 2; },
       "/contacts/a: row 2 holds 2, expected one of the 5 colliders that belongs to a body");
  with([](scree::Run& r) { r.contacts[2].b = -1; },
       "/contacts/b: row 2 holds -1, expected one of the 5 colliders that belongs to the ground");
  with([](scree::Run& r) { r.contacts[2].b = 5; }, "/contacts/b: row 2 holds 5");
  with([](scree::Run& r) { r.contacts[1].normal *= 2; }, "/contacts/normal: row 1 has length 2");
  with([&](scree::Run& r) { r.contacts[1].force.x() = nan; }, "/contacts/force: row 1 is not finite");
  with([&](scree::Run& r) { r.contacts[0].depth = nan; }, "/contacts/depth: row 0 holds nan");
  with([](scree::Run& r) { r.contacts.pop_back(); }, "/contacts/first: goes from 0 to");
  with([](scree::Run& r) { r.first_contact.pop_back(); }, "/contacts/first: has 11 entries, expected 12");
  with([](scree::Run& r) { std::swap(r.first_contact[2], r.first_contact[5]); }, "less than the one before");
  with([](scree::Run& r) { r.outer[3] = -2; }, "/report/outer: row 3 holds -2");
  with([&](scree::Run& r) { r.penetration[4] = nan; }, "/report/penetration: row 4 holds nan");
  with([](scree::Run& r) { r.optimality.clear(); }, "/report/optimality: has 0 entries, expected 11");
  with([](scree::Run& r) { r.colliders.clear(); }, "/report/outer: has 11 entries, expected 0");
}

TEST_F(RunFile, RefusesARunThatDoesNotFitItsModel) {
  scree::Run wrong = run;
  wrong.q.keep(wrong.rows() - 1);
  EXPECT_THROW(write_run(file, scene.model, wrong), InputError);
  EXPECT_EQ(folder.count(), 0);
}

TEST_F(RunFile, RefusesWhatIsNoRunFile) {
  EXPECT_NE(message_of(folder / "none.h5").find("no such file"), std::string::npos);
  EXPECT_NE(message_of(folder.path()).find("not a regular file"), std::string::npos);
  for (const std::string& bytes : {std::string(), std::string("# TOML"), std::string(5000, '\0'),
                                   std::string("\x89HDF\r\n\x1a\n"), "\x89HDF\r\n\x1a\n" + std::string(4000, '\xff')}) {
    folder.write("run.h5", bytes);
    expect_refused("run.h5");
  }
}

TEST_F(RunFile, NamesAMissingPart) {
  for (const char* path : {"/time", "/q", "/v", "/report/kinetic_energy", "/report/residual", "/report/iterations",
                           "/model/urdf", "/model/joint_names", "/model/q_names", "/model/v_names", "/model/meshes",
                           "/model/meshes/0/vertices", "/model/meshes/0/triangles", "/scene", "/settings"}) {
    write_run(file, scene.model, run);
    const hid_t handle = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    ASSERT_GE(H5Ldelete(handle, path, H5P_DEFAULT), 0);
    H5Fclose(handle);
    seal_file(file);
    expect_refused(path);
  }
  for (const char* key : {"title", "status", "wall_time", "final_state_hash", "format_version"}) {
    write_run(file, scene.model, run);
    const hid_t handle = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    ASSERT_GE(H5Adelete(handle, key), 0);
    H5Fclose(handle);
    seal_file(file);
    expect_refused(key);
  }
}

// Written by scree with the HDF5 library, before runs kept states: event-ball.toml with dt 0.05 s over 0.5 s.
TEST(OldRunFile, IsRefusedByItsVersion) {
  const std::filesystem::path old = std::filesystem::path(source_dir()) / "tests/data/run-format-1.h5";
  const auto refused = [](const auto& read, const std::string& expected) {
    try {
      read();
      FAIL() << expected;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  };
  refused([&] { read_run(old); }, "format_version is 1, this scree reads 3: run its /scene again");
  const Model ball = load_urdf(source_dir() + "/models/ball.urdf");
  refused([&] { load_state(old, ball); }, "format_version 1 holds no states");
}

TEST_F(RunFile, RefusesANewerFormat) {
  write_run(file, scene.model, run);
  const hid_t handle = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t attribute = H5Aopen(handle, "format_version", H5P_DEFAULT);
  const int newer = 4;
  H5Awrite(attribute, H5T_NATIVE_INT, &newer);
  H5Aclose(attribute);
  H5Fclose(handle);
  seal_file(file);
  expect_refused("format_version is 4, this scree reads 3");
}

TEST_F(RunFile, RefusesValuesThatNoRunHas) {
  const auto with = [&](auto&& change, const std::string& expected) {
    scree::Run wrong = run;
    change(wrong);
    write_run(file, scene.model, wrong);
    expect_refused(expected);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  with([&](scree::Run& r) { r.q(1, 0) = nan; }, "/q: row 1 holds nan");
  with([&](scree::Run& r) { r.v(0, 0) = 1 / 0.0; }, "/v: row 0 holds inf");
  with([&](scree::Run& r) { r.residual[3] = nan; }, "/report/residual: row 3 holds nan");
  with([&](scree::Run& r) { r.time[4] = r.time[3]; }, "/time: row 4 is not later");
  with([&](scree::Run& r) { r.q(0, 3) = 2; }, "/q: row 0: quaternion of joint base");
  with([&](scree::Run& r) { r.iterations[2] = -1; }, "/report/iterations: row 2 holds -1");
  with([&](scree::Run& r) { r.wall_time = -1; }, "wall_time is -1");
}

TEST_F(RunFile, RefusesAWrongShape) {
  write_run(file, scene.model, run);
  const hid_t handle = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(handle, "/v", H5P_DEFAULT);
  ASSERT_GE(H5Lcreate_hard(handle, "/q", handle, "/v", H5P_DEFAULT, H5P_DEFAULT), 0);
  H5Fclose(handle);
  seal_file(file);
  expect_refused("/v: has shape [11, 16], expected [11, 14]");
}

// Truncated files and flipped bits are refused before HDF5 can trip over them.
TEST_F(RunFile, RefusesDamage) {
  write_run(file, scene.model, run);
  const std::string good = read_bytes(file);
  std::mt19937_64 random(20240611);
  for (int trial = 0; trial < 300; ++trial) {
    std::string bad = good;
    if (trial % 3 == 0) bad.resize(random() % bad.size());
    for (int k = 0; trial % 3 != 0 && k <= trial % 5; ++k)
      bad[random() % bad.size()] ^= static_cast<char>(1 + random() % 255);
    folder.write("run.h5", bad);
    const std::string message = message_of(file);
    EXPECT_TRUE(message.ends_with("not a run file of scree") || message.ends_with("changed after scree wrote it"))
        << trial << ": " << message;
  }
}

TEST_F(RunFile, RefusesForeignHdf5Files) {
  H5Fclose(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  expect_refused("is not a run file of scree");
}

}  // namespace
}  // namespace scree
