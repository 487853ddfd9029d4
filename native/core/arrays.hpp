// Arrays on their way from Python into a kernel and back.
//
// What comes in is a C-contiguous array of one type: a copy is made only of an array of another type or another order
// in memory, or of what is no array, as a list. What goes out is owned by NumPy. Both bear the names that
// shoal.kernels.arrays gives them, so that docstrings and the stub of the module (`make native` writes it) say `Floats`,
// not how nanobind spells it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <utility>
#include <vector>

namespace shoal {
namespace nb = nanobind;

// Name of an array of T in signatures, and of T in NumPy.
template <class T> struct ArrayName;
template <> struct ArrayName<double> {
  static constexpr auto value = nb::detail::const_name("Floats");
  static constexpr const char* dtype = "float64";
};
template <> struct ArrayName<std::int32_t> {
  static constexpr auto value = nb::detail::const_name("Ints");
  static constexpr const char* dtype = "int32";
};
template <> struct ArrayName<std::int64_t> {
  static constexpr auto value = nb::detail::const_name("Longs");
  static constexpr const char* dtype = "int64";
};
template <> struct ArrayName<std::uint8_t> {
  static constexpr auto value = nb::detail::const_name("Bytes");
  static constexpr const char* dtype = "uint8";
};
template <> struct ArrayName<bool> {
  static constexpr auto value = nb::detail::const_name("Bools");
  static constexpr const char* dtype = "bool";
};
template <class T> struct ArrayName<const T> : ArrayName<T> {};

// `Shape` is nb::ndim<1> and so on, or nothing for any shape.
template <class T, class... Shape>
class Input : public nb::ndarray<T, Shape..., nb::c_contig, nb::device::cpu> {
 public:
  using Base = nb::ndarray<T, Shape..., nb::c_contig, nb::device::cpu>;
  Input() = default;
  explicit Input(Base&& array) : Base(std::move(array)) {}
};

using Vector = Input<const double, nb::ndim<1>>;
using Matrix = Input<const double, nb::ndim<2>>;
using Cube = Input<const double, nb::ndim<3>>;
using Ints = Input<const std::int32_t, nb::ndim<1>>;
using IntMatrix = Input<const std::int32_t, nb::ndim<2>>;
using Longs = Input<const std::int64_t, nb::ndim<1>>;
using BoolMatrix = Input<const bool, nb::ndim<2>>;
using Bytes = Input<const std::uint8_t, nb::ndim<1>>;

template <class T>
class Output : public nb::object {
 public:
  static constexpr auto Name = ArrayName<T>::value;
  static bool check_(nb::handle array) { return nb::ndarray_check(array); }
  Output() = default;
  Output(nb::handle array, nb::detail::borrow_t) : nb::object(array, nb::detail::borrow_t{}) {}
  Output(nb::handle array, nb::detail::steal_t) : nb::object(array, nb::detail::steal_t{}) {}
};

// Hand a finished vector to NumPy without a copy; the array owns it from then on.
template <class T>
Output<T> to_numpy(std::vector<T>&& values, const std::vector<std::size_t>& shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::borrow<Output<T>>(nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.data(), owner)));
}

template <class T>
Output<T> to_numpy(std::vector<T>&& values) {
  const std::size_t n = values.size();
  return to_numpy(std::move(values), std::vector<std::size_t>{n});
}

}  // namespace shoal

namespace nanobind::detail {

// `Array` is an Input or derived from one.
template <class Array, class T>
struct array_caster {
  NB_TYPE_CASTER(Array, shoal::ArrayName<T>::value)

  template <class Flags>
  bool from_python(handle source, Flags flags, cleanup_list* cleanup) noexcept {
    return read(source, flags, cleanup) ||
           ((flags & static_cast<Flags>(cast_flags::convert)) != 0 && read(as_array(source, cleanup), flags, cleanup));
  }

 private:
  template <class Flags>
  bool read(handle source, Flags flags, cleanup_list* cleanup) noexcept {
    make_caster<typename Array::Base> plain;
    if (!source.is_valid() || !plain.from_python(source, flags, cleanup)) return false;
    value = Array(std::move(plain.value));
    return true;
  }

  // What NumPy makes of something that is no array; nothing of what it cannot make one of.
  static handle as_array(handle source, cleanup_list* cleanup) noexcept {
    if (!cleanup || ndarray_check(source)) return {};
    PyObject* array = PyObject_CallMethod(module_::import_("numpy").ptr(), "asarray", "Os", source.ptr(), shoal::ArrayName<T>::dtype);
    if (array) cleanup->append(array);
    else PyErr_Clear();
    return array;
  }
};

template <class T, class... Shape>
struct type_caster<shoal::Input<T, Shape...>> : array_caster<shoal::Input<T, Shape...>, T> {};

}  // namespace nanobind::detail
