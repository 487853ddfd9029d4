// How many records each record may stand for when a missing cell matches every value.
//
// Two rows are compatible if they agree wherever both have a value. Compatibility is not transitive, so there
// are no classes; but rows that miss the same columns can be counted together. Let M(r) be the set of columns
// that r misses. Rows r and s are compatible exactly when their projections on the complement of
// M(r) u M(s) are equal. So for each pattern M' and each union U = M u M' that occurs, the rows of pattern M'
// are tallied by their projection off U once, and every row of a pattern M with M u M' = U looks its own
// projection up. With P patterns the cost is P passes over the distinct rows instead of one for every pair. Where
// that is more, as with rows that each miss something else, pairs are compared, as bits: the sums are the same.
//
// With `missing_counts` false a row with a missing cell counts for no row but itself: only the tallies of the
// complete rows are used. Weights of records are summed in the same way as their numbers.
#include <algorithm>
#include <map>

#include "core/bits.hpp"
#include "core/kernels.hpp"
#include "core/keys.hpp"
#include "core/progress.hpp"

namespace shoal {
namespace {

using Patterns = std::map<Columns, std::vector<std::size_t>>;

constexpr std::size_t kBlock = 512;    // rows that are compared with others while they lie in the nearest cache
constexpr std::size_t kTallied = 16;  // comparisons that take as long as one row tallied by its projection

// Rows as bits: of each column the digits of its code, and ones where it has one. Two rows agree wherever both have a
// value if no digit differs that both have.
class BitRows {
 public:
  explicit BitRows(const KeySpace& space) : size_(space.size()) {
    std::vector<std::int32_t> top(space.columns(), 0);
    for (std::size_t i = 0; i < size_; ++i)
      for (std::size_t j = 0; j < top.size(); ++j) top[j] = std::max(top[j], space.code(i, j));
    std::vector<Place> columns;
    int filled = 32;
    for (const std::int32_t most : top) {
      const int digits = std::max(1, 64 - leading_zeros(static_cast<std::uint64_t>(most)));
      if (filled + digits > 32) filled = 0, ++words_;
      columns.push_back({words_ - 1, filled, (std::uint32_t{1} << digits) - 1});
      filled += digits;
    }
    digits_.assign(size_ * words_, 0);
    known_.assign(digits_.size(), 0);
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const auto& [word, shift, mask] = columns[j];
      for (std::size_t i = 0; i < size_; ++i) {
        if (space.code(i, j) < 0) continue;
        digits_[word * size_ + i] |= static_cast<std::uint32_t>(space.code(i, j)) << shift;
        known_[word * size_ + i] |= mask << shift;
      }
    }
  }

  std::size_t words() const { return words_; }

  // Add to every row the amounts of those of `rows` that agree with it, summed one after the other.
  template <class Amount>
  void add_compared(const std::vector<std::size_t>& rows, const Amount* amounts, std::vector<Amount>& out) const {
    std::uint32_t differ[kBlock];
    Amount sum[kBlock];
    for (std::size_t start = 0; start < size_; start += kBlock) {
      const std::size_t many = std::min(kBlock, size_ - start);
      std::fill(sum, sum + many, Amount{0});
      for (const std::size_t row : rows) {
        compare(row, start, many, differ);
        const Amount amount = amounts[row];
        for (std::size_t i = 0; i < many; ++i) sum[i] += differ[i] == 0 ? amount : Amount{0};
      }
      for (std::size_t i = 0; i < many; ++i) out[start + i] += sum[i];
    }
  }

 private:
  struct Place {
    std::size_t word;
    int shift;
    std::uint32_t mask;
  };

  // The digits in which each of many rows differs from one.
  void compare(std::size_t row, std::size_t start, std::size_t many, std::uint32_t* differ) const {
    std::fill(differ, differ + many, 0u);
    for (std::size_t w = 0; w < words_; ++w) {
      const std::uint32_t *x = &digits_[w * size_ + start], *known = &known_[w * size_ + start];
      const std::uint32_t y = digits_[w * size_ + row], both = known_[w * size_ + row];
      for (std::size_t i = 0; i < many; ++i) differ[i] |= (x[i] ^ y) & known[i] & both;
    }
  }

  std::size_t size_, words_ = 0;
  std::vector<std::uint32_t> digits_, known_;  // word after word, of all rows
};

Patterns patterns_of(const KeySpace& space) {
  Patterns patterns;
  for (std::size_t i = 0; i < space.size(); ++i) patterns[space.missing(i)].push_back(i);
  return patterns;
}

using Unions = std::map<Columns, std::vector<Columns>>;

// The patterns by what they miss together with one.
Unions unions_with(const Patterns& patterns, Columns miss) {
  Unions unions;
  for (const auto& [other, _] : patterns) unions[other | miss].push_back(other);
  return unions;
}

// Add to every row the amounts of the compatible rows among `rows`, by tallies of their projections.
template <class Amount>
void add_tallied(const KeySpace& space, const Patterns& patterns, const Unions& unions,
                 const std::vector<std::size_t>& rows, const Amount* amounts, std::vector<Amount>& out,
                 Progress& progress) {
  HashTable<Key, Amount, HashOfKey> tally;
  for (const auto& [both, askers] : unions) {
    tally.reset(rows.size());
    progress.tick(0);
    for (const std::size_t i : rows) tally.at(space.key(i, both)) += amounts[i];
    for (const Columns asker : askers)
      for (const std::size_t i : patterns.at(asker)) out[i] += tally.get(space.key(i, both));
  }
}

// For each row the sum over the compatible rows; a row with missing cells that counts for no other gets `own` for itself.
template <class Amount>
auto compatible_sums(IntMatrix codes, const Amount* amounts, Amount own, bool missing_counts) {
  Progress progress;
  std::vector<Amount> out(codes.shape(0), 0);
  {
    nb::gil_scoped_release release;
    const KeySpace space(codes.data(), codes.shape(0), codes.shape(1));
    const Patterns patterns = patterns_of(space);
    const BitRows bits(space);
    for (const auto& [miss, rows] : patterns) {
      if (!missing_counts && miss != 0) continue;
      progress.look(0);
      const std::size_t compared = space.size() * rows.size() * bits.words();
      const auto tallied = [&](std::size_t unions) { return (unions * rows.size() + space.size()) * kTallied; };
      const bool few = compared <= tallied(1);
      const Unions unions = few ? Unions{} : unions_with(patterns, miss);
      if (few || compared <= tallied(unions.size())) {
        bits.add_compared(rows, amounts, out);
      } else {
        add_tallied(space, patterns, unions, rows, amounts, out, progress);
      }
    }
    if (!missing_counts)
      for (std::size_t i = 0; i < space.size(); ++i) out[i] += space.missing(i) != 0 ? own : 0;
  }
  return to_numpy(std::move(out));
}

constexpr const char* kCounts = R"(Count the records that agree with each row wherever both have a value.

Parameters
----------
codes
    Shape (n, q); distinct rows of category codes, -1 for missing; at most 31 keys and 2^127 combinations.
counts
    Shape (n,); records that each row stands for.
missing_counts
    Whether records with a missing cell count for others; if not, they count for themselves only.

Returns
-------
Shape (n,); for each row the number of records compatible with one of its records, that one included.)";

constexpr const char* kWeights = R"(As `wildcard_counts`, of the weights of records; without `missing_counts`, of the complete records alone.

Parameters
----------
weights
    Shape (n,); summed over the records that each row stands for.)";

auto wildcard_counts(IntMatrix codes, Longs counts, bool missing_counts) {
  return compatible_sums<std::int64_t>(codes, counts.data(), 1, missing_counts);
}

auto wildcard_weights(IntMatrix codes, Vector weights, bool missing_counts) {
  return compatible_sums<double>(codes, weights.data(), 0.0, missing_counts);
}

}  // namespace

static const Kernel wildcard_counts_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("wildcard_counts", &wildcard_counts, "codes"_a, "counts"_a, nb::kw_only(), "missing_counts"_a = true,
        kCounts);
  m.def("wildcard_weights", &wildcard_weights, "codes"_a, "weights"_a, nb::kw_only(), "missing_counts"_a = true,
        kWeights);
});

}  // namespace shoal
