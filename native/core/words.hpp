// A choice that Python makes by a word, as `engine="tree"`: the words of an enumeration in its order.
//
// An enumeration that kernels take as a Word has a `Words` with the name of the type in shoal.kernels.arrays.
#pragma once
#include <cstring>
#include <iterator>
#include <nanobind/nanobind.h>

namespace shoal {

template <class Choice> struct Words;

template <class Choice>
struct Word {
  Choice choice;
  operator Choice() const { return choice; }
};

// How records are searched: by looking at all, by a tree, or by the faster one. The result is the same.
enum class SearchEngine { kAuto, kBrute, kTree };

template <> struct Words<SearchEngine> {
  static constexpr auto name = nanobind::detail::const_name("Engine");
  static constexpr const char* words[] = {"auto", "brute", "tree"};
};

// Whether to look at all records, where it is known which search is faster.
inline bool exhaustive(SearchEngine engine, bool faster) {
  return engine == SearchEngine::kBrute || (engine == SearchEngine::kAuto && faster);
}

}  // namespace shoal

namespace nanobind::detail {

template <class Choice>
struct type_caster<shoal::Word<Choice>> {
  NB_TYPE_CASTER(shoal::Word<Choice>, shoal::Words<Choice>::name)

  template <class Flags>
  bool from_python(handle source, Flags, cleanup_list*) noexcept {
    const char* text = PyUnicode_Check(source.ptr()) ? PyUnicode_AsUTF8(source.ptr()) : nullptr;
    if (!text) return PyErr_Clear(), false;
    int place = 0;
    for (const char* word : shoal::Words<Choice>::words) {
      if (std::strcmp(word, text) == 0) return value = {static_cast<Choice>(place)}, true;
      ++place;
    }
    return false;
  }
};

}  // namespace nanobind::detail
