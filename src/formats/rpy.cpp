#include "formats/rpy.h"

#include <array>
#include <limits>

namespace scree {
namespace {

// Each of the three formulas below is exact to a few roundings: the angles sought are at most so many units in the last
// place away.
constexpr int kFurthest = 3;
constexpr int kCandidates = 2 * kFurthest + 1;

struct Candidates {
  std::array<double, kCandidates> angle, cos, sin;  // nearest first

  explicit Candidates(double centre) {
    double up = centre, down = centre;
    angle[0] = centre;
    for (size_t k = 1; k < kCandidates; k += 2) {
      angle[k] = up = std::nextafter(up, std::numeric_limits<double>::infinity());
      angle[k + 1] = down = std::nextafter(down, -std::numeric_limits<double>::infinity());
    }
    for (size_t k = 0; k < kCandidates; ++k) {
      cos[k] = std::cos(angle[k]);
      sin[k] = std::sin(angle[k]);
    }
  }
};

std::optional<Vec3> search_near(const Mat3& R, const Vec3& rpy) {
  const Candidates roll(rpy(0)), pitch(rpy(1)), yaw(rpy(2));
  for (size_t p = 0; p < kCandidates; ++p) {
    if (-pitch.sin[p] != R(2, 0)) continue;
    for (size_t y = 0; y < kCandidates; ++y) {
      if (yaw.cos[y] * pitch.cos[p] != R(0, 0) || yaw.sin[y] * pitch.cos[p] != R(1, 0)) continue;
      for (size_t r = 0; r < kCandidates; ++r) {
        const Vec3 found(roll.angle[r], pitch.angle[p], yaw.angle[y]);
        if (rotation_from_rpy(found) == R) return found;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Vec3> exact_rpy(const Mat3& R) {
  // The angles of a rotation come in two triples, |pitch| below and above pi/2.
  const double c = std::hypot(R(0, 0), R(1, 0));
  for (const double sign : {1.0, -1.0}) {
    const Vec3 rpy(std::atan2(sign * R(2, 1), sign * R(2, 2)), std::atan2(-R(2, 0), sign * c),
                   std::atan2(sign * R(1, 0), sign * R(0, 0)));
    if (const auto found = search_near(R, rpy)) return found;
  }
  return search_near(R, rpy_from_rotation(R));  // gimbal lock
}

}  // namespace scree
