// Counts heap calls between its construction and count(). Only in the binary linked with allocation_guard.cpp, whose
// linker options route malloc and friends through it.
#pragma once

namespace scree::test {

class AllocationGuard {
 public:
  AllocationGuard();
  long count() const;

 private:
  long start_;
};

}  // namespace scree::test
