#include "base/in_parallel.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__has_feature) && !defined(__SANITIZE_THREAD__)  // clang
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

namespace scree {

int thread_count(int threads) {
  constexpr unsigned kMost = 1024;  // as options may ask for
  return threads > 0 ? threads : static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, kMost));
}

#ifdef __SANITIZE_THREAD__
// The headers of oneTBB are compiled for the sanitizer, its library is not: it would see half of what they do. Threads
// of our own in place of it, and it sees every handover.
void in_parallel(int threads, const std::function<void()>& work) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto run = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (int k = 1; k < thread_count(threads); ++k) others.emplace_back(run);
  run();
  for (std::thread& thread : others) thread.join();
  if (first) std::rethrow_exception(first);
}
#else
void in_parallel(int threads, const std::function<void()>& work) {
  threads = thread_count(threads);
  // Without the control there would be no more threads than processors.
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(threads));
  tbb::task_arena arena(threads);
  arena.execute([&] {
    tbb::parallel_for(
        0, threads, [&](int) { work(); }, tbb::simple_partitioner{});
  });
}
#endif

}  // namespace scree
