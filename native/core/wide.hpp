// Whole numbers of 128 bits, for sums and products that must be exact.
//
// Compilers of Unix have them; for others (Microsoft's), and where SHOAL_PORTABLE is defined, PortableWide and
// PortableBits do the same with two halves of 64 bits. Both give the same numbers: tests/kernels/test_portable.py
// compares them operation by operation.
#pragma once
#include <cstdint>
#include <type_traits>

namespace shoal {

// Unsigned.
class PortableBits {
 public:
  constexpr PortableBits() = default;
  constexpr PortableBits(std::uint64_t high, std::uint64_t low) : high_(high), low_(low) {}
  template <class Number, class = std::enable_if_t<std::is_integral_v<Number>>>
  constexpr PortableBits(Number v) : high_(v < Number{0} ? ~std::uint64_t{0} : 0), low_(static_cast<std::uint64_t>(v)) {}
  constexpr explicit operator std::uint64_t() const { return low_; }
  constexpr explicit operator bool() const { return (high_ | low_) != 0; }
  constexpr std::uint64_t high() const { return high_; }

  friend PortableBits operator+(PortableBits a, PortableBits b) {
    const std::uint64_t low = a.low_ + b.low_;
    return {a.high_ + b.high_ + (low < a.low_), low};
  }
  friend PortableBits operator~(PortableBits a) { return {~a.high_, ~a.low_}; }
  friend PortableBits operator-(PortableBits a) { return ~a + PortableBits(1); }
  friend PortableBits operator-(PortableBits a, PortableBits b) { return a + (-b); }
  friend PortableBits operator*(PortableBits a, PortableBits b) {
    constexpr std::uint64_t half = 0xffffffff;
    const std::uint64_t a0 = a.low_ & half, a1 = a.low_ >> 32, b0 = b.low_ & half, b1 = b.low_ >> 32;
    const std::uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & half);
    return {a1 * b1 + (middle >> 32) + (other >> 32) + a.high_ * b.low_ + a.low_ * b.high_, a.low_ * b.low_};
  }
  friend PortableBits operator<<(PortableBits a, int by) {
    if (by == 0) return a;
    return by < 64 ? PortableBits(a.high_ << by | a.low_ >> (64 - by), a.low_ << by) : PortableBits(a.low_ << (by - 64), 0);
  }
  friend PortableBits operator>>(PortableBits a, int by) {
    if (by == 0) return a;
    return by < 64 ? PortableBits(a.high_ >> by, a.low_ >> by | a.high_ << (64 - by)) : PortableBits(0, a.high_ >> (by - 64));
  }
  friend PortableBits operator&(PortableBits a, PortableBits b) { return {a.high_ & b.high_, a.low_ & b.low_}; }
  friend PortableBits operator|(PortableBits a, PortableBits b) { return {a.high_ | b.high_, a.low_ | b.low_}; }
  friend PortableBits operator/(PortableBits a, PortableBits b) { return a.divide(b); }
  friend PortableBits operator%(PortableBits a, PortableBits b) {
    a.divide(b);
    return a;
  }
  PortableBits& operator+=(PortableBits b) { return *this = *this + b; }
  PortableBits& operator*=(PortableBits b) { return *this = *this * b; }
  PortableBits& operator<<=(int by) { return *this = *this << by; }
  PortableBits& operator++() { return *this += 1; }
  friend bool operator==(PortableBits a, PortableBits b) { return a.high_ == b.high_ && a.low_ == b.low_; }
  friend bool operator!=(PortableBits a, PortableBits b) { return !(a == b); }
  friend bool operator<(PortableBits a, PortableBits b) { return a.high_ != b.high_ ? a.high_ < b.high_ : a.low_ < b.low_; }
  friend bool operator>(PortableBits a, PortableBits b) { return b < a; }

 private:
  // Leaves the rest and returns the quotient: long division, a bit at a time where a half is not enough.
  PortableBits divide(PortableBits b) {
    const PortableBits a = *this;
    if (a.high_ == 0 && b.high_ == 0) {
      low_ = a.low_ % b.low_;
      return a.low_ / b.low_;
    }
    PortableBits quotient, rest;
    for (int i = 127; i >= 0; --i) {
      const bool carried = rest.high_ >> 63;
      rest = (rest << 1) + ((a >> i).low_ & 1);
      if (!carried && rest < b) continue;
      rest = rest - b;
      quotient += PortableBits(1) << i;
    }
    *this = rest;
    return quotient;
  }

  std::uint64_t high_ = 0, low_ = 0;
};

// Signed, in two's complement; division cuts towards 0.
class PortableWide {
 public:
  constexpr PortableWide() = default;
  template <class Number, class = std::enable_if_t<std::is_integral_v<Number>>>
  constexpr PortableWide(Number v) : bits_(v) {}
  constexpr explicit PortableWide(PortableBits bits) : bits_(bits) {}
  constexpr explicit operator PortableBits() const { return bits_; }
  constexpr explicit operator std::int64_t() const { return static_cast<std::int64_t>(static_cast<std::uint64_t>(bits_)); }
  constexpr explicit operator std::size_t() const { return static_cast<std::size_t>(static_cast<std::uint64_t>(bits_)); }

  bool negative() const { return bits_.high() >> 63; }
  PortableBits magnitude() const { return negative() ? -bits_ : bits_; }

  friend PortableWide operator+(PortableWide a, PortableWide b) { return PortableWide(a.bits_ + b.bits_); }
  friend PortableWide operator-(PortableWide a, PortableWide b) { return PortableWide(a.bits_ - b.bits_); }
  friend PortableWide operator-(PortableWide a) { return PortableWide(-a.bits_); }
  friend PortableWide operator*(PortableWide a, PortableWide b) { return PortableWide(a.bits_ * b.bits_); }
  friend PortableWide operator/(PortableWide a, PortableWide b) {
    const PortableWide size(a.magnitude() / b.magnitude());
    return a.negative() == b.negative() ? size : -size;
  }
  PortableWide& operator+=(PortableWide b) { return *this = *this + b; }
  PortableWide& operator-=(PortableWide b) { return *this = *this - b; }
  friend bool operator==(PortableWide a, PortableWide b) { return a.bits_ == b.bits_; }
  friend bool operator!=(PortableWide a, PortableWide b) { return !(a == b); }
  friend bool operator<(PortableWide a, PortableWide b) { return a.shifted() < b.shifted(); }
  friend bool operator>(PortableWide a, PortableWide b) { return b < a; }
  friend bool operator>=(PortableWide a, PortableWide b) { return !(a < b); }
  friend bool operator<=(PortableWide a, PortableWide b) { return !(b < a); }

 private:
  PortableBits shifted() const { return bits_ + (PortableBits(1) << 127); }

  PortableBits bits_;
};

#if defined(__SIZEOF_INT128__) && !defined(SHOAL_PORTABLE)
__extension__ using Wide = __int128;
__extension__ using WideBits = unsigned __int128;
#else
using Wide = PortableWide;
using WideBits = PortableBits;
#endif

}  // namespace shoal
