// The distinct values of a column of integers, ascending, and the number of each record's value.
//
// What np.unique(values, return_inverse=True) gives, by hashing: one pass numbers values as they first
// appear in an open-addressing table (linear probing, at most half full, splitmix64 as the hash), then only
// the distinct values are sorted and renumbered. n records with C values cost O(n + C log C) instead of
// O(n log n), and the answer is the same to the last number.
#include <algorithm>
#include <numeric>

#include "kernels.hpp"

namespace shoal {
namespace {

std::uint64_t mixed(std::int64_t value) {
  std::uint64_t z = static_cast<std::uint64_t>(value) + 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// Values in order of first appearance, each with a number.
class Numbering {
 public:
  Numbering() : slots_(1024, -1) {}

  std::int32_t number(std::int64_t value) {
    std::size_t at = place(value);
    if (slots_[at] < 0) {
      if (2 * values_.size() >= slots_.size()) {
        grow();
        at = place(value);
      }
      slots_[at] = static_cast<std::int32_t>(values_.size());
      values_.push_back(value);
    }
    return slots_[at];
  }
  const std::vector<std::int64_t>& values() const { return values_; }

 private:
  std::size_t place(std::int64_t value) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = mixed(value) & mask;
    while (slots_[at] >= 0 && values_[static_cast<std::size_t>(slots_[at])] != value) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    slots_.assign(4 * slots_.size(), -1);
    for (std::size_t j = 0; j < values_.size(); ++j) slots_[place(values_[j])] = static_cast<std::int32_t>(j);
  }

  std::vector<std::int32_t> slots_;
  std::vector<std::int64_t> values_;
};

auto distinct(Longs values) {
  const std::size_t n = values.shape(0);
  std::vector<std::int64_t> inverse(n), ascending;
  {
    nb::gil_scoped_release unlocked;
    Numbering numbering;
    for (std::size_t i = 0; i < n; ++i) inverse[i] = numbering.number(values.data()[i]);
    const auto& found = numbering.values();
    std::vector<std::pair<std::int64_t, std::int32_t>> order(found.size());
    for (std::size_t j = 0; j < found.size(); ++j) order[j] = {found[j], static_cast<std::int32_t>(j)};
    std::sort(order.begin(), order.end());
    std::vector<std::int64_t> rank(found.size());
    for (std::size_t r = 0; r < order.size(); ++r) {
      rank[static_cast<std::size_t>(order[r].second)] = static_cast<std::int64_t>(r);
      ascending.push_back(order[r].first);
    }
    for (auto& number : inverse) number = rank[static_cast<std::size_t>(number)];
  }
  return std::make_pair(to_numpy(std::move(ascending)), to_numpy(std::move(inverse)));
}

}  // namespace

static const Kernel kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("distinct", &distinct, "values"_a);
});

}  // namespace shoal
