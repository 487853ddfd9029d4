// Classes of records with rare values, where a requirement bounds how many records of a value a class may hold.
//
// Under beta-likeness a value's share in a class is at most 1 + beta times its share in the table, so that a record with a
// rare value needs a large class, and all records of a value together need the same part of the table whatever the value is.
// What is bounded so is best met by few large classes that are filled with rare values, the rarest first, up to the bound of
// each: the records that are left have common values only, and classes may be small.
#pragma once
#include "generalisation/covers.hpp"
#include "requirement/requirement_check.hpp"

namespace shoal {

class RareValues {
 public:
  RareValues(const RequirementCheck& check, std::size_t records) : check_(check), needs_(records, 1), bins_(check.columns()), limits_(check.columns()), tallies_(check.columns()) {
    for (std::size_t q = 0; q < check.columns(); ++q) {
      for (std::size_t i = 0; i < records; ++i) bins_[q] = std::max(bins_[q], bin(q, static_cast<std::int32_t>(i)) + 1);
      std::vector<std::size_t> least(bins_[q], 0);
      for (std::size_t i = 0; i < records; ++i) {
        const std::size_t b = bin(q, static_cast<std::int32_t>(i));
        if (least[b] == 0) {
          least[b] = size_for(q, b, 1, records);
          bounded_ = bounded_ || check.most(q, static_cast<Bin>(b) - 1, records) < records;
        }
        needs_[i] = std::max(needs_[i], least[b]);
      }
    }
  }

  // Whether any value is bounded.
  bool bounded() const { return bounded_; }
  // The least size of a class that may hold a record.
  std::size_t need(std::int32_t record) const { return needs_[static_cast<std::size_t>(record)]; }
  std::size_t largest_need() const { return *std::max_element(needs_.begin(), needs_.end()); }

  // The most of some records that keep the bounds among themselves, the first of each value.
  Members largest_part(Members members) {
    for (std::size_t before = members.size() + 1; before > members.size() && !members.empty();) {
      before = members.size();
      members = within(members, before, before);
    }
    return members;
  }

  // Some of a pool of records that keep the bounds, among them as many as may be of those that need `floor` or more, and
  // no more others than these need; `k` in all at least. None where the pool has none.
  Members reserved(Members pool, std::size_t floor, std::size_t k) {
    std::size_t least = pool.size() + 1;
    for (const std::int32_t i : pool)
      if (need(i) >= floor) least = std::min(least, need(i));
    if (least > pool.size()) return {};
    std::sort(pool.begin(), pool.end(), [&](std::int32_t a, std::int32_t b) { return need(a) != need(b) ? need(a) > need(b) : a < b; });
    least = std::max(least, k);
    for (std::size_t c = std::max(size_for_rare(pool, floor), least); c >= least && c <= pool.size(); c = c > least ? std::max(c / 2, least) : 0) {
      Members part = within(pool, c, c);
      if (part.size() == c && std::any_of(part.begin(), part.end(), [&](std::int32_t i) { return need(i) >= floor; })) return part;
    }
    return {};
  }

 private:
  std::size_t bin(std::size_t q, std::int32_t record) const { return static_cast<std::size_t>(check_.bin(q, record) + 1); }

  // The least size of a class that may hold so many records of a bin; at most `records`.
  std::size_t size_for(std::size_t q, std::size_t b, std::size_t count, std::size_t records) const {
    std::size_t low = count, high = std::max(records, count);
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (check_.most(q, static_cast<Bin>(b) - 1, middle) >= count)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }

  // The size, at most the pool's, of a class that may hold all those that need `floor` or more.
  std::size_t size_for_rare(const Members& pool, std::size_t floor) {
    std::size_t size = 1;
    for (std::size_t q = 0; q < bins_.size(); ++q) {
      std::vector<std::size_t>& tally = tallies_[q];
      tally.assign(bins_[q], 0);
      for (const std::int32_t i : pool)
        if (need(i) >= floor) ++tally[bin(q, i)];
      for (std::size_t b = 0; b < bins_[q]; ++b)
        if (tally[b] > 0) size = std::max(size, size_for(q, b, std::min(tally[b], pool.size()), pool.size()));
    }
    return std::min(size, pool.size());
  }

  // The first `most` of some records, passing over those that go beyond the bounds of a class of `c`.
  Members within(const Members& members, std::size_t c, std::size_t most) {
    for (std::size_t q = 0; q < bins_.size(); ++q) {
      limits_[q].assign(bins_[q], kUnknown);
      tallies_[q].assign(bins_[q], 0);
    }
    Members kept;
    for (const std::int32_t i : members) {
      bool fits = true;
      for (std::size_t q = 0; q < bins_.size(); ++q) {
        const std::size_t b = bin(q, i);
        if (limits_[q][b] == kUnknown) limits_[q][b] = check_.most(q, static_cast<Bin>(b) - 1, c);
        fits = fits && tallies_[q][b] < limits_[q][b];
      }
      if (!fits) continue;
      for (std::size_t q = 0; q < bins_.size(); ++q) ++tallies_[q][bin(q, i)];
      kept.push_back(i);
      if (kept.size() == most) break;
    }
    return kept;
  }

  static constexpr std::size_t kUnknown = static_cast<std::size_t>(-1);

  const RequirementCheck& check_;
  std::vector<std::size_t> needs_;
  std::vector<std::size_t> bins_;  // of each column, one more for missing cells
  bool bounded_ = false;
  std::vector<std::vector<std::size_t>> limits_, tallies_;  // by column and bin
};

}  // namespace shoal
