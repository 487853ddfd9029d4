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
from dataclasses import dataclass
from math import inf, sqrt
from typing import Annotated

import numpy as np

from shoal.judges.class_figures import ClassCounts
from shoal.judges.prelude import Finding, Floats, Longs, MissingCells, Records
from shoal.judges.table_pair import NOBODY
from shoal.kernels.elementary import exp, expm1, log, log1p, log_gamma, log_of_sum, logistic, normal_quantile, power
from shoal.risk.class_risk import ClassRisk
from shoal.risk.population import sampling_weights
from shoal.vocabulary.prelude import Ge, Interval, NoFigure, in_digits, method, of_release


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
    whole population, it is that share. The interval reaches from the lowest to the highest end of the models' own, so
    that it holds the truth if one of them is right: each has the error of its fit (by the curvature of its likelihood)
    and that of the share among so many records.

    Parameters
    ----------
    population
        Number of people in the population; by default the sum of the sampling weights. Without either there is
        no figure.
    """

    question = "singling out"
    cheap = False

    population: Annotated[int, Ge(1)] | None = None

    def under(self, released: Records, missing: MissingCells) -> Finding:
        weights = sampling_weights(released) if self.population is None else None
        people = None if weights is None else float(weights.sum())
        return self._of(released.matching(released.quasi_identifiers, missing), people)

    def on_counts(self, counts: ClassCounts, bound: float | None = None) -> Finding | None:
        if self.missing not in (None, "equal"):
            return None
        if not len(counts.sizes):
            raise NoFigure(NOBODY)
        people = None if self.population is not None or counts.weights is None else float(counts.weights.sum())
        return self._of(np.repeat(counts.sizes, counts.sizes), people, bound)

    def _of(self, sizes: Longs, people: float | None, bound: float | None = None) -> Finding:
        """The figure where each record is one of so many, shape (n,), and all stand for so many people, if known.

        Where a bound is given, no model is fitted if none can exceed it, nor any after the first that does.
        """
        n = len(sizes)
        if people is not None:
            size = people
        elif self.population is not None:
            size = float(self.population)
        else:
            raise NoFigure("Neither the size of the population nor sampling weights are known.")
        if size < n:
            raise NoFigure("The population must have at least as many people as the table has records.")
        counts, records = np.unique(sizes, return_counts=True)
        classes = records / counts  # where missing cells match more than each other: as if there were classes
        here = float(records[counts == 1].sum() / n)
        certain = size == n or (bound is not None and here <= bound)
        fitted: dict[str, UniquesEstimate | None] = {}
        for name, model in MODELS.items():
            estimate = UniquesEstimate(share=here, error=0.0) if certain else model(counts, classes, size)
            fitted[name] = estimate
            if bound is not None and estimate is not None and min(estimate.ends(n)[1], here) > bound:
                break
        estimates = {name: estimate for name, estimate in fitted.items() if estimate is not None}
        shares = {name: min(estimate.share, here) for name, estimate in estimates.items()}
        if not shares:
            raise NoFigure("None of the super-population models could be fitted to the class sizes.")
        low, high = min(shares.values()), max(shares.values())
        ends = [(here, here) if certain else estimate.ends(n) for estimate in estimates.values()]
        lowest, highest = min(min(end[0] for end in ends), low), max(max(end[1] for end in ends), high)
        return self.finding(
            high,
            f"Between {in_digits(100 * low, 3)} and {in_digits(100 * high, 3)} % of the records are estimated to be "
            f"the only one of their kind in the population, depending on the model.",
            interval=Interval(low=lowest, high=min(highest, here), confidence=CONFIDENCE),
            facts=of_release(
                {
                    "models": shares,
                    "models that could not be fitted": sorted(set(MODELS) - set(shares)),
                    "sampling fraction": n / size,
                    "sample uniques": here,
                }
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UniquesEstimate:
    """An estimated share of uniques."""

    share: float  # In [0, 1]
    error: float  # Standard error of the share's logarithm by the fit alone; infinite where the likelihood is flat

    def ends(self, n: int) -> tuple[float, float]:
        """Ends of the interval for the share of uniques among n records."""
        if not self.share or self.error == inf:
            return 0.0, 1.0 if self.error == inf else 3 / n  # of what is not seen among n, by the rule of three
        z = float(normal_quantile(0.5 + CONFIDENCE / 2))
        reach = z * sqrt(self.error**2 + (1 - self.share) / (n * self.share))
        return float(self.share * exp(-reach)), min(1.0, float(self.share * exp(min(reach, 50.0))))


def poisson_gamma(counts: np.ndarray, times: np.ndarray, population: float) -> UniquesEstimate | None:
    """Estimated share of uniques in a population larger than the sample; None where the likelihood has no maximum.

    `counts`, `times`: shape (m,); sizes of classes, and how many classes have each.
    """
    fraction = (counts * times).sum() / population

    def loss(v: Floats) -> float:
        shape, odds = exp(v)
        at_least_one = -expm1(-shape * log1p(odds))
        return -float((times * (_negative_binomial(counts, shape, odds) - log(at_least_one))).sum())

    def share(v: Floats) -> float:
        shape, odds = exp(v)
        return float(power(1 + odds / fraction, -(shape + 1)))

    return _fitted(loss, share, [(a, b) for a in (-3.0, 0.0) for b in (-1.0, 1.0, 3.0)])


def slide_negative_binomial(counts: np.ndarray, times: np.ndarray, population: float) -> UniquesEstimate | None:
    """As `poisson_gamma`. A class of F people shows f of them: one of its first, the others thinned likewise."""
    fraction = (counts * times).sum() / population

    def loss(v: Floats) -> float:
        shape, odds = exp(v)
        first = log(fraction) + _negative_binomial(counts - 1, shape, odds * fraction)
        without = log1p(-fraction) + _negative_binomial(counts, shape, odds * fraction)
        nobody = (1 - fraction) * exp(-shape * log1p(odds * fraction))
        return -float((times * (log_of_sum(first, without) - log1p(-nobody))).sum())

    def share(v: Floats) -> float:
        shape, odds = exp(v)
        return float(power(1 + odds, -shape) / (1 + shape * odds))

    start = float(log(1 / fraction))
    return _fitted(loss, share, [(a, b) for a in (-3.0, 0.0) for b in (0.0, start, start + 2)])


def pitman(counts: np.ndarray, times: np.ndarray, population: float) -> UniquesEstimate | None:
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

    def share(v: Floats) -> float:
        alpha, theta = parameters(v)
        return float(
            exp(
                log_gamma(theta + alpha + population - 1)
                + log_gamma(theta + 1)
                - log_gamma(theta + alpha)
                - log_gamma(theta + population)
            )
        )

    return _fitted(loss, share, [(a, b) for a in (-3.0, 0.0, 2.0) for b in (0.0, float(log(classes)))])


CONFIDENCE = 0.95

STEP = 0.01
"""Of the parameters, by which the likelihood's curvature and the share's slope are seen."""

BOX = ((-12.0, 12.0), (-12.0, 30.0))
"""Reasonable bounds of the parameters."""

CLOSE = {"xatol": 1e-10, "fatol": 1e-10, "maxfev": 2000}
"""When a search ends. It compares losses and takes no library's linear algebra, so it ends at one place everywhere."""

MODELS: dict[str, Callable[[np.ndarray, np.ndarray, float], UniquesEstimate | None]] = {
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


def _fitted(
    loss: Callable[[Floats], float], share: Callable[[Floats], float], starts: list[tuple[float, float]]
) -> UniquesEstimate | None:
    """The share at the likelihood's maximum with its error; None where there is no maximum."""
    best = _minimum(loss, starts)
    return None if best is None else UniquesEstimate(share=share(best), error=_error(loss, share, best))


def _error(loss: Callable[[Floats], float], share: Callable[[Floats], float], best: Floats) -> float:
    """Standard error of the share's logarithm, by the delta method; parameters at a bound count as known."""
    steps = [step for step, end in zip(np.eye(2) * STEP, zip(best, BOX)) if _free(*end)]
    with np.errstate(all="ignore"):
        slopes = [float(log(share(best + h)) - log(share(best - h))) / (2 * STEP) for h in steps]
        curves = [
            [float(loss(best + g + h) - loss(best + g - h) - loss(best - g + h) + loss(best - g - h)) for h in steps]
            for g in steps
        ]
    if not steps or not any(slopes):
        return 0.0
    curved = np.array(curves) / (4 * STEP**2)
    determinant = float(curved[0, 0]) if len(steps) == 1 else float(curved[0, 0] * curved[1, 1] - curved[0, 1] ** 2)
    if not (np.isfinite(curved).all() and np.isfinite(slopes).all() and curved[0, 0] > 0 and determinant > 0):
        return inf
    if len(steps) == 1:
        return abs(slopes[0]) / sqrt(determinant)
    (a, b), (c, d) = slopes, (curved[0, 0], curved[1, 1])
    return sqrt(max(float(a * a * d + b * b * c - 2 * a * b * curved[0, 1]) / determinant, 0.0))


def _free(at: float, bounds: tuple[float, float]) -> bool:
    return bounds[0] + 2 * STEP < at < bounds[1] - 2 * STEP


def _minimum(loss: Callable[[Floats], float], starts: list[tuple[float, float]]) -> Floats | None:
    """The best of several local minima within the bounds; None if none was reached."""
    from scipy.optimize import minimize

    with np.errstate(all="ignore"):
        runs = [minimize(loss, np.array(start), method="Nelder-Mead", bounds=BOX, options=CLOSE) for start in starts]
    good = [run for run in runs if np.isfinite(run.fun)]
    return np.asarray(min(good, key=lambda run: run.fun).x) if good else None
