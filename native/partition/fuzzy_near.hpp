// A step of fuzzy clustering that leaves out centres whose weight is below a share of the nearest one's.
//
// Most of the time of a step goes into far centres, of which a record has next to nothing. Records are taken in runs of
// kRun that follow one another, centres in blocks of kBlock; both have bounding boxes, and the squared gap between a run's
// box and a block's is no more than any squared distance between the two. So the gaps tell, one after the other,
//   - which centres may be nearest to a record of the run: one of them, whichever, has some distance from each;
//   - from these, how far each record is from its nearest one, and beyond which distance it leaves out centres;
//   - which centres may lie within the largest of these distances.
// Only the last are looked at record by record. Gaps are summed up as distances are, and no rounding makes a smaller number
// the larger one, so what is left out is what it would be if every centre were looked at: the result has the same bits.
#pragma once
#include <cstdint>

#include "core/progress.hpp"
#include "partition/fuzzy_rule.hpp"

namespace shoal {

inline double least_of(const double* values, std::size_t count) {  // four apart, for each waits for the one before
  double a = values[0], b = a, c = a, e = a;
  std::size_t j = 0;
  for (; j + 4 <= count; j += 4) {
    a = values[j] < a ? values[j] : a;
    b = values[j + 1] < b ? values[j + 1] : b;
    c = values[j + 2] < c ? values[j + 2] : c;
    e = values[j + 3] < e ? values[j + 3] : e;
  }
  for (; j < count; ++j) a = values[j] < a ? values[j] : a;
  return std::min(std::min(a, b), std::min(c, e));
}

class NearStep {
 public:
  NearStep(const double* x, std::size_t n, std::size_t d, const Rule& rule, double share, FuzzySums& sums)
      : x_(x), n_(n), d_(d), c_(rule.centres()), blocks_((c_ + kBlock - 1) / kBlock), padded_blocks_(in_fours(blocks_)),
        rule_(rule), share_(share), sums_(sums), block_low_(padded_blocks_ * d, 0.0), block_high_(block_low_),
        gaps_(padded_blocks_), low_(d), high_(d), ids_(rule.padded()), columns_(rule.padded() * d), all_(rule.padded()),
        d2_(rule.padded()), t_(rule.padded()), w_(rule.padded()), near_(rule.padded()) {
    for (std::size_t s = 0; s < d; ++s)
      for (std::size_t b = 0; b < blocks_; ++b) {
        const double* const column = rule.columns() + s * rule.padded();
        const auto ends = std::minmax_element(column + b * kBlock, column + std::min(c_, (b + 1) * kBlock));
        block_low_[s * padded_blocks_ + b] = *ends.first;
        block_high_[s * padded_blocks_ + b] = *ends.second;
      }
  }

  // Adds up the weighted records; returns the objective.
  double run(Progress& progress) {
    double objective = 0.0;
    for (std::size_t first = 0; first < n_; first += kRun) {
      const std::size_t rows = std::min(kRun, n_ - first);
      look_for_centres(x_ + first * d_, rows);
      for (std::size_t r = 0; r < rows; ++r) objective += add(x_ + (first + r) * d_, least_[r]);
      progress.tick(static_cast<double>(first) / static_cast<double>(n_));
    }
    return objective;
  }

 private:
  static constexpr std::size_t kRun = 16, kBlock = 8;

  // Find the centres that records have weight for, and how far each is from its nearest one.
  void look_for_centres(const double* x, std::size_t rows) {
    for (std::size_t s = 0; s < d_; ++s) {
      low_[s] = high_[s] = x[s];
      for (std::size_t r = 1; r < rows; ++r) {
        low_[s] = std::min(low_[s], x[r * d_ + s]);
        high_[s] = std::max(high_[s], x[r * d_ + s]);
      }
    }
    rule_.loops().gaps(block_low_.data(), block_high_.data(), padded_blocks_, low_.data(), high_.data(), d_,
                       padded_blocks_, gaps_.data());
    collect(within_reach_of_all(x, rows));
    double farthest = 0.0;
    for (std::size_t r = 0; r < rows; ++r) {
      distances(x + r * d_);
      least_[r] = least_of(all_.data(), count_);
      farthest = std::max(farthest, rule_.farthest(least_[r], share_));
    }
    collect(farthest);
  }

  // A squared distance within which every record has a centre: that of its farthest from the best centre of the nearest
  // block.
  double within_reach_of_all(const double* x, std::size_t rows) {
    const auto gap = std::min_element(gaps_.begin(), gaps_.begin() + static_cast<std::ptrdiff_t>(blocks_));
    const std::size_t begin = static_cast<std::size_t>(gap - gaps_.begin()) * kBlock;
    const std::size_t end = std::min(c_, begin + kBlock);
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t j = begin; j < end; ++j) {
      double farthest = 0.0;
      for (std::size_t r = 0; r < rows; ++r) {
        double sum = 0.0;
        for (std::size_t s = 0; s < d_; ++s) {
          const double t = rule_.columns()[s * rule_.padded() + j] - x[r * d_ + s];
          sum += t * t;
        }
        farthest = std::max(farthest, sum);
      }
      best = std::min(best, farthest);
    }
    return best;
  }

  // Gather the centres that may lie within a squared distance of a record of the run.
  void collect(double reach) {
    const std::size_t stride = rule_.padded();
    count_ = 0;
    double gaps[kBlock];
    for (std::size_t b = 0; b < blocks_; ++b) {
      if (gaps_[b] > reach) continue;
      const std::size_t first = b * kBlock, count = std::min(kBlock, c_ - first);
      const double* const columns = rule_.columns() + first;
      rule_.loops().gaps(columns, columns, stride, low_.data(), high_.data(), d_, in_fours(count), gaps);
      for (std::size_t j = 0; j < count; ++j) {
        ids_[count_] = static_cast<std::uint32_t>(first + j);
        count_ += gaps[j] <= reach;
      }
    }
    const std::size_t padded = in_fours(count_);
    for (std::size_t s = 0; s < d_; ++s) {
      for (std::size_t k = 0; k < count_; ++k) columns_[s * padded + k] = rule_.columns()[s * stride + ids_[k]];
      for (std::size_t k = count_; k < padded; ++k) columns_[s * padded + k] = kFarAway;
    }
  }

  void distances(const double* x) {
    rule_.loops().distances(columns_.data(), x, d_, in_fours(count_), all_.data());
  }

  // Adds one record's weights to its near centres; returns its part of the objective.
  double add(const double* x, double least) {
    distances(x);
    const double farthest = rule_.farthest(least, share_);
    std::size_t count = 0;
    for (std::size_t k = 0; k < count_; ++k) {
      near_[count] = ids_[k];
      d2_[count] = all_[k];
      count += all_[k] <= farthest;
    }
    for (std::size_t k = count; k < in_fours(count); ++k) d2_[k] = farthest;
    const double sum = rule_.shares(d2_.data(), count, least, t_.data());
    const double log_factor = rule_.log_factor(sum);
    sums_.raise(log_factor);
    rule_.weights(t_.data(), d2_.data(), count, least, sums_.relative(log_factor), w_.data());
    sums_.add_to(rule_.loops(), near_.data(), count, w_.data(), x);
    return rule_.objective(least, sum);
  }

  const double* x_;
  std::size_t n_, d_, c_, blocks_, padded_blocks_;
  const Rule& rule_;
  double share_;
  FuzzySums& sums_;
  std::vector<double> block_low_, block_high_, gaps_;  // of centres: boxes, and their gaps from the run's
  std::vector<double> low_, high_;                     // the run's box
  double least_[kRun];                                 // of each record of the run, from its nearest centre
  std::size_t count_ = 0;                              // of the centres gathered: number, ids, columns
  std::vector<std::uint32_t> ids_;
  std::vector<double> columns_;
  std::vector<double> all_, d2_, t_, w_;               // of a record: from all gathered, and from those near it
  std::vector<std::uint32_t> near_;
};

}  // namespace shoal
