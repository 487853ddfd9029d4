// Exhaustive search with deletions: the reference engine, and the faster one for small tables.
//
// The live records are kept packed in blocks of 32, column by column, so that the distances of a whole block
// are computed in vector registers, each lane adding its columns in order (the canonical float64 sum). A
// removed record is overwritten by the last one; the order of records means nothing, since ties are broken by
// row number.
#pragma once
#include <algorithm>
#include <vector>
#include "core/table.hpp"
#include "search/scans.hpp"

namespace shoal {

class Brute {
 public:
  Brute(const Table& table, const std::vector<std::int32_t>& rows, const Scans& scans)
      : d_(table.d), live_(rows.size()), scans_(scans), table_(table), row_(rows), slot_(table.n, -1) {
    const std::size_t blocks = (live_ + kBlock - 1) / kBlock;
    values_.assign(blocks * kBlock * d_, 0.0);
    distance_.resize(blocks * kBlock);
    for (std::size_t s = 0; s < live_; ++s) {
      slot_[row_[s]] = static_cast<std::int32_t>(s);
      for (std::size_t j = 0; j < d_; ++j) at(s, j) = table.row(row_[s])[j];
    }
  }

  std::size_t live() const { return live_; }
  bool alive(std::int32_t row) const { return slot_[row] >= 0; }

  // The live record farthest from q.
  std::int32_t farthest(const double* q) {
    measure(q);
    return farthest_measured();
  }

  std::int32_t farthest_from_mean(const double* q) { return farthest(q); }

  // The `count` live records nearest to q, in order; `seed` (a live row, or -1) comes first whatever its row.
  void nearest(const double* q, std::int32_t seed, std::size_t count, std::vector<Neighbour>& out) {
    measure(q);
    nearest_measured(seed, count, out);
  }

  // Remove `seed` and its k - 1 nearest into `rows`; then the record farthest from the seed among those left
  // if one is asked for, else -1.
  std::int32_t take(std::int32_t seed, std::size_t k, std::vector<std::int32_t>& rows, bool farthest_next) {
    measure(table_.row(seed));
    nearest_measured(seed, k, neighbours_);
    rows.clear();
    for (const auto& f : neighbours_) rows.push_back(f.row);
    remove(rows);
    return farthest_next ? farthest_measured() : -1;
  }

  void remove(const std::vector<std::int32_t>& rows) {
    for (std::int32_t row : rows) remove(row);
  }

 private:
  double& at(std::size_t s, std::size_t j) {
    return values_[(s / kBlock * d_ + j) * kBlock + s % kBlock];
  }

  void measure(const double* q) {
    for (std::size_t s = 0; s < live_; s += kBlock)
      scans_.exact_distances(values_.data() + s * d_, q, d_, distance_.data() + s);
  }

  std::int32_t farthest_measured() const {
    double best = -1.0;
    for (std::size_t s = 0; s < live_; ++s) best = distance_[s] > best ? distance_[s] : best;
    std::int32_t row = -1;
    for (std::size_t s = 0; s < live_; ++s)
      if (distance_[s] == best && (row < 0 || row_[s] < row)) row = row_[s];
    return row;
  }

  void nearest_measured(std::int32_t seed, std::size_t count, std::vector<Neighbour>& out) {
    out.clear();
    if (seed >= 0) distance_[slot_[seed]] = -1.0;
    for (std::size_t s = 0; s < live_; ++s) {
      if (out.size() == count && distance_[s] > out.front().d2) continue;
      const Neighbour candidate{distance_[s], row_[s]};
      if (out.size() == count) {
        if (!(candidate < out.front())) continue;
        std::pop_heap(out.begin(), out.end());
        out.pop_back();
      }
      out.push_back(candidate);
      std::push_heap(out.begin(), out.end());
    }
    std::sort_heap(out.begin(), out.end());
    if (seed >= 0) out.front().d2 = 0.0;
  }

  void remove(std::int32_t row) {
    const std::size_t hole = slot_[row], last = --live_;
    slot_[row] = -1;
    if (hole == last) return;
    for (std::size_t j = 0; j < d_; ++j) at(hole, j) = at(last, j);
    distance_[hole] = distance_[last];
    row_[hole] = row_[last];
    slot_[row_[hole]] = static_cast<std::int32_t>(hole);
  }

  std::size_t d_, live_;
  const Scans& scans_;
  const Table& table_;
  std::vector<std::int32_t> row_, slot_;
  std::vector<double> values_, distance_;
  std::vector<Neighbour> neighbours_;
};

}  // namespace shoal
