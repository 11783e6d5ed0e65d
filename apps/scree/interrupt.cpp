#include "interrupt.h"

#include <csignal>

namespace scree::cli {
namespace {

volatile std::sig_atomic_t stop_requested = 0;

void restore_defaults_and_stop(int) {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  stop_requested = 1;
}

}  // namespace

void catch_interrupts() {
  std::signal(SIGINT, restore_defaults_and_stop);
  std::signal(SIGTERM, restore_defaults_and_stop);
}

bool interrupted() { return stop_requested != 0; }

}  // namespace scree::cli
