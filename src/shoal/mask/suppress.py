"""Local suppression: the fewest weighted cells after which every record shares its keys with k."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np

from shoal.mask._suppression.given_away import Restored, cells_a_blank, given_back
from shoal.mask._suppression.required import Asked, check_reading
from shoal.mask._suppression.search import How, Subset, SuppressionSearch
from shoal.mask._suppression.state import RowPatterns, State
from shoal.mask._suppression.task import distinct_rows, without_cells
from shoal.mask.base import Mask
from shoal.privacy.gate import Required
from shoal.table.laws import Laws
from shoal.table.prelude import Bools, Generator, Ints, Longs, MissingCells, Progress, Records, StepResult
from shoal.vocabulary.errors import ParameterError, Refused
from shoal.vocabulary.facts import ByLabel
from shoal.vocabulary.prelude import ByColumn, Columns, Count, Fact, Figure, Ge, Gt, Le, OfOriginal, Setting, method


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
    key determines together with that one. A key that arithmetic with columns that stay gives back loses no cell where
    the other keys suffice; the private record names the law.

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
        other; or `equal`, another missing cell only, so that the result has equivalence classes of k. By default as
        the plan's requirements on these columns read it, else as the plan does (`Plan.reading`), else `wildcard`.
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

    scales = "combinations"
    blanks_cells = True
    default_reading = "wildcard"

    k: Annotated[int, Ge(1)] | None = None
    subsets: Annotated[tuple[Subset, ...] | None, Setting()] = None
    importance: Annotated[dict[str, Annotated[float, Gt(0)]] | None, Setting()] = None
    keep: Annotated[tuple[str, ...], Columns()] = ()
    limits: Annotated[dict[str, Annotated[float, Ge(0), Le(1)]] | None, Setting()] = None
    missing: MissingCells | None = None
    sacrifice: bool = False
    search: How = "refined"
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
        if self.sacrifice and self.missing is None:
            object.__setattr__(self, "missing", "wildcard")
        if self.sacrifice and self.missing != "wildcard":
            raise ParameterError(f"suppress: sacrifice is for missing: wildcard; missing is {self.missing}.")

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        search = self.search_on(records, columns, rng, progress)
        before = search.codes_of(records)
        codes, notes = before, ByLabel()
        if len(records):
            laws = Laws.of(records, search.keys)
            given = given_back(records, laws, search.keys, self.keep)
            codes, notes = search.sparing(given, lambda search: self._blanked(records, before, search, laws))
        blank = (codes < 0) & (before >= 0)
        facts = self.facts_of(blank.sum(axis=0), int(blank.any(axis=1).sum()), len(records), search.keys, notes)
        return StepResult(records=without_cells(records, search.keys, blank), facts=facts)

    def _blanked(self, records: Records, before: Ints, search: SuppressionSearch, laws: Laws) -> tuple[Ints, ByLabel]:
        """The codes when cells are blanked; what there is to tell of the search."""
        rows, ids, counts = distinct_rows(before)
        state, notes = search.searched(State.of(rows, counts), cells_a_blank(records, laws, search.keys, search.keep))
        codes = _without(before, state.patterns(search.rng).of_records(ids))
        codes = _guarded(records, before, codes, search, laws)
        search.prove(codes, np.ones(len(codes), dtype=np.int64))
        if not self.requirements:
            return codes, notes
        codes, more = self._required(records, before, codes, search, laws)
        return codes, notes | more

    def blanks(
        self,
        records: Records,
        times: Longs,
        columns: Sequence[str],
        rng: Generator,
        *,
        together: Mapping[str, float] | None,
        given: Mapping[str, str],
        spent: Longs | None = None,
        progress: Progress = None,
    ) -> tuple[Longs, RowPatterns, ByLabel]:
        """Find the cells that the records of each distinct combination of a table lose.

        Parameters
        ----------
        records
            One for each combination of the columns, and of the strata.
        times
            Shape (n,); how many records of the table have it.
        together
            For columns that others determine, as units do, the cells that must go with one; None where the table was
            searched before, and only what was broken since is to be mended.
        given
            Keys that arithmetic gives back, with the law in words: they lose a cell only if nothing else helps.
        spent
            Shape (q,); cells of each column that were blanked before.

        Returns
        -------
        Shape (n,), the number of each combination; what is lost by these numbers; what there is to tell of the search.

        Raises
        ------
        Refused
            If some record cannot reach its k.
        """
        search = self.search_on(records, columns, rng, progress)
        rows, ids, counts = distinct_rows(search.codes_of(records), times)
        start = State.of(rows, counts, spent)

        def treated(search: SuppressionSearch) -> tuple[State, ByLabel]:
            if together is None:
                state, notes = search.mended(start), ByLabel()
            else:
                state, notes = search.searched(start, together)
            search.prove(state.codes, state.counts)
            return state, notes

        state, notes = search.sparing(given, treated)
        return ids, state.patterns(rng), notes

    def search_on(
        self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None
    ) -> SuppressionSearch:
        """The search that the parameters describe, in a table or in its distinct combinations."""
        keys = tuple(columns)
        self._check_names(keys)
        return SuppressionSearch(
            keys=keys,
            fixed=tuple(name for name in records.names("stratum") if name not in keys),
            subsets=[Subset(columns=keys, k=self.k)] if self.k is not None else list(self.subsets or ()),
            importance=self.importance or {},
            keep=self.keep,
            limits=self.limits or {},
            missing=self.reading,
            sacrifice=self.sacrifice,
            how=self.search,
            effort=self.effort,
            rng=rng,
            progress=progress,
        )

    def facts_of(
        self, cells: Sequence[int] | Longs, touched: int, records: int, keys: Sequence[str], notes: ByLabel
    ) -> dict[str, Fact]:
        """Facts about the blanked cells.

        Parameters
        ----------
        cells
            Shape (q, or more); how many were blanked of each key.
        touched
            Records that lost some.

        Raises
        ------
        Refused
            If a column lost more than its limit allows.
        """
        blanked = dict(zip(keys, map(int, cells)))
        for name, share in (self.limits or {}).items():
            if blanked[name] > share * records * (1 + 1e-12):
                raise Refused(
                    f"suppress: more cells of '{name}' than its limit allows must be blanked so that others do not "
                    f"give them away. Raise the limit, or recode first."
                )
        weighted = sum(count * (self.importance or {}).get(name, 1.0) for name, count in blanked.items())
        return {
            "cells suppressed": Count(n=sum(blanked.values()), unit="cells"),
            "by column": ByColumn({name: Count(n=count, unit="cells") for name, count in blanked.items()}),
            "weighted cells": Figure(value=float(weighted)),
            "records touched": Count(n=touched),
            "searches": OfOriginal(notes),
        }

    @property
    def reading(self) -> MissingCells:
        return self.missing or self.default_reading

    @property
    def whole_needed(self) -> str:
        return "every record by itself for its requirements; require them of the table" if self.requirements else ""

    def _required(
        self, records: Records, before: Ints, codes: Ints, search: SuppressionSearch, laws: Laws
    ) -> tuple[Ints, ByLabel]:
        """The codes when the requirements hold too; what there is to tell about it. Cells are only ever blanked, so
        this ends.
        """
        keys = search.keys
        asked = Asked(models=self.requirements, before=records, keys=tuple(keys), missing=self.reading, laws=laws)
        together, blanked, notes = cells_a_blank(records, laws, keys, search.keep), -1, ByLabel()
        while failing := asked.unmet(released := _released(records, before, codes, keys), filled_in=True):
            if int((codes < 0).sum()) == blanked:
                raise Refused(
                    f"suppress: no cells were found without which {failing[0][1].requirement} holds, within the limits "
                    f"and the columns to keep. Raise the limits, free a column, recode first, or require less."
                )
            blanked = int((codes < 0).sum())
            codes = codes.copy()
            spent = ((codes < 0) & (before >= 0))[:, : len(keys)].sum(axis=0)
            prices = search.prices(keys, spent, len(codes), together)
            for model, _ in asked.unmet(released, filled_in=False):
                released = _released(records, before, codes, keys)
                notes |= asked.blank(model, released, codes, prices, search.operations)
            if int((codes < 0).sum()) == blanked:  # as the cells stand they hold, and not once the release is filled in
                Restored.of(released, laws).blank_sources(codes, records, keys, search.keep)
            codes = _guarded(records, before, _mended(before, codes, search), search, laws)
        return codes, notes

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


def _guarded(records: Records, before: Ints, codes: Ints, search: SuppressionSearch, laws: Laws) -> Ints:
    """The codes when what gives blanked ones away is blanked too, until the keys reach their k though all is filled in
    that can be. Cells are only ever blanked, so this ends.
    """
    blanked = -1
    while int((codes < 0).sum()) > blanked:
        blanked = int((codes < 0).sum())
        released = _released(records, before, codes, search.keys)
        stages = [Restored.of(released, laws, exceptions=exceptions) for exceptions in (False, True)]
        if not any(search.falls_short(search.codes_of(stage.records)) for stage in stages):
            break
        codes = codes.copy()
        stages[-1].blank_sources(codes, records, search.keys, search.keep)
        codes = _mended(before, codes, search)
    return codes


def _mended(before: Ints, codes: Ints, search: SuppressionSearch) -> Ints:
    """The codes when no subset is short of its k that can be helped."""
    rows, ids, counts = distinct_rows(codes)
    state = search.mended(State.of(rows, counts, ((codes < 0) & (before >= 0)).sum(axis=0)))
    return _without(codes, state.patterns(search.rng).of_records(ids))


def _without(codes: Ints, blank: Bools) -> Ints:
    return np.where(blank, np.int32(-1), codes)


def _released(records: Records, before: Ints, codes: Ints, keys: Sequence[str]) -> Records:
    return without_cells(records, keys, (codes < 0) & (before >= 0))
