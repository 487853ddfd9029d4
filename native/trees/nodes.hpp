// A tree as arrays, and what its leaves hold.
#pragma once
#include <cstdint>
#include <vector>

namespace shoal {

struct Tree {
  std::vector<std::int32_t> feature, left, right, leaf, mask;
  std::vector<double> threshold;
  std::vector<std::uint8_t> missing_left, masks;
  std::vector<std::int32_t> members, sizes;  // cases leaf by leaf, as often as they count, and how many a leaf has

  std::int32_t add() {
    for (auto* list : {&feature, &left, &right, &leaf, &mask}) list->push_back(-1);
    threshold.push_back(0);
    missing_left.push_back(0);
    return static_cast<std::int32_t>(feature.size()) - 1;
  }
};

}  // namespace shoal
