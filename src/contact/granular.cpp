// A granular medium: the wrenches it can exert, interpolated in a table over depth and inclination.
#include "contact/granular.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace scree {
namespace {

constexpr double kVertical = 1e-12;  // a projection this short has no direction

// x = (1 - fraction) grid[index] + fraction grid[index + 1], beyond either end the end itself.
struct Place {
  Eigen::Index index;
  double fraction;
};
Place locate(const std::vector<double>& grid, double x) {
  if (x <= grid.front()) return {0, 0};
  if (x >= grid.back()) return {std::ssize(grid) - 1, 0};
  const size_t i = static_cast<size_t>(std::upper_bound(grid.begin(), grid.end(), x) - grid.begin()) - 1;
  return {static_cast<Eigen::Index>(i), (x - grid[i]) / (grid[i + 1] - grid[i])};
}

class Granular final : public ContactLaw {
 public:
  explicit Granular(GranularTable table) : table_(std::move(table)) {
    assert(!table_.depths.empty() && !table_.inclinations.empty() && table_.vertex_count > 0);
    // The row of depth 0.
    const Eigen::Index row = std::ssize(table_.inclinations) * table_.vertex_count;
    Wrenches all = Wrenches::Zero(6, row + table_.vertices.cols());
    all.rightCols(table_.vertices.cols()) = table_.vertices;
    table_.vertices = std::move(all);
    table_.depths.insert(table_.depths.begin(), 0);
    assert(table_.vertices.cols() == std::ssize(table_.depths) * row);
  }

  int vertex_count() const override { return table_.vertex_count; }

  void vertices(const ContactGeometry& geometry, Eigen::Ref<Wrenches> out) const override {
    if (!(geometry.depth > 0)) {
      out.setZero();
      return;
    }
    // The table's frame T in the contact frame: z the normal, y the lateral axis projected, x = y cross z.
    const Vec3 lateral = geometry.R_CB * table_.lateral;
    const double length = std::hypot(lateral.x(), lateral.y());
    const Vec3 y = length > kVertical ? Vec3(lateral.x() / length, lateral.y() / length, 0) : Vec3(Vec3::UnitY());
    Mat3 R_CT;
    R_CT << y.y(), y.x(), 0,  //
        -y.x(), y.y(), 0,     //
        0, 0, 1;
    // The leg points from the contact back to the body's origin; it leans towards +x of T.
    const Vec3 leg = R_CT.transpose() * (geometry.R_CB * -geometry.p_B);
    const double inclination = std::hypot(leg.x(), leg.z()) > kVertical ? std::atan2(leg.x(), leg.z()) : 0;

    const Place i = locate(table_.depths, geometry.depth), j = locate(table_.inclinations, inclination);
    const double scale = table_.share_of_weight ? geometry.share_of_weight : 1;
    for (int k = 0; k < table_.vertex_count; ++k) {
      Eigen::Matrix<double, 6, 1> wrench = Eigen::Matrix<double, 6, 1>::Zero();
      for (const int di : {0, 1})
        for (const int dj : {0, 1}) {
          const double share = (di ? i.fraction : 1 - i.fraction) * (dj ? j.fraction : 1 - j.fraction);
          if (share > 0) wrench += share * node(i.index + di, j.index + dj, k);
        }
      out.col(k).head<3>() = scale * (R_CT * wrench.head<3>());
      out.col(k).tail<3>() = scale * (R_CT * wrench.tail<3>());
    }
  }

 private:
  Wrenches::ConstColXpr node(Eigen::Index i, Eigen::Index j, int k) const {
    return table_.vertices.col((i * std::ssize(table_.inclinations) + j) * table_.vertex_count + k);
  }
  GranularTable table_;
};

}  // namespace

std::shared_ptr<const ContactLaw> make_granular(GranularTable table) {
  return std::make_shared<Granular>(std::move(table));
}

}  // namespace scree
