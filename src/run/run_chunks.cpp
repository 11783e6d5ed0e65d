#include "run/run_chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "run/run_blocks.h"
#include "run/run_contacts.h"
#include "run/state_blocks.h"
#include "scree/error.h"

namespace scree {
namespace {

template <class Value> void copy_from(const std::vector<Value>& column, std::uint64_t first, std::vector<Value>& part) {
  if (first < column.size()) part.assign(column.begin() + static_cast<std::ptrdiff_t>(first), column.end());
}
template <class Value> void move_to(std::vector<Value>& column, const std::vector<Value>& part) {
  column.insert(column.end(), part.begin(), part.end());
}

std::vector<std::vector<double> Run::*> number_columns() {
  return {&Run::time,       &Run::kinetic_energy, &Run::potential_energy, &Run::residual,
          &Run::optimality, &Run::penetration,    &Run::energy_gain};
}
std::vector<std::vector<int> Run::*> integer_columns() {
  return {&Run::iterations, &Run::substeps, &Run::rejected, &Run::outer};
}

constexpr const char* kCounts = "/cursor/counts";

std::vector<double> counts_of(const RunCursor& cursor) {
  return {static_cast<double>(cursor.iterations), static_cast<double>(cursor.substeps),
          static_cast<double>(cursor.rejected), static_cast<double>(cursor.outer)};
}

}  // namespace

Run rows_from(const Run& run, size_t first, size_t first_state) {
  Run part;
  part.colliders = run.colliders;
  for (const auto column : number_columns()) copy_from(run.*column, first, part.*column);
  for (const auto column : integer_columns()) copy_from(run.*column, first, part.*column);
  part.q = run.q.rows_from(first);
  part.v = run.v.rows_from(first);
  if (has_contact(run)) {
    const std::uint64_t contacts = run.first_contact[first];
    copy_from(run.contacts, contacts, part.contacts);
    copy_from(run.first_contact, first, part.first_contact);
    for (std::uint64_t& index : part.first_contact) index -= contacts;
  }
  const auto event = std::lower_bound(run.event_row.begin(), run.event_row.end(), first) - run.event_row.begin();
  copy_from(run.events, static_cast<std::uint64_t>(event), part.events);
  copy_from(run.event_row, static_cast<std::uint64_t>(event), part.event_row);
  for (std::uint64_t& row : part.event_row) row -= first;
  copy_from(run.states, first_state, part.states);
  return part;
}

void append_rows(Run part, Run& run) {
  const std::uint64_t rows = run.rows(), contacts = run.contacts.size();
  for (const auto column : number_columns()) move_to(run.*column, part.*column);
  for (const auto column : integer_columns()) move_to(run.*column, part.*column);
  run.q.append(part.q);
  run.v.append(part.v);
  move_to(run.contacts, part.contacts);
  for (size_t k = 1; k < part.first_contact.size(); ++k) run.first_contact.push_back(contacts + part.first_contact[k]);
  move_to(run.events, part.events);
  for (const std::uint64_t row : part.event_row) run.event_row.push_back(rows + row);
  move_to(run.states, part.states);
}

void write_run_chunk(const ChunkFolder& folder, size_t k, const ChunkFolder::Settings& settings, const Model& model,
                     const Run& part, const RunCursor& cursor) {
  folder.write(k, [&](hdf5::Writer& out) {
    out.pairs("/settings", settings);
    out.attribute("/", "chunk", static_cast<int>(k));
    out.attribute("/", "wall_time", cursor.wall_time);
    write_rows(out, model, part);
    write_totals(out, cursor.totals);
    write_states(out, "/states", model, part.states);
    write_states(out, "/cursor", model, {cursor.end});
    out.numbers(kCounts, counts_of(cursor), {4}, "1");
  });
}

size_t read_run_chunks(const ChunkFolder& folder, const ChunkFolder::Settings& settings, const Model& model, Run& run,
                       RunCursor& cursor) {
  size_t count = 0;
  folder.read(settings, [&](const std::filesystem::path& file, const hdf5::Reader& in) {
    if (folder.chunk(count) != file) return;  // the one before it is damaged: it is run again
    if (in.integer_attribute("/", "chunk") != static_cast<int>(count)) in.fail("/", "has the name of another chunk");
    Run part;
    part.colliders = run.colliders;
    read_rows(in, model, part);
    if (run.rows() > 0 && !(part.time.front() > run.time.back()))
      in.fail("/time", "is not later than the chunk before");
    part.states = read_states(in, "/states", model);
    append_rows(std::move(part), run);
    const std::vector<SavedState> end = read_states(in, "/cursor", model);
    const std::vector<double> counts = in.numbers(kCounts, {4});
    for (const double value : counts)
      if (!(value >= 0 && value <= 2147483647.0)) in.fail(kCounts, fmt::format("holds {}, expected >= 0", value));
    if (end.size() != 1) in.fail("/cursor", "expected one state");
    cursor.end = end[0];
    cursor.iterations = static_cast<int>(counts[0]);
    cursor.substeps = static_cast<int>(counts[1]);
    cursor.rejected = static_cast<int>(counts[2]);
    cursor.outer = static_cast<int>(counts[3]);
    cursor.totals = read_totals(in);
    cursor.wall_time = in.number_attribute("/", "wall_time");
    ++count;
  });
  return count;
}

}  // namespace scree
