// The functions of elementary.hpp and normal.hpp for whole arrays.
#include "core/elementary.hpp"

#include "core/kernels.hpp"
#include "core/normal.hpp"

namespace shoal {

// An array of any shape, or a number.
class ArrayLike : public Input<const double> {
 public:
  using Input::Input;
};

}  // namespace shoal

template <>
struct nanobind::detail::type_caster<shoal::ArrayLike> : array_caster<shoal::ArrayLike, double> {
  static constexpr auto Name = const_name("numpy.typing.ArrayLike");
};

namespace shoal {
namespace {

template <double (*function)(double)>
auto of_each(const ArrayLike& x) {
  std::vector<double> out(x.size());
  {
    nb::gil_scoped_release unlocked;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = function(x.data()[i]);
  }
  return to_numpy(std::move(out), {x.shape_ptr(), x.shape_ptr() + x.ndim()});
}

}  // namespace

static const Kernel elementary_kernel([](nb::module_& m) {
  using namespace nb::literals;
  m.def("exp", &of_each<exponential>, "x"_a, "e^x, shape of `x`; errs by less than two units in the last place.");
  m.def("log", &of_each<logarithm>, "x"_a,
        "Logarithm, shape of `x`, which is positive; -inf for 0, NaN below 0. Errs by less than two units in the last place.");
  m.def("expm1", &of_each<exponential_less_one>, "x"_a,
        "exp(x) - 1, shape of `x`; near 0 with the digits that the difference would lose.");
  m.def("log1p", &of_each<logarithm_above_one>, "x"_a,
        "log(1 + x), shape of `x`, which is above -1; near 0 with the digits that 1 + x would lose.");
  m.def("sine", &of_each<small_sine>, "x"_a, "sin x, shape of `x`, of which no value is beyond pi / 4 in size.");
  m.def("log_gamma", &of_each<log_gamma>, "x"_a,
        "log Gamma(x), shape of `x`, which is positive. Errs by less than 1e-14 of the larger of 1 and the result.");
  m.def("normal_cdf", &of_each<normal_cdf>, "x"_a,
        "Distribution function of the standard normal, shape of `x` (Cody 1969).");
  m.def("normal_quantile", &of_each<normal_quantile>, "p"_a,
        "Quantiles of the standard normal, shape of `p`, which lies in [0, 1]; NaN elsewhere (Wichura 1988, AS 241).");
});

}  // namespace shoal
