// The one extension module: runs every kernel's adder (see kernels.hpp).
#include "core/kernels.hpp"

NB_MODULE(_native, m) {
  m.doc() = "Compiled kernels of shoal; use them through shoal.kernels.";
  for (auto add : shoal::Kernel::all()) add(m);
}
