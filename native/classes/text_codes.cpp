// Text cells as numbers, straight from the buffers of an Arrow stream.
//
// polars, pyarrow and pandas (its `str`) hold text as Arrow does and hand it over without a copy (the Arrow C data
// interface: two small C structs in a capsule). Three layouts are read: characters and where each cell begins, with
// offsets of 32 or 64 bits; views of 16 bytes, which hold up to 12 characters themselves and otherwise say where they
// are; and dictionaries, in which cells are numbers of such texts.
//
// A cell of at most seven bytes is one number: its bytes and its length. Longer ones are hashed, eight bytes at a
// time, with a length of 255 to tell the two apart. One pass looks each number up in an open-addressing table (Fibonacci hashing, linear probing); equal
// short numbers are equal texts, and for long ones the bytes are compared with those of the first cell that had the
// number, so that a collision costs a step and never merges two texts. Codes count texts as they first appear.
#include <cstring>
#include <memory>
#include <nanobind/stl/optional.h>
#include <stdexcept>
#include <string>

#include "core/kernels.hpp"

namespace shoal {
namespace {

// The Arrow C data and stream interfaces, as their specification defines them.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

// An Arrow struct that is released when it goes.
template <class T>
struct Owned : T {
  Owned() : T{} {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (this->release) this->release(this);
  }
};

struct Text {
  const char* data;
  std::size_t size;
};

bool same(Text a, Text b) { return a.size == b.size && std::memcmp(a.data, b.data, a.size) == 0; }

std::uint64_t folded(std::uint64_t z) {
  z *= 0xbf58476d1ce4e5b9ull;  // a multiplier of splitmix64
  return z ^ z >> 32;
}

constexpr std::size_t kShort = 7;
constexpr std::uint64_t kLong = std::uint64_t{255} << 56;

template <class T>
std::uint64_t load(const char* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

// At most seven bytes as one number, read in two parts that may overlap.
std::uint64_t packed(Text text) {
  const std::size_t size = text.size;
  if (size >= 4) return load<std::uint32_t>(text.data) | load<std::uint32_t>(text.data + size - 4) << 8 * (size - 4);
  if (size >= 2) return load<std::uint16_t>(text.data) | load<std::uint16_t>(text.data + size - 2) << 8 * (size - 2);
  return size ? load<std::uint8_t>(text.data) : 0;
}

// Exactly the text where it is short; otherwise a hash with the length 255.
std::uint64_t number_of(Text text) {
  if (text.size <= kShort) return packed(text) | static_cast<std::uint64_t>(text.size) << 56;
  std::uint64_t hash = text.size;
  for (std::size_t at = 0; at + 8 < text.size; at += 8) hash = folded(hash ^ load<std::uint64_t>(text.data + at));
  return folded(hash ^ load<std::uint64_t>(text.data + text.size - 8)) | kLong;
}

// Texts in order of first appearance. Their bytes belong to the stream's arrays, which outlive the dictionary.
class Dictionary {
 public:
  Dictionary() : slots_(std::size_t{1} << 10), shift_(64 - 10) {}

  std::int32_t code(Text text, std::int64_t row) {
    const std::uint64_t number = number_of(text);
    Slot* slot = find(number, text);
    if (slot->code < 0) {
      if (2 * texts_.size() >= slots_.size()) {
        grow();
        slot = find(number, text);
      }
      *slot = {number, static_cast<std::int32_t>(texts_.size())};
      texts_.push_back(text);
      first_.push_back(row);
    }
    return slot->code;
  }
  std::vector<std::int64_t> take_first() { return std::move(first_); }

 private:
  struct Slot {
    std::uint64_t number = 0;
    std::int32_t code = -1;
  };

  Slot* find(std::uint64_t number, Text text) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = number * 0x9e3779b97f4a7c15ull >> shift_;
    while (slots_[at].code >= 0 && !holds(slots_[at], number, text)) at = (at + 1) & mask;
    return &slots_[at];
  }
  bool holds(const Slot& slot, std::uint64_t number, Text text) const {
    return slot.number == number && (number < kLong || same(texts_[static_cast<std::size_t>(slot.code)], text));
  }
  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(4 * old.size(), Slot{});
    shift_ -= 2;
    for (const Slot& slot : old)
      if (slot.code >= 0) *find(slot.number, texts_[static_cast<std::size_t>(slot.code)]) = slot;
  }

  std::vector<Slot> slots_;
  int shift_;  // what a 64-bit number loses to become a place in slots_
  std::vector<Text> texts_;
  std::vector<std::int64_t> first_;
};

bool known(const ArrowArray& array, std::int64_t i) {
  const auto* bits = static_cast<const std::uint8_t*>(array.buffers[0]);
  const std::int64_t at = array.offset + i;
  return !bits || (bits[at >> 3] >> (at & 7) & 1);
}

template <class Offset>
Text by_offsets(const ArrowArray& array, std::int64_t i) {
  const auto* offsets = static_cast<const Offset*>(array.buffers[1]) + array.offset + i;
  return {static_cast<const char*>(array.buffers[2]) + offsets[0], static_cast<std::size_t>(offsets[1] - offsets[0])};
}

Text by_views(const ArrowArray& array, std::int64_t i) {
  const char* view = static_cast<const char*>(array.buffers[1]) + 16 * (array.offset + i);
  std::int32_t length, buffer, offset;
  std::memcpy(&length, view, 4);
  if (length <= 12) return {view + 4, static_cast<std::size_t>(length)};
  std::memcpy(&buffer, view + 8, 4);
  std::memcpy(&offset, view + 12, 4);
  return {static_cast<const char*>(array.buffers[2 + buffer]) + offset, static_cast<std::size_t>(length)};
}

using Reader = Text (*)(const ArrowArray&, std::int64_t);

Reader reader_of(const std::string& format) {
  if (format == "u") return by_offsets<std::int32_t>;
  if (format == "U") return by_offsets<std::int64_t>;
  if (format == "vu") return by_views;
  return nullptr;
}

template <Text read(const ArrowArray&, std::int64_t)>
void encode(const ArrowArray& array, Dictionary& dictionary, std::vector<std::int32_t>& codes) {
  const auto begin = static_cast<std::int64_t>(codes.size());
  codes.resize(codes.size() + static_cast<std::size_t>(array.length));
  std::int32_t* out = codes.data() + begin;
  const bool all = !array.buffers[0] || array.null_count == 0;
  for (std::int64_t i = 0; i < array.length; ++i)
    out[i] = all || known(array, i) ? dictionary.code(read(array, i), begin + i) : -1;
}

template <class Index>
void encode_dictionary(const ArrowArray& array, Reader read, Dictionary& dictionary, std::vector<std::int32_t>& codes) {
  const auto* indices = static_cast<const Index*>(array.buffers[1]) + array.offset;
  std::vector<std::int32_t> code_of(static_cast<std::size_t>(array.dictionary->length), -2);  // not yet met
  for (std::int64_t i = 0; i < array.length; ++i) {
    std::int32_t code = -1;
    if (known(array, i)) {
      const auto index = static_cast<std::size_t>(indices[i]);
      if (code_of[index] == -2) {
        const bool text = known(*array.dictionary, static_cast<std::int64_t>(index));
        code_of[index] = text ? dictionary.code(read(*array.dictionary, static_cast<std::int64_t>(index)),
                                                static_cast<std::int64_t>(codes.size()))
                              : -1;
      }
      code = code_of[index];
    }
    codes.push_back(code);
  }
}

void encode_by(char index, const ArrowArray& array, Reader read, Dictionary& dictionary,
               std::vector<std::int32_t>& codes) {
  switch (index) {
    case 'c': return encode_dictionary<std::int8_t>(array, read, dictionary, codes);
    case 'C': return encode_dictionary<std::uint8_t>(array, read, dictionary, codes);
    case 's': return encode_dictionary<std::int16_t>(array, read, dictionary, codes);
    case 'S': return encode_dictionary<std::uint16_t>(array, read, dictionary, codes);
    case 'i': return encode_dictionary<std::int32_t>(array, read, dictionary, codes);
    case 'I': return encode_dictionary<std::uint32_t>(array, read, dictionary, codes);
    default: return encode_dictionary<std::int64_t>(array, read, dictionary, codes);
  }
}

constexpr const char* kTextCodes = R"(Number the texts of a column in the order in which they first appear.

Parameters
----------
capsule
    What `__arrow_c_stream__` gives for the column.

Returns
-------
Shape (n,), codes from 0, -1 for missing cells; and the row where each code first appears. None where the stream holds
something else than text or categories that are text.)";

std::optional<std::pair<Output<std::int32_t>, Output<std::int64_t>>> text_codes(nb::object capsule) {
  auto* stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
  if (!stream) throw nb::python_error();
  Owned<ArrowSchema> schema;
  if (stream->get_schema(stream, &schema)) throw std::runtime_error("The Arrow stream has no schema.");
  const std::string format = schema.format;
  const Reader read = reader_of(schema.dictionary ? schema.dictionary->format : format);
  if (!read) return std::nullopt;
  Dictionary dictionary;
  std::vector<std::int32_t> codes;
  std::vector<std::unique_ptr<Owned<ArrowArray>>> arrays;
  for (;;) {
    arrays.push_back(std::make_unique<Owned<ArrowArray>>());
    if (stream->get_next(stream, arrays.back().get())) throw std::runtime_error("The Arrow stream broke off.");
    const ArrowArray& array = *arrays.back();
    if (!array.release) break;
    nb::gil_scoped_release unlocked;
    if (schema.dictionary) encode_by(format[0], array, read, dictionary, codes);
    else if (format == "u") encode<by_offsets<std::int32_t>>(array, dictionary, codes);
    else if (format == "U") encode<by_offsets<std::int64_t>>(array, dictionary, codes);
    else encode<by_views>(array, dictionary, codes);
  }
  return std::pair(to_numpy(std::move(codes)), to_numpy(dictionary.take_first()));
}

}  // namespace

static const Kernel text_codes_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("text_codes", &text_codes, "capsule"_a, kTextCodes);
});

}  // namespace shoal
