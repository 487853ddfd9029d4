// How a kernel reaches Python.
//
// Each source file holds one algorithm and ends with a `static const Kernel NAME_kernel` whose function adds the
// algorithm's entry points to the module. The module's initialiser (module.cpp) runs them all, so a new
// kernel is a new file and nothing else. Arrays arrive of the right type and C-contiguous (arrays.hpp); what they
// hold is as the docstring says, and kernels check nothing.
//
// Its docstring (numpydoc) stands above an entry point and is all that is written about its arguments: Python shows
// it, and the module's stub has the signature.
#pragma once
#include "core/arrays.hpp"
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace shoal {

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
