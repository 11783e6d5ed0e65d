#include "base/in_parallel.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <thread>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define __SANITIZE_THREAD__ 1
#endif
#endif

namespace scree {
namespace {

// The thread sanitizer does not see how the oneTBB of the system, which is not compiled for it, hands work to threads
// and waits for them. This tells it what oneTBB promises and no more: what was written before the call is there for the
// work, and what the work wrote is there after it. Races between the threads stay visible; no report is suppressed.
struct Handover {
#ifdef __SANITIZE_THREAD__
  void give() { __tsan_release(this); }
  void take() { __tsan_acquire(this); }
#else
  void give() {}
  void take() {}
#endif
};

}  // namespace

int thread_count(int threads) {
  constexpr unsigned kMost = 1024;  // as options may ask for
  return threads > 0 ? threads : static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, kMost));
}

void in_parallel(int threads, const std::function<void()>& work) {
  threads = thread_count(threads);
  // Without the control there would be no more threads than processors.
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(threads));
  tbb::task_arena arena(threads);
  Handover begin, end;
  begin.give();
  arena.execute([&] {
    tbb::parallel_for(
        0, threads,
        [&](int) {
          begin.take();
          try {
            work();
          } catch (...) {
            end.give();
            throw;
          }
          end.give();
        },
        tbb::simple_partitioner{});
  });
  end.take();
}

}  // namespace scree
