// Rows of a table as numbers: keys that are equal exactly where rows are, and ascend as rows do.
//
// A column whose values differ in their lowest b bits only gives those b bits, one whose values lie from `low` to `high`
// the bits of v - low if these are fewer. Each pass over the table makes the keys anew for a few thousand rows at a time,
// which never leave the cache. Where the bits of the columns exceed 62, those columns that came before are numbered first
// and become one. No column has more than 31 bits, so that two always fit: one with more is itself numbered first.
// Floating-point numbers that are all whole are read as integers; others are numbered by the bits of their values, so
// that 0 and -0 differ and all NaNs are one value.
//
// Rows are numbered in the order of their keys: by an array where there are not many more possible keys than rows, and
// by a sort otherwise.
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "classes/column.hpp"
#include "classes/sorted_keys.hpp"
#include "core/hash_table.hpp"

namespace shoal {
namespace rows {

using Key = std::uint64_t;
constexpr int kKeyBits = 62;
constexpr int kColumnBits = 31;
constexpr std::size_t kBlock = 2048;  // rows whose keys are made at a time: 16 KB

inline int width(Key key) {
  int bits = 0;
  for (; key; key >>= 1) ++bits;
  return bits;
}

// A column as numbers of so many bits.
class Digits {
 public:
  explicit Digits(int bits) : bits_(bits) {}
  virtual ~Digits() = default;
  int bits() const { return bits_; }
  virtual void append(std::size_t begin, std::size_t end, Key* keys) const = 0;

 private:
  int bits_;
};

// The lowest bits of v - low.
template <class T>
class Whole final : public Digits {
 public:
  Whole(const T* values, std::int64_t low, int bits, std::vector<T>&& owned = {})
      : Digits(bits), owned_(std::move(owned)), values_(owned_.empty() ? values : owned_.data()), low_(low) {}
  void append(std::size_t begin, std::size_t end, Key* keys) const override {
    const Key low = static_cast<Key>(low_), mask = (Key{1} << bits()) - 1;
    const int shift = bits();
    const T* values = values_ + begin;
    for (std::size_t i = 0; i < end - begin; ++i)
      keys[i] = keys[i] << shift | ((static_cast<Key>(values[i]) - low) & mask);
  }

 private:
  std::vector<T> owned_;
  const T* values_;
  std::int64_t low_;
};

using Group = std::vector<std::unique_ptr<Digits>>;

struct HashOfRow {
  std::uint64_t operator()(Key key) const { return mixed(key + kGolden); }
};

// Keys in order of first appearance, each with a number.
class Numbering {
 public:
  std::int32_t number(Key key) {
    const auto fresh = static_cast<std::int32_t>(keys_.size());
    const std::int32_t number = numbers_.at(key, fresh);
    if (number == fresh) keys_.push_back(key);
    return number;
  }
  const std::vector<Key>& keys() const { return keys_; }

 private:
  HashTable<Key, std::int32_t, HashOfRow> numbers_{512};
  std::vector<Key> keys_;
};

// Calls use(first row, number of rows, keys) for one block of rows after another.
template <class Use>
void blocks(const Group& group, std::size_t n, Use use) {
  Key keys[kBlock];
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t end = std::min(n, begin + kBlock);
    std::fill_n(keys, end - begin, Key{0});
    for (const auto& column : group) column->append(begin, end, keys);
    use(begin, end - begin, keys);
  }
}

struct Distinct {
  std::vector<Key> keys;            // ascending
  std::vector<std::int64_t> sizes;  // rows with each
};

inline int bits(const Group& group) {
  int sum = 0;
  for (const auto& column : group) sum += column->bits();
  return sum;
}

// Few possible keys: count them in an array, then number those that occur, and the rows if that is asked for.
template <class T>
Distinct look_up(const Group& group, std::size_t n, std::vector<T>* ids) {
  std::vector<std::int32_t> counts(std::size_t{1} << bits(group), 0);
  blocks(group, n, [&](std::size_t, std::size_t m, const Key* keys) {
    for (std::size_t i = 0; i < m; ++i) ++counts[keys[i]];
  });
  Distinct result;
  for (Key key = 0; key < counts.size(); ++key) {
    if (!counts[key]) continue;
    result.keys.push_back(key);
    result.sizes.push_back(counts[key]);
    counts[key] = static_cast<std::int32_t>(result.keys.size()) - 1;
  }
  if (!ids) return result;
  ids->resize(n);
  blocks(group, n, [&](std::size_t begin, std::size_t m, const Key* keys) {
    for (std::size_t i = 0; i < m; ++i) (*ids)[begin + i] = static_cast<T>(counts[keys[i]]);
  });
  return result;
}

// How a key and its row are sorted: in one number, of which the row takes the lowest bits if it is asked for ...
struct Together {
  using Entry = Key;
  int low;  // bits of the row
  Entry entry(Key key, std::size_t row) const { return key << low | (row & mask()); }
  Key key(Entry entry) const { return entry >> low; }
  std::size_t row(Entry entry) const { return entry & mask(); }
  Key mask() const { return (Key{1} << low) - 1; }
};

// ... or beside one another.
struct Beside {
  using Entry = KeyedRow;
  int low = 0;
  Entry entry(Key key, std::size_t row) const { return {key, static_cast<std::uint32_t>(row)}; }
  Key key(const Entry& entry) const { return entry.key; }
  std::size_t row(const Entry& entry) const { return entry.row; }
};

template <class Form>
std::vector<typename Form::Entry> sorted(const Group& group, std::size_t n, Form form) {
  std::vector<typename Form::Entry> entries(n);
  blocks(group, n, [&](std::size_t begin, std::size_t m, const Key* keys) {
    for (std::size_t i = 0; i < m; ++i) entries[begin + i] = form.entry(keys[i], begin + i);
  });
  sort_keys(entries, form.low, bits(group));
  return entries;
}

// Many possible keys: put the rows in their order.
template <class T, class Form>
Distinct by_sort(const Group& group, std::size_t n, std::vector<T>* ids, Form form) {
  Distinct result;
  if (ids) ids->resize(n);
  for (const auto& entry : sorted(group, n, form)) {
    const Key key = form.key(entry);
    if (result.keys.empty() || key != result.keys.back()) {
      result.keys.push_back(key);
      result.sizes.push_back(0);
    }
    ++result.sizes.back();
    if (ids) (*ids)[form.row(entry)] = static_cast<T>(result.keys.size() - 1);
  }
  return result;
}

template <class T>
Distinct number(const Group& group, std::size_t n, std::vector<T>* ids) {
  const int digits = bits(group), low = ids ? width(n) : 0;
  if (Key{1} << digits <= 4 * n + 1024) return look_up(group, n, ids);
  return digits + low <= 64 ? by_sort(group, n, ids, Together{low}) : by_sort(group, n, ids, Beside{});
}

// Renumber ids as keys ascend; `order` maps any key to one that ascends as its value does.
template <class T, class Order>
std::vector<Key> ascending(const Numbering& numbering, std::vector<T>& ids, Order order) {
  std::vector<Key> keys = numbering.keys();
  std::vector<std::pair<Key, T>> sorted(keys.size());
  for (std::size_t j = 0; j < keys.size(); ++j) sorted[j] = {order(keys[j]), static_cast<T>(j)};
  std::sort(sorted.begin(), sorted.end());
  std::vector<T> rank(keys.size());
  for (std::size_t r = 0; r < sorted.size(); ++r) {
    rank[static_cast<std::size_t>(sorted[r].second)] = static_cast<T>(r);
    keys[r] = numbering.keys()[static_cast<std::size_t>(sorted[r].second)];
  }
  for (auto& id : ids) id = rank[static_cast<std::size_t>(id)];
  return keys;
}

inline Key as_signed(Key key) { return key ^ (Key{1} << 63); }

template <class T>
Distinct counted(std::vector<Key>&& keys, const std::vector<T>& ids) {
  Distinct result{std::move(keys), {}};
  result.sizes.assign(result.keys.size(), 0);
  for (const auto id : ids) ++result.sizes[static_cast<std::size_t>(id)];
  return result;
}

inline std::unique_ptr<Digits> owned(std::vector<std::int32_t>&& numbers, std::size_t count) {
  return std::make_unique<Whole<std::int32_t>>(nullptr, 0, width(count ? count - 1 : 0), std::move(numbers));
}

// Any 64-bit values, numbered as they ascend as signed integers.
inline std::unique_ptr<Digits> numbered(const std::int64_t* values, std::size_t n, bool real) {
  Numbering numbering;
  std::vector<std::int32_t> numbers(n);
  for (std::size_t i = 0; i < n; ++i) {
    const bool nan = real && (values[i] & INT64_MAX) > 0x7ff0000000000000;
    numbers[i] = numbering.number(nan ? kOneNan : static_cast<Key>(values[i]));
  }
  ascending(numbering, numbers, as_signed);
  return owned(std::move(numbers), numbering.keys().size());
}

template <class T>
struct Range {
  std::int64_t low = 0;
  int bits = 0;

  Range(const T* values, std::size_t n) {
    if (n == 0) return;
    Key any = 0, all = ~Key{0};
    for (std::size_t i = 0; i < n; ++i) {
      any |= static_cast<Key>(values[i]);
      all &= static_cast<Key>(values[i]);
    }
    bits = width(any ^ all);
    if (bits <= 8 * static_cast<int>(sizeof(T)) - 2 && bits <= kColumnBits) return;  // of one sign, and not spread far
    const auto ends = std::minmax_element(values, values + n);
    low = static_cast<std::int64_t>(*ends.first);
    bits = width(static_cast<Key>(*ends.second) - static_cast<Key>(low));
  }
};

template <class T>
std::unique_ptr<Digits> integers(const T* values, std::size_t n, std::vector<T>&& own = {}) {
  const Range<T> range(values, n);
  if (range.bits <= kColumnBits) return std::make_unique<Whole<T>>(values, range.low, range.bits, std::move(own));
  const std::vector<std::int64_t> wide(values, values + n);
  return numbered(wide.data(), n, false);
}

// The values as integers if all are whole numbers from -2^30 to 2^30 - 1, and no -0 among them; else nothing.
// Adding 1.5 2^52 leaves no place for fractions, and puts a whole number below 2^51 in the lowest bits.
inline std::vector<std::int32_t> as_whole(const double* values, std::size_t n) {
  constexpr double shifter = 6755399441055744.0;
  constexpr Key shifter_bits = 0x4338000000000000;
  std::vector<std::int32_t> whole(n);
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    Key odd = 0;
    for (std::size_t i = begin; i < std::min(n, begin + kBlock); ++i) {
      const double shifted = values[i] + shifter, back = shifted - shifter;
      Key before, after, value;
      std::memcpy(&before, &values[i], 8);
      std::memcpy(&after, &back, 8);
      std::memcpy(&value, &shifted, 8);
      value -= shifter_bits;
      odd |= (before ^ after) | (value + (Key{1} << 30)) >> 31;
      whole[i] = static_cast<std::int32_t>(value);
    }
    if (odd) return {};
  }
  return whole;
}

inline std::unique_ptr<Digits> reals(const double* values, std::size_t n) {
  auto whole = as_whole(values, n);
  if (whole.empty()) return numbered(reinterpret_cast<const std::int64_t*>(values), n, true);
  const std::int32_t* data = whole.data();
  return integers(data, n, std::move(whole));
}

inline std::unique_ptr<Digits> digits(const double* values, std::size_t n) { return reals(values, n); }
template <class T>
inline std::unique_ptr<Digits> digits(const T* values, std::size_t n) {
  return integers(values, n);
}

// Number the rows by the columns so far, which become one.
inline void make_one(Group& group, std::size_t n) {
  std::vector<std::int32_t> numbers;
  const std::size_t count = number(group, n, &numbers).keys.size();
  group.clear();
  group.push_back(owned(std::move(numbers), count));
}

inline std::unique_ptr<Digits> digits_of(const Column& column, std::size_t n) {
  return as_typed(column, [&](const auto* values) { return digits(values, n); });
}

// Columns put together, those that came before numbered where there is no more room.
inline Group grouped(const std::vector<Column>& columns, std::size_t n) {
  Group group;
  for (const auto& column : columns) {
    auto next = digits_of(column, n);
    if (bits(group) + next->bits() > kKeyBits) make_one(group, n);
    group.push_back(std::move(next));
  }
  return group;
}

}  // namespace rows
}  // namespace shoal
