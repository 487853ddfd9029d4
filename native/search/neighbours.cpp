// The m nearest others of every record, exactly, by a tree of boxes; ties go to the lowest rows.
#include "core/progress.hpp"
#include "search/coded_points.hpp"

namespace shoal {
namespace {

struct Others {
  std::vector<std::int32_t> rows;
  std::vector<double> squares;
};

template <class Points>
Others by_tree(const Points& table, std::size_t width, Progress& progress) {
  Others others;
  const std::vector<std::int32_t> rows = all_rows(table.n);
  EngineOf<Points> tree(table, rows, scans_for(table, true));
  std::vector<Neighbour> nearest;
  others.rows.reserve(table.n * width);
  others.squares.reserve(table.n * width);
  for (const std::int32_t row : rows) {
    if ((row & 15) == 0) progress.tick(static_cast<double>(row) / static_cast<double>(table.n));
    tree.nearest(table.row(static_cast<std::size_t>(row)), row, width + 1, nearest);  // the record itself is first
    for (std::size_t r = 1; r <= width; ++r) {
      others.rows.push_back(nearest[r].row);
      others.squares.push_back(table.in_units(nearest[r].d2));
    }
  }
  return others;
}

// Without columns all records are equal: the ones that follow in the table, around its end.
Others that_follow(std::size_t n, std::size_t width) {
  Others others{{}, std::vector<double>(n * width, 0.0)};
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t r = 1; r <= width; ++r) others.rows.push_back(static_cast<std::int32_t>((i + r) % n));
  return others;
}

constexpr const char* kNeighbours = R"(List the `m` nearest others of every record.

Parameters
----------
x
    Shape (n, d), finite.
m
    0 <= m <= n - 1.
coding
    As for `mdav`.

Returns
-------
Row numbers and squared distances, both of shape (n, m), nearest first; of records at equal distance the lowest rows.)";

auto neighbours(Matrix x, std::size_t m, Coding coding, Listener listener) {
  Progress progress(listener);
  const std::size_t n = x.shape(0);
  Others others;
  {
    nb::gil_scoped_release free_lock;
    if (m > 0 && x.shape(1) > 0)
      with_points(x, coding, [&](const auto& table) { others = by_tree(table, m, progress); });
    else
      others = that_follow(n, m);
  }
  return std::pair(to_numpy(std::move(others.rows), {n, m}), to_numpy(std::move(others.squares), {n, m}));
}

const Kernel neighbours_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("neighbours", &neighbours, "x"_a, "m"_a, nb::kw_only(), "coding"_a.none() = nb::none(), "progress"_a.none() = nb::none(), kNeighbours);
});

}  // namespace
}  // namespace shoal
