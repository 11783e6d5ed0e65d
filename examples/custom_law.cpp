// A contact law of your own: mud. The deeper a point the more it carries, but sideways it holds no more than `grip`. A
// box slides on it at 1 m/s; the program prints how far: m v^2 / (2 x 4 grip) = 0.25 m.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "scree/simulation.h"
#include "scree/urdf.h"

class Mud final : public scree::ContactLaw {
 public:
  int vertex_count() const override { return 4; }

  // The corners of a pyramid of height N = share (d / depth)^3 and width F = grip (1 - exp(-N / grip)).
  void vertices(const scree::ContactGeometry& geometry, Eigen::Ref<scree::Wrenches> out) const override {
    const double x = std::max(0.0, geometry.depth) / depth_;
    const double N = geometry.share_of_weight * x * x * x, F = grip_ * (1 - std::exp(-N / grip_));
    out.setZero();  // no moments
    out.row(2).setConstant(N);
    out(0, 0) = F;
    out(0, 1) = -F;
    out(1, 2) = F;
    out(1, 3) = -F;
  }

  // Optional: without these two the law runs with ne-zonmdp, pbd-zonmdp and ne-mdp only.
  bool differentiable() const override { return true; }
  Derivative derivative(const scree::ContactGeometry& geometry,
                        const Eigen::Ref<const Eigen::VectorXd>& w) const override {
    const double x = std::max(0.0, geometry.depth) / depth_;
    const double N = geometry.share_of_weight * x * x * x, dN = 3 * geometry.share_of_weight * x * x / depth_;
    const double dF = std::exp(-N / grip_) * dN;
    Derivative result;  // nothing here depends on the orientation of the body
    result.by_depth(0) = dF * (w(0) - w(1));
    result.by_depth(1) = dF * (w(2) - w(3));
    result.by_depth(2) = dN * w.sum();
    return result;
  }

 private:
  double depth_ = 0.002;  // [m] where a point carries its share of the weight
  double grip_ = 0.5;     // [N] of one point
};

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: custom_law models/box.urdf\n"), 2;
  scree::Model model = scree::load_urdf(argv[1]);
  scree::World world;
  world.add(scree::plane_collider(scree::Vec3::Zero(), scree::Vec3::UnitZ()));
  world.law = std::make_shared<Mud>();
  world.add(scree::contact_candidates(model, scree::ContactCandidates::automatic));

  scree::StepOptions options;
  options.integrator = scree::IntegratorType::ne_nmdp;
  options.dissipation = scree::Dissipation::effective;
  scree::Simulation simulation(std::move(model), std::move(world), options);
  Eigen::VectorXd q = simulation.model().neutral_position(), v = Eigen::VectorXd::Zero(simulation.model().nv());
  q(2) = 0.2475;  // [m] the lower corners a little in the mud
  v(0) = 1;       // [m/s]
  simulation.set_state(q, v);
  for (int k = 0; k < 200; ++k)
    if (!simulation.step().converged()) return std::fprintf(stderr, "step %d failed\n", k), 1;
  std::printf("the box slid %.2f m and has %zu contacts\n", simulation.state().q(0), simulation.contacts().size());
}
