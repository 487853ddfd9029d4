// Quotients of whole numbers: cut off at a given binary place, or rounded once to the nearest double.
//
// Nothing here depends on a floating-point type wider than double, which every processor and compiler has its own
// of: the bits are the same everywhere.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/bits.hpp"
#include "core/wide.hpp"

namespace shoal {

inline WideBits magnitude(Wide v) { return v < 0 ? -static_cast<WideBits>(v) : static_cast<WideBits>(v); }

// Bits that are 0 above the highest 1; 128 where there is none.
inline int zeros_above(WideBits v) {
  const auto high = static_cast<std::uint64_t>(v >> 64);
  return high ? leading_zeros(high) : 64 + leading_zeros(static_cast<std::uint64_t>(v));
}

// v to the nearest double, ties to even: its highest 63 bits decide, and whether any 1 is below them.
inline double nearest(WideBits v) {
  const int below = std::max(0, 65 - zeros_above(v));
  const WideBits kept = v >> below;
  const auto leading = static_cast<std::int64_t>(static_cast<std::uint64_t>(kept)) | ((kept << below) != v);
  return std::ldexp(static_cast<double>(leading), below);
}

// a / b and what is left, with `places` binary places at most: as long as something is left and the quotient has
// fewer than `bits` bits. 0 < b < 2^127, so that the rest can be shifted.
struct Division {
  WideBits quotient, rest;
  int places = 0;

  Division(WideBits a, WideBits b, int most, int bits) : quotient(a / b), rest(a - quotient * b) {
    const int shift = zeros_above(b);
    while (rest != 0 && places < most && zeros_above(quotient) > 128 - bits) {
      const int step = std::min({shift, zeros_above(quotient), most - places});
      rest <<= step;
      const WideBits next = rest / b;
      rest = rest - next * b;
      quotient = (quotient << step) + next;
      places += step;
    }
  }
};

// The whole part of 2^places a / b, which must be below 2^128.
inline WideBits fixed_quotient(WideBits a, WideBits b, int places) {
  const Division division(a, b, places, 128);
  return division.quotient << (places - division.places);
}

// a / b to the nearest double, ties to even.
inline double nearest_quotient(WideBits a, WideBits b) {
  if (((a | b) >> 53) == 0)
    return static_cast<double>(static_cast<std::int64_t>(static_cast<std::uint64_t>(a))) /
           static_cast<double>(static_cast<std::int64_t>(static_cast<std::uint64_t>(b)));
  const Division division(a, b, 1000, 55);
  return std::ldexp(nearest(division.quotient | WideBits(division.rest != 0)), -division.places);
}

}  // namespace shoal
