// Writes the fans the browser test opens: make_fan DIRECTORY MODELS. The motions are made up, not simulated: what is
// tested is the page. A planar box falls flat on two corners and rocks left or right, in its own little law with a rate
// drawn for every impact.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "scree/fan.h"
#include "scree/kinematics.h"

namespace scree {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kHalf = 0.25, kGravity = 9.81, kInertia = 1.0 / 24;  // [m], [m/s^2], [kg m^2]; 1 kg

Scene scene_of(const Model& model) {
  return {.file = {},
          .title = "made up",
          .model = model,
          .import_report = {},
          .options = {},
          .q0 = model.neutral_position(),
          .v0 = Eigen::VectorXd::Zero(model.nv()),
          .control = Control(model),
          .world = {},
          .text = {}};
}

Scene box_scene(const std::filesystem::path& models) {
  Scene scene = scene_of(load_urdf(models / "box-planar.urdf"));
  scene.world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ(), "floor"));
  scene.world.add(contact_candidates(scene.model, ContactCandidates::named));
  return scene;
}

struct BoxState {
  double x = 0, z = 0, angle = 0, vx = 0, vz = 0, rate = 0;
};

// Rocks about one of its lower corners: front for angles > 0 (about +y: nose down), rear below.
struct Box {
  BoxState s;
  double foot = 0;  // x of the corner it stands on
  int side = 0;     // +1 front, -1 rear, 0 flat
  bool resting = false, tipped = false;

  void stand(int on) {
    side = on;
    foot = s.x + on * kHalf;
  }
  void place() {                    // from the angle
    const double a = side * kHalf;  // centre = foot + R (-a, half)
    s.x = foot - a * std::cos(s.angle) + kHalf * std::sin(s.angle);
    s.z = a * std::sin(s.angle) + kHalf * std::cos(s.angle);
    s.vx = s.rate * (a * std::sin(s.angle) + kHalf * std::cos(s.angle));
    s.vz = s.rate * (a * std::cos(s.angle) - kHalf * std::sin(s.angle));
  }
  double energy() const { return 0.5 * (s.vx * s.vx + s.vz * s.vz) + 0.5 * kInertia * s.rate * s.rate; }
};

const char* mode_name(int side) {
  return side < 0   ? "rear_bottom sticks, front_bottom opens"
         : side > 0 ? "rear_bottom opens, front_bottom sticks"
                    : "rear_bottom sticks, front_bottom sticks";
}

struct FanSettings {
  long branches = 1000;
  double duration = 2.5;
  double rows_per_second = 240;
  bool split = true;
  std::vector<long> failing = {};
  std::uint64_t seed = 3;
};

class Maker {
 public:
  Maker(const FanSettings& settings, Fan& fan) : settings_(settings), fan_(fan) {}

  void branch(long number) {
    std::mt19937_64 random(settings_.seed + static_cast<std::uint64_t>(settings_.split ? number : 0) * 7919);
    std::uniform_real_distribution<double> uniform;
    const bool fails = std::find(settings_.failing.begin(), settings_.failing.end(), number) != settings_.failing.end();
    const double last = fails ? 0.6 + 0.3 * uniform(random) : settings_.duration;
    Box box;
    box.s = {0, 0.65, 0, 0.15, 0, 0};
    FanBranch out;
    out.index = number;
    std::vector<std::string> modes;
    const auto impact = [&](double time, int side, double rate) {
      FanImpact item;
      item.time = time;
      item.contacts = 2;
      item.mode = mode_name(side);
      item.ambiguous = settings_.split && modes.size() < 3;
      item.energy_before = box.energy();
      item.v_before = Eigen::Vector3d(box.s.vx, box.s.vz, box.s.rate);
      box.stand(side);
      box.s.angle = 0;
      box.s.rate = rate;
      box.resting = side == 0;
      if (box.resting)
        box.s = {box.s.x, kHalf, 0, 0, 0, 0};
      else
        box.place();
      item.energy_after = box.energy();
      item.v_after = Eigen::Vector3d(box.s.vx, box.s.vz, box.s.rate);
      out.impacts.push_back(item);
      if (modes.size() < 3) modes.push_back(item.mode);
    };
    const double landing = std::sqrt(2 * (0.65 - kHalf) / kGravity);
    const int substeps = 20;
    Table q, v;
    for (size_t row = 0; row < fan_.time.size(); ++row) {
      const double t = fan_.time[row];
      if (t > last) {
        q.append(Vec3::Constant(kNan));
        v.append(Vec3::Constant(kNan));
        continue;
      }
      for (int sub = 0; row > 0 && sub < substeps; ++sub) {
        const double h = (t - fan_.time[row - 1]) / substeps, now = fan_.time[row - 1] + h * (sub + 1);
        if (out.impacts.empty()) {
          if (now < landing) {
            box.s.x = 0.15 * now;
            box.s.z = 0.65 - 0.5 * kGravity * now * now;
            box.s.vx = 0.15;
            box.s.vz = -kGravity * now;
            continue;
          }
          box.s.x = 0.15 * landing;
          box.s.vz = -kGravity * landing;
          const double draw = uniform(random), size = 0.6 + 3.0 * uniform(random);
          const int side = draw < 0.42 ? -1 : draw < 0.88 ? 1 : 0;
          impact(landing, side, side * size);
          continue;
        }
        if (box.resting || box.tipped) continue;
        const double turn = kGravity * kHalf * std::sqrt(2.0) / (kInertia + 2 * kHalf * kHalf);
        box.s.rate -= h * turn * box.side * std::sin(kPi / 4 - std::abs(box.s.angle));
        box.s.angle += h * box.s.rate;
        if (box.side * box.s.angle > kPi / 2) {
          box.tipped = true;
          box.s.angle = box.side * kPi / 2;
          box.s.rate = 0;
          box.place();
        } else if (box.side * box.s.angle < 0) {
          const double rate = box.s.rate * (0.1 + 0.6 * uniform(random));
          box.s.angle = 0;
          box.place();
          const int side = std::abs(rate) < 0.15 ? 0 : -box.side;
          impact(now, side, rate);
        } else {
          box.place();
        }
      }
      q.append(Vec3(box.s.x, box.s.z, box.s.angle));
      v.append(Vec3(box.s.vx, box.s.vz, box.s.rate));
    }
    fan_.q.append(q);
    fan_.v.append(v);
    out.final_energy = box.energy() + kGravity * box.s.z;
    out.penetration = 4e-10 * uniform(random);
    if (fails) {
      out.status = RunStatus::step_failed;
      out.failure = "10000 events within one step, the limit max_events: contacts hit each other without end";
    }
    fan_.branches.push_back(std::move(out));
    modes_.push_back(modes);
  }

  void finish() {
    std::map<std::vector<std::string>, std::vector<long>> clusters;
    for (size_t b = 0; b < modes_.size(); ++b)
      clusters[settings_.split ? modes_[b] : std::vector<std::string>()].push_back(static_cast<long>(b));
    for (const auto& [modes, members] : clusters) fan_.clusters.push_back({modes, members});
    std::stable_sort(fan_.clusters.begin(), fan_.clusters.end(),
                     [](const auto& a, const auto& b) { return a.branches.size() > b.branches.size(); });
    fan_.first_split = fan_.clusters.size() > 1 ? fan_.branches[0].impacts[0].time : kNan;
    const size_t rows = fan_.rows();
    const double weight[] = {1, 1, kInertia};
    for (size_t r = 0; r < rows; ++r) {
      double total = 0;
      for (size_t c = 0; c < 3; ++c) {
        std::vector<double> values;
        for (size_t b = 0; b < fan_.branches.size(); ++b)
          if (const double x = fan_.q(b, r, c); !std::isnan(x)) values.push_back(x);
        const double count = static_cast<double>(values.size());
        const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
        for (const double x : values) total += weight[c] * (x - mean) * (x - mean) / count;
      }
      fan_.spread.push_back(std::sqrt(total));
    }
  }

 private:
  const FanSettings& settings_;
  Fan& fan_;
  std::vector<std::vector<std::string>> modes_;
};

Fan box_fan(const FanSettings& settings) {
  Fan fan;
  fan.title = "A box falls flat and rocks";
  fan.coordinates = {"base.x [m]",    "base.z [m]",    "base.angle [rad]",
                     "base.vx [m/s]", "base.vz [m/s]", "base.w [rad/s]"};
  const auto rows = static_cast<size_t>(std::lround(settings.duration * settings.rows_per_second)) + 1;
  for (size_t r = 0; r < rows; ++r) fan.time.push_back(static_cast<double>(r) / settings.rows_per_second);
  Maker maker(settings, fan);
  for (long b = 0; b < settings.branches; ++b) maker.branch(b);
  maker.finish();
  fan.wall_time = 12.34;
  return fan;
}

// Every joint type; random positions, and beside the page where the bodies are by our own kinematics.
void write_joints(const std::filesystem::path& directory) {
  ModelBuilder builder("joints");
  std::string parent = "world";
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  const auto vector = [&] { return Vec3(normal(random), normal(random), normal(random)); };
  for (const JointType type : {JointType::floating, JointType::revolute, JointType::planar, JointType::fixed,
                               JointType::ball, JointType::prismatic, JointType::continuous}) {
    Body body;
    body.name = std::string("after_") + joint_type_name(type);
    body.mass = 1;
    body.inertia = 0.01 * Mat3::Identity();
    Joint joint;
    joint.name = joint_type_name(type);
    joint.type = type;
    joint.X_PJ.p = vector();
    joint.X_PJ.R = Eigen::AngleAxisd(1 + normal(random), vector().normalized()).toRotationMatrix();
    joint.axis = vector().normalized();
    builder.add_body(body, parent, joint);
    parent = body.name;
  }
  const Scene scene = scene_of(builder.build());
  Fan fan;
  fan.title = "</script><script>window.injected = true</script>";
  for (int c = 0; c < scene.model.nq(); ++c) fan.coordinates.push_back("q" + std::to_string(c) + " [m]");
  for (int c = 0; c < scene.model.nv(); ++c) fan.coordinates.push_back("v" + std::to_string(c));
  fan.time = {0, 0.1, 0.25, 0.5};
  fan.spread.assign(4, 0.0);
  nlohmann::json exact = nlohmann::json::array();
  fan.q = TableStack(2, fan.rows(), static_cast<size_t>(scene.model.nq()));
  fan.v = TableStack(2, fan.rows(), static_cast<size_t>(scene.model.nv()));
  for (size_t b = 0; b < 2; ++b) {
    nlohmann::json rows = nlohmann::json::array();
    for (size_t r = 0; r < fan.rows(); ++r) {
      Eigen::VectorXd v = Eigen::VectorXd::NullaryExpr(scene.model.nv(), [&] { return normal(random); });
      const Eigen::VectorXd q = integrate_position(scene.model, scene.model.neutral_position(), v, 1);
      fan.q.row(b, r) = q;
      fan.v.row(b, r) = v;
      nlohmann::json poses = nlohmann::json::array();
      for (const Pose& X_WB : body_poses(scene.model, q)) {
        const Quat turn(X_WB.R);
        poses.push_back({X_WB.p.x(), X_WB.p.y(), X_WB.p.z(), turn.x(), turn.y(), turn.z(), turn.w()});
      }
      rows.push_back(poses);
    }
    exact.push_back(rows);
    fan.branches.emplace_back().index = b;
  }
  fan.branches[1].failure = "<b>bold</b>";
  fan.branches[1].status = RunStatus::interrupted;
  fan.interrupted = true;
  fan.first_split = kNan;
  write_fan_page(directory / "joints.html", scene, fan);
  std::ofstream(directory / "joints.json") << exact;
}

void write_all(const std::filesystem::path& directory, const std::filesystem::path& models) {
  const Scene scene = box_scene(models);
  write_fan_page(directory / "fan1000.html", scene, box_fan({.failing = {77, 640}}));
  write_fan_page(directory / "fan3.html", scene, box_fan({.branches = 3, .failing = {1}, .seed = 4}));
  write_fan_page(directory / "fan1.html", scene, box_fan({.branches = 1}));
  write_fan_page(directory / "no_split.html", scene, box_fan({.branches = 5, .split = false}));
  Fan row = box_fan({.branches = 4, .duration = 0});
  write_fan_page(directory / "one_row.html", scene, row);
  write_joints(directory);
}

}  // namespace
}  // namespace scree

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: make_fan DIRECTORY MODELS\n";
    return 2;
  }
  std::filesystem::create_directories(argv[1]);
  scree::write_all(argv[1], argv[2]);
}
