// Model: an immutable tree of bodies and joints. Built by ModelBuilder or read from a file (scree/urdf.h).
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scree/geometry.h"
#include "scree/types.h"

namespace scree {

struct Tree;  // the compact arrays the recursions run on (src/model/tree.h)

enum class JointType { fixed, revolute, continuous, prismatic, planar, ball, floating };
const char* joint_type_name(JointType type);
int position_count(JointType type);  // entries in q: 0, 1, 1, 1, 3, 4, 7
int velocity_count(JointType type);  // entries in v: 0, 1, 1, 1, 3, 3, 6

// A one-sided soft stop at either end, theory (5.3): no torque inside, full stiffness `margin` beyond the limit.
struct JointLimits {
  double lower = -std::numeric_limits<double>::infinity();  // [rad] or [m]; unused by ball joints
  double upper = std::numeric_limits<double>::infinity();   // [rad] or [m]; ball: largest rotation angle from zero
  double stiffness = 1e4;                                   // > 0 [N m/rad] or [N/m]
  double margin = 0.01;                                     // > 0 [rad] or [m]
};

// The joint has no coordinate of its own: its position is multiplier * (position of `joint`) + offset, exactly.
struct Mimic {
  std::string joint;      // revolute, continuous or prismatic, like the joint that follows it
  double multiplier = 1;  // not 0
  double offset = 0;      // [rad] or [m]
};

// The joint that carries a body: X_PB(q) = X_PJ * motion(q). See docs/conventions.md for q and v of each type.
struct Joint {
  std::string name;
  JointType type = JointType::fixed;
  Pose X_PJ;                  // joint frame in the parent body's frame; the child frame at q = 0
  Vec3 axis = Vec3::UnitX();  // unit, in the joint frame: revolute, continuous, prismatic; planar: plane normal
  JointLimits limits;         // revolute, prismatic, ball
  double damping = 0;         // >= 0 [N m s/rad] or [N s/m]
  double friction = 0;        // >= 0 [N m] or [N], dry: the largest force that holds the joint still
  double armature = 0;        // >= 0 [kg m^2] or [kg], rotor inertia felt at the joint
  double effort = std::numeric_limits<double>::infinity();          // > 0 [N m] or [N], bound on the control force
  double velocity_limit = std::numeric_limits<double>::infinity();  // > 0 [rad/s] or [m/s], kept, not enforced
  std::optional<Mimic> mimic = {};                                  // revolute, continuous, prismatic
  int q_index = 0;  // first entry in q, set by Model; of a joint that follows: its master's
  int v_index = 0;  // first entry in v, likewise
};

// A rigid body; body i is carried by joint i.
struct Body {
  std::string name;
  BodyIndex parent;             // kWorld for a root; always a smaller index than the body's own
  double mass = 0;              // >= 0 [kg]
  Vec3 com = Vec3::Zero();      // [m], in the body frame
  Mat3 inertia = Mat3::Zero();  // [kg m^2] about the com, body axes; off-diagonals are minus the products
};

struct Frame {  // a named place on a body
  std::string name;
  BodyIndex body;
  Pose X_BF;
};

struct ContactPoint {  // a sphere (or point, radius 0) that may touch the ground
  std::string name;
  BodyIndex body;
  Vec3 p_B = Vec3::Zero();  // [m] centre, in the body frame
  double radius = 0;        // >= 0 [m]
};

class Model {
 public:
  const std::string& name() const { return name_; }
  const std::vector<Body>& bodies() const { return bodies_; }
  const std::vector<Joint>& joints() const { return joints_; }
  const std::vector<Shape>& shapes() const { return shapes_; }
  const std::vector<Frame>& frames() const { return frames_; }
  const std::vector<ContactPoint>& contact_points() const { return contact_points_; }
  int nq() const { return nq_; }  // length of q
  int nv() const { return nv_; }  // length of v: the degrees of freedom
  double total_mass() const;      // [kg]

  const Body& body(BodyIndex i) const { return bodies_[static_cast<size_t>(i.value())]; }
  const Joint& joint(JointIndex i) const { return joints_[static_cast<size_t>(i.value())]; }

  // By name; throws InputError that names the nearest known name.
  BodyIndex find_body(std::string_view name) const;
  JointIndex find_joint(std::string_view name) const;
  Frame find_frame(std::string_view name) const;  // a named frame, or a body's own frame, or "world"

  // q at which every joint is at its zero: angles 0, quaternions (1, 0, 0, 0).
  Eigen::VectorXd neutral_position() const;

 private:
  friend class ModelBuilder;
  friend struct ModelAccess;  // the library's own (src/model/tree.h)
  Model() = default;
  std::string name_;
  std::vector<Body> bodies_;
  std::vector<Joint> joints_;
  std::vector<Shape> shapes_;
  std::vector<Frame> frames_;
  std::vector<ContactPoint> contact_points_;
  int nq_ = 0, nv_ = 0;
  std::shared_ptr<const Tree> tree_;
};

// What an inertia would have to become to belong to a real body: symmetric, positive definite, triangle inequality.
struct InertiaCheck {
  bool valid = false;
  std::string problem;  // empty when valid, else what is wrong, with the numbers
};
InertiaCheck check_inertia(const Mat3& inertia);
// The nearest valid inertia: the eigenvalues of the second-moment matrix tr(I)/2 - I are raised to at least `floor`
// times the largest one.
Mat3 repair_inertia(const Mat3& inertia, double floor = 1e-6);

// Collects bodies in any order and builds a checked Model. Every mistake is an InputError that names the element.
class ModelBuilder {
 public:
  explicit ModelBuilder(std::string name);
  explicit ModelBuilder(const Model& model);  // with all that the model has: build() gives it again

  // Adds a body and the joint that carries it. `parent` is the name of a body or frame, or "world".
  ModelBuilder& add_body(Body body, std::string parent, Joint joint);
  // Places on a body or frame (by name, or "world"), frames on bodies alone; the `body` index inside the argument is
  // ignored.
  ModelBuilder& add_shape(std::string body, Shape shape);
  ModelBuilder& add_frame(std::string body, Frame frame);
  ModelBuilder& add_contact_point(std::string body, ContactPoint point);

  // Sorts parents before children, merges massless fixed bodies into their parents as frames, checks, compiles.
  Model build() const;

 private:
  struct Entry {
    Body body;
    std::string parent;
    Joint joint;
  };
  template <class T> struct Placed {
    std::string body;
    T item;
  };
  std::string name_;
  std::vector<Entry> entries_;
  std::vector<Placed<Shape>> shapes_;
  std::vector<Placed<Frame>> frames_;
  std::vector<Placed<ContactPoint>> contact_points_;
};

}  // namespace scree
