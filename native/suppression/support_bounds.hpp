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

#include "core/bits.hpp"
#include "core/keys.hpp"
#include "core/progress.hpp"

namespace shoal {
inline namespace suppression {

class SupportBounds {
 public:
  // `counts`, by row of the space, outlive the bounds.
  SupportBounds(const KeySpace& space, const std::int64_t* counts, std::int64_t k, Progress& progress)
      : space_(space), counts_(counts), most_(std::min<std::int64_t>(k, kMost)), progress_(progress),
        numbers_(space.columns(), std::vector<std::uint32_t>(space.size())), sums_of_(1) {
    int bits = 6;
    while ((std::size_t{1} << bits) < 2 * space.size() && bits < 31) ++bits;
    shift_ = 32 - bits;
    counted_.assign(std::size_t{1} << bits, 0);
    asked_.assign(counted_.size(), 0);
    for (std::size_t j = 0; j < numbers_.size(); ++j)
      for (std::size_t i = 0; i < space.size(); ++i) numbers_[j][i] = number(j, space.code(i, j));
    sums_of_[0].assign(space.size(), 0);
    for (const auto& of_column : numbers_)
      for (std::size_t i = 0; i < space.size(); ++i) sums_of_[0][i] += of_column[i];
    sums_ = sums_of_[0].data();
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
    for (std::size_t i = 0; i < space_.size(); ++i) {
      if (!complete_ && (space_.missing(i) & ~both)) continue;
      auto& count = counted_[sums_[i] >> shift_];
      count = static_cast<std::int32_t>(std::min(most_, count + counts_[i]));
    }
  }

  // Whether the cell of a row may have k records; its place is then asked for.
  bool ask(std::int64_t row, Columns both) {
    std::uint32_t sum = both == summed_ ? sums_[row] : sums_of_[0][row];
    for (Columns left = both == summed_ ? 0 : both; left; left &= left - 1) sum -= numbers_[lowest_bit(left)][row];
    if (counted_[sum >> shift_] < most_) return false;
    asked_[sum >> shift_] = 1;
    return true;
  }

  // Call with each row that misses no column but those of a set and is counted where one was asked for, in order.
  template <class Call>
  void each_asked(Columns both, Call call) {
    sum_up(both);
    for (std::size_t i = 0; i < space_.size(); ++i)
      if (asked_[sums_[i] >> shift_] && (complete_ || !(space_.missing(i) & ~both)))
        call(static_cast<std::int64_t>(i));
  }

 private:
  static std::uint32_t number(std::size_t j, std::int32_t code) {
    const std::uint64_t both = static_cast<std::uint64_t>(j) << 32 | static_cast<std::uint32_t>(code);
    return static_cast<std::uint32_t>(mixed((both + 1) * kGolden) >> 32);
  }

  // The sums of all rows when the columns of a set are blank: those without its lowest column, less that one's numbers.
  // Sets come the largest number first, so that most differ from the last in a column or two.
  void sum_up(Columns both) {
    if (both == summed_) return;
    summed_ = both;
    progress_.look(0.0);
    std::size_t depth = 0;
    Columns left = both;
    while (left && depth + 1 < less_.size() && highest_bit(left) == less_[depth + 1]) {
      ++depth;
      left &= ~(Columns{1} << less_[depth]);
    }
    less_.resize(depth + 1);
    for (; left; left &= ~(Columns{1} << less_[depth])) {
      less_.push_back(highest_bit(left));
      if (++depth == sums_of_.size()) sums_of_.emplace_back(space_.size());
      const std::uint32_t *from = sums_of_[depth - 1].data(), *of_column = numbers_[less_[depth]].data();
      std::uint32_t* to = sums_of_[depth].data();
      for (std::size_t i = 0; i < space_.size(); ++i) to[i] = from[i] - of_column[i];
    }
    sums_ = sums_of_[depth].data();
  }

  static constexpr std::int64_t kMost = 1 << 30;  // a larger k is bounded as this

  const KeySpace& space_;
  const std::int64_t* counts_;
  const std::int64_t most_;
  Progress& progress_;
  std::vector<std::vector<std::uint32_t>> numbers_;  // by column and row
  std::vector<std::vector<std::uint32_t>> sums_of_;  // by row, of the columns that are not in `less_` up to a place
  std::vector<std::size_t> less_{0};                 // columns of the set, the last first, from place 1
  const std::uint32_t* sums_ = nullptr;              // of the set
  std::vector<std::int32_t> counted_;                // by place, up to k
  std::vector<std::uint8_t> asked_;
  Columns summed_ = 0;
  bool complete_ = true;
  int shift_ = 0;
};

}  // namespace suppression
}  // namespace shoal
