// After warm-up a step touches the heap not once.
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <memory>

#include "base/random.h"
#include "impact/routh_set.h"
#include "impact_examples.h"
#include "scree/collider.h"
#include "scree/dynamics.h"
#include "scree/impact.h"
#include "scree/simulation.h"
#include "scree/urdf.h"
#include "solvers/lcp.h"
#include "solvers/simplex_qp.h"
#include "support/allocation_guard.h"
#include "support/contact_robots.h"
#include "support/impact_problems.h"
#include "support/mechanisms.h"
#include "support/paths.h"
#include "support/random_tree.h"
#include "support/simplex_problems.h"

void* volatile escape = nullptr;  // a compiler may drop a pair of new and delete that nobody sees

namespace scree {
namespace {

TEST(AllocationGuard, SeesNewAndMallocAndEigen) {
  test::AllocationGuard guard;
  const auto p = std::make_unique<int>(1);
  escape = p.get();
  EXPECT_GE(guard.count(), 1);
  test::AllocationGuard eigen;
  Eigen::VectorXd v = Eigen::VectorXd::Zero(100);
  escape = v.data();
  EXPECT_GE(eigen.count(), 1);
}

void expect_no_allocation(Simulation& s, const std::string& what) {
  for (int k = 0; k < 20; ++k) (void)s.step();
  test::AllocationGuard guard;
  int substeps = 0;
  for (int k = 0; k < 100; ++k) substeps += s.step().substeps;
  EXPECT_EQ(guard.count(), 0) << what << ", " << substeps << " substeps";
}

TEST(Step, AllocatesNothingAfterWarmUp) {
  test::Random random(51);
  for (const IntegratorType integrator : {IntegratorType::pbd, IntegratorType::ne, IntegratorType::rk4}) {
    for (int trial = 0; trial < 30; ++trial) {
      const test::RandomTree tree = test::random_tree(random);
      Simulation s(tree.model, StepOptions{.integrator = integrator, .dt = 0.02});
      s.set_state(test::random_position(random, tree.model), test::random_velocity(random, tree.model, 5));
      expect_no_allocation(s, "random tree " + std::to_string(trial));
    }
    Simulation robot(load_urdf(source_dir() + "/models/robosimian.urdf"),
                     StepOptions{.integrator = integrator, .dt = integrator == IntegratorType::rk4 ? 1e-4 : 0.05});
    robot.control().kp.tail(28).setConstant(500);
    robot.control().kd.tail(28).setConstant(20);
    robot.control().target.tail(28).setConstant(0.5);
    expect_no_allocation(robot, "robosimian");
  }
}

TEST(Step, AllocatesNothingWhereJointsRub) {
  const Model model = test::with_friction(test::chain(6, 0.2), [](const Joint&) { return 0.2; });
  for (const IntegratorType integrator : integrators()) {
    Simulation s(model, StepOptions{.integrator = integrator, .dt = 0.01});
    s.set_state(Eigen::VectorXd::LinSpaced(6, -1, 1), Eigen::VectorXd::Zero(6));
    expect_no_allocation(s, integrator_name(integrator));
  }
}

// Joints that follow others add up in scratch of their own.
TEST(Step, AllocatesNothingWithFollowers) {
  Model model = load_urdf(source_dir() + "/tests/data/mimic.urdf");
  World world;
  world.add(contact_candidates(model, ContactCandidates::automatic));
  world.add(plane_collider({0, 0, -0.4}, Vec3::UnitZ()));
  for (const IntegratorType integrator : integrators()) {
    // `event` reports what happens, and L-BFGS has a library of its own.
    if (integrator == IntegratorType::event) continue;
    StepOptions options{.integrator = integrator, .dt = integrator == IntegratorType::rk4 ? 1e-3 : 0.01};
    options.explicit_pd = false;
    Simulation s = knows_contact(integrator) ? Simulation(model, world, options) : Simulation(model, options);
    s.control().kp.setConstant(3);
    s.control().kd.setConstant(0.1);
    expect_no_allocation(s, integrator_name(integrator));
  }
}

TEST(Motion, SamplingAllocatesNothing) {
  const Model model = load_urdf(source_dir() + "/models/robosimian-planar.urdf");
  const Motion motion = load_motion(source_dir() + "/motions/robosimian-walk.toml", model);
  Eigen::VectorXd q = model.neutral_position(), v = Eigen::VectorXd::Zero(model.nv());
  test::AllocationGuard guard;
  for (double t = -1; t < 10; t += 0.01) motion.sample(t, q, v);
  EXPECT_EQ(guard.count(), 0);
}

// Spinning so fast that every step is subdivided, and failing steps, must not allocate either.
TEST(Step, AllocatesNothingWhenSubdividingOrFailing) {
  ModelBuilder builder("spinner");
  Body body;
  body.name = "b";
  body.mass = 1;
  body.inertia = 0.1 * Mat3::Identity();
  Joint joint;
  joint.name = "j";
  joint.type = JointType::ball;
  builder.add_body(body, "world", joint);
  StepOptions options{.integrator = IntegratorType::pbd, .dt = 0.05};
  options.max_halvings = 2;
  Simulation s(builder.build(), options);
  s.set_state(s.model().neutral_position(), Vec3(30, 0, 5));
  expect_no_allocation(s, "subdividing");
  s.set_state(s.model().neutral_position(), Vec3(3000, 0, 5));
  EXPECT_FALSE(s.step().converged());
  expect_no_allocation(s, "failing");
}

TEST(Step, AllocatesNothingWithSmoothContact) {
  for (const char* name : {"robosimian-planar", "spider-spatial"}) {
    test::ContactRobot robot(name);
    robot.world.surface.friction = 0.7;
    robot.control.motion = robot.motion("jump");
    for (const IntegratorType integrator :
         {IntegratorType::pbfd, IntegratorType::pbfd_coulomb, IntegratorType::pbfd2, IntegratorType::pbfd_coulomb2}) {
      for (const double dt : {0.05, 0.005}) {
        StepOptions options{.integrator = integrator, .dt = dt};
        State state = make_state(robot.model, robot.stance, Eigen::VectorXd::Zero(robot.model.nv()));
        StepWorkspace workspace(robot.model, robot.world);
        const auto run_until = [&](double time) {
          while (state.time < time)
            ASSERT_TRUE(step(robot.model, robot.control, options, state, workspace).converged());
        };
        run_until(robot.control.motion->end());
        test::AllocationGuard guard;
        run_until(2 * robot.control.motion->end());
        EXPECT_EQ(guard.count(), 0) << name << " " << integrator_name(integrator) << " " << dt;
      }
    }
  }
}

// Contacts come and go: one cycle of the gait to warm up, then another.
TEST(Step, AllocatesNothingWithContactsAfterACycle) {
  struct Variant {
    double dt, max_turn;
    Dissipation dissipation;
  };
  const Variant variants[] = {{0.05, 0.5, Dissipation::contact},
                              {0.05, 0.02, Dissipation::effective},  // subdivides most steps
                              {0.005, 0.5, Dissipation::total}};
  for (const char* name : {"robosimian-planar", "spider-spatial"}) {
    test::ContactRobot robot(name);
    for (const char* motion : {"walk", "jump"}) {
      robot.control.motion = robot.motion(motion);
      const double cycle = robot.control.motion->end();
      for (const IntegratorType integrator : test::kContactIntegrators) {
        for (const Variant& variant : variants) {
          StepOptions options;
          options.integrator = integrator;
          options.dissipation = variant.dissipation;
          options.dt = integrator == IntegratorType::ne_mdp ? 0.005 : variant.dt;  // larger ones explode
          options.max_turn = variant.max_turn;
          State state = make_state(robot.model, robot.stance, Eigen::VectorXd::Zero(robot.model.nv()));
          StepWorkspace workspace(robot.model, robot.world);
          bool converged = true;
          int substeps = 0, fewest = 4, most = 0;
          const auto run_until = [&](double time) {
            while (state.time < time && converged) {
              const StepReport report = step(robot.model, robot.control, options, state, workspace);
              converged = report.converged();
              substeps += report.substeps;
              fewest = std::min(fewest, report.contacts);
              most = std::max(most, report.contacts);
            }
          };
          run_until(cycle);
          test::AllocationGuard guard;
          run_until(2 * cycle);
          EXPECT_EQ(guard.count(), 0) << name << " " << motion << " " << integrator_name(integrator) << " dt "
                                      << options.dt << ", " << substeps << " substeps";
          EXPECT_TRUE(converged) << name << " " << motion << " " << integrator_name(integrator) << " dt " << options.dt;
          EXPECT_LT(fewest, most);  // contacts did come and go
        }
      }
    }
  }
}

// pbd-friction with the optimisers of ours; liblbfgs allocates.
TEST(Step, AllocatesNothingWithPbdFriction) {
  test::ContactRobot robot("robosimian-planar");
  robot.walk();
  for (const IntegratorType integrator : {IntegratorType::pbd_friction, IntegratorType::pbd_friction2})
    for (const Optimizer optimizer : {Optimizer::lm, Optimizer::jtj_lm}) {
      StepOptions options;
      options.integrator = integrator;
      options.optimizer = optimizer;
      options.dt = 0.005;
      Simulation s(robot.model, robot.world, options);
      s.control() = robot.control;
      s.set_state(robot.stance, Eigen::VectorXd::Zero(robot.model.nv()));
      for (int k = 0; k < 50; ++k) ASSERT_TRUE(s.step().converged());
      expect_no_allocation(s, std::string(integrator_name(integrator)) + " " + optimizer_name(optimizer));
    }
}

TEST(Step, AllocatesNothingWhenAStepWithContactFails) {
  test::ContactRobot robot("robosimian-planar");
  CoulombOptions law;
  law.stiffness = 1e30;
  robot.world.law = make_coulomb(law);
  test::Random random(53);
  for (const IntegratorType integrator : test::kContactIntegrators) {
    StepOptions options;
    options.integrator = integrator;
    options.dt = 0.05;
    options.max_halvings = 3;
    State start = robot.random_state(random), state = start;
    start.q(robot.height_index()) -= 0.1;
    StepWorkspace workspace(robot.model, robot.world);
    const auto run = [&] {
      state = start;
      for (int k = 0; k < 3; ++k) (void)step(robot.model, robot.control, options, state, workspace);
    };
    run();
    test::AllocationGuard guard;
    run();
    EXPECT_EQ(guard.count(), 0) << integrator_name(integrator);
  }
}

TEST(Dynamics, AllocatesNothing) {
  const Model model = load_urdf(source_dir() + "/models/robosimian.urdf");
  test::Random random(52);
  const Eigen::VectorXd q = test::random_position(random, model), v = test::random_velocity(random, model);
  const Vec3 gravity(0, 0, -9.81);
  const Frame foot = model.find_frame("limb1_link7");
  Eigen::VectorXd tau(model.nv()), vdot(model.nv());
  Eigen::Matrix<double, 6, Eigen::Dynamic> J(6, model.nv());
  Dynamics dynamics(model);
  test::AllocationGuard guard;
  dynamics.set_position(q);
  dynamics.inverse_dynamics(v, v, gravity, tau);
  dynamics.bias_force(v, gravity, tau);
  EXPECT_TRUE(dynamics.forward_dynamics(v, tau, gravity, vdot));
  dynamics.inverse_dynamics_derivatives(v, v, gravity);
  dynamics.mass_matrix();
  dynamics.frame_jacobian(foot, J);
  dynamics.kinetic_energy(v);
  dynamics.momentum(v);
  EXPECT_EQ(guard.count(), 0);
}

TEST(Collider, DistanceAllocatesNothing) {
  test::Random random(53);
  Eigen::MatrixXd heights(6, 5);
  for (double& h : heights.reshaped()) h = test::uniform(random, -0.3, 0.3);
  const std::vector<Collider> ground = {
      plane_collider(Vec3::Zero(), Vec3::UnitZ()), box_collider({}, Vec3::Ones()),
      height_field_collider(std::make_shared<const HeightField>(heights, Eigen::Vector2d(-1, -1), 0.5))};
  test::AllocationGuard guard;
  double sum = 0;
  for (int k = 0; k < 1000; ++k) {
    const Vec3 p = test::random_vector(random, 2);
    for (const Collider& collider : ground) sum += distance(collider, p).value + distance_bound(collider, p);
  }
  EXPECT_EQ(guard.count(), 0) << sum;
}

// Robosimian walks on sand and on rock; the second stride meets what the first one met.
TEST(Step, AllocatesNothingInContactAfterWarmUp) {
  const std::filesystem::path root = source_dir();
  const auto sand = load_granular(root / "examples/contact/granular-foot.toml");
  for (const auto& [integrator, law] :
       {std::pair(IntegratorType::ne_nmdp, make_coulomb({})), std::pair(IntegratorType::ne_zonmdp, sand)}) {
    Model model = load_urdf(root / "models/robosimian-planar.urdf");
    World world;
    world.add(plane_collider(Vec3(0, 0, -0.8), Vec3::UnitZ()));
    world.law = law;
    world.add(contact_candidates(model, ContactCandidates::named));
    const auto motion = std::make_shared<const Motion>(load_motion(root / "motions/robosimian-walk.toml", model));
    Simulation simulation(std::move(model), std::move(world),
                          {.integrator = integrator, .dt = 0.05, .tolerance = 1e-4});
    simulation.set_state(motion->keyframes().front().q, Eigen::VectorXd::Zero(simulation.model().nv()));
    simulation.control().motion = motion;
    for (const Joint& joint : simulation.model().joints())
      if (velocity_count(joint.type) == 1) {
        simulation.control().kp(joint.v_index) = 1000;
        simulation.control().kd(joint.v_index) = 1;
      }
    bool converged = true;
    for (int k = 0; k < 40; ++k) converged = simulation.step().converged() && converged;
    test::AllocationGuard guard;
    for (int k = 0; k < 40; ++k) converged = simulation.step().converged() && converged;
    EXPECT_EQ(guard.count(), 0) << integrator_name(integrator);
    EXPECT_TRUE(converged);
    EXPECT_GT(simulation.contacts().size(), 0u);
  }
}

// Contacts come and go: one cycle to warm up, then another.
TEST(Step, AllocatesNothingWithComplementarity) {
  for (const char* name : {"robosimian-planar", "spider-spatial"})
    for (const bool explicit_pd : {false, true}) {
      test::ContactRobot robot(name);
      robot.world.surface.friction = 0.7;
      robot.control.motion = robot.motion("walk");
      StepOptions options;
      options.integrator = IntegratorType::ne_lcp;
      options.dt = 0.002;
      options.explicit_pd = explicit_pd;
      State state = make_state(robot.model, robot.stance, Eigen::VectorXd::Zero(robot.model.nv()));
      StepWorkspace workspace(robot.model, robot.world);
      const double cycle = robot.control.motion->end();
      bool converged = true;
      int fewest = 4, most = 0;
      const auto run_until = [&](double time) {
        while (state.time < time && converged) {
          const StepReport report = step(robot.model, robot.control, options, state, workspace);
          converged = report.converged();
          fewest = std::min(fewest, report.contacts);
          most = std::max(most, report.contacts);
        }
      };
      run_until(cycle);
      test::AllocationGuard guard;
      run_until(2 * cycle);
      EXPECT_EQ(guard.count(), 0) << name << (explicit_pd ? ", explicit PD" : ", implicit PD");
      EXPECT_TRUE(converged) << name;
      EXPECT_LT(fewest, most);
    }
}

// Impacts and reports of events allocate; flight and lasting contacts do not.
TEST(Step, AllocatesNothingBetweenEvents) {
  test::ContactRobot robot("robosimian-planar");
  robot.control.motion = robot.motion("walk");
  StepOptions options;
  options.integrator = IntegratorType::event;
  options.dt = 0.002;
  Eigen::VectorXd q = robot.stance;
  q(robot.height_index()) += 1e-4 - robot.lowest_foot(q);
  State state = make_state(robot.model, q, Eigen::VectorXd::Zero(robot.model.nv()));
  StepWorkspace workspace(robot.model, robot.world);
  const double cycle = robot.control.motion->end();
  int lasting = 0;
  bool converged = true;
  while (state.time < 2 * cycle && converged) {
    test::AllocationGuard guard;
    const StepReport report = step(robot.model, robot.control, options, state, workspace);
    const auto count = guard.count();
    converged = report.converged();
    if (state.time < cycle || report.events > 0) continue;  // warm up, or an event
    EXPECT_EQ(count, 0) << "at " << state.time << " s";
    lasting += report.contacts > 0;
  }
  EXPECT_TRUE(converged);
  EXPECT_GT(lasting, 100);
  // The same without contact.
  State thrown = make_state(robot.model, q + 2 * Eigen::VectorXd::Unit(q.size(), robot.height_index()),
                            Eigen::VectorXd::Zero(robot.model.nv()));
  ASSERT_TRUE(step(robot.model, robot.control, options, thrown, workspace).converged());
  test::AllocationGuard guard;
  for (int k = 0; k < 20; ++k) converged = step(robot.model, robot.control, options, thrown, workspace).converged();
  EXPECT_EQ(guard.count(), 0);
  EXPECT_TRUE(converged);
}

// Problems of any size up to the largest seen, solved or not.
TEST(Lemke, AllocatesOnlyWhenTheProblemGrows) {
  const int n = 40;
  Eigen::MatrixXd M = Eigen::MatrixXd::Identity(n, n);
  M.triangularView<Eigen::StrictlyLower>().setConstant(0.1);
  Eigen::VectorXd q = Eigen::VectorXd::Constant(n, -1), z(n);
  Lemke lemke;
  lemke.reserve(n);
  test::AllocationGuard guard;
  for (const int size : {n, 3, 17, 0}) {
    EXPECT_TRUE(lemke.solve(M.topLeftCorner(size, size), q.head(size), z.head(size)).solved());
    M *= -1;
    EXPECT_EQ(lemke.solve(M.topLeftCorner(size, size), q.head(size), z.head(size)).solved(), size == 0);
    M *= -1;
  }
  EXPECT_EQ(guard.count(), 0);
}

// Smaller and differently shaped problems than those seen before, cold and warm.
TEST(SimplexQp, AllocatesOnlyWhenTheProblemGrows) {
  test::Random random(53);
  std::vector<test::SimplexProblem> problems;
  for (const auto& [blocks, size] : {std::pair(16, 6), std::pair(4, 6), std::pair(6, 16), std::pair(1, 3)})
    problems.push_back(test::random_problem(random, blocks, size, {.beta = 1e-9, .zero = 0.3, .parallel = 0.2}));
  SimplexQp qp;
  Eigen::VectorXd w = Eigen::VectorXd::Zero(96);
  const auto solve = [&](const test::SimplexProblem& p) {
    w.setZero();
    for (int start = 0; start < 2; ++start)
      EXPECT_TRUE(qp.solve(p.blocks, p.size, p.Q.data(), p.g.data(), w.data()).converged);
  };
  solve(problems[0]);
  test::AllocationGuard guard;
  for (const test::SimplexProblem& p : problems) solve(p);
  EXPECT_EQ(guard.count(), 0);
}

// Ten times the reflections, the same heap calls: none is made from step to step. Both fill the path.
TEST(Impact, IncrementsOfOutcomeSetsAllocateNothing) {
  const ImpactProblem problem = test::disks();
  const RouthSystem system(problem, 2, 1e-10);
  RouthWalker walker(system);
  RandomStream random(1, 0);
  double caps[5];
  const auto trajectory = [&] {
    walker.start();
    for (int k = 0; k < 100 && walker.approaching(); ++k) {
      for (double& cap : caps) cap = random.uniform();
      const int alone = k % 3 == 2 && walker.normal_velocity()(2) < -1e-6 ? 2 : -1;
      if (!walker.advance({alone, alone < 0 ? caps : caps + alone, Increment::Pick::drawn, random.bits()})) return;
    }
  };
  for (int k = 0; k < 20; ++k) trajectory();
  test::AllocationGuard guard;
  for (int k = 0; k < 500; ++k) trajectory();
  EXPECT_EQ(guard.count(), 0);
}

TEST(Impact, StepsOfAnImpactAllocateNothing) {
  for (const ImpactLaw law : {ImpactLaw::gauss_seidel_first, ImpactLaw::gauss_seidel_max, ImpactLaw::reflections}) {
    const auto calls = [&](int k) {
      ImpactProblem problem = galperin_impact(k);  // every contact twice, so that reflections have an inner problem
      problem.Jn = problem.Jn.replicate(2, 1).eval();
      ImpactOptions options;
      options.law = law;
      options.tolerance = 1e-13;
      test::AllocationGuard guard;
      const ImpactResult result = resolve_impact(problem, options);
      EXPECT_GT(result.steps, 3000);
      return guard.count();
    };
    EXPECT_EQ(calls(3), calls(4)) << impact_law_name(law);
  }
}

}  // namespace
}  // namespace scree
