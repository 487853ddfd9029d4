// Mixtures of normal and t distributions (mixture_model.hpp): the kernels' face.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <string>

#include "core/kernels.hpp"
#include "mixture/mixture_model.hpp"

namespace shoal {

using namespace mixture;

namespace {

// Least conditional variance of a column within a group; the data are standardised, so about its square is lost to
// rounding in a Cholesky factor.
constexpr double kSingular = 1e-12;

// All that an M-step needs.
struct Statistics {
  Output<double> weight, mean, scatter;

  Scatters scatters() const {
    const auto weights = nb::cast<Vector>(weight);
    const auto means = nb::cast<Matrix>(mean);
    const auto squares = nb::cast<Cube>(scatter);
    const std::size_t groups = means.shape(0), d = means.shape(1);
    Scatters copy(groups, d);
    std::copy_n(weights.data(), groups, copy.weight.begin());
    std::copy_n(means.data(), groups * d, copy.mean.begin());
    for (std::size_t g = 0; g < groups; ++g) std::copy_n(squares.data() + g * d * d, d * d, copy.scatter[g].begin());
    return copy;
  }
};

struct MixtureFit {
  double loglik;
  int steps;
  bool converged;
  int singular;
  Output<double> proportion, mean, covariance, dof;
  Statistics statistics;
};

constexpr const char* kFit = R"(Fit a mixture by EM, beginning with an M-step.

Parameters
----------
x
    Shape (n, d), finite, standardised.
start
    Statistics of a first assignment (of the records or of a sample of them).
model
    One of `COVARIANCE_MODELS`, or `VVE_ALONG_EVE`.
dof
    Shape (G,); first degrees of freedom, infinity for a normal component; all normal if None.
floor
    Smallest mixing proportion, at most 1/G: equations (3) and (4) of Oganian & Domingo-Ferrer (2017).
tolerance
    Stop when no share, mean or covariance of a group still goes farther than this, in standard deviations of the columns,
    as the last steps tell.
singular
    Stop when a conditional variance within a group is not above this.
ridge
    Added to every variance within a group before the model shapes the covariances.
simd
    Use the processor's vector unit where it has one. The result is the same.
progress
    Called with the share of `most_steps` that is done.

Notes
-----
One pass over the records a step; beside `x` the memory is that of the parameters. Slow steps are extrapolated; an
extrapolation is kept only if the log-likelihood is no lower there or, where proportions were moved to `floor`, the next
step is shorter.)";

MixtureFit mixture_em(const Matrix& x, const Statistics& start, const std::string& model, const std::optional<Vector>& dof,
                      double floor, double tolerance, double singular, double ridge, int most_steps, bool simd,
                      Listener listener) {
  Scatters scatters = start.scatters();
  const std::size_t groups = scatters.weight.size(), d = groups == 0 ? 0 : scatters.mean.size() / groups;
  const std::vector<double> normal(groups, HUGE_VAL);
  Fit f{empty_mixture(groups, d, dof ? dof->data() : normal.data(), simd), Covariances(groups, d), std::move(scatters)};
  const auto* restriction = std::find_if(kCovarianceModels.begin(), kCovarianceModels.end(),
                                         [&](const CovarianceModel& c) { return c.name == model; });
  Progress progress(listener);
  {
    nb::gil_scoped_release release;
    run(x.data(), x.shape(0), f, *restriction, {floor, tolerance, singular, ridge, most_steps}, progress);
  }
  const Statistics last{to_numpy(std::move(f.scatters.weight)), to_numpy(std::move(f.scatters.mean), {groups, d}),
                        to_numpy(flattened(f.scatters.scatter), {groups, d, d})};
  return {f.loglik, f.steps, f.converged, f.singular, to_numpy(std::move(f.mixture.proportion)),
          to_numpy(std::move(f.mixture.mean), {groups, d}), to_numpy(flattened(f.covariances.matrix), {groups, d, d}),
          to_numpy(std::move(f.mixture.dof)), last};
}

Output<double> mixture_scores(const Matrix& x, const MixtureFit& fit) {
  const auto proportion = nb::cast<Vector>(fit.proportion);
  const auto mean = nb::cast<Matrix>(fit.mean);
  const auto covariance = nb::cast<Cube>(fit.covariance);
  const std::size_t n = x.shape(0), groups = mean.shape(0), d = mean.shape(1);
  Mixture m = empty_mixture(groups, d, nb::cast<Vector>(fit.dof).data(), true);
  std::copy_n(proportion.data(), groups, m.proportion.begin());
  std::copy_n(mean.data(), groups * d, m.mean.begin());
  std::vector<Square> matrices(groups);
  for (std::size_t g = 0; g < groups; ++g) matrices[g].assign(covariance.data() + g * d * d, covariance.data() + (g + 1) * d * d);
  std::vector<double> scores(n * groups);
  Progress progress;
  {
    nb::gil_scoped_release release;
    prepare(m, matrices, 0.0);
    Block b(groups, d);
    for (std::size_t start = 0; start < n; start += kBlock) {
      b.load(x.data() + start * d, std::min(kBlock, n - start), d);
      for (std::size_t g = 0; g < groups; ++g) {
        log_joint(m, g, b);
        for (std::size_t i = 0; i < b.size; ++i) scores[(start + i) * groups + g] = b.joint[g * kBlock + i];
      }
      progress.tick(0.0);
    }
  }
  return to_numpy(std::move(scores), {n, groups});
}

void add_fit(nb::module_& m) {
  nb::class_<MixtureFit>(m, "MixtureFit", "A fitted mixture of G groups.")
      .def_ro("loglik", &MixtureFit::loglik,
              "Log-likelihood at these parameters; minus infinity if the first M-step was singular.")
      .def_ro("steps", &MixtureFit::steps, "EM steps made.")
      .def_ro("converged", &MixtureFit::converged, "True if the groups came to rest.")
      .def_ro("singular", &MixtureFit::singular,
              "Group whose covariance became singular, or -1; if not -1 the fit is of no use.")
      .def_ro("proportion", &MixtureFit::proportion, "Shape (G,).")
      .def_ro("mean", &MixtureFit::mean, "Shape (G, d).")
      .def_ro("covariance", &MixtureFit::covariance, "Shape (G, d, d); the scale matrix of a t component.")
      .def_ro("dof", &MixtureFit::dof, "Shape (G,); degrees of freedom, infinity for a normal component.")
      .def_ro("statistics", &MixtureFit::statistics,
              "From the last E-step; starting from them goes on where this fit stopped (t components take one step without "
              "moving their degrees of freedom).");
}

const Kernel mixture_kernel([](nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Statistics>(m, "Statistics", "All that an M-step of a mixture of G groups needs.")
      .def(nb::init<Output<double>, Output<double>, Output<double>>(), "weight"_a, "mean"_a, "scatter"_a)
      .def_ro("weight", &Statistics::weight, "Shape (G,); sum of the posteriors of each group.")
      .def_ro("mean", &Statistics::mean, "Shape (G, d).")
      .def_ro("scatter", &Statistics::scatter,
              "Shape (G, d, d); weighted sum of squares and products about the group's mean.");
  add_fit(m);
  m.attr("SINGULAR") = kSingular;
  m.def("mixture_em", &mixture_em, "x"_a, "start"_a, nb::kw_only(), "model"_a = "VVV", "dof"_a.none() = nb::none(),
        "floor"_a = 0.0, "tolerance"_a = 1e-6, "singular"_a = kSingular, "ridge"_a = 0.0, "most_steps"_a = 1000,
        "simd"_a = true, "progress"_a.none() = nb::none(), kFit);
  m.def("mixture_scores", &mixture_scores, "x"_a, "fit"_a,
        "Shape (n, G); log of proportion times density of each record in each group.");
  m.def("floored_proportions", [](const Vector& weight, double floor) {
    return to_numpy(floored_proportions(proportions({weight.data(), weight.data() + weight.size()}), floor));
  }, "weight"_a, "floor"_a,
        "Shape (G,); weights as proportions, moved by equations (3) and (4) of Oganian & Domingo-Ferrer (2017) so that none "
        "is below `floor`.");
});

}  // namespace
}  // namespace shoal
