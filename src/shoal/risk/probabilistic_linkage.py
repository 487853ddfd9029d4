"""Probabilistic record linkage (Fellegi & Sunter 1969) with parameters by EM (Jaro 1989)."""

from typing import Annotated, Any

import numpy as np

from shoal.judges.base import by_record
from shoal.judges.intervals import cautious_interval
from shoal.judges.prelude import Bools, Finding, Floats, Generator, Longs, TablePair, Variable
from shoal.kernels import linear
from shoal.kernels.arrays import floats, ints
from shoal.kernels.draws import drawn_rows
from shoal.kernels.elementary import exp, log, log1p, log_of_sum
from shoal.kernels.risk.agreements import Pairs
from shoal.risk.base import RiskMeasure
from shoal.risk.text_similarity import jaro_winkler
from shoal.table.standardisation import deviation
from shoal.vocabulary.errors import NoFigure, in_digits, quoted
from shoal.vocabulary.prelude import Columns, Count, Ge, Gt, Le, OfOriginal, OfPlan, Setting, Share, method

MOST_COLUMNS = 16
"""Agreement patterns are counted in a table of 2^columns."""

PAIRS = 200_000_000
"""So many pairs are some seconds' work; above it records are sampled."""

STEPS = 200
SETTLED = 1e-10
"""EM stops after so many steps, or when no probability moves by more than this."""

FLOOR = 1e-6
"""Agreement probabilities stay this far from 0 and 1, so that no single column decides alone."""


@method(
    "probabilistic-linkage",
    title="Records found again by probabilistic linkage",
    source="Fellegi & Sunter (1969); Jaro (1989); Domingo-Ferrer & Torra (2001)",
)
class ProbabilisticLinkage(RiskMeasure):
    """Share of released records whose best match by Fellegi-Sunter weight is the original they came from.

    Every pair of a released and an original record has a pattern: on which columns they agree. Agreement has
    probability m in matching pairs and u in others; the probabilities are estimated by EM on the counts of the
    patterns, columns taken as independent, and one pair in n known to match. A pair's weight is the sum over
    columns of log(m/u) where they agree and of log((1-m)/(1-u)) where not. Each released record is linked to the
    original with the highest weight; t equally good ones share the probability.

    EM may fail to see which pattern marks a match (where only one column tells, nothing in the counts says which), and
    an attacker may know better. So the attack is made a second time with the probabilities of the true matches; the
    figure is the higher of the two, and both stand in the details.

    Missing cells agree with nothing. In a column with fewer labels than before (recoded categories, intervals instead
    of numbers) a new label agrees with every original value that it stands for somewhere.

    Parameters
    ----------
    columns
        What the attacker knows; by default the quasi-identifiers.
    tolerance
        Continuous values agree if they differ by no more than so many original standard deviations.
    similarity
        Texts agree if their Jaro-Winkler similarity reaches this; 1 asks for equal texts.
    sample
        Attack so many records, drawn at random; by default all, or as many as make 200 million pairs.
    """

    score_weight = 0.125
    question = "linkability"
    needs = ("columns", "pairing")
    roles = ("quasi-identifier",)

    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    tolerance: Annotated[float, Ge(0), Setting()] = 0.1
    similarity: Annotated[float, Gt(0), Le(1), Setting()] = 1.0
    sample: Annotated[int, Ge(1)] | None = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original, released = pair.before, pair.released
        names, place = self.compared(pair), pair.pairing
        if len(names) > MOST_COLUMNS:
            raise NoFigure(f"At most {MOST_COLUMNS} columns can be compared; there are {len(names)}.")
        if not len(released) or len(original) < 2:
            raise NoFigure("There are not two records to tell apart.")
        rows = drawn_rows(rng, len(released), self.sample or max(100, PAIRS // len(original)))
        agree = [_Agreement(original[n], released[n], place, rows, self.tolerance, self.similarity) for n in names]
        pairs = _pairs(agree, len(original), len(rows))
        counts = pairs.counts()
        learned = estimate(counts, len(names), len(original))
        true = _true_probabilities(counts, np.column_stack([a.own(place[rows]) for a in agree]))
        ranks = ints(np.vstack([_ranks(weights(*learned)), _ranks(weights(*true))]))
        attacks = dict(zip(("by EM", "with true probabilities"), pairs.links(ranks, place[rows])))
        chances = max(attacks.values(), key=lambda attack: float(attack.sum()))
        hits, trials = float(chances.sum()), len(rows)
        return self.finding(
            hits / trials,
            f"Someone who knows {quoted(names)} of everybody finds {100 * hits / trials:.1f} % of the records again "
            f"by probabilistic linkage; guessing finds {in_digits(100 / len(original), 3)} %.",
            interval=cautious_interval(hits, trials),
            facts={
                "records attacked": Count(n=trials),
                "candidates": Count(n=len(original), influence=1),
                "by chance": Share(value=1 / len(original)),
                **{how: Share(value=float(attack.mean())) for how, attack in attacks.items()},
                "agreement in matches (m) by EM": OfOriginal(dict(zip(names, learned[0].tolist()))),
                "agreement in others (u) by EM": OfOriginal(dict(zip(names, learned[1].tolist()))),
                "true agreement in matches": OfOriginal(dict(zip(names, true[0].tolist()))),
                "tolerance": OfPlan(self.tolerance),
                "similarity": OfPlan(self.similarity),
            },
            record_risk=by_record(released, rows, chances),
        )


class _Agreement:
    """Agreement of pairs on one column."""

    def __init__(
        self, original: Variable, released: Variable, place: Longs, rows: Longs, tolerance: float, similarity: float
    ) -> None:
        self.x, self.y = original.values, released.values[rows]
        self.alike: Bools | None = None
        if original.continuous and released.continuous:
            self.reach = tolerance * deviation(original.values)
            return
        before, self.x = _codes(original)
        after, y = _codes(released)
        self.y = y[rows]
        alike = np.zeros((len(after) + 1, len(before) + 1), dtype=bool)
        coarser = original.continuous or len(after) < len(before)
        new = [a for a, label in enumerate(after) if coarser and label not in before]
        recoded = np.isin(y, new) & (self.x[place] >= 0)
        alike[y[recoded], self.x[place][recoded]] = True
        if not original.continuous:
            for i, a in enumerate(after):
                for j, b in enumerate(before):
                    alike[i, j] |= _alike(a, b, similarity)
        self.alike = alike  # the last row and column, where code -1 points to, are missing

    def own(self, place: Longs) -> Bools:
        """Shape (m,); whether each released record agrees with its own original."""
        if self.alike is not None:
            return np.asarray(self.alike[self.y, self.x[place]])
        return np.asarray(np.abs(self.y - self.x[place]) <= self.reach)


def _codes(variable: Variable) -> tuple[list[Any], Longs]:
    """Values of a column and their codes; -1 for missing."""
    if not variable.continuous:
        return list(variable.categories), variable.values.astype(np.int64)
    values, codes = np.unique(variable.values, return_inverse=True)
    return values.tolist(), np.where(variable.missing, -1, codes).astype(np.int64)


def _alike(a: Any, b: Any, similarity: float) -> bool:
    if a is None or b is None:
        return False
    if similarity < 1 and isinstance(a, str) and isinstance(b, str):
        return jaro_winkler(a, b) >= similarity
    return bool(a == b or str(a) == str(b))


def _pairs(agree: list[_Agreement], n: int, m: int) -> Pairs:
    """All pairs of n originals and m released records; the bit of a column is its place."""
    coded = [(j, column, column.alike) for j, column in enumerate(agree) if column.alike is not None]
    numbers = [(j, column) for j, column in enumerate(agree) if column.alike is None]
    x = [np.where(column.x < 0, table.shape[1] - 1, column.x) for _, column, table in coded]
    y = [np.where(column.y < 0, table.shape[0] - 1, column.y) for _, column, table in coded]
    return Pairs(
        x=ints(np.reshape(x, (len(coded), n))),
        y=ints(np.reshape(y, (len(coded), m))),
        tables=[table for _, _, table in coded],
        x_numbers=floats(np.reshape([column.x for _, column in numbers], (len(numbers), n))),
        y_numbers=floats(np.reshape([column.y for _, column in numbers], (len(numbers), m))),
        reach=floats([column.reach for _, column in numbers]),
        bits=ints([*(j for j, _, _ in coded), *(j for j, _ in numbers)]),
    )


def estimate(counts: Longs, columns: int, n: int) -> tuple[Floats, Floats]:
    """Agreement probabilities (m, u) of each column in matching and other pairs, by EM.

    Parameters
    ----------
    counts
        Shape (2^columns,); pairs with each pattern.
    n
        One pair in n matches: every record has one counterpart among n.

    Notes
    -----
    The likelihood has several maxima. EM starts once from columns that all mostly agree in matches, and once for
    each column from that one agreeing and the others telling little; the best end is taken.
    """
    bits = (np.arange(1 << columns)[:, None] >> np.arange(columns) & 1).astype(np.float64)
    seen = counts > 0
    bits, times = bits[seen], counts[seen].astype(np.float64)
    u = np.clip(_times(bits.T, times) / times.sum(), FLOOR, 1 - FLOOR)  # nearly all pairs are no match
    starts = np.vstack([np.full(columns, 0.9), np.where(np.eye(columns) == 1, 0.9, 0.3)])
    ends = [_climb(bits, times, np.maximum(start, u), u, 1.0 / n) for start in starts]
    _, m, u = max(ends, key=lambda end: end[0])
    return m, u


def _climb(bits: Floats, times: Floats, m: Floats, u: Floats, prior: float) -> tuple[float, Floats, Floats]:
    """EM from one start: log likelihood, m, u."""
    likelihood = -np.inf
    for _ in range(STEPS):
        matching = log(prior) + _times(bits, log(m)) + _times(1 - bits, log1p(-m))
        others = log1p(-prior) + _times(bits, log(u)) + _times(1 - bits, log1p(-u))
        both = log_of_sum(matching, others)
        likelihood = float((times * both).sum())
        match = times * exp(matching - both)
        new_m = np.clip(_times(bits.T, match) / match.sum(), FLOOR, 1 - FLOOR)
        new_u = np.clip(_times(bits.T, times - match) / (times - match).sum(), FLOOR, 1 - FLOOR)
        moved = max(np.abs(new_m - m).max(), np.abs(new_u - u).max())
        m, u = new_m, new_u
        if moved < SETTLED:
            break
    return likelihood, m, u


def _times(a: Floats, v: Floats) -> Floats:
    return linear.product(a, v[:, None])[:, 0]


def _true_probabilities(counts: Longs, own: Bools) -> tuple[Floats, Floats]:
    """(m, u) counted over the true matches (m, columns) and over all other pairs."""
    bits = np.arange(len(counts))[:, None] >> np.arange(own.shape[1]) & 1
    others = np.maximum(counts @ bits - own.sum(axis=0), 0) / max(int(counts.sum()) - len(own), 1)
    return np.clip(own.mean(axis=0), FLOOR, 1 - FLOOR), np.clip(others, FLOOR, 1 - FLOOR)


def weights(m: Floats, u: Floats) -> Floats:
    """Shape (2^columns,); the log likelihood ratio of each pattern."""
    bits = np.arange(1 << len(m))[:, None] >> np.arange(len(m)) & 1
    return np.asarray(np.where(bits == 1, log(m / u), log1p(-m) - log1p(-u)).sum(axis=1))


def _ranks(weight: Floats) -> Longs:
    """Shape (2^columns,); the rank of each pattern by its weight, from 0."""
    return np.unique(np.round(weight, 9), return_inverse=True)[1].reshape(-1)
