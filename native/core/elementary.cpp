// The functions of elementary.hpp and normal.hpp for whole arrays.
#include "core/elementary.hpp"

#include "core/kernels.hpp"
#include "core/normal.hpp"

namespace shoal {
namespace {

template <double (*function)(double)>
auto of_each(const Vector& x) {
  std::vector<double> out(x.shape(0));
  {
    nb::gil_scoped_release unlocked;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = function(x.data()[i]);
  }
  return to_numpy(std::move(out));
}

}  // namespace

static const Kernel kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("exp", &of_each<exponential>, "x"_a);
  m.def("log", &of_each<logarithm>, "x"_a);
  m.def("expm1", &of_each<exponential_less_one>, "x"_a);
  m.def("log1p", &of_each<logarithm_above_one>, "x"_a);
  m.def("small_sine", &of_each<small_sine>, "x"_a);
  m.def("log_gamma", &of_each<log_gamma>, "x"_a);
  m.def("normal_cdf", &of_each<normal_cdf>, "x"_a);
  m.def("normal_quantile", &of_each<normal_quantile>, "p"_a);
});

}  // namespace shoal
