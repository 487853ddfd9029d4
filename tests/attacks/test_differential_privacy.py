"""An attacker who tells two neighbouring tables apart, as well as epsilon allows and no better.

Two tables differ in one person: every target cell of that person lies at the lower bound in one and at the upper bound
in the other, the worst there is. The attacker sees many independent runs on both, learns on one half of them which
releases speak for which table, and is judged on the other half: from how often the chosen event happens, a lower bound
on epsilon follows that holds at a confidence of 1 - `DOUBT` (Clopper & Pearson 1934; Jagielski, Ullman & Oprea 2020).
The attacker looks at sums and differences of what a person's cells became, and at their last bits, which betray
floating-point noise (Mironov 2012).

A mechanism keeps its promise if the bound does not exceed the epsilon that was claimed; the attack is worth something
if it comes near that epsilon, and finds mechanisms that are broken on purpose.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta

import shoal
from by_night import crossed
from shoal.kernels.arrays import Floats, Longs
from shoal.mask.private_noise import PrivateNoise, discrete_laplace
from shoal.mask.secret_stream import SecretStream
from shoal.table.records import Records
from shoal.table.step_result import StepResult
from shoal.vocabulary.facts import losses
from shoal.vocabulary.registry import registered

LOW, HIGH = 0.0, 10.0
RUNS = 80_000
DOUBT = 1e-6
LEAST_SEEN = 50
"""Runs in which an event must happen before the attacker trusts what it learned of it."""

Runs = Callable[[float, int, int], Floats]
"""From the value of a person's cells, the number of runs and a seed: what the cells became, a row a run."""


@dataclass(frozen=True)
class Attack:
    """What the attacker learned: the classes of releases that speak for the first of two tables."""

    edges: tuple[Floats, ...]
    chosen: Longs

    @staticmethod
    def _features(seen: Floats) -> tuple[Floats, ...]:
        """Of each run: the sum of the cells, their differences, and how many of the last bits of one are zero."""
        whole = (np.frexp(seen[:, 0])[0] * 2.0**53).astype(np.int64)
        zeros = np.log2((whole & -whole) + 1.0)
        return seen.sum(axis=1), np.ptp(seen, axis=1), np.minimum(zeros, 12.0)

    @classmethod
    def learned(cls, one: Floats, other: Floats) -> "Attack":
        """Cut the features of both tables into classes, and choose those that tell most."""
        both = cls._features(np.concatenate([one, other]))
        parts = (40, 2, 3)
        edges = tuple(np.unique(np.quantile(x, np.linspace(0, 1, n + 1)[1:-1])) for x, n in zip(both, parts))
        empty = cls(edges=edges, chosen=np.zeros(0, dtype=np.int64))
        p, q = (np.bincount(empty._classes(x), minlength=empty._size) for x in (one, other))
        order = np.argsort(-(p + 1) / (q + 1), kind="stable")
        seen, rare = np.cumsum(p[order]), np.cumsum(q[order])
        worth = np.where(seen >= LEAST_SEEN, _bound(seen, rare, len(one)), -np.inf)
        return cls(edges=edges, chosen=order[: int(np.argmax(worth)) + 1])

    @property
    def _size(self) -> int:
        return int(np.prod([len(e) + 1 for e in self.edges]))

    def _classes(self, seen: Floats) -> Longs:
        number = np.zeros(len(seen), dtype=np.int64)
        for x, edges in zip(self._features(seen), self.edges):
            number = number * (len(edges) + 1) + np.searchsorted(edges, x, "right")
        return number

    def happens(self, seen: Floats) -> int:
        """In how many runs the release is of one of the chosen classes."""
        return int(np.isin(self._classes(seen), self.chosen).sum())


def _bound(seen: Any, rare: Any, n: int) -> Any:
    """A lower bound on epsilon from how often an event happened in n runs on each of two tables."""
    least = beta.ppf(DOUBT / 2, seen, n - seen + 1)
    most = np.where(rare < n, beta.ppf(1 - DOUBT / 2, rare + 1, np.maximum(n - rare, 1)), 1.0)
    return np.log(least / most)


def epsilon_at_least(runs: Runs, n: int = RUNS) -> float:
    """What the attacker proves of a mechanism."""
    half = n // 2
    one, other = runs(LOW, n, 1), runs(HIGH, n, 2)
    bounds = []
    for first, second in ((one, other), (other, one)):
        attack = Attack.learned(first[:half], second[:half])
        counts = (np.array(attack.happens(x[half:])) for x in (first, second))
        bounds.append(float(_bound(*counts, n - half)))
    return max(bounds)


def runs_of(method: PrivateNoise, columns: int = 1, records: int = 1) -> Runs:
    """Each run is a person with some records, each with some columns of target cells."""

    def runs(value: float, n: int, seed: int) -> Floats:
        table = Records.from_array(np.full((n * records, columns), value))
        noisy = method.apply(table, table.names(), np.random.default_rng(seed)).records.raw()
        return np.asarray(noisy.reshape(n, -1))

    return runs


def made(cls: type[PrivateNoise], epsilon: float, columns: int = 1, records: int = 1) -> PrivateNoise:
    bounds = {f"x{j}": (LOW, HIGH) for j in range(columns)}
    return cls(epsilon=epsilon, bounds=bounds, records_per_person=records)


ON_CELLS = [entry.cls for entry in registered("mask") if issubclass(entry.cls, PrivateNoise)]
PRIVATE = [cls for cls in ON_CELLS if not cls.whole_records]
SHAPES = [(0.5, 1, 1), (2.0, 1, 1), (2.0, 3, 1), (2.0, 1, 2), (5.0, 2, 2)]


@pytest.mark.parametrize(("cls", "shape"), crossed(PRIVATE, SHAPES))
def test_no_mechanism_tells_more_than_its_epsilon(cls: type[PrivateNoise], shape: tuple[float, int, int]) -> None:
    epsilon, columns, records = shape
    proved = epsilon_at_least(runs_of(made(cls, epsilon, columns, records), columns, records))
    assert proved <= epsilon
    if columns * records == 1:
        assert proved > 0.85 * epsilon  # the attack is as good as it can be


class HalfTheSensitivity(shoal.Laplace):
    """Bounds that were meant as a radius."""

    def steps(self, n: int, sensitivity: int, epsilon: Fraction, stream: SecretStream) -> Longs:
        return discrete_laplace(n, epsilon / (sensitivity // 2), stream)


class FloatingPoint(shoal.Laplace):
    """The textbook's noise: a floating-point draw added to a floating-point value."""

    def apply(self, records: Records, columns: Any, rng: np.random.Generator, progress: Any = None) -> Any:
        x = records.raw(columns)
        noisy = x + rng.laplace(0, (HIGH - LOW) / self.epsilon, x.shape)
        return StepResult(records=records.with_raw(columns, noisy))


class EpsilonForEachColumn(shoal.Laplace):
    """Epsilon is spent anew for each column, and for each record of a person."""

    def steps(self, n: int, sensitivity: int, epsilon: Fraction, stream: SecretStream) -> Longs:
        return discrete_laplace(n, Fraction(self.epsilon) / sensitivity, stream)


class OneNoiseForAll(shoal.Laplace):
    """The value's noise is the same in every run: whoever has seen one knows all."""

    def steps(self, n: int, sensitivity: int, epsilon: Fraction, stream: SecretStream) -> Longs:
        return np.full(n, discrete_laplace(1, epsilon / sensitivity, stream)[0])


@pytest.mark.parametrize(
    ("cls", "columns", "records"),
    [
        (HalfTheSensitivity, 1, 1),
        (FloatingPoint, 1, 1),
        (EpsilonForEachColumn, 2, 1),
        (EpsilonForEachColumn, 1, 2),
        (OneNoiseForAll, 1, 1),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_broken_mechanisms_are_found(cls: type[PrivateNoise], columns: int, records: int) -> None:
    assert epsilon_at_least(runs_of(made(cls, 1.0, columns, records), columns, records)) > 1.2


def test_a_whole_release_tells_no_more() -> None:
    """Two columns with noise of their own, cut off afterwards, and moved to keep a rule between them."""
    bounds = {"pay": [LOW, HIGH], "tax": [LOW, HIGH]}
    plan = {
        "columns": {"pay": "confidential", "tax": {"role": "confidential", "decimals": 1}},
        "steps": [
            {"mask": "laplace", "epsilon": 1, "columns": ["pay"], "bounds": bounds},
            {"mask": "staircase", "epsilon": 2, "columns": ["tax"], "bounds": bounds},
            {"mask": "top-code", "columns": ["tax"], "value": 30},
        ],
        "constraints": {"rules": ["tax <= pay"], "broken_rules": "report"},
        "output": {"shuffle": False},
    }
    claimed = []

    def runs(value: float, n: int, seed: int) -> Floats:
        table = pl.DataFrame({"pay": np.full(n, value), "tax": np.full(n, value)})
        release = shoal.protect(table, plan, seed=seed)
        claimed.append(sum(loss.epsilon for step in release.account.steps for loss in losses(step.facts)))
        return np.asarray(release.data.to_numpy())

    proved = epsilon_at_least(runs, n=8000)
    assert claimed == [3, 3]
    assert 0.5 * claimed[0] < proved <= claimed[0]
