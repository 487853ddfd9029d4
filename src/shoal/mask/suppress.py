"""Local suppression: the fewest weighted cells after which every record shares its keys with k."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Le
from typing_extensions import TypedDict

from shoal.data.dependencies import Dependencies
from shoal.data.partition import Progress
from shoal.data.records import MissingCells, Records
from shoal.errors import ParameterError, Refused, plural
from shoal.facts import ByColumn, Count, Figure, OfOriginal
from shoal.kernels.arrays import Bools, Floats, Ints
from shoal.kernels.suppression import suppress, wildcard_counts
from shoal.mask._suppression.exact import optimum
from shoal.mask._suppression.given_away import blank_sources, cells_a_blank
from shoal.mask._suppression.patterns import lone_sets, pattern_groups
from shoal.mask._suppression.people import Prices
from shoal.mask._suppression.required import Asked, Operations, check_reading
from shoal.mask._suppression.task import Task, blanked_altogether, distinct_rows, rows_of_classes, without_cells
from shoal.mask.base import Mask
from shoal.methods import Scales, method
from shoal.parameters import Columns, Setting
from shoal.privacy.gate import Required
from shoal.step_result import StepResult

WORK_FIRST, WORK_ALWAYS, WORK_TURN = 5e4, 2e3, 2e7
"""Refinement at effort 1, in rows touched for each record at risk: the first figure until the third is spent in
all, and the second throughout. On testdata (sdcMicro's household survey) the refined solution is then within
4 per cent of the proved optimum."""


STARTS = 30
"""Greedy collections under `equal` at effort 1, for tables that are not too large."""


class Subset(TypedDict):
    """Some of the keys with a k of their own."""

    columns: tuple[str, ...]
    k: int


@method(
    "suppress",
    title="Local suppression",
    source="Hundepool et al. (2012), section 3.2.4",
    example={"k": 3},
    example_columns=("age", "sex"),
)
class Suppress(Mask):
    """Blanks cells of the keys until every record shares its keys with at least k records.

    The keys are the step's columns. The fewest cells are sought, each weighted by its column's importance.
    With strata, records are compared inside their stratum. Cells that the rest of the table would give away are
    blanked with what gives them away: a column that is the same throughout households by household, a key that another
    key determines together with that one.

    Parameters
    ----------
    k
        Records that must share the keys.
    subsets
        Instead of one k for all keys: `[{columns: [...], k: 3}, ...]`, each to be reached.
    importance
        Weight of a suppressed cell by column; 1 where not named.
    keep
        Columns that count as keys but lose no cell.
    limits
        Largest share of a column's cells that may be suppressed, by column.
    missing
        What a missing cell is taken to match, here and in the requirement that proves the result:
        `wildcard`, everything, on either side; `nothing`, so that a record with missing cells counts for no
        other; or `equal`, another missing cell only, so that the result has equivalence classes of k.
    sacrifice
        For `wildcard`: whether a record may lose cells that others need and it does not. If not (default), a
        record loses a set of cells only if it is at risk and no smaller part of the set would make it safe.
    search
        `greedy`; `refined` (greedy, then repeated repair); or `optimal`, by integer programming, for small
        tables.
    effort
        For `refined`: how long, in multiples of the usual.
    requirements
        What must hold on the step's columns beside k, as in `[{method: k-map, k: 5, population: people.csv,
        missing: wildcard}]`; also a measure with a bound, as in `[{risk: population-uniques, at most: 0.05}]`.

    Notes
    -----
    With `sacrifice` the fewest cells under `wildcard` are often k - 1 records blanked altogether, which then
    match everyone. The count is right and the protection is nominal; that is why it is not the default.

    Subsets are treated one after the other, the largest first, and all of them hold at the end or the step is
    refused. Under `wildcard`, suppression only ever adds matching pairs, so that they stay satisfied; otherwise
    those that a later one has broken are treated again.

    Under `nothing` the cheapest set of each record is found on its own, and the result is optimal. Under
    `equal`, records at risk are collected into common patterns from several starts; on small dense tables that
    is about a tenth above the optimum.

    For `k-map` each class of records loses the cheapest cells after which it may be of k people. For `delta-presence`
    cells are blanked one person at a time, the one farthest outside the bounds first. Every other requirement is met
    by the least k that does, of which only the records that gain most for their cells are treated; it reads missing
    cells as the requirement says, or else as the step does.
    """

    scales: ClassVar[Scales] = "memory"

    k: Annotated[int, Ge(1)] | None = None
    subsets: Annotated[tuple[Subset, ...] | None, Setting()] = None
    importance: Annotated[dict[str, Annotated[float, Gt(0)]] | None, Setting()] = None
    keep: Annotated[tuple[str, ...], Columns()] = ()
    limits: Annotated[dict[str, Annotated[float, Ge(0), Le(1)]] | None, Setting()] = None
    missing: MissingCells = "wildcard"
    sacrifice: bool = False
    search: Literal["greedy", "refined", "optimal"] = "refined"
    effort: Annotated[float, Gt(0), Setting()] = 1.0
    requirements: tuple[Required, ...] = ()

    def __post_init__(self) -> None:
        if (self.k is None) == (self.subsets is None) and (self.k is not None or not self.requirements):
            raise ParameterError(
                "suppress needs one of the parameters 'k' and 'subsets', or requirements; give exactly one of the two, "
                "or none beside requirements."
            )
        for model in self.requirements:
            check_reading(model)
        if any(subset["k"] < 1 or not subset["columns"] for subset in self.subsets or ()):
            raise ParameterError("suppress: each of subsets needs columns and a k of at least 1.")
        if self.sacrifice and self.missing != "wildcard":
            raise ParameterError(f"suppress: sacrifice is for missing: wildcard; missing is {self.missing}.")

    def apply(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
    ) -> StepResult:
        keys = tuple(columns)
        self._check_names(keys)
        fixed = tuple(name for name in records.names("stratum") if name not in keys)
        before = np.zeros((len(records), 0), dtype=np.int32)
        if keys:
            before = np.column_stack([records[name].codes() for name in (*keys, *fixed)])
        codes = before.copy()
        subsets = [Subset(columns=keys, k=self.k)] if self.k is not None else list(self.subsets or ())
        together = cells_a_blank(records, keys)
        ordered = sorted(subsets, key=lambda s: -len(s["columns"]))
        searches = {
            f"k = {subset['k']} on {', '.join(subset['columns'])}": self._reach(
                codes, before, subset, keys, fixed, rng, progress, together
            )
            for subset in ordered
            if len(records)
        }
        self._mend(codes, before, ordered, keys, fixed, rng, progress)
        self._guard(records, codes, before, ordered, keys, fixed, rng, progress)
        if self.requirements and len(records):
            searches |= self._require(records, codes, before, ordered, keys, fixed, rng, progress)
        blank = (codes < 0) & (before >= 0)
        for subset in subsets:
            self._prove(codes, subset, keys, fixed)
        self._check_limits(blank, keys)
        facts = {
            "cells suppressed": Count(n=int(blank.sum()), unit="cells"),
            "by column": ByColumn({n: Count(n=int(blank[:, j].sum()), unit="cells") for j, n in enumerate(keys)}),
            "weighted cells": Figure(value=float((blank[:, : len(keys)].sum(axis=0) * self._costs(keys)).sum())),
            "records touched": Count(n=int(blank.any(axis=1).sum())),
            "searches": OfOriginal(searches),
        }
        return StepResult(records=without_cells(records, keys, blank), facts=facts)

    def _check_names(self, keys: Sequence[str]) -> None:
        named = {
            "importance": self.importance or (),
            "keep": self.keep,
            "limits": self.limits or (),
            "subsets": [name for subset in self.subsets or () for name in subset["columns"]],
        }
        for parameter, names in named.items():
            if stray := [name for name in names if name not in keys]:
                raise ParameterError(
                    f"suppress: {parameter} names '{stray[0]}', which is not one of the step's columns. "
                    f"Add it to the columns, or leave it out."
                )

    def _costs(self, keys: Sequence[str]) -> Floats:
        return np.array([(self.importance or {}).get(name, 1.0) for name in keys])

    def _reach(
        self,
        codes: Ints,
        before: Ints,
        subset: Subset,
        keys: Sequence[str],
        fixed: Sequence[str],
        rng: np.random.Generator,
        progress: Progress,
        together: Mapping[str, float] = MappingProxyType({}),
    ) -> dict[str, Any]:
        """Blank cells in `codes` until a set of keys reaches its k; what there is to tell about it."""
        n, k = len(codes), subset["k"]
        if k > n:
            raise ParameterError(f"suppress: k must be at most {n:,}, the number of records; got {k:,}.")
        chosen = _places(subset, keys, fixed)
        prices = self._prices(codes, before, subset["columns"], chosen, together)
        task = Task(codes=np.ascontiguousarray(codes[:, chosen]), k=k, cost=prices.cost, allowance=prices.allowance)
        rows, blanks, note = self._solve(task, rng, progress)
        for row, blank in zip(rows, blanks):
            codes[row, [chosen[j] for j in blank]] = -1
        return note

    def _prices(
        self, codes: Ints, before: Ints, names: Sequence[str], places: Sequence[int], together: Mapping[str, float]
    ) -> Prices:
        """What cells of some columns of `codes` cost, and how many may still be blanked; none beyond the names."""
        cost, allowance = np.full(len(places), np.inf), np.zeros(len(places), dtype=np.int64)
        for place, name in enumerate(names):
            if name in self.keep:
                continue
            cost[place] = (self.importance or {}).get(name, 1.0) * together.get(name, 1.0)
            share = (self.limits or {}).get(name, 1.0)
            blanked = int(((codes[:, places[place]] < 0) & (before[:, places[place]] >= 0)).sum())
            allowance[place] = int(share * len(codes) * (1 + 1e-12)) - blanked
        return Prices(cost=cost, allowance=allowance)

    def _solve(
        self, task: Task, rng: np.random.Generator, progress: Progress
    ) -> tuple[list[int], list[tuple[int, ...]], dict[str, Any]]:
        if self.search == "optimal":
            return optimum(task, self.missing, self.sacrifice, rng)
        if self.missing == "nothing":
            return (*lone_sets(task), {"optimal": self.limits is None})
        if self.missing == "equal":
            spare = WORK_TURN / task.codes.size / 100
            starts = 1 if self.search == "greedy" else 2 + int(self.effort * min(STARTS, spare))
            return (*pattern_groups(task, rng, starts=starts), {"optimal": False, "starts": starts})
        table, ids, counts = distinct_rows(task.codes)
        base = wildcard_counts(table, counts)
        at_risk = int(counts[base < task.k].sum())
        work = 0.0 if self.search == "greedy" else self.effort * _usual_work(at_risk)
        solution = suppress(
            table,
            counts,
            base,
            task.k,
            task.cost,
            allowance=task.allowance,
            sacrifice=self.sacrifice,
            work=work,
            rng=rng,
            progress=progress,
        )
        if not solution.served:
            raise Refused(
                f"suppress: {plural(at_risk, 'record')} at risk cannot all reach k = {task.k} within the limits and "
                f"the columns to keep. Raise the limits, free a column, or recode first."
            )
        whole = blanked_altogether(task) if self.sacrifice else None
        if whole is not None and whole[2] < solution.last:
            return *whole[:2], {
                "records at risk": at_risk,
                "cost of the greedy solution": solution.first,
                "cost": whole[2],
            }
        rows = rows_of_classes(ids, solution.rows, rng)
        sets = [tuple(j for j in range(len(task.cost)) if blank >> j & 1) for blank in solution.blanks.tolist()]
        note = {"records at risk": at_risk, "cost of the greedy solution": solution.first, "cost": solution.last}
        return rows.tolist(), sets, note

    def _mend(
        self,
        codes: Ints,
        before: Ints,
        subsets: Sequence[Subset],
        keys: Sequence[str],
        fixed: Sequence[str],
        rng: np.random.Generator,
        progress: Progress,
    ) -> None:
        """Treat again the subsets that cells blanked for later ones have broken, until none is broken.

        Cells are only ever blanked, so this ends; what then still fails is refused by the proof.
        """
        blanked = -1
        while (codes < 0).sum() > blanked and any(self._short(codes, s, keys, fixed) for s in subsets):
            blanked = int((codes < 0).sum())
            for subset in subsets:
                if self._short(codes, subset, keys, fixed):
                    self._reach(codes, before, subset, keys, fixed, rng, progress)

    def _guard(
        self,
        records: Records,
        codes: Ints,
        before: Ints,
        subsets: Sequence[Subset],
        keys: Sequence[str],
        fixed: Sequence[str],
        rng: np.random.Generator,
        progress: Progress,
    ) -> None:
        """Blank what gives blanked cells away, until the keys reach their k though all is filled in that can be.

        Cells are only ever blanked, so this ends.
        """
        blanked = -1
        while len(codes) and (codes < 0).sum() > blanked:
            blanked = int((codes < 0).sum())
            completion = Dependencies(without_cells(records, keys, (codes < 0) & (before >= 0))).completed()
            filled = np.column_stack([completion.records[name].codes() for name in (*keys, *fixed)]) if keys else codes
            if not completion.cells or not any(self._short(filled, subset, keys, fixed) for subset in subsets):
                return
            blank_sources(codes, records, completion, keys, self.keep)
            self._mend(codes, before, subsets, keys, fixed, rng, progress)

    def _require(
        self,
        records: Records,
        codes: Ints,
        before: Ints,
        subsets: Sequence[Subset],
        keys: Sequence[str],
        fixed: Sequence[str],
        rng: np.random.Generator,
        progress: Progress,
    ) -> dict[str, Any]:
        """Blank cells in `codes` until the requirements hold too; what there is to tell about it.

        Cells are only ever blanked, so this ends.
        """
        asked = Asked(models=self.requirements, before=records, keys=tuple(keys), missing=self.missing)
        together, blanked, notes = cells_a_blank(records, keys), -1, dict[str, Any]()
        solve = partial(self._operations, rng=rng, progress=progress)
        while failing := asked.unmet(released := self._released(records, codes, before, keys), filled_in=True):
            if (codes < 0).sum() == blanked:
                raise Refused(
                    f"suppress: no cells were found without which {failing[0][1].requirement} holds, within the limits "
                    f"and the columns to keep. Raise the limits, free a column, recode first, or require less."
                )
            blanked = int((codes < 0).sum())
            prices = self._prices(codes, before, keys, range(len(keys)), together)
            for model, _ in asked.unmet(released, filled_in=False):
                released = self._released(records, codes, before, keys)
                notes |= asked.blank(model, released, codes, prices, solve)
            if (codes < 0).sum() == blanked:  # as the cells stand they hold, and not once the release is filled in
                blank_sources(codes, records, Dependencies(released).completed(), keys, self.keep)
            self._mend(codes, before, subsets, keys, fixed, rng, progress)
            self._guard(records, codes, before, subsets, keys, fixed, rng, progress)
        return notes

    def _operations(
        self, task: Task, reading: MissingCells, rng: np.random.Generator, progress: Progress
    ) -> Operations:
        """What to blank for a set of keys, were missing cells read as told."""
        search: Any = "refined" if self.search == "optimal" else self.search
        rows, blanks, _ = replace(self, missing=reading, search=search, sacrifice=False)._solve(task, rng, progress)
        return list(zip(rows, blanks))

    def _released(self, records: Records, codes: Ints, before: Ints, keys: Sequence[str]) -> Records:
        return without_cells(records, keys, (codes < 0) & (before >= 0))

    def _check_limits(self, blank: Bools, keys: Sequence[str]) -> None:
        for name, share in (self.limits or {}).items():
            if int(blank[:, keys.index(name)].sum()) > share * len(blank) * (1 + 1e-12):
                raise Refused(
                    f"suppress: more cells of '{name}' than its limit allows must be blanked so that others do not "
                    f"give them away. Raise the limit, or recode first."
                )

    def _prove(self, codes: Ints, subset: Subset, keys: Sequence[str], fixed: Sequence[str]) -> None:
        if (short := self._short(codes, subset, keys, fixed)) > 0:
            raise Refused(
                f"suppress: {plural(short, 'record')} cannot reach k = {subset['k']} within the limits and the "
                f"columns to keep. Raise the limits, free a column, or recode first."
            )

    def _short(self, codes: Ints, subset: Subset, keys: Sequence[str], fixed: Sequence[str]) -> int:
        """The number of records that do not share a subset with its k."""
        if not len(codes):
            return 0
        table, _, counts = distinct_rows(codes[:, _places(subset, keys, fixed)])
        matching = counts
        if self.missing != "equal":
            matching = wildcard_counts(table, counts, missing_counts=self.missing == "wildcard")
        return int(counts[matching < subset["k"]].sum())


def _places(subset: Subset, keys: Sequence[str], fixed: Sequence[str]) -> list[int]:
    """Where a subset's columns and those that are compared without losing cells stand in a table of codes."""
    return [keys.index(name) for name in subset["columns"]] + list(range(len(keys), len(keys) + len(fixed)))


def _usual_work(at_risk: int) -> float:
    return min(WORK_FIRST * at_risk, WORK_TURN) + WORK_ALWAYS * at_risk
