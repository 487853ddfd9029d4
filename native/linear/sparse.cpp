// Products with a tall matrix that is mostly 0, as designs of indicators are: only what is not 0 is looked at.
//
// Sums run over rows and columns in ascending order, and those over all rows in blocks, so that rounding grows slowly
// with their number; as in dense.cpp, the bits are the same on every processor.
#include <algorithm>

#include "core/kernels.hpp"

namespace shoal {
namespace {

constexpr std::size_t kRows = 1024;  // of a block

constexpr const char* kProduct = R"(A matrix of few entries times a small one.

Parameters
----------
starts, columns, values
    Shapes (n + 1,), (m,) and (m,); the entries of row i are those from `starts[i]` to `starts[i + 1]`, ascending columns.
small
    Shape (p, K).

Returns
-------
Shape (n, K).)";

auto sparse_product(Longs starts, Ints columns, Vector values, Matrix small) {
  const std::size_t n = starts.shape(0) - 1, width = small.shape(1);
  std::vector<double> out(n * width, 0.0);
  {
    nb::gil_scoped_release unlock;
    for (std::size_t i = 0; i < n; ++i) {
      double* const row = out.data() + i * width;
      for (std::int64_t e = starts.data()[i]; e < starts.data()[i + 1]; ++e) {
        const double value = values.data()[e];
        const double* const from = small.data() + static_cast<std::size_t>(columns.data()[e]) * width;
        for (std::size_t j = 0; j < width; ++j) row[j] += value * from[j];
      }
    }
  }
  return to_numpy(std::move(out), {n, width});
}

constexpr const char* kCross = R"(The transpose of a matrix of few entries times another tall one.

Parameters
----------
starts, columns, values
    As for `sparse_product`.
other
    Shape (n, K).
p
    Number of columns of the first.

Returns
-------
Shape (p, K).)";

auto sparse_cross(Longs starts, Ints columns, Vector values, Matrix other, std::size_t p) {
  const std::size_t n = starts.shape(0) - 1, width = other.shape(1);
  std::vector<double> out(p * width, 0.0), block(p * width, 0.0);
  {
    nb::gil_scoped_release unlock;
    for (std::size_t first = 0; first < n; first += kRows) {
      std::fill(block.begin(), block.end(), 0.0);
      for (std::size_t i = first; i < std::min(first + kRows, n); ++i) {
        const double* const row = other.data() + i * width;
        for (std::int64_t e = starts.data()[i]; e < starts.data()[i + 1]; ++e) {
          const double value = values.data()[e];
          double* const to = block.data() + static_cast<std::size_t>(columns.data()[e]) * width;
          for (std::size_t j = 0; j < width; ++j) to[j] += value * row[j];
        }
      }
      for (std::size_t j = 0; j < p * width; ++j) out[j] += block[j];
    }
  }
  return to_numpy(std::move(out), {p, width});
}

const Kernel sparse_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("sparse_product", &sparse_product, "starts"_a, "columns"_a, "values"_a, "small"_a, kProduct);
  m.def("sparse_cross", &sparse_cross, "starts"_a, "columns"_a, "values"_a, "other"_a, "p"_a, kCross);
});

}  // namespace
}  // namespace shoal
