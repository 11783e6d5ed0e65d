#include "pages/replay_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "model/coordinate_names.h"
#include "pages/array_block.h"
#include "pages/replay_contacts.h"
#include "pages/replay_events.h"
#include "run/event_file.h"
#include "run/run_contacts.h"
#include "scree/error.h"
#include "scree/kinematics.h"

namespace scree {
namespace {

using Json = nlohmann::json;

Json to_json(const Vec3& a) { return {a.x(), a.y(), a.z()}; }

// `place` begins every message.
void check_run(const Model& model, const Run& run, const std::string& place) {
  const size_t rows = run.rows();
  const auto expect = [&](const char* name, size_t size) {
    if (size != rows) throw InputError(fmt::format("{}: {} has {} values, expected {}", place, name, size, rows));
  };
  if (rows == 0) throw InputError(fmt::format("{}: the run has no rows, expected at least one", place));
  if (!run.q.has_shape(rows, static_cast<size_t>(model.nq())))
    throw InputError(
        fmt::format("{}: q is {} x {}, expected {} x {}", place, run.q.rows(), run.q.columns(), rows, model.nq()));
  expect("kinetic energy", run.kinetic_energy.size());
  expect("potential energy", run.potential_energy.size());
  expect("residual", run.residual.size());
  expect("iterations", run.iterations.size());
  expect("substeps", run.substeps.size());
  expect("rejected", run.rejected.size());
  if (const auto problem = find_contact_problem(run))
    throw InputError(fmt::format("{}: {}: {}", place, problem->path, problem->what));
  if (const auto problem = find_event_problem(run, model.nv()))
    throw InputError(fmt::format("{}: {}: {}", place, problem->path, problem->what));
  for (size_t r = 0; r < rows; ++r)
    if (!std::isfinite(run.time[r]) || (r > 0 && run.time[r] <= run.time[r - 1]))
      throw InputError(
          fmt::format("{}: time of row {} is {}, expected finite and increasing times", place, r, run.time[r]));
  for (size_t r = 0; r < rows; ++r)
    for (const double x : run.q.row(r))
      if (!std::isfinite(x))
        throw InputError(fmt::format("{}: q of row {} is {}, expected finite numbers", place, r, x));
}

Json describe_bodies(const Model& model) {
  Json bodies = Json::array();
  for (const Body& body : model.bodies())
    bodies.push_back(
        {{"name", body.name}, {"parent", body.parent.value()}, {"mass", body.mass}, {"com", to_json(body.com)}});
  return bodies;
}

bool same_mesh(const TriangleMesh& a, const TriangleMesh& b) {
  return a.triangles == b.triangles && a.vertices == b.vertices && a.colours == b.colours;
}

// Each mesh once, however many shapes use it; the two runs of a comparison mostly have the same ones.
class MeshTable {
 public:
  MeshTable(const std::vector<const Model*>& models, ArrayBlock& block, size_t most_bytes) {
    std::vector<const TriangleMesh*> used;  // in order of first use, so that the same run gives the same file
    std::vector<size_t> sizes;
    for (const Model* model : models) {
      const size_t known = used.size();  // meshes of the models before
      for (const Shape& shape : model->shapes())
        if (const auto* mesh = std::get_if<Mesh>(&shape.geometry)) {
          const TriangleMesh* data = mesh->data.get();
          if (index_.contains(data)) continue;
          const auto end = used.begin() + static_cast<std::ptrdiff_t>(known);
          const auto same =
              std::find_if(used.begin(), end, [&](const auto* other) { return same_mesh(*data, *other); });
          index_[data] = same != end ? static_cast<size_t>(same - used.begin()) : used.size();
          if (same != end) continue;
          used.push_back(data);
          sizes.push_back(packed_size(*data));
        }
    }
    const size_t share = fair_share(sizes, most_bytes);  // the largest give way when all together are too large
    for (const TriangleMesh* mesh : used) {
      TriangleMesh shrunk = shrink_mesh(*mesh, share);
      const std::vector<Paint> paints = sort_by_colour(shrunk);
      std::vector<float> vertices;
      for (const Vec3& p : shrunk.vertices)
        for (int k = 0; k < 3; ++k) vertices.push_back(static_cast<float>(p(k)));
      std::vector<std::uint32_t> triangles;
      for (const auto& t : shrunk.triangles)
        for (int k : t) triangles.push_back(static_cast<std::uint32_t>(k));
      before_ += mesh->triangles.size();
      after_ += shrunk.triangles.size();
      meshes_.push_back({{"vertices", block.add(vertices)}, {"triangles", block.add(triangles)}});
      if (!paints.empty()) meshes_.back()["colours"] = paints;
    }
  }
  size_t index(const Mesh& mesh) const { return index_.at(mesh.data.get()); }
  const std::vector<Json>& meshes() const { return meshes_; }
  std::string note() const {
    return before_ == after_ ? "" : fmt::format("Meshes are coarsened from {} to {} triangles.", before_, after_);
  }

 private:
  std::map<const TriangleMesh*, size_t> index_;
  std::vector<Json> meshes_;
  size_t before_ = 0, after_ = 0;  // triangles
};

struct ShapeWriter {
  const MeshTable& table;
  Json& shape;
  void operator()(const Sphere& s) const { shape["radius"] = s.radius; }
  void operator()(const Box& b) const { shape["size"] = to_json(b.size); }
  void operator()(const Capsule& c) const { round(c.radius, c.length); }
  void operator()(const Cylinder& c) const { round(c.radius, c.length); }
  void operator()(const Plane&) const {}
  void operator()(const std::shared_ptr<const HeightField>&) const {}  // no model has one
  void operator()(const Mesh& m) const {
    shape["mesh"] = table.index(m);
    shape["scale"] = to_json(m.scale);
  }
  void round(double radius, double length) const {
    shape["radius"] = radius;
    shape["length"] = length;
  }
};

Json describe_shapes(const Model& model, const MeshTable& table) {
  Json shapes = Json::array();
  for (const Shape& s : model.shapes()) {
    const Quat r(s.X_BS.R);
    Json shape = {{"body", s.body.value()},
                  {"role", s.role == ShapeRole::view ? "view" : "collision"},
                  {"type", geometry_name(s.geometry)},
                  {"position", to_json(s.X_BS.p)},
                  {"quaternion", {r.x(), r.y(), r.z(), r.w()}},
                  {"rgba", s.rgba}};
    if (const auto* mesh = std::get_if<Mesh>(&s.geometry); mesh && shows_own_colours(*mesh, s.rgba))
      shape["painted"] = true;
    std::visit(ShapeWriter{table, shape}, s.geometry);
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

// Name and unit of every entry of q; a quaternion has none.
Json describe_positions(const Model& model) {
  const std::vector<std::string> names = position_names(model);
  Json positions = Json::array();
  for (const Joint& joint : model.joints()) {
    if (joint.mimic) continue;
    for (int k = 0; k < position_count(joint.type); ++k) {
      const bool length = joint.type == JointType::prismatic || (joint.type == JointType::planar && k < 2) ||
                          (joint.type == JointType::floating && k < 3);
      const bool quaternion = joint.type == JointType::ball || (joint.type == JointType::floating && k >= 3);
      positions.push_back({{"name", names[positions.size()]}, {"unit", length ? "m" : quaternion ? "" : "rad"}});
    }
  }
  return positions;
}

Json add_frames(const Model& model, const Run& run, const RowSelection& kept, ArrayBlock& block) {
  std::vector<double> time;
  std::vector<float> poses;  // per frame and body: x y z, quaternion x y z w
  poses.reserve(kept.rows.size() * model.bodies().size() * 7);
  for (size_t r : kept.rows) {
    time.push_back(run.time[r]);
    for (const Pose& X_WB : body_poses(model, run.q.row(r))) {
      const Quat quaternion = Quat(X_WB.R).normalized();
      for (int k = 0; k < 3; ++k) poses.push_back(static_cast<float>(X_WB.p(k)));
      for (int k = 0; k < 4; ++k) poses.push_back(static_cast<float>(quaternion.coeffs()(k)));
    }
  }
  return {{"stride", kept.stride}, {"time", block.add(time)}, {"poses", block.add(poses)}};
}

Json add_series(const Model& model, const Run& run, const RowSelection& kept, ArrayBlock& block) {
  const auto sampled = [&](const std::vector<double>& values) {  // in double: drift of the total energy is looked at
    std::vector<double> out;
    for (size_t r : kept.rows) out.push_back(values[r]);
    return block.add(out);
  };
  // A spike between two kept rows must not vanish: the largest of the rows each point stands for. fmax passes over NaN.
  const auto largest = [&](const auto& values) {
    std::vector<float> out;
    size_t next = 0;
    for (size_t r : kept.rows) {
      double most = static_cast<double>(values[r]);
      for (; next <= r; ++next) most = std::fmax(most, static_cast<double>(values[next]));
      out.push_back(static_cast<float>(most));
    }
    return block.add(out);
  };
  Json series = {{"stride", kept.stride},
                 {"time", sampled(run.time)},
                 {"kinetic_energy", sampled(run.kinetic_energy)},
                 {"potential_energy", sampled(run.potential_energy)},
                 {"residual", largest(run.residual)},
                 {"iterations", largest(run.iterations)},
                 {"substeps", largest(run.substeps)},
                 {"rejected", largest(run.rejected)},
                 {"positions", Json::array()}};
  for (size_t k = 0; k < run.q.columns(); ++k) {
    std::vector<float> column;
    for (size_t r : kept.rows) column.push_back(static_cast<float>(run.q(r, k)));
    series["positions"].push_back(block.add(column));
  }
  if (!has_contact(run)) return series;
  std::vector<double> normal_force;
  for (size_t r = 0; r < run.rows(); ++r) normal_force.push_back(total_normal_force(run, r));
  series["normal_force"] = largest(normal_force);
  series["penetration"] = largest(run.penetration);
  series["outer"] = largest(run.outer);
  if (const BaseMotion base = base_motion(model, run, kept.rows); base.exists) {
    series["base_height"] = block.add(base.height);
    series["base_travel"] = block.add(base.travel);
    series["base_tilt"] = block.add(base.tilt);
  }
  return series;
}

// One of the runs a replay shows.
struct Part {
  const Model& model;
  const Run& run;
  bool forces;  // whether its contacts are drawn

  size_t bodies() const { return model.bodies().size(); }
  size_t series_row() const {  // [byte]
    return 3 * 8 + 4 * (4 + static_cast<size_t>(model.nq()) + (has_contact(run) ? 6 : 0));
  }
  size_t frame() const { return 8 + 28 * bodies() + (forces ? contact_frame_bytes(run) : 0); }  // [byte]
  size_t most_frames() const { return scree::most_frames(run.rows(), run.time.back() - run.time.front()); }
  size_t wanted() const {  // [byte] without any limit on the size
    return series_row() * std::min(run.rows(), kMostSeriesRows) + frame() * std::min(run.rows(), most_frames());
  }
};

Json describe_part(const Part& part, const MeshTable& table) {
  return {{"title", part.run.title},
          {"model", part.model.name()},
          {"status", run_status_name(part.run.status)},
          {"settings", part.run.settings},
          {"bodies", describe_bodies(part.model)},
          {"shapes", describe_shapes(part.model, table)},
          {"positions", describe_positions(part.model)},
          {"recorded_rows", part.run.rows()}};
}

// Plots and frames of the part, in at most `bytes`.
void add_motion(const Part& part, size_t bytes, ArrayBlock& block, Json& data) {
  const Run& run = part.run;
  const size_t series_rows = std::min(kMostSeriesRows, bytes / 2 / part.series_row());
  const size_t frames = (bytes - part.series_row() * std::min(series_rows, run.rows())) / part.frame();
  if (series_rows < 2 || frames < 2)
    throw InputError(fmt::format("replay of {}: {} bodies and {} shapes take more than the {} bytes a replay may have",
                                 part.model.name(), part.bodies(), part.model.shapes().size(), kReplayBytes));
  data["series"] = add_series(part.model, run, select_rows(run.rows(), series_rows), block);
  const RowSelection kept = select_rows(run.rows(), std::min(frames, part.most_frames()));
  data["frames"] = add_frames(part.model, run, kept, block);
  if (part.forces) data["contacts"] = add_contact_frames(run, kept.rows, block);
}

}  // namespace

RowSelection select_rows(size_t recorded, size_t most_rows) {
  const size_t steps = recorded - 1;
  RowSelection kept;
  kept.stride =
      std::max<size_t>(1, (steps + most_rows - 2) / (most_rows - 1));  // ceil: ceil(steps / stride) < most_rows
  for (size_t r = 0; r < steps; r += kept.stride) kept.rows.push_back(r);
  kept.rows.push_back(steps);
  return kept;
}

size_t most_frames(size_t recorded, double duration) {
  // The tolerance covers the rounding of accumulated times: a run recorded at 60 rows per second is kept whole.
  const double steps = std::floor(kFramesPerSecond * duration * (1 + 1e-6));
  return steps < static_cast<double>(recorded) ? std::max<size_t>(2, static_cast<size_t>(steps) + 1) : recorded + 1;
}

Json describe_model(const Model& model, ArrayBlock& block, size_t mesh_bytes) {
  const MeshTable table({&model}, block, mesh_bytes);
  return {{"model", model.name()},
          {"bodies", describe_bodies(model)},
          {"shapes", describe_shapes(model, table)},
          {"meshes", table.meshes()},
          {"note", table.note()}};
}

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t have = std::min<size_t>(3, bytes.size() - i);
    std::uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k) word = word << 8 | (k < have ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) text += k <= have ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

Json replay_data(const Model& model, const Run& run, const Ghost* ghost) {
  check_run(model, run, fmt::format("replay of {}", model.name()));
  std::vector<Part> parts = {{model, run, has_contact(run)}};
  if (ghost) {
    check_run(ghost->model, ghost->run, fmt::format("replay of {}: ghost {}", model.name(), ghost->model.name()));
    parts.push_back({ghost->model, ghost->run, false});
  }
  std::vector<const Model*> models;
  for (const Part& part : parts) models.push_back(&part.model);
  ArrayBlock block;
  const MeshTable table(models, block, kReplayBytes / 4);
  Json data = describe_part(parts[0], table);
  data["version"] = 1;
  data["meshes"] = table.meshes();
  data["note"] = table.note();
  if (has_contact(run)) {
    std::string note = table.note();
    data["environment"] = describe_environment(run.colliders, block, kReplayBytes / 8, note);
    data["contact_points"] = describe_contact_points(run.colliders);
    data["note"] = note;
  }
  if (!run.events.empty()) data["events"] = describe_events(run, block);
  if (ghost) data["ghost"] = describe_part(parts[1], table);

  // What is left for motion and plots: base64 makes 4 characters of 3 bytes; each column's entry in the JSON and its
  // alignment take less than 100.
  size_t header = replay_json(data).size() + block.bytes().size() / 3 * 4;
  for (const Part& part : parts) header += 100 * (static_cast<size_t>(part.model.nq()) + 32);
  const size_t left = header < kReplayBytes ? (kReplayBytes - header) / 4 * 3 : 0;
  // Half each, and what one does not want goes to the other.
  const size_t ghost_share = ghost ? std::min(parts[1].wanted(), left / 2) : 0;
  add_motion(parts[0], left - ghost_share, block, data);
  if (ghost) add_motion(parts[1], left - std::min(parts[0].wanted(), left / 2), block, data["ghost"]);
  data["data"] = base64(block.bytes());
  return data;
}

std::string script_text(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (char c : json) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

// Strings that are not UTF-8 are shown with replacement characters.
std::string replay_json(const Json& data) {
  return script_text(data.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace scree
