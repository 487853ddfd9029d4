"""Membership inference by shadow models: the plan carried out on tables with a person and on tables without."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from shoal.judges.density import Places
from shoal.judges.further_tables import like
from shoal.judges.membership_curve import MembershipCurve, best_attack
from shoal.judges.prelude import Bools, Finding, Floats, Generator, Longs, Records, TablePair, common, comparable
from shoal.judges.table_pair import Again
from shoal.kernels.elementary import exp, log
from shoal.kernels.logit import multinomial_logit
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

FARTHEST = 4.0
"""Standard deviations from the mean at which a signal of the ensemble is cut."""

NEAREST_ONE = -5
"""Place of the nearness to one record among the signals of the ensemble."""

FEWEST_OF_ENSEMBLE = 6
"""Shadows with which the ensemble is trained: of all but two, two with a person and two without tell of these."""


@method(
    "shadow-models",
    title="Membership inference by shadow models",
    source="Carlini, Chien, Nasr, Song, Terzis & Tramèr (2022); Zarifzadeh, Liu & Shokri (2024); "
    "Vector Institute (2025)",
)
class ShadowModels(RiskMeasure):
    """Success of telling members of the original data from others by carrying the plan out again (LiRA, RMIA).

    The attacker knows the plan and people of the population. He draws tables of the original and the holdout, each of
    the people attacked being in half of them, carries the plan out on each, and looks at the density of released
    records at the person's place. Compared is how likely the density in the true release is with the person in the
    table, and without (normal laws of its logarithm; how much a person changes it is drawn towards the mean of all).
    So people are judged by what the method does with people like them, which distances and densities cannot. With few
    shadows a simpler comparison may do more: of the density in the true release with the mean of those of all shadows
    (RMIA). That a person's ratio is so many times that of others orders people as the ratio does. The ensemble leaves
    it to a classifier what to look at: it is trained on the shadows, of which the attacker knows who is in each, with
    densities by kernels of all widths, distances to the nearest 1, 5 and 20 records, the ratio of the nearest to the
    next one and the fewest columns that differ, each against its mean and by its likelihoods over the other shadows.

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
        The comparison by which the figure is: `likelihood` with and without the person (LiRA), with the mean
        (`relative`, RMIA), or the `ensemble` of both with distances, by a logistic regression. The facts have the
        others, of the same shadows, but the ensemble only where it is asked for: its distances take as long as the
        densities.
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
    statistic: Literal["likelihood", "relative", "ensemble"] = "likelihood"
    shadows: Annotated[int, Ge(4)] = 16
    attacks: Annotated[int, Ge(10)] = 500

    def __post_init__(self) -> None:
        if self.shadows % 2:
            raise ParameterError(
                f"shadow-models: shadows must be even, for each has a counterpart; got {self.shadows}."
            )
        if self.statistic == "ensemble" and self.shadows < FEWEST_OF_ENSEMBLE:
            raise ParameterError(
                f"shadow-models: shadows must be at least {FEWEST_OF_ENSEMBLE} for the statistic ensemble, whose "
                f"classifier learns from each what the others tell of it; got {self.shadows}."
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
        chosen, curve = curves["likelihood" if self.statistic == "ensemble" else self.statistic]
        if self.statistic == "ensemble":
            near_truth, *near = (places.nearness(people, cells) for cells in points)
            all_signals = np.stack([np.vstack(both) for both in zip(signals, near)])
            score = _ensemble(all_signals, np.vstack([truth, near_truth]), inside)
            curve = MembershipCurve.of(score[: attacked.members], score[attacked.members :], rng)
        value, interval = curve.figure(self.false_positives)
        return self.finding(
            value,
            f"A member of the data is told from someone else by {self.shadows} shadow models "
            f"{curve.sentence(self.false_positives)}",
            interval=interval,
            facts={
                **curve.facts,
                **{
                    f"by the statistic {name}": Nested(other.facts)
                    for name, (_, other) in curves.items()
                    if other is not curve
                },
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


def _ensemble(signals: Floats, truth: Floats, inside: Bools) -> Floats:
    """Shape (people,); probabilities of being in the table by a classifier that was trained on the shadows.

    `signals`: shape (shadows, signals, people), those of nearness last;
    `truth`: shape (signals, people). What is seen of a shadow is compared with all others but its counterpart, so that
    each person is in half of them. Whoever is attacked is in half of the shadows whether he is a member or not: the
    classifier learns nothing of who is one.
    """
    pairs = np.arange(len(signals)).reshape(-1, 2)
    others = [np.delete(pairs, number, axis=0).ravel() for number in range(len(pairs))]
    seen = [_compared(signals[others[s // 2]], signals[s], inside[others[s // 2]]) for s in range(len(signals))]
    trained = np.concatenate(seen)
    centre, spread = trained.mean(axis=0), np.maximum(trained.std(axis=0), LEAST)

    def design(compared: Floats) -> Floats:
        cut = np.clip((compared - centre) / spread, -FARTHEST, FARTHEST)
        return np.column_stack([np.ones(len(cut)), cut])

    label = inside.ravel().astype(np.float64)
    model = multinomial_logit(design(trained), np.column_stack([1 - label, label]), np.ones(trained.shape[1] + 1))
    return np.asarray(model.probabilities(design(_compared(signals, truth, inside)))[:, 1])


def _compared(signals: Floats, seen: Floats, inside: Bools) -> Floats:
    """Shape (people, 3 signals); signals of a release against those of shadows.

    Differences from the mean, the same times how far from others a person is, and ratios of likelihoods.
    """
    mean = signals.mean(axis=0)
    alone = mean[NEAREST_ONE] - mean[NEAREST_ONE].mean()
    ratios = [_ratios(signals[:, place], seen[place], inside) for place in range(len(seen))]
    return np.vstack([seen - mean, (seen - mean) * alone, *ratios]).T
