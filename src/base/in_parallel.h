// The same work in several threads, which share it out themselves (an atomic counter). The one door to oneTBB.
#pragma once

#include <functional>

namespace scree {

// Calls `work` as often as there are threads, in as many at most, and returns when all calls have ended. An exception
// of one of them is thrown here.
void in_parallel(int threads, const std::function<void()>& work);

// What options ask for: themselves, of 0 as many as this machine has.
int thread_count(int threads);

}  // namespace scree
