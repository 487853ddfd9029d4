"""Risk of unique records by a log-linear model of the population's table."""

from itertools import combinations
from math import sqrt
from typing import Annotated, Literal

import numpy as np

from shoal.judges.prelude import Bools, Finding, Floats, Generator, Longs, MissingCells, Records, TablePair
from shoal.kernels.elementary import exp, expm1, normal_quantile
from shoal.risk.base import RiskMeasure
from shoal.risk.class_risk import in_full
from shoal.risk.population import sampling_weights
from shoal.table.equal_rows import patterns
from shoal.vocabulary.prelude import Ge, Interval, NoFigure, OfPlan, method, of_release, plural

Weighting = Literal["none", "pseudo-likelihood", "offset"]

MOST_CELLS = 1 << 20
"""Cells of the table of all combinations, where pairs of columns or offsets are fitted."""

CONFIDENCE = 0.95

ROUNDS, CLOSE = 500, 1e-9
"""Proportional fitting ends when no margin is off by more than this share of the records, or after so many rounds."""


@method(
    "log-linear-risk",
    title="Risk of unique records by a log-linear model",
    source="Skinner & Holmes (1998); Skinner & Shlomo (2008); Skinner & Vallet (2010)",
)
class LogLinearRisk(RiskMeasure):
    """Expected share of records that are unique in the table and matched rightly to their person in the population.

    The number of people in a cell of the quasi-identifiers is Poisson with mean L, of whom each is sampled with
    probability p = 1 / weight; log L is a sum of effects of columns, fitted to the sample's counts. A cell with one
    sampled record then has 1 + Poisson(L (1 - p)) people: the record is unique in the population with probability
    exp(-L (1 - p)), and a match to it is right with probability (1 - exp(-L (1 - p))) / (L (1 - p)). Their sums over
    the unique records are tau1 and tau2 of the literature and stand in the details; the figure is tau2 / n. Its
    interval is that of the share of right matches in one population, if the model is right: with F people in a cell,
    1 / F has at most the variance of a share with the same mean.

    Parameters
    ----------
    effects
        `columns`: each column by itself (independence). `pairs`: all pairs of columns, by iterative proportional
        fitting; needs a table of at most a million cells.
    mean
        What is taken for L: the fitted sample mean divided by p (`population`), as in the sources, or the fitted
        sample mean as it is (`sample`), as sdcMicro 5.8.1 takes it: people are then too few and risks too high.
    weighting
        How the model sees weights that differ. `none`: it is one of the sample, fitted to counts of records; the fitted
        mean of a cell is divided by the record's p afterwards. The others are models of the population, and right also
        where p depends on several columns at once. `pseudo-likelihood`: fitted to sums of weights. `offset`: fitted to
        counts of records, of which each cell expects L times its sampling fraction, records over the sum of their
        weights (in an empty cell that of the table; Clogg & Eliason 1987). With equal weights all three agree.
    population
        Number of people in the population, all sampled with equal probability; by default the weights say.
    missing
        What a missing cell matches: a missing cell (`equal`), which makes it a category of its own; every cell
        (`wildcard`) or none (`nothing`), where its cell of the table is the sum over all values it may have. By default
        what the plan's requirements say, or else its steps that blank cells, and `equal` where nothing does.
    """

    question = "singling out"
    of_release_alone = True
    needs = ("records", "quasi-identifiers", "people")

    effects: Literal["columns", "pairs"] = "columns"
    mean: Literal["population", "sample"] = "population"
    weighting: Weighting = "none"
    population: Annotated[int, Ge(1)] | None = None
    missing: MissingCells | None = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        released, missing = pair.closure.records, self.missing or pair.missing
        names, n = released.quasi_identifiers, len(pair.closure.records)
        sampled = self._fractions(released)
        codes = np.column_stack([released.classes([name]).ids for name in names])
        if missing != "equal":
            blank = np.column_stack([released[name].missing for name in names])
            codes = np.where(blank, -1, codes)
        unique = released.matching(names, missing) == 1
        p = sampled[unique]
        means = self._means(codes, 1 / sampled, unique) * (1.0 if self.mean == "population" else p)
        others = means * (1 - p)
        alone = exp(-others)
        right = np.where(others > 0, -expm1(-others) / np.where(others > 0, others, 1.0), 1.0)
        risk = np.zeros(n)
        risk[unique] = right
        tau1, tau2 = float(alone.sum()), float(right.sum())
        half = float(normal_quantile(0.5 + CONFIDENCE / 2)) * sqrt(max(float((right * (1 - right)).sum()), 0.0))
        low, high = max(tau2 - half, 0.0) / n, min(tau2 + half, float(unique.sum())) / n
        return self.finding(
            tau2 / n,
            f"Of {plural(n, 'record')} {int(unique.sum()):,} are unique in the table; {in_full(tau1)} of them are "
            f"expected to be unique in the population, and {in_full(tau2)} to be matched rightly.",
            facts={
                **of_release(
                    {
                        "unique in the table": int(unique.sum()),
                        "expected unique in the population": tau1,
                        "expected right matches": tau2,
                        "classes": len(released.class_sizes(names)),
                    }
                ),
                "effects": OfPlan(self.effects),
                "missing": OfPlan(missing),
            },
            record_risk=risk,
            interval=Interval(low=low, high=max(high, tau2 / n), confidence=CONFIDENCE),
        )

    def _means(self, codes: Longs, weights: Floats, chosen: Bools) -> Floats:
        """L in the cells of some records."""
        pseudo = self.weighting == "pseudo-likelihood"
        mass = weights if pseudo else np.ones(len(weights))
        if self.effects == "columns" and self.weighting != "offset":
            fitted = _by_columns(codes, mass, chosen)
        else:
            offset = weights if self.weighting == "offset" else None
            fitted = _by_table(codes, mass, offset, chosen, 1 if self.effects == "columns" else 2)
        return fitted if self.weighting != "none" else fitted * weights[chosen]

    def _fractions(self, released: Records) -> Floats:
        """Shape (n,); with what probability each record was sampled."""
        if self.population is not None:
            if self.population < len(released):
                raise NoFigure("The population must have at least as many people as the table has records.")
            return np.full(len(released), len(released) / self.population)
        weights = sampling_weights(released)
        if weights is None:
            raise NoFigure("Neither the size of the population nor sampling weights are known.")
        return 1 / np.maximum(weights, 1.0)


def _by_columns(codes: Longs, mass: Floats, chosen: Bools) -> Floats:
    """Fitted means of the cells of some records under independence: the whole mass times the product of its shares."""
    out = np.full(int(chosen.sum()), float(mass.sum()))
    for column in codes.T:
        known = column >= 0
        shares = np.bincount(column[known], mass[known]) / max(float(mass[known].sum()), 1.0)
        out *= np.where(known[chosen], shares[np.maximum(column[chosen], 0)], 1.0)
    return out


def _by_table(codes: Longs, mass: Floats, weights: Floats | None, chosen: Bools, order: int) -> Floats:
    """The same where all sets of so many columns have their margins; a missing cell sums over what it may be.

    `weights`, shape (n,): make the sampling fractions of the cells an offset of the model; what returns are then means
    of the population.
    """
    shape = tuple(int(column.max(initial=-1)) + 1 for column in codes.T)
    cells = np.prod(shape, dtype=np.float64)
    if cells > MOST_CELLS:
        raise NoFigure(
            f"The quasi-identifiers have {cells:,.0f} combinations; pairs and offsets are fitted in tables of at most "
            f"{MOST_CELLS:,}. Take effects: columns without an offset, or fewer or coarser columns."
        )
    complete = (codes >= 0).all(axis=1)
    if not complete.any():
        raise NoFigure("Every record lacks a cell of a quasi-identifier, so the model cannot be fitted.")
    whole = codes[complete]
    counts = _counts(whole, mass[complete], shape)
    start = np.ones(shape) if weights is None else _sampling(whole, weights[complete], shape)
    table = _fitted(counts, order, start) / start * (mass.sum() / mass[complete].sum())
    asked = codes[chosen]
    out = np.empty(len(asked))
    for blank, rows in patterns(asked < 0):
        margin = table.sum(axis=tuple(np.flatnonzero(blank)))
        out[rows] = margin[tuple(asked[rows][:, ~blank].T)]
    return out


def _counts(codes: Longs, mass: Floats, shape: tuple[int, ...]) -> Floats:
    flat = np.ravel_multi_index(tuple(codes.T), shape)
    return np.asarray(np.bincount(flat, mass, minlength=int(np.prod(shape))).reshape(shape), dtype=np.float64)


def _sampling(codes: Longs, weights: Floats, shape: tuple[int, ...]) -> Floats:
    """Sampling fractions of the cells: records over the sum of their weights; an empty cell has the table's."""
    records, people = _counts(codes, np.ones(len(codes)), shape), _counts(codes, weights, shape)
    fractions = np.full(shape, len(codes) / weights.sum())
    np.divide(records, people, out=fractions, where=people > 0)
    return fractions


def _fitted(counts: Floats, order: int, start: Floats) -> Floats:
    """Iterative proportional fitting (Deming & Stephan 1940) of the margins of all sets of so many axes.

    `start`: exponential of the model's offset.
    """
    axes = range(counts.ndim)
    others = [tuple(a for a in axes if a not in kept) for kept in combinations(axes, min(order, counts.ndim))]
    margins = [counts.sum(axis=rest, keepdims=True) for rest in others]
    table: Floats = start * (counts.sum() / start.sum())
    for _ in range(ROUNDS):
        worst = 0.0
        for rest, margin in zip(others, margins):
            present = table.sum(axis=rest, keepdims=True)
            worst = max(worst, float(np.abs(present - margin).max()))
            table *= np.divide(margin, present, out=np.zeros_like(margin), where=present > 0)
        if worst <= CLOSE * counts.sum():
            break
    return table
