#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/atomic_file.h"
#include "model/coordinate_names.h"
#include "run/batch_table.h"
#include "run/chunk_folder.h"
#include "run/identity.h"
#include "run/run_blocks.h"
#include "run/seal.h"
#include "scene/batch_scene.h"
#include "scree/batch_file.h"
#include "scree/error.h"
#include "scree/write_error.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

constexpr size_t kChunk = 256;            // trajectories
constexpr double kChunkBytes = 64 << 20;  // of rows, at most, unless the user says how many trajectories
constexpr size_t kExamples = 5;           // of failures of each kind

BatchOptions batch_options(const Scene& scene, const BatchRunOptions& options) {
  if (scene.output > 0)
    throw InputError("batch: the scene's step follows from its accuracy, expected steps of dt (step.dt or --dt)");
  BatchOptions batch;
  batch.step = scene.options;
  batch.duration = scene.duration;
  batch.rows_every = options.rows_every;
  batch.max_penetration = scene.batch.max_penetration;
  batch.lanes = options.lanes;
  batch.threads = options.threads;
  batch.validate();
  return batch;
}

size_t trajectory_count(const Scene& scene, const BatchRunOptions& options) {
  const size_t count =
      options.trajectories > 0 ? options.trajectories : static_cast<size_t>(std::max(0, scene.batch.trajectories));
  if (count == 0) throw InputError("batch: no number of trajectories, expected one (batch.trajectories or --batch N)");
  if (count > kMostTrajectories)
    throw InputError(fmt::format("batch: trajectories is {}, expected at most {}", count, kMostTrajectories));
  return count;
}

size_t chunk_size(const BatchRunOptions& options, const BatchShape& shape) {
  if (options.chunk < 0) throw InputError(fmt::format("batch: chunk is {}, expected an integer >= 0", options.chunk));
  if (options.chunk > 0) return static_cast<size_t>(options.chunk);
  const double bytes = 8.0 * static_cast<double>(shape.rows * (shape.nq + shape.nv));
  return std::clamp(static_cast<size_t>(kChunkBytes / bytes), size_t{1}, kChunk);
}

class BatchRun {
 public:
  BatchRun(const Scene& scene, const BatchRunOptions& options, const fs::path& file, const BatchProgress& progress)
      : scene_(scene),
        options_(options),
        progress_(progress),
        batch_(scene.model, scene.world, batch_options(scene, options)),
        target_(output_target(file)) {  // links are followed: chunks and batch on one file system
    summary_.trajectories = trajectory_count(scene, options);
    summary_.seed = options.seed.value_or(scene.batch.seed);
    summary_.lanes = batch_lanes(batch_.options());
    summary_.threads = batch_threads(batch_.options());
    header_.title = scene.title;
    header_.scene_text = scene.text;
    header_.time = batch_.times();
    header_.q_names = position_names(scene.model);
    header_.v_names = velocity_names(scene.model);
    shape_ = {static_cast<size_t>(scene.model.nq()), static_cast<size_t>(scene.model.nv()), header_.time.size(), {}};
    for (const BatchParameter& parameter : batch_parameters())
      if (scene.batch.*parameter.range) shape_.parameters.emplace_back(parameter.name);
    summary_.chunk = chunk_size(options, shape_);
    summary_.chunks = (summary_.trajectories - 1) / summary_.chunk + 1;
    header_.settings = batch_settings(scene, batch_.options(), summary_.trajectories, summary_.seed, summary_.chunk);
    summary_.folder = target_.string() + ".chunks";
  }

  BatchSummary run() {
    check_writable(target_);
    if (options_.resume && already_done()) return summary_;
    ChunkFolder folder(target_, "batch", options_.resume);
    folder_ = &folder;
    find_chunks();
    if (progress_ && !progress_(done_, summary_.trajectories)) return summary_;
    const auto start = std::chrono::steady_clock::now();
    const bool ended = run_missing();
    summary_.wall_time = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!ended) return summary_;
    folder.guard([&] { join(); });
    folder.remove();
    summary_.finished = true;
    return summary_;
  }

 private:
  struct Buffer {
    BatchTable table;
    size_t missing;
  };

  size_t first_of(size_t k) const { return k * summary_.chunk; }
  size_t count_of(size_t k) const { return std::min(summary_.chunk, summary_.trajectories - first_of(k)); }

  // Whether a call before this one ended, at least up to removing the chunks.
  bool already_done() {
    std::error_code error;
    if (!fs::exists(target_, error)) return false;
    try {
      const hdf5::Reader in(target_);
      const BatchHeader header = read_batch_header(in);
      if (header.settings != header_.settings || header.count != summary_.trajectories) return false;
      const BatchShape shape = read_batch_shape(in, header);
      for (size_t k = 0; k < summary_.chunks; ++k)
        add_to_summary(get_table(in, shape, header, first_of(k), count_of(k)));
    } catch (const InputError&) {
      return false;  // something else, or damaged: it is written anew
    }
    summary_.resumed = summary_.chunks;
    summary_.finished = true;
    if (fs::exists(summary_.folder, error)) ChunkFolder(target_, "batch", true).remove();
    return true;
  }

  void find_chunks() {
    present_.assign(summary_.chunks, false);
    summary_.damaged = folder_->read(header_.settings, [&](const fs::path& file, const hdf5::Reader& in) {
      const BatchHeader header = read_batch_header(in);
      const size_t k = header.first / summary_.chunk;
      if (header.first % summary_.chunk != 0 || k >= summary_.chunks || header.count != count_of(k) ||
          folder_->chunk(k) != file)
        throw InputError(fmt::format("{}: holds trajectories {} to {}, expected another name", file.string(),
                                     header.first, header.first + header.count - 1));
      present_[k] = true;
      ++summary_.resumed;
      done_ += header.count;
      failure_length_ = std::max(failure_length_, in.string_length(kFailurePath));
    });
  }

  // Neighbouring chunks in one go, so that no lane waits for the end of a chunk.
  bool run_missing() {
    for (size_t k = 0; k < summary_.chunks;) {
      if (present_[k]) {
        ++k;
        continue;
      }
      size_t end = k;
      while (end < summary_.chunks && !present_[end]) ++end;
      const size_t last = std::min(first_of(end), summary_.trajectories);
      const bool ended = batch_.run(
          first_of(k), last,
          [&](size_t index, Trajectory& trajectory) { make_trajectory(scene_, summary_.seed, index, trajectory); },
          [&](size_t index, TrajectoryResult& result) { return take(index, result); }, options_.stop);
      if (!ended) return false;
      k = end;
    }
    return true;
  }

  bool take(size_t index, TrajectoryResult& result) {
    const size_t k = index / summary_.chunk;
    auto found = buffers_.find(k);
    if (found == buffers_.end()) {
      found = buffers_.emplace(k, Buffer{{}, count_of(k)}).first;
      resize(found->second.table, shape_, count_of(k));
      found->second.table.first = first_of(k);
    }
    Buffer& buffer = found->second;
    store(index, result, buffer.table);
    summary_.simulated += result.end_time;
    if (--buffer.missing == 0) {
      write_chunk(k, buffer.table);
      buffers_.erase(found);
    }
    ++done_;
    return !progress_ || progress_(done_, summary_.trajectories) || done_ == summary_.trajectories;
  }

  void store(size_t index, TrajectoryResult& result, BatchTable& table) {
    const size_t i = index - table.first;
    // Rows at their times only: where a trajectory failed between two of them is in /final.
    const int every = batch_.options().rows_every;
    size_t rows = result.status == TrajectoryStatus::complete ? result.rows() : 0;
    if (result.status == TrajectoryStatus::step_failed && every > 0)
      rows = 1 + static_cast<size_t>(result.steps / every);
    for (size_t row = 0; row < rows; ++row) {
      table.q.row(i, row) = result.q.row(row);
      table.v.row(i, row) = result.v.row(row);
    }
    if (result.rows() > 0) {
      table.final_q.row(i) = result.q.row(result.rows() - 1);
      table.final_v.row(i) = result.v.row(result.rows() - 1);
    }
    table.status[i] = result.status;
    table.failure[i] = result.failure;
    table.end_time[i] = result.end_time;
    table.residual[i] = result.residual;
    table.penetration[i] = result.penetration;
    table.steps[i] = result.steps;
    table.substeps[i] = result.substeps;
    table.rejected[i] = result.rejected;
    table.iterations[i] = result.iterations;
    table.damped[i] = result.damped;
    table.stationary[i] = result.stationary;
    table.final_state_hash[i] = result.final_state_hash;

    Trajectory start = batch_.trajectory();
    make_trajectory(scene_, summary_.seed, index, start);
    table.initial_q.row(i) = start.q;
    table.initial_v.row(i) = start.v;
    for (const BatchParameter& parameter : batch_parameters())
      if (scene_.batch.*parameter.range)
        table.parameters[parameter.name][i] = batch_parameter(parameter, scene_.batch, scene_.world.surface.friction,
                                                              scene_.world.smooth, summary_.seed, index);
  }

  void write_chunk(size_t k, BatchTable& table) {
    size_t longest = 1;
    for (const std::string& failure : table.failure) longest = std::max(longest, failure.size());
    failure_length_ = std::max(failure_length_, longest);
    BatchHeader header = header_;
    header.first = first_of(k);
    header.count = count_of(k);
    folder_->write(k, [&](hdf5::Writer& out) {
      write_batch_header(out, header, nullptr);
      create_columns(out, shape_, header.count, longest);
      put_table(out, shape_, 0, table);
    });
  }

  // All chunks into one file, one chunk in memory at a time.
  void join() {
    BatchHeader header = header_;
    header.count = summary_.trajectories;
    AtomicFile joined(target_);
    hdf5::Writer out(joined.temporary(), target_.string());
    write_batch_header(out, header, &scene_.model);
    if (scene_.world.has_contact()) write_colliders(out, scene_.world.colliders);
    create_columns(out, shape_, header.count, failure_length_);
    for (size_t k = 0; k < summary_.chunks; ++k) {
      const hdf5::Reader in(folder_->chunk(k));
      BatchTable table = get_table(in, shape_, read_batch_header(in), 0, count_of(k));
      put_table(out, shape_, first_of(k), table);
      add_to_summary(table);
    }
    out.close();
    seal_file(joined.temporary());
    joined.commit();
    flush_folder_of(target_);
  }

  void add_to_summary(const BatchTable& table) {
    for (size_t i = 0; i < table.size(); ++i) {
      size_t* const counts[] = {&summary_.complete, &summary_.step_failed, &summary_.invalid};
      size_t& count = *counts[static_cast<size_t>(table.status[i])];
      ++count;
      if (table.status[i] != TrajectoryStatus::complete && count <= kExamples)
        summary_.failures.push_back({table.first + i, table.status[i], table.failure[i]});
      summary_.steps += table.steps[i];
      summary_.substeps += table.substeps[i];
      summary_.rejected += table.rejected[i];
      summary_.iterations += table.iterations[i];
      summary_.penetration = std::max(summary_.penetration, table.penetration[i]);
    }
  }

  const Scene& scene_;
  const BatchRunOptions& options_;
  const BatchProgress& progress_;
  BatchSimulation batch_;
  fs::path target_;
  BatchHeader header_;
  BatchShape shape_;
  BatchSummary summary_;
  ChunkFolder* folder_ = nullptr;
  std::vector<bool> present_;
  std::map<size_t, Buffer> buffers_;  // chunks under way
  size_t done_ = 0, failure_length_ = 1;
};

}  // namespace

void make_trajectory(const Scene& scene, std::uint64_t seed, size_t index, Trajectory& trajectory) {
  trajectory.q = scene.q0;
  trajectory.v = scene.v0;
  trajectory.control = scene.control;
  trajectory.smooth = scene.world.smooth;
  vary(scene.model, scene.batch, seed, index, trajectory);
}

BatchSummary run_batch(const Scene& scene, const BatchRunOptions& options, const fs::path& file,
                       const BatchProgress& progress) {
  return BatchRun(scene, options, file, progress).run();
}

}  // namespace scree
