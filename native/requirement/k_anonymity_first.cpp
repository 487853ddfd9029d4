// k-Anonymity-first microaggregation (Soria-Comas, Domingo-Ferrer, Sanchez & Martinez 2015, Algorithm 2).
//
// Groups are seeded as in MDAV, with the same mean (exact_sum.hpp) and distance (table.hpp): the record farthest
// from the mean of what is left, then the one farthest from that. A group begins as the seed's k nearest; while it
// is over its limit, the nearest candidate y is tried in the place of every member, and takes the place where the
// excess becomes least if that lowers it. A candidate is tried once for a group, whether it is taken or not; a
// member that gives way returns to the records that are left but not to this group's candidates. Fewer than 2k
// records left make the last group.
//
// A group whose excess is the least that k records can have is left as it is: no candidate could lower it. After some
// candidates in vain only those are looked at that could, by what they have in columns of few bins (prospects.hpp): they
// may lie far away, behind most of the records.
//
// A try costs one update of the excess for each different member value (requirement_check.hpp). Ties go to the nearer
// member, then to the lower row. Candidates come from the tree, a few at first and four times as many whenever they
// are used up, so that a group that soon holds looks at few records.
#include "core/progress.hpp"
#include "requirement/prospects.hpp"

namespace shoal {
namespace {

template <class Points>
class KAnonymityFirst {
 public:
  KAnonymityFirst(const Points& table, RequirementCheck& check, std::size_t k)
      : table_(table), k_(k), check_(check), mean_(mean_of(table)), engine_(table, all_rows(table.n), scans_for(table, true)),
        prospects_(table, check), label_(table.n, -1), enough_(std::max(0.0, check.least(k))) {
    for (std::size_t i = 0; i < table.n; ++i) mean_.add(table.row(i));
  }

  std::vector<std::int32_t> run(Progress& progress) {
    std::vector<double> mean(mean_.size());
    while (engine_.live() > 0) {
      mean_.mean(mean.data());
      const Record first = engine_.farthest_from_mean(mean.data());
      form(first, progress);
      if (engine_.live() > 0) form(engine_.farthest(row(first)), progress);
    }
    return label_;
  }

 private:
  static constexpr std::size_t kMore = 4;       // times as many candidates as before
  static constexpr std::size_t kPatience = 16;  // candidates in vain

  const double* row(Record i) const { return table_.row(static_cast<std::size_t>(i)); }

  void form(Record seed, Progress& progress) {
    const std::size_t live = engine_.live(), size = live < 2 * k_ ? live : k_;
    engine_.nearest(row(seed), seed, size, near_);
    std::vector<Record> members;
    for (const Neighbour& near : near_) members.push_back(near.row);
    if (size == k_) settle(seed, members, progress);
    close(members);
  }

  // Exchange members for the next nearest until the group has no excess, or the least that there can be.
  void settle(Record seed, std::vector<Record>& members, Progress& progress) {
    GroupState group = check_.open(members);
    const std::size_t live = engine_.live(), patience = prospects_.any() ? kPatience : live;
    std::size_t next = k_;
    for (std::size_t vain = 0; group.excess > enough_ && next < live && vain < patience; ++next) {
      if (next == near_.size()) engine_.nearest(row(seed), seed, std::min(kMore * next, live), near_);
      vain = exchange(members, group, near_[next].row, progress) ? 0 : vain + 1;
    }
    if (group.excess <= enough_ || next == live) return;
    prospects_.begin([&](Record i) { return engine_.alive(i); });
    Neighbour last = near_[next - 1];  // after the seed, which is the lowest row of its equals
    for (bool moved = true; group.excess > enough_;) {
      last = prospects_.next(row(seed), last, group, moved);
      if (last.row < 0) return;
      moved = exchange(members, group, last.row, progress);
    }
  }

  // Put `candidate` where the excess becomes least, if that lowers it.
  bool exchange(std::vector<Record>& members, GroupState& group, Record candidate, Progress& progress) const {
    progress.tick(1.0 - static_cast<double>(engine_.live()) / static_cast<double>(label_.size()));
    double least = group.excess;
    std::size_t best = members.size();
    for (std::size_t r = 0; r < members.size(); ++r) {
      const double after = check_.excess_after_swap(group, members[r], candidate);
      if (after < least) least = after, best = r;
    }
    if (best == members.size()) return false;
    check_.swap(group, members[best], candidate);
    members[best] = candidate;
    return true;
  }

  void close(const std::vector<Record>& members) {
    for (const Record i : members) {
      label_[static_cast<std::size_t>(i)] = count_;
      mean_.remove(row(i));
      prospects_.remove(i);
    }
    engine_.remove(members);
    ++count_;
  }

  const Points& table_;
  std::size_t k_;
  RequirementCheck& check_;
  MeanOf<Points> mean_;
  EngineOf<Points> engine_;
  Prospects<Points> prospects_;
  std::vector<Neighbour> near_;  // of the seed, itself first
  std::vector<std::int32_t> label_;
  double enough_;
  std::int32_t count_ = 0;
};

constexpr const char* kKAnonymityFirst = R"(Group records around far-out seeds; swap records in until each group has no excess, where that is possible.

Parameters
----------
x
    Shape (n, d), finite.
check
    What every group must satisfy, as for `merge_groups`.
coding
    As for `mdav`.

Returns
-------
Shape (n,); group of each record. All groups have `k` records but the last, which has `k` to 2k - 1; some may have an
excess.

Notes
-----
Soria-Comas et al. (2015), Algorithm 2. Ties go to the nearer member, then to the lower row.)";

auto k_anonymity_first(Matrix x, const Check& required, std::size_t k, Listener listener, Coding coding) {
  Progress progress(listener);
  std::vector<std::int32_t> labels;
  {
    nb::gil_scoped_release unlocked;
    RequirementCheck check(required);
    with_points(x, coding, [&](const auto& table) {
      labels = KAnonymityFirst<std::decay_t<decltype(table)>>(table, check, k).run(progress);
    });
  }
  return to_numpy(std::move(labels));
}

}  // namespace

static const Kernel k_anonymity_first_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("k_anonymity_first", &k_anonymity_first, "x"_a, "check"_a, "k"_a, "progress"_a.none() = nb::none(), nb::kw_only(),
        "coding"_a.none() = nb::none(), kKAnonymityFirst);
});

}  // namespace shoal
