#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>

#include "formats/atomic_file.h"
#include "scree/error.h"
#include "scree/run.h"
#include "sim/build_info.h"
#include "sim/coordinate_names.h"
#include "sim/hdf5.h"
#include "sim/seal.h"

namespace scree {
namespace {

namespace fs = std::filesystem;
using MeshPointer = std::shared_ptr<const TriangleMesh>;

constexpr int kFormatVersion = 1;
constexpr double kQuaternionSlack = 1e-6;  // as make_state

struct NumberColumn {
  const char* path;
  const char* units;
  std::vector<double> Run::*data;
};
constexpr NumberColumn kNumberColumns[] = {
    {"/report/kinetic_energy", "J", &Run::kinetic_energy},
    {"/report/potential_energy", "J", &Run::potential_energy},
    {"/report/residual", "m/s^2, rad/s^2", &Run::residual},
};
struct IntegerColumn {
  const char* path;
  std::vector<int> Run::*data;
};
constexpr IntegerColumn kIntegerColumns[] = {
    {"/report/iterations", &Run::iterations},
    {"/report/substeps", &Run::substeps},
    {"/report/rejected", &Run::rejected},
};

std::vector<std::string> joint_names(const Model& model) {
  std::vector<std::string> names;
  for (const Joint& joint : model.joints()) names.push_back(joint.name);
  return names;
}

// --- writing -------------------------------------------------------------------------------------------------------

// Every mesh once. A URDF names meshes by uri, so one uri must mean one mesh.
std::map<std::string, MeshPointer> collect_meshes(const Model& model) {
  std::map<std::string, MeshPointer> meshes;
  for (const Shape& shape : model.shapes()) {
    const auto* mesh = std::get_if<Mesh>(&shape.geometry);
    if (!mesh) continue;
    if (mesh->uri.empty()) throw InputError(fmt::format("model {}: a mesh has no uri, expected one", model.name()));
    const MeshPointer& known = meshes.emplace(mesh->uri, mesh->data).first->second;
    if (known != mesh->data && (known->vertices != mesh->data->vertices || known->triangles != mesh->data->triangles))
      throw InputError(fmt::format("model {}: two different meshes share the uri \"{}\"", model.name(), mesh->uri));
  }
  return meshes;
}

void write_model(hdf5::Writer& out, const Model& model) {
  out.group("/model");
  out.text("/model/urdf", format_urdf(model));
  out.strings("/model/joint_names", joint_names(model), {model.joints().size()});
  out.strings("/model/q_names", position_names(model), {static_cast<hsize_t>(model.nq())});
  out.strings("/model/v_names", velocity_names(model), {static_cast<hsize_t>(model.nv())});
  out.group("/model/meshes");
  int k = 0;
  for (const auto& [uri, mesh] : collect_meshes(model)) {
    const std::string group = fmt::format("/model/meshes/{}", k++);
    std::vector<double> vertices;
    std::vector<int> triangles;
    for (const Vec3& p : mesh->vertices) vertices.insert(vertices.end(), p.begin(), p.end());
    for (const auto& t : mesh->triangles) triangles.insert(triangles.end(), t.begin(), t.end());
    out.group(group);
    out.attribute(group, "uri", uri);
    out.numbers(group + "/vertices", vertices, {mesh->vertices.size(), 3}, "m, before scaling");
    out.integers(group + "/triangles", triangles, {mesh->triangles.size(), 3}, "1");
  }
}

void check_lengths(const Model& model, const Run& run) {
  const auto check = [&](const char* name, size_t found, size_t columns) {
    if (found != run.rows() * columns)
      throw InputError(fmt::format("run: {} has {} entries, expected {}", name, found, run.rows() * columns));
  };
  if (run.rows() == 0) throw InputError("run: has no rows, expected at least the initial state");
  check("q", run.q.size(), static_cast<size_t>(model.nq()));
  check("v", run.v.size(), static_cast<size_t>(model.nv()));
  for (const NumberColumn& column : kNumberColumns) check(column.path, (run.*column.data).size(), 1);
  for (const IntegerColumn& column : kIntegerColumns) check(column.path, (run.*column.data).size(), 1);
}

// --- reading -------------------------------------------------------------------------------------------------------

MeshPointer read_mesh(const hdf5::Reader& in, const std::string& group) {
  const std::string vertex_path = group + "/vertices", triangle_path = group + "/triangles";
  const auto rows = [&](const std::string& path) -> hsize_t {
    const hdf5::Extents extents = in.extents(path);
    return extents.empty() ? 0 : extents[0];
  };
  const std::vector<double> vertices = in.numbers(vertex_path, {rows(vertex_path), 3});
  const std::vector<int> triangles = in.integers(triangle_path, {rows(triangle_path), 3});
  auto mesh = std::make_shared<TriangleMesh>();
  for (size_t i = 0; i < vertices.size(); i += 3) {
    mesh->vertices.emplace_back(vertices[i], vertices[i + 1], vertices[i + 2]);
    if (!mesh->vertices.back().allFinite()) in.fail(vertex_path, fmt::format("row {} is not finite", i / 3));
  }
  for (size_t i = 0; i < triangles.size(); i += 3) {
    mesh->triangles.push_back({triangles[i], triangles[i + 1], triangles[i + 2]});
    for (const int vertex : mesh->triangles.back())
      if (vertex < 0 || static_cast<size_t>(vertex) >= mesh->vertices.size())
        in.fail(triangle_path, fmt::format("row {} names vertex {}, expected 0 to {}", i / 3, vertex,
                                           static_cast<int>(mesh->vertices.size()) - 1));
  }
  return mesh;
}

Model read_model(const hdf5::Reader& in, const fs::path& file) {
  std::map<std::string, MeshPointer> meshes;
  for (const std::string& child : in.children("/model/meshes")) {
    const std::string group = "/model/meshes/" + child;
    meshes[in.string_attribute(group, "uri")] = read_mesh(in, group);
  }
  UrdfOptions options;
  options.mesh_loader = [&](const std::string& uri) {
    const auto found = meshes.find(uri);
    if (found == meshes.end()) in.fail("/model/meshes", fmt::format("no mesh \"{}\", which the model names", uri));
    return found->second;
  };
  Model model = parse_urdf(in.text("/model/urdf"), fs::path(file.string() + ":/model/urdf"), options);
  const hdf5::Extents joints = {model.joints().size()}, q = {static_cast<hsize_t>(model.nq())},
                      v = {static_cast<hsize_t>(model.nv())};
  if (in.strings("/model/joint_names", joints) != joint_names(model))
    in.fail("/model/joint_names", "differs from the joints of /model/urdf");
  if (in.strings("/model/q_names", q) != position_names(model))
    in.fail("/model/q_names", "differs from the positions of /model/urdf");
  if (in.strings("/model/v_names", v) != velocity_names(model))
    in.fail("/model/v_names", "differs from the velocities of /model/urdf");
  return model;
}

void check_finite(const hdf5::Reader& in, const char* path, const std::vector<double>& values, size_t columns) {
  for (size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      in.fail(path, fmt::format("row {} holds {}, expected finite numbers", i / columns, values[i]));
}

void check_quaternions(const hdf5::Reader& in, const Model& model, const Run& run) {
  for (const Joint& joint : model.joints()) {
    if (joint.type != JointType::ball && joint.type != JointType::floating) continue;
    const size_t first = static_cast<size_t>(joint.q_index + (joint.type == JointType::floating ? 3 : 0));
    for (size_t row = 0; row < run.rows(); ++row) {
      const double norm = Eigen::Vector4d(&run.q[row * static_cast<size_t>(model.nq()) + first]).norm();
      if (!(std::abs(norm - 1) <= kQuaternionSlack))
        in.fail("/q", fmt::format("row {}: quaternion of joint {} has length {}, expected 1", row, joint.name, norm));
    }
  }
}

RunStatus read_status(const hdf5::Reader& in) {
  const std::string name = in.string_attribute("/", "status");
  for (const RunStatus status : {RunStatus::complete, RunStatus::step_failed, RunStatus::interrupted})
    if (name == run_status_name(status)) return status;
  in.fail("/", fmt::format("status is \"{}\", expected complete, step_failed or interrupted", name));
}

std::uint64_t read_hash(const hdf5::Reader& in) {
  const std::string hex = in.string_attribute("/", "final_state_hash");
  std::uint64_t hash = 0;
  const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), hash, 16);
  if (error != std::errc() || end != hex.data() + hex.size())
    in.fail("/", fmt::format("final_state_hash is \"{}\", expected a hexadecimal number", hex));
  return hash;
}

Run read_table(const hdf5::Reader& in, const Model& model) {
  Run run;
  run.title = in.string_attribute("/", "title");
  run.status = read_status(in);
  run.wall_time = in.number_attribute("/", "wall_time");
  if (!(run.wall_time >= 0 && std::isfinite(run.wall_time)))
    in.fail("/", fmt::format("wall_time is {} s, expected >= 0", run.wall_time));
  run.final_state_hash = read_hash(in);
  run.scene_text = in.text("/scene");

  const hdf5::Extents extents = in.extents("/time");
  if (extents.size() != 1 || extents[0] == 0) in.fail("/time", "expected one column with at least one row");
  const hsize_t rows = extents[0], nq = static_cast<hsize_t>(model.nq()), nv = static_cast<hsize_t>(model.nv());
  run.time = in.numbers("/time", {rows});
  check_finite(in, "/time", run.time, 1);
  for (size_t row = 1; row < rows; ++row)
    if (!(run.time[row] > run.time[row - 1]))
      in.fail("/time", fmt::format("row {} is not later than the one before", row));
  run.q = in.numbers("/q", {rows, nq});
  run.v = in.numbers("/v", {rows, nv});
  check_finite(in, "/q", run.q, nq);
  check_finite(in, "/v", run.v, nv);
  check_quaternions(in, model, run);
  for (const NumberColumn& column : kNumberColumns) {
    run.*column.data = in.numbers(column.path, {rows});
    check_finite(in, column.path, run.*column.data, 1);
  }
  for (const IntegerColumn& column : kIntegerColumns) {
    run.*column.data = in.integers(column.path, {rows});
    for (size_t row = 0; row < rows; ++row)
      if (const int n = (run.*column.data)[row]; n < 0)
        in.fail(column.path, fmt::format("row {} holds {}, expected >= 0", row, n));
  }
  const hdf5::Extents table = in.extents("/settings");
  if (table.size() != 2 || table[1] != 2) in.fail("/settings", "expected two columns: name, value");
  const std::vector<std::string> settings = in.strings("/settings", table);
  for (size_t i = 0; i < settings.size(); i += 2) run.settings.emplace_back(settings[i], settings[i + 1]);
  return run;
}

}  // namespace

void write_run(const fs::path& file, const Model& model, const Run& run) {
  check_lengths(model, run);
  AtomicFile target(file);
  hdf5::Writer out(target.temporary(), file.string());
  out.attribute("/", "format_version", kFormatVersion);
  out.attribute("/", "scree_version", version());
  out.attribute("/", "title", run.title);
  out.attribute("/", "status", run_status_name(run.status));
  out.attribute("/", "wall_time", run.wall_time);
  out.attribute("/", "final_state_hash", fmt::format("{:016x}", run.final_state_hash));

  const hsize_t rows = run.rows(), nq = static_cast<hsize_t>(model.nq()), nv = static_cast<hsize_t>(model.nv());
  out.numbers("/time", run.time, {rows}, "s");
  out.numbers("/q", run.q, {rows, nq}, "m, rad, unit quaternions (w, x, y, z)");
  out.numbers("/v", run.v, {rows, nv}, "m/s, rad/s");
  out.group("/report");
  for (const NumberColumn& column : kNumberColumns) out.numbers(column.path, run.*column.data, {rows}, column.units);
  for (const IntegerColumn& column : kIntegerColumns) out.integers(column.path, run.*column.data, {rows}, "1");
  write_model(out, model);
  std::vector<std::string> settings;
  for (const auto& [name, value] : run.settings) settings.insert(settings.end(), {name, value});
  out.strings("/settings", settings, {run.settings.size(), 2});
  out.text("/scene", run.scene_text);
  out.close();
  seal_file(target.temporary());
  target.commit();
}

LoadedRun read_run(const fs::path& file) {
  const hdf5::Reader in(file);
  const int format = in.integer_attribute("/", "format_version");
  if (format != kFormatVersion)
    in.fail("/", fmt::format("format_version is {}, this scree reads {}", format, kFormatVersion));
  Model model = read_model(in, file);
  Run run = read_table(in, model);
  return {std::move(model), std::move(run)};
}

}  // namespace scree
