// Random numbers keyed by record: those of one record depend on a key and its row and on nothing else, so that it does
// not matter in which part of a table a record lies, or in which order records come.
//
// Philox 4x64-10 (Salmon, Moraes, Dror & Shaw 2011) mixes a counter of four words with a key of two into four words,
// in ten rounds of two products of 64 by 64 bits; it has no state, and passes all tests of TestU01. The counter here is
// (block, row, turn, 0): a record's numbers in one turn are the stream of NumPy's Philox that starts there.
#include "core/kernels.hpp"
#include "core/normal.hpp"
#include "core/wide.hpp"

#include <array>

namespace shoal {
namespace {

using Block = std::array<std::uint64_t, 4>;

struct Key {
  std::uint64_t first, second;
};

WideBits product(std::uint64_t a, std::uint64_t b) { return WideBits(a) * WideBits(b); }
std::uint64_t high(WideBits wide) { return static_cast<std::uint64_t>(wide >> 64); }
std::uint64_t low(WideBits wide) { return static_cast<std::uint64_t>(wide); }

Block mixed(Block x, Key key) {
  constexpr std::uint64_t kFirst = 0xd2e7470ee14c6c93ull, kSecond = 0xca5a826395121157ull;  // table 2 of the paper
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ull, kRootOf3 = 0xbb67ae8584caa73bull;
  for (int round = 0; round < 10; ++round) {
    const WideBits a = product(kFirst, x[0]), b = product(kSecond, x[2]);
    x = {high(b) ^ x[1] ^ key.first, low(b), high(a) ^ x[3] ^ key.second, low(a)};
    key = {key.first + kGolden, key.second + kRootOf3};
  }
  return x;
}

constexpr const char* kUniformByRow = R"(Uniform numbers in [0, 1), multiples of 2^-53, that depend on row, key and turn alone.

Parameters
----------
rows
    Shape (n,); of each record, in the table that came in.
first, second
    Key of 128 bits.
turn
    Numbers of different turns are independent.
count
    Numbers a record.

Returns
-------
Shape (n, count).)";

constexpr const char* kNormalByRow = R"(Standard normal numbers that depend on row, key and turn alone; as `uniform_by_row`.

They are the quantiles of the middles of 2^52 intervals of equal length, so that none is beyond 8.3 in size.)";

double uniform(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }
double normal(std::uint64_t bits) { return normal_quantile((static_cast<double>(bits >> 12) + 0.5) * 0x1.0p-52); }

template <double (*number)(std::uint64_t)>
Output<double> by_row(Longs rows, std::uint64_t first, std::uint64_t second, std::uint64_t turn, std::size_t count) {
  const std::size_t n = rows.shape(0);
  std::vector<double> out(n * count);
  {
    nb::gil_scoped_release unlock;
    for (std::size_t i = 0; i < n; ++i) {
      const auto row = static_cast<std::uint64_t>(rows.data()[i]);
      Block block{};
      for (std::size_t j = 0; j < count; ++j) {
        if (j % 4 == 0) block = mixed({j / 4, row, turn, 0}, {first, second});
        out[i * count + j] = number(block[j % 4]);
      }
    }
  }
  return to_numpy(std::move(out), {n, count});
}

}  // namespace

static const Kernel philox_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("uniform_by_row", &by_row<uniform>, "rows"_a, "first"_a, "second"_a, "turn"_a, "count"_a, kUniformByRow);
  m.def("normal_by_row", &by_row<normal>, "rows"_a, "first"_a, "second"_a, "turn"_a, "count"_a, kNormalByRow);
});

}  // namespace shoal
