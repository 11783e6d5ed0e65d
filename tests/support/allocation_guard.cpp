#include "support/allocation_guard.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> heap_calls{0};
}

// ld --wrap: calls to malloc from our objects (Eigen's among them) land here; operator new lives in a shared library
// and is replaced as a whole.
extern "C" {
void* __real_malloc(std::size_t);
void* __real_calloc(std::size_t, std::size_t);
void* __real_realloc(void*, std::size_t);
int __real_posix_memalign(void**, std::size_t, std::size_t);
void* __wrap_malloc(std::size_t n) { return ++heap_calls, __real_malloc(n); }
void* __wrap_calloc(std::size_t n, std::size_t m) { return ++heap_calls, __real_calloc(n, m); }
void* __wrap_realloc(void* p, std::size_t n) { return ++heap_calls, __real_realloc(p, n); }
int __wrap_posix_memalign(void** p, std::size_t a, std::size_t n) {
  return ++heap_calls, __real_posix_memalign(p, a, n);
}
}
void* operator new(std::size_t n) {
  ++heap_calls;
  if (void* p = __real_malloc(n ? n : 1)) return p;
  throw std::bad_alloc();
}
void* operator new[](std::size_t n) { return operator new(n); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return ++heap_calls, __real_malloc(n ? n : 1); }
void* operator new[](std::size_t n, const std::nothrow_t& tag) noexcept { return operator new(n, tag); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace scree::test {
AllocationGuard::AllocationGuard() : start_(heap_calls) {}
long AllocationGuard::count() const { return heap_calls - start_; }
}  // namespace scree::test
