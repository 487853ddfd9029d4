// The smallest classes of a node first: as few of them as it takes are dropped for what is required of the whole table.
#pragma once
#include <algorithm>
#include <tuple>

#include "generalisation/objective.hpp"

namespace shoal {

struct SmallClass {
  std::int64_t size;
  double added;  // to the loss by dropping it
  std::size_t number;
  bool operator<(const SmallClass& other) const { return std::tie(size, added, number) < std::tie(other.size, other.added, other.number); }
};

// The classes that are kept, by their size and what dropping them costs.
inline std::vector<SmallClass> by_size(const Objective& objective, const Levels& node, const std::vector<std::int32_t>& ids,
                                       const std::vector<std::int64_t>& sizes, const std::vector<char>& kept) {
  const std::vector<double> added = objective.added(node, ids, sizes);
  std::vector<SmallClass> order;
  for (std::size_t c = 0; c < sizes.size(); ++c)
    if (kept[c] && sizes[c] > 0) order.push_back({sizes[c], added[c], c});
  std::sort(order.begin(), order.end());
  return order;
}

// How many of them must go until the classes over the records, the average risk, are `average` at most.
inline std::size_t too_risky(const std::vector<SmallClass>& order, double average) {
  std::int64_t records = 0;
  for (const SmallClass& one : order) records += one.size;
  std::size_t count = 0;
  while (count < order.size() && static_cast<double>(order.size() - count) > average * static_cast<double>(records)) records -= order[count++].size;
  return count;
}

// The least number from `low` on of which something holds that holds of all above it, and of `high`.
template <class Holds>
std::size_t least_of(std::size_t low, std::size_t high, const Holds& holds) {
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (holds(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return high;
}

}  // namespace shoal
