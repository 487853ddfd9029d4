// t-Closeness-first microaggregation (Soria-Comas, Domingo-Ferrer, Sanchez & Martinez 2015, Algorithm 3).
//
// The records are divided into k strata by the rank of their confidential value, and every group takes the
// nearest record of each stratum, so that its confidential values are spread like the whole table's. Groups
// are built as in MDAV, around the record farthest from the mean and the record farthest from that one, all
// by the quasi-identifiers.
//
// Where n is no multiple of k, some strata hold extra records; a group takes a second record from the first
// stratum that still holds extras. The paper recognises them by comparing with the first stratum after both
// gave a record; here a stratum holds extras if, having given one, it is still as large as the smallest was
// when the group was begun, which is the same wherever the first stratum holds none, and right for k = 2 too.
//
// One engine a stratum answers 'nearest', one over all records 'farthest'; each stratum has its own small
// table, so that memory stays in proportion to the input.
#include "core/progress.hpp"
#include "core/words.hpp"
#include "search/brute.hpp"
#include "search/stratum.hpp"
#include <memory>

namespace shoal {
namespace {

template <class Points, class Engine>
class TClosenessFirst {
 public:
  TClosenessFirst(const Points& table, const std::int32_t* strata, std::size_t k, const Scans& scans, Progress& progress)
      : table_(table), progress_(progress), all_(table, all_rows(table.n), scans), mean_(mean_of(table)),
        centre_(mean_.size()), labels_(table.n, -1) {
    std::vector<std::vector<std::int32_t>> rows(k);
    for (std::size_t i = 0; i < table.n; ++i) {
      rows[strata[i]].push_back(static_cast<std::int32_t>(i));
      mean_.add(table.row(i));
    }
    for (auto& members : rows) strata_.push_back(std::make_unique<Stratum<Points, Engine>>(table, std::move(members), scans));
  }

  std::vector<std::int32_t> run() {
    while (smallest_stratum() > 0) {
      mean_.mean(centre_.data());
      const std::int32_t first = all_.farthest_from_mean(centre_.data());
      group_around(first);
      if (smallest_stratum() > 0) group_around(all_.farthest(table_.row(first)));
      progress_.look(1.0 - static_cast<double>(all_.live()) / static_cast<double>(table_.n));
    }
    for (auto& label : labels_)
      if (label < 0) label = groups_ > 0 ? groups_ - 1 : 0;
    return std::move(labels_);
  }

 private:
  std::size_t smallest_stratum() const {
    std::size_t smallest = table_.n;
    for (const auto& stratum : strata_) smallest = std::min(smallest, stratum->live());
    return smallest;
  }

  void group_around(std::int32_t seed) {
    const double* const q = table_.row(seed);
    const std::size_t smallest = smallest_stratum();
    bool extra = false;
    rows_.clear();
    for (auto& stratum : strata_) {
      rows_.push_back(stratum->take_nearest(q, seed));
      if (extra || stratum->live() < smallest) continue;
      rows_.push_back(stratum->take_nearest(q, -1));
      extra = true;
    }
    all_.remove(rows_);
    for (std::int32_t row : rows_) {
      labels_[row] = groups_;
      mean_.remove(table_.row(row));
    }
    ++groups_;
  }

  const Points& table_;
  Progress& progress_;
  Engine all_;
  std::vector<std::unique_ptr<Stratum<Points, Engine>>> strata_;
  MeanOf<Points> mean_;
  std::vector<double> centre_;
  std::vector<std::int32_t> labels_, rows_;
  std::int32_t groups_ = 0;
};

// Many strata of few records each: looking at all of them beats a tree over each.
constexpr std::size_t kManyStrata = 50, kFewRecords = 100'000;

template <class Engine, class Points>
std::vector<std::int32_t> partition(const Points& table, const std::int32_t* strata, std::size_t k, bool simd,
                                    Progress& progress) {
  return TClosenessFirst<Points, Engine>(table, strata, k, scans_for(table, simd), progress).run();
}

constexpr const char* kTClosenessFirst = R"(Group records so that each group holds one record of every stratum, and at most one extra.

Parameters
----------
x
    Shape (n, d), finite, standardised quasi-identifiers.
strata
    Shape (n,); stratum of each record, 0 to k - 1, in ascending order of the confidential attribute. Every stratum
    holds floor(n / k) records but for the central ones, which hold the n mod k extras between them; there may be no
    more extras than groups (further ones would all go to the last group).
k
    Number of strata, which is the smallest group size; 1 <= k <= n.
progress
    Called now and then with the fraction of the records that are grouped.
coding, engine, simd
    As for `mdav`.

Returns
-------
Shape (n,); group number of each record, counted from 0 in the order the groups were formed.

Notes
-----
Soria-Comas, Domingo-Ferrer, Sanchez & Martinez (2015), Algorithm 3, from 'while X' on. The canonical order is that of
`mdav`.)";

Output<std::int32_t> tcloseness_first(Matrix x, Ints strata, std::size_t k, Listener listener, Coding coding,
                                      Word<SearchEngine> engine, bool simd) {
  std::vector<std::int32_t> labels;
  Progress progress(listener);
  {
    nb::gil_scoped_release unlock;
    const std::size_t n = x.shape(0);
    const bool few = n < 1000 || (k >= kManyStrata && n <= kFewRecords);
    if (!coding && exhaustive(engine, few))
      labels = partition<Brute>(Table(x.data(), n, x.shape(1)), strata.data(), k, simd, progress);
    else
      with_points(x, coding, [&](const auto& table) {
        labels = partition<EngineOf<decltype(table)>>(table, strata.data(), k, simd, progress);
      });
  }
  return to_numpy(std::move(labels));
}

const Kernel tcloseness_first_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("tcloseness_first", &tcloseness_first, "x"_a, "strata"_a, "k"_a, "progress"_a.none() = nb::none(), nb::kw_only(),
        "coding"_a.none() = nb::none(), "engine"_a = "auto", "simd"_a = true, kTClosenessFirst);
});

}  // namespace
}  // namespace shoal
