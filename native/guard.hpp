// The confidential side of a partition: for every group its members' bins in each confidential column, and
// by how much the group exceeds what is required of it (requirement.hpp). The excess of a group is its
// largest over the columns.
//
// A Ledger is one group's account. A swap changes one bin in each column and is priced by the requirement's
// own update (for EMD over a line: only the stretches between the two bins); joining and leaving change every
// share and are priced anew, in O(group size).
#pragma once
#include "groups.hpp"
#include "kernels.hpp"
#include "requirement.hpp"

namespace shoal {

using Requirements = std::vector<const Requirement*>;

struct Ledger {
  std::vector<std::vector<Bin>> bins;  // by column, ascending
  std::vector<Wide> state;
  double excess = 0;
  std::size_t size() const { return bins.empty() ? 0 : bins.front().size(); }
};

class Guard {
 public:
  // `bins` has shape (columns, n).
  Guard(IntMatrix bins, Requirements requirements)
      : bins_(bins.data()), n_(bins.shape(1)), requirements_(std::move(requirements)) {}

  std::size_t columns() const { return requirements_.size(); }
  Bin bin(std::size_t column, Record i) const { return bins_[column * n_ + static_cast<std::size_t>(i)]; }

  Ledger open(const std::vector<Record>& members) const {
    Ledger ledger;
    for (std::size_t q = 0; q < columns(); ++q) {
      std::vector<Bin> list;
      for (const Record i : members) list.push_back(bin(q, i));
      std::sort(list.begin(), list.end());
      ledger.bins.push_back(std::move(list));
    }
    settle(ledger);
    return ledger;
  }

  Ledger united(const Ledger& a, const Ledger& b) const {
    Ledger both;
    for (std::size_t q = 0; q < columns(); ++q) {
      std::vector<Bin> list(a.bins[q].size() + b.bins[q].size());
      std::merge(a.bins[q].begin(), a.bins[q].end(), b.bins[q].begin(), b.bins[q].end(), list.begin());
      both.bins.push_back(std::move(list));
    }
    settle(both);
    return both;
  }

  double excess_after_swap(const Ledger& ledger, Record out, Record in) const {
    double worst = -1e300;
    for (std::size_t q = 0; q < columns(); ++q) {
      const auto& list = ledger.bins[q];
      if (bin(q, out) == bin(q, in)) {
        worst = std::max(worst, requirements_[q]->excess(ledger.state[q], list.size()));
        continue;
      }
      const Wide after =
          requirements_[q]->state_after_swap(list.data(), list.size(), ledger.state[q], place(list, bin(q, out)), bin(q, in));
      worst = std::max(worst, requirements_[q]->excess(after, list.size()));
    }
    return worst;
  }

  double excess_after_leaving(const Ledger& ledger, Record out) {
    double worst = -1e300;
    for (std::size_t q = 0; q < columns(); ++q) {
      scratch_ = ledger.bins[q];
      erase(scratch_, bin(q, out));
      worst = std::max(worst, requirements_[q]->excess(scratch_.data(), scratch_.size()));
    }
    return worst;
  }

  double excess_after_joining(const Ledger& ledger, Record in) {
    double worst = -1e300;
    for (std::size_t q = 0; q < columns(); ++q) {
      scratch_ = ledger.bins[q];
      insert(scratch_, bin(q, in));
      worst = std::max(worst, requirements_[q]->excess(scratch_.data(), scratch_.size()));
    }
    return worst;
  }

  void swap(Ledger& ledger, Record out, Record in) const {
    for (std::size_t q = 0; q < columns(); ++q) {
      auto& list = ledger.bins[q];
      if (bin(q, out) == bin(q, in)) continue;
      const std::size_t at = place(list, bin(q, out));
      ledger.state[q] = requirements_[q]->state_after_swap(list.data(), list.size(), ledger.state[q], at, bin(q, in));
      erase(list, bin(q, out));
      insert(list, bin(q, in));
    }
    weigh(ledger);
  }

  void leave(Ledger& ledger, Record out) const {
    for (std::size_t q = 0; q < columns(); ++q) erase(ledger.bins[q], bin(q, out));
    settle(ledger);
  }

  void join(Ledger& ledger, Record in) const {
    ledger.bins.resize(columns());
    for (std::size_t q = 0; q < columns(); ++q) insert(ledger.bins[q], bin(q, in));
    settle(ledger);
  }

 private:
  static std::size_t place(const std::vector<Bin>& list, Bin bin) {
    return static_cast<std::size_t>(std::lower_bound(list.begin(), list.end(), bin) - list.begin());
  }
  static void erase(std::vector<Bin>& list, Bin bin) { list.erase(std::lower_bound(list.begin(), list.end(), bin)); }
  static void insert(std::vector<Bin>& list, Bin bin) {
    list.insert(std::upper_bound(list.begin(), list.end(), bin), bin);
  }

  void settle(Ledger& ledger) const {
    ledger.state.assign(columns(), 0);
    ledger.excess = 0;
    if (ledger.size() == 0) return;  // an empty group owes nothing
    for (std::size_t q = 0; q < columns(); ++q)
      ledger.state[q] = requirements_[q]->state(ledger.bins[q].data(), ledger.bins[q].size());
    weigh(ledger);
  }
  void weigh(Ledger& ledger) const {
    ledger.excess = -1e300;
    for (std::size_t q = 0; q < columns(); ++q)
      ledger.excess = std::max(ledger.excess, requirements_[q]->excess(ledger.state[q], ledger.size()));
  }

  const Bin* bins_;
  std::size_t n_;
  Requirements requirements_;
  std::vector<Bin> scratch_;
};

}  // namespace shoal
