"""An audit of private marginals with canaries: what is proved of epsilon by pairs of neighbouring tables.

A pair is a table drawn at random, and the same with the canary: a record whose categories nobody else has. The attacker
knows everybody else's records, and sees all noisy answers (`by_answers`) or the released records alone (`by_records`).
From the answers the logarithm of the odds follows: a count y of a cell that only the canary is in, with discrete
Gaussian noise of variance v, gives (2 y - 1) / (2 v). From records, how many have a category that only the canary has.

How far apart the attacker's figures are on the two kinds of tables, in standard deviations, is what Gaussian
differential privacy calls mu (Dong, Roth & Su 2022); it gives an epsilon at any delta (Balle & Wang 2018), as audits
use it (Nasr, Hayes, Steinke, Balle, Tramer, Jagielski, Carlini & Terzis 2023). A second bound, by how often a figure
lies beyond a threshold, assumes no law of the figures (Clopper & Pearson 1934).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.special import log_ndtr
from scipy.stats import beta, norm

import shoal
from shoal.kernels.arrays import Floats
from shoal.mask._marginals import selection
from shoal.mask._marginals.model import NoisyMarginal

SIZES = {"a": 5, "b": 4, "c": 3}
"""Categories of each column; the last one is the canary's."""


class Overheard:
    """A mechanism whose answers are written down."""

    def __init__(self, mechanism: Any) -> None:
        self.mechanism = mechanism
        self.answers: list[NoisyMarginal] = []

    def measure(self, columns: Any, rho: Any) -> NoisyMarginal:
        self.answers.append(self.mechanism.measure(columns, rho))
        return self.answers[-1]

    def choose(self, *asked: Any) -> int:
        return int(self.mechanism.choose(*asked))


def figures(method: shoal.PrivateMarginals, table: Any, seed: int) -> tuple[float, float]:
    """What an attacker makes of one run, by its answers and by its records."""
    heard: list[Overheard] = []

    class Tapped(shoal.PrivateMarginals):
        def mechanism(self, codes: Any, shape: Any, stream: Any) -> Any:
            heard.append(Overheard(method.mechanism(codes, shape, stream)))
            return heard[-1]

    parameters = {name: getattr(method, name) for name in method.__dataclass_fields__}
    made = Tapped(**parameters).apply(table, list(SIZES), np.random.default_rng(seed)).records
    odds = sum((2 * int(x.counts.flat[-1]) - 1) / (2 * x.variance) for x in heard[0].answers)
    return float(odds), float(sum((made[name].values == size - 1).sum() for name, size in SIZES.items()))


def tables(seed: int, records: int) -> tuple[Any, Any]:
    """Neighbouring tables: with so many records of the canary, and without."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 240))
    codes = np.column_stack([rng.choice(m - 1, n, p=rng.dirichlet(np.ones(m - 1))) for m in SIZES.values()])
    canary = np.tile([m - 1 for m in SIZES.values()], (records, 1))
    both = []
    for table in (np.concatenate([codes, canary]), codes):
        cells = {name: [f"{name}{code}" for code in table[:, place]] for place, name in enumerate(SIZES)}
        both.append(shoal.Microdata.of(pl.DataFrame(cells), dict.fromkeys(SIZES, "other")).records)
    return both[0], both[1]


def audited(
    epsilon: float,
    delta: float,
    pairs: int,
    *,
    first: int = 0,
    cls: type[shoal.PrivateMarginals] = shoal.PrivateMarginals,
    records: int = 1,
    steps: int = 4,
) -> dict[str, tuple[Floats, Floats]]:
    """By attacker, the figures of all tables with the canary and of those without.

    Parameters
    ----------
    first
        Number of the first pair.
    records
        Records of the canary.
    steps
        Of fitting after each answer: the model is a function of answers, and a hasty one tells as much.
    """
    with mock.patch.object(selection, "STEPS", steps):
        return _audited(epsilon, delta, range(first, first + pairs), cls, records)


def _audited(
    epsilon: float, delta: float, pairs: range, cls: type[shoal.PrivateMarginals], records: int
) -> dict[str, tuple[Floats, Floats]]:
    domain = {name: tuple(f"{name}{code}" for code in range(size)) for name, size in SIZES.items()}
    method = cls(epsilon=epsilon, delta=delta, domain=domain, pairs=2)
    with_it, without = [], []
    for number in pairs:
        with_canary, plain = tables(number, records)
        with_it.append(figures(method, with_canary, 2 * number))
        without.append(figures(method, plain, 2 * number + 1))
    first, second = np.array(with_it), np.array(without)
    return {name: (first[:, j], second[:, j]) for j, name in enumerate(("by_answers", "by_records"))}


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What is shown of epsilon at a confidence: the first two at least, and the last at most by this attacker."""

    at_least: float
    by_threshold: float
    at_most: float


def bounds(with_it: Floats, without: Floats, delta: float, doubt: float = 0.05) -> Bounds:
    """Bounds on epsilon at a delta, each of which is wrong with a probability of `doubt` at most."""
    n, m = len(with_it), len(without)
    spread = np.sqrt((with_it.var(ddof=1) + without.var(ddof=1)) / 2)
    apart = (with_it.mean() - without.mean()) / spread
    error = np.sqrt(1 / n + 1 / m + apart**2 / (2 * (n + m)))
    wide = norm.ppf(1 - doubt) * error
    return Bounds(
        at_least=epsilon_of_mu(apart - wide, delta),
        by_threshold=_by_threshold(with_it, without, delta, doubt),
        at_most=epsilon_of_mu(apart + wide, delta),
    )


def epsilon_of_mu(mu: float, delta: float) -> float:
    """The epsilon at a delta of two normal laws with deviation 1 that are mu apart (Balle & Wang 2018, theorem 8)."""

    def excess(epsilon: float) -> float:
        first = np.exp(log_ndtr(mu / 2 - epsilon / mu))
        return float(first - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)) - delta)

    if mu <= 0 or excess(0.0) <= 0:
        return 0.0
    return float(brentq(excess, 0.0, mu**2 / 2 + mu * 40))


def _by_threshold(with_it: Floats, without: Floats, delta: float, doubt: float) -> float:
    """The best threshold of one half of the runs, judged on the other."""
    half_in, half_out = len(with_it) // 2, len(without) // 2

    def at(threshold: float, seen: Floats, other: Floats, share: float) -> float:
        hits, alarms = int((seen >= threshold).sum()), int((other >= threshold).sum())
        if not hits:
            return 0.0
        least = beta.ppf(share / 2, hits, len(seen) - hits + 1)
        most = beta.ppf(1 - share / 2, alarms + 1, len(other) - alarms) if alarms < len(other) else 1.0
        return float(np.log(max(least - delta, 1e-300) / most))

    learned, learned_out = with_it[:half_in], without[:half_out]
    candidates: Sequence[float] = np.unique(np.quantile(learned, np.linspace(0, 1, 41)[:-1])).tolist()
    best = max(candidates, key=lambda threshold: at(threshold, learned, learned_out, doubt))
    return max(at(best, with_it[half_in:], without[half_out:], doubt), 0.0)
