// scree convert --decompose: concave collision meshes as convex parts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "scree/candidates.h"
#include "scree/urdf.h"
#include "support/paths.h"
#include "support/process.h"

namespace scree {
namespace {

namespace fs = std::filesystem;
using Cell = std::array<int, 3>;

// Unit cubes glued together, as an OBJ file: the faces that two of them share are inside.
std::string cubes(const std::vector<Cell>& cells) {
  std::string vertices, faces;
  std::map<Cell, int> index;
  const auto corner = [&](const Cell& c) {
    const auto [it, is_new] = index.try_emplace(c, static_cast<int>(index.size()) + 1);
    if (is_new) vertices += fmt::format("v {} {} {}\n", c[0], c[1], c[2]);
    return it->second;
  };
  for (const Cell& cell : cells)
    for (size_t axis = 0; axis < 3; ++axis)
      for (const int side : {0, 1}) {
        Cell next = cell;
        next[axis] += side ? 1 : -1;
        if (std::ranges::find(cells, next) != cells.end()) continue;
        const size_t u = (axis + 1) % 3, v = (axis + 2) % 3;
        int quad[4];
        for (int k = 0; k < 4; ++k) {
          Cell c = cell;
          c[axis] += side;
          c[u] += (k == 1 || k == 2) ? 1 : 0;
          c[v] += k >= 2 ? 1 : 0;
          quad[side ? k : 3 - k] = corner(c);
        }
        faces += fmt::format("f {} {} {} {}\n", quad[0], quad[1], quad[2], quad[3]);
      }
  return vertices + faces;
}

// A U of five cubes of 0.1 m, mirrored, on two links, and a cube that is convex already.
class Decompose : public testing::Test {
 protected:
  Decompose() {
    write("u.obj", cubes({{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {0, 1, 0}, {2, 1, 0}}));
    write("cube.obj", cubes({{0, 0, 0}}));
    const auto link = [](const std::string& name, const std::string& mesh) {
      return fmt::format(
          "<link name='{0}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
          "</inertial><visual><geometry><mesh filename='u.obj'/></geometry></visual><collision name='{0} shape'>"
          "<origin xyz='1 2 3' rpy='0.1 0.2 0.3'/><geometry><mesh filename='{1}' scale='0.1 0.1 -0.1'/></geometry>"
          "</collision></link>",
          name, mesh);
    };
    std::string text = "<robot name='r'>" + link("a", "u.obj") + link("b", "u.obj") + link("c", "cube.obj");
    for (const char* child : {"b", "c"})
      text +=
          fmt::format("<joint name='to_{0}' type='continuous'><parent link='a'/><child link='{0}'/></joint>", child);
    write("in.urdf", text + "</robot>");
  }
  std::string in(const std::string& name) const { return (folder / name).string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(in(name)) << text; }
  // An interpreter that only says this.
  std::string fake(const std::string& answer, int exit_code) const {
    write("answer", answer);
    write("fake", fmt::format("#!/bin/sh\ncat '{}'\nexit {}\n", in("answer"), exit_code));
    fs::permissions(in("fake"), fs::perms::owner_all);
    return in("fake");
  }
  Outcome convert(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {cli_program(), "convert", in("in.urdf"), in("out.urdf"), "--decompose"};
    words.insert(words.end(), more.begin(), more.end());
    return Process(words).wait();
  }
  void expect_refused(const Outcome& outcome, const std::string& expected) const {
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find(expected), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
    for (const auto& file : fs::directory_iterator(folder.path())) {
      EXPECT_NE(file.path().extension(), ".stl");
      EXPECT_NE(file.path().filename(), "out.urdf");
    }
  }
  const TempFolder folder;
};

std::string box_part(double x0, double x1, double y0, double y1) {
  std::string text = "8 12\n";
  for (int k = 0; k < 8; ++k) text += fmt::format("{} {} {}\n", k & 1 ? x1 : x0, k & 2 ? y1 : y0, k & 4 ? 0 : -0.1);
  return text + "0 2 1\n1 2 3\n4 5 6\n5 7 6\n0 1 4\n1 5 4\n2 6 3\n3 6 7\n0 4 2\n2 4 6\n1 3 5\n3 7 5\n";
}

TEST_F(Decompose, PartsStandInPlaceOfTheMesh) {
  const std::string parts = "3\n" + box_part(0, 0.3, 0, 0.1) + box_part(0, 0.1, 0.1, 0.2) +
                            box_part(0.2, 0.3, 0.1, 0.2) + "1\n" + box_part(0, 0.1, 0, 0.1);
  const Outcome outcome = convert({"--python", fake(parts, 0), "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(json["meshes"].size(), 3u);
  for (const int k : {0, 1}) {
    EXPECT_EQ(json["meshes"][k]["parts"], 3);
    EXPECT_NEAR(json["meshes"][k]["mesh_volume"], 5e-3, 1e-12);  // mirrored, and still positive
    EXPECT_NEAR(json["meshes"][k]["hull_volume"], 6e-3, 1e-12);
    EXPECT_NEAR(json["meshes"][k]["parts_volume"], 5e-3, 1e-12);
  }
  EXPECT_EQ(json["meshes"][2]["parts"], 1);
  EXPECT_EQ(json["meshes"][2]["link"], "c");

  const Model before = load_urdf(in("in.urdf")), after = load_urdf(in("out.urdf"));
  EXPECT_EQ(after.shapes().size(), before.shapes().size() + 4);
  EXPECT_EQ(after.joints().size(), before.joints().size());
  int parts_seen = 0;
  for (const Shape& shape : after.shapes()) {
    if (shape.role != ShapeRole::collision || shape.name.find("-part") == std::string::npos) continue;
    ++parts_seen;
    const Mesh& mesh = std::get<Mesh>(shape.geometry);
    EXPECT_TRUE(mesh.uri.starts_with("out-a_shape-part")) << mesh.uri;  // shared by both links
    EXPECT_EQ(mesh.data->triangles.size(), 12u);
    EXPECT_EQ(shape.X_BS.p, Vec3(1, 2, 3));
  }
  EXPECT_EQ(parts_seen, 6);
  // The notch is free: no point of a part is a corner of the hull alone, and 3 x 8 corners a link touch.
  EXPECT_EQ(contact_candidates(after, ContactCandidates::shapes).size(), 2u * 24 + 8);
  EXPECT_EQ(contact_candidates(before, ContactCandidates::shapes).size(), 3u * 8);
}

TEST_F(Decompose, WhatGoesWrongIsSaidInOneLineAndNothingIsWritten) {
  expect_refused(convert({"--python", fake("", 3)}), "pip install coacd");
  expect_refused(convert({"--python", in("none")}), "pip install coacd");
  expect_refused(convert({"--python", fake("", 1)}), "coacd failed");
  const std::string good = "1\n" + box_part(0, 1, 0, 1);
  const std::vector<std::string> answers = {"",
                                            "2\n",
                                            good,
                                            "1e9\n" + good,
                                            "-1\n",
                                            "nan",
                                            good + "1\n3 1\n0 0 0 1 0 0 0 1 0\n0 1 3\n",
                                            good + "1\n0 0\n",
                                            good + "1\n1 99999999999\n"};
  for (const std::string& bad : answers) expect_refused(convert({"--python", fake(bad, 0)}), "--decompose: coacd: ");
  expect_refused(convert({"--threshold", "0"}), "--threshold: 0, expected a number in [0.01, 1]");
  EXPECT_EQ(Process({cli_program(), "convert", in("in.urdf"), in("out.urdf"), "--threshold", "0.1"}).wait().exit_code,
            2);
  fs::create_directory(in("out-a_shape-part1.stl.d"));
  fs::create_directory_symlink(in("out-a_shape-part1.stl.d"), in("out-a_shape-part1.stl"));  // a part cannot be written
  const std::string parts = "2\n" + box_part(0, 1, 0, 1) + box_part(0, 1, 0, 1) + "1\n" + box_part(0, 1, 0, 1);
  EXPECT_EQ(convert({"--python", fake(parts, 0)}).exit_code, 2);
  EXPECT_FALSE(fs::exists(in("out.urdf")));
  EXPECT_FALSE(fs::exists(in("out-a_shape-part0.stl")));
}

// With CoACD itself, where it is installed.
TEST_F(Decompose, CoacdOpensTheNotch) {
  std::string python;
  for (const std::string& candidate :
       {std::string(std::getenv("SCREE_COACD_PYTHON") ? std::getenv("SCREE_COACD_PYTHON") : ""),
        source_dir() + "/build/oracles-venv/bin/python", std::string("/usr/bin/python3")})
    if (python.empty() && fs::exists(candidate) && Process({candidate, "-c", "import coacd"}).wait().exit_code == 0)
      python = candidate;
  if (python.empty()) GTEST_SKIP() << "no Python here has coacd (make oracles)";
  const Outcome outcome = convert({"--python", python, "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  EXPECT_GE(json["meshes"][0]["parts"], 2);
  EXPECT_EQ(json["meshes"][2]["parts"], 1);
  // Parts overlap and gap a little; the hull has 20 % more.
  EXPECT_NEAR(json["meshes"][0]["parts_volume"], 5e-3, 0.05 * 5e-3);
  // The floor of the notch can be reached: no candidate is a corner of the hull of all, and the middle of it is free.
  const Model after = load_urdf(in("out.urdf"));
  EXPECT_GE(contact_candidates(after, ContactCandidates::shapes).size(), 2u * 16 + 8);
  const Outcome again = convert({"--python", python, "--json"});
  EXPECT_EQ(again.out, outcome.out);
}

}  // namespace
}  // namespace scree
