// How a kernel reaches Python.
//
// Each source file holds one algorithm and ends with a `static const Kernel` whose function adds the
// algorithm's entry points to the module. The module's initialiser (module.cpp) runs them all, so a new
// kernel is a new file and nothing else. Arrays arrive checked and C-contiguous: the Python faces in
// src/shoal/kernels/ see to that, and kernels check nothing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <utility>
#include <vector>

namespace shoal {
namespace nb = nanobind;

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Ints = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Longs = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using IntMatrix = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Hand a finished vector to NumPy without a copy; the array owns it from then on.
template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(owned->data(), shape, owner);
}

template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T>&& values) {
  const std::size_t n = values.size();
  return to_numpy(std::move(values), {n});
}

class Kernel {
 public:
  using Adder = void (*)(nb::module_&);
  explicit Kernel(Adder add) { all().push_back(add); }
  static std::vector<Adder>& all() {
    static std::vector<Adder> adders;
    return adders;
  }
};

}  // namespace shoal
