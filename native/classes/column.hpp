// A column of numbers of any type, as the numbering of classes reads it.
#pragma once
#include "core/arrays.hpp"

namespace shoal {

constexpr std::uint64_t kOneNan = 0x7ff8000000000000;  // bits that no number has

// Whole numbers of up to 63 bits and doubles come as they are; other floating-point numbers as doubles, truth values
// and what else NumPy can as 64-bit integers.
class Column : public nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> {
 public:
  using Base = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  Column() = default;
  explicit Column(Base&& array) : Base(std::move(array)) {}

  template <class T>
  bool is() const { return dtype() == nb::dtype<T>(); }
  bool readable() const {
    return is<double>() || is<std::int64_t>() || is<std::int32_t>() || is<std::int16_t>() || is<std::int8_t>() ||
           is<std::uint32_t>() || is<std::uint16_t>() || is<std::uint8_t>();
  }
  bool floating() const { return dtype().code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float); }
};

// Calls use(values), of the type that the column has.
template <class Use>
auto as_typed(const Column& column, Use use) {
  const void* data = column.data();
  if (column.is<double>()) return use(static_cast<const double*>(data));
  if (column.is<std::int8_t>()) return use(static_cast<const std::int8_t*>(data));
  if (column.is<std::int16_t>()) return use(static_cast<const std::int16_t*>(data));
  if (column.is<std::int32_t>()) return use(static_cast<const std::int32_t*>(data));
  if (column.is<std::uint8_t>()) return use(static_cast<const std::uint8_t*>(data));
  if (column.is<std::uint16_t>()) return use(static_cast<const std::uint16_t*>(data));
  if (column.is<std::uint32_t>()) return use(static_cast<const std::uint32_t*>(data));
  return use(static_cast<const std::int64_t*>(data));
}

}  // namespace shoal

namespace nanobind::detail {

template <>
struct type_caster<shoal::Column> {
  NB_TYPE_CASTER(shoal::Column, const_name("Column"))

  template <class Flags>
  bool from_python(handle source, Flags flags, cleanup_list* cleanup) noexcept {
    return read<shoal::Column::Base>(source, flags, cleanup) &&
           (value.readable() || (value.floating() ? read<shoal::Vector::Base>(source, flags, cleanup)
                                                  : read<shoal::Longs::Base>(source, flags, cleanup)));
  }

 private:
  template <class Array, class Flags>
  bool read(handle source, Flags flags, cleanup_list* cleanup) noexcept {
    make_caster<Array> plain;
    if (!plain.from_python(source, flags, cleanup)) return false;
    value = shoal::Column(shoal::Column::Base(std::move(plain.value)));
    return true;
  }
};

}  // namespace nanobind::detail
