"""The search for few cells to blank, on the distinct rows of the keys with how many records have each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal, TypeVar

import numpy as np
from typing_extensions import TypedDict

from shoal.kernels.suppression import suppress, wildcard_counts
from shoal.mask._suppression.exact import optimum
from shoal.mask._suppression.patterns import enough, lone_sets, pattern_groups
from shoal.mask._suppression.people import Prices
from shoal.mask._suppression.state import State
from shoal.mask._suppression.task import Losses, SuppressionTask, different_places, distinct_rows
from shoal.table.prelude import Floats, Generator, Ints, Longs, MissingCells, Progress, Records, seed_of
from shoal.vocabulary.errors import ParameterError, Refused, plural
from shoal.vocabulary.facts import ByLabel

WORK_FIRST, WORK_ALWAYS, WORK_TURN = 5e4, 2e3, 2e7
"""Refinement at effort 1, in rows touched for each record at risk: the first figure until the third is spent in
all, and the second throughout. On testdata (sdcMicro's household survey) the refined solution is then within
4 per cent of the proved optimum."""

STARTS = 30
"""Greedy collections under `equal` at effort 1, for tables that are not too large."""

How = Literal["greedy", "refined", "optimal"]


Result = TypeVar("Result")


class Subset(TypedDict):
    """Some of the keys with a k of their own."""

    columns: tuple[str, ...]
    k: int


@dataclass(frozen=True, kw_only=True, eq=False)
class SuppressionSearch:
    """A search for few cells to blank; its parameters are those of `Suppress`."""

    # keys, fixed: the columns of a table of codes: those that may lose cells, and those that are compared only
    keys: Sequence[str]
    fixed: Sequence[str]
    subsets: Sequence[Subset]  # Each to reach its k
    importance: Mapping[str, float]
    keep: Sequence[str]
    limits: Mapping[str, float]
    missing: MissingCells
    sacrifice: bool
    how: How
    effort: float
    rng: Generator
    progress: Progress = None  # Called with the fraction of each search that is done

    def codes_of(self, records: Records) -> Ints:
        """Shape (n, q); the codes of the keys, and of what is compared with them."""
        if not self.keys:
            return np.zeros((len(records), 0), dtype=np.int32)
        return np.column_stack([records[name].codes() for name in (*self.keys, *self.fixed)])

    @property
    def largest_first(self) -> list[Subset]:
        return sorted(self.subsets, key=lambda subset: -len(subset["columns"]))

    def searched(self, state: State, together: Mapping[str, float]) -> tuple[State, ByLabel]:
        """The table when all subsets have reached their k, one after the other; what there is to tell about each.

        `together`: for columns that others determine, as units do, the cells that must go with one. Raises Refused if
        some record cannot reach it.
        """
        notes: ByLabel = {}
        for subset in self.largest_first:
            state, note = self._reached(state, subset, together)
            notes[f"k = {subset['k']} on {', '.join(subset['columns'])}"] = note
        return self.mended(state), notes

    def sparing(
        self, given: Mapping[str, str], search: Callable[["SuppressionSearch"], tuple[Result, ByLabel]]
    ) -> tuple[Result, ByLabel]:
        """The result of a search that blanks no key which others give back; of one that does if that is refused.

        `given`: such keys, each with the law in words.
        """
        if not given:
            return search(self)
        laws = "; ".join(given.values())
        try:
            result, notes = search(replace(self, keep=(*self.keep, *given)))
        except Refused:
            result, notes = search(self)
            return result, {**notes, "blanked although given back": laws}
        return result, {**notes, "not blanked because given back": laws}

    def mended(self, state: State) -> State:
        """The table after the subsets that blanked cells have broken were treated again, until none is broken.

        Cells are only ever blanked, so this ends; what then still fails is refused by the proof.
        """
        spent = -1
        while int(state.spent.sum()) > spent and any(self._short(state.codes, state.counts, s) for s in self.subsets):
            spent = int(state.spent.sum())
            for subset in self.largest_first:
                if self._short(state.codes, state.counts, subset):
                    state, _ = self._reached(state, subset)
        return state

    def falls_short(self, codes: Ints) -> bool:
        """True if some record of a table, shape (n, q), shares a subset with fewer than k records."""
        once = np.ones(len(codes), dtype=np.int64)
        return any(self._short(codes, once, subset) for subset in self.subsets)

    def prove(self, codes: Ints, counts: Longs) -> None:
        """Refuse a table in which a subset has not reached its k. Raises Refused naming how many records have not."""
        for subset in self.subsets:
            if (short := self._short(codes, counts, subset)) > 0:
                raise Refused(
                    f"suppress: {plural(short, 'record')} cannot reach k = {subset['k']} within the limits and the "
                    f"columns to keep. Raise the limits, free a column, or recode first."
                )

    def _short(self, codes: Ints, counts: Longs, subset: Subset) -> int:
        """The number of records that do not share a subset with its k."""
        if not len(codes):
            return 0
        table, _, sizes = distinct_rows(codes[:, self._places(subset)], counts)
        matching = sizes if self.missing == "equal" else self._matching(table, sizes)
        return int(sizes[matching < subset["k"]].sum())

    def _matching(self, table: Ints, sizes: Longs) -> Longs:
        """The records that match each row; counted anew only where the table is not the one asked for last."""
        for counted, of_sizes, matching in self._counted:
            if np.array_equal(counted, table) and np.array_equal(of_sizes, sizes):
                return matching
        matching = wildcard_counts(table, sizes, missing_counts=self.missing == "wildcard")
        self._counted[:] = [(table, sizes, matching)]
        return matching

    @cached_property
    def _counted(self) -> list[tuple[Ints, Longs, Longs]]:
        """The table that was counted last, its sizes, and the records that match each row."""
        return []

    def _places(self, subset: Subset) -> list[int]:
        """Positions, in a table of codes, of a subset's columns and of those that are compared without losing cells."""
        places = [self.keys.index(name) for name in subset["columns"]]
        return places + list(range(len(self.keys), len(self.keys) + len(self.fixed)))

    def _reached(
        self, state: State, subset: Subset, together: Mapping[str, float] = MappingProxyType({})
    ) -> tuple[State, ByLabel]:
        """The table when a subset has reached its k, and what there is to tell about it."""
        n, k = state.records, subset["k"]
        if k > n:
            raise ParameterError(f"suppress: k must be at most {n:,}, the number of records; got {k:,}.")
        chosen = self._places(subset)
        prices = self.prices(subset["columns"], state.spent[chosen], n, together)
        codes, _, counts = state.among(chosen)
        losses, note = self._solved(
            SuppressionTask(codes=codes, counts=counts, k=k, cost=prices.cost, allowance=prices.allowance)
        )
        return (state.without(losses, chosen, self.rng) if len(losses.rows) else state), note

    def prices(self, names: Sequence[str], spent: Longs, records: int, together: Mapping[str, float]) -> Prices:
        """Cost of a cell of some columns, and how many may still be blanked; none of columns without a name.

        `names`: of the first columns; `spent`, shape (q,): cells of each column that were blanked.
        """
        cost, allowance = np.full(len(spent), np.inf), np.zeros(len(spent), dtype=np.int64)
        for place, name in enumerate(names):
            if name not in self.keep:
                cost[place] = self.importance.get(name, 1.0) * together.get(name, 1.0)
                allowance[place] = int(self.limits.get(name, 1.0) * records * (1 + 1e-12)) - int(spent[place])
        return Prices(cost=cost, allowance=allowance)

    def operations(
        self, codes: Ints, k: int, prices: Prices, reading: MissingCells
    ) -> list[tuple[int, tuple[int, ...]]]:
        """Cells to blank in the keys of some records, shape (n, q), for a k, with missing cells read as given."""
        how: How = "refined" if self.how == "optimal" else self.how
        rows, ids, counts = distinct_rows(codes)
        task = SuppressionTask(codes=rows, counts=counts, k=k, cost=prices.cost, allowance=prices.allowance)
        losses, _ = replace(self, missing=reading, how=how, sacrifice=False)._solved(task)
        order, begins = np.argsort(ids, kind="stable"), np.cumsum(counts) - counts
        records = order[begins[losses.rows] + different_places(counts, losses.rows, self.rng)]
        return [(row, tuple(np.flatnonzero(cells).tolist())) for row, cells in zip(records.tolist(), losses.cells)]

    def _solved(self, task: SuppressionTask) -> tuple[Losses, ByLabel]:
        if self.how == "optimal":
            return optimum(task, self.missing, self.sacrifice)
        if self.missing == "nothing":
            return lone_sets(task), {"optimal": not self.limits}
        if self.missing == "equal":
            looked_at = np.minimum(task.counts, enough(task.k)).sum() * task.codes.shape[1]
            spare = WORK_TURN / max(int(looked_at), 1) / 100
            starts = 1 if self.how == "greedy" else 2 + int(self.effort * min(STARTS, spare))
            return pattern_groups(task, self.rng, starts=starts), {"optimal": False, "starts": starts}
        return self._covered(task)

    def _covered(self, task: SuppressionTask) -> tuple[Losses, ByLabel]:
        """The cells to blank under `wildcard`."""
        base = wildcard_counts(task.codes, task.counts)
        at_risk = int(task.counts[base < task.k].sum())
        solution = suppress(
            task.codes,
            task.counts,
            base,
            task.k,
            task.cost,
            allowance=task.allowance,
            sacrifice=self.sacrifice,
            work=0.0 if self.how == "greedy" else self.effort * _usual_work(at_risk),
            seed=seed_of(self.rng),
            progress=self.progress,
        )
        if not solution.served:
            raise Refused(
                f"suppress: {plural(at_risk, 'record')} at risk cannot all reach k = {task.k} within the limits and "
                f"the columns to keep. Raise the limits, free a column, or recode first."
            )
        cells = (solution.blanks[:, None] >> np.arange(len(task.cost))) & 1 == 1
        losses, cost = Losses(rows=solution.rows, cells=cells), solution.last
        whole = _blanked_altogether(task) if self.sacrifice else None
        if whole is not None and whole[1] < cost:
            losses, cost = whole
        return losses, {"records at risk": at_risk, "cost of the greedy solution": solution.first, "cost": cost}


def _blanked_altogether(task: SuppressionTask) -> tuple[Losses, float] | None:
    """The k - 1 records that are cheapest to blank altogether, which then agree with everybody, and what they cost.

    None where a column is to be kept, or may not lose so many cells.
    """
    known = task.codes >= 0
    price: Floats = np.where(known, task.cost, 0.0).sum(axis=1)
    order = np.argsort(price, kind="stable")
    sizes = task.counts[order]
    rows = np.repeat(order, np.clip(task.k - 1 - (np.cumsum(sizes) - sizes), 0, sizes))
    if not np.isfinite(price[rows]).all() or (known[rows].sum(axis=0) > task.allowance).any():
        return None
    return Losses(rows=rows, cells=known[rows]), float(price[rows].sum())


def _usual_work(at_risk: int) -> float:
    return min(WORK_FIRST * at_risk, WORK_TURN) + WORK_ALWAYS * at_risk
