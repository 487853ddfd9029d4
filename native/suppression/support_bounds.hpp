// Upper bounds of how many records have the cell of a row, for all rows at once and without a table of the cells.
//
// With ten keys or more nearly every small set of cells leaves nearly every row alone, so that what decides the time is
// to see that. Each code of each column has a random number; the numbers of the columns that are not blank, summed, say
// where the records of a row are counted. Rows of one cell are counted in one place, which others may share: a count
// below k proves that the cell has fewer than k records, and all others are looked at exactly.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/keys.hpp"
#include "core/progress.hpp"

namespace shoal {
inline namespace suppression {

class SupportBounds {
 public:
  // `counts`, by row of the space, outlive the bounds.
  SupportBounds(const KeySpace& space, const std::int64_t* counts, std::int64_t k, Progress& progress)
      : space_(space), counts_(counts), most_(std::min<std::int64_t>(k, kMost)), progress_(progress),
        numbers_(space.columns(), std::vector<std::uint32_t>(space.size())), sums_(space.size()) {
    int bits = 6;
    while ((std::size_t{1} << bits) < 2 * space.size() && bits < 31) ++bits;
    shift_ = 32 - bits;
    counted_.assign(std::size_t{1} << bits, 0);
    asked_.assign(counted_.size(), 0);
    for (std::size_t j = 0; j < numbers_.size(); ++j)
      for (std::size_t i = 0; i < space.size(); ++i) numbers_[j][i] = number(j, space.code(i, j));
    for (std::size_t i = 0; i < space.size(); ++i)
      if (space.missing(i)) complete_ = false;
  }

  void clear() {
    std::fill(counted_.begin(), counted_.end(), 0);
    std::fill(asked_.begin(), asked_.end(), 0);
  }

  // Count the rows that miss no column but those of a set.
  void add(Columns both) {
    sum_up(both);
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      if (!complete_ && (space_.missing(i) & ~both)) continue;
      auto& count = counted_[sums_[i] >> shift_];
      count = static_cast<std::int32_t>(std::min(most_, count + counts_[i]));
    }
  }

  // Whether the cell of a row may have k records; its place is then asked for.
  bool ask(std::int64_t row, Columns both) {
    std::uint32_t sum = 0;
    if (both == summed_) {
      sum = sums_[row];
    } else {
      for (std::size_t j = 0; j < numbers_.size(); ++j) sum += both >> j & 1 ? 0 : numbers_[j][row];
    }
    if (counted_[sum >> shift_] < most_) return false;
    asked_[sum >> shift_] = 1;
    return true;
  }

  // Call with each row that misses no column but those of a set and is counted where one was asked for, in order.
  template <class Call>
  void each_asked(Columns both, Call call) {
    sum_up(both);
    for (std::size_t i = 0; i < sums_.size(); ++i)
      if (asked_[sums_[i] >> shift_] && (complete_ || !(space_.missing(i) & ~both)))
        call(static_cast<std::int64_t>(i));
  }

 private:
  static std::uint32_t number(std::size_t j, std::int32_t code) {
    const std::uint64_t both = static_cast<std::uint64_t>(j) << 32 | static_cast<std::uint32_t>(code);
    return static_cast<std::uint32_t>(mixed((both + 1) * kGolden) >> 32);
  }

  // The sums of all rows when the columns of a set are blank.
  void sum_up(Columns both) {
    if (both == summed_) return;
    summed_ = both;
    progress_.look(0.0);
    std::fill(sums_.begin(), sums_.end(), 0);
    for (std::size_t j = 0; j < numbers_.size(); ++j) {
      if (both >> j & 1) continue;
      const std::uint32_t* of_column = numbers_[j].data();
      for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += of_column[i];
    }
  }

  static constexpr std::int64_t kMost = 1 << 30;  // a larger k is bounded as this

  const KeySpace& space_;
  const std::int64_t* counts_;
  const std::int64_t most_;
  Progress& progress_;
  std::vector<std::vector<std::uint32_t>> numbers_;  // by column and row
  std::vector<std::uint32_t> sums_;                  // by row, of the columns that are not blank
  std::vector<std::int32_t> counted_;                // by place, up to k
  std::vector<std::uint8_t> asked_;
  Columns summed_ = ~Columns{0};  // at most 31 columns
  bool complete_ = true;
  int shift_ = 0;
};

}  // namespace suppression
}  // namespace shoal
