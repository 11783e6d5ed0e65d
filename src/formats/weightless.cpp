#include "formats/weightless.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

namespace scree {
namespace {

using Mat6 = Eigen::Matrix<double, 6, 6>;
using Columns = Eigen::Matrix<double, 6, Eigen::Dynamic, 0, 6, 6>;

// Of the locked inertia, at q = 0: rounding leaves some 1e-15; legs that are points but for 1e-9 kg m^2 have 4e-9.
constexpr double kSingular = 1e-11;
// Over a range: a gimbal that is off its lock by an angle has the squared sine of it left, and of kPoses places on a
// full turn one is within half their distance, 0.05 rad.
constexpr int kPoses = 64;
constexpr double kNearlySingular = 2.5e-3;  // of the best pose
constexpr size_t kFarthest = 6;             // more light links in a row are singular at q = 0 already
constexpr size_t kMostSweeps = 2000;        // links; more of them in one model are judged at q = 0 alone

Mat3 cross_matrix(const Vec3& v) {
  Mat3 m;
  m << 0, -v.z(), v.y(), v.z(), 0, -v.x(), -v.y(), v.x(), 0;
  return m;
}

// On twists (w, v) about the origin of the link, in its axes.
Mat6 spatial_inertia(const Body& body) {
  const Mat3 c = cross_matrix(body.com);
  Mat6 I;
  I << body.inertia - body.mass * c * c, body.mass * c, -body.mass * c, body.mass * Mat3::Identity();
  return I;
}

// The inertia of a child about the parent's origin; X is the child's pose in the parent.
Mat6 carried(const Mat6& I, const Pose& X) {
  Mat6 A;  // twists of the child from those of the parent
  const Mat3 Rt = X.R.transpose();
  A << Rt, Mat3::Zero(), -Rt * cross_matrix(X.p), Rt;
  return A.transpose() * I * A;
}

Columns motions(const Joint& joint) {
  Columns S = Columns::Zero(6, joint.mimic ? 0 : velocity_count(joint.type));
  if (joint.mimic) return S;
  switch (joint.type) {
    case JointType::fixed:
      break;
    case JointType::revolute:
    case JointType::continuous:
      S.block<3, 1>(0, 0) = joint.axis;
      break;
    case JointType::prismatic:
      S.block<3, 1>(3, 0) = joint.axis;
      break;
    case JointType::planar: {
      const Vec3 u = joint.axis.unitOrthogonal();
      S.block<3, 1>(3, 0) = u;
      S.block<3, 1>(3, 1) = joint.axis.cross(u);
      S.block<3, 1>(0, 2) = joint.axis;
      break;
    }
    case JointType::ball:
      S.block<3, 3>(0, 0).setIdentity();
      break;
    case JointType::floating:
      S.setIdentity(6, 6);
      break;
  }
  return S;
}

Eigen::MatrixXd along(const Columns& S, const Mat6& I, double armature) {
  Eigen::MatrixXd D = S.transpose() * I * S;
  D.diagonal().array() += armature;
  return D;
}

// The least of v^T D v over v^T locked v; 0 if nothing resists at all.
double least_ratio(const Eigen::MatrixXd& D, const Eigen::MatrixXd& locked) {
  if (!(locked.diagonal().minCoeff() > 0)) return 0;
  if (D.rows() == 1) return D(0, 0) / locked(0, 0);
  const Eigen::LLT<Eigen::MatrixXd> llt(locked);
  if (llt.info() != Eigen::Success) return 0;
  const Eigen::MatrixXd half = llt.matrixL().solve(D);
  const Eigen::MatrixXd whole = llt.matrixL().solve(half.transpose());
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(whole, Eigen::EigenvaluesOnly);
  return eigen.info() == Eigen::Success ? eigen.eigenvalues()(0) : 0;
}

// What is left of an inertia when the joint gives way.
Mat6 projected(const Mat6& I, const Columns& S, const Eigen::MatrixXd& D) {
  if (S.cols() == 0) return I;
  const Eigen::MatrixXd F = I * S;
  return I - F * D.ldlt().solve(F.transpose());
}

class Scales {
 public:
  explicit Scales(const std::vector<TreeLink>& links) : links_(links), items_(links.size()) {
    for (size_t i = links.size(); i-- > 0;) weigh(i);
    size_t sweeps = 0;
    for (size_t i = 0; i < links.size(); ++i)
      if (is_light(i) && items_[i].S.cols() == 1 && hangs_on_light(i) && sweeps++ < kMostSweeps) sweep(i);
  }

  std::vector<LinkWeight> take() {
    std::vector<LinkWeight> weights;
    for (const Item& item : items_) weights.push_back(item.weight);
    return weights;
  }

 private:
  struct Item {
    Mat6 locked = Mat6::Zero(), articulated = Mat6::Zero();  // about its origin, with what hangs on it
    Mat6 handed = Mat6::Zero();                              // to the parent, about the parent's origin
    Columns S;
    LinkWeight weight;
  };

  bool is_light(size_t i) const { return links_[i].body->mass == 0; }
  double ratio(size_t i, const Mat6& articulated) const {
    const Item& item = items_[i];
    const double armature = links_[i].joint->armature;
    return least_ratio(along(item.S, articulated, armature), along(item.S, item.locked, armature));
  }

  // Its children have been here before.
  void weigh(size_t i) {
    Item& item = items_[i];
    const auto& [parent, body, joint] = links_[i];
    const Mat6 own = spatial_inertia(*body);
    item.locked += own;
    item.articulated += own;
    item.weight.own = body->mass;
    item.weight.mass += body->mass;
    item.weight.inertia = item.locked.topLeftCorner<3, 3>().trace() / 3;
    item.S = motions(*joint);
    if (is_light(i) && item.S.cols() > 0 && !(ratio(i, item.articulated) > kSingular)) {
      item.weight.weight = item.weight.mass > 0 ? Weight::singular : Weight::nothing;
      // Go on as if it had been repaired; how much does not matter to the others.
      const double mass = 1e-5 * item.weight.mass, inertia = 1e-5 * item.weight.inertia;
      item.articulated.diagonal() +=
          (Eigen::Matrix<double, 6, 1>() << Vec3::Constant(inertia), Vec3::Constant(mass)).finished();
    }
    if (item.weight.mass > 0 || joint->armature > 0)
      item.handed =
          carried(projected(item.articulated, item.S, along(item.S, item.articulated, joint->armature)), joint->X_PJ);
    if (parent < 0) return;
    Item& above = items_[static_cast<size_t>(parent)];
    above.locked += carried(item.locked, joint->X_PJ);
    above.articulated += item.handed;
    above.weight.mass += item.weight.mass;
  }

  bool hangs_on_light(size_t i) const {
    const int parent = links_[i].parent;
    return parent >= 0 && is_light(static_cast<size_t>(parent));
  }

  // Turns one joint through its range and looks at the light links it hangs on.
  void sweep(size_t i) {
    const Joint& joint = *links_[i].joint;
    double low = joint.limits.lower, high = joint.limits.upper;
    if (joint.type == JointType::prismatic) {
      if (!std::isfinite(low) || !std::isfinite(high)) return;
    } else {
      low = std::max(low, -M_PI);
      high = std::min(high, M_PI);
    }
    if (!(low < high)) return;
    std::vector<size_t> above;
    for (int a = links_[i].parent; a >= 0 && is_light(static_cast<size_t>(a)) && above.size() < kFarthest;
         a = links_[static_cast<size_t>(a)].parent)
      above.push_back(static_cast<size_t>(a));
    std::vector<double> least(above.size(), std::numeric_limits<double>::infinity()), most(above.size(), 0);
    const Item& item = items_[i];
    const Mat6 left = projected(item.articulated, item.S, along(item.S, item.articulated, joint.armature));
    for (int k = 0; k < kPoses; ++k) {
      const double q = low + (high - low) * k / (kPoses - 1);
      const Pose motion = joint.type == JointType::prismatic
                              ? Pose{Mat3::Identity(), q * joint.axis}
                              : Pose{Eigen::AngleAxisd(q, joint.axis).toRotationMatrix(), Vec3::Zero()};
      Mat6 handed = carried(left, joint.X_PJ * motion), before = item.handed;
      for (size_t n = 0; n < above.size(); ++n) {
        const Item& upper = items_[above[n]];
        const Joint& upper_joint = *links_[above[n]].joint;
        const Mat6 articulated = upper.articulated - before + handed;
        if (upper.S.cols() > 0) {
          const double here = ratio(above[n], articulated);
          least[n] = std::min(least[n], here);
          most[n] = std::max(most[n], here);
          if (!(here > kSingular)) break;  // nothing sensible is handed on
        }
        before = upper.handed;
        handed = carried(projected(articulated, upper.S, along(upper.S, articulated, upper_joint.armature)),
                         upper_joint.X_PJ);
      }
    }
    for (size_t n = 0; n < above.size(); ++n)
      if (least[n] <= kNearlySingular * most[n] && items_[above[n]].weight.weight == Weight::enough)
        items_[above[n]].weight.weight = Weight::singular;
  }

  const std::vector<TreeLink>& links_;
  std::vector<Item> items_;
};

}  // namespace

std::vector<LinkWeight> weigh_links(const std::vector<TreeLink>& links) { return Scales(links).take(); }

}  // namespace scree
