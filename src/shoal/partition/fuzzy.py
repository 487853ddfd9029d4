"""Base of the two fuzzy partitions: their parameters, fitting centres, drawing them, and the way back to columns."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.constraints import Constraints
from shoal.constraints.projection import System, nearest
from shoal.kernels import linear
from shoal.kernels.arrays import Rule
from shoal.kernels.elementary import log
from shoal.kernels.partition import (
    COINCIDENT,
    bounded_assignment,
    fuzzy_draw,
    fuzzy_fill,
    fuzzy_memberships,
    fuzzy_step,
    principal_blocks,
)
from shoal.partition.base import Partitioner
from shoal.table.group_models import Centres
from shoal.table.prelude import Floats, Generator, Ints, Partition, Progress, Records, Variable, ints, seed_of
from shoal.table.standardisation import standardiser
from shoal.vocabulary.errors import ConstraintError, ParameterError
from shoal.vocabulary.prelude import Count, Fact, Figure, Ge, Gt, HoldsCells, OfOriginal, Setting, family

SHORT_RUN = 10
"""Steps that every start gets before the best one goes on."""

FARTHEST: dict[Rule, float] = {"power": 4.0, "entropy": 1.0}
"""Longest first extrapolation, in steps; one that was cut there and kept allows the next to be as many times longer.

Under the entropy rule nothing is extrapolated: on 40 tables the groups drawn then lost .6 % more, for all that the
objective was lower.
"""

ALL_CENTRES = 100
"""Up to so many centres every record moves them all."""

NEAR, FIRST_NEAR = 1e-6, 1e-3
"""Beyond, a record moves no centre whose weight is below this share of its nearest one's: in the last tenth of the
steps, and before.

The centres come to rest where all weights would have them, within a hundred-millionth of the objective.
"""

TOGETHER = 4
"""Points of a block whose records, or centres, follow one another."""

BLOCK = 64
"""Records that are looked at together when starting centres are drawn."""

SAMPLE = 20
"""Starting centres are drawn among so many records a centre."""

OFF_RECORD = 0.01
"""By which share of the way to the mean starting centres leave the records they were drawn from."""

EXACT_DRAW = 4_000_000
"""Up to so many pairs of record and centre (32 MB) the balanced draw is solved exactly."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """Centres of shape (c, d) in standardised columns, and how they were reached."""

    centres: Floats
    objective: float
    steps: int
    converged: bool


@dataclass(frozen=True, kw_only=True)
class SearchEffort:
    """Length and number of the searches for a clustering."""

    starts: int
    tolerance: float
    most_steps: int
    least: float = 0.0  # Weights below this share of the nearest centre's are left out of a step


@family
class FuzzyPartitioner(Partitioner):
    """Fits c centres and lets every record draw one of them; subclasses say by which memberships.

    Parameters
    ----------
    k
        Smallest size of a group. Unless `c` is given the number of centres is n / k, or with a balanced draw half
        as many, so that a group can hold more than k where records are dense.
    c
        Number of centres.
    balanced
        Draw so that every group has k records at least; needs k. Without it sizes are k only on average,
        and only where memberships are far from crisp.
    constraints
        Linear rules over the columns that are grouped by, such as "net + tax == gross" or "tax >= 0".
    starts
        Number of starts; each gets a short run, the best goes on.
    tolerance
        The search ends when no coordinate of a centre moves by more than this, in standardised units.
    most_steps
        The search ends after so many steps at the latest.
    """

    by_household = False
    by_known_columns = True
    rule: ClassVar[Rule]

    k: Annotated[int, Ge(1)] | None = None
    c: Annotated[int, Ge(1)] | None = None
    balanced: bool = True
    constraints: Annotated[tuple[str, ...], HoldsCells()] = ()
    starts: Annotated[int, Ge(1)] = 3
    tolerance: Annotated[float, Gt(0), Setting()] = 1e-6
    most_steps: Annotated[int, Ge(1)] = 300

    @property
    @abstractmethod
    def rule_parameters(self) -> tuple[float, float]:
        """The rule's parameter in the clustering, and in the draw."""

    @property
    def smallest(self) -> int:
        return self.k if self.balanced and self.k is not None else 1

    def assign(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress) -> Partition:
        x, count = records.matrix(columns), self._number_of_centres(len(records))
        rules, system = system_of(self.constraints, records, columns)
        search = SearchEffort(starts=self.starts, tolerance=self.tolerance, most_steps=self.most_steps)
        in_clustering, in_draw = self.rule_parameters
        fitted = fit(x, count, self.rule, in_clustering, system, search, rng, progress)
        least = self.k if self.balanced and self.k is not None else 0
        labels, expected, kind = draw(x, fitted.centres, self.rule, in_draw, least, rng)
        sizes = np.bincount(labels, minlength=count)
        facts: dict[str, Fact] = {
            "centres": Count(n=count, unit="centres"),
            "objective": Figure(value=fitted.objective),
            "steps": Count(n=fitted.steps, unit="steps"),
            "converged": OfOriginal(fitted.converged),
            "draw": OfOriginal(kind),
            "expected sizes": OfOriginal(np.round(expected, 3).tolist()),
            "realised sizes": OfOriginal(sizes.tolist()),
            "centres nobody drew": Count(n=int((sizes == 0).sum()), unit="centres"),
            "constraints": OfOriginal([rule.text for rule in rules.rules]),  # a bound in a rule may be a cell
        }
        if self.k is not None:
            facts["groups smaller than k"] = Count(n=int(((sizes > 0) & (sizes < self.k)).sum()), unit="groups")
        drawn = sizes > 0
        centres = Centres(columns=in_columns(records, columns, fitted.centres[drawn], rules))
        return Partition(labels=(np.cumsum(drawn) - 1)[labels], facts=facts, model=centres)

    def _number_of_centres(self, n: int) -> int:
        """c as given, or n / k rounded down, halved for a balanced draw; refused where the groups cannot be filled."""
        if self.c is None and self.k is None:
            raise ParameterError("Give k, the smallest size of a group, or c, the number of centres, or both.")
        count = self.c or max(1, n // (int(self.k or 1) * (2 if self.balanced else 1)))
        if count > n:
            raise ParameterError(f"c must be an integer in [1, {n}] (the table has {n} records); got {count}. Lower c.")
        if self.balanced and self.k is not None and count * self.k > n:
            raise ParameterError(
                f"{count} groups of {self.k} records need {count * self.k:,} records; the table has {n:,}. "
                f"Lower c or k, or set balanced: false."
            )
        return count


def fit(
    x: Floats,
    c: int,
    rule: Rule,
    parameter: float,
    system: System,
    search: SearchEffort,
    rng: Generator,
    progress: Progress,
) -> Fit:
    """Alternate memberships and constrained centres to convergence, from several starts.

    Every start gets a short run; the best of them goes on until no coordinate of a centre moves by more than the
    tolerance. The weighted means are the best unconstrained centres, and because a centre's coordinates all have
    the same weights, the best constrained ones are the nearest points to them that satisfy the system.
    """
    stages, local = _stages(search, c), c > ALL_CENTRES
    points = _beside_neighbours(x) if local else x
    runs = []
    for number in range(search.starts):
        start = _spread_out(points, c, rng)
        start = _onto(_beside_neighbours(start) if local else start, system)
        runs.append(_alternate(points, start, rule, parameter, system, replace(stages[0], most_steps=SHORT_RUN), None))
        if progress is not None:
            progress(0.3 * (number + 1) / search.starts)
    best = min(runs, key=lambda run: run.objective)
    for stage in stages[1:] if best.converged else stages:
        report = progress if stage is stages[0] else None
        following = _alternate(points, best.centres, rule, parameter, system, stage, report)
        best = replace(following, steps=best.steps + following.steps)
    return replace(best, objective=fuzzy_step(x, best.centres, rule, parameter)[1])


def _stages(search: SearchEffort, c: int) -> list[SearchEffort]:
    """The search as it is, or with many centres first with the nearest ones alone."""
    if c <= ALL_CENTRES:
        return [search]
    last = -(-search.most_steps // 10)
    first = replace(search, least=FIRST_NEAR, most_steps=search.most_steps - last)
    return [first, replace(search, least=NEAR, most_steps=last)]


def _beside_neighbours(x: Floats) -> Floats:
    """Points (n, d) in an order in which those near each other follow one another."""
    return np.asarray(x[np.argsort(principal_blocks(x, TOGETHER), kind="stable")])


def _spread_out(x: Floats, c: int, rng: Generator) -> Floats:
    """Starting centres by k-means++ (Arthur & Vassilvitskii 2007) on a sample, a little towards the mean.

    A centre on a record has all of its membership, and for a large m would never leave it.
    """
    pool = x[rng.choice(len(x), min(len(x), SAMPLE * c), replace=False)] if len(x) > SAMPLE * c else x
    count = -(-len(pool) // BLOCK)
    blocks = np.resize(pool, (count * BLOCK, x.shape[1])).reshape(count, BLOCK, -1)  # the last filled up
    low, high = blocks.min(axis=1), blocks.max(axis=1)
    chosen = np.empty((c, x.shape[1]))
    chosen[0] = pool[rng.integers(len(pool))]
    far = ((blocks - chosen[0]) ** 2).sum(axis=2)
    far[-1, len(pool) - (count - 1) * BLOCK :] = 0.0
    farthest, sums = far.max(axis=1), far.sum(axis=1)
    for j in range(1, c):
        reach = np.cumsum(sums)
        if reach[-1] > 0:
            mark = rng.random() * reach[-1]
            block = min(int(np.searchsorted(reach, mark, side="right")), int(np.flatnonzero(sums)[-1]))
            within = np.cumsum(far[block])
            left = min(mark - (reach[block - 1] if block else 0.0), np.nextafter(within[-1], 0.0))
            chosen[j] = blocks[block, np.searchsorted(within, left, side="right")]
        else:
            chosen[j] = pool[rng.integers(len(pool))]
        gaps = (np.maximum(np.maximum(low - chosen[j], chosen[j] - high), 0.0) ** 2).sum(axis=1)
        near = np.flatnonzero(gaps < farthest)
        far[near] = np.minimum(far[near], ((blocks[near] - chosen[j]) ** 2).sum(axis=2))
        farthest[near], sums[near] = far[near].max(axis=1), far[near].sum(axis=1)
    return np.asarray(chosen + OFF_RECORD * (x.mean(axis=0) - chosen))


def _onto(centres: Floats, system: System) -> Floats:
    moved, feasible = nearest(centres, system, np.ones(centres.shape[1]))
    if not feasible.all():
        raise ConstraintError("No centre satisfies all constraints of the method. Change or drop one of them.")
    return moved


def _alternate(
    x: Floats, centres: Floats, rule: Rule, parameter: float, system: System, search: SearchEffort, progress: Progress
) -> Fit:
    """Move centres to where their memberships want them until none moves by more than the tolerance.

    From two steps the third is extrapolated (Varadhan & Roland 2008, step length S3), and kept where the objective is
    no higher than after them.
    """
    steps = 0

    def moved(centres: Floats) -> tuple[Floats, float]:
        """Where the centres go, and the objective as they are."""
        nonlocal steps
        means, objective = fuzzy_step(x, centres, rule, parameter, least=search.least)
        steps += 1
        if progress is not None:
            progress(0.3 + 0.6 * min(1.0, steps / search.most_steps))
        return _onto(means, system), objective

    def at_rest(before: Floats, after: Floats) -> bool:
        return bool(np.abs(after - before).max(initial=0.0) <= search.tolerance)

    first, _ = moved(centres)
    reach = longest = FARTHEST[rule]
    while steps < search.most_steps and not at_rest(centres, first):
        second, objective = moved(first)
        length = min(reach, _step_length(first - centres, second - first))
        ahead = centres + 2 * length * (first - centres) + length**2 * ((second - first) - (first - centres))
        centres, first = first, second
        if steps == search.most_steps or length <= 1 or at_rest(centres, first):
            continue
        ahead = _onto(ahead, system)
        beyond, objective_ahead = moved(ahead)
        if objective_ahead <= objective:
            centres, first = ahead, beyond
            reach *= longest if length == reach else 1
        else:
            reach = max(1.0, reach / longest)
    _, objective = fuzzy_step(x, first, rule, parameter, least=search.least)
    return Fit(centres=first, objective=objective, steps=steps, converged=at_rest(centres, first))


def _step_length(step: Floats, following: Floats) -> float:
    """1 where steps do not become shorter; the longer, the more slowly they do."""
    change = float(((following - step) ** 2).sum())
    return max(1.0, float(np.sqrt(float((step**2).sum()) / max(change, np.finfo(float).tiny))))


def draw(
    x: Floats, centres: Floats, rule: Rule, parameter: float, least: int, rng: Generator
) -> tuple[Ints, Floats, str]:
    """A centre for each record by its memberships, every centre drawn at least `least` times.

    Drawing i with probability u_i is the same as taking the greatest log(u_i) + g_i, g_i independent
    standard Gumbel variables (Gumbel 1954). So with bounds on the sizes the assignment with the greatest
    sum of log(u_i) + g_i is taken: where no bound binds it is the plain draw. Very large tables draw plainly, and
    short groups then take the records that lose least membership.

    Returns labels of shape (n,), expected sizes of a plain draw of shape (c,), and the kind of draw.
    """
    if least and len(x) * len(centres) <= EXACT_DRAW:
        noise = rng.gumbel(size=(len(x), len(centres)))
        labels = bounded_assignment(log_memberships(x, centres, rule, parameter) + noise, least)
        return labels, fuzzy_memberships(x, centres, rule, parameter).sum(axis=0), "balanced, exact"
    labels, expected = fuzzy_draw(x, centres, rule, parameter, seed_of(rng))
    if least:
        return fuzzy_fill(x, centres, rule, parameter, labels, least), expected, "balanced, short groups filled up"
    return labels, expected, "plain"


def log_memberships(x: Floats, centres: Floats, rule: Rule, parameter: float) -> Floats:
    """Shape (n, c); log of the memberships, but for a constant a record."""
    squares = np.zeros((len(x), len(centres)))
    for j in range(x.shape[1]):
        squares += (x[:, j : j + 1] - centres[:, j]) ** 2
    if rule == "entropy":
        return -parameter * squares
    return np.asarray(-log(np.maximum(squares, COINCIDENT)) / (parameter - 1.0))


def in_columns(records: Records, names: Sequence[str], centres: Floats, rules: Constraints) -> dict[str, NDArray[Any]]:
    """Centres in the columns' own units: values, and the nearest categories."""
    columns: dict[str, NDArray[Any]] = {}
    start = 0
    for name in names:
        variable = records[name]
        block = centres[:, start : start + variable.width]
        columns[name] = _values(variable, block[:, 0]) if variable.continuous else _categories(variable, block)
        start += variable.width
    bound = [name for name in rules.domain.continuous if name in columns]
    if bound:
        exact = rules.settle(np.column_stack([columns[name] for name in bound]))
        columns |= {name: exact[:, j] for j, name in enumerate(bound)}
    return columns


def _values(variable: Variable, z: Floats) -> Floats:
    """The inverse of the standardisation, which is monotone and piecewise linear at worst."""
    knots = np.unique(variable.values)
    if len(knots) == 1:
        return np.full(len(z), knots[0]) + z
    if variable.scale != "rank":
        knots = knots[[0, -1]]
    heights = standardiser(variable.values, variable.scale)(knots) * np.sqrt(variable.weight)
    if variable.scale == "rank":
        return np.asarray(np.interp(z, heights, knots))
    share = (z - heights[0]) / (heights[1] - heights[0])
    return np.asarray(knots[0] * (1.0 - share) + knots[1] * share)


def _categories(variable: Variable, block: Floats) -> Ints:
    points = variable.with_values(np.arange(len(variable.categories))).embedded()
    return ints(((block[:, None, :] - points[None, :, :]) ** 2).sum(axis=2).argmin(axis=1))


def system_of(constraints: Sequence[str], records: Records, columns: Sequence[str]) -> tuple[Constraints, System]:
    """The method's own constraints, over the coordinates in which it clusters."""
    rules = Constraints.parse(constraints, records)
    names = [name for name in columns if records[name].continuous]
    if ranked := [name for name in rules.domain.continuous if name in names and records[name].scale == "rank"]:
        raise ConstraintError(
            f"Column '{ranked[0]}' is standardised by ranks, in which no rule is linear. Choose another scale."
        )
    inner = rules.linear(names)
    ends = np.cumsum([records[name].width for name in columns])
    spread = np.zeros((len(names), int(ends.max(initial=0))))
    spread[np.arange(len(names)), [end - 1 for name, end in zip(columns, ends) if name in names]] = 1.0
    return rules, System(
        linear.product(inner.equalities, spread),
        inner.equal_to,
        linear.product(inner.inequalities, spread),
        inner.at_most,
    )
