// A sort of keys digit by digit, the last first: work in proportion to keys and bits, however they lie.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shoal {

// A key with its row, where they do not fit into one number.
struct KeyedRow {
  std::uint64_t key;
  std::uint32_t row;
  bool operator<(const KeyedRow& other) const { return key != other.key ? key < other.key : row < other.row; }
};

inline std::uint64_t digits_of(std::uint64_t entry) { return entry; }
inline std::uint64_t digits_of(const KeyedRow& entry) { return entry.key; }

constexpr std::size_t kFew = 512;  // entries that are quicker to compare than to count
constexpr int kDigit = 11;         // bits of a digit: 2048 places to write to

// Sort entries by `bits` bits of their keys from bit `low` on, the highest that any has. Those below must ascend already
// where the others agree: entries whose digits agree keep their order.
template <class Entry>
void sort_keys(std::vector<Entry>& entries, int low, int bits) {
  if (entries.size() < kFew) {
    std::sort(entries.begin(), entries.end());
    return;
  }
  const int passes = (bits + kDigit - 1) / kDigit, width = passes ? (bits + passes - 1) / passes : 0;
  const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
  std::vector<std::size_t> counts(static_cast<std::size_t>(passes) << width, 0);
  for (const Entry& entry : entries) {
    std::uint64_t digits = digits_of(entry) >> low;
    for (int pass = 0; pass < passes; ++pass, digits >>= width) ++counts[static_cast<std::size_t>(pass) << width | (digits & mask)];
  }
  std::vector<Entry> sorted(entries.size());
  for (int pass = 0; pass < passes; ++pass) {
    std::size_t* const places = counts.data() + (static_cast<std::size_t>(pass) << width);
    const int shift = low + pass * width;
    if (places[digits_of(entries[0]) >> shift & mask] == entries.size()) continue;
    std::size_t place = 0;
    for (std::size_t digit = 0; digit <= mask; ++digit) {
      const std::size_t count = places[digit];
      places[digit] = place;
      place += count;
    }
    for (const Entry& entry : entries) sorted[places[digits_of(entry) >> shift & mask]++] = entry;
    entries.swap(sorted);
  }
}

}  // namespace shoal
