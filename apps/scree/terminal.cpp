#include "terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace scree::cli {
namespace {

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

bool use_colour(std::FILE* stream) {
  const char* no_colour = std::getenv("NO_COLOR");  // https://no-color.org: set and not empty
  return is_terminal(stream) && (!no_colour || !*no_colour);
}

}  // namespace

void print_error(std::string_view message) {
  const bool colour = use_colour(stderr);
  fmt::print(stderr, "scree: {}error:{} {}\n", colour ? "\033[1;31m" : "", colour ? "\033[0m" : "", one_line(message));
}

void print_warning(std::string_view message) {
  const bool colour = use_colour(stderr);
  fmt::print(stderr, "scree: {}warning:{} {}\n", colour ? "\033[1;33m" : "", colour ? "\033[0m" : "",
             one_line(message));
}

void print_message(std::string_view message) { fmt::print(stderr, "scree: {}\n", one_line(message)); }

void print_pairs(const std::vector<std::pair<std::string, std::string>>& rows) {
  size_t width = 0;
  for (const auto& [name, value] : rows) width = std::max(width, name.size());
  for (const auto& [name, value] : rows) fmt::print("{:<{}}  {}\n", name, width, one_line(value));
}

void print_json(const nlohmann::ordered_json& json) {
  // Names come from files and need not be UTF-8; replacing beats failing.
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

Progress::Progress(bool wanted) : shown_(wanted && is_terminal(stderr)) {}

Progress::~Progress() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
}

bool Progress::due() {
  if (!shown_ || Clock::now() < next_) return false;
  next_ = Clock::now() + std::chrono::milliseconds(200);
  drawn_ = true;
  return true;
}

void Progress::update(double time, double duration) {
  if (!due()) return;
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  fmt::print(stderr, "\r\033[K{:3.0f} %  {:.3f} of {:.3f} s simulated, {:.0f} s left", 100 * time / duration, time,
             duration, elapsed * (duration - time) / time);
  std::fflush(stderr);
}

void Progress::count(size_t done, size_t total, const char* what) {
  if (!before_) before_ = done;
  if (done <= *before_ || !due()) return;
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  fmt::print(stderr, "\r\033[K{:3.0f} %  {} of {} {}, {:.0f} s left",
             100 * static_cast<double>(done) / static_cast<double>(total), done, total, what,
             elapsed * static_cast<double>(total - done) / static_cast<double>(done - *before_));
  std::fflush(stderr);
}

}  // namespace scree::cli
