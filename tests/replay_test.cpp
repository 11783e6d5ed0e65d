#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/files.h"
#include "pages/replay_data.h"
#include "pages/replay_template.h"
#include "scree/error.h"
#include "scree/kinematics.h"

namespace scree {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// A chain of revolute joints; with 0 links a world and nothing in it.
Model chain(int links, std::shared_ptr<const TriangleMesh> mesh = nullptr) {
  ModelBuilder builder("chain");
  std::string parent = "world";
  for (int k = 0; k < links; ++k) {
    Body body;
    body.name = "link" + std::to_string(k);
    body.mass = 1;
    body.inertia = Mat3::Identity();
    Joint joint;
    joint.name = "joint" + std::to_string(k);
    joint.type = JointType::revolute;
    joint.X_PJ.p = Vec3(0, 0, -0.5);
    joint.axis = Vec3::UnitY();
    builder.add_body(body, parent, joint);
    parent = body.name;
  }
  if (mesh) {
    Shape shape;
    shape.geometry = Mesh{"part.stl", Vec3::Ones(), std::move(mesh)};
    builder.add_shape("link0", shape);
  }
  return builder.build();
}

Run swing(const Model& model, size_t rows, double dt) {
  scree::Run run;
  run.title = "swing";
  run.settings = {{"dt", "1 ms"}};
  for (size_t r = 0; r < rows; ++r) {
    run.time.push_back(dt * static_cast<double>(r));
    run.q.append(Eigen::VectorXd::NullaryExpr(
        model.nq(), [&](Eigen::Index k) { return 0.1 * std::sin(run.time.back() + static_cast<double>(k)); }));
  }
  run.v = Table(rows, static_cast<size_t>(model.nv()));
  run.kinetic_energy.assign(rows, 1.0);
  run.potential_energy.assign(rows, -2.0);
  run.residual.assign(rows, 1e-9);
  run.iterations.assign(rows, 3);
  run.substeps.assign(rows, 1);
  run.rejected.assign(rows, 0);
  return run;
}

std::string decode_base64(const std::string& text) {
  const auto digit = [](char c) -> unsigned {
    if (c >= 'A' && c <= 'Z') return static_cast<unsigned>(c - 'A');
    if (c >= 'a' && c <= 'z') return static_cast<unsigned>(c - 'a' + 26);
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0' + 52);
    return c == '+' ? 62 : 63;
  };
  std::string bytes;
  unsigned word = 0, bits = 0;
  for (char c : text) {
    if (c == '=') break;
    word = word << 6 | digit(c);
    bits += 6;
    if (bits >= 8) bytes += static_cast<char>(word >> (bits -= 8) & 255);
  }
  return bytes;
}

template <class T> std::vector<T> array(const Json& data, const Json& ref) {
  const std::string bytes = decode_base64(data["data"]);
  std::vector<T> values(ref["count"].get<size_t>());
  EXPECT_EQ(ref["offset"].get<size_t>() % sizeof(T), 0u);
  EXPECT_LE(ref["offset"].get<size_t>() + sizeof(T) * values.size(), bytes.size());
  std::memcpy(values.data(), bytes.data() + ref["offset"].get<size_t>(), sizeof(T) * values.size());
  return values;
}

// A box on a floating joint above a plane, turned about x by `tilt`, then about z.
Model crate() {
  ModelBuilder builder("crate");
  Body body;
  body.name = "box";
  body.mass = 1;
  body.inertia = Mat3::Identity();
  Joint joint;
  joint.name = "base";
  joint.type = JointType::floating;
  builder.add_body(body, "world", joint);
  for (const char* name : {"left", "right"}) {
    ContactPoint point;
    point.name = name;
    point.p_B = Vec3(0.1, name[0] == 'l' ? 0.2 : -0.2, -0.3);
    builder.add_contact_point("box", point);
  }
  return builder.build();
}

// Row r has r % 3 contacts; the k-th of row r pushes with (1, 2, 100 r + k) N.
scree::Run slide(const Model& model, size_t rows, double dt, double tilt = 0) {
  scree::Run run = swing(model, rows, dt);
  run.colliders = contact_candidates(model, ContactCandidates::named);  // left, right
  run.colliders.push_back(plane_collider(Vec3::Zero(), Vec3::UnitZ(), "floor"));
  run.first_contact = {0};
  for (size_t r = 0; r < rows; ++r) {
    const Quat turn(Eigen::AngleAxisd(0.3 * static_cast<double>(r), Vec3::UnitZ()) *
                    Eigen::AngleAxisd(tilt, Vec3::UnitX()));
    run.q.row(r) << 1 + 0.5 * static_cast<double>(r), 2, 3, turn.w(), turn.x(), turn.y(), turn.z();
    for (size_t k = 0; k < r % 3; ++k) {
      Contact contact;
      contact.a = static_cast<int>(k);
      contact.b = 2;
      contact.position = Vec3(static_cast<double>(r), static_cast<double>(k), 0);
      contact.force = Vec3(1, 2, 100 * static_cast<double>(r) + static_cast<double>(k));
      contact.depth = 0.001 * static_cast<double>(r);
      run.contacts.push_back(contact);
    }
    run.first_contact.push_back(run.contacts.size());
    run.outer.push_back(static_cast<int>(r));
    run.optimality.push_back(0);
    run.penetration.push_back(0.001 * static_cast<double>(r));
    run.energy_gain.push_back(0);
  }
  return run;
}

// The JSON between the markers of the data element.
Json data_of_page(const std::string& page) {
  const std::string open = "<script id=\"scree-data\" type=\"application/json\">";
  const size_t begin = page.find(open) + open.size();
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

// --- events ---

scree::Run with_events(const Model& model, size_t count) {
  scree::Run run = swing(model, 11, 0.1);
  run.colliders = {point_collider(BodyIndex(0), Vec3::Zero(), 0, "heel"),
                   plane_collider(Vec3::Zero(), Vec3::UnitZ(), "floor"),
                   point_collider(BodyIndex(0), Vec3::UnitX(), 0, "toe")};
  run.outer.assign(11, 0);
  run.optimality.assign(11, 0);
  run.penetration.assign(11, 0);
  run.energy_gain.assign(11, 0);
  run.first_contact.assign(12, 0);
  for (size_t k = 0; k < count; ++k) {
    Event event;
    event.time = static_cast<double>(k) / static_cast<double>(count);
    event.kind = k % 2 == 0 ? EventKind::impact : EventKind::lift_off;
    EventContact contact;
    contact.a = 2;
    contact.b = 1;
    contact.normal = Vec3(0.6, 0, 0.8);
    contact.impulse = 5 * contact.normal + 2 * Vec3(0, 1, 0);
    event.contacts.assign(k == 0 ? 14 : 1, contact);
    event.energy_before = 3;
    event.energy_after = 1;
    event.law = ImpactLaw::sequential;
    if (k == 2) {
      event.certificate.emplace();
      event.certificate->holds = true;
      event.certificate->cap = std::numeric_limits<double>::infinity();
    }
    run.events.push_back(event);
    run.event_row.push_back(10);
  }
  return run;
}

TEST(ReplayEvents, AreListedWithNamesImpulsesAndWhatWasProved) {
  const Model model = chain(1);
  const Json events = replay_data(model, with_events(model, 4))["events"];
  EXPECT_EQ(events["count"], 4);
  ASSERT_EQ(events["table"].size(), 4u);
  const Json& first = events["table"][0];
  EXPECT_EQ(first["kind"], "impact");
  EXPECT_EQ(first["contacts"].size(), 12u);
  EXPECT_EQ(first["more"], 2);
  EXPECT_EQ(first["contacts"][0]["point"], "toe");
  EXPECT_EQ(first["contacts"][0]["solid"], "floor");
  EXPECT_NEAR(first["contacts"][0]["normal"].get<double>(), 5, 1e-15);
  EXPECT_NEAR(first["contacts"][0]["tangential"].get<double>(), 2, 1e-15);
  EXPECT_EQ(first["law"], "sequential");
  EXPECT_EQ(first["energy"], Json({3, 1}));
  EXPECT_FALSE(first.contains("certificate"));
  EXPECT_FALSE(events["table"][1].contains("law"));
  EXPECT_EQ(events["table"][2]["certificate"]["holds"], true);
  EXPECT_EQ(Json::parse(events["table"][2]["certificate"].dump())["cap"], nullptr) << "infinite";
  EXPECT_FALSE(replay_data(model, swing(model, 3, 0.1)).contains("events"));
}

TEST(ReplayEvents, AreLimitedAndRefusedWhereTheyDoNotFit) {
  const Model model = chain(1);
  scree::Run run = with_events(model, 30'000);
  const Json data = replay_data(model, run);
  EXPECT_EQ(data["events"]["count"], 30'000);
  EXPECT_EQ(data["events"]["table"].size(), 500u);
  EXPECT_EQ(data["events"]["time"]["count"], 20'000);
  EXPECT_LE(replay_json(data).size(), kReplayBytes);
  for (const int wrong : {-1, 1, 3}) {  // the second is the ground
    run.events[7].contacts[0].a = wrong;
    EXPECT_THROW(replay_data(model, run), InputError) << wrong;
  }
}

class ReplayFile : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }
  fs::path directory_;
};

TEST(ReplayTemplate, HasThePlaceholderOnceAndNamesNoOtherFile) {
  for (const auto& [page, placeholder] :
       {std::pair{replay_template(), kReplayPlaceholder}, std::pair{study_template(), kStudyPlaceholder}}) {
    const size_t at = page.find(placeholder);
    ASSERT_NE(at, std::string_view::npos);
    EXPECT_EQ(page.find(placeholder, at + 1), std::string_view::npos);
    EXPECT_EQ(page.substr(page.size() - 8), "</html>\n");
    for (const char* outside : {"<script src", "rel=\"stylesheet\"", "@import", "url(http"})
      EXPECT_EQ(page.find(outside), std::string_view::npos) << outside;
  }
}

TEST_F(ReplayFile, IsTheTemplateWithTheDataInPlace) {
  const Model model = chain(2);
  const scree::Run run = swing(model, 50, 0.02);
  write_replay(directory_ / "a.html", model, run);
  const std::string page = read_file(directory_ / "a.html");
  EXPECT_EQ(page.find(kReplayPlaceholder), std::string::npos);
  EXPECT_EQ(data_of_page(page), replay_data(model, run));
  EXPECT_EQ(page.size(),
            replay_template().size() - kReplayPlaceholder.size() + replay_json(replay_data(model, run)).size());
  EXPECT_EQ(files(), 1u);
}

TEST_F(ReplayFile, SameRunGivesTheSameBytes) {
  const Model model = chain(3);
  const scree::Run run = swing(model, 20, 0.02);
  write_replay(directory_ / "a.html", model, run);
  write_replay(directory_ / "b.html", model, run);
  EXPECT_EQ(read_file(directory_ / "a.html"), read_file(directory_ / "b.html"));
}

TEST_F(ReplayFile, UnwritableTargetsAreInputErrorsAndLeaveNothing) {
  const Model model = chain(1);
  const scree::Run run = swing(model, 3, 0.02);
  EXPECT_THROW(write_replay(directory_ / "missing" / "a.html", model, run), InputError);
  EXPECT_THROW(write_replay(directory_, model, run), InputError);  // a directory in its place
  EXPECT_EQ(files(), 0u);
}

TEST_F(ReplayFile, ARefusedRunLeavesTheOldFileAlone) {
  const Model model = chain(1);
  scree::Run run = swing(model, 3, 0.02);
  write_replay(directory_ / "a.html", model, run);
  const std::string before = read_file(directory_ / "a.html");
  run.q(1, 0) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(write_replay(directory_ / "a.html", model, run), InputError);
  EXPECT_EQ(read_file(directory_ / "a.html"), before);
  EXPECT_EQ(files(), 1u);
}

TEST(ReplayBase64, KnownTextsAndRoundTrip) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");  // RFC 4648, section 10
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  std::string bytes;
  for (int k = 0; k < 256; ++k) bytes += static_cast<char>(k);
  EXPECT_EQ(decode_base64(base64(bytes)), bytes);
}

TEST(ReplayData, PosesAndSeriesSurviveTheRoundTrip) {
  const Model model = chain(3);
  const scree::Run run = swing(model, 40, 0.05);  // 20 rows per second: all are kept
  const Json data = replay_data(model, run);
  EXPECT_EQ(array<double>(data, data["frames"]["time"]), run.time);
  EXPECT_EQ(array<double>(data, data["series"]["kinetic_energy"]), run.kinetic_energy);
  const auto poses = array<float>(data, data["frames"]["poses"]);
  ASSERT_EQ(poses.size(), 40u * 3 * 7);
  for (size_t r : {0u, 17u, 39u}) {
    const auto expected = body_poses(model, run.q.row(r));
    for (size_t b = 0; b < 3; ++b) {
      const float* p = &poses[7 * (3 * r + b)];
      const Quat quaternion(p[6], p[3], p[4], p[5]);
      // float32 rounds by 6e-8 of values below 2; a rotation matrix adds up a few of them
      EXPECT_LT((Vec3(p[0], p[1], p[2]) - expected[b].p).norm(), 1e-6);
      EXPECT_LT((quaternion.toRotationMatrix() - expected[b].R).norm(), 1e-6);
      EXPECT_NEAR(quaternion.norm(), 1, 1e-6);
    }
    EXPECT_EQ(array<float>(data, data["series"]["positions"][1])[r], static_cast<float>(run.q(r, 1)));
  }
  EXPECT_EQ(data["positions"][1], Json({{"name", "joint1"}, {"unit", "rad"}}));
}

TEST(ReplayContact, FramesAndSeriesHoldTheContactsOfTheirRows) {
  const Model model = crate();
  const double tilt = 1e-3;
  const scree::Run run = slide(model, 40, 0.05, tilt);
  const Json data = replay_data(model, run);
  const Json& contacts = data["contacts"];
  const auto first = array<std::uint32_t>(data, contacts["first"]);
  ASSERT_EQ(first, std::vector<std::uint32_t>(run.first_contact.begin(), run.first_contact.end()));
  const auto point = array<std::uint32_t>(data, contacts["point"]);
  const auto position = array<float>(data, contacts["position"]), force = array<float>(data, contacts["force"]),
             depth = array<float>(data, contacts["depth"]);
  for (size_t i = 0; i < run.contacts.size(); ++i) {
    EXPECT_EQ(point[i], static_cast<std::uint32_t>(run.contacts[i].a));
    EXPECT_EQ(depth[i], static_cast<float>(run.contacts[i].depth));
    for (int k = 0; k < 3; ++k) {
      EXPECT_EQ(position[3 * i + static_cast<size_t>(k)], static_cast<float>(run.contacts[i].position(k)));
      EXPECT_EQ(force[3 * i + static_cast<size_t>(k)], static_cast<float>(run.contacts[i].force(k)));
    }
  }
  EXPECT_EQ(data["contact_points"][1], Json({{"name", "right"}, {"body", 0}, {"position", {0.1, -0.2, -0.3}}}));
  EXPECT_EQ(data["environment"][0],
            Json({{"name", "floor"}, {"type", "plane"}, {"point", {0., 0., 0.}}, {"normal", {0., 0., 1.}}}));

  const auto series = [&](const char* name) { return array<float>(data, data["series"][name]); };
  EXPECT_EQ(series("normal_force")[5], 1001);  // 500 + 501
  EXPECT_EQ(series("outer")[7], 7);
  EXPECT_EQ(series("penetration")[7], 0.007f);
  EXPECT_EQ(series("base_height")[7], 3);
  EXPECT_EQ(series("base_travel")[7], 3.5f);
  // The turn about z is no tilt. float32 and the rotation matrix round by 1e-7 of an angle of 1e-3.
  for (const float angle : series("base_tilt")) EXPECT_NEAR(angle, tilt, 1e-9);
}

TEST(ReplayContact, ARunWithoutAnEnvironmentHasNone) {
  const Model model = chain(2);
  const Json data = replay_data(model, swing(model, 5, 0.02));
  for (const char* key : {"environment", "contacts", "contact_points"}) EXPECT_FALSE(data.contains(key)) << key;
  EXPECT_FALSE(data["series"].contains("normal_force"));
}

TEST(ReplayContact, PointsTheModelDoesNotNameAreShownToo) {
  const Model model = crate();
  scree::Run run = slide(model, 5, 0.05);
  run.colliders[0] = point_collider(BodyIndex(0), Vec3(4, 5, 6), 0.1, "elsewhere");
  EXPECT_EQ(replay_data(model, run)["contact_points"][0],
            Json({{"name", "elsewhere"}, {"body", 0}, {"position", {4., 5., 6.}}}));
}

TEST(ReplayContact, AForceBetweenKeptRowsIsStillSeenAndTheSizeIsKept) {
  const Model model = crate();
  scree::Run run = slide(model, 100'000, 1e-3);
  for (size_t r = 0; r < run.rows(); ++r)
    for (size_t i = run.first_contact[r]; i < run.first_contact[r + 1]; ++i) run.contacts[i].force.z() = 100;
  run.contacts[run.first_contact[70'001]].force.z() = 12345;  // 70 001 = 2 mod 3: it has contacts
  const Json data = replay_data(model, run);
  ASSERT_GT(data["series"]["stride"], 1);
  const auto force = array<float>(data, data["series"]["normal_force"]);
  EXPECT_EQ(*std::max_element(force.begin(), force.end()), 12445);
  EXPECT_LE(replay_json(data).size(), kReplayBytes);
  EXPECT_EQ(data["contacts"]["first"]["count"].get<size_t>(), data["frames"]["time"]["count"].get<size_t>() + 1);
}

TEST(ReplayContact, LargeTerrainIsCoarsenedFromRimToRimAndTheReplaySaysSo) {
  const Model model = crate();
  scree::Run run = slide(model, 5, 0.05);
  Eigen::MatrixXd heights(900, 600);  // a tilted plane: every interpolation gives it back
  for (int i = 0; i < 900; ++i)
    for (int j = 0; j < 600; ++j) heights(i, j) = 0.01 * i - 0.02 * j;
  run.colliders.push_back(
      height_field_collider(std::make_shared<const HeightField>(heights, Eigen::Vector2d(-1, 2), 0.1)));
  const Json data = replay_data(model, run);
  const Json& field = data["environment"][1];
  const size_t nx = field["counts"][0], ny = field["counts"][1];
  const auto shown = array<float>(data, field["heights"]);
  ASSERT_EQ(shown.size(), nx * ny);
  EXPECT_LE(4 * nx * ny, kReplayBytes / 8);
  EXPECT_GT(4 * nx * ny, kReplayBytes / 10);
  EXPECT_NEAR(field["size"][0], 89.9, 1e-12);
  EXPECT_NEAR(shown.front(), 0, 1e-6);  // float32 of heights up to 12
  EXPECT_NEAR(shown[ny - 1], -0.02 * 599, 1e-5);
  EXPECT_NEAR(shown.back(), 0.01 * 899 - 0.02 * 599, 1e-5);
  EXPECT_NE(data["note"].get<std::string>().find("of its 900 x 600 points"), std::string::npos) << data["note"];

  scree::Run small = slide(model, 5, 0.05);
  small.colliders.push_back(height_field_collider(
      std::make_shared<const HeightField>(heights.topLeftCorner(7, 5), Eigen::Vector2d(-1, 2), 0.1)));
  const Json exact = replay_data(model, small);
  EXPECT_EQ(array<float>(exact, exact["environment"][1]["heights"])[5 * 6 + 3], static_cast<float>(heights(6, 3)));
  EXPECT_EQ(exact["note"], "");
}

TEST(ReplayContact, AnInconsistentRunIsRefused) {
  const Model model = crate();
  scree::Run run = slide(model, 5, 0.05);
  run.contacts[0].a = 2;
  EXPECT_THROW(replay_data(model, run), InputError);
  run = slide(model, 5, 0.05);
  run.first_contact.pop_back();
  EXPECT_THROW(replay_data(model, run), InputError);
}

TEST(ReplayRows, FirstAndLastAreKeptAndTheRestIsEven) {
  for (size_t recorded : {1u, 2u, 3u, 10u, 97u, 1000u})
    for (size_t most : {2u, 3u, 7u, 50u, 2000u}) {
      const RowSelection kept = select_rows(recorded, most);
      ASSERT_LE(kept.rows.size(), most);
      EXPECT_EQ(kept.rows.front(), 0u);
      EXPECT_EQ(kept.rows.back(), recorded - 1);
      for (size_t i = 1; i + 1 < kept.rows.size(); ++i) EXPECT_EQ(kept.rows[i], i * kept.stride);
      EXPECT_EQ(kept.stride == 1, recorded <= most);
      // a smaller stride would not have done
      if (kept.stride > 1) {
        EXPECT_GT((recorded - 2) / (kept.stride - 1) + 2, most);
      }
    }
}

TEST(ReplayRows, ARunAtSixtyRowsPerSecondIsKeptWhole) {
  double time = 0;  // accumulated, as a simulation does: the rounding must not halve the frames
  for (int k = 0; k < 600; ++k) time += 1.0 / 60;
  EXPECT_EQ(select_rows(601, most_frames(601, time)).stride, 1u);
  EXPECT_EQ(select_rows(601, most_frames(601, 0.99 * time)).stride, 2u);
}

TEST(ReplayLimits, OneRow) {
  const Model model = chain(1);
  const Json data = replay_data(model, swing(model, 1, 0.01));
  EXPECT_EQ(data["frames"]["time"]["count"], 1);
  EXPECT_EQ(data["series"]["time"]["count"], 1);
}

TEST(ReplayLimits, ManyRowsAreDecimatedToSixtyPerSecond) {
  const Model model = chain(2);
  const scree::Run run = swing(model, 200'000, 1e-3);
  const Json data = replay_data(model, run);
  const auto time = array<double>(data, data["frames"]["time"]);
  EXPECT_EQ(data["recorded_rows"], 200'000);
  EXPECT_EQ(data["frames"]["stride"], 17);  // 1000 rows per second / 60, rounded up
  EXPECT_EQ(time.front(), run.time.front());
  EXPECT_EQ(time.back(), run.time.back());
  EXPECT_LE(static_cast<double>(time.size() - 1), 60 * run.time.back());
  EXPECT_LE(data["series"]["time"]["count"].get<size_t>(), kMostSeriesRows);
  EXPECT_LE(replay_json(data).size(), kReplayBytes);
}

TEST(ReplayLimits, ManyBodiesLeaveFewerFrames) {
  const Model model = chain(300);
  const Json data = replay_data(model, swing(model, 3000, 0.02));
  const size_t size = replay_json(data).size();
  EXPECT_LE(size, kReplayBytes);
  EXPECT_GT(size, kReplayBytes / 2);  // the room is used
  EXPECT_GT(data["frames"]["stride"], 1);
}

TEST(ReplayLimits, AModelThatCannotFitIsRefused) {
  scree::Run run = swing(chain(1), 2, 0.02);
  run.settings.push_back({"long", std::string(kReplayBytes, 'x')});
  EXPECT_THROW(replay_data(chain(1), run), InputError);
}

TEST(ReplayLimits, LargeMeshesAreCoarsenedAndTheReplaySaysSo) {
  TriangleMesh sheet;  // 300 x 300 squares with a bump: 2.2 MB of triangles alone
  const int n = 300;
  for (int i = 0; i <= n; ++i)
    for (int j = 0; j <= n; ++j) sheet.vertices.push_back({i / 300.0, j / 300.0, 0.1 * std::sin(0.03 * (i + j))});
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const int a = i * (n + 1) + j;
      sheet.triangles.push_back({a, a + n + 1, a + 1});
      sheet.triangles.push_back({a + 1, a + n + 1, a + n + 2});
    }
  const TriangleMesh small = shrink_mesh(sheet, 100'000);
  EXPECT_LE(packed_size(small), 100'000u);
  EXPECT_GT(small.triangles.size(), 1000u);
  Vec3 lowest = Vec3::Ones(), highest = -Vec3::Ones();
  for (const Vec3& p : small.vertices) {
    lowest = lowest.cwiseMin(p);
    highest = highest.cwiseMax(p);
  }
  // The outline moves inwards by less than a cell, of which there are more than 30 along a side.
  EXPECT_LT(lowest.head<2>().norm(), 0.05);
  EXPECT_LT((highest.head<2>() - Eigen::Vector2d::Ones()).norm(), 0.05);
  for (const auto& t : small.triangles)
    for (int k : t) ASSERT_LT(static_cast<size_t>(k), small.vertices.size());

  const Model model = chain(1, std::make_shared<const TriangleMesh>(sheet));
  const Json data = replay_data(model, swing(model, 100, 0.02));
  EXPECT_LE(replay_json(data).size(), kReplayBytes);
  EXPECT_NE(data["note"].get<std::string>().find("coarsened from 180000"), std::string::npos);
}

// A grid of n x n squares over [0, x] x [0, y], bent by z, each triangle in the colour of its row.
TriangleMesh sheet(int n, const Vec3& size) {
  TriangleMesh mesh;
  for (int i = 0; i <= n; ++i)
    for (int j = 0; j <= n; ++j)
      mesh.vertices.push_back(size.cwiseProduct(Vec3(i, j, n * std::sin(6.0 * i / n) * std::cos(5.0 * j / n)) / n));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const int a = i * (n + 1) + j;
      mesh.triangles.push_back({a, a + n + 1, a + 1});
      mesh.triangles.push_back({a + 1, a + n + 1, a + n + 2});
      for (int k = 0; k < 2; ++k) mesh.colours.push_back({static_cast<float>(i) / static_cast<float>(n), 0.5f, 0, 1});
    }
  return mesh;
}

double diagonal(const TriangleMesh& mesh) {
  Vec3 lowest = Vec3::Constant(INFINITY), highest = -lowest;
  for (const auto& t : mesh.triangles)
    for (const int corner : t) {
      lowest = lowest.cwiseMin(mesh.vertices.at(static_cast<size_t>(corner)));
      highest = highest.cwiseMax(mesh.vertices.at(static_cast<size_t>(corner)));
    }
  return (highest - lowest).norm();
}

TEST(ReplayMeshes, NoMeshShrinksToNothing) {
  for (const double size : {1e-9, 1e-4, 1.0, 1e4, 1e11})
    for (const Vec3& shape :
         {Vec3(1, 1, 1), Vec3(1, 1, 0), Vec3(1, 1e-3, 0), Vec3(1, 0, 0), Vec3(0, 0, 0), Vec3(0, 0, 1)})
      for (const size_t bytes : {0, 240, 300, 1000, 5000, 100'000}) {
        const TriangleMesh mesh = sheet(40, size * shape);
        const TriangleMesh small = shrink_mesh(mesh, bytes);
        ASSERT_FALSE(small.triangles.empty());
        EXPECT_EQ(small.colours.size(), small.triangles.size());
        EXPECT_LE(packed_size(small), std::max<size_t>(bytes, 240));
        EXPECT_GE(diagonal(small), 0.7 * diagonal(mesh));  // kLeastOutline
        EXPECT_LE(diagonal(small), diagonal(mesh) * (1 + 1e-12));
      }
  TriangleMesh one{{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, {{0, 1, 2}}};
  EXPECT_EQ(shrink_mesh(one, 48).triangles, one.triangles);
  EXPECT_EQ(shrink_mesh(one, 10).triangles.size(), 12u);
  one.vertices.resize(1000, Vec3::Zero());  // most of them in no triangle
  EXPECT_GE(diagonal(shrink_mesh(one, 300)), 1);
}

TEST(ReplayMeshes, LargeOnesGiveWayFirst) {
  EXPECT_EQ(fair_share({100, 1000, 100}, 700), 500u);
  EXPECT_EQ(fair_share({100, 1000, 300, 900}, 1000), 300u);
  EXPECT_EQ(fair_share({100, 200}, 700), 700u);
  EXPECT_EQ(fair_share({}, 700), 700u);
  for (const size_t most : {10u, 999u, 3000u}) {
    const std::vector<size_t> sizes = {50, 700, 700, 20, 1300, 1};
    size_t sum = 0;
    for (const size_t s : sizes) sum += std::min(s, fair_share(sizes, most));
    EXPECT_LE(sum, most);
    EXPECT_GT(sum + sizes.size(), std::min<size_t>(most, 2771));  // and no room is left beyond rounding
  }
}

TEST(ReplayMeshes, TrianglesOfAColourAreTogetherTranslucentOnesLast) {
  TriangleMesh mesh = sheet(1, Vec3::Ones());
  const std::array<float, 4> red = {1, 0, 0, 1}, glass = {0, 0, 0, 0.5f};
  mesh.triangles = {{0, 1, 2}, {1, 2, 3}, {2, 3, 0}, {3, 0, 1}};
  mesh.colours = {glass, red, glass, {0, 1, 0, 1}};
  const std::vector<Paint> paints = sort_by_colour(mesh);
  EXPECT_EQ(paints, (std::vector<Paint>{{1, 0, 255, 0, 255}, {1, 255, 0, 0, 255}, {2, 0, 0, 0, 128}}));
  EXPECT_EQ(mesh.triangles, (std::vector<std::array<int, 3>>{{3, 0, 1}, {1, 2, 3}, {0, 1, 2}, {2, 3, 0}}));
  TriangleMesh many = sheet(200, Vec3::Ones());
  const std::vector<Paint> rounded = sort_by_colour(many);
  EXPECT_LE(rounded.size(), 64u);
  EXPECT_GT(rounded.size(), 16u);
  int triangles = 0;
  for (const Paint& paint : rounded) triangles += paint[0];
  EXPECT_EQ(triangles, 80'000);
}

TEST(ReplayMeshes, ColoursOfAMeshAreShownUnlessItHasOneAndTheShapeAnother) {
  const auto painted = [](TriangleMesh mesh, std::array<double, 4> rgba) {
    const Model plain = chain(1, std::make_shared<const TriangleMesh>(std::move(mesh)));
    ModelBuilder builder("painted");
    builder.add_body(plain.bodies()[0], "world", plain.joints()[0]);
    Shape shape = plain.shapes()[0];
    shape.rgba = rgba;
    builder.add_shape("link0", shape);
    const Model model = builder.build();
    return replay_data(model, swing(model, 3, 0.02));
  };
  TriangleMesh mesh = sheet(2, Vec3::Ones());
  const std::array<double, 4> unset = Shape().rgba, blue = {0, 0, 1, 1};
  Json data = painted(mesh, blue);
  EXPECT_EQ(data["shapes"][0].value("painted", false), true);
  EXPECT_EQ(data["meshes"][0]["colours"].size(), 2u);
  mesh.colours.assign(mesh.triangles.size(), {1, 0, 0, 1});
  EXPECT_FALSE(painted(mesh, blue)["shapes"][0].contains("painted"));
  EXPECT_TRUE(painted(mesh, unset)["shapes"][0].contains("painted"));
  mesh.colours = {};
  EXPECT_FALSE(painted(mesh, unset)["shapes"][0].contains("painted"));
  mesh.colours.resize(1);
  EXPECT_THROW(painted(mesh, unset), InputError);
}

TEST(ReplaySeries, ASpikeBetweenKeptRowsIsStillSeen) {
  const Model model = chain(1);
  scree::Run run = swing(model, 100'001, 1e-3);
  run.iterations[70'001] = 48;
  const Json data = replay_data(model, run);
  ASSERT_GT(data["series"]["stride"], 1);
  const auto iterations = array<float>(data, data["series"]["iterations"]);
  EXPECT_EQ(*std::max_element(iterations.begin(), iterations.end()), 48);
  EXPECT_EQ(std::count(iterations.begin(), iterations.end(), 48.0f), 1);
}

TEST(ReplayChecks, NumbersThatAreNotFinite) {
  const Model model = chain(1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  // A pose or a time that is no number makes no picture: refused.
  scree::Run run = swing(model, 3, 0.02);
  run.q(2, 0) = nan;
  EXPECT_THROW(replay_data(model, run), InputError);
  run = swing(model, 3, 0.02);
  run.time[1] = nan;
  EXPECT_THROW(replay_data(model, run), InputError);
  run = swing(model, 3, 0.02);
  run.time[2] = run.time[1];
  EXPECT_THROW(replay_data(model, run), InputError);
  // A residual or an energy that is none is a gap in a plot: kept in the binary arrays, never in the JSON.
  run = swing(model, 3, 0.02);
  run.residual[1] = nan;
  run.kinetic_energy[1] = std::numeric_limits<double>::infinity();
  const Json data = replay_data(model, run);
  EXPECT_EQ(replay_json(data).find("null"), std::string::npos);
  EXPECT_TRUE(std::isnan(array<float>(data, data["series"]["residual"])[1]));
}

TEST(ReplayChecks, ARunOfAnotherModelOrWithoutRows) {
  EXPECT_THROW(replay_data(chain(2), swing(chain(3), 5, 0.02)), InputError);
  EXPECT_THROW(replay_data(chain(1), scree::Run{}), InputError);
}

TEST(ReplayChecks, HostileStringsStayData) {
  const Model model = chain(1);
  scree::Run run = swing(model, 2, 0.02);
  run.title = "</script><script>alert(1)</script><!-- \xff \x01";
  const std::string text = replay_json(replay_data(model, run));
  EXPECT_EQ(text.find('<'), std::string::npos);
  EXPECT_EQ(Json::parse(text)["title"], "</script><script>alert(1)</script><!-- \xef\xbf\xbd \x01");
}

// --- a second run ---------------------------------------------------------------------------------------------------

TEST(ReplayGhost, LeavesTheDataOfTheRunAsItIs) {
  const Model model = crate(), other = chain(3);
  const scree::Run run = slide(model, 30, 0.05), ghost = swing(other, 50, 0.02);
  const Json alone = replay_data(model, run);
  const Ghost second{other, ghost};
  Json both = replay_data(model, run, &second);
  EXPECT_FALSE(alone.contains("ghost"));
  for (const char* column : {"time", "kinetic_energy"})
    EXPECT_EQ(array<double>(both, both["series"][column]), array<double>(alone, alone["series"][column])) << column;
  EXPECT_EQ(array<float>(both, both["frames"]["poses"]), array<float>(alone, alone["frames"]["poses"]));
  EXPECT_EQ(array<float>(both, both["contacts"]["force"]), array<float>(alone, alone["contacts"]["force"]));
  // Everything else that is not an array is equal, key by key.
  for (const char* key : {"version", "title", "model", "status", "settings", "bodies", "shapes", "positions",
                          "recorded_rows", "note", "environment", "contact_points"})
    EXPECT_EQ(both.at(key), alone.at(key)) << key;
  both.erase("ghost");
  EXPECT_EQ(both.size(), alone.size());
}

TEST(ReplayGhost, IsARunOfItsOwnInTheSameBlock) {
  const Model model = chain(2), other = crate();
  const scree::Run run = swing(model, 40, 0.05);
  scree::Run ghost = slide(other, 20, 0.1);
  ghost.title = "other";
  ghost.status = RunStatus::interrupted;
  ghost.settings = {{"integrator", "pbd"}, {"dt", "0.1 s"}};
  const Ghost second{other, ghost};
  const Json data = replay_data(model, run, &second);
  const Json& found = data["ghost"];
  // What the page reads of it does not depend on the run it goes with.
  const Json alone = replay_data(other, ghost);
  for (const char* key : {"title", "model", "status", "settings", "bodies", "shapes", "positions", "recorded_rows"})
    EXPECT_EQ(found.at(key), alone.at(key)) << key;
  EXPECT_EQ(array<double>(data, found["frames"]["time"]), ghost.time);
  EXPECT_EQ(array<float>(data, found["frames"]["poses"]), array<float>(alone, alone["frames"]["poses"]));
  for (const char* column : {"residual", "normal_force", "penetration", "outer", "base_height", "base_travel"})
    EXPECT_EQ(array<float>(data, found["series"][column]), array<float>(alone, alone["series"][column])) << column;
  for (size_t k = 0; k < 7; ++k)
    EXPECT_EQ(array<float>(data, found["series"]["positions"][k]),
              array<float>(alone, alone["series"]["positions"][k]));
  // Its ground and forces are not drawn, and there is one block.
  for (const char* key : {"environment", "contacts", "contact_points", "meshes", "data"})
    EXPECT_FALSE(found.contains(key)) << key;
}

TEST(ReplayGhost, ItsMeshesAreStoredOnceWithThoseOfTheRun) {
  TriangleMesh triangle;
  triangle.vertices = {Vec3::Zero(), Vec3::UnitX(), Vec3::UnitY()};
  triangle.triangles = {{0, 1, 2}};
  TriangleMesh larger = triangle;
  larger.vertices[1] *= 2;
  const Model model = chain(1, std::make_shared<const TriangleMesh>(triangle));
  const Model copy = chain(2, std::make_shared<const TriangleMesh>(triangle));  // as read from another file
  const Model other = chain(2, std::make_shared<const TriangleMesh>(larger));
  const scree::Run run = swing(model, 5, 0.02), ghost = swing(copy, 5, 0.02);
  const Ghost same{copy, ghost}, different{other, ghost};
  EXPECT_EQ(replay_data(model, run, &same)["meshes"].size(), 1u);
  EXPECT_EQ(replay_data(model, run, &same)["ghost"]["shapes"][0]["mesh"], 0);
  const Json data = replay_data(model, run, &different);
  EXPECT_EQ(data["meshes"].size(), 2u);
  EXPECT_EQ(data["ghost"]["shapes"][0]["mesh"], 1);
  EXPECT_EQ(array<float>(data, data["meshes"][1]["vertices"])[3], 2.0f);
}

TEST(ReplayGhost, LimitsHoldForBothTogether) {
  // Each alone would fill the file.
  const Model model = chain(300), other = chain(200);
  const scree::Run run = swing(model, 3000, 0.02), ghost = swing(other, 3000, 0.02);
  const Ghost second{other, ghost};
  const Json data = replay_data(model, run, &second);
  const size_t size = replay_json(data).size();
  EXPECT_LE(size, kReplayBytes);
  EXPECT_GT(size, kReplayBytes / 2);  // the room is used
  for (const Json* part : {&data, &data["ghost"]}) {
    EXPECT_GT((*part)["frames"]["stride"], 1);
    EXPECT_GT((*part)["series"]["stride"], 1);
    const auto time = array<double>(data, (*part)["frames"]["time"]);
    EXPECT_EQ(time.front(), 0.0);
    EXPECT_EQ(time.back(), run.time.back());
  }
  // About half each: a frame of the ghost takes two thirds of one of the run.
  const auto count = [](const Json& part) { return part["frames"]["poses"]["count"].get<double>(); };
  EXPECT_NEAR(count(data["ghost"]) / count(data), 1, 0.1);  // strides are whole numbers near 20 and 30: 5 % each
}

TEST(ReplayGhost, ASmallOneLeavesTheRoomToTheRun) {
  const Model model = chain(300), small = chain(1);
  const scree::Run run = swing(model, 3000, 0.02), ghost = swing(small, 100, 0.02);
  const Ghost little{small, ghost}, large{model, run};
  const Json alone = replay_data(model, run);
  Json data = replay_data(model, run, &little);
  EXPECT_EQ(data["ghost"]["frames"]["stride"], 1);
  EXPECT_EQ(data["ghost"]["series"]["stride"], 1);
  EXPECT_LE(data["frames"]["stride"].get<int>(), alone["frames"]["stride"].get<int>() + 1);
  data = replay_data(small, ghost, &large);
  EXPECT_EQ(data["frames"]["stride"], 1);
  EXPECT_LE(data["ghost"]["frames"]["stride"].get<int>(), alone["frames"]["stride"].get<int>() + 1);
  EXPECT_LE(replay_json(data).size(), kReplayBytes);
}

TEST(ReplayGhost, SixtyFramesPerSecondForEach) {
  const Model model = chain(2);
  const scree::Run run = swing(model, 41, 0.05), ghost = swing(model, 20'001, 1e-4);
  const Ghost second{model, ghost};
  const Json data = replay_data(model, run, &second);
  EXPECT_EQ(data["frames"]["stride"], 1);
  EXPECT_EQ(data["ghost"]["frames"]["stride"], 167);  // 10 000 rows per second / 60, rounded up
  EXPECT_EQ(data["ghost"]["recorded_rows"], 20'001);
  EXPECT_LE(data["ghost"]["series"]["time"]["count"].get<size_t>(), kMostSeriesRows);
}

TEST_F(ReplayFile, AGhostIsWrittenWithTheRun) {
  const Model model = chain(2), other = chain(3);
  const scree::Run run = swing(model, 50, 0.02), second = swing(other, 20, 0.05);
  const Ghost ghost{other, second};
  write_replay(directory_ / "a.html", model, run, {other, second});
  EXPECT_EQ(data_of_page(read_file(directory_ / "a.html")), replay_data(model, run, &ghost));
  EXPECT_EQ(files(), 1u);
}

TEST_F(ReplayFile, ARefusedGhostIsNamedAndLeavesTheOldFileAlone) {
  const Model model = chain(1), other = chain(2);
  const scree::Run run = swing(model, 3, 0.02);
  write_replay(directory_ / "a.html", model, run);
  const std::string before = read_file(directory_ / "a.html");
  const auto refused = [&](const scree::Run& second) {
    try {
      write_replay(directory_ / "a.html", model, run, {other, second});
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  scree::Run second = swing(other, 3, 0.02);
  second.q(1, 1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refused(second), "replay of chain: ghost chain: q of row 1 is nan, expected finite numbers");
  EXPECT_EQ(refused(run), "replay of chain: ghost chain: q is 3 x 1, expected 3 x 2");
  EXPECT_EQ(refused(scree::Run{}), "replay of chain: ghost chain: the run has no rows, expected at least one");
  second = swing(other, 3, 0.02);
  second.settings.push_back({"long", std::string(kReplayBytes, 'x')});
  EXPECT_NE(refused(second).find("take more than"), std::string::npos) << refused(second);
  EXPECT_EQ(read_file(directory_ / "a.html"), before);
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace scree
