// Latent class models (latent_class_model.hpp): the kernels' face.
#include <nanobind/stl/optional.h>
#include <numeric>

#include "core/kernels.hpp"
#include "mixture/latent_class_model.hpp"

namespace shoal {

using namespace latent_class;

namespace {

// Answers, with what their columns begin at, a constant where there are no covariates, and one record a row where no counts
// are given.
class Table {
 public:
  Table(const IntMatrix& codes, const Longs& categories, const std::optional<Matrix>& covariates,
        const std::optional<Vector>& counts = std::nullopt)
      : offsets_(categories.shape(0) + 1, 0), ones_(codes.shape(0), 1.0) {
    std::partial_sum(categories.data(), categories.data() + categories.shape(0), offsets_.begin() + 1);
    const double* x = covariates ? covariates->data() : ones_.data();
    answers = {codes.data(), offsets_.data(), x, counts ? counts->data() : ones_.data(),
               codes.shape(0), codes.shape(1), covariates ? covariates->shape(1) : 1};
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  Answers answers;

 private:
  std::vector<std::int32_t> offsets_;
  std::vector<double> ones_;
};

struct LatentClassFit {
  double loglik, objective;
  int steps;
  bool converged, moved, reached;
  Output<double> prevalence, coefficient, log_table, posterior;
};

constexpr const char* kFitClasses = R"(Fit a latent class model by EM, beginning with an M-step.

Parameters
----------
codes
    Shape (n, J); category of each answer, from 0; -1 where it is missing.
categories
    Shape (J,); number of categories of each column.
posterior
    Shape (n, G); first class memberships, rows that sum to 1.
covariates
    Shape (n, q), its first column 1, the others standardised: latent class regression. None: the plain model.
counts
    Shape (n,); how many records each row stands for, one if None.
floor
    Smallest mean prevalence, at most 1/G.
pseudo
    How many records each class is credited with that answer like the whole table; above 0.
tolerance
    Stop when no prevalence, probability of an answer or coefficient still goes farther than this, as the last steps tell.
coefficient
    Shape (G, q); coefficients of the covariates to begin at, 0 if None.
simd
    Use the processor's vector unit where it has one. The result is the same.

Notes
-----
Slow steps are extrapolated; an extrapolation is kept only if the objective is no lower there or, where prevalences were
moved to `floor`, the next step is shorter.)";

LatentClassFit latent_class_em(const IntMatrix& codes, const Longs& categories_of, const Matrix& posterior,
                               const std::optional<Matrix>& covariates, const std::optional<Vector>& counts, double floor,
                               double pseudo, double tolerance, int most_steps, const std::optional<Matrix>& coefficient,
                               bool simd, Listener listener) {
  const Table table(codes, categories_of, covariates, counts);
  const Answers& a = table.answers;
  const std::size_t groups = posterior.shape(1), q = a.q;
  const auto categories = static_cast<std::size_t>(a.offset[a.columns]);
  ClassFit f;
  f.classes = {groups, std::vector<double>(groups * q, 0.0), std::vector<double>(categories * groups)};
  if (coefficient) std::copy_n(coefficient->data(), groups * q, f.classes.coefficient.begin());
  f.z.assign(posterior.data(), posterior.data() + a.n * groups);
  Progress progress(listener);
  {
    nb::gil_scoped_release release;
    run(a, {pseudo, kSlopePrecision, kInterceptPrecision, shares(a)}, {floor, tolerance, most_steps}, mixture::mixture_loops(simd), f,
        progress);
  }
  return {f.loglik, f.objective, f.steps, f.converged, f.moved, f.reached, to_numpy(std::move(f.prevalence)),
          to_numpy(std::move(f.classes.coefficient), {groups, q}), to_numpy(std::move(f.classes.log_table), {categories, groups}),
          to_numpy(std::move(f.z), {a.n, groups})};
}

Output<double> latent_class_scores(const IntMatrix& codes, const Longs& categories, const Matrix& coefficient,
                                   const Matrix& log_table, const std::optional<Matrix>& covariates) {
  const Table table(codes, categories, covariates);
  const Answers& a = table.answers;
  const std::size_t groups = coefficient.shape(0);
  const Classes c{groups, std::vector<double>(coefficient.data(), coefficient.data() + groups * a.q),
                  std::vector<double>(log_table.data(), log_table.data() + log_table.size())};
  std::vector<double> scores(a.n * groups);
  {
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < a.n; ++i) log_joint(a, c, i, &scores[i * groups]);
  }
  return to_numpy(std::move(scores), {a.n, groups});
}

constexpr const char* kProject = R"(Move posteriors (n, G) to column means `target` (G,), nearest in Kullback-Leibler divergence.

Returns
-------
Shape (n, G), and whether every mean is within 1e-10 of its target.)";

std::pair<Output<double>, bool> project_prevalences(const Matrix& posterior, const Vector& target) {
  std::vector<double> z(posterior.data(), posterior.data() + posterior.size());
  bool reached;
  {
    nb::gil_scoped_release release;
    const std::vector<double> ones(posterior.shape(0), 1.0);
    reached = project(z, ones.data(), std::vector<double>(target.data(), target.data() + target.size()));
  }
  return {to_numpy(std::move(z), {posterior.shape(0), posterior.shape(1)}), reached};
}

const Kernel latent_class_kernel([](nb::module_& m) {
  using namespace nb::literals;
  nb::class_<LatentClassFit>(m, "LatentClassFit", "A fitted latent class model.")
      .def_ro("loglik", &LatentClassFit::loglik, "Log-likelihood without the priors.")
      .def_ro("objective", &LatentClassFit::objective, "Log-likelihood plus logarithms of the priors: what EM raises.")
      .def_ro("steps", &LatentClassFit::steps, "EM steps made.")
      .def_ro("converged", &LatentClassFit::converged, "True if the classes came to rest.")
      .def_ro("moved", &LatentClassFit::moved, "True if the last prevalences were below the floor.")
      .def_ro("reached", &LatentClassFit::reached, "True if the posteriors could be moved to the new prevalences.")
      .def_ro("prevalence", &LatentClassFit::prevalence, "Shape (G,); mean prevalence p*_g.")
      .def_ro("coefficient", &LatentClassFit::coefficient,
              "Shape (G, q); of the covariates in the multinomial logit of the class.")
      .def_ro("log_table", &LatentClassFit::log_table,
              "Shape (categories of all columns, G); log of the probability of each category in each class.")
      .def_ro("posterior", &LatentClassFit::posterior, "Shape (n, G); from the last E-step.");
  m.def("latent_class_em", &latent_class_em, "codes"_a, "categories"_a, "posterior"_a, nb::kw_only(),
        "covariates"_a.none() = nb::none(), "counts"_a.none() = nb::none(), "floor"_a = 0.0, "pseudo"_a = 1.0,
        "tolerance"_a = 1e-6, "most_steps"_a = 1000,
        "coefficient"_a.none() = nb::none(), "simd"_a = true, "progress"_a.none() = nb::none(), kFitClasses);
  m.def("latent_class_scores", &latent_class_scores, "codes"_a, "categories"_a, "coefficient"_a, "log_table"_a,
        "covariates"_a.none() = nb::none(),
        "Shape (n, G); log of prior class probability times probability of the answers, as `latent_class_em` fits them.");
  m.def("project_prevalences", &project_prevalences, "posterior"_a, "target"_a, kProject);
  m.attr("SLOPE_PRECISION") = kSlopePrecision;
  m.attr("INTERCEPT_PRECISION") = kInterceptPrecision;
});

}  // namespace
}  // namespace shoal
