// Combinations of categories as numbers, and tallies of such numbers.
//
// A row of q codes (-1 for missing) is read as the digits of one number in mixed radix: digit code + 1, so
// that missing is the digit 0. Setting the digits of a set U of columns to 0 projects the row on the other
// columns, and because 0 is the missing digit the number of a projection also tells a row with missing cells
// in U from nothing else: a complete row projected on the complement of U and a row whose cells in U are
// missing have the same number exactly when they agree outside U. The numbers have 128 bits; the caller makes
// sure that the product of the radices fits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/bits.hpp"
#include "core/hash_table.hpp"
#include "core/wide.hpp"

namespace shoal {

using Key = WideBits;
using Columns = std::uint32_t;  // a set of columns, one bit each

class KeySpace {
 public:
  // `codes` is (n, q), row by row, and must outlive the KeySpace.
  KeySpace(const std::int32_t* codes, std::size_t n, std::size_t q)
      : codes_(codes), n_(n), q_(q), place_(q, 1), missing_(n, 0), whole_(n, 0) {
    std::vector<Key> radix(q, 1);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < q; ++j) {
        const std::int32_t c = codes[i * q + j];
        if (c < 0) missing_[i] |= Columns{1} << j;
        if (static_cast<Key>(c + 2) > radix[j] && c >= 0) radix[j] = static_cast<Key>(c) + 2;
      }
    for (std::size_t j = 1; j < q; ++j) place_[j] = place_[j - 1] * radix[j - 1];
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < q; ++j) whole_[i] += digit(i, j);
  }

  std::size_t size() const { return n_; }
  std::size_t columns() const { return q_; }
  Columns missing(std::size_t row) const { return missing_[row]; }
  std::int32_t code(std::size_t row, std::size_t j) const { return codes_[row * q_ + j]; }

  // The row with the columns of `blank` set to missing.
  Key key(std::size_t row, Columns blank) const {
    Key sum = whole_[row];
    for (; blank; blank &= blank - 1) sum = sum - digit(row, lowest_bit(blank));
    return sum;
  }

  // Whether two rows agree wherever both have a value.
  bool compatible(std::size_t a, std::size_t b) const {
    for (std::size_t j = 0; j < q_; ++j) {
      const std::int32_t x = code(a, j), y = code(b, j);
      if (x != y && x >= 0 && y >= 0) return false;
    }
    return true;
  }

 private:
  Key digit(std::size_t row, std::size_t j) const { return static_cast<Key>(codes_[row * q_ + j] + 1) * place_[j]; }

  const std::int32_t* codes_;
  std::size_t n_, q_;
  std::vector<Key> place_;
  std::vector<Columns> missing_;
  std::vector<Key> whole_;  // of each row, nothing set to missing
};

struct HashOfKey {
  std::uint64_t operator()(Key key) const {
    return mixed(static_cast<std::uint64_t>(key) ^ (static_cast<std::uint64_t>(key >> 64) * kGolden));
  }
};

using Tally = HashTable<Key, std::int64_t, HashOfKey>;

}  // namespace shoal
