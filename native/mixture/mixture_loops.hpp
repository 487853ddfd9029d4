// The inner loops of the E-step of a mixture, compiled twice: for any processor and for AVX2.
//
// `mixture_loops_body.hpp` holds the loops; mixture_loops.cpp and mixture_loops_avx2.cpp compile it, and the program picks
// one at run time. Both give the bits of the loops written value by value: a record is a lane, sums over the records of a
// block run in eight lanes whatever the processor, nothing is contracted, and the exponential has the operations of
// core/elementary.hpp in their order.
//
// Everything is column-wise and kBlock long.
#pragma once
#include <cstddef>

namespace shoal::mixture {

constexpr std::size_t kBlock = 64;

struct MixtureLoops {
  // y = x - mean, and `square`: |L^-1 y|^2 with the inverse Cholesky factor, of which only the diagonal counts if
  // `diagonal`.
  void (*distances)(const double* x, const double* mean, const double* inverse, std::size_t d, bool diagonal, double* y,
                    double* square);
  // joint = exp(joint - top), top the greatest of the groups; `sum` over them. Below exp(-708) is 0.
  void (*posteriors)(double* joint, std::size_t groups, double* top, double* sum);
  // joint *= factor.
  void (*scale)(double* joint, std::size_t groups, const double* factor);
  double (*sum)(const double* a);
  // first[j] += sum z y_j, second[j, k] += sum z y_j y_k for k <= j.
  void (*accumulate)(const double* z, const double* y, std::size_t d, double* first, double* second);
};

const MixtureLoops& baseline_mixture_loops();
const MixtureLoops& avx2_mixture_loops();

}  // namespace shoal::mixture

namespace shoal {

bool avx2_available();

namespace mixture {

inline const MixtureLoops& mixture_loops(bool simd) {
  return simd && avx2_available() ? avx2_mixture_loops() : baseline_mixture_loops();
}

}  // namespace mixture
}  // namespace shoal
