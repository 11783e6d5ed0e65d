#include "scree/state_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/atomic_file.h"
#include "model/coordinate_names.h"
#include "run/build_info.h"
#include "run/seal.h"
#include "run/state_blocks.h"
#include "scree/error.h"

namespace scree {
namespace {

constexpr int kStateVersion = 1;
constexpr size_t kNamed = 6;  // times told where another was asked for
constexpr std::uint64_t kRates = 12;

// Lists of different lengths, one after the other: list k has entries first[k] to first[k + 1] - 1.
struct Lists {
  std::vector<int> first = {0};
  std::vector<double> values;
  void add(const double* from, size_t count, size_t columns) {
    values.insert(values.end(), from, from + count * columns);
    first.push_back(first.back() + static_cast<int>(count));
  }
};

void write_lists(hdf5::Writer& out, const std::string& path, const Lists& lists, std::uint64_t columns,
                 const char* units) {
  const std::uint64_t count = static_cast<std::uint64_t>(lists.first.back());
  out.integers(path + "_first", lists.first, {lists.first.size()}, "1");
  out.numbers(path, lists.values, columns == 1 ? hdf5::Extents{count} : hdf5::Extents{count, columns}, units);
}

Lists read_lists(const hdf5::Reader& in, const std::string& path, std::uint64_t states, std::uint64_t columns) {
  Lists lists;
  lists.first = in.integers(path + "_first", {states + 1});
  const hdf5::Extents shape = in.extents(path);
  if (shape.empty()) in.fail(path, "expected rows");
  if (lists.first.front() != 0 || !std::is_sorted(lists.first.begin(), lists.first.end()) ||
      static_cast<std::uint64_t>(lists.first.back()) != shape[0])
    in.fail(path + "_first", fmt::format("expected from 0 to {} without decrease", shape[0]));
  lists.values = in.numbers(path, columns == 1 ? hdf5::Extents{shape[0]} : hdf5::Extents{shape[0], columns});
  return lists;
}

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

}  // namespace

void check_state(const Model& model, const State& state) {
  // Whoever adds to State has to save it, too: this does not compile until then.
  const auto& [time, q, v, last_step, body_rates, contact_weights, contact_loads] = state;
  make_state(model, q, v, time);
  if (!(last_step >= 0 && std::isfinite(last_step)))
    throw InputError(fmt::format("state: last_step is {}, expected s >= 0", last_step));
  if (!body_rates.empty() && body_rates.size() != model.bodies().size())
    throw InputError(
        fmt::format("state: body_rates has {} entries, expected none or {}", body_rates.size(), model.bodies().size()));
  const auto finite = [](const Mat34& rate) { return rate.allFinite(); };
  if (!std::all_of(body_rates.begin(), body_rates.end(), finite) || !all_finite(contact_weights) ||
      !all_finite(contact_loads))
    throw InputError("state: body_rates, contact_weights or contact_loads are not finite");
}

void write_states(hdf5::Writer& out, const std::string& group, const Model& model,
                  const std::vector<SavedState>& states) {
  std::vector<double> label, time, next_step, last_step, q, v;
  Lists rates, weights, loads;
  for (const SavedState& saved : states) {
    const State& state = saved.state;
    check_state(model, state);
    label.push_back(saved.label);
    next_step.push_back(saved.next_step);
    time.push_back(state.time);
    last_step.push_back(state.last_step);
    q.insert(q.end(), state.q.begin(), state.q.end());
    v.insert(v.end(), state.v.begin(), state.v.end());
    rates.add(state.body_rates.empty() ? nullptr : state.body_rates.front().data(), state.body_rates.size(), kRates);
    weights.add(state.contact_weights.data(), state.contact_weights.size(), 1);
    loads.add(state.contact_loads.data(), state.contact_loads.size(), 1);
  }
  const std::uint64_t count = states.size();
  out.group(group);
  out.numbers(group + "/label", label, {count}, "s");
  out.numbers(group + "/time", time, {count}, "s");
  out.numbers(group + "/last_step", last_step, {count}, "s");
  out.numbers(group + "/next_step", next_step, {count}, "s");
  out.numbers(group + "/q", q, {count, static_cast<std::uint64_t>(model.nq())},
              "m, rad, unit quaternions (w, x, y, z)");
  out.numbers(group + "/v", v, {count, static_cast<std::uint64_t>(model.nv())}, "m/s, rad/s");
  write_lists(out, group + "/body_rates", rates, kRates, "1/s, m/s");  // 3 x 4, by columns
  write_lists(out, group + "/contact_weights", weights, 1, "1");
  write_lists(out, group + "/contact_loads", loads, 1, "N");
}

std::vector<SavedState> read_states(const hdf5::Reader& in, const std::string& group, const Model& model) {
  const std::uint64_t count = in.length(group + "/time");
  const size_t nq = static_cast<size_t>(model.nq()), nv = static_cast<size_t>(model.nv());
  const std::vector<double> label = in.numbers(group + "/label", {count}), time = in.numbers(group + "/time", {count}),
                            last_step = in.numbers(group + "/last_step", {count}),
                            next_step = in.numbers(group + "/next_step", {count}),
                            q = in.numbers(group + "/q", {count, nq}), v = in.numbers(group + "/v", {count, nv});
  const Lists rates = read_lists(in, group + "/body_rates", count, kRates),
              weights = read_lists(in, group + "/contact_weights", count, 1),
              loads = read_lists(in, group + "/contact_loads", count, 1);
  const auto part = [](const Lists& lists, size_t k) {
    return std::vector<double>(lists.values.begin() + lists.first[k], lists.values.begin() + lists.first[k + 1]);
  };
  std::vector<SavedState> states(count);
  for (size_t k = 0; k < count; ++k) {
    SavedState& saved = states[k];
    saved.label = label[k];
    saved.next_step = next_step[k];
    saved.state.time = time[k];
    saved.state.last_step = last_step[k];
    saved.state.q = Eigen::Map<const Eigen::VectorXd>(q.data() + k * nq, model.nq());
    saved.state.v = Eigen::Map<const Eigen::VectorXd>(v.data() + k * nv, model.nv());
    for (int i = rates.first[k]; i < rates.first[k + 1]; ++i)
      saved.state.body_rates.emplace_back(Mat34(rates.values.data() + kRates * static_cast<size_t>(i)));
    saved.state.contact_weights = part(weights, k);
    saved.state.contact_loads = part(loads, k);
    try {
      check_state(model, saved.state);
    } catch (const InputError& error) {
      in.fail(group, fmt::format("{}: {}", k, error.what()));
    }
    if (!std::isfinite(saved.label) || !(saved.next_step >= 0 && std::isfinite(saved.next_step)))
      in.fail(group, fmt::format("{}: label is {}, next_step {}, expected s", k, saved.label, saved.next_step));
  }
  return states;
}

void save_state(const std::filesystem::path& file, const Model& model, const State& state) {
  check_state(model, state);
  AtomicFile target(file);
  hdf5::Writer out(target.temporary(), file.string());
  out.attribute("/", "state_version", kStateVersion);
  out.attribute("/", "scree_version", version());
  out.group("/model");
  out.strings("/model/q_names", position_names(model), {static_cast<std::uint64_t>(model.nq())});
  out.strings("/model/v_names", velocity_names(model), {static_cast<std::uint64_t>(model.nv())});
  write_states(out, "/states", model, {{state.time, state, 0}});
  out.close();
  seal_file(target.temporary());
  target.commit();
}

SavedState load_saved_state(const std::filesystem::path& file, const Model& model, std::optional<double> time) {
  const hdf5::Reader in(file);
  if (!in.has_attribute("/", "state_version") && !in.has_attribute("/", "format_version"))
    in.fail("/", "is a file of another kind, expected a run file or a state file");
  if (in.has_attribute("/", "state_version"))
    if (const int found = in.integer_attribute("/", "state_version"); found != kStateVersion)
      in.fail("/", fmt::format("state_version is {}, this scree reads {}", found, kStateVersion));
  if (!in.has("/states"))
    in.fail("/states", fmt::format("is missing: format_version {} holds no states, expected one of version 2 or later",
                                   in.integer_attribute("/", "format_version")));
  for (const auto& [path, names] :
       {std::pair{"/model/q_names", position_names(model)}, std::pair{"/model/v_names", velocity_names(model)}})
    if (in.strings(path, {in.length(path)}) != names)
      in.fail(path, "is of another model, expected the coordinates of " + model.name());
  std::vector<SavedState> states = read_states(in, "/states", model);
  if (states.empty()) in.fail("/states", "is empty, expected at least one state");
  if (!time) return std::move(states.back());
  std::vector<double> labels;
  for (SavedState& saved : states) {
    if (std::abs(saved.label - *time) <= 1e-9 * std::max(1.0, std::abs(*time))) return std::move(saved);
    labels.push_back(saved.label);
  }
  std::stable_sort(labels.begin(), labels.end(),
                   [&](double a, double b) { return std::abs(a - *time) < std::abs(b - *time); });
  labels.resize(std::min(labels.size(), kNamed));
  std::sort(labels.begin(), labels.end());
  in.fail("/states", fmt::format("holds no state of {:.10g} s, expected one of {:.10g}{} s", *time,
                                 fmt::join(labels, ", "), states.size() > kNamed ? ", ..." : ""));
}

State load_state(const std::filesystem::path& file, const Model& model, std::optional<double> time) {
  return load_saved_state(file, model, time).state;
}

}  // namespace scree
