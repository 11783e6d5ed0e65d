// Random numbers by seed and stream: what a stream draws depends on nothing else, so trajectories may run in any order
// on any number of threads.
#pragma once

#include <cmath>
#include <cstdint>

namespace scree {

// SplitMix64: G. Steele, D. Lea, C. Flood, Fast splittable pseudorandom number generators, OOPSLA 2014. Its state grows
// by a step; what it draws is the state mixed, a bijection.
constexpr std::uint64_t kSplitMixStep = 0x9e3779b97f4a7c15u;
inline std::uint64_t split_mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t stream)
      : state_(split_mix(seed + kSplitMixStep) ^ split_mix(~stream)) {}

  std::uint64_t bits() { return split_mix(state_ += kSplitMixStep); }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // [0, 1)
  int below(int n) { return static_cast<int>(uniform() * n); }              // 0 ... n - 1
  bool chance(double p) { return uniform() < p; }

 private:
  std::uint64_t state_;
};

}  // namespace scree
