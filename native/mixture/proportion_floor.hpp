// Mixing proportions held above a floor: equations (3) and (4) of Oganian & Domingo-Ferrer (2017).
//
//   pi' = (pi + delta) / (1 + G delta),  delta = (k/n - min pi) / (1 - G k/n)  if min pi < k/n, else 0.
//
// Put delta in and simplify: pi' = 1/G + (pi - 1/G)(1 - G k/n)/(1 - G min pi). This form stays finite at
// G k = n, where it is uniform, and shows that the order is kept and that pi = 1/G stays.
#pragma once
#include <algorithm>
#include <vector>

namespace shoal {

inline std::vector<double> floored_proportions(std::vector<double> pi, double floor) {
  const double even = 1.0 / static_cast<double>(pi.size());
  const double least = *std::min_element(pi.begin(), pi.end());
  if (least >= floor) return pi;
  const double surplus = std::max(0.0, even - floor);
  for (double& p : pi) p = std::max(floor, even + (p - even) * surplus / (even - least));
  return pi;
}

}  // namespace shoal
