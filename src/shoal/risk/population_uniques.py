"""Population uniques estimated from a sample by super-population models.

A model says how class sizes in the population come about; what the sample shows are those of the sampled
records. Each model below has the property that sampling with fraction f changes only its parameters, so it is
fitted to the sample's counts of counts by maximum likelihood and evaluated at the population's size.

- Poisson-gamma (Bethlehem, Keller & Pannekoek 1990): F is negative binomial with shape a and odds b per record;
  observed classes are those with f >= 1. Uniques: N (1 + b)^-(a + 1).
- Pitman (Hoshino 2001): the Pitman sampling formula with 0 <= a < 1, t > -a. Uniques:
  N Gamma(t + a + N - 1) Gamma(t + 1) / (Gamma(t + a) Gamma(t + N)). With a = 0 it is Ewens' formula.
- slide negative binomial (Chen & Keller-McNulty 1998): F - 1 is negative binomial with shape a and odds b.
  Uniques: N (1 + b)^-a / (1 + a b).
"""

from collections.abc import Callable
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge

from shoal.data.records import MissingCells, Records
from shoal.errors import NoFigure
from shoal.facts import of_release
from shoal.judges.evidence import Finding
from shoal.kernels.arrays import Floats
from shoal.kernels.elementary import exp, expm1, log, log1p, log_gamma, log_of_sum, logistic, power
from shoal.methods import Scales, method
from shoal.risk.class_risk import ClassRisk
from shoal.risk.population import sampling_weights


@method(
    "population-uniques",
    title="Records unique in the population",
    source="Bethlehem, Keller & Pannekoek (1990); Chen & Keller-McNulty (1998); Hoshino (2001)",
)
class PopulationUniques(ClassRisk):
    """Estimated share of records whose combination of quasi-identifiers nobody else in the population has.

    Three super-population models are fitted to the class sizes; the highest of their estimates is the value and
    all of them stand in the details, since models can differ much where the sample is small. Whoever is unique in the
    population is unique in the sample, so no estimate exceeds the share of sample uniques; where the sample is the
    whole population, it is that share.

    Parameters
    ----------
    population
        Number of people in the population; by default the sum of the sampling weights. Without either there is
        no figure.
    """

    scales: ClassVar[Scales] = "sample"
    cheap: ClassVar[bool] = False

    population: Annotated[int, Ge(1)] | None = None

    def under(self, released: Records, missing: MissingCells) -> Finding:
        n = len(released)
        weights = sampling_weights(released) if self.population is None else None
        if weights is not None:
            size = float(weights.sum())
        elif self.population is not None:
            size = float(self.population)
        else:
            raise NoFigure("Neither the size of the population nor sampling weights are known.")
        if size < n:
            raise NoFigure("The population must have at least as many people as the table has records.")
        counts, records = np.unique(released.matching(released.quasi_identifiers, missing), return_counts=True)
        classes = records / counts  # where missing cells match more than each other: as if there were classes
        here = float(records[counts == 1].sum() / n)
        fitted = {name: model(counts, classes, size) if size > n else here for name, model in MODELS.items()}
        shares = {name: min(share, here) for name, share in fitted.items() if share is not None}
        if not shares:
            raise NoFigure("None of the super-population models could be fitted to the class sizes.")
        low, high = min(shares.values()), max(shares.values())
        return self.finding(
            high,
            f"Between {100 * low:.3g} and {100 * high:.3g} % of the records are estimated to be the only one of "
            f"their kind in the population, depending on the model.",
            facts=of_release(
                {
                    "models": shares,
                    "models that could not be fitted": sorted(set(MODELS) - set(shares)),
                    "sampling fraction": n / size,
                    "sample uniques": here,
                }
            ),
        )


def poisson_gamma(counts: np.ndarray, times: np.ndarray, population: float) -> float | None:
    """Estimated share of uniques in a population larger than the sample; None where the likelihood has no maximum.

    Parameters
    ----------
    counts, times
        Shape (m,); sizes of classes, and how many classes have each.
    """
    fraction = (counts * times).sum() / population

    def loss(v: Floats) -> float:
        shape, odds = exp(v)
        at_least_one = -expm1(-shape * log1p(odds))
        return -float((times * (_negative_binomial(counts, shape, odds) - log(at_least_one))).sum())

    fitted = _minimum(loss, [(a, b) for a in (-3.0, 0.0) for b in (-1.0, 1.0, 3.0)])
    if fitted is None:
        return None
    shape, odds = exp(fitted)
    return float(power(1 + odds / fraction, -(shape + 1)))


def slide_negative_binomial(counts: np.ndarray, times: np.ndarray, population: float) -> float | None:
    """As `poisson_gamma`. A class of F people shows f of them: one of its first, the others thinned likewise."""
    fraction = (counts * times).sum() / population

    def loss(v: Floats) -> float:
        shape, odds = exp(v)
        first = log(fraction) + _negative_binomial(counts - 1, shape, odds * fraction)
        without = log1p(-fraction) + _negative_binomial(counts, shape, odds * fraction)
        nobody = (1 - fraction) * exp(-shape * log1p(odds * fraction))
        return -float((times * (log_of_sum(first, without) - log1p(-nobody))).sum())

    start = float(log(1 / fraction))
    fitted = _minimum(loss, [(a, b) for a in (-3.0, 0.0) for b in (0.0, start, start + 2)])
    if fitted is None:
        return None
    shape, odds = exp(fitted)
    return float(power(1 + odds, -shape) / (1 + shape * odds))


def pitman(counts: np.ndarray, times: np.ndarray, population: float) -> float | None:
    """As `poisson_gamma`."""
    n, classes = round(float((counts * times).sum())), round(float(times.sum()))
    order = np.arange(1, classes)

    def parameters(v: Floats) -> tuple[float, float]:
        alpha = float(logistic(v[0]))
        return alpha, float(exp(v[1])) - alpha

    def loss(v: Floats) -> float:
        alpha, theta = parameters(v)
        likelihood = log(theta + order * alpha).sum() - (log_gamma(theta + n) - log_gamma(theta + 1))
        likelihood += (times * (log_gamma(counts - alpha) - log_gamma(1 - alpha))).sum()
        return -float(likelihood)

    fitted = _minimum(loss, [(a, b) for a in (-3.0, 0.0, 2.0) for b in (0.0, float(log(classes)))])
    if fitted is None:
        return None
    alpha, theta = parameters(fitted)
    return float(
        exp(
            log_gamma(theta + alpha + population - 1)
            + log_gamma(theta + 1)
            - log_gamma(theta + alpha)
            - log_gamma(theta + population)
        )
    )


CLOSE = {"xatol": 1e-10, "fatol": 1e-10, "maxfev": 2000}
"""When a search ends. It compares losses and takes no library's linear algebra, so it ends at one place everywhere."""

MODELS: dict[str, Callable[[np.ndarray, np.ndarray, float], float | None]] = {
    "Poisson-gamma": poisson_gamma,
    "Pitman": pitman,
    "slide negative binomial": slide_negative_binomial,
}


def _negative_binomial(counts: np.ndarray, shape: float, odds: float) -> Floats:
    """Log probabilities of a negative binomial with mean shape x odds; minus infinity below 0."""
    ok = counts >= 0
    k = np.where(ok, counts, 0)
    logs = (
        log_gamma(shape + k)
        - log_gamma(shape)
        - log_gamma(k + 1.0)
        + k * (log(odds) - log1p(odds))
        - shape * log1p(odds)
    )
    return np.asarray(np.where(ok, logs, -np.inf))


def _minimum(loss: Callable[[Floats], float], starts: list[tuple[float, float]]) -> Floats | None:
    """The best of several local minima within reasonable bounds; None if none was reached."""
    from scipy.optimize import minimize

    box = [(-12.0, 12.0), (-12.0, 30.0)]
    with np.errstate(all="ignore"):
        runs = [minimize(loss, np.array(start), method="Nelder-Mead", bounds=box, options=CLOSE) for start in starts]
    good = [run for run in runs if np.isfinite(run.fun)]
    return np.asarray(min(good, key=lambda run: run.fun).x) if good else None
