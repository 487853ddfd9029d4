// Compares PortableBits and PortableWide with the compiler's own integers; prints the number of comparisons.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "core/wide.hpp"

using namespace shoal;
__extension__ using Own = __int128;
__extension__ using OwnBits = unsigned __int128;

static long compared = 0;
static void equal(bool same, const char* what) {
  ++compared;
  if (same) return;
  std::printf("%s differs\n", what);
  std::exit(1);
}
static bool same(PortableBits a, OwnBits b) {
  return a.high() == static_cast<std::uint64_t>(b >> 64) && static_cast<std::uint64_t>(a) == static_cast<std::uint64_t>(b);
}
static bool same(PortableWide a, Own b) { return same(static_cast<PortableBits>(a), static_cast<OwnBits>(b)); }

static void unsigned_pair(OwnBits a, OwnBits b) {
  const PortableBits p(static_cast<std::uint64_t>(a >> 64), static_cast<std::uint64_t>(a));
  const PortableBits q(static_cast<std::uint64_t>(b >> 64), static_cast<std::uint64_t>(b));
  equal(same(p + q, a + b), "+"), equal(same(p - q, a - b), "-"), equal(same(p * q, a * b), "*");
  equal(same(p & q, a & b) && same(p | q, a | b), "& |"), equal(same(-p, -a), "negation");
  equal((p < q) == (a < b) && (p > q) == (a > b) && (p == q) == (a == b), "comparison");
  for (const int by : {0, 1, 31, 63, 64, 65, 127}) equal(same(p << by, a << by) && same(p >> by, a >> by), "shift");
  if (b != 0) equal(same(p / q, a / b) && same(p % q, a % b), "/");
}

static void signed_pair(Own a, Own b) {
  const auto of = [](Own v) {
    const auto bits = static_cast<OwnBits>(v);
    return PortableWide(PortableBits(static_cast<std::uint64_t>(bits >> 64), static_cast<std::uint64_t>(bits)));
  };
  const PortableWide p = of(a), q = of(b);
  equal((p < q) == (a < b) && (p <= q) == (a <= b) && (p > q) == (a > b) && (p >= q) == (a >= b), "signed comparison");
  const bool overflows = b == -1 && a < 0 && a == -a;
  if (b != 0 && !overflows) equal(same(p / q, a / b), "signed /");
}

int main() {
  std::mt19937_64 random(1);
  std::vector<OwnBits> values = {0, 1, 2, 3, 0xffffffff, OwnBits{1} << 63, OwnBits{1} << 64, OwnBits{1} << 127, ~OwnBits{0}, ~OwnBits{0} >> 1};
  for (int i = 0; i < 150; ++i) {
    const OwnBits any = static_cast<OwnBits>(random()) << 64 | random();
    values.push_back(any >> (random() % 128));
    values.push_back(-values.back());
  }
  for (const OwnBits a : values)
    for (const OwnBits b : values) {
      unsigned_pair(a, b);
      if (static_cast<Own>(a) != -static_cast<Own>(~OwnBits{0} >> 1) - 1) signed_pair(static_cast<Own>(a), static_cast<Own>(b));
    }
  std::printf("%ld\n", compared);
}
