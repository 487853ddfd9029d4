"""Attribute inference: does the release give a person's confidential value away?"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.judges.further_tables import like
from shoal.judges.intervals import cautious_interval, proportion_interval
from shoal.judges.prelude import Bools, Finding, Floats, Generator, Longs, Records, TablePair, Variable, comparable
from shoal.judges.space import Lookup, Space
from shoal.judges.table_pair import ROUNDING, codes_like
from shoal.kernels.draws import drawn_rows
from shoal.risk.base import RiskMeasure
from shoal.vocabulary.errors import MissingDependency, NoFigure, quoted
from shoal.vocabulary.facts import ByColumn, Count, Interval, OfOriginal, OfPlan
from shoal.vocabulary.prelude import Columns, Ge, Gt, Setting, TablePath, method

TREES = 50
"""Trees of the forest: the vote of so many is stable to about 1/sqrt(50) of a tree's own spread."""


@method(
    "attribute-inference",
    title="Confidential values inferred from the release",
    source="Giomi, Boenisch, Wehmeyer & Tasnadi (2023), with a baseline by cross-fitting; NIST (2025)",
)
class AttributeInference(RiskMeasure):
    """Gain in right predictions of people's confidential values that comes from their being in the release.

    The attacker knows the original quasi-identifiers of everybody, or other columns, and trains a model on the release
    that predicts a confidential column from them. The figure is by how much the share of right predictions exceeds a
    baseline, at its highest over the confidential columns; what the baseline finds is learned about the population,
    not about the person. The baseline is

    - of a holdout, where there is one: the same predictions of people who were not used for the release;
    - else of the same people, by the same model trained on the released records of the other folds, where a fold holds
      whole groups if the partition is known, since a group's centre is partly the person's own;
    - else, where fewer groups than folds were formed (as in a fully synthetic table, which is one), of the same people
      by the same model trained on the other people's original records: the most that could be learned without them.

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
        Columns to infer; by default the confidential ones.
    known
        What the attacker knows; by default the quasi-identifiers. With any others, seven of twenty columns say, the
        attack is the reconstruction of the rest (NIST 2025).
    sample
        So many people are attacked at most, drawn at random.
    holdout
        Records of the same population that were not used for the release: a path, a data frame, Microdata, Records or
        an array.
    """

    question = "inference"
    of_made_up = True
    limits = (-1.0, 1.0)
    needs = ("records",)

    model: Literal["neighbour", "forest"] = "neighbour"
    tolerance: Annotated[float, Gt(0), Setting()] = 0.1
    folds: Annotated[int, Ge(2)] = 5
    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    known: Annotated[tuple[str, ...] | None, Columns()] = None
    sample: Annotated[int, Ge(10)] = 20_000
    holdout: Annotated[Any, TablePath()] = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        tables = [pair.before, pair.released]
        if self.holdout is not None:
            tables.append(like(pair.released, self.holdout))
        keys, secret = self._columns(pair, tables)
        if blank := [n for n in secret if any(table[n].missing.any() for table in tables)]:
            raise NoFigure(f"Confidential columns with missing values cannot be checked: {quoted(blank)}.")
        attack = self._attack(pair, tables, keys, rng)
        results = {name: attack.on(name, self.tolerance) for name in secret}
        worst = max(results, key=lambda name: results[name].difference)
        result = results[worst]
        return self.finding(
            result.difference,
            f"'{worst}' is predicted rightly for {100 * result.attack:.1f} % of the people with the release and for "
            f"{100 * result.baseline:.1f} % {attack.baseline}.",
            interval=result.interval,
            by_column=ByColumn(
                {
                    name: OfOriginal({"with the release": r.attack, "baseline": r.baseline, "difference": r.difference})
                    for name, r in results.items()
                }
            ),
            facts={
                "intervals of the difference": OfOriginal({n: _ends(r.interval) for n, r in results.items()}),
                "mean difference of the columns": OfOriginal(float(np.mean([r.difference for r in results.values()]))),
                "model": OfPlan(self.model),
                "people attacked": Count(n=len(attack.people), unit="people"),
                "baseline": OfOriginal(attack.baseline),
                "interval of the attack": OfOriginal(
                    _ends(proportion_interval(result.attack * result.people, result.people))
                ),
                "interval of the baseline": OfOriginal(
                    _ends(proportion_interval(result.baseline * result.others, result.others))
                ),
            },
        )

    def _columns(self, pair: TablePair, tables: list[Records]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Columns that the attacker knows, and columns to be inferred."""
        keys, secret = pair.common(self.known, "quasi-identifier"), pair.common(self.columns, "confidential")
        secret = tuple(name for name in secret if name not in keys) if self.columns is None else secret
        for table in tables[1:]:
            secret = comparable(tables[0], table, [name for name in secret if name in table])
        keys = tuple(name for name in keys if name not in secret and all(name in table for table in tables))
        if pair.place is None:
            keys = comparable(pair.before, pair.released, keys)
        if len(tables) > 2:
            keys = comparable(tables[0], tables[2], keys)
        if not keys or not secret:
            raise NoFigure("Both a column that is known and another to infer must be in the two tables.")
        return keys, secret

    def _attack(self, pair: TablePair, tables: list[Records], keys: tuple[str, ...], rng: Generator) -> "_Attack":
        """The attack with the baseline that there is."""
        kind: type[_Attack] = _WithHoldout if self.holdout is not None else _WithGroups
        groups, count = pair.released_labels, len(pair.released)
        if self.holdout is None:
            units = np.arange(count) if groups is None else groups
            if len(np.unique(units)) < self.folds:
                kind, count = _WithOthers, len(pair.before)
                units = np.arange(count)
            if len(units) < self.folds:
                raise NoFigure(f"There are fewer than {self.folds} records to leave out in turn.")
            fold = _folds(units, self.folds, rng)
        else:
            count, fold = len(pair.before), np.empty(0, dtype=np.int64)
        rows = drawn_rows(rng, count, self.sample)
        people = pair.pairing[rows] if kind is _WithGroups else rows
        space = pair.space(keys)
        original, released = space.side("before"), space.side("after")
        sides = {_WithGroups: (released, original), _WithOthers: (original, original)}
        learned, asked = sides.get(kind) or (released, Space.between(tables[0], tables[2], keys).side("after"))
        return kind(
            tables=tables,
            release=Lookup(released, original),
            control=Lookup(learned, asked),
            people=people,
            rows=rows,
            fold=fold,
            learner=_Learner(model=self.model, seed=int(rng.integers(2**31))),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    attack: float
    baseline: float
    difference: float
    interval: Interval
    people: int
    others: int


@dataclass(frozen=True, kw_only=True, eq=False)
class _Learner:
    """A model and its random numbers."""

    model: str
    seed: int

    def predict(
        self, lookup: Lookup, among: Longs, values: NDArray[Any], rows: Longs, continuous: bool
    ) -> NDArray[Any]:
        """Shape (m,); values of the rows asked for, learned from some rows of the other table and their values."""
        if self.model == "forest":
            forest = _forest(continuous, self.seed).fit(lookup.points.coordinates()[among], values)
            return np.asarray(forest.predict(lookup.asked.coordinates()[rows]), dtype=np.float64)
        nearest, place = lookup.nearest(among, rows)
        summary = _means if continuous else _modes
        return np.asarray(summary(values, place, int(place.max()) + 1)[nearest], dtype=np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Attack(ABC):
    """Predictions of people's confidential values."""

    baseline: ClassVar[str]

    tables: list[Records]  # The original, the release and, if there is one, a holdout
    release: Lookup  # People among the released records
    control: Lookup  # Those whom the baseline is of, among the records that it learns from
    people: Longs  # Shape (m,); positions of those attacked in the original
    rows: Longs  # Shape (m,); and of what was released of them
    fold: Longs  # Shape (n,) or (n',); the fold of each record that is left out in turn
    learner: _Learner

    def on(self, name: str, tolerance: float) -> _Result:
        """Rates of right predictions of a column: of the attack, and of a baseline that others make possible."""
        original, released = (table[name] for table in self.tables[:2])
        values = released.values if original.continuous else codes_like(original, released)
        spread = float(original.values.std(ddof=1)) if original.continuous and len(original) > 1 else 0.0
        reach = tolerance * spread
        guess = self.learner.predict(self.release, np.arange(len(values)), values, self.people, original.continuous)
        return self.compare(_right(guess, original.values[self.people], reach), original, values, reach)

    @abstractmethod
    def compare(self, right: Bools, original: Variable, values: NDArray[Any], reach: float) -> _Result:
        """The attack, of which shape (m,) says where it was right, beside the baseline.

        `values`: shape (n',); the released column in the original's terms; `reach`: how far off a right prediction may
        be.
        """

    def by_folds(self, values: NDArray[Any], own: Longs, continuous: bool) -> NDArray[Any]:
        """Shape (m,); predictions learned from the folds in which a person's own record is not."""
        out = np.empty(len(self.people))
        for f in np.unique(self.fold):
            mine, others = self.fold[own] == f, np.flatnonzero(self.fold != f)
            if mine.any():
                asked = self.people[mine]
                out[mine] = self.learner.predict(self.control, others, values[others], asked, continuous)
        return out


class _WithGroups(_Attack):
    baseline = "without their own part in it"

    def compare(self, right: Bools, original: Variable, values: NDArray[Any], reach: float) -> _Result:
        guess = self.by_folds(values, self.rows, original.continuous)
        return _paired(right, _right(guess, original.values[self.people], reach))


class _WithOthers(_Attack):
    baseline = "with the original records of the others"

    def compare(self, right: Bools, original: Variable, values: NDArray[Any], reach: float) -> _Result:
        guess = self.by_folds(original.values, self.people, original.continuous)
        return _paired(right, _right(guess, original.values[self.people], reach))


class _WithHoldout(_Attack):
    baseline = "of people who were not used for it"

    def compare(self, right: Bools, original: Variable, values: NDArray[Any], reach: float) -> _Result:
        others = self.tables[2][original.name]
        everybody = np.arange(len(others))
        guess = self.learner.predict(self.control, np.arange(len(values)), values, everybody, original.continuous)
        truth = others.values if original.continuous else codes_like(original, others)
        return _independent(right, _right(guess, truth, reach))


def _right(guess: NDArray[Any], truth: NDArray[Any], reach: float) -> Bools:
    """Shape (m,); which predictions come near enough; a category that the original lacks, -1, is never predicted."""
    if truth.dtype.kind == "f":
        return np.asarray(np.abs(guess - truth) <= reach + ROUNDING * np.abs(truth))
    return np.asarray((guess == truth) & (truth >= 0))


def _paired(attack: Bools, baseline: Bools) -> _Result:
    """Difference of two paired proportions: the share of people found with the release alone, less that of those found
    without it alone. Its interval is made of theirs as Newcombe (1998) makes one of a difference, with the correlation
    that two outcomes of one draw have: it covers a known difference in 95.5 per cent or more, where that of Agresti &
    Min (2005) does in 92 per cent at times.

    The baseline predicts people from one another: two who are each other's nearest are both right or both wrong, which
    doubles its variance at most. So many fewer people are counted.
    """
    n = len(attack)
    gained, lost = int((attack & ~baseline).sum()), int((baseline & ~attack).sum())
    spread = (gained + lost) / n - ((gained - lost) / n) ** 2
    own = float(baseline.var())
    counted = n / (1 + (min(own / spread, 1.0) if spread else float(own > 0)))
    up, down = ((count / n, cautious_interval(count / n * counted, counted)) for count in (gained, lost))
    interval = _of_difference(up, down, -math.sqrt(gained * lost / max((n - gained) * (n - lost), 1)))
    return _result(attack, baseline, (gained - lost) / n, interval)


def _independent(attack: Bools, control: Bools) -> _Result:
    """Difference of two independent proportions, its interval made of theirs (Newcombe 1998, method 11): it covers a
    known difference in 95.4 per cent or more, where that of Agresti & Caffo (2000) does in 94.8 per cent at times."""
    attacked, controlled = (
        (float(part.mean()), cautious_interval(float(part.sum()), len(part))) for part in (attack, control)
    )
    return _result(attack, control, attacked[0] - controlled[0], _of_difference(attacked, controlled, 0.0))


def _result(attack: Bools, baseline: Bools, difference: float, interval: Interval) -> _Result:
    return _Result(
        attack=float(attack.mean()),
        baseline=float(baseline.mean()),
        difference=difference,
        interval=interval,
        people=len(attack),
        others=len(baseline),
    )


def _of_difference(
    attacked: tuple[float, Interval], controlled: tuple[float, Interval], correlation: float
) -> Interval:
    """The interval of a difference of two proportions, from each with its interval, and their correlation."""
    (first, a), (second, b) = attacked, controlled

    def reach(up: float, down: float) -> float:
        return math.sqrt(max(up * up + down * down - 2 * correlation * up * down, 0.0))

    low = first - second - reach(first - a.low, b.high - second)
    high = first - second + reach(a.high - first, second - b.low)
    return Interval(low=max(-1.0, low), high=min(1.0, high))


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
    pairs, times = np.unique(group * width + values + 1, return_counts=True)
    order = np.lexsort((pairs, -times, pairs // width))
    first = np.searchsorted((pairs // width)[order], np.arange(count))
    return np.asarray(pairs[order[first]] % width - 1)


def _folds(units: Longs, folds: int, rng: Generator) -> Longs:
    """Shape (n,); the fold of each record, whole units together, sizes as even as may be."""
    count = int(units.max()) + 1
    return np.asarray(rng.permutation(count)[units] % folds)


def _ends(interval: Interval) -> list[float]:
    return [interval.low, interval.high]
