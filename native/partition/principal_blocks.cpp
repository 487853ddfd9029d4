// Blocks of records, cut at medians of first principal components.
//
// MDAV in many dimensions, or on many millions of records, can be run block by block if the blocks are large
// and compact. Each block of at least twice the smallest size is halved at the median of its own first
// principal component; cutting the widest axis instead costs far more on skewed data. The direction comes from
// power iteration on an evenly spaced sample of the block's records, which is precise enough for a place to
// cut. Ties at the median go by row, and records stay in row order within a block, so the result does not
// depend on the implementation of the library's selection.
#include "core/kernels.hpp"
#include "core/progress.hpp"
#include "core/table.hpp"
#include <numeric>

namespace shoal {
namespace {

constexpr std::size_t kSample = 20'000;
constexpr int kIterations = 30;

class BlockCutter {
 public:
  BlockCutter(const Table& table, std::size_t smallest, Progress& progress)
      : table_(table), smallest_(smallest), progress_(progress), labels_(table.n), mean_(table.d), direction_(table.d) {}

  std::vector<std::int32_t> run() {
    std::vector<std::int32_t> rows(table_.n);
    std::iota(rows.begin(), rows.end(), 0);
    cut(rows.data(), rows.size());
    return std::move(labels_);
  }

 private:
  void cut(std::int32_t* rows, std::size_t n) {
    progress_.look(0.0);
    if (n < 2 * smallest_) {
      for (std::size_t i = 0; i < n; ++i) labels_[rows[i]] = blocks_;
      ++blocks_;
      return;
    }
    find_direction(rows, n);
    keys_.resize(n);
    for (std::size_t i = 0; i < n; ++i) keys_[i] = {along(table_.row(rows[i])), rows[i]};
    order_ = keys_;
    const std::size_t half = n / 2;
    std::nth_element(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(half), order_.end());
    const Neighbour middle = order_[half];
    std::stable_partition(keys_.begin(), keys_.end(), [&](const Neighbour& key) { return key < middle; });
    for (std::size_t i = 0; i < n; ++i) rows[i] = keys_[i].row;
    cut(rows, half);
    cut(rows + half, n - half);
  }

  // The first principal direction of a sample, from the record farthest from the sample's mean.
  void find_direction(const std::int32_t* rows, std::size_t n) {
    const std::size_t step = n / kSample + 1, d = table_.d;
    const double count = static_cast<double>((n + step - 1) / step);
    std::fill(mean_.begin(), mean_.end(), 0.0);
    for (std::size_t i = 0; i < n; i += step)
      for (std::size_t j = 0; j < d; ++j) mean_[j] += table_.row(rows[i])[j] / count;
    std::size_t start = 0;
    double farthest = -1.0;
    for (std::size_t i = 0; i < n; i += step) {
      const double d2 = squared_distance(table_.row(rows[i]), mean_.data(), d);
      if (d2 > farthest) start = i;
      farthest = std::max(farthest, d2);
    }
    for (std::size_t j = 0; j < d; ++j) direction_[j] = table_.row(rows[start])[j] - mean_[j];
    std::vector<double> next(d);
    for (int iteration = 0; iteration < kIterations && normalise(); ++iteration) {
      std::fill(next.begin(), next.end(), 0.0);
      for (std::size_t i = 0; i < n; i += step) {
        const double* const row = table_.row(rows[i]);
        const double weight = along(row);
        for (std::size_t j = 0; j < d; ++j) next[j] += weight * (row[j] - mean_[j]);
      }
      direction_.swap(next);
    }
  }

  // False where all records of the sample are equal: any direction will do.
  bool normalise() {
    double largest = 0.0;
    for (double v : direction_) largest = std::max(largest, std::fabs(v));
    for (double& v : direction_) v = largest > 0.0 ? v / largest : 0.0;
    return largest > 0.0;
  }

  double along(const double* row) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < table_.d; ++j) sum += (row[j] - mean_[j]) * direction_[j];
    return sum;
  }

  const Table& table_;
  std::size_t smallest_;
  Progress& progress_;
  std::vector<std::int32_t> labels_;
  std::vector<double> mean_, direction_;
  std::vector<Neighbour> keys_, order_;
  std::int32_t blocks_ = 0;
};

constexpr const char* kPrincipalBlocks = R"(Halve the records until a half would fall below a size.

Parameters
----------
x
    Shape (n, d), finite, standardised.
smallest
    Smallest block; a block of twice that or more is cut at the median of its first principal component.

Returns
-------
Shape (n,); block number of each record, counted from 0. Every block has between `smallest` and twice `smallest`
members (one block if there are fewer than twice `smallest` records).)";

Output<std::int32_t> principal_blocks(Matrix x, std::size_t smallest) {
  std::vector<std::int32_t> labels;
  Progress progress;
  {
    nb::gil_scoped_release unlock;
    const Table table(x.data(), x.shape(0), x.shape(1));
    labels = BlockCutter(table, smallest, progress).run();
  }
  return to_numpy(std::move(labels));
}

const Kernel principal_blocks_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("principal_blocks", &principal_blocks, "x"_a, "smallest"_a, kPrincipalBlocks);
});

}  // namespace
}  // namespace shoal
