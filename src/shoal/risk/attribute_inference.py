"""Attribute inference: does the release give a person's confidential value away?"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray
from scipy.special import ndtri

from shoal.data.records import Records
from shoal.errors import MissingDependency, NoFigure, quoted
from shoal.facts import ByColumn, Interval
from shoal.judges.evidence import Finding
from shoal.judges.intervals import proportion_interval
from shoal.judges.table_pair import ROUNDING, TablePair, codes_like, comparable, embedded
from shoal.kernels.arrays import Bools, Floats, Longs
from shoal.kernels.search.nearest import distinct, nearest_point
from shoal.methods import method
from shoal.parameters import Columns, Setting
from shoal.risk.base import RiskMeasure

TREES = 50
"""Trees of the forest: the vote of so many is stable to about 1/sqrt(50) of a tree's own spread."""


@method(
    "attribute-inference",
    title="Confidential values inferred from the release",
    source="Giomi, Boenisch, Wehmeyer & Tasnadi (2023), with a baseline by cross-fitting",
)
class AttributeInference(RiskMeasure):
    """How much more often a person's confidential value is predicted rightly because the person is in the release.

    The attacker knows the original quasi-identifiers of everybody and trains a model on the release that predicts a
    confidential column from them. The baseline is the same model trained without the person: on the released
    records of the other folds, where a fold holds whole groups if the partition is known, since a group's centre is
    partly the person's own. The figure is the difference of the two shares of right predictions, paired by person,
    at its highest over the confidential columns. What the baseline finds is learned about the population, not
    about the person.

    Parameters
    ----------
    model
        `neighbour`: the value of the nearest released record (mean or most frequent value of those at the same place);
        `forest`: a random forest (needs scikit-learn).
    tolerance
        A continuous prediction is right within so many standard deviations.
    folds
        Number of parts for the baseline.
    columns
        Confidential columns to infer; by default all.
    sample
        So many people are attacked at most, drawn at random.
    """

    limits: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    model: Literal["neighbour", "forest"] = "neighbour"
    tolerance: Annotated[float, Gt(0), Setting()] = 0.1
    folds: Annotated[int, Ge(2)] = 5
    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    sample: Annotated[int, Ge(10)] = 20_000

    def judge(self, pair: TablePair, rng: np.random.Generator) -> Finding:
        original, released = pair.before, pair.released
        partition = pair.groups
        known = pair.common(None, "quasi-identifier")
        secret = comparable(original, released, pair.common(self.columns, "confidential"))
        if not known or not secret:
            raise NoFigure("Both a quasi-identifier and a confidential column must be in the two tables.")
        place = pair.pairing
        units = np.arange(len(released))
        if partition is not None and len(partition) == len(released):
            units = partition.labels.astype(np.int64)
        if units.max(initial=-1) + 1 < self.folds:
            raise NoFigure(f"There are fewer than {self.folds} records or groups to leave out in turn.")
        if blank := [n for n in secret if original[n].missing.any() or released[n].missing.any()]:
            raise NoFigure(f"Confidential columns with missing values cannot be checked: {quoted(blank)}.")
        x, y = embedded(original, released, known, place)
        rows = np.arange(len(released))
        if self.sample < len(rows):
            rows = np.sort(rng.choice(len(rows), self.sample, replace=False))
        attack = _Attack(x[place], y, _folds(units, self.folds, rng), rows, self.model, rng)
        results = {name: self._on(name, original, released, place, attack) for name in secret}
        worst = max(results, key=lambda name: results[name].difference)
        found = results[worst]
        return self.finding(
            found.difference,
            f"'{worst}' is predicted rightly for {100 * found.attack:.1f} % of the people with the release and for "
            f"{100 * found.baseline:.1f} % without their own part in it.",
            interval=found.interval,
            by_column=ByColumn(
                {
                    name: {"with the release": r.attack, "baseline": r.baseline, "difference": r.difference}
                    for name, r in results.items()
                }
            ),
            facts={
                "intervals of the difference": {n: [r.interval.low, r.interval.high] for n, r in results.items()},
                "model": self.model,
                "people attacked": len(rows),
                "whole groups left out": partition is not None,
                "interval of the attack": _ends(proportion_interval(found.attack * len(rows), len(rows))),
                "interval of the baseline": _ends(proportion_interval(found.baseline * len(rows), len(rows))),
            },
        )

    def _on(self, name: str, original: Records, released: Records, place: Longs, attack: "_Attack") -> "_Result":
        before, after = original[name], released[name]
        learned = after.values if before.continuous else codes_like(before, after)
        truth = before.values[place][attack.rows]
        reach = self.tolerance * float(before.values.std(ddof=1)) + ROUNDING * np.abs(truth) if before.continuous else 0

        def right(guess: NDArray[Any]) -> Bools:
            return np.asarray(np.abs(guess - truth) <= reach)

        with_release = right(attack.with_release(learned, before.continuous))
        without = right(attack.without(learned, before.continuous))
        return _paired(with_release, without)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    attack: float
    baseline: float
    difference: float
    interval: Interval


def _paired(attack: Bools, baseline: Bools, confidence: float = 0.95) -> _Result:
    """Difference of two paired proportions with the interval of Agresti & Min (2005): half a person added to
    each of the four outcomes."""
    n = len(attack)
    gained, lost = int((attack & ~baseline).sum()) + 0.5, int((baseline & ~attack).sum()) + 0.5
    centre = (gained - lost) / (n + 2)
    half = float(ndtri(0.5 + confidence / 2)) * np.sqrt((gained + lost) / (n + 2) - centre**2) / np.sqrt(n + 2)
    return _Result(
        attack=float(attack.mean()),
        baseline=float(baseline.mean()),
        difference=float(attack.mean() - baseline.mean()),
        interval=Interval(low=max(-1.0, centre - half), high=min(1.0, centre + half), confidence=confidence),
    )


class _Attack:
    """Predictions of a released column at people's original quasi-identifiers."""

    def __init__(self, x: Floats, y: Floats, fold: Longs, rows: Longs, model: str, rng: np.random.Generator) -> None:
        self.x, self.y, self.fold, self.rows, self.model = x, y, fold, rows, model
        self.seed = int(rng.integers(2**31))

    def with_release(self, values: NDArray[Any], continuous: bool) -> NDArray[Any]:
        """Shape (rows,); learned from all released records."""
        return self._fit_predict(np.arange(len(self.y)), self.rows, values, continuous)

    def without(self, values: NDArray[Any], continuous: bool) -> NDArray[Any]:
        """Shape (rows,); learned from the folds a person is not in."""
        out = np.empty(len(self.rows))
        for f in np.unique(self.fold):
            mine = self.fold[self.rows] == f
            if mine.any():
                out[mine] = self._fit_predict(np.flatnonzero(self.fold != f), self.rows[mine], values, continuous)
        return out

    def _fit_predict(self, train: Longs, test: Longs, values: NDArray[Any], continuous: bool) -> NDArray[Any]:
        if self.model == "forest":
            model = _forest(continuous, self.seed).fit(self.y[train], values[train])
            return np.asarray(model.predict(self.x[test]), dtype=np.float64)
        points = distinct(self.y[train])
        summary = _means if continuous else _modes
        here = summary(values[train], points.of_row, len(points.points))
        return np.asarray(here[nearest_point(points.points, self.x[test])], dtype=np.float64)


def _forest(continuous: bool, seed: int) -> Any:
    try:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    except ImportError:
        raise MissingDependency("attribute-inference with model: forest", "scikit-learn", "models") from None
    kind = RandomForestRegressor if continuous else RandomForestClassifier
    return kind(n_estimators=TREES, random_state=seed, n_jobs=1)


def _means(values: NDArray[Any], group: Longs, count: int) -> Floats:
    middle = float(np.median(values))
    return np.asarray(
        np.bincount(group, weights=values - middle, minlength=count) / np.bincount(group, minlength=count) + middle
    )


def _modes(values: NDArray[Any], group: Longs, count: int) -> Longs:
    """Most frequent code of each group, the lowest of equals."""
    width = int(values.max()) + 2
    held, times = np.unique(group * width + values + 1, return_counts=True)
    order = np.lexsort((held, -times, held // width))
    first = np.searchsorted((held // width)[order], np.arange(count))
    return np.asarray(held[order[first]] % width - 1)


def _folds(units: Longs, folds: int, rng: np.random.Generator) -> Longs:
    """Shape (n,); the fold of each record, whole units together, sizes as even as may be."""
    count = int(units.max()) + 1
    return np.asarray(rng.permutation(count)[units] % folds)


def _ends(interval: Interval) -> list[float]:
    return [interval.low, interval.high]
