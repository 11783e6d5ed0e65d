// The datasets of batch files and of their chunks, which have the same ones for fewer trajectories.
#pragma once

#include "run/hdf5.h"
#include "scree/batch_file.h"

namespace scree {

struct BatchShape {
  size_t nq = 0, nv = 0, rows = 0;
  std::vector<std::string> parameters;  // names, in the order of batch_parameters()
};

struct BatchColumn {
  std::string path, units;
  hdf5::Type type;
  hdf5::Extents row;  // extents of one trajectory; empty: one number
  void* (*data)(BatchTable&, const std::string& name);
  std::string name;  // of a parameter
};
std::vector<BatchColumn> batch_columns(const BatchShape& shape);
inline constexpr const char* kFailurePath = "/failure";

void resize(BatchTable& table, const BatchShape& shape, size_t count);
hdf5::Extents with_rows(size_t count, const hdf5::Extents& row);  // {count, row...}

// What a file says besides its trajectories.
struct BatchHeader {
  std::string title, scene_text;
  std::vector<std::pair<std::string, std::string>> settings;  // what must agree for a run to be resumed
  std::vector<double> time;
  std::vector<std::string> q_names, v_names;
  size_t first = 0, count = 0;
};
// With the model, or the names of its coordinates alone.
void write_batch_header(hdf5::Writer& out, const BatchHeader& header, const Model* model);
BatchHeader read_batch_header(const hdf5::Reader& in);
BatchShape read_batch_shape(const hdf5::Reader& in, const BatchHeader& header);

// Creates every column for `count` trajectories; failures have at most `failure_length` bytes.
void create_columns(hdf5::Writer& out, const BatchShape& shape, size_t count, size_t failure_length);
void put_table(hdf5::Writer& out, const BatchShape& shape, size_t at, BatchTable& table);
BatchTable get_table(const hdf5::Reader& in, const BatchShape& shape, const BatchHeader& header, size_t first,
                     size_t count);

}  // namespace scree
