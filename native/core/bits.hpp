// Questions about the bits of a word, as one instruction where the compiler offers it.
#pragma once
#include <cstdint>

namespace shoal {

#if defined(__GNUC__) && !defined(SHOAL_PORTABLE)
inline int leading_zeros(std::uint64_t v) { return v ? __builtin_clzll(v) : 64; }
inline std::uint32_t lowest_bit(std::uint32_t v) { return static_cast<std::uint32_t>(__builtin_ctz(v)); }
inline int ones(std::uint32_t v) { return __builtin_popcount(v); }
#else
// Bits that are 0 above the highest 1; 64 where there is none.
inline int leading_zeros(std::uint64_t v) {
  int zeros = 64;
  for (int half = 32; half; half /= 2)
    if (v >> half) v >>= half, zeros -= half;
  return zeros - static_cast<int>(v);
}

// The place of the lowest 1 of a number that is not 0.
inline std::uint32_t lowest_bit(std::uint32_t v) { return 63 - static_cast<std::uint32_t>(leading_zeros(v & (~v + 1))); }

// How many bits are 1.
inline int ones(std::uint32_t v) {
  int count = 0;
  for (; v; v &= v - 1) ++count;
  return count;
}
#endif

// The place of the highest 1 of a number that is not 0.
inline std::uint32_t highest_bit(std::uint32_t v) { return 63 - static_cast<std::uint32_t>(leading_zeros(v)); }

}  // namespace shoal
