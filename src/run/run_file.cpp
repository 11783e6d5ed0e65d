#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "base/atomic_file.h"
#include "model/coordinate_names.h"
#include "run/build_info.h"
#include "run/event_file.h"
#include "run/hdf5.h"
#include "run/run_blocks.h"
#include "run/run_contacts.h"
#include "run/seal.h"
#include "run/state_blocks.h"
#include "scree/error.h"
#include "scree/run.h"

namespace scree {
namespace {

namespace fs = std::filesystem;
using MeshPointer = std::shared_ptr<const TriangleMesh>;

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

// What a run with an environment has in addition.
constexpr const char* kOuterPath = "/report/outer";
constexpr NumberColumn kContactColumns[] = {
    {"/report/optimality", "J", &Run::optimality},
    {"/report/penetration", "m", &Run::penetration},
    {"/report/energy_gain", "J", &Run::energy_gain},
};
struct ContactVector {
  const char* path;
  const char* units;
  Vec3 Contact::*data;
};
constexpr ContactVector kContactVectors[] = {
    {"/contacts/position", "m", &Contact::position},
    {"/contacts/normal", "1", &Contact::normal},
    {"/contacts/force", "N", &Contact::force},
    {"/contacts/moment", "N m", &Contact::moment},
};

// Attributes of /report: whole numbers, exact up to 2^53.
constexpr std::pair<const char*, long long RunTotals::*> kTotals[] = {{"steps", &RunTotals::steps},
                                                                      {"rejected", &RunTotals::rejected},
                                                                      {"inaccurate", &RunTotals::inaccurate},
                                                                      {"stages", &RunTotals::stages}};

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
    if (known != mesh->data && (known->vertices != mesh->data->vertices || known->triangles != mesh->data->triangles ||
                                known->colours != mesh->data->colours))
      throw InputError(fmt::format("model {}: two different meshes share the uri \"{}\"", model.name(), mesh->uri));
  }
  return meshes;
}

// Each colour once, and which of them every triangle has. A mesh without colours has neither.
void write_mesh_colours(hdf5::Writer& out, const std::string& group, const TriangleMesh& mesh) {
  if (mesh.colours.empty()) return;
  std::map<std::array<float, 4>, int> index_of;
  std::vector<double> rgba;
  std::vector<int> index;
  for (const auto& colour : mesh.colours) {
    const auto [it, is_new] = index_of.try_emplace(colour, static_cast<int>(index_of.size()));
    if (is_new) rgba.insert(rgba.end(), colour.begin(), colour.end());
    index.push_back(it->second);
  }
  out.numbers(group + "/colours", rgba, {index_of.size(), 4}, "red, green, blue, opacity in [0, 1]");
  out.integers(group + "/colour_of_triangle", index, {index.size()}, "1");
}

}  // namespace

void write_model(hdf5::Writer& out, const Model& model) {
  out.group("/model");
  out.text("/model/urdf", format_urdf(model));
  out.strings("/model/joint_names", joint_names(model), {model.joints().size()});
  out.strings("/model/q_names", position_names(model), {static_cast<std::uint64_t>(model.nq())});
  out.strings("/model/v_names", velocity_names(model), {static_cast<std::uint64_t>(model.nv())});
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
    write_mesh_colours(out, group, *mesh);
  }
}

namespace {

using RowMajor3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;

void append(std::vector<double>& to, const auto& values) {
  to.insert(to.end(), values.data(), values.data() + values.size());
}

void write_field(hdf5::Writer& out, const std::string& group, const HeightField& field) {
  const Eigen::MatrixXd rows = field.heights().transpose();  // Eigen stores columns
  std::vector<double> heights, origin;
  append(heights, rows);
  append(origin, field.origin());
  out.group(group);
  out.numbers(group + "/heights", heights,
              {static_cast<std::uint64_t>(rows.cols()), static_cast<std::uint64_t>(rows.rows())}, "m");
  out.numbers(group + "/origin", origin, {2}, "m");
  out.numbers(group + "/spacing", {field.spacing()}, {1}, "m");
}

}  // namespace

void write_colliders(hdf5::Writer& out, const std::vector<Collider>& colliders) {
  std::vector<std::string> names, shapes;
  std::vector<int> bodies;
  std::vector<double> positions, rotations, sizes;
  out.group("/colliders");
  for (size_t k = 0; k < colliders.size(); ++k) {
    const Collider& collider = colliders[k];
    names.push_back(collider.name);
    shapes.push_back(geometry_name(collider.shape));
    bodies.push_back(collider.body.value());
    append(positions, collider.X_BS.p);
    append(rotations, RowMajor3(collider.X_BS.R));
    Vec3 size = Vec3::Zero();
    if (const auto* sphere = std::get_if<Sphere>(&collider.shape)) size.x() = sphere->radius;
    if (const auto* box = std::get_if<Box>(&collider.shape)) size = box->size;
    append(sizes, size);
    if (const auto* field = std::get_if<std::shared_ptr<const HeightField>>(&collider.shape))
      write_field(out, fmt::format("/colliders/field{}", k), **field);
  }
  const std::uint64_t count = colliders.size();
  out.strings("/colliders/name", names, {count});
  out.strings("/colliders/shape", shapes, {count});
  out.integers("/colliders/body", bodies, {count}, "1");
  out.numbers("/colliders/position", positions, {count, 3}, "m");
  out.numbers("/colliders/rotation", rotations, {count, 3, 3}, "1");
  out.numbers("/colliders/size", sizes, {count, 3}, "m");
}

namespace {

void write_contacts(hdf5::Writer& out, const Run& run) {
  const std::uint64_t rows = run.rows(), count = run.contacts.size();
  out.integers(kOuterPath, run.outer, {rows}, "1");
  for (const NumberColumn& column : kContactColumns) out.numbers(column.path, run.*column.data, {rows}, column.units);
  std::vector<int> first, a, b;
  std::vector<double> depth;
  for (const std::uint64_t index : run.first_contact) first.push_back(static_cast<int>(index));
  for (const Contact& contact : run.contacts) {
    a.push_back(contact.a);
    b.push_back(contact.b);
    depth.push_back(contact.depth);
  }
  out.group("/contacts");
  out.integers("/contacts/first", first, {rows + 1}, "1");
  out.integers("/contacts/a", a, {count}, "1");
  out.integers("/contacts/b", b, {count}, "1");
  out.numbers("/contacts/depth", depth, {count}, "m");
  for (const ContactVector& column : kContactVectors) {
    std::vector<double> values;
    for (const Contact& contact : run.contacts)
      values.insert(values.end(), (contact.*column.data).begin(), (contact.*column.data).end());
    out.numbers(column.path, values, {count, 3}, column.units);
  }
}

void check_lengths(const Model& model, const Run& run) {
  const auto check_shape = [&](const char* name, const Table& table, int columns) {
    if (!table.has_shape(run.rows(), static_cast<size_t>(columns)))
      throw InputError(fmt::format("run: {} is {} x {}, expected {} x {}", name, table.rows(), table.columns(),
                                   run.rows(), columns));
  };
  const auto check = [&](const char* name, size_t found) {
    if (found != run.rows())
      throw InputError(fmt::format("run: {} has {} entries, expected {}", name, found, run.rows()));
  };
  if (run.rows() == 0) throw InputError("run: has no rows, expected at least the initial state");
  check_shape("q", run.q, model.nq());
  check_shape("v", run.v, model.nv());
  for (const NumberColumn& column : kNumberColumns) check(column.path, (run.*column.data).size());
  for (const IntegerColumn& column : kIntegerColumns) check(column.path, (run.*column.data).size());
  if (const auto problem = find_contact_problem(run))
    throw InputError(fmt::format("run: {}: {}", problem->path, problem->what));
  if (const auto problem = find_event_problem(run, model.nv()))
    throw InputError(fmt::format("run: {}: {}", problem->path, problem->what));
}

// --- reading -------------------------------------------------------------------------------------------------------

// Optional: files before 0.1 was released have none.
void read_mesh_colours(const hdf5::Reader& in, const std::string& group, TriangleMesh& mesh) {
  const std::vector<std::string> children = in.children(group);
  if (std::ranges::find(children, "colours") == children.end()) return;
  const std::string colour_path = group + "/colours", index_path = group + "/colour_of_triangle";
  const hdf5::Extents extents = in.extents(colour_path);
  const std::vector<double> rgba = in.numbers(colour_path, {extents.empty() ? 0 : extents[0], 4});
  for (size_t i = 0; i < rgba.size(); ++i)
    if (!(rgba[i] >= 0 && rgba[i] <= 1))
      in.fail(colour_path, fmt::format("row {} holds {}, expected numbers in [0, 1]", i / 4, rgba[i]));
  for (const int index : in.integers(index_path, {mesh.triangles.size()})) {
    const size_t at = 4 * static_cast<size_t>(index);
    if (index < 0 || at >= rgba.size())
      in.fail(index_path,
              fmt::format("names colour {}, expected 0 to {}", index, static_cast<long>(rgba.size() / 4) - 1));
    std::array<float, 4> colour;
    for (size_t k = 0; k < 4; ++k) colour[k] = static_cast<float>(rgba[at + k]);
    mesh.colours.push_back(colour);
  }
}

MeshPointer read_mesh(const hdf5::Reader& in, const std::string& group) {
  const std::string vertex_path = group + "/vertices", triangle_path = group + "/triangles";
  const auto rows = [&](const std::string& path) -> std::uint64_t {
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
  read_mesh_colours(in, group, *mesh);
  return mesh;
}

}  // namespace

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
  options.strict = true;  // what was repaired is written as repaired
  Model model = parse_urdf(in.text("/model/urdf"), fs::path(file.string() + ":/model/urdf"), options);
  const hdf5::Extents joints = {model.joints().size()}, q = {static_cast<std::uint64_t>(model.nq())},
                      v = {static_cast<std::uint64_t>(model.nv())};
  if (in.strings("/model/joint_names", joints) != joint_names(model))
    in.fail("/model/joint_names", "differs from the joints of /model/urdf");
  if (in.strings("/model/q_names", q) != position_names(model))
    in.fail("/model/q_names", "differs from the positions of /model/urdf");
  if (in.strings("/model/v_names", v) != velocity_names(model))
    in.fail("/model/v_names", "differs from the velocities of /model/urdf");
  return model;
}

namespace {

void check_finite(const hdf5::Reader& in, const char* path, const std::vector<double>& values, size_t columns) {
  for (size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      in.fail(path, fmt::format("row {} holds {}, expected finite numbers", i / columns, values[i]));
}

void check_quaternions(const hdf5::Reader& in, const Model& model, const Run& run) {
  for (const Joint& joint : model.joints()) {
    if (joint.type != JointType::ball && joint.type != JointType::floating) continue;
    const int first = joint.q_index + (joint.type == JointType::floating ? 3 : 0);
    for (size_t row = 0; row < run.rows(); ++row) {
      const double norm = run.q.row(row).segment<4>(first).norm();
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

void read_table(const hdf5::Reader& in, const Model& model, Run& run) {
  const hdf5::Extents extents = in.extents("/time");
  if (extents.size() != 1 || extents[0] == 0) in.fail("/time", "expected one column with at least one row");
  const std::uint64_t rows = extents[0], nq = static_cast<std::uint64_t>(model.nq()),
                      nv = static_cast<std::uint64_t>(model.nv());
  run.time = in.numbers("/time", {rows});
  check_finite(in, "/time", run.time, 1);
  for (size_t row = 1; row < rows; ++row)
    if (!(run.time[row] > run.time[row - 1]))
      in.fail("/time", fmt::format("row {} is not later than the one before", row));
  run.q = Table(rows, nq, in.numbers("/q", {rows, nq}));
  run.v = Table(rows, nv, in.numbers("/v", {rows, nv}));
  check_finite(in, "/q", run.q.numbers(), nq);
  check_finite(in, "/v", run.v.numbers(), nv);
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
}

Run read_header(const hdf5::Reader& in) {
  Run run;
  run.title = in.string_attribute("/", "title");
  run.status = read_status(in);
  run.wall_time = in.number_attribute("/", "wall_time");
  if (!(run.wall_time >= 0 && std::isfinite(run.wall_time)))
    in.fail("/", fmt::format("wall_time is {} s, expected >= 0", run.wall_time));
  run.final_state_hash = read_hash(in);
  run.scene_text = in.text("/scene");

  run.settings = in.pairs("/settings");
  return run;
}

std::shared_ptr<const HeightField> read_field(const hdf5::Reader& in, const std::string& group) {
  const hdf5::Extents extents = in.extents(group + "/heights");
  if (extents.size() != 2) in.fail(group + "/heights", "expected two dimensions");
  const std::vector<double> rows = in.numbers(group + "/heights", extents);
  const Eigen::MatrixXd heights =
      Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
          rows.data(), static_cast<Eigen::Index>(extents[0]), static_cast<Eigen::Index>(extents[1]));
  const std::vector<double> origin = in.numbers(group + "/origin", {2});
  return std::make_shared<const HeightField>(heights, Eigen::Vector2d(origin.data()),
                                             in.numbers(group + "/spacing", {1})[0]);
}

}  // namespace

std::vector<Collider> read_colliders(const hdf5::Reader& in, const Model& model) {
  const std::uint64_t count = in.length("/colliders/body");
  if (count == 0) in.fail("/colliders", "is empty, expected those of bodies and of the ground");
  const std::vector<std::string> names = in.strings("/colliders/name", {count}),
                                 shapes = in.strings("/colliders/shape", {count});
  const std::vector<int> bodies = in.integers("/colliders/body", {count});
  const std::vector<double> positions = in.numbers("/colliders/position", {count, 3}),
                            rotations = in.numbers("/colliders/rotation", {count, 3, 3}),
                            sizes = in.numbers("/colliders/size", {count, 3});
  std::vector<Collider> colliders;
  for (size_t k = 0; k < count; ++k) {
    Collider collider{names[k],
                      BodyIndex(bodies[k]),
                      {Eigen::Map<const RowMajor3>(&rotations[9 * k]), Vec3(&positions[3 * k])},
                      Plane{}};
    try {
      if (bodies[k] < kWorld.value() || bodies[k] >= static_cast<int>(model.bodies().size()))
        throw InputError(fmt::format("body is {}, expected -1 to {}", bodies[k], model.bodies().size() - 1));
      const Vec3 size(&sizes[3 * k]);
      if (shapes[k] == geometry_name(Sphere{})) {
        collider.shape = Sphere{size.x()};
      } else if (shapes[k] == geometry_name(Box{})) {
        collider.shape = Box{size};
      } else if (shapes[k] == geometry_name(std::shared_ptr<const HeightField>())) {
        collider.shape = read_field(in, fmt::format("/colliders/field{}", k));
      } else if (shapes[k] != geometry_name(Plane{})) {
        throw InputError(fmt::format("shape is \"{}\", expected sphere, box, plane or height field", shapes[k]));
      }
      check_collider(collider);
    } catch (const InputError& error) {
      const std::string message = error.what();  // of the reader itself, or what is said of a number
      if (message.find("/colliders/") != std::string::npos) throw;
      in.fail("/colliders", fmt::format("row {}: {}", k, message));
    }
    colliders.push_back(std::move(collider));
  }
  return colliders;
}

namespace {

void read_contacts(const hdf5::Reader& in, Run& run) {
  if (!has_contact(run)) return;
  const std::uint64_t rows = run.rows();
  run.outer = in.integers(kOuterPath, {rows});
  for (const NumberColumn& column : kContactColumns) run.*column.data = in.numbers(column.path, {rows});
  for (const int index : in.integers("/contacts/first", {rows + 1})) {
    if (index < 0) in.fail("/contacts/first", fmt::format("holds {}, expected >= 0", index));
    run.first_contact.push_back(static_cast<std::uint64_t>(index));
  }
  const std::uint64_t count = in.length("/contacts/a");
  run.contacts.resize(count);
  const std::vector<int> a = in.integers("/contacts/a", {count}), b = in.integers("/contacts/b", {count});
  const std::vector<double> depth = in.numbers("/contacts/depth", {count});
  for (size_t i = 0; i < count; ++i) {
    run.contacts[i].a = a[i];
    run.contacts[i].b = b[i];
    run.contacts[i].depth = depth[i];
  }
  for (const ContactVector& column : kContactVectors) {
    const std::vector<double> values = in.numbers(column.path, {count, 3});
    for (size_t i = 0; i < count; ++i) run.contacts[i].*column.data = Vec3(&values[3 * i]);
  }
  if (const auto problem = find_contact_problem(run)) in.fail(problem->path, problem->what);
}

}  // namespace

void read_rows(const hdf5::Reader& in, const Model& model, Run& run) {
  read_table(in, model, run);
  read_contacts(in, run);
  read_events(in, model.nv(), run);
}

void write_rows(hdf5::Writer& out, const Model& model, const Run& run) {
  const std::uint64_t rows = run.rows(), nq = static_cast<std::uint64_t>(model.nq()),
                      nv = static_cast<std::uint64_t>(model.nv());
  out.numbers("/time", run.time, {rows}, "s");
  out.numbers("/q", run.q.numbers(), {rows, nq}, "m, rad, unit quaternions (w, x, y, z)");
  out.numbers("/v", run.v.numbers(), {rows, nv}, "m/s, rad/s");
  out.group("/report");
  for (const NumberColumn& column : kNumberColumns) out.numbers(column.path, run.*column.data, {rows}, column.units);
  for (const IntegerColumn& column : kIntegerColumns) out.integers(column.path, run.*column.data, {rows}, "1");
  if (has_contact(run)) write_contacts(out, run);
  write_events(out, run, model.nv());
}

void write_totals(hdf5::Writer& out, const RunTotals& totals) {
  for (const auto& [key, count] : kTotals) out.attribute("/report", key, static_cast<double>(totals.*count));
  out.attribute("/report", "smallest_step", totals.smallest_step);
  out.attribute("/report", "largest_step", totals.largest_step);
  out.attribute("/report", "energy_gain", totals.energy_gain);
}

RunTotals read_totals(const hdf5::Reader& in) {
  RunTotals totals;
  const auto number = [&](const char* key) {
    const double value = in.number_attribute("/report", key);
    if (!(value >= 0 && value <= 9007199254740992.0))
      in.fail("/report", fmt::format("{} is {}, expected >= 0", key, value));
    return value;
  };
  for (const auto& [key, count] : kTotals) totals.*count = static_cast<long long>(number(key));
  totals.smallest_step = number("smallest_step");
  totals.largest_step = number("largest_step");
  totals.energy_gain = in.number_attribute("/report", "energy_gain");
  if (!std::isfinite(totals.energy_gain)) in.fail("/report", "energy_gain is not finite");
  return totals;
}

void write_run(const fs::path& file, const Model& model, const Run& run) {
  check_lengths(model, run);
  AtomicFile target(file);
  hdf5::Writer out(target.temporary(), file.string());
  out.attribute("/", "format_version", kRunFormat);
  out.attribute("/", "scree_version", version());
  out.attribute("/", "title", run.title);
  out.attribute("/", "status", run_status_name(run.status));
  out.attribute("/", "wall_time", run.wall_time);
  out.attribute("/", "final_state_hash", fmt::format("{:016x}", run.final_state_hash));

  write_rows(out, model, run);
  if (has_contact(run)) write_colliders(out, run.colliders);
  write_totals(out, run.totals);
  write_states(out, "/states", model, run.states);
  out.pairs("/identity", run.identity);
  write_model(out, model);
  out.pairs("/settings", run.settings);
  out.text("/scene", run.scene_text);
  out.close();
  seal_file(target.temporary());
  target.commit();
}

LoadedRun read_run(const fs::path& file) {
  const hdf5::Reader in(file);
  if (in.has_attribute("/", "batch_version"))
    in.fail("/", "is a batch of trajectories (scree sim --batch), expected the run file of a single one");
  if (in.has_attribute("/", "fan_version"))
    in.fail("/", "is a fan of branches (scree sim --branches), expected the run file of a single one");
  const int format = in.integer_attribute("/", "format_version");
  if (format != kRunFormat)
    in.fail("/", fmt::format("format_version is {}, this scree reads {}: run its /scene again", format, kRunFormat));
  Model model = read_model(in, file);
  Run run = read_header(in);
  if (in.has("/colliders") || in.has("/contacts")) run.colliders = read_colliders(in, model);
  read_rows(in, model, run);
  run.totals = read_totals(in);
  run.states = read_states(in, "/states", model);
  run.identity = in.pairs("/identity");
  return {std::move(model), std::move(run)};
}

}  // namespace scree
