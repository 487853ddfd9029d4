"""Propensity scores: how well a model can tell released records from original ones."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import Annotated, Any, Literal

import numpy as np

from shoal.judges.prelude import Bools, Finding, Floats, Generator, Longs, Records, TablePair, Variable
from shoal.kernels import linear
from shoal.kernels.draws import drawn_rows
from shoal.kernels.logit import multinomial_logit
from shoal.kernels.tall import orthonormal, times, triangular
from shoal.utility.base import UtilityMeasure
from shoal.vocabulary.errors import MissingDependency, NoFigure, in_digits, plural
from shoal.vocabulary.prelude import ByLabel, Columns, Count, Figure, Ge, OfPlan, method, of_original

COLLINEAR = 1e-7
"""A feature whose part orthogonal to those before is smaller than this, relative to itself, is left out."""

RIDGE = 1e-6
"""Prior precision of the coefficients of orthogonal features of variance 1: nothing beside the data's own, but it keeps
them finite where the tables can be told apart without error."""

LEFT_OUT = "pairs of columns left out"

MOST_CELLS = 10_000_000
MOST_WORK = 1_500_000_000
"""Most records times features, and records times the square of features, up to which products of categorical columns
are features: 80 MB in memory, and some seconds."""


@method("propensity", title="Propensity score utility", source="Woo, Reiter, Oganian & Karr (2009)")
class Propensity(UtilityMeasure):
    """U_p = 1/N sum (p_i - 1/2)^2 over the stacked original and released records, N of them.

    p_i is the probability, in a model fitted to tell the two tables apart, that record i is a released one. 0 says
    that the model cannot tell; 1/4 that it is always right. The figure depends on the model and grows with its size, so
    beside it stands what it would be, on average, if there were nothing to tell: (q - 1)/4 in units of sum
    (p - 1/2)^2 for an independent sample of the same population, (q - 1)/8 for records drawn from the true model fitted
    to the original (q: coefficients; Snoke, Raab, Nowok, Dibben & Slavkovic 2018), each with the ratio and the number z
    of standard deviations that the figure lies above it.

    `2N U_p` in the details is sum (p_i - 1/2)^2 itself, N then being the records of one table: what Table 1 of Oganian
    & Domingo-Ferrer (2017) prints. Differs from the paper: its equation (11) reads N as the merged total, as U_p here
    does, which would make 2N U_p twice the sum; the scale of the printed figures is that of the sum.

    Parameters
    ----------
    model
        `logistic` regression on polynomials, or a classification tree (`cart`), whose expectation under nothing to
        tell is found by shuffling which record is released.
    order
        Highest degree of the logistic model's products of continuous columns. From order 2 on also products of
        continuous and categorical columns, and of two categorical ones: where these would make the model too large,
        those of the fewest features alone, and the facts count the pairs that are left out.
    powers
        Whether products may repeat a column (squares, cubes).
    scale
        Continuous columns as they are, standardised, or as ranks in the stacked table. Polynomials with `powers`
        are the same model on the first two; ranks are not at the mercy of heavy tails.
    columns
        By default the quasi-identifiers and confidential columns that both tables hold.
    leaf
        Fewest records in a leaf of the tree.
    shuffles
        Number of shuffles for the tree.
    sample
        So many records of each table are compared at most, drawn at random.
    """

    prominence = 50
    unchanged = 0.0
    limits = (0.0, 0.25)

    model: Literal["logistic", "cart"] = "logistic"
    order: Annotated[int, Ge(1)] = 2
    powers: bool = True
    scale: Literal["raw", "standardised", "rank"] = "rank"
    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    leaf: Annotated[int, Ge(1)] = 20
    shuffles: Annotated[int, Ge(2)] = 20
    sample: Annotated[int, Ge(10)] = 50_000

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original, released = pair.before, pair.released
        names = pair.common(self.columns, "quasi-identifier", "confidential")
        if not names:
            raise NoFigure("The two tables have no quasi-identifier or confidential column in common.")
        if min(len(original), len(released)) < 2:
            raise NoFigure("A table has fewer than two records.")
        before, after = _sampled(original, released, self.sample, rng)
        tables = _Stack.of(before, after, names, self.scale)
        group = np.repeat([0.0, 1.0], [len(before), len(after)])
        if self.model == "cart":
            return self._by_tree(tables, group, rng)
        features = tables.features(self.order, self.powers)
        if features is None or features.shape[1] * 2 > len(group):
            raise NoFigure(
                f"A model of order {self.order} has too many coefficients for {len(group):,} records. "
                f"Lower the order or name fewer columns."
            )
        basis = independent(features)
        q = basis.shape[1]
        fitted = multinomial_logit(basis, np.column_stack([1 - group, group]), np.full(q, RIDGE))
        share = float(group.mean())
        spread = _spread(fitted.probabilities(basis)[:, 1], share)
        sampled = _null(spread, share * (1 - share) * (q - 1), share * (1 - share) * math.sqrt(2 * (q - 1)))
        synthesis = share * (1 - share) ** 2
        drawn = _null(spread, synthesis * (q - 1), synthesis * math.sqrt(2 * (q - 1)))
        return self._finding(
            spread,
            len(group),
            {
                "coefficients": q,
                **tables.left_out(self.order, self.powers),
                "an independent sample": sampled,
                "synthesis from the true model": drawn,
            },
            sampled,
        )

    def _by_tree(self, tables: "_Stack", group: Floats, rng: Generator) -> Finding:
        try:
            from sklearn.tree import DecisionTreeClassifier
        except ImportError:
            raise MissingDependency("The tree model of propensity scores", "scikit-learn", "models") from None
        x = np.hstack([tables.numbers, tables.indicators])
        seed = int(rng.integers(2**31))

        def spread(labels: Floats) -> float:
            tree = DecisionTreeClassifier(min_samples_leaf=self.leaf, random_state=seed).fit(x, labels)
            return _spread(tree.predict_proba(x)[:, list(tree.classes_).index(1.0)], group.mean())

        nothing = np.array([spread(rng.permutation(group)) for _ in range(self.shuffles)])
        observed = spread(group)
        shuffled = _null(observed, float(nothing.mean()), float(nothing.std(ddof=1)))
        return self._finding(
            observed, len(group), {"an independent sample": shuffled, "shuffles": self.shuffles}, shuffled
        )

    def _finding(self, spread: float, n: int, facts: Mapping[str, Any], null: ByLabel) -> Finding:
        ratio = null["ratio"]
        times = (
            ""
            if ratio is None
            else (
                f"; an independent sample of the same population would reach {in_digits(null['expected U_p'] / n, 3)}, "
                f"so this is {in_digits(ratio, 3)} times what chance makes"
            )
        )
        left_out = facts.get(LEFT_OUT, 0)
        without = f" The model leaves out the products of {plural(left_out, 'pair')} of columns." if left_out else ""
        return self.finding(
            spread / n,
            f"A model that tries to tell released records from original ones reaches {in_digits(spread / n, 3)} on a "
            f"scale from 0 (cannot tell) to 0.25 (always right){times}.{without}",
            facts={
                "2N U_p": Figure(value=spread),
                "N of 2N U_p": OfPlan(
                    "records of one table, where equation 11 of Oganian & Domingo-Ferrer counts both"
                ),
                "records compared": Count(n=n),
                **of_original({key: _per_record(value, n) for key, value in facts.items()}),
            },
        )


def _spread(p: Floats, share: float) -> float:
    """sum (p - c)^2; c, the released records' share, is 1/2 for tables of one size."""
    return float(((p - share) ** 2).sum())


def _null(spread: float, mean: float, deviation: float) -> ByLabel:
    return {
        "expected U_p": mean,
        "ratio": spread / mean if mean > 0 else None,
        "z": (spread - mean) / deviation if deviation > 0 else None,
    }


def _per_record(value: Any, n: int) -> Any:
    if isinstance(value, dict):
        value["expected U_p"] /= n
    return value


def _sampled(original: Records, released: Records, most: int, rng: Generator) -> tuple[Records, Records]:
    """At most so many records of each table; the same positions where the tables are of one length."""
    if len(original) == len(released) > most:
        rows = drawn_rows(rng, len(original), most)
        return original.take(rows), released.take(rows)
    before, after = (table.take(drawn_rows(rng, len(table), most)) for table in (original, released))
    return before, after


@dataclass(frozen=True, kw_only=True, eq=False)
class _Stack:
    """Both tables, one above the other, as columns of numbers and blocks of indicators."""

    numbers: Floats
    blocks: tuple[Bools, ...]

    @classmethod
    def of(cls, before: Records, after: Records, names: tuple[str, ...], scale: str) -> "_Stack":
        n = len(before) + len(after)
        numbers, blocks = [], []
        for name in names:
            first, second = before[name], after[name]
            if first.continuous and second.continuous:
                values = np.concatenate([first.values, second.values])
                missing = np.isnan(values)
                values = np.where(missing, np.nanmedian(values) if not missing.all() else 0.0, values)
                numbers.append(_scaled(values, scale, len(before)))
                if missing.any():
                    blocks.append(missing[:, None])
            else:
                codes = _codes(first, second)
                present = np.unique(codes)[1:]
                blocks.append(codes[:, None] == present)
        return cls(numbers=np.column_stack(numbers) if numbers else np.empty((n, 0)), blocks=tuple(blocks))

    @property
    def indicators(self) -> Floats:
        return np.hstack([np.empty((len(self.numbers), 0)), *self.blocks])

    def features(self, order: int, powers: bool) -> Floats | None:
        """Shape (N, q'); 1, products up to the order; None where there would be more features than records."""
        n, d = self.numbers.shape
        products = self._products(order, powers)
        if 1 + d + self.indicators.shape[1] + len(products) > n:
            return None
        x = self.numbers - self.numbers.mean(axis=0) if d else self.numbers
        norms = np.abs(x).max(axis=0, initial=0.0)
        x = x / np.where(norms > 0, norms, 1.0)
        parts = [np.ones((n, 1)), x, self.indicators]
        parts += [np.prod(x[:, list(term)], axis=1)[:, None] for term in products]
        sides = [*(x[:, j : j + 1] for j in range(d)), *self.blocks]
        kept = self._crossed(order, powers)
        parts += [(sides[a][:, :, None] * sides[b][:, None, :]).reshape(n, -1) for a, b in kept]
        return np.hstack(parts)

    def left_out(self, order: int, powers: bool) -> dict[str, int]:
        """The number of pairs of columns whose products are no features, if there are any."""
        count = len(self._pairs(order)) - len(self._crossed(order, powers))
        return {LEFT_OUT: count} if count else {}

    def _products(self, order: int, powers: bool) -> list[tuple[int, ...]]:
        pick = combinations_with_replacement if powers else combinations
        return [term for degree in range(2, order + 1) for term in pick(range(self.numbers.shape[1]), degree)]

    def _pairs(self, order: int) -> list[tuple[int, int]]:
        """Pairs of columns, numbers before blocks of indicators, at least one of which is categorical."""
        d = self.numbers.shape[1]
        sides = range(d + len(self.blocks))
        return [(a, b) for a, b in combinations(sides, 2) if b >= d] if order > 1 else []

    def _crossed(self, order: int, powers: bool) -> list[tuple[int, int]]:
        """The pairs whose products are features: those of the fewest features first, as far as the model may grow."""
        n, d = self.numbers.shape
        widths = [1] * d + [block.shape[1] for block in self.blocks]
        allowance = (
            min(n // 2, MOST_CELLS // n, math.isqrt(MOST_WORK // n))
            - 1
            - sum(widths)
            - len(self._products(order, powers))
        )
        pairs, kept = self._pairs(order), set()
        for a, b in sorted(pairs, key=lambda pair: widths[pair[0]] * widths[pair[1]]):
            allowance -= widths[a] * widths[b]
            if allowance < 0:
                break
            kept.add((a, b))
        return [pair for pair in pairs if pair in kept]


def independent(features: Floats) -> Floats:
    """Orthogonal columns of mean square 1 that span the features, the first of them constant."""
    n = len(features)
    rest = features[:, 1:] - features[:, 1:].mean(axis=0)
    norms = np.sqrt((rest**2).sum(axis=0))
    original = np.sqrt((features[:, 1:] ** 2).sum(axis=0))
    rest = rest[:, norms > COLLINEAR * original]
    rest /= norms[norms > COLLINEAR * original]
    if not rest.shape[1]:
        return np.ones((n, 1))
    r, order = linear.pivoted(triangular(rest[None])[0])
    rank = int((np.abs(np.diag(r)) > COLLINEAR).sum())  # they fall, so the first ones are kept
    rest = rest[:, order[:rank]]  # the other columns need no memory any more
    q = times(rest[None], linear.inverse(r[:rank, :rank])[None])
    del rest
    q = orthonormal(q, np.ones((1, rank), dtype=bool))[0]
    return np.hstack([np.ones((n, 1)), q * np.sqrt(n)])


def _scaled(values: Floats, scale: str, first: int) -> Floats:
    if scale == "rank":
        ordered = np.sort(values)
        rank = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
        return np.asarray(rank / (2.0 * len(values)))
    if scale == "standardised":
        centre, spread = values[:first].mean(), values[:first].std()
        return np.asarray((values - centre) / (spread if spread > 0 else 1.0))
    return values


def _codes(first: Variable, second: Variable) -> Longs:
    """Codes into the categories of both tables; a missing value, and a number beside categories, is one of its own."""
    labels = [_labels(variable) for variable in (first, second)]
    code_of = {label: i for i, label in enumerate(dict.fromkeys(labels[0] + labels[1]))}
    return np.array([code_of[label] for part in labels for label in part], dtype=np.int64)


def _labels(variable: Variable) -> list[Any]:
    if variable.continuous:
        return [None if missing else str(value) for value, missing in zip(variable.values, variable.missing)]
    cells = [*(None if c is None else str(c) for c in variable.categories), None]
    return [cells[code] for code in variable.values.tolist()]
