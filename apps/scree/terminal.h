// What the user sees: data on stdout, messages on stderr, colour and progress only on a terminal.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace scree::cli {

void print_error(std::string_view message);    // "scree: error: ..." on one line of stderr
void print_warning(std::string_view message);  // "scree: warning: ...", likewise
void print_message(std::string_view message);  // one line of stderr
// Two columns on stdout, the first padded to its longest entry.
void print_pairs(const std::vector<std::pair<std::string, std::string>>& rows);
void print_json(const nlohmann::ordered_json& json);  // on stdout

// A line on stderr with percentage and time left, redrawn five times a second once a run lasts over a second.
class Progress {
 public:
  explicit Progress(bool wanted);             // shown only if stderr is a terminal too
  ~Progress();                                // clears the line
  void update(double time, double duration);  // [s], simulated
  // What the first call tells was done before.
  void count(size_t done, size_t total, const char* what = "trajectories");
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  bool due();  // time to draw
  bool shown_, drawn_ = false;
  std::optional<size_t> before_;
  Clock::time_point start_ = Clock::now(), next_ = start_ + std::chrono::seconds(1);
};

}  // namespace scree::cli
