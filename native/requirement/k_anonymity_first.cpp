// k-Anonymity-first microaggregation (Soria-Comas, Domingo-Ferrer, Sanchez & Martinez 2015, Algorithm 2).
//
// Groups are seeded as in MDAV, with the same mean (exact_sum.hpp) and distance (table.hpp): the record farthest
// from the mean of what is left, then the one farthest from that. A group begins as the seed's k nearest; while it
// is over its limit, the nearest candidate y is tried in the place of every member, and takes the place where the
// excess becomes least if that lowers it. A candidate is tried once for a group, whether it is taken or not; a
// member that gives way returns to the records that are left but not to this group's candidates. Fewer than 2k
// records left make the last group.
//
// A try costs one update of the excess for each different member value (requirement_check.hpp). Ties go to the nearer
// member, then to the lower row.
#include <functional>
#include <numeric>

#include "core/exact_sum.hpp"
#include "core/progress.hpp"
#include "core/table.hpp"
#include "requirement/requirement_check.hpp"

namespace shoal {
namespace {

using Ranked = std::pair<double, Record>;

class KAnonymityFirst {
 public:
  KAnonymityFirst(const Table& table, RequirementCheck& check, std::size_t k)
      : table_(table), k_(k), check_(check), mean_(table.values.data(), table.n, table.d), left_(table.n), label_(table.n, -1) {
    std::iota(left_.begin(), left_.end(), 0);
    for (std::size_t i = 0; i < table.n; ++i) mean_.add(table.row(i));
  }

  std::vector<std::int32_t> run(Progress& progress) {
    std::vector<double> mean(table_.d);
    while (!left_.empty()) {
      mean_.mean(mean.data());
      const Record first = farthest(mean.data());
      form(first, progress);
      if (!left_.empty()) form(farthest(row(first)), progress);
    }
    return label_;
  }

 private:
  const double* row(Record i) const { return table_.row(static_cast<std::size_t>(i)); }
  double distance(const double* a, const double* b) const { return squared_distance(a, b, table_.d); }

  Record farthest(const double* from) const {
    Record best = left_.front();
    double most = -1;
    for (const Record i : left_) {
      const double d2 = distance(row(i), from);
      if (d2 > most) most = d2, best = i;
    }
    return best;
  }

  void form(Record seed, Progress& progress) {
    std::vector<Ranked> order;
    for (const Record i : left_) order.emplace_back(i == seed ? -1.0 : distance(row(i), row(seed)), i);
    if (order.size() < 2 * k_) return close(order, order.size());
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k_ - 1), order.end());
    std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k_));
    std::vector<Record> members;
    for (std::size_t r = 0; r < k_; ++r) members.push_back(order[r].second);
    GroupState group = check_.open(members);
    auto end = order.end();
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(k_);
    if (group.excess > 0) std::make_heap(begin, end, std::greater<>());
    while (group.excess > 0 && end != begin) {
      std::pop_heap(begin, end, std::greater<>());
      exchange(members, group, (--end)->second);
      progress.tick(1.0 - static_cast<double>(left_.size()) / static_cast<double>(label_.size()));
    }
    for (std::size_t r = 0; r < k_; ++r) order[r].second = members[r];
    close(order, k_);
  }

  // Put `candidate` where the excess becomes least, if that lowers it.
  void exchange(std::vector<Record>& members, GroupState& group, Record candidate) const {
    double least = group.excess;
    std::size_t best = members.size();
    for (std::size_t r = 0; r < members.size(); ++r) {
      const double after = check_.excess_after_swap(group, members[r], candidate);
      if (after < least) least = after, best = r;
    }
    if (best == members.size()) return;
    check_.swap(group, members[best], candidate);
    members[best] = candidate;
  }

  void close(const std::vector<Ranked>& order, std::size_t size) {
    for (std::size_t r = 0; r < size; ++r) {
      label_[static_cast<std::size_t>(order[r].second)] = count_;
      mean_.remove(row(order[r].second));
    }
    const auto taken = [&](Record i) { return label_[static_cast<std::size_t>(i)] == count_; };
    left_.erase(std::remove_if(left_.begin(), left_.end(), taken), left_.end());
    ++count_;
  }

  const Table& table_;
  std::size_t k_;
  RequirementCheck& check_;
  ExactMean mean_;
  std::vector<Record> left_;  // ascending
  std::vector<std::int32_t> label_;
  std::int32_t count_ = 0;
};

constexpr const char* kKAnonymityFirst = R"(Group records around far-out seeds; swap records in until each group has no excess, where that is possible.

Parameters
----------
x
    Shape (n, d), finite.
check
    What every group must satisfy, as for `merge_groups`.

Returns
-------
Shape (n,); group of each record. All groups have `k` records but the last, which has `k` to 2k - 1; some may have an
excess.

Notes
-----
Soria-Comas et al. (2015), Algorithm 2. Ties go to the nearer member, then to the lower row.)";

auto k_anonymity_first(Matrix x, const Check& required, std::size_t k, Listener listener) {
  Progress progress(listener);
  std::vector<std::int32_t> labels;
  {
    nb::gil_scoped_release unlocked;
    const Table table(x.data(), x.shape(0), x.shape(1));
    RequirementCheck check(required);
    labels = KAnonymityFirst(table, check, k).run(progress);
  }
  return to_numpy(std::move(labels));
}

}  // namespace

static const Kernel kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("k_anonymity_first", &k_anonymity_first, "x"_a, "check"_a, "k"_a, "progress"_a.none() = nb::none(), kKAnonymityFirst);
});

}  // namespace shoal
