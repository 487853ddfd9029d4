"""Membership inference by shadow models: the plan carried out on tables with a person and on tables without."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from shoal.judges.density import Places
from shoal.judges.further_tables import like
from shoal.judges.membership_curve import best_attack
from shoal.judges.prelude import Bools, Finding, Floats, Generator, Longs, Records, TablePair, common, comparable
from shoal.judges.table_pair import Again
from shoal.kernels.elementary import exp, log
from shoal.risk.base import RiskMeasure
from shoal.vocabulary.prelude import (
    Columns,
    Count,
    Ge,
    Gt,
    Le,
    Nested,
    NoFigure,
    OfOriginal,
    OfPlan,
    ParameterError,
    Setting,
    TablePath,
    method,
)

FEWEST = 20
"""Records of the original and of the holdout with which there is a figure."""

PRIOR = 4.0
"""Shadows for which the mean variance of all people counts in that of a person."""

LEAST = 1e-9
"""Least variance of a logarithm of a density."""


@method(
    "shadow-models",
    title="Membership inference by shadow models",
    source="Carlini, Chien, Nasr, Song, Terzis & Tramèr (2022); Zarifzadeh, Liu & Shokri (2024)",
)
class ShadowModels(RiskMeasure):
    """Success of telling members of the original data from others by carrying the plan out again (LiRA, RMIA).

    The attacker knows the plan and people of the population. He draws tables of the original and the holdout, each of
    the people attacked being in half of them, carries the plan out on each, and looks at the density of released
    records at the person's place. Compared is how likely the density in the true release is with the person in the
    table, and without (normal laws of its logarithm; how much a person changes it is drawn towards the mean of all).
    So people are judged by what the method does with people like them, which distances and densities cannot. With few
    shadows a simpler comparison may do more: of the density in the true release with the mean of those of all shadows
    (RMIA). That a person's ratio is so many times that of others orders people as the ratio does.

    The figure is the area under the curve: the probability that a member has a higher ratio than a record of the
    holdout, ties counting one half. One half is no risk; the interval is DeLong's. The facts give the rates of true
    positives at 1 and 10 % of false ones.

    The cost is that of carrying the plan out `shadows` times, and of comparing each person with every released record
    each time; twice that where the figure is required as well. It needs the table whole, and is taken by `protect`.

    Parameters
    ----------
    holdout
        Records of the same population that were not used for the release, with all columns of the table: a path or a
        data frame. Without them there is no figure.
    columns
        What the attacker knows of a person; by default the quasi-identifiers and confidential columns.
    false_positives
        With it the figure is the share of members who are told at this rate of others taken for members (0.1 or 0.01,
        say) in place of the area.
    statistic
        The comparison by which the figure is: `likelihood` with and without the person (LiRA), or with the mean
        (`relative`, RMIA). The facts have both, of the same shadows.
    shadows
        Times that the plan is carried out, an even number. With more, less depends on chance: 16 find most, LiRA's
        authors take 128 and more.
    attacks
        So many people of the original, and of the holdout, are attacked at most, drawn at random, and as many serve to
        choose the width of the kernels.
    """

    question = "inference"
    of_made_up = True
    needs = ("holdout", "plan")

    holdout: Annotated[Any, TablePath()] = None
    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    false_positives: Annotated[float, Gt(0), Le(0.5), Setting()] | None = None
    statistic: Literal["likelihood", "relative"] = "likelihood"
    shadows: Annotated[int, Ge(4)] = 16
    attacks: Annotated[int, Ge(10)] = 500

    def __post_init__(self) -> None:
        if self.shadows % 2:
            raise ParameterError(
                f"shadow-models: shadows must be even, for each has a counterpart; got {self.shadows}."
            )

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        attacked = _Attacked.of(pair, self.columns, self.holdout, self.attacks, rng)
        inside, shadows = attacked.shadows(self.shadows, rng)
        places = Places.of(attacked.columns, *attacked.tables, pair.released, *shadows)
        members, others, *points = places.cells
        widths = places.widths(others, rng)
        people = np.hstack([members, others])
        truth, *signals = (places.log_densities(cells, people, widths) for cells in points)
        by_width = list(zip(np.stack(signals, axis=1), truth))
        scores = {
            "likelihood": np.array([_ratios(*of_width, inside) for of_width in by_width]),
            "relative": np.array([_relative(*of_width) for of_width in by_width]),
        }
        curves = {
            name: best_attack(of_all[:, : attacked.members], of_all[:, attacked.members :], rng)
            for name, of_all in scores.items()
        }
        chosen, curve = curves[self.statistic]
        (other,) = (name for name in curves if name != self.statistic)
        value, interval = curve.figure(self.false_positives)
        return self.finding(
            value,
            f"A member of the data is told from someone else by {self.shadows} shadow models "
            f"{curve.sentence(self.false_positives)}",
            interval=interval,
            facts={
                **curve.facts,
                f"by the statistic {other}": Nested(curves[other][1].facts),
                "shadow models": OfPlan(self.shadows),
                "people attacked": Count(n=len(curve.members), unit="people"),
                "others attacked": Count(n=len(curve.others), unit="people"),
                "width of the kernel": OfOriginal(float(widths[chosen])),
                "columns": OfPlan(list(attacked.columns)),
            },
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Attacked:
    """People who are attacked: some of the original, then some of the holdout; and how to draw tables with them."""

    again: Again
    holdout: Any
    columns: tuple[str, ...]
    tables: tuple[Records, Records]  # Those attacked, of the original and of the holdout
    mine: Longs  # Shape (n,); rows of the original in random order, of which the first `members` are attacked
    theirs: Longs  # Shape (m,); likewise of the holdout
    members: int
    strangers: int

    @classmethod
    def of(
        cls, pair: TablePair, columns: tuple[str, ...] | None, holdout: Any, attacks: int, rng: Generator
    ) -> "_Attacked":
        original, released = pair.before, pair.released
        others = like(original, holdout)
        names = comparable(original, released, pair.common(columns, "quasi-identifier", "confidential"))
        names = comparable(original, others, common(others, released, names))
        if not names or pair.again is None or min(len(original), len(others)) < FEWEST or not len(released):
            raise NoFigure(f"There is no common column, or one of the tables has fewer than {FEWEST} records.")
        mine, theirs = rng.permutation(len(original)), rng.permutation(len(others))
        members, strangers = min(2 * attacks, len(mine) // 2), min(2 * attacks, len(theirs))
        return cls(
            again=pair.again,
            holdout=holdout,
            columns=names,
            tables=(original.take(mine[:members]), others.take(theirs[:strangers])),
            mine=mine,
            theirs=theirs,
            members=members,
            strangers=strangers,
        )

    def shadows(self, number: int, rng: Generator) -> tuple[Bools, list[Records]]:
        """Shape (shadows, people): who is in each table that is drawn; and what is released of it.

        Every second table has those who were not in the one before.
        """
        inside = np.empty((number, self.members + self.strangers), dtype=bool)
        released = []
        for shadow in range(number):
            inside[shadow] = ~inside[shadow - 1] if shadow % 2 else rng.permutation(inside.shape[1]) % 2 == 0
            released.append(self._shadow(inside[shadow], (shadow, number), rng))
        return inside, released

    def _shadow(self, inside: Bools, course: tuple[int, int], rng: Generator) -> Records:
        """What is released of a table as long as the original, if there are so many: some who are attacked, others."""
        mine = self.mine[: self.members][inside[: self.members]]
        theirs = self.theirs[: self.strangers][inside[self.members :]]
        of_original = len(self.mine) - self.members
        pool = rng.permutation(of_original + len(self.theirs) - self.strangers)
        pool = pool[: max(len(self.mine) - len(mine) - len(theirs), 0)]
        further = self.mine[self.members + pool[pool < of_original]]
        strangers = self.theirs[self.strangers + pool[pool >= of_original] - of_original]
        rows = np.concatenate([mine, further]), np.concatenate([theirs, strangers])
        return self.again(self.holdout, *rows, int(rng.integers(2**62)), course)


def _relative(signals: Floats, truth: Floats) -> Floats:
    """Shape (people,); logarithms of the density in the true release over the mean of those of all shadows.

    Half of the shadows have the person, so that the mean is that over both worlds (Zarifzadeh, Liu & Shokri 2024, where
    a score is the share of others whose ratio is smaller: an order that the ratio itself has).
    """
    highest = signals.max(axis=0)
    return np.asarray(truth - highest - log(exp(signals - highest).mean(axis=0)))


def _ratios(signals: Floats, truth: Floats, inside: Bools) -> Floats:
    """Shape (people,); logarithms of the likelihood of being in the table over that of not being in it.

    `signals`, `inside`: shape (shadows, people), half of each person's shadows having the person; `truth`: shape
    (people,). Laws are normal with one variance for a person's signals, with and without him; variances, and
    differences of the means, are drawn towards the mean over all people as far as they are noise (empirical Bayes).
    """
    half = len(signals) / 2
    means = [np.where(mask, signals, 0.0).sum(axis=0) / half for mask in (inside, ~inside)]
    within = (np.where(inside, signals - means[0], signals - means[1]) ** 2).sum(axis=0)
    free = len(signals) - 2
    variance = np.maximum((within + PRIOR * within.mean() / free) / (free + PRIOR), LEAST)
    difference = means[0] - means[1]
    noise = 2 * variance / half
    spread = max(float(difference.var() - noise.mean()), 0.0)
    difference = difference.mean() + spread / (spread + noise) * (difference - difference.mean())
    return np.asarray(difference * (truth - (means[0] + means[1]) / 2) / variance)
