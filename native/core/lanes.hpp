// Several numbers that are calculated with at once: the processor's vectors where the compiler has them.
//
// GCC and Clang have vectors as types of their own; for other compilers, and where SHOAL_PORTABLE is defined, Pack
// does the same value by value. Every lane is calculated by itself, in one order, so both give the same bits
// (tests/kernels/test_portable.py). Everything is in an unnamed namespace: this header is compiled for several
// instruction sets, and no code for one may leak into another.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shoal {
namespace {

#if defined(__GNUC__) && !defined(SHOAL_PORTABLE)
using Lanes = float __attribute__((vector_size(32)));
using Doubles = double __attribute__((vector_size(32)));
using Masks = long long __attribute__((vector_size(32)));
#else
template <class Number, std::size_t N>
struct Pack {
  Number lane[N];

  Number& operator[](std::size_t i) { return lane[i]; }
  Number operator[](std::size_t i) const { return lane[i]; }
  template <class Other, class Function>
  static Pack each(const Other& a, const Other& b, Function function) {
    Pack out = {};
    for (std::size_t i = 0; i < N; ++i) out.lane[i] = function(a.lane[i], b.lane[i]);
    return out;
  }
  static Pack all(Number v) {
    Pack out = {};
    for (std::size_t i = 0; i < N; ++i) out.lane[i] = v;
    return out;
  }
  friend Pack operator+(Pack a, Pack b) { return each(a, b, [](Number x, Number y) { return static_cast<Number>(x + y); }); }
  friend Pack operator-(Pack a, Pack b) { return each(a, b, [](Number x, Number y) { return static_cast<Number>(x - y); }); }
  friend Pack operator*(Pack a, Pack b) { return each(a, b, [](Number x, Number y) { return static_cast<Number>(x * y); }); }
  friend Pack operator/(Pack a, Pack b) { return each(a, b, [](Number x, Number y) { return static_cast<Number>(x / y); }); }
  friend Pack operator+(Pack a, Number b) { return a + all(b); }
  friend Pack operator*(Pack a, Number b) { return a * all(b); }
  friend Pack operator*(Number a, Pack b) { return all(a) * b; }
  Pack& operator+=(Pack b) { return *this = *this + b; }
};
using Lanes = Pack<float, 8>;
using Doubles = Pack<double, 4>;
using Masks = Pack<std::uint64_t, 4>;

inline Masks operator&(Masks a, Masks b) { return Masks::each(a, b, [](std::uint64_t x, std::uint64_t y) { return x & y; }); }
inline Masks operator&(Masks a, std::uint64_t b) { return a & Masks::all(b); }
inline Masks operator|(Masks a, Masks b) { return Masks::each(a, b, [](std::uint64_t x, std::uint64_t y) { return x | y; }); }
inline Masks operator~(Masks a) { return Masks::each(a, a, [](std::uint64_t x, std::uint64_t) { return ~x; }); }
inline Masks operator<<(Masks a, int by) { return Masks::each(a, a, [by](std::uint64_t x, std::uint64_t) { return x << by; }); }
inline Masks operator>>(Masks a, int by) { return Masks::each(a, a, [by](std::uint64_t x, std::uint64_t) { return x >> by; }); }
inline Masks operator<(Doubles a, Doubles b) {
  return Masks::each(a, b, [](double x, double y) { return x < y ? ~std::uint64_t{0} : 0; });
}
inline Masks operator>(Doubles a, Doubles b) { return b < a; }
#endif

inline Lanes load(const float* p) {
  Lanes v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline Doubles load(const double* p) {
  Doubles v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, Lanes v) { std::memcpy(p, &v, sizeof v); }
inline void store(double* p, Doubles v) { std::memcpy(p, &v, sizeof v); }
inline Lanes spread(float x) { return Lanes{x, x, x, x, x, x, x, x}; }
inline Doubles spread(double x) { return Doubles{x, x, x, x}; }

inline Masks bits_of(Doubles v) {
  Masks b;
  std::memcpy(&b, &v, sizeof b);
  return b;
}
inline Doubles double_of(Masks b) {
  Doubles v;
  std::memcpy(&v, &b, sizeof v);
  return v;
}
inline Doubles choose(Masks mask, Doubles yes, Doubles no) { return double_of((mask & bits_of(yes)) | (~mask & bits_of(no))); }

}  // namespace
}  // namespace shoal
