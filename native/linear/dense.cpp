// Dense linear algebra whose results are the same to the bit on every processor.
//
// A tuned library sums in an order that depends on the processor's vector width and on the number of threads, so
// its last digits do, too, and with them the cells of a release. Here every sum has one order, that of the loops
// below, and the compiler may neither reorder nor contract it (see CMakeLists.txt). Matrices are small, or tall with
// few columns; all come in stacks (B, rows, columns), row-major.
//
// - products: sums over the inner index, ascending;
// - triangular, orthogonal: QR by Householder reflections (Golub & Van Loan, Matrix Computations, section 5.2); pivoted:
//   with the longest column taken next (section 5.4.2);
// - singular: one-sided Jacobi (Golub & Van Loan, section 8.6.3): columns of A are rotated until they are
//   orthogonal, A V = U diag(s); small singular values are found to high relative accuracy;
// - eigen, cholesky: see linear/symmetric.hpp; solve: elimination with partial pivoting (section 3.4).
#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "core/kernels.hpp"
#include "linear/symmetric.hpp"

namespace shoal {
namespace {

using Floats = Input<const double>;
using Array = Output<double>;

// One matrix, or a stack of any shape of them, as (B, rows, columns).
class Stack {
 public:
  explicit Stack(const Floats& a) : data_(a.data()) {
    if (a.ndim() < 2) throw std::domain_error("a matrix has two dimensions");
    for (std::size_t j = 0; j < a.ndim(); ++j) (j + 2 < a.ndim() ? leading_ : shape_).push_back(a.shape(j));
    for (const std::size_t size : leading_) shape_[0] *= size;
  }
  std::size_t shape(std::size_t j) const { return shape_[j]; }
  const double* data() const { return data_; }

  // A stack of results of another shape each.
  Array unstacked(std::vector<double>&& values, const std::vector<std::size_t>& shape) const {
    std::vector<std::size_t> whole = leading_;
    whole.insert(whole.end(), shape.begin(), shape.end());
    return to_numpy(std::move(values), whole);
  }

 private:
  const double* data_;
  std::vector<std::size_t> leading_, shape_{1};
};

// One matrix of a stack, or of the work space.
struct Block {
  std::size_t rows, columns;
  std::vector<double> values;
  Block(std::size_t rows, std::size_t columns) : rows(rows), columns(columns), values(rows * columns, 0.0) {}
  Block(const Stack& stack, std::size_t b) : Block(stack.shape(1), stack.shape(2)) {
    const double* from = stack.data() + b * rows * columns;
    std::copy(from, from + rows * columns, values.begin());
  }
  double* row(std::size_t i) { return values.data() + i * columns; }
  double& operator()(std::size_t i, std::size_t j) { return values[i * columns + j]; }
};

// to += factor * from, elementwise.
void add(double factor, const double* from, double* to, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) to[j] += factor * from[j];
}

Array product(const Floats& left_matrices, const Floats& right_matrices) {
  const Stack a(left_matrices), b(right_matrices);
  const std::size_t stack = a.shape(0), n = a.shape(1), inner = a.shape(2), m = b.shape(2);
  std::vector<double> out(stack * n * m, 0.0);
  for (std::size_t s = 0; s < stack; ++s) {
    const double* right = b.data() + (b.shape(0) == 1 ? 0 : s) * inner * m;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t row = s * n + i;
      for (std::size_t k = 0; k < inner; ++k) add(a.data()[row * inner + k], right + k * m, out.data() + row * m, m);
    }
  }
  return a.unstacked(std::move(out), {n, m});
}

// Rows are summed in blocks, whose sums are added, so that rounding grows slowly with their number.
Array cross_product(const Floats& left_matrices, const Floats& right_matrices) {
  const Stack a(left_matrices), b(right_matrices);
  constexpr std::size_t height = 128;
  const std::size_t stack = a.shape(0), n = a.shape(1), k = a.shape(2), m = b.shape(2);
  std::vector<double> out(stack * k * m, 0.0), part(k * m);
  for (std::size_t s = 0; s < stack; ++s) {
    for (std::size_t first = 0; first < n; first += height) {
      std::fill(part.begin(), part.end(), 0.0);
      for (std::size_t i = s * n + first; i < s * n + std::min(n, first + height); ++i)
        for (std::size_t j = 0; j < k; ++j) add(a.data()[i * k + j], b.data() + i * m, part.data() + j * m, m);
      add(1.0, part.data(), out.data() + s * k * m, k * m);
    }
  }
  return a.unstacked(std::move(out), {k, m});
}

// Reflect the rows j.. of `a`: a -= v (2 v'a / v'v); v is zero above j.
void reflect(Block& a, const std::vector<double>& v, double square, std::size_t j) {
  std::vector<double> w(a.columns, 0.0);
  for (std::size_t i = j; i < a.rows; ++i) add(v[i], a.row(i), w.data(), a.columns);
  for (double& value : w) value *= 2.0 / square;
  for (std::size_t i = j; i < a.rows; ++i) add(-v[i], w.data(), a.row(i), a.columns);
}

// Clear column j of `a` below row j by a reflection, made of `q` too, if there is one.
void clear_below(Block& a, Block* q, std::size_t j) {
  double largest = 0.0, square = 0.0;
  for (std::size_t i = j; i < a.rows; ++i) largest = std::max(largest, std::fabs(a(i, j)));
  if (largest == 0.0) return;
  std::vector<double> v(a.rows);
  for (std::size_t i = j; i < a.rows; ++i) {
    v[i] = a(i, j) / largest;
    square += v[i] * v[i];
  }
  const double norm = std::sqrt(square);
  square += norm * std::fabs(v[j]);  // v'v / 2 after the next line is norm (norm + |v_j|)
  v[j] += v[j] < 0.0 ? -norm : norm;
  reflect(a, v, 2.0 * square, j);
  if (q != nullptr) reflect(*q, v, 2.0 * square, j);
  for (std::size_t i = j + 1; i < a.rows; ++i) a(i, j) = 0.0;
}

// Turn `a` into R, and `q`, if there is one, into Q'q.
void householder(Block& a, Block* q) {
  for (std::size_t j = 0; j < std::min(a.rows, a.columns); ++j) clear_below(a, q, j);
}

// The column from the j-th on that is longest below row j, the first of equals.
std::size_t longest_column(Block& a, std::size_t j) {
  std::vector<double> squares(a.columns, 0.0);
  for (std::size_t i = j; i < a.rows; ++i)
    for (std::size_t c = j; c < a.columns; ++c) squares[c] += a(i, c) * a(i, c);
  return static_cast<std::size_t>(std::max_element(squares.begin() + static_cast<std::ptrdiff_t>(j), squares.end()) - squares.begin());
}

std::pair<Array, Output<std::int64_t>> pivoted(Matrix a) {
  const std::size_t n = a.shape(0), m = a.shape(1), size = std::min(n, m);
  Block r(n, m);
  std::copy(a.data(), a.data() + n * m, r.values.begin());
  std::vector<std::int64_t> order(m);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t j = 0; j < size; ++j) {
    const std::size_t next = longest_column(r, j);
    for (std::size_t i = 0; i < n; ++i) std::swap(r(i, j), r(i, next));
    std::swap(order[j], order[next]);
    clear_below(r, nullptr, j);
  }
  r.values.resize(size * m);
  return {to_numpy(std::move(r.values), {size, m}), to_numpy(std::move(order))};
}

Array triangular(const Floats& matrices) {
  const Stack a(matrices);
  const std::size_t size = std::min(a.shape(1), a.shape(2)) * a.shape(2);
  std::vector<double> out(a.shape(0) * size);
  for (std::size_t s = 0; s < a.shape(0); ++s) {
    Block r(a, s);
    householder(r, nullptr);
    std::copy(r.values.begin(), r.values.begin() + static_cast<std::ptrdiff_t>(size), out.begin() + static_cast<std::ptrdiff_t>(s * size));
  }
  return a.unstacked(std::move(out), {std::min(a.shape(1), a.shape(2)), a.shape(2)});
}

std::pair<Array, Array> orthogonal(Matrix a) {
  const std::size_t n = a.shape(0), m = a.shape(1);
  Block r(n, m), turned(n, n);
  std::copy(a.data(), a.data() + n * m, r.values.begin());
  for (std::size_t i = 0; i < n; ++i) turned(i, i) = 1.0;
  householder(r, &turned);
  std::vector<double> q(n * n), diagonal(std::min(n, m));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) q[i * n + j] = turned(j, i);
  for (std::size_t j = 0; j < diagonal.size(); ++j) diagonal[j] = r(j, j);
  return {to_numpy(std::move(q), {n, n}), to_numpy(std::move(diagonal))};
}

// Rotate columns p and q of `a` by the angle that makes them orthogonal, and those of `v` with them.
bool make_orthogonal(Block& a, Block& v, std::size_t p, std::size_t q) {
  double pp = 0.0, qq = 0.0, pq = 0.0;
  for (std::size_t i = 0; i < a.rows; ++i) {
    pp += a(i, p) * a(i, p);
    qq += a(i, q) * a(i, q);
    pq += a(i, p) * a(i, q);
  }
  if (std::fabs(pq) <= 1e-15 * std::sqrt(pp) * std::sqrt(qq) || pq == 0.0) return false;
  double c, s;
  jacobi_angle(pp, qq, pq, c, s);
  for (Block* block : {&a, &v}) {
    for (std::size_t i = 0; i < block->rows; ++i) {
      const double x = (*block)(i, p), y = (*block)(i, q);
      (*block)(i, p) = c * x - s * y;
      (*block)(i, q) = s * x + c * y;
    }
  }
  return true;
}

std::pair<Array, Array> singular(const Floats& matrices) {
  const Stack stack(matrices);
  const std::size_t m = stack.shape(2);
  std::vector<double> values(stack.shape(0) * m), right(stack.shape(0) * m * m);
  for (std::size_t s = 0; s < stack.shape(0); ++s) {
    Block a(stack, s), v(m, m);
    double largest = 0.0;
    for (double value : a.values) largest = std::max(largest, std::fabs(value));
    const int power = largest > 0.0 ? std::ilogb(largest) : 0;  // squares neither vanish nor overflow
    for (double& value : a.values) value = std::scalbn(value, -power);
    for (std::size_t j = 0; j < m; ++j) v(j, j) = 1.0;
    bool rotated = true;
    for (int sweep = 0; rotated && sweep < 60; ++sweep) {
      rotated = false;
      for (std::size_t p = 0; p + 1 < m; ++p)
        for (std::size_t q = p + 1; q < m; ++q) rotated = make_orthogonal(a, v, p, q) || rotated;
    }
    std::vector<double> norm(m, 0.0);
    for (std::size_t i = 0; i < a.rows; ++i)
      for (std::size_t j = 0; j < m; ++j) norm[j] += a(i, j) * a(i, j);
    std::vector<std::size_t> order(m);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return norm[i] > norm[j]; });
    for (std::size_t j = 0; j < m; ++j) {
      values[s * m + j] = std::scalbn(std::sqrt(norm[order[j]]), power);
      for (std::size_t i = 0; i < m; ++i) right[(s * m + j) * m + i] = v(i, order[j]);
    }
  }
  return {stack.unstacked(std::move(values), {m}), stack.unstacked(std::move(right), {m, m})};
}

std::pair<Array, Array> eigen_stack(const Floats& matrices) {
  const Stack stack(matrices);
  const std::size_t d = stack.shape(1);
  std::vector<double> values, vectors;
  for (std::size_t s = 0; s < stack.shape(0); ++s) {
    const Eigen e = eigen(Block(stack, s).values, d);
    values.insert(values.end(), e.values.begin(), e.values.end());
    vectors.insert(vectors.end(), e.vectors.begin(), e.vectors.end());
  }
  return {stack.unstacked(std::move(values), {d}), stack.unstacked(std::move(vectors), {d, d})};
}

Array cholesky_stack(const Floats& matrices) {
  const Stack stack(matrices);
  const std::size_t d = stack.shape(1);
  std::vector<double> out;
  for (std::size_t s = 0; s < stack.shape(0); ++s) {
    Square a = Block(stack, s).values;
    if (!cholesky(a, d, 0.0)) throw std::domain_error("the matrix is not positive definite");
    out.insert(out.end(), a.begin(), a.end());
  }
  return stack.unstacked(std::move(out), {d, d});
}

// Solve A X = B in place of B.
void eliminate(Block& a, Block& b) {
  const std::size_t d = a.rows;
  for (std::size_t j = 0; j < d; ++j) {
    std::size_t pivot = j;
    for (std::size_t i = j + 1; i < d; ++i)
      if (std::fabs(a(i, j)) > std::fabs(a(pivot, j))) pivot = i;
    if (a(pivot, j) == 0.0) throw std::domain_error("the matrix is singular");
    std::swap_ranges(a.row(j), a.row(j) + d, a.row(pivot));
    std::swap_ranges(b.row(j), b.row(j) + b.columns, b.row(pivot));
    for (std::size_t i = j + 1; i < d; ++i) {
      const double factor = -a(i, j) / a(j, j);
      add(factor, a.row(j), a.row(i), d);
      add(factor, b.row(j), b.row(i), b.columns);
    }
  }
  for (std::size_t j = d; j-- > 0;) {
    for (std::size_t k = 0; k < b.columns; ++k) b(j, k) /= a(j, j);
    for (std::size_t i = 0; i < j; ++i) add(-a(i, j), b.row(j), b.row(i), b.columns);
  }
}

Array solve(const Floats& left_matrices, const Floats& right_matrices) {
  const Stack a(left_matrices), b(right_matrices);
  std::vector<double> out;
  for (std::size_t s = 0; s < a.shape(0); ++s) {
    Block left(a, s), right(b, s);
    eliminate(left, right);
    out.insert(out.end(), right.values.begin(), right.values.end());
  }
  return a.unstacked(std::move(out), {b.shape(1), b.shape(2)});
}

constexpr const char* kSingular = R"(Singular values of (..., n, m), largest first, and right singular vectors in rows.

Returns
-------
Shape (..., m); values, beyond the number of rows 0. Shape (..., m, m); vectors, orthogonal also beyond the rank.)";

constexpr const char* kCholesky = R"(Lower triangle L with L L' = A, for positive definite (..., d, d).

Raises
------
ValueError
    If a matrix is not positive definite.)";

constexpr const char* kSolve = R"(X with A X = B: (..., d, d) and (..., d, m) give (..., d, m).

Raises
------
ValueError
    If a matrix is singular.)";

const Kernel dense_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("product", &product, "a"_a, "b"_a,
        "A B: (..., n, k) and (..., k, m) give (..., n, m); one matrix B serves a stack of A.");
  m.def("cross_product", &cross_product, "a"_a, "b"_a, "A'B: (..., n, k) and (..., n, m) give (..., k, m).");
  m.def("triangular", &triangular, "a"_a, "R of A = Q R: (..., n, m) gives (..., min(n, m), m).");
  m.def("pivoted", &pivoted, "a"_a,
        "R (min(n, m), m) of one matrix (n, m), columns in an order in which its diagonal falls; the order (m,).");
  m.def("orthogonal", &orthogonal, "a"_a,
        "Q of A = Q R for one matrix (n, m), shape (n, n), and the diagonal of R, shape (min(n, m),).");
  m.def("singular", &singular, "a"_a, kSingular);
  m.def("eigen", &eigen_stack, "a"_a,
        "Eigenvalues (..., d) of symmetric matrices (..., d, d), largest first, and eigenvectors in columns (..., d, d).");
  m.def("cholesky", &cholesky_stack, "a"_a, kCholesky);
  m.def("solve", &solve, "a"_a, "b"_a, kSolve);
});

}  // namespace
}  // namespace shoal
