// The inner loops of the searches, compiled twice: for any processor and for AVX2.
//
// `scans_body.hpp` holds the loops, written on `Lanes` (eight floats); scans.cpp and scans_avx2.cpp compile it
// in a namespace of their own, and the program picks one at run time. The float64 loops give the same bits on
// both, because a lane adds its columns in order and nothing is contracted. The float32 loops are filters:
// they only choose which records are looked at in float64, so they cannot change a result either.
//
// A `block` holds 32 records column by column. `boxes` holds eight bounding boxes column by column (for each
// column eight lower ends, then eight upper ends), followed by the eight largest squared radii about the
// anchor; a negative radius marks an empty box.
#pragma once
#include <cstddef>
#include <cstdint>

namespace shoal {

constexpr std::size_t kBlock = 32;
constexpr std::size_t kFan = 8;
constexpr std::size_t kChunk = 8;  // columns after which a distance may have told enough

// What the upper bound of the distance from a point q to a box needs; see `far_bounds`.
struct FarQuery {
  const float* q;         // the point
  const float* toward;    // q - anchor
  const float* antipode;  // anchor - (q - anchor) / nu
  const float* anchor;
  float rho2;             // |q - anchor|^2
  float nu;
  float slack;            // covers the rounding of the bounds
  float inflate;          // 1 + the relative rounding of a float32 distance
};

struct Scans {
  // float64 distances of the 32 records of a block to q.
  void (*exact_distances)(const double* block, const double* q, std::size_t d, double* out);
  // float32 distances of the first `count` records of a block to q.
  void (*distances)(const float* block, const float* q, std::size_t d, std::size_t count, float* out);
  // As `distances`; or false, where after some chunk of columns all sums so far are above `nearest`, and below what
  // `farthest` has for that chunk.
  bool (*distances_until)(const float* block, const float* q, std::size_t d, std::size_t count, float nearest,
                          const float* farthest, float* out);
  // Lower bounds of the distances from q to eight boxes.
  void (*near_bounds)(const float* boxes, const float* q, std::size_t d, float* out);
  // Upper bounds of the distances from q to the records in eight boxes.
  void (*far_bounds)(const float* boxes, const FarQuery& query, std::size_t d, float* out);
  // Bit i of the result: value i of the first `count` is at most (at least) the limit.
  std::uint32_t (*at_most)(const float* values, std::size_t count, float limit);
  std::uint32_t (*at_least)(const float* values, std::size_t count, float limit);
  // Smallest and largest value of each of `columns` columns over the first `count` records of a block.
  void (*ranges)(const float* block, std::size_t columns, std::size_t count, float* lo, float* hi);
};

const Scans& baseline_scans();
const Scans& avx2_scans();
bool avx2_available();

inline const Scans& scans(bool simd) { return simd && avx2_available() ? avx2_scans() : baseline_scans(); }

}  // namespace shoal
