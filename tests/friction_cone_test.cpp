// Friction in every direction, with the polygons that integrators use by default: at most 2 % weaker than Coulomb's
// cone, and nowhere stronger.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "scree/impact.h"
#include "scree/outcome_set.h"
#include "scree/research/inclusion.h"
#include "scree/simulation.h"
#include "scree/urdf.h"
#include "support/paths.h"

namespace scree {
namespace {

constexpr double kGravity = 9.81;  // [m/s^2]
constexpr double kLoss = 0.02;     // wanted: a polygon of n corners loses 1 - cos(pi/n), 1.92 % of 16
constexpr double kMu = 0.5;

// [rad] Every 7.5 degrees finds the middle between two corners of polygons of 6, 8 and 12; 11.25 that of 16.
std::vector<double> headings() {
  std::vector<double> all = {11.25, 33.75, 56.25, 101.25, 213.75};
  for (int k = 0; k < 48; ++k) all.push_back(7.5 * k);
  for (double& heading : all) heading *= std::numbers::pi / 180;
  return all;
}

struct Case {
  IntegratorType integrator;
  double dt;  // [s]
};
constexpr Case kCases[] = {
    {IntegratorType::pbd_nmdp2, 0.01}, {IntegratorType::ne_nmdp2, 0.01},   {IntegratorType::pbd_nmdp, 0.01},
    {IntegratorType::ne_nmdp, 0.01},   {IntegratorType::pbd_zonmdp, 0.01}, {IntegratorType::ne_zonmdp, 0.01},
    {IntegratorType::ne_mdp, 0.002},   {IntegratorType::ne_lcp, 0.01},     {IntegratorType::event, 0.01}};

bool is_rigid(IntegratorType type) { return type == IntegratorType::ne_lcp || type == IntegratorType::event; }

// A cube of 0.5 m at rest on the ground; where contact gives way as deep as eight shares of the weight want, so that no
// corner has to sink: four carry two shares each, pulled by friction up to 2 (1 + mu sqrt(2)).
class Box {
 public:
  explicit Box(const Case& c) : model_(load_urdf(source_dir() + "/models/box.urdf")), case_(c) {
    world_.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
    world_.add(contact_candidates(model_, ContactCandidates::named));
    CoulombOptions law;
    world_.surface.friction = kMu;
    law.depth = 1e-3;
    world_.law = make_coulomb(law);
    q_ = model_.neutral_position();
    q_(2) = is_rigid(c.integrator) ? 0.25 : 0.25 - 2 * *law.depth;
  }

  // The velocity after some steps with a pull of `pull` times the weight along `heading`.
  Eigen::VectorXd run(double heading, double pull, double speed, int steps) {
    StepOptions options{.integrator = case_.integrator, .dt = case_.dt};
    world_.gravity = kGravity * Vec3(pull * std::cos(heading), pull * std::sin(heading), -1);
    Simulation s(model_, world_, options);
    Eigen::VectorXd v = Eigen::VectorXd::Zero(model_.nv());
    v.head<2>() = speed * Vec3(std::cos(heading), std::sin(heading), 0).head<2>();
    s.set_state(q_, v);
    for (int k = 0; k < steps; ++k) EXPECT_TRUE(s.step().converged());
    return s.state().v;
  }

 private:
  Model model_;
  Case case_;
  World world_;
  Eigen::VectorXd q_;
};

// Pulled by 0.98 mu of its weight it holds, by 1.005 mu it slides.
// Held: what creeps by then is less than a hundredth of what a loss of another 0.1 % would give, 0.001 mu g t.
TEST(FrictionCone, ABoxHoldsToTwoPercentOfCoulombInEveryHeading) {
  constexpr int kSteps = 10;
  for (const Case& c : kCases) {
    Box box(c);
    const double time = kSteps * c.dt;
    for (const double heading : headings()) {
      const std::string where =
          std::string(integrator_name(c.integrator)) + " heading " + std::to_string(heading * 180 / std::numbers::pi);
      EXPECT_LE(box.run(heading, (1 - kLoss) * kMu, 0, kSteps).norm(), 1e-5 * kMu * kGravity * time) << where;
      EXPECT_GE(box.run(heading, 1.005 * kMu, 0, kSteps).norm(), 0.004 * kMu * kGravity * time) << where;
    }
  }
}

// Along the way friction and pressure add up to what the velocity has changed by, whatever they were at which time:
// |impulse of friction| / (impulse of pressure) = |dv_t| / (g t + dv_z). Contacts that give way turn the box a little
// while it brakes, so that its velocity is read 1e-3 off.
TEST(FrictionCone, ASlidingBoxBrakesToTwoPercentOfCoulombInEveryHeading) {
  constexpr int kSteps = 20;
  for (const Case& c : kCases) {
    Box box(c);
    for (const double heading : headings()) {
      const Eigen::VectorXd v = box.run(heading, 0, 3, kSteps);
      const Vec3 before = 3 * Vec3(std::cos(heading), std::sin(heading), 0);
      const double braked = before.norm() - before.normalized().dot(v.head<3>());
      const double mu = braked / (kGravity * kSteps * c.dt + v(2));
      const std::string where =
          std::string(integrator_name(c.integrator)) + " heading " + std::to_string(heading * 180 / std::numbers::pi);
      EXPECT_GE(mu, (1 - kLoss) * kMu) << where;
      EXPECT_LE(mu, 1.001 * kMu) << where;
    }
  }
}

// A mass point hits the ground: at most mu of its speed along the ground is taken, and that to 2 %.
TEST(FrictionCone, ImpactsTakeTwoPercentOfCoulombInEveryHeading) {
  constexpr double kRounding = 1e-12;
  ImpactProblem p;
  p.M = Eigen::MatrixXd::Identity(3, 3);
  p.Jn = Eigen::RowVector3d(0, 0, 1);
  p.Jt = Eigen::MatrixXd::Identity(2, 3);
  p.mu = Eigen::VectorXd::Constant(1, kMu);
  for (const ImpactLaw law : {ImpactLaw::anitescu_potra, ImpactLaw::sequential, ImpactLaw::routh})
    for (const double heading : headings()) {
      const Vec3 along(std::cos(heading), std::sin(heading), 0);
      p.v = (1 - kLoss) * kMu * along - Vec3::UnitZ();
      EXPECT_LE(resolve_impact(p, {.law = law}).v.norm(), kRounding) << impact_law_name(law) << " " << heading;
      p.v = 2 * along - Vec3::UnitZ();
      const ImpactResult sliding = resolve_impact(p, {.law = law});
      EXPECT_GE(2 - along.dot(sliding.v), (1 - kLoss) * kMu) << impact_law_name(law) << " " << heading;
      EXPECT_LE(sliding.tangential_impulse.norm(), (1 + kRounding) * kMu) << impact_law_name(law) << " " << heading;
    }
}

// The same of the inclusion, whose boundary steps and impacts have the polygon of the impact laws.
TEST(FrictionCone, TheInclusionHoldsToTwoPercentOfCoulomb) {
  const Model model = load_urdf(source_dir() + "/models/box.urdf");
  World world;
  world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
  world.add(contact_candidates(model, ContactCandidates::named));
  world.surface.friction = kMu;
  for (const double degrees : {0.0, 11.25, 22.5, 30.0, 101.25}) {
    const double heading = degrees * std::numbers::pi / 180;
    const auto speed = [&](double pull) {
      world.gravity = kGravity * Vec3(pull * std::cos(heading), pull * std::sin(heading), -1);
      Inclusion inclusion(model, world);
      State state = make_state(model);
      state.q(2) = 0.25;
      for (int k = 0; k < 5; ++k) EXPECT_TRUE(inclusion.advance(state, 0.05).advanced());
      return state.v.norm() / (kMu * kGravity * state.time);
    };
    EXPECT_LE(speed((1 - kLoss) * kMu), 1e-5) << degrees;
    EXPECT_GE(speed(1.005 * kMu), 0.004) << degrees;
  }
}

// The polytopes of the laws themselves, for pure slip: the largest force against it.
TEST(FrictionCone, LawsOfferNinetyEightPercentOfCoulombInEveryHeading) {
  PatchOptions disc;
  disc.radius = 0.05;
  for (const auto& law : {make_coulomb({}), make_patch(disc)}) {
    ContactGeometry geometry;
    geometry.depth = 0.01;
    geometry.share_of_weight = 1;
    geometry.friction = kMu;
    Wrenches v(6, law->vertex_count());
    law->vertices(geometry, v);
    for (const double heading : headings()) {
      const double most =
          ((std::cos(heading) * v.row(0) + std::sin(heading) * v.row(1)).array() / v.row(2).array()).maxCoeff();
      EXPECT_GE(most, (1 - kLoss) * kMu) << law->vertex_count() << " vertices, heading " << heading;
      EXPECT_LE(most, (1 + 1e-12) * kMu) << law->vertex_count() << " vertices, heading " << heading;
    }
  }
}

}  // namespace
}  // namespace scree
