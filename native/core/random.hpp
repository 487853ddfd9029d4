// A small, fast generator whose stream is the same on every platform.
//
// xoshiro256++ (Blackman & Vigna 2021) seeded by splitmix64 from one 64-bit number, which the caller draws
// from its numpy Generator. Distributions are written out here because those of the standard library differ
// between implementations.
#pragma once
#include <cstdint>

namespace shoal {

class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (auto& word : state_) {
      seed += 0x9e3779b97f4a7c15ull;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
      word = z ^ (z >> 31);
    }
  }

  std::uint64_t bits() {
    const std::uint64_t result = rotate(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // Uniform in [0, 1): the top 53 bits.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }

  // Uniform in {0, ..., n - 1} without bias (rejection of the short last interval), n >= 1.
  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t limit = n * (~std::uint64_t{0} / n);
    std::uint64_t draw = bits();
    while (draw >= limit) draw = bits();
    return draw % n;
  }

 private:
  static std::uint64_t rotate(std::uint64_t x, int s) { return (x << s) | (x >> (64 - s)); }
  std::uint64_t state_[4];
};

}  // namespace shoal
