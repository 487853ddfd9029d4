// The cases that a tree, or what lies below one of its nodes, is grown on.
//
// Features hold whole numbers here: categories, or the rank of a number among the different ones. Every ordered feature
// keeps its cases in ascending order; nodes are ranges of these lists.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "trees/sides.hpp"

namespace shoal {

constexpr std::int32_t kMissing = std::numeric_limits<std::int32_t>::max();  // the rank of missing numbers

// What comes in.
struct TreeTable {
  const double* x;             // (d, n): numbers, NaN where missing, or categories as codes from 0
  const std::int32_t* levels;  // (d,): categories of a nominal feature, 0 for an ordered one
  const std::int32_t* orders;  // (d, n): cases by an ordered feature, missing ones last
  const std::int32_t* times;   // (n,): how often each case counts, perhaps not at all
  std::size_t d, n;
  double at(std::size_t f, Case i) const { return x[f * n + static_cast<std::size_t>(i)]; }
};

template <class Response>
struct Cases {
  std::vector<std::vector<std::int32_t>> codes;  // by feature, of each case
  std::vector<Response> y;
  std::vector<std::int32_t> times;
  std::vector<Case> original;                    // which of those that came in each is
  std::vector<std::vector<Case>> lists;          // by feature: the cases in order, none of a nominal one; the last: all

  std::size_t size() const { return y.size(); }
  const std::vector<Case>& rows() const { return lists.back(); }

  // Those of a table that count.
  static Cases of(const TreeTable& table, const Response* y) {
    Cases out(table.d);
    std::vector<Case> place(table.n);
    for (std::size_t i = 0; i < table.n; ++i) {
      if (table.times[i] == 0) continue;
      place[i] = static_cast<Case>(out.size());
      out.add(y[i], table.times[i], static_cast<Case>(i));
    }
    for (std::size_t f = 0; f < table.d; ++f)
      table.levels[f] ? out.take_categories(table, f) : out.rank(table, f, place);
    return out;
  }

  // Those of a range of the lists; `place` has room for all.
  Cases part(std::size_t begin, std::size_t end, std::vector<Case>& place) const {
    Cases out(codes.size());
    for (std::size_t i = begin; i < end; ++i) {
      const auto row = static_cast<std::size_t>(rows()[i]);
      place[row] = static_cast<Case>(out.size());
      out.add(y[row], times[row], original[row]);
    }
    for (std::size_t f = 0; f < codes.size(); ++f) {
      out.codes[f].resize(out.size());
      for (std::size_t i = begin; i < end; ++i)
        out.codes[f][i - begin] = codes[f][static_cast<std::size_t>(rows()[i])];
      if (lists[f].empty()) continue;
      out.lists[f].resize(out.size());
      for (std::size_t i = begin; i < end; ++i)
        out.lists[f][i - begin] = place[static_cast<std::size_t>(lists[f][i])];
    }
    return out;
  }

 private:
  explicit Cases(std::size_t d) : codes(d), lists(d + 1) {}

  void add(Response response, std::int32_t count, Case which) {
    lists.back().push_back(static_cast<Case>(size()));
    y.push_back(response), times.push_back(count), original.push_back(which);
  }

  void take_categories(const TreeTable& table, std::size_t f) {
    codes[f].resize(size());
    for (std::size_t i = 0; i < size(); ++i) codes[f][i] = static_cast<std::int32_t>(table.at(f, original[i]));
  }

  void rank(const TreeTable& table, std::size_t f, const std::vector<Case>& place) {
    codes[f].resize(size());
    lists[f].reserve(size());
    std::int32_t rank = 0;
    double before = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < table.n; ++i) {
      const Case row = table.orders[f * table.n + i];
      if (table.times[row] == 0) continue;
      const double value = table.at(f, row);
      rank += value != before;
      before = value;
      const Case here = place[static_cast<std::size_t>(row)];
      codes[f][static_cast<std::size_t>(here)] = std::isnan(value) ? kMissing : rank;
      lists[f].push_back(here);
    }
  }
};

}  // namespace shoal
