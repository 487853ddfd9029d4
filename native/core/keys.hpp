// Combinations of categories as numbers, and a hash table of such numbers.
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

#include "core/wide.hpp"

namespace shoal {

using Key = WideBits;
using Columns = std::uint32_t;  // a set of columns, one bit each

class KeySpace {
 public:
  // `codes` is (n, q), row by row, and must outlive the KeySpace.
  KeySpace(const std::int32_t* codes, std::size_t n, std::size_t q)
      : codes_(codes), n_(n), q_(q), place_(q, 1), missing_(n, 0) {
    std::vector<Key> radix(q, 1);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < q; ++j) {
        const std::int32_t c = codes[i * q + j];
        if (c < 0) missing_[i] |= Columns{1} << j;
        if (static_cast<Key>(c + 2) > radix[j] && c >= 0) radix[j] = static_cast<Key>(c) + 2;
      }
    for (std::size_t j = 1; j < q; ++j) place_[j] = place_[j - 1] * radix[j - 1];
  }

  std::size_t size() const { return n_; }
  std::size_t columns() const { return q_; }
  Columns missing(std::size_t row) const { return missing_[row]; }
  std::int32_t code(std::size_t row, std::size_t j) const { return codes_[row * q_ + j]; }

  // The row with the columns of `blank` set to missing.
  Key key(std::size_t row, Columns blank) const {
    Key sum = 0;
    for (std::size_t j = 0; j < q_; ++j)
      if (!(blank >> j & 1)) sum += static_cast<Key>(codes_[row * q_ + j] + 1) * place_[j];
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
  const std::int32_t* codes_;
  std::size_t n_, q_;
  std::vector<Key> place_;
  std::vector<Columns> missing_;
};

// Open addressing with linear probing; keys to 64-bit values.
class Tally {
 public:
  explicit Tally(std::size_t expected = 0) { reset(expected); }

  // Empty the table and make room for so many keys.
  void reset(std::size_t expected) {
    std::size_t room = 16;
    while (room < 2 * expected) room *= 2;
    slots_.assign(room, Slot{});
    used_ = 0;
  }

  // The value of a key, entered with `initial` if it is new; valid until the next call.
  std::int64_t& at(Key key, std::int64_t initial = 0) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[find(key)];
    if (!slot.taken) {
      slot = {key, initial, true};
      ++used_;
    }
    return slot.value;
  }

  std::int64_t get(Key key, std::int64_t absent = 0) const {
    const Slot& slot = slots_[find(key)];
    return slot.taken ? slot.value : absent;
  }

 private:
  struct Slot {
    Key key = 0;
    std::int64_t value = 0;
    bool taken = false;
  };

  std::size_t find(Key key) const {
    std::uint64_t h = static_cast<std::uint64_t>(key) ^ (static_cast<std::uint64_t>(key >> 64) * 0x9e3779b97f4a7c15ull);
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;  // the finaliser of splitmix64
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
    std::size_t i = (h ^ (h >> 31)) & (slots_.size() - 1);
    while (slots_[i].taken && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
    return i;
  }

  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(old.size() * 2, Slot{});
    for (const Slot& slot : old)
      if (slot.taken) slots_[find(slot.key)] = slot;
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace shoal
