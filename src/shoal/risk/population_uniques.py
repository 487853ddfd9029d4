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
from scipy.special import expit, gammaln

from shoal.errors import NoFigure
from shoal.judges.base import Need
from shoal.judges.evidence import Finding
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Floats
from shoal.methods import method
from shoal.risk.base import RiskMeasure
from shoal.risk.population import sampling_weights


@method(
    "population-uniques",
    title="Records unique in the population",
    source="Bethlehem, Keller & Pannekoek (1990); Chen & Keller-McNulty (1998); Hoshino (2001)",
)
class PopulationUniques(RiskMeasure):
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

    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)
    of_release_alone: ClassVar[bool] = True
    needs: ClassVar[tuple[Need, ...]] = ("records", "quasi-identifiers")

    population: Annotated[int, Ge(1)] | None = None

    def judge(self, pair: TablePair, rng: np.random.Generator) -> Finding:
        released = pair.closure.records
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
        sizes = pair.classes.sizes
        here = float((sizes == 1).sum() / n)
        fitted = {name: model(sizes, size) if size > n else here for name, model in MODELS.items()}
        shares = {name: min(share, here) for name, share in fitted.items() if share is not None}
        if not shares:
            raise NoFigure("None of the super-population models could be fitted to the class sizes.")
        low, high = min(shares.values()), max(shares.values())
        return self.finding(
            high,
            f"Between {100 * low:.3g} and {100 * high:.3g} % of the records are estimated to be the only one of "
            f"their kind in the population, depending on the model.",
            facts={
                "models": shares,
                "models that could not be fitted": sorted(set(MODELS) - set(shares)),
                "sampling fraction": n / size,
                "sample uniques": here,
            },
        )


def poisson_gamma(sizes: np.ndarray, population: float) -> float | None:
    """Estimated share of uniques in a population larger than the sample; None where the likelihood has no maximum."""
    counts, times = np.unique(sizes, return_counts=True)
    fraction = sizes.sum() / population

    def loss(v: Floats) -> float:
        shape, odds = np.exp(v)
        at_least_one = -np.expm1(-shape * np.log1p(odds))
        return -float(times @ (_negative_binomial(counts, shape, odds) - np.log(at_least_one)))

    found = _minimum(loss, [(a, b) for a in (-3.0, 0.0) for b in (-1.0, 1.0, 3.0)])
    if found is None:
        return None
    shape, odds = np.exp(found)
    return float((1 + odds / fraction) ** -(shape + 1))


def slide_negative_binomial(sizes: np.ndarray, population: float) -> float | None:
    """As `poisson_gamma`. A class of F people shows f of them: one of its first, the others thinned likewise."""
    counts, times = np.unique(sizes, return_counts=True)
    fraction = sizes.sum() / population

    def loss(v: Floats) -> float:
        shape, odds = np.exp(v)
        first = np.log(fraction) + _negative_binomial(counts - 1, shape, odds * fraction)
        without = np.log1p(-fraction) + _negative_binomial(counts, shape, odds * fraction)
        nobody = (1 - fraction) * np.exp(-shape * np.log1p(odds * fraction))
        return -float(times @ (np.logaddexp(first, without) - np.log1p(-nobody)))

    start = np.log(1 / fraction)
    found = _minimum(loss, [(a, b) for a in (-3.0, 0.0) for b in (0.0, start, start + 2)])
    if found is None:
        return None
    shape, odds = np.exp(found)
    return float((1 + odds) ** -shape / (1 + shape * odds))


def pitman(sizes: np.ndarray, population: float) -> float | None:
    """As `poisson_gamma`."""
    counts, times = np.unique(sizes, return_counts=True)
    n, classes = int(sizes.sum()), len(sizes)
    order = np.arange(1, classes)

    def parameters(v: Floats) -> tuple[float, float]:
        alpha = float(expit(v[0]))
        return alpha, float(np.exp(v[1])) - alpha

    def loss(v: Floats) -> float:
        alpha, theta = parameters(v)
        likelihood = np.log(theta + order * alpha).sum() - (gammaln(theta + n) - gammaln(theta + 1))
        likelihood += times @ (gammaln(counts - alpha) - gammaln(1 - alpha))
        return -float(likelihood)

    found = _minimum(loss, [(a, b) for a in (-3.0, 0.0, 2.0) for b in (0.0, float(np.log(classes)))])
    if found is None:
        return None
    alpha, theta = parameters(found)
    return float(
        np.exp(
            gammaln(theta + alpha + population - 1)
            + gammaln(theta + 1)
            - gammaln(theta + alpha)
            - gammaln(theta + population)
        )
    )


MODELS: dict[str, Callable[[np.ndarray, float], float | None]] = {
    "Poisson-gamma": poisson_gamma,
    "Pitman": pitman,
    "slide negative binomial": slide_negative_binomial,
}


def _negative_binomial(counts: np.ndarray, shape: float, odds: float) -> Floats:
    """Log probabilities of a negative binomial with mean shape x odds; minus infinity below 0."""
    ok = counts >= 0
    k = np.where(ok, counts, 0)
    logs = (
        gammaln(shape + k)
        - gammaln(shape)
        - gammaln(k + 1.0)
        + k * (np.log(odds) - np.log1p(odds))
        - shape * np.log1p(odds)
    )
    return np.asarray(np.where(ok, logs, -np.inf))


def _minimum(loss: Callable[[Floats], float], starts: list[tuple[float, float]]) -> Floats | None:
    """The best of several local minima within reasonable bounds; None if none was reached."""
    from scipy.optimize import minimize

    box = [(-12.0, 12.0), (-12.0, 30.0)]
    with np.errstate(all="ignore"):
        runs = [minimize(loss, np.array(start), method="L-BFGS-B", bounds=box) for start in starts]
    good = [run for run in runs if np.isfinite(run.fun)]
    return np.asarray(min(good, key=lambda run: run.fun).x) if good else None
