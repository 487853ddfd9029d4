// The one hash table: open addresses, linear probing, at most half full.
//
// What is equal is decided by `Same` on the whole key, so a collision costs a step and never merges two entries. No
// result may depend on the order of the slots: entries are numbered by those who make them, as they first appear.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace shoal {

// The finaliser of splitmix64 (Steele, Lea & Flood 2014): every bit of z reaches every bit of the result.
inline std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ull;  // splitmix64's step, so that a key of 0 is mixed too

template <class Key, class Value, class Hash, class Same = std::equal_to<Key>>
class HashTable {
 public:
  explicit HashTable(std::size_t expected = 0, Hash hash = {}, Same same = {})
      : hash_(std::move(hash)), same_(std::move(same)) {
    reset(expected);
  }

  // Empty the table and make room for so many keys.
  void reset(std::size_t expected) {
    std::size_t capacity = 16;
    while (capacity < 2 * expected) capacity *= 2;
    slots_.assign(capacity, Slot{});
    used_ = 0;
  }

  // The value of a key, entered with `initial` if it is new; valid until the next call.
  Value& at(const Key& key, Value initial = {}) {
    std::size_t place = find(key);
    if (!slots_[place].taken) {
      if (2 * (used_ + 1) > slots_.size()) {
        grow();
        place = find(key);
      }
      slots_[place] = {key, initial, true};
      ++used_;
    }
    return slots_[place].value;
  }

  Value get(const Key& key, Value absent = {}) const {
    const Slot& slot = slots_[find(key)];
    return slot.taken ? slot.value : absent;
  }

  std::size_t size() const { return used_; }

 private:
  struct Slot {
    Key key{};
    Value value{};
    bool taken = false;
  };

  std::size_t find(const Key& key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = hash_(key) & mask;
    while (slots_[place].taken && !same_(slots_[place].key, key)) place = (place + 1) & mask;
    return place;
  }

  void grow() {
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(4 * slots_.size()));
    for (const Slot& slot : old)
      if (slot.taken) slots_[find(slot.key)] = slot;
  }

  Hash hash_;
  Same same_;
  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace shoal
