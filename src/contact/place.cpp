// Puts a robot onto the ground.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "model/planar.h"
#include "scree/error.h"
#include "scree/kinematics.h"
#include "scree/start.h"

namespace scree {
namespace {

constexpr double kTouching = 1e-9;  // [m] of a gap
constexpr double kHighest = 1e6;    // [m] of a drop
constexpr int kMostSteps = 10000;   // down

// What to add to the position of a root joint for a metre along z; empty: it cannot move there.
std::optional<Eigen::VectorXd> lift_of(const Joint& joint) {
  const Vec3 up = joint.X_PJ.R.transpose() * Vec3::UnitZ();
  if (joint.type == JointType::floating) {
    Eigen::VectorXd lift = Eigen::VectorXd::Zero(7);
    lift.head<3>() = up;
    return lift;
  }
  if (joint.type != JointType::planar) return {};
  Vec3 u1, u2;
  planar_directions(joint.axis, u1, u2);
  Eigen::Matrix<double, 3, 2> plane;
  plane << u1, u2;
  const Eigen::Vector2d along = (plane.transpose() * plane).inverse() * (plane.transpose() * up);
  if ((plane * along - up).norm() > 1e-9) return {};
  return Eigen::Vector3d(along.x(), along.y(), 0);
}

struct Point {
  Vec3 p;         // [m] world
  double radius;  // [m]
};

// Above this [m] no part of a box or field is, and below `bottom` nothing lies under it.
struct Span {
  double bottom, top;
};
Span span_of(const Box& box, const Pose& X_WS) {
  const double half = 0.5 * (X_WS.R.row(2).cwiseAbs() * box.size).value();
  return {X_WS.p.z() - half, X_WS.p.z() + half};
}
Span span_of(const std::shared_ptr<const HeightField>& field, const Pose& X_WS) {
  return {-std::numeric_limits<double>::infinity(), X_WS.p.z() + field->heights().maxCoeff()};
}
Span span_of(const Plane&, const Pose&) {
  const double infinity = std::numeric_limits<double>::infinity();
  return {-infinity, infinity};
}
template <class Other> Span span_of(const Other&, const Pose& X_WS) { return {X_WS.p.z(), X_WS.p.z()}; }

// From which lift on a point is clear of a solid. Of a plane that is where it touches; one that does not face upwards
// says nothing.
double clear_from(const Point& point, const Collider& solid) {
  if (!std::holds_alternative<Plane>(solid.shape)) {
    const double top = std::visit([&](const auto& shape) { return span_of(shape, solid.X_BS).top; }, solid.shape);
    return top - (point.p.z() - point.radius);
  }
  const Vec3 n = solid.X_BS.R.col(2);
  const double gap = distance(solid, point.p).value - point.radius;
  return n.z() > 1e-6 ? -gap / n.z() : -std::numeric_limits<double>::infinity();
}

}  // namespace

bool can_be_lifted(const Model& model) {
  for (size_t i = 0; i < model.bodies().size(); ++i)
    if (model.bodies()[i].parent == kWorld && lift_of(model.joints()[i])) return true;
  return false;
}

double place_on_ground(const Model& model, const World& world, Eigen::VectorXd& q, double drop) {
  if (!(drop >= 0 && drop <= kHighest))
    throw InputError(fmt::format("drop is {}, expected a number in [0, {:g}] m", drop, kHighest));
  if (!can_be_lifted(model))
    throw InputError(
        fmt::format("drop: model {} cannot be moved up and down, expected a floating base or a planar one "
                    "whose plane holds z (base = \"floating\")",
                    model.name()));
  std::vector<bool> moves(model.bodies().size(), false);
  for (size_t i = 0; i < moves.size(); ++i) {
    const BodyIndex parent = model.bodies()[i].parent;
    moves[i] = parent == kWorld ? lift_of(model.joints()[i]).has_value() : moves[static_cast<size_t>(parent.value())];
  }
  const std::vector<Pose> poses = body_poses(model, q);
  std::vector<Point> points;
  std::vector<const Collider*> solids;
  for (const Collider& collider : world.colliders) {
    if (collider.body == kWorld) {
      solids.push_back(&collider);
    } else if (const size_t body = static_cast<size_t>(collider.body.value()); moves[body]) {
      points.push_back({poses[body] * collider.X_BS.p, std::get<Sphere>(collider.shape).radius});
    }
  }
  if (points.empty() || solids.empty())
    throw InputError(
        fmt::format("drop: nothing of model {} can touch any ground, expected ground and points that may "
                    "touch it",
                    model.name()));

  // Down from where all is clear, by the gap each time: no part is passed, for gaps shrink no faster than one falls.
  double lift = -std::numeric_limits<double>::infinity(), end = std::numeric_limits<double>::infinity(), top = -end;
  for (const Collider* solid : solids)
    end = std::min(end, std::visit([&](const auto& s) { return span_of(s, solid->X_BS).bottom; }, solid->shape));
  for (const Point& point : points) {
    top = std::max(top, point.p.z() + point.radius);
    for (const Collider* solid : solids) lift = std::max(lift, clear_from(point, *solid));
  }
  for (int step = 0;; ++step) {
    double gap = std::numeric_limits<double>::infinity();
    for (const Point& point : points)
      for (const Collider* solid : solids) {
        const Vec3 p = point.p + lift * Vec3::UnitZ();
        if (distance_bound(*solid, p) - point.radius < gap)
          gap = std::min(gap, distance(*solid, p).value - point.radius);
      }
    if (std::abs(gap) <= kTouching) break;
    if (!(gap > 0) || !std::isfinite(lift) || top + lift < end || step == kMostSteps)
      throw InputError(fmt::format("drop: model {} finds no place on the ground below it", model.name()));
    lift -= gap;
  }
  lift += drop;
  for (size_t i = 0; i < moves.size(); ++i) {
    const Joint& joint = model.joints()[i];
    if (model.bodies()[i].parent != kWorld) continue;
    if (const auto along = lift_of(joint)) q.segment(joint.q_index, position_count(joint.type)) += lift * *along;
  }
  return lift;
}

}  // namespace scree
