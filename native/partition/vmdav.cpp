// V-MDAV (Solanas & Martinez-Balleste 2006): groups of k to 2k - 1 records that grow while a neighbour is
// nearer to the group than to the records outside.
//
// The mean of all records stays where it is, so the records are sorted once by their distance from it and the
// farthest one that is left is the next of that order. While a group grows, each member remembers its nearest
// record outside and asks again only when that record has been taken: the remembered distance cannot have
// shrunk. The criterion d_in < gamma d_out is compared as squares in float64.
#include "core/progress.hpp"
#include "core/words.hpp"
#include "search/brute.hpp"
#include "search/coded_points.hpp"

namespace shoal {
namespace {

template <class Points, class Engine>
class VMdav {
 public:
  VMdav(const Points& table, std::size_t k, double gamma, Engine& engine, Progress& progress)
      : table_(table), k_(k), gamma2_(gamma * gamma), engine_(engine), progress_(progress), labels_(table.n, -1) {}

  std::vector<std::int32_t> run() {
    for (const Neighbour& next : farthest_first()) {
      if (engine_.live() < k_) break;
      if (!engine_.alive(next.row)) continue;
      engine_.take(next.row, k_, members_, false);
      if (gamma2_ > 0.0) extend();
      for (std::int32_t row : members_) labels_[row] = groups_;
      ++groups_;
      progress_.look(1.0 - static_cast<double>(engine_.live()) / static_cast<double>(table_.n));
    }
    groups_ > 0 ? assign_leftovers() : std::fill(labels_.begin(), labels_.end(), 0);
    return std::move(labels_);
  }

 private:
  // All rows, farthest from the mean first; `d2` holds the negated squared distance.
  std::vector<Neighbour> farthest_first() const {
    auto sums = mean_of(table_);
    for (std::size_t i = 0; i < table_.n; ++i) sums.add(table_.row(i));
    std::vector<double> mean(sums.size());
    if (table_.n > 0) sums.mean(mean.data());
    std::vector<Neighbour> order(table_.n);
    for (std::size_t i = 0; i < table_.n; ++i)
      order[i] = {-table_.squared_distance_to_point(table_.row(i), mean.data()), static_cast<std::int32_t>(i)};
    std::sort(order.begin(), order.end());
    return order;
  }

  void extend() {
    nearest_.clear();
    while (members_.size() < 2 * k_ - 1 && engine_.live() > 0) {
      const Neighbour candidate = nearest_outside();
      if (engine_.live() > 1) {  // the last record outside has no neighbour there: d_out is infinite
        engine_.nearest(table_.row(candidate.row), candidate.row, 2, neighbours_);
        if (!(candidate.d2 < gamma2_ * neighbours_.back().d2)) return;
      }
      added_.assign(1, candidate.row);
      engine_.remove(added_);
      members_.push_back(candidate.row);
    }
  }

  // The record outside that is nearest to a member of the group.
  Neighbour nearest_outside() {
    Neighbour best{0.0, -1};
    for (std::size_t m = 0; m < members_.size(); ++m) {
      if (m == nearest_.size() || !engine_.alive(nearest_[m].row)) {
        engine_.nearest(table_.row(members_[m]), -1, 1, neighbours_);
        nearest_.resize(std::max(nearest_.size(), m + 1));
        nearest_[m] = neighbours_.front();
      }
      if (m == 0 || nearest_[m] < best) best = nearest_[m];
    }
    return best;
  }

  // Fewer than k are left: each joins the group whose mean is nearest, means taken before any of them joined.
  void assign_leftovers() {
    std::vector<std::int32_t> left;
    for (std::size_t i = 0; i < table_.n; ++i)
      if (labels_[i] < 0) left.push_back(static_cast<std::int32_t>(i));
    if (left.empty()) return;
    std::vector<std::int32_t> order(table_.n);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [this](auto a, auto b) { return labels_[a] < labels_[b]; });
    std::vector<Neighbour> best(left.size(), {std::numeric_limits<double>::infinity(), -1});
    auto sums = mean_of(table_);
    std::vector<double> mean(sums.size());
    for (std::size_t i = left.size(); i < order.size();) {
      const std::int32_t group = labels_[order[i]];
      sums.clear();
      for (; i < order.size() && labels_[order[i]] == group; ++i) sums.add(table_.row(order[i]));
      sums.mean(mean.data());
      for (std::size_t l = 0; l < left.size(); ++l)
        best[l] = std::min(best[l], {table_.squared_distance_to_point(table_.row(left[l]), mean.data()), group});
    }
    for (std::size_t l = 0; l < left.size(); ++l) labels_[left[l]] = best[l].row;
  }

  const Points& table_;
  std::size_t k_;
  double gamma2_;
  Engine& engine_;
  Progress& progress_;
  std::vector<std::int32_t> labels_, members_, added_;
  std::vector<Neighbour> nearest_, neighbours_;  // nearest_[m]: the record outside that is nearest to member m
  std::int32_t groups_ = 0;
};

template <class Engine, class Points>
std::vector<std::int32_t> partition(const Points& table, std::size_t k, double gamma, bool simd, Progress& progress) {
  Engine engine(table, all_rows(table.n), scans_for(table, simd));
  return VMdav<Points, Engine>(table, k, gamma, engine, progress).run();
}

// Growing asks k times for a nearest neighbour, so exhaustive search pays for tiny tables only.
constexpr std::size_t kSmall = 300;

constexpr const char* kVmdav = R"(Group records by V-MDAV; every group has k or more members (one group if there are fewer than k records).

Parameters
----------
x
    Shape (n, d), finite, standardised.
k
    Smallest group size, at least 1.
gamma
    A record outside joins while its distance to the nearest member is below gamma times its distance to the nearest
    other record outside; at least 0, where 0 keeps every group at k.
coding, engine, simd, progress
    As for `mdav`.

Returns
-------
Shape (n,); group number of each record, counted from 0 in the order the groups were formed.

Notes
-----
Solanas & Martinez-Balleste (2006). Groups grow to 2k - 1 members at most; the last records, fewer than k, join the
groups with the nearest mean. The canonical order is that of `mdav`.)";

Output<std::int32_t> vmdav(Matrix x, std::size_t k, double gamma, Coding coding, Word<SearchEngine> engine, bool simd,
                           Listener listener) {
  std::vector<std::int32_t> labels;
  Progress progress(listener);
  {
    nb::gil_scoped_release unlock;
    if (!coding && exhaustive(engine, x.shape(0) < kSmall))
      labels = partition<Brute>(Table(x.data(), x.shape(0), x.shape(1)), k, gamma, simd, progress);
    else
      with_points(x, coding, [&](const auto& table) {
        labels = partition<EngineOf<decltype(table)>>(table, k, gamma, simd, progress);
      });
  }
  return to_numpy(std::move(labels));
}

const Kernel vmdav_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("vmdav", &vmdav, "x"_a, "k"_a, "gamma"_a, nb::kw_only(), "coding"_a.none() = nb::none(), "engine"_a = "auto", "simd"_a = true,
        "progress"_a.none() = nb::none(), kVmdav);
});

}  // namespace
}  // namespace shoal
