// MDAV-generic (Domingo-Ferrer & Torra 2005): groups of k around the record farthest from the mean and
// around the record farthest from that one, until too few are left.
//
// The algorithm is written once, for any engine that answers three questions exactly: which live record is
// farthest from the mean, which are nearest to a record, which is farthest from a record. `Brute` answers
// them by looking at every record, `Tree` by bounds; both follow the canonical order (squared distance in
// float64, then the lower row), so their partitions are the same, bit for bit.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "core/progress.hpp"

namespace shoal {

template <class Records, class Mean, class Engine>
class Mdav {
 public:
  // `mean` has no row yet.
  Mdav(const Records& table, std::size_t k, const Mean& mean, Engine& engine, Progress& progress)
      : table_(table), k_(k), engine_(engine), progress_(progress), mean_(mean), centre_(mean.size()),
        labels_(table.n, -1) {
    for (std::size_t i = 0; i < table.n; ++i) mean_.add(table.row(i));
  }

  std::vector<std::int32_t> run() {
    while (engine_.live() >= 3 * k_) {  // step 1
      const std::int32_t r = farthest_from_mean();
      const std::int32_t s = group_around(r, true);
      group_around(s, false);
      const double left = static_cast<double>(engine_.live()) / static_cast<double>(table_.n);
      progress_.look(1.0 - left);
    }
    if (engine_.live() >= 2 * k_) group_around(farthest_from_mean(), false);  // step 2
    for (auto& label : labels_)
      if (label < 0) label = groups_;  // step 3: the rest
    return std::move(labels_);
  }

 private:
  std::int32_t farthest_from_mean() {
    mean_.mean(centre_.data());
    return engine_.farthest_from_mean(centre_.data());
  }

  std::int32_t group_around(std::int32_t seed, bool farthest_next) {
    const std::int32_t next = engine_.take(seed, k_, rows_, farthest_next);
    for (std::int32_t row : rows_) {
      labels_[row] = groups_;
      mean_.remove(table_.row(row));
    }
    ++groups_;
    return next;
  }

  const Records& table_;
  std::size_t k_;
  Engine& engine_;
  Progress& progress_;
  Mean mean_;
  std::vector<double> centre_;
  std::vector<std::int32_t> labels_, rows_;
  std::int32_t groups_ = 0;
};

}  // namespace shoal
