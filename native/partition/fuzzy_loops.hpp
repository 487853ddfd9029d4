// The inner loops of fuzzy clustering, compiled twice: for any processor and for AVX2.
//
// `fuzzy_loops_body.hpp` holds the loops; fuzzy_loops.cpp and fuzzy_loops_avx2.cpp compile it, and the program
// picks one at run time. Both give the same bits: sums run in four lanes whatever the processor, nothing is
// contracted, and exp and log are written out in the four basic operations.
//
// Centres are stored column by column and padded to a multiple of four, so that one lane is one centre.
#pragma once
#include <cstddef>
#include <cstdint>

namespace shoal {

struct FuzzyLoops {
  // Squared distances of point x to all centres.
  void (*distances)(const double* centres, const double* x, std::size_t d, std::size_t padded, double* d2);
  // Squared gaps between a box and others, whose low and high ends stand column by column `stride` apart.
  void (*gaps)(const double* lows, const double* highs, std::size_t stride, const double* low, const double* high,
               std::size_t d, std::size_t padded, double* out);
  // t = (least / d2)^power, for 0 < least <= d2.
  void (*powers)(const double* d2, std::size_t padded, double least, double power, double* t);
  // t = exp(-lambda (d2 - least)), for least <= d2.
  void (*exponentials)(const double* d2, std::size_t padded, double least, double lambda, double* t);
  // w = t (least / d2) factor.
  void (*sharpen)(const double* t, const double* d2, std::size_t padded, double least, double factor, double* w);
  // The sum of the values, lane by lane, then the lanes in order.
  double (*total)(const double* values, std::size_t padded);
  // sums[s][j] += w[r][j] x[r][s] over `rows` records; row d of sums adds up the weights themselves.
  void (*accumulate)(double* sums, const double* w, const double* x, std::size_t rows, std::size_t d,
                     std::size_t padded);
  // sums[centre][s] += w[k] row[s] for each of `count` centres k; `stride`: values of a row, a multiple of four.
  void (*scatter)(double* sums, const std::uint32_t* centres, const double* w, std::size_t count, const double* row,
                  std::size_t stride);
};

const FuzzyLoops& baseline_fuzzy_loops();
const FuzzyLoops& avx2_fuzzy_loops();
bool avx2_available();

inline const FuzzyLoops& fuzzy_loops(bool simd) {
  return simd && avx2_available() ? avx2_fuzzy_loops() : baseline_fuzzy_loops();
}

}  // namespace shoal
