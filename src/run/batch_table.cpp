#include "run/batch_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "run/build_info.h"
#include "run/run_blocks.h"
#include "scene/batch_scene.h"
#include "scree/error.h"

namespace scree {
namespace {

constexpr int kBatchVersion = 2;  // 1: without /colliders

void* first_number(TableStack& stack) { return stack.data(0); }
template <class Column> void* first_number(Column& column) { return column.data(); }
template <auto Member> void* column_data(BatchTable& table, const std::string&) { return first_number(table.*Member); }
void* parameter_data(BatchTable& table, const std::string& name) { return table.parameters.at(name).data(); }

const char* parameter_units(const std::string& name) {
  for (const BatchParameter& parameter : batch_parameters())
    if (name == parameter.name) return parameter.units;
  return "1";
}

}  // namespace

std::vector<BatchColumn> batch_columns(const BatchShape& shape) {
  const char* const q_units = "m, rad, unit quaternions (w, x, y, z)";
  const char* const v_units = "m/s, rad/s";
  const hdf5::Type number = hdf5::Type::float64, integer = hdf5::Type::int64;
  using T = BatchTable;
  std::vector<BatchColumn> columns = {
      {"/status", "1", hdf5::Type::uint8, {}, column_data<&T::status>, {}},
      {"/q", q_units, number, {shape.rows, shape.nq}, column_data<&T::q>, {}},
      {"/v", v_units, number, {shape.rows, shape.nv}, column_data<&T::v>, {}},
      {"/initial/q", q_units, number, {shape.nq}, column_data<&T::initial_q>, {}},
      {"/initial/v", v_units, number, {shape.nv}, column_data<&T::initial_v>, {}},
      {"/final/q", q_units, number, {shape.nq}, column_data<&T::final_q>, {}},
      {"/final/v", v_units, number, {shape.nv}, column_data<&T::final_v>, {}},
      {"/end_time", "s", number, {}, column_data<&T::end_time>, {}},
      {"/residual", "m/s^2, rad/s^2", number, {}, column_data<&T::residual>, {}},
      {"/penetration", "m", number, {}, column_data<&T::penetration>, {}},
      {"/steps", "1", integer, {}, column_data<&T::steps>, {}},
      {"/substeps", "1", integer, {}, column_data<&T::substeps>, {}},
      {"/rejected", "1", integer, {}, column_data<&T::rejected>, {}},
      {"/iterations", "1", integer, {}, column_data<&T::iterations>, {}},
      {"/damped", "1", integer, {}, column_data<&T::damped>, {}},
      {"/stationary", "1", integer, {}, column_data<&T::stationary>, {}},
      {"/final_state_hash", "1", hdf5::Type::uint64, {}, column_data<&T::final_state_hash>, {}},
  };
  for (const std::string& name : shape.parameters)
    columns.push_back({"/parameters/" + name, parameter_units(name), number, {}, parameter_data, name});
  return columns;
}

hdf5::Extents with_rows(size_t count, const hdf5::Extents& row) {
  hdf5::Extents extents = {count};
  extents.insert(extents.end(), row.begin(), row.end());
  return extents;
}

void resize(BatchTable& table, const BatchShape& shape, size_t count) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  table.status.assign(count, TrajectoryStatus::invalid);
  table.failure.assign(count, {});
  table.q = TableStack(count, shape.rows, shape.nq, nan);
  table.v = TableStack(count, shape.rows, shape.nv, nan);
  table.initial_q = table.final_q = Table(count, shape.nq, nan);
  table.initial_v = table.final_v = Table(count, shape.nv, nan);
  for (auto* column : {&table.end_time, &table.residual, &table.penetration}) column->assign(count, 0);
  for (auto* column :
       {&table.steps, &table.substeps, &table.rejected, &table.iterations, &table.damped, &table.stationary})
    column->assign(count, 0);
  table.final_state_hash.assign(count, 0);
  table.parameters.clear();
  for (const std::string& name : shape.parameters) table.parameters[name].assign(count, 0);
}

// --- writing -------------------------------------------------------------------------------------------------------

void write_batch_header(hdf5::Writer& out, const BatchHeader& header, const Model* model) {
  out.attribute("/", "batch_version", kBatchVersion);
  out.attribute("/", "scree_version", version());
  out.attribute("/", "title", header.title);
  out.attribute("/", "first", static_cast<int>(header.first));
  out.attribute("/", "trajectories", static_cast<int>(header.count));
  out.numbers("/time", header.time, {header.time.size()}, "s");
  if (model) {
    write_model(out, *model);
  } else {
    out.group("/model");
    out.strings("/model/q_names", header.q_names, {header.q_names.size()});
    out.strings("/model/v_names", header.v_names, {header.v_names.size()});
  }
  out.pairs("/settings", header.settings);
  out.text("/scene", header.scene_text);
}

void create_columns(hdf5::Writer& out, const BatchShape& shape, size_t count, size_t failure_length) {
  for (const char* group : {"/initial", "/final", "/parameters"}) out.group(group);
  for (const BatchColumn& column : batch_columns(shape))
    out.create(column.path, column.type, with_rows(count, column.row), column.units);
  out.create_strings(kFailurePath, failure_length, {count});
  std::string values;
  for (const TrajectoryStatus status :
       {TrajectoryStatus::complete, TrajectoryStatus::step_failed, TrajectoryStatus::invalid})
    values +=
        fmt::format("{}{} {}", values.empty() ? "" : ", ", static_cast<int>(status), trajectory_status_name(status));
  out.attribute("/status", "values", values);
}

void put_table(hdf5::Writer& out, const BatchShape& shape, size_t at, BatchTable& table) {
  for (const BatchColumn& column : batch_columns(shape))
    out.put(column.path, at, table.size(), column.data(table, column.name));
  out.put_strings(kFailurePath, at, table.failure);
}

// --- reading -------------------------------------------------------------------------------------------------------

BatchHeader read_batch_header(const hdf5::Reader& in) {
  if (!in.has_attribute("/", "batch_version")) in.fail("/", "is not a batch file, expected one of scree sim --batch");
  const int found = in.integer_attribute("/", "batch_version");
  if (found != kBatchVersion)
    in.fail("/", fmt::format("batch_version is {}, this scree reads {}", found, kBatchVersion));
  BatchHeader header;
  header.title = in.string_attribute("/", "title");
  const auto count = [&](const char* key) {
    const int value = in.integer_attribute("/", key);
    if (value < 0) in.fail("/", fmt::format("{} is {}, expected >= 0", key, value));
    return static_cast<size_t>(value);
  };
  header.first = count("first");
  header.count = count("trajectories");
  header.time = in.numbers("/time", {in.length("/time")});
  header.q_names = in.strings("/model/q_names", {in.length("/model/q_names")});
  header.v_names = in.strings("/model/v_names", {in.length("/model/v_names")});
  header.settings = in.pairs("/settings");
  header.scene_text = in.text("/scene");
  return header;
}

BatchShape read_batch_shape(const hdf5::Reader& in, const BatchHeader& header) {
  BatchShape shape{header.q_names.size(), header.v_names.size(), header.time.size(), {}};
  const std::vector<std::string> found = in.children("/parameters");
  for (const BatchParameter& parameter : batch_parameters())
    if (std::find(found.begin(), found.end(), parameter.name) != found.end())
      shape.parameters.emplace_back(parameter.name);
  if (shape.parameters.size() != found.size()) in.fail("/parameters", "holds what no batch of this version has");
  return shape;
}

BatchTable get_table(const hdf5::Reader& in, const BatchShape& shape, const BatchHeader& header, size_t first,
                     size_t count) {
  BatchTable table;
  resize(table, shape, count);
  table.first = header.first + first;
  for (const BatchColumn& column : batch_columns(shape))
    in.get(column.path, column.type, with_rows(header.count, column.row), first, count,
           column.data(table, column.name));
  table.failure = in.strings(kFailurePath, {header.count}, first, count);
  for (size_t i = 0; i < count; ++i)
    if (table.status[i] > TrajectoryStatus::invalid)
      in.fail("/status", fmt::format("trajectory {} has {}, expected 0, 1 or 2", table.first + i,
                                     static_cast<int>(table.status[i])));
  return table;
}

}  // namespace scree
