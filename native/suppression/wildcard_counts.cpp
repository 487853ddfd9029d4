// How many records each record may stand for when a missing cell matches every value.
//
// Two rows are compatible if they agree wherever both have a value. Compatibility is not transitive, so there
// are no classes; but rows that miss the same columns can be counted together. Let M(r) be the set of columns
// that r misses. Rows r and s are compatible exactly when their projections on the complement of
// M(r) u M(s) are equal. So for each pattern M' and each union U = M u M' that occurs, the rows of pattern M'
// are tallied by their projection off U once, and every row of a pattern M with M u M' = U looks its own
// projection up. With P patterns the cost is P passes over the distinct rows instead of one for every pair.
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

constexpr std::size_t kFew = 48;  // rows of a pattern that are compared with each row

// Rows as bits: of each column the digits of its code, and ones where it has one. Two rows agree wherever both have a
// value if no digit differs that both have.
class BitRows {
 public:
  explicit BitRows(const KeySpace& space) {
    std::vector<std::int32_t> top(space.columns(), 0);
    for (std::size_t i = 0; i < space.size(); ++i)
      for (std::size_t j = 0; j < top.size(); ++j) top[j] = std::max(top[j], space.code(i, j));
    int filled = 64;
    for (const std::int32_t most : top) {
      const int digits = std::max(1, 64 - leading_zeros(static_cast<std::uint64_t>(most)));
      if (filled + digits > 64) filled = 0, ++words_;
      columns_.push_back({words_ - 1, filled, (std::uint64_t{1} << digits) - 1});
      filled += digits;
    }
    digits_.assign(space.size() * words_, 0);
    known_.assign(digits_.size(), 0);
    for (std::size_t i = 0; i < space.size(); ++i)
      for (std::size_t j = 0; j < columns_.size(); ++j) {
        if (space.code(i, j) < 0) continue;
        const auto& [word, shift, mask] = columns_[j];
        digits_[i * words_ + word] |= static_cast<std::uint64_t>(space.code(i, j)) << shift;
        known_[i * words_ + word] |= mask << shift;
      }
  }

  bool compatible(std::size_t a, std::size_t b) const {
    std::uint64_t differ = 0;
    for (std::size_t w = 0; w < words_; ++w) {
      const std::size_t x = a * words_ + w, y = b * words_ + w;
      differ |= (digits_[x] ^ digits_[y]) & known_[x] & known_[y];
    }
    return differ == 0;
  }

 private:
  struct Place {
    std::size_t word;
    int shift;
    std::uint64_t mask;
  };
  std::size_t words_ = 0;
  std::vector<Place> columns_;
  std::vector<std::uint64_t> digits_, known_;
};

Patterns patterns_of(const KeySpace& space) {
  Patterns patterns;
  for (std::size_t i = 0; i < space.size(); ++i) patterns[space.missing(i)].push_back(i);
  return patterns;
}

// Add to every row the amounts of the compatible rows among `rows`, which all miss the columns `miss`.
template <class Amount>
void add_compatible(const KeySpace& space, const Patterns& patterns, Columns miss,
                    const std::vector<std::size_t>& rows, const Amount* amounts, std::vector<Amount>& out,
                    Progress& progress) {
  std::map<Columns, std::vector<Columns>> unions;
  for (const auto& [other, _] : patterns) unions[other | miss].push_back(other);
  HashTable<Key, Amount, HashOfKey> tally;
  for (const auto& [both, askers] : unions) {
    tally.reset(rows.size());
    progress.tick(0);
    for (const std::size_t i : rows) tally.at(space.key(i, both)) += amounts[i];
    for (const Columns asker : askers)
      for (const std::size_t i : patterns.at(asker)) out[i] += tally.get(space.key(i, both));
  }
}

// The same, by comparison of each row with each of them.
template <class Amount>
void add_compared(const BitRows& bits, const std::vector<std::size_t>& rows, const Amount* amounts,
                  std::vector<Amount>& out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Amount sum = 0;
    for (const std::size_t row : rows)
      if (bits.compatible(i, row)) sum += amounts[row];
    out[i] += sum;
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
      if (rows.size() <= kFew) {
        add_compared(bits, rows, amounts, out);
      } else {
        add_compatible(space, patterns, miss, rows, amounts, out, progress);
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
