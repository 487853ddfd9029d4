// Rank swapping: pairs of ranks that lie at most `window` apart.
//
// Ranks are taken in ascending order. A rank i that has no partner yet gets one drawn uniformly from the
// free ranks among i + 1, ..., i + window; where none is free it keeps its value (Moore 1996; S2 algorithm 1).
//
// The draw is by rejection: pick a rank in the window, take it if it is free. In the steady state a rank at
// distance u window (0 < u <= 1) ahead is still free with probability 2^(u - 1): each of the ranks that arrive
// free (a share a) removes one free rank of the window, whose mean density is m, so the hazard h = a / m
// solves exp(-h) = a = h m and m = (1 - exp(-h)) / h, hence h = ln 2 and m = 0.72. A draw therefore succeeds
// after 1.4 picks on average. Only at the upper end, where the window is cut off by the last rank and empties,
// does rejection get slow; after kTries misses the free ranks of the (by then short) window are listed and one
// is drawn from the list. The whole costs O(n) after the caller's sort.
#include "core/kernels.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"

namespace shoal {
namespace {

constexpr int kTries = 64;  // at the steady density of 0.72 this many misses in a row have probability 1e-35

class Pairing {
 public:
  Pairing(std::int64_t n, std::int64_t window, std::uint64_t seed) : n_(n), window_(window), random_(seed) {}

  // The partners of the next `count` ranks. Of later ranks only those are held that a window has reached.
  std::vector<std::int64_t> next(std::int64_t count, Progress& progress) {
    const std::int64_t end = n_ - first_ < count ? n_ : first_ + count;
    const std::int64_t reached = n_ - end < window_ ? n_ : end + window_;
    partner_.resize(static_cast<std::size_t>(reached - first_), -1);
    for (std::int64_t i = first_; i < end; ++i) {
      progress.tick(static_cast<double>(i) / static_cast<double>(n_));
      if (partner(i) >= 0) continue;
      const std::int64_t j = draw(i);
      partner(i) = j;
      partner(j) = i;
    }
    std::vector<std::int64_t> later(partner_.begin() + (end - first_), partner_.end());
    partner_.resize(static_cast<std::size_t>(end - first_));
    first_ = end;
    return std::exchange(partner_, std::move(later));
  }

 private:
  std::int64_t& partner(std::int64_t rank) { return partner_[static_cast<std::size_t>(rank - first_)]; }

  // A free rank in (i, i + window], or i itself where there is none.
  std::int64_t draw(std::int64_t i) {
    const std::int64_t last = n_ - 1 - i < window_ ? n_ - 1 : i + window_;
    const std::int64_t ahead = last - i;
    if (ahead == 0) return i;
    for (int t = 0; t < kTries; ++t) {
      const std::int64_t j = i + 1 + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(ahead)));
      if (partner(j) < 0) return j;
    }
    free_.clear();
    for (std::int64_t j = i + 1; j <= last; ++j)
      if (partner(j) < 0) free_.push_back(j);
    return free_.empty() ? i : free_[random_.below(free_.size())];
  }

  std::int64_t n_, window_, first_ = 0;
  Random random_;
  std::vector<std::int64_t> partner_, free_;  // of the ranks from `first_` on
};

Output<std::int64_t> next_partners(Pairing& pairing, std::int64_t count) {
  Progress progress;
  std::vector<std::int64_t> partner;
  {
    nb::gil_scoped_release release;
    partner = pairing.next(count, progress);
  }
  return to_numpy(std::move(partner));
}

}  // namespace

static const Kernel rank_swap_kernel([](nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Pairing>(m, "RankPairs", "Pairs of the ranks 0 to n - 1 at random whose partners lie at most `window` apart, rank by "
                                      "rank (Moore 1996).")
      .def(nb::init<std::int64_t, std::int64_t, std::uint64_t>(), "n"_a, "window"_a, "seed"_a)
      .def("next", &next_partners, "count"_a, "Partners of the next so many ranks, shape (count,).");
});

}  // namespace shoal
