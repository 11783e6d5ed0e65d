#include <gtest/gtest.h>

#include "scree/candidates.h"
#include "scree/error.h"
#include "support/random_tree.h"

namespace scree {
namespace {

Shape collision(Geometry geometry, std::string name = "", Pose X_BS = {}) {
  Shape shape;
  shape.name = std::move(name);
  shape.role = ShapeRole::collision;
  shape.X_BS = X_BS;
  shape.geometry = std::move(geometry);
  return shape;
}

ModelBuilder one_body() {
  ModelBuilder builder("model");
  Body body;
  body.name = "foot";
  body.mass = 1;
  body.inertia = Mat3::Identity();
  Joint joint;
  joint.name = "base";
  joint.type = JointType::floating;
  builder.add_body(body, "world", joint);
  return builder;
}

Mesh cube_mesh(std::vector<Vec3> more = {}) {
  TriangleMesh mesh;
  for (int k = 0; k < 8; ++k) mesh.vertices.emplace_back(k & 1, (k >> 1) & 1, (k >> 2) & 1);
  mesh.vertices.insert(mesh.vertices.begin() + 3, more.begin(), more.end());
  mesh.triangles = {{0, 1, 2}};
  return {.uri = "cube.stl", .scale = Vec3(2, 3, -4), .data = std::make_shared<const TriangleMesh>(mesh)};
}

TEST(ContactCandidates, EveryShapeHasItsPoints) {
  test::Random random(91);
  const Pose X{test::random_rotation(random), test::random_vector(random)};
  ModelBuilder builder = one_body();
  builder.add_shape("foot", collision(Sphere{0.1}, "ball", X));
  builder.add_shape("foot", collision(Capsule{0.2, 0.6}, "", X));
  builder.add_shape("foot", collision(Capsule{0.2, 0}, "", X));
  builder.add_shape("foot", collision(Box{Vec3(1, 2, 4)}, "sole", X));
  builder.add_shape("foot", collision(Cylinder{0.5, 0.2}, "wheel", X));
  builder.add_shape("foot", collision(Plane{}, "", X));
  const std::vector<Collider> points = contact_candidates(builder.build(), ContactCandidates::automatic);
  ASSERT_EQ(points.size(), 1u + 2 + 1 + 8 + 16);
  EXPECT_EQ(points[0].name, "ball/centre");
  EXPECT_EQ(std::get<Sphere>(points[0].shape).radius, 0.1);
  EXPECT_EQ(points[0].X_BS.p, X.p);
  EXPECT_EQ(points[1].name, "foot/end0");
  EXPECT_EQ(points[2].name, "foot/end1");
  EXPECT_EQ(std::get<Sphere>(points[2].shape).radius, 0.2);
  EXPECT_TRUE(points[2].X_BS.p.isApprox(X * Vec3(0, 0, 0.3), 1e-15));
  EXPECT_EQ(points[3].name, "foot#2/end");
  EXPECT_EQ(points[4 + 5].name, "sole/corner5");
  EXPECT_TRUE(points[4 + 5].X_BS.p.isApprox(X * Vec3(0.5, -1, 2), 1e-15));
  for (size_t k = 12; k < 28; ++k) {
    const Vec3 p = X.inverse() * points[k].X_BS.p;
    EXPECT_NEAR(p.head<2>().norm(), 0.5, 1e-15);
    EXPECT_NEAR(std::abs(p.z()), 0.1, 1e-15);
    EXPECT_EQ(std::get<Sphere>(points[k].shape).radius, 0);
    for (size_t other = 12; other < k; ++other)  // neighbours on a rim: chord 2 r sin(pi / 8)
      EXPECT_GE((points[k].X_BS.p - points[other].X_BS.p).norm(), std::min(0.2, std::sin(M_PI / 8)) - 1e-15);
  }
  EXPECT_EQ(points[27].name, "wheel/rim15");
}

TEST(ContactCandidates, AMeshGivesTheVerticesOfItsHull) {
  test::Random random(92);
  // Inside, in the middle of faces and edges, and a corner once more.
  std::vector<Vec3> more = {Vec3(0.5, 0.5, 0), Vec3(1, 0.25, 0.75), Vec3(0.5, 0, 0), Vec3(1, 1, 0.125), Vec3(1, 1, 1)};
  for (int k = 0; k < 50; ++k) more.push_back(Vec3::Constant(0.5) + test::random_vector(random, 0.45));
  ModelBuilder builder = one_body();
  builder.add_shape("foot", collision(cube_mesh(more), "hull"));
  const std::vector<Collider> points = contact_candidates(builder.build(), ContactCandidates::shapes);
  ASSERT_EQ(points.size(), 8u);
  for (int k = 0; k < 8; ++k) {
    const Vec3 corner(2 * (k & 1), 3 * ((k >> 1) & 1), -4 * ((k >> 2) & 1));
    EXPECT_EQ(std::ranges::count(points, corner, [](const Collider& c) { return c.X_BS.p; }), 1) << corner.transpose();
    EXPECT_EQ(points[static_cast<size_t>(k)].name, "hull/vertex" + std::to_string(k));
    EXPECT_EQ(std::get<Sphere>(points[static_cast<size_t>(k)].shape).radius, 0);
  }
}

CandidateOptions of_shapes(double hull_accuracy) {
  return {.which = ContactCandidates::shapes, .hull_accuracy = hull_accuracy};
}

// Every point of a ball's mesh is a hull vertex, and none inside is.
TEST(ContactCandidates, HullOfRandomPointsOnASphere) {
  test::Random random(93);
  for (const double scale : {1e-3, 1.0, 1e3}) {
    TriangleMesh mesh;
    for (int k = 0; k < 300; ++k) mesh.vertices.push_back(test::random_vector(random).normalized());
    for (int k = 0; k < 300; ++k) mesh.vertices.push_back(test::random_vector(random, 0.4));
    mesh.triangles = {{0, 1, 2}};
    ModelBuilder builder = one_body();
    builder.add_shape("foot", collision(Mesh{.uri = "ball.obj",
                                             .scale = Vec3::Constant(scale),
                                             .data = std::make_shared<const TriangleMesh>(mesh)}));
    const Model model = builder.build();
    const std::vector<Collider> points = contact_candidates(model, of_shapes(0));
    ASSERT_EQ(points.size(), 300u);
    for (size_t k = 0; k < 300; ++k) EXPECT_EQ(points[k].X_BS.p, Vec3(scale * mesh.vertices[k]));
    ASSERT_EQ(mesh_points(model, points).size(), 1u);
    EXPECT_LE(mesh_points(model, points)[0].distance, 1e-12 * scale);

    // By default fewer stand for them, as well as is said.
    const std::vector<Collider> fewer = contact_candidates(model, ContactCandidates::shapes);
    EXPECT_LT(fewer.size(), 250u);
    const MeshPoints report = mesh_points(model, fewer).at(0);
    EXPECT_EQ(report.name, "foot");
    EXPECT_EQ(report.vertices, 600u);
    EXPECT_EQ(report.points, fewer.size());
    EXPECT_EQ(report.dimension, 3);
    EXPECT_NEAR(report.size, 2 * scale, 0.05 * scale);
    EXPECT_LE(report.distance, 0.01 * report.size);
    EXPECT_GT(report.distance, 0);
    for (const Collider& point : fewer)
      EXPECT_EQ(std::ranges::count(points, point.X_BS.p, [](const Collider& c) { return c.X_BS.p; }), 1);
  }
}

TEST(ContactCandidates, AFlatMeshHasTheCornersOfItsOutline) {
  TriangleMesh mesh;
  mesh.vertices = {Vec3(0, 0, 1), Vec3(1, 0, 1), Vec3(0, 1, 1), Vec3(1, 1, 1), Vec3(0.3, 0.2, 1)};
  mesh.triangles = {{0, 1, 2}};
  for (const size_t count : {5u, 4u, 3u, 2u, 1u}) {
    mesh.vertices.resize(count);
    const int last = static_cast<int>(count) - 1;
    mesh.triangles = {{0, std::min(1, last), std::min(2, last)}};
    ModelBuilder builder = one_body();
    builder.add_shape("foot", collision(Mesh{.uri = "sheet.stl", .data = std::make_shared<const TriangleMesh>(mesh)}));
    const Model model = builder.build();
    for (const double accuracy : {0.0, 0.01}) {
      const std::vector<Collider> points = contact_candidates(model, of_shapes(accuracy));
      EXPECT_EQ(points.size(), std::min<size_t>(count, 4));
      EXPECT_EQ(mesh_points(model, points).at(0).dimension, count > 2 ? 2 : static_cast<int>(count) - 1);
      EXPECT_EQ(mesh_points(model, points)[0].distance, 0);
    }
    EXPECT_TRUE(contact_candidates(model, ContactCandidates::named).empty());
  }
}

TEST(ContactCandidates, AccuracyIsChecked) {
  const Model model = one_body().build();
  for (const double wrong : {-0.01, 0.6, std::nan("")}) {
    try {
      contact_candidates(model, of_shapes(wrong));
      FAIL();
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("hull_accuracy is "), std::string::npos);
    }
  }
}

TEST(ContactCandidates, WhichOnesIsTheUsersChoice) {
  ModelBuilder builder = one_body();
  builder.add_shape("foot", collision(Sphere{0.1}));
  Shape seen = collision(Box{Vec3::Ones()});
  seen.role = ShapeRole::view;
  builder.add_shape("foot", seen);
  builder.add_shape("world", collision(Box{Vec3::Ones()}, "table"));
  EXPECT_EQ(contact_candidates(builder.build(), ContactCandidates::automatic).size(), 1u);
  EXPECT_EQ(contact_candidates(builder.build(), ContactCandidates::named).size(), 0u);
  builder.add_contact_point("foot", {.name = "toe", .body = {}, .p_B = Vec3(1, 2, 3), .radius = 0.05});
  const Model model = builder.build();
  const auto names = [&](ContactCandidates which) {
    std::string all;
    for (const Collider& point : contact_candidates(model, which)) all += point.name + " ";
    return all;
  };
  EXPECT_EQ(names(ContactCandidates::automatic), "toe ");
  EXPECT_EQ(names(ContactCandidates::named), "toe ");
  EXPECT_EQ(names(ContactCandidates::shapes), "foot/centre ");
  EXPECT_EQ(names(ContactCandidates::all), "toe foot/centre ");
}

}  // namespace
}  // namespace scree
