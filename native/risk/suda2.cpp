// SUDA2: minimal sample uniques (Manning, Haglin & Keane 2008).
//
// A record is unique on a set of columns if no other record has its values there; the set is minimal for it if
// the record is unique on no proper subset. Uniqueness passes on to supersets, so a unique set of size s is
// minimal exactly where none of its s subsets of size s - 1 is unique for the record.
//
// The sets of at most m columns are walked depth first, extending a set only by columns with a lower number than
// all it holds, roots and extensions in ascending order. Every subset of a set then comes before the set: either
// it lacks the largest column (an earlier root), or it shares a beginning with the set and goes on with a lower
// number, or it is the beginning itself. One bit a record and set says whether the record is unique there, so
// minimality is s look-ups.
//
// Along a path of the walk the records are kept grouped by their values on the current set. Extending the set
// splits each group by one column, and records that end up alone are unique: they are looked at and leave the
// path, for they are unique on all that follows and minimal nowhere. The work is the number of sets times the
// records still in groups, with no sorting of keys and no hashing.
#include "core/elementary.hpp"
#include "core/kernels.hpp"
#include "core/progress.hpp"
#include <algorithm>
#include <nanobind/stl/optional.h>
#include <unordered_map>

namespace shoal {
namespace {

using Bits = std::vector<std::uint64_t>;
using Set = std::uint64_t;  // one bit a column

// Records that share their values on a set with at least one other, group after group.
struct Groups {
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> ends;
};

class Suda {
 public:
  // `codes` holds one column after the other; column c has codes 0 .. cards[c] - 1.
  Suda(const std::int32_t* codes, const std::int32_t* cards, std::size_t n, int columns, const double* weights, int most,
       Progress& progress)
      : codes_(codes), n_(n), columns_(columns), most_(most), progress_(progress), weights_(weights),
        score(n, 0.0), column_score(columns, 0.0), by_size(most, 0), smallest(n, 0) {
    std::int32_t widest = 1;
    for (int c = 0; c < columns; ++c) {
      first_.push_back(static_cast<std::int32_t>(category_score.size()));
      category_score.resize(category_score.size() + cards[c], 0.0);
      widest = std::max(widest, cards[c]);
    }
    count_.assign(widest, 0);
  }

  void run() {
    Groups all;
    all.rows.resize(n_);
    for (std::size_t i = 0; i < n_; ++i) all.rows[i] = static_cast<std::int32_t>(i);
    if (n_ > 1) all.ends.push_back(static_cast<std::int32_t>(n_));
    else if (n_ == 1) all.rows.clear();  // a single record is unique on the empty set, which says nothing
    unique_[0] = Bits((n_ + 63) / 64, 0);
    extend(0, columns_, 0, all);
  }

 private:
  void extend(Set set, int below, int size, const Groups& groups) {
    if (size == most_) return;
    for (int c = 0; c < below; ++c) {
      if (size == 0) progress_.tick(power((c + 0.5) / columns_, most_));
      else progress_.tick(power((root_ + static_cast<double>(c) / columns_) / columns_, most_));
      if (size == 0) root_ = c;
      const Set larger = set | (Set{1} << c);
      Bits unique = unique_.at(set);
      minimal_ = 0;
      const Groups split = refine(groups, c, larger, size + 1, unique);
      if (minimal_ > 0) {
        sets.push_back(larger);
        set_counts.push_back(minimal_);
      }
      if (size + 1 < most_) unique_.emplace(larger, std::move(unique));
      extend(larger, c, size + 1, split);
    }
  }

  // Split groups by column c; who ends up alone is unique on `set`.
  Groups refine(const Groups& groups, int c, Set set, int size, Bits& unique) {
    const std::int32_t* value = codes_ + static_cast<std::size_t>(c) * n_;
    Groups out;
    out.rows.resize(groups.rows.size());
    std::int32_t begin = 0, written = 0;
    for (std::int32_t end : groups.ends) {
      seen_.clear();
      for (std::int32_t i = begin; i < end; ++i) {
        const std::int32_t v = value[groups.rows[i]];
        if (count_[v]++ == 0) seen_.push_back(v);
      }
      for (std::int32_t v : seen_) {  // from counts to places; -1 marks who is alone
        const std::int32_t members = count_[v];
        count_[v] = members > 1 ? written : -1;
        if (members > 1) out.ends.push_back(written += members);
      }
      for (std::int32_t i = begin; i < end; ++i) {
        const std::int32_t row = groups.rows[i];
        std::int32_t& place = count_[value[row]];
        if (place >= 0) out.rows[place++] = row;
        else alone(row, set, size, unique);
      }
      for (std::int32_t v : seen_) count_[v] = 0;
      begin = end;
    }
    out.rows.resize(written);
    return out;
  }

  void alone(std::int32_t row, Set set, int size, Bits& unique) {
    unique[row >> 6] |= std::uint64_t{1} << (row & 63);
    for (Set rest = set; rest != 0; rest &= rest - 1) {
      const Set without = set & ~(rest & (~rest + 1));
      if (unique_.at(without)[row >> 6] >> (row & 63) & 1) return;  // not minimal
    }
    ++minimal_;
    ++by_size[size - 1];
    if (smallest[row] == 0 || size < smallest[row]) smallest[row] = size;
    score[row] += weights_[size - 1];
    for (int c = 0; c < columns_; ++c) {
      if ((set >> c & 1) == 0) continue;
      column_score[c] += weights_[size - 1];
      category_score[first_[c] + codes_[static_cast<std::size_t>(c) * n_ + row]] += weights_[size - 1];
    }
  }

  const std::int32_t* codes_;
  std::size_t n_;
  int columns_, most_, root_ = 0;
  Progress& progress_;
  std::vector<std::int32_t> first_, count_, seen_;
  std::int64_t minimal_ = 0;  // records for which the set at hand is minimal
  const double* weights_;  // of a set, by size from 1
  std::unordered_map<Set, Bits> unique_;

 public:
  std::vector<double> score, column_score, category_score;
  std::vector<std::int64_t> by_size;
  std::vector<std::int32_t> smallest;  // size of a record's smallest set, 0 for none
  std::vector<Set> sets;               // that are minimal for some record,
  std::vector<std::int64_t> set_counts;  // and for how many
};

// Codes column after column, and how many each column has.
struct Columns {
  std::vector<std::int32_t> codes, cards;

  explicit Columns(const IntMatrix& rows) {
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    for (std::size_t c = 0; c < d; ++c) {
      std::int32_t highest = -1;
      for (std::size_t i = 0; i < n; ++i) codes.push_back(rows.data()[i * d + c]), highest = std::max(highest, codes.back());
      cards.push_back(highest + 1);
    }
  }
};

using ColumnSet = nb::typed<nb::tuple, int, nb::ellipsis>;

struct SampleUniques {
  Output<double> score, by_column;
  std::vector<Output<double>> by_category;
  Output<std::int64_t> by_size;
  Output<std::int32_t> smallest;
  nb::typed<nb::dict, ColumnSet, int> by_set;
};

std::vector<Output<double>> by_column(const std::vector<double>& values, const std::vector<std::int32_t>& cards) {
  std::vector<Output<double>> parts;
  auto from = values.begin();
  for (const std::int32_t card : cards) {
    parts.push_back(to_numpy(std::vector<double>(from, from + card)));
    from += card;
  }
  return parts;
}

nb::typed<nb::dict, ColumnSet, int> by_positions(const Suda& suda) {
  nb::typed<nb::dict, ColumnSet, int> counts;
  for (std::size_t i = 0; i < suda.sets.size(); ++i) {
    nb::list positions;
    for (int c = 0; c < 64; ++c)
      if (suda.sets[i] >> c & 1) positions.append(c);
    counts[nb::tuple(positions)] = suda.set_counts[i];
  }
  return counts;
}

constexpr const char* kSuda2 = R"(List all minimal sample uniques of up to `most` columns.

Parameters
----------
codes
    Shape (n, columns), at most 64 columns; categories as integers from 0, as dense as may be.
most
    Largest size of a set of columns.
weights
    What a set of 1, 2, ... columns adds to a score; by default (columns - size)!.

Notes
-----
Manning, Haglin & Keane (2008). Time grows with the number of column sets times the records that are not unique on
smaller sets.)";

SampleUniques suda2(IntMatrix codes, int most, Listener listener, const std::optional<Vector>& weights) {
  Progress progress(listener);
  const Columns columns(codes);
  const auto d = static_cast<int>(columns.cards.size());
  std::vector<double> weight(static_cast<std::size_t>(std::min(most, d)), 1.0);  // of a set, by size from 1
  for (std::size_t s = 0; s < weight.size(); ++s)
    if (weights) weight[s] = weights->data()[s];
    else for (int i = 2; i < d - static_cast<int>(s); ++i) weight[s] *= i;
  Suda suda(columns.codes.data(), columns.cards.data(), codes.shape(0), d, weight.data(), static_cast<int>(weight.size()),
            progress);
  {
    nb::gil_scoped_release unlock;
    suda.run();
  }
  return {to_numpy(std::move(suda.score)), to_numpy(std::move(suda.column_score)),
          by_column(suda.category_score, columns.cards), to_numpy(std::move(suda.by_size)),
          to_numpy(std::move(suda.smallest)), by_positions(suda)};
}

const Kernel suda2_kernel([](nb::module_& m) {
  using namespace nb::literals;
  nb::class_<SampleUniques>(m, "SampleUniques", "Scores over minimal sample uniques.")
      .def_ro("score", &SampleUniques::score,
              "Shape (n,); sum over a record's minimal sample uniques of their weights.")
      .def_ro("by_column", &SampleUniques::by_column,
              "Shape (columns,); the part of all scores that sets with the column account for.")
      .def_ro("by_category", &SampleUniques::by_category,
              "For each column, shape (categories,); the same by the value that the unique record has there.")
      .def_ro("by_size", &SampleUniques::by_size, "Shape (most,); number of minimal sample uniques of size 1, 2, ...")
      .def_ro("smallest", &SampleUniques::smallest,
              "Shape (n,); size of a record's smallest minimal sample unique, 0 where it has none.")
      .def_ro("by_set", &SampleUniques::by_set,
              "For each set of columns that is minimal for some record, by the columns' positions, for how many it is.");
  m.def("suda2", &suda2, "codes"_a, "most"_a, "progress"_a.none() = nb::none(), "weights"_a.none() = nb::none(), kSuda2);
});

}  // namespace
}  // namespace shoal
