// The loops of scans.hpp, for the instruction set of whichever source includes this file. Everything is in an
// unnamed namespace and no library template is used, so that no AVX2 code can leak into shared symbols.
//
// The three upper bounds of `far_bounds`, for records p in a box with |p - A|^2 <= r2, z = q - A:
//   corner    |p - q|^2 <= sum over columns of max(q - lo, hi - q)^2
//   linear    |p - q|^2 = |p - A|^2 + |z|^2 - 2 (p - A).z <= r2 + rho^2 - 2 min over the box of (p - A).z
//   antipode  for any nu > 0 and A' = A - z / nu: |p - q|^2 = (1 + nu) |p - A|^2 + rho^2 + rho^2 / nu - nu |p - A'|^2,
//             so 'farthest from q' is 'nearest to A'', and the distance from A' to the box bounds it.
// The first is best for long boxes, the second and third where the live records fill a ball about A.
#pragma once
#include <cstddef>
#include <cstdint>
#include "core/lanes.hpp"
#include "search/scans.hpp"
#if defined(__AVX2__) && !defined(SHOAL_PORTABLE)
#include <immintrin.h>
#endif

namespace shoal {
namespace {

#if defined(__AVX2__) && !defined(SHOAL_PORTABLE)
inline Lanes least(Lanes a, Lanes b) { return _mm256_min_ps(a, b); }
inline Lanes most(Lanes a, Lanes b) { return _mm256_max_ps(a, b); }
inline std::uint32_t bits_at_most(Lanes a, Lanes b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_LE_OQ)); }
#else
inline Lanes least(Lanes a, Lanes b) {
  for (std::size_t i = 0; i < kFan; ++i) b[i] = a[i] < b[i] ? a[i] : b[i];
  return b;
}
inline Lanes most(Lanes a, Lanes b) {
  for (std::size_t i = 0; i < kFan; ++i) b[i] = a[i] > b[i] ? a[i] : b[i];
  return b;
}
inline std::uint32_t bits_at_most(Lanes a, Lanes b) {
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < kFan; ++i) bits |= static_cast<std::uint32_t>(a[i] <= b[i]) << i;
  return bits;
}
#endif

// From memory beyond the caches a leaf is there in time if it is asked for so many leaves before.
constexpr std::size_t kAhead = 3;

// Have 32 floats brought into the cache; any address will do.
#if defined(__GNUC__)
inline void fetch_early(const float* p) {
  __builtin_prefetch(p);
  __builtin_prefetch(p + 16);
}
#else
inline void fetch_early(const float*) {}
#endif

void exact_distances(const double* block, const double* q, std::size_t d, double* out) {
  Doubles sum[8] = {};
  for (std::size_t j = 0; j < d; ++j, block += kBlock) {
    const Doubles x = spread(q[j]);
    for (std::size_t g = 0; g < 8; ++g) {
      const Doubles t = load(block + 4 * g) - x;
      sum[g] += t * t;
    }
  }
  for (std::size_t g = 0; g < 8; ++g) store(out + 4 * g, sum[g]);
}

template <std::size_t Groups>
inline void distances_of(const float* block, const float* q, std::size_t d, float* out) {
  Lanes sum[Groups] = {};
  for (std::size_t j = 0; j < d; ++j, block += kBlock) {
    const Lanes x = spread(q[j]);
    for (std::size_t g = 0; g < Groups; ++g) {
      const Lanes t = load(block + kFan * g) - x;
      sum[g] += t * t;
    }
  }
  for (std::size_t g = 0; g < Groups; ++g) store(out + kFan * g, sum[g]);
}

void distances(const float* block, const float* q, std::size_t d, std::size_t count, float* out) {
  if (count > 16)
    distances_of<4>(block, q, d, out);
  else
    distances_of<2>(block, q, d, out);
}

template <std::size_t Groups>
inline bool distances_until_of(const float* block, const float* q, std::size_t d, float nearest, const float* farthest,
                               float* out) {
  Lanes sum[Groups] = {};
  for (std::size_t j = 0; j < d; ++farthest) {
    for (const std::size_t end = d - j < kChunk ? d : j + kChunk; j < end; ++j, block += kBlock) {
      fetch_early(block + kAhead * (d + 1) * kBlock);  // of a leaf to come
      const Lanes x = spread(q[j]);
      for (std::size_t g = 0; g < Groups; ++g) {
        const Lanes t = load(block + kFan * g) - x;
        sum[g] += t * t;
      }
    }
    if (j == d) break;
    Lanes low = sum[0], high = sum[0];
    for (std::size_t g = 1; g < Groups; ++g) {
      low = least(low, sum[g]);
      high = most(high, sum[g]);
    }
    if (!bits_at_most(low, spread(nearest)) && !bits_at_most(spread(*farthest), high)) return false;
  }
  for (std::size_t g = 0; g < Groups; ++g) store(out + kFan * g, sum[g]);
  return true;
}

bool distances_until(const float* block, const float* q, std::size_t d, std::size_t count, float nearest,
                     const float* farthest, float* out) {
  return count > 16 ? distances_until_of<4>(block, q, d, nearest, farthest, out)
                    : distances_until_of<2>(block, q, d, nearest, farthest, out);
}

void near_bounds(const float* boxes, const float* q, std::size_t d, float* out) {
  Lanes sum = {};
  const Lanes zero = {};
  for (std::size_t j = 0; j < d; ++j, boxes += 2 * kFan) {
    const Lanes x = spread(q[j]);
    const Lanes gap = most(most(load(boxes) - x, x - load(boxes + kFan)), zero);
    sum += gap * gap;
  }
  store(out, sum);
}

void far_bounds(const float* boxes, const FarQuery& f, std::size_t d, float* out) {
  Lanes corner = {}, inner = {}, beyond = {};
  const Lanes zero = {};
  for (std::size_t j = 0; j < d; ++j, boxes += 2 * kFan) {
    const Lanes lo = load(boxes), hi = load(boxes + kFan);
    const Lanes q = spread(f.q[j]), anchor = spread(f.anchor[j]), z = spread(f.toward[j]), s = spread(f.antipode[j]);
    const Lanes reach = most(q - lo, hi - q);
    corner += reach * reach;
    inner += least((lo - anchor) * z, (hi - anchor) * z);
    const Lanes gap = most(most(lo - s, s - hi), zero);
    beyond += gap * gap;
  }
  const Lanes r2 = load(boxes);
  const Lanes linear = r2 + (f.rho2 + f.slack) - 2.0f * inner;
  const Lanes antipode = (1.0f + f.nu) * r2 + (f.rho2 + f.rho2 / f.nu + f.slack) - f.nu * beyond;
  const Lanes bound = least(corner * f.inflate, least(linear, antipode));
  store(out, bound);
  for (std::size_t c = 0; c < kFan; ++c)
    if (r2[c] < 0.0f) out[c] = -1.0f;
}

std::uint32_t at_most(const float* values, std::size_t count, float limit) {
  std::uint32_t bits = 0;
  for (std::size_t g = 0; g < count; g += kFan) bits |= bits_at_most(load(values + g), spread(limit)) << g;
  return count < kBlock ? bits & ((1u << count) - 1u) : bits;
}

std::uint32_t at_least(const float* values, std::size_t count, float limit) {
  std::uint32_t bits = 0;
  for (std::size_t g = 0; g < count; g += kFan) bits |= bits_at_most(spread(limit), load(values + g)) << g;
  return count < kBlock ? bits & ((1u << count) - 1u) : bits;
}

void ranges(const float* block, std::size_t columns, std::size_t count, float* lo, float* hi) {
  for (std::size_t j = 0; j < columns; ++j, block += kBlock) {
    Lanes low = spread(block[0]), high = low;
    std::size_t i = 0;
    for (; i + kFan <= count; i += kFan) {
      low = least(low, load(block + i));
      high = most(high, load(block + i));
    }
    float least_value = low[0], most_value = high[0];
    for (std::size_t g = 1; g < kFan; ++g) {
      least_value = low[g] < least_value ? low[g] : least_value;
      most_value = high[g] > most_value ? high[g] : most_value;
    }
    for (; i < count; ++i) {
      least_value = block[i] < least_value ? block[i] : least_value;
      most_value = block[i] > most_value ? block[i] : most_value;
    }
    lo[j] = least_value;
    hi[j] = most_value;
  }
}

constexpr Scans kScans = {exact_distances, distances, distances_until, near_bounds,
                          far_bounds,      at_most,   at_least,        ranges};

}  // namespace
}  // namespace shoal
