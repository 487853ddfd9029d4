// The distribution function of the standard normal and its inverse, the same to the bit on every processor.
//
//   normal_cdf       Phi(x) = erfc(-x / sqrt 2) / 2 by the rational approximations of Cody (1969) as in his program CALERF
//   normal_quantile  algorithm AS 241, PPND16 (Wichura 1988); its relative error is about 1e-16
#pragma once
#include <cmath>

#include "core/elementary.hpp"

namespace shoal {

// The polynomial with these coefficients, that of the highest power first.
template <std::size_t N>
double polynomial(const double (&coefficient)[N], double x) {
  double sum = 0.0;
  for (const double c : coefficient) sum = sum * x + c;
  return sum;
}

// exp(-y^2) with the rounding error of y^2 made good, as Cody does.
inline double exp_of_minus_square(double y) {
  const double coarse = std::floor(y * 16) / 16;
  return exponential(-coarse * coarse) * exponential(-(y - coarse) * (y + coarse));
}

// erfc(y) for y > 0.46875.
inline double upper_erfc(double y) {
  constexpr double kTop[] = {2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 6.61191906371416295e1,
                             2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
                             1.23033935479799725e3};
  constexpr double kBottom[] = {1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
                                3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3};
  constexpr double kFarTop[] = {1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
                                1.60837851487422766e-2, 6.58749161529837803e-4};
  constexpr double kFarBottom[] = {1.0, 2.56852019228982242, 1.87295284992346725, 5.27905102951428412e-1, 6.05183413124413191e-2,
                                   2.33520497626869185e-3};
  constexpr double kInverseRootPi = 5.6418958354775628695e-1;
  if (y > 27.0) return 0.0;  // below the smallest double
  if (y <= 4.0) return exp_of_minus_square(y) * polynomial(kTop, y) / polynomial(kBottom, y);
  const double square = 1 / (y * y);
  return exp_of_minus_square(y) * (kInverseRootPi - square * polynomial(kFarTop, square) / polynomial(kFarBottom, square)) / y;
}

inline double normal_cdf(double x) {
  constexpr double kTop[] = {1.85777706184603153e-1, 3.16112374387056560, 1.13864154151050156e2, 3.77485237685302021e2,
                             3.20937758913846947e3};
  constexpr double kBottom[] = {1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3};
  constexpr double kInverseRoot2 = 0.70710678118654752440;
  if (std::isnan(x)) return x;
  const double z = x * kInverseRoot2, y = std::fabs(z);
  if (y <= 0.46875) return 0.5 + 0.5 * z * polynomial(kTop, z * z) / polynomial(kBottom, z * z);
  const double tail = 0.5 * upper_erfc(y);
  return z > 0 ? 1.0 - tail : tail;
}

// The p-quantile, 0 <= p <= 1.
inline double normal_quantile(double p) {
  constexpr double kA[] = {2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
                           1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080};
  constexpr double kB[] = {5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
                           5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0};
  constexpr double kC[] = {7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
                           1.27045825245236838258, 3.64784832476320460504, 5.76949722146069140550, 4.63033784615654529590,
                           1.42343711074968357734};
  constexpr double kD[] = {1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
                           1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940,
                           2.05319162663775882187, 1.0};
  constexpr double kE[] = {2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
                           2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580,
                           5.46378491116411436990, 6.65790464350110377720};
  constexpr double kF[] = {2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
                           7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
                           5.99832206555887937690e-1, 1.0};
  if (!(p >= 0.0 && p <= 1.0)) return NAN;
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(kA, r) / polynomial(kB, r);
  }
  const double tail = q < 0 ? p : 1 - p;
  if (tail == 0.0) return q < 0 ? -HUGE_VAL : HUGE_VAL;
  const double r = std::sqrt(-logarithm(tail));
  const double z = r <= 5.0 ? polynomial(kC, r - 1.6) / polynomial(kD, r - 1.6) : polynomial(kE, r - 5.0) / polynomial(kF, r - 5.0);
  return q < 0 ? -z : z;
}

}  // namespace shoal
