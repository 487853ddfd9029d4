// MDAV-generic (Domingo-Ferrer & Torra 2005): groups of k around the record farthest from the mean and
// around the record farthest from that one, until too few are left.
//
// The algorithm is written once, for any engine that answers three questions exactly: which live record is
// farthest from the mean, which are nearest to a record, which is farthest from a record. `Brute` answers
// them by looking at every record, `Tree` by bounds; both follow the canonical order (squared distance in
// float64, then the lower row), so their partitions are the same, bit for bit.
#include "core/exact_sum.hpp"
#include "core/kernels.hpp"
#include "core/progress.hpp"
#include "search/brute.hpp"
#include "search/tree.hpp"
#include <nanobind/stl/string.h>
#include <numeric>
#include <string>

namespace shoal {
namespace {

template <class Engine>
class Mdav {
 public:
  Mdav(const Table& table, std::size_t k, Engine& engine, Progress& progress)
      : table_(table), k_(k), engine_(engine), progress_(progress), mean_(table.values.data(), table.n, table.d),
        centre_(table.d), labels_(table.n, -1) {
    for (std::size_t i = 0; i < table.n; ++i) mean_.add(table.row(i));
  }

  std::vector<std::int32_t> run() {
    while (engine_.live() >= 3 * k_) {  // step 1
      const std::int32_t r = farthest_from_mean();
      const std::int32_t s = group_around(r, true);
      group_around(s, false);
      const double left = static_cast<double>(engine_.live()) / static_cast<double>(table_.n);
      progress_.look(1.0 - left);
    }
    if (engine_.live() >= 2 * k_) group_around(farthest_from_mean(), false);  // step 2
    for (auto& label : labels_)
      if (label < 0) label = groups_;  // step 3: the rest
    return std::move(labels_);
  }

 private:
  std::int32_t farthest_from_mean() {
    mean_.mean(centre_.data());
    return engine_.farthest_from_mean(centre_.data());
  }

  std::int32_t group_around(std::int32_t seed, bool farthest_next) {
    const std::int32_t next = engine_.take(seed, k_, rows_, farthest_next);
    for (std::int32_t row : rows_) {
      labels_[row] = groups_;
      mean_.remove(table_.row(row));
    }
    ++groups_;
    return next;
  }

  const Table& table_;
  std::size_t k_;
  Engine& engine_;
  Progress& progress_;
  ExactMean mean_;
  std::vector<double> centre_;
  std::vector<std::int32_t> labels_, rows_;
  std::int32_t groups_ = 0;
};

template <class Engine>
std::vector<std::int32_t> partition(const Table& table, std::size_t k, bool simd, Progress& progress) {
  std::vector<std::int32_t> rows(table.n);
  std::iota(rows.begin(), rows.end(), 0);
  Engine engine(table, rows, scans(simd));
  return Mdav<Engine>(table, k, engine, progress).run();
}

// Where the exhaustive search is expected to be faster. It costs n^2 d / k and the tree little but its
// construction, n log n; the constant is read off `bench/mdav.py --crossover`.
constexpr double kCrossover = 150.0;

bool small(const Table& table, std::size_t k) {
  return static_cast<double>(table.n) < kCrossover * static_cast<double>(k) * std::sqrt(static_cast<double>(table.d));
}

nb::ndarray<nb::numpy, std::int32_t> mdav(Matrix x, std::size_t k, const std::string& engine, bool simd,
                                          nb::object callback) {
  std::vector<std::int32_t> labels;
  Progress progress(callback);
  {
    nb::gil_scoped_release unlock;
    const Table table(x.data(), x.shape(0), x.shape(1));
    const bool brute = engine == "brute" || (engine == "auto" && small(table, k));
    labels = brute ? partition<Brute>(table, k, simd, progress) : partition<Tree>(table, k, simd, progress);
  }
  return to_numpy(std::move(labels));
}

const Kernel kernel([](nb::module_& m) {
  m.def("mdav", &mdav, nb::arg("x"), nb::arg("k"), nb::arg("engine"), nb::arg("simd"), nb::arg("progress").none());
});

}  // namespace
}  // namespace shoal
