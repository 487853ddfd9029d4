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

MOST_CELLS = 1 << 20
"""Cells of the table of all combinations, where pairs of columns are fitted."""

CONFIDENCE = 0.95

ROUNDS, CLOSE = 500, 1e-9
"""Proportional fitting ends when no margin is off by more than this share of the records, or after so many rounds."""


@method(
    "log-linear-risk",
    title="Risk of unique records by a log-linear model",
    source="Skinner & Holmes (1998); Skinner & Shlomo (2008)",
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
        fitted = _by_columns(codes, unique) if self.effects == "columns" else _by_pairs(codes, unique)
        p = sampled[unique]
        means = fitted / p if self.mean == "population" else fitted
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


def _by_columns(codes: Longs, chosen: Bools) -> Floats:
    """Fitted means of the cells of some records under independence: n times the product of their shares."""
    out = np.full(int(chosen.sum()), float(len(codes)))
    for column in codes.T:
        shares = np.bincount(column[column >= 0]) / max(1, int((column >= 0).sum()))
        out *= np.where(column[chosen] >= 0, shares[np.maximum(column[chosen], 0)], 1.0)
    return out


def _by_pairs(codes: Longs, chosen: Bools) -> Floats:
    """The same where all pairs of columns have their margins; a missing cell sums over what it may be."""
    shape = tuple(int(column.max(initial=-1)) + 1 for column in codes.T)
    if np.prod(shape, dtype=np.float64) > MOST_CELLS:
        raise NoFigure(
            f"The quasi-identifiers have {np.prod(shape, dtype=np.float64):,.0f} combinations; pairs are fitted in "
            f"tables of at most {MOST_CELLS:,}. Take effects: columns, or fewer or coarser columns."
        )
    complete = (codes >= 0).all(axis=1)
    if not complete.any():
        raise NoFigure("Every record lacks a cell of a quasi-identifier, so pairs of columns cannot be fitted.")
    table = _fitted(_counts(codes[complete], shape)) * (len(codes) / complete.sum())
    asked = codes[chosen]
    out = np.empty(len(asked))
    for blank, rows in patterns(asked < 0):
        margin = table.sum(axis=tuple(np.flatnonzero(blank)))
        out[rows] = margin[tuple(asked[rows][:, ~blank].T)]
    return out


def _counts(codes: Longs, shape: tuple[int, ...]) -> Floats:
    flat = np.ravel_multi_index(tuple(codes.T), shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)


def _fitted(counts: Floats) -> Floats:
    """Iterative proportional fitting (Deming & Stephan 1940) of the margins of all pairs of axes."""
    axes = range(counts.ndim)
    pairs: list[tuple[int, ...]] = [*combinations(axes, 2)] or [(0,)]
    others = [tuple(a for a in axes if a not in pair) for pair in pairs]
    margins = [counts.sum(axis=rest, keepdims=True) for rest in others]
    table = np.full(counts.shape, counts.sum() / counts.size)
    for _ in range(ROUNDS):
        worst = 0.0
        for rest, margin in zip(others, margins):
            present = table.sum(axis=rest, keepdims=True)
            worst = max(worst, float(np.abs(present - margin).max()))
            table *= np.divide(margin, present, out=np.zeros_like(margin), where=present > 0)
        if worst <= CLOSE * counts.sum():
            break
    return table
