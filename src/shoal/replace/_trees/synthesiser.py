"""Sequential synthesis by trees: each column drawn from the donors that share a leaf with the record.

Columns are drawn one after the other. A tree is grown for each on the original columns before it; the synthetic
record, with the values it has by then, walks down that tree, and its value comes from a donor, an original record of
the leaf it ends in (Reiter 2005). So no distribution is assumed: heaps, zeros and bounded ranges come out as they
are, and interactions are found where they matter.

A donor's value is copied for categories. A number is drawn between the donor's and its neighbours in the column unless
it is one that many records have (a heap: zero, a round number), and written as finely as the column is; so a rare
value is hardly ever released as it is. The few values at either end are drawn about their mean, so that no extreme
value is given away and slopes stay what they are (`smoothing`).

What never occurs together in the original, though chance would have it, is kept from it (`structural_zeros`): draws
that break such a rule are drawn again.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from shoal.replace._trees.columns import ColumnPart, TreeColumn
from shoal.replace._trees.donors import Growing
from shoal.replace._trees.nearest_tables import choose
from shoal.replace._trees.sequence import Chain, Rules, synthesised
from shoal.replace._trees.unlike_uniques import DrawnColumns, facts_of, redrawn
from shoal.replace.base import Replacement
from shoal.table.prelude import Floats, Generator, Longs, Partition, Progress, Records, StepResult, tracked
from shoal.table.records import unchanged
from shoal.vocabulary.prelude import ColumnName, Columns, Count, Fact, Ge, Le, ParameterError, family, quoted

DONORS = 10
"""Records of a leaf from which on what is drawn there is nobody's. With a leaf of one record its cells come back, and
twenty copies give them away (tests/attacks/test_copies.py)."""


@family
class TreeSynthesiser(Replacement):
    """A replacement whose values come from the leaves of trees.

    Parameters
    ----------
    given
        Kept columns that predict all others.
    order
        The columns in the order in which they are drawn; by default that of the step, or of the table.
    numbers
        Columns of text that hold numbers beside categories, such as 'N' for not applicable: the numbers are drawn as
        numbers.
    groups
        `own`: every group has trees of its own. `predictor`: one model for all records, in which the group is a
        category that predicts.
    smooth
        Move numbers between the values of the original, where few records share one. Without it values of the
        original are released.
    exclude
        Keep from it what never occurs together in the original, where that is a rule rather than chance.
    no_exact_matches
        Draw a record again while it equals one that only one original record is like, on all columns or on the
        quasi-identifiers and confidential ones: first its second half of columns, then all of them. That such a record
        is absent tells something, too, which the explanation of synthesis bounds.
    candidates
        Records that are drawn for each that is kept: of all of them those are kept whose tables of all pairs of columns
        come nearest to the original's. More is more useful and tells more of the tables.
    by
        A column within whose categories these tables are compared, such as the area. Where one has fewer than 30
        original records, and in groups of fewer, nothing is chosen.
    """

    given: Annotated[tuple[str, ...], Columns()] = ()
    order: Annotated[tuple[str, ...] | None, Columns()] = None
    numbers: Annotated[tuple[str, ...], Columns()] = ()
    groups: Literal["own", "predictor"] = "own"
    smooth: bool = True
    exclude: bool = True
    no_exact_matches: bool = False
    candidates: Annotated[int, Ge(1), Le(100)] = 1
    by: Annotated[str | None, ColumnName()] = None

    @property
    def anew(self) -> bool:
        return self.growing.min_leaf >= DONORS and self.candidates == 1

    @property
    def predictors(self) -> tuple[str, ...]:
        return self.given

    @property
    def whole_needed(self) -> str:
        if self.candidates > 1:
            return "all records at once for candidates. Leave it out"
        return "all records at once for no_exact_matches. Leave it out" if self.no_exact_matches else ""

    @property
    @abstractmethod
    def growing(self) -> Growing:
        """Limits of growing trees."""

    def apply(
        self, records: Records, columns: Sequence[str], partition: Partition, rng: Generator, progress: Progress = None
    ) -> StepResult:
        drawn = [self._column(records, name) for name in self._in_order(tuple(columns))]
        if self.candidates > 1:
            self._check_exchangeable(drawn, partition)
        given = [part for name in self.given for part in self._column(records, name).parts]
        if self.groups == "predictor" and partition.n_groups > 1:
            given.append(ColumnPart(values=partition.labels.astype(np.float64), levels=partition.n_groups))
        members = list(partition.members()) if self.groups == "own" else [np.arange(len(records))]
        new, broken, chains = self._draw(drawn, given, members, records.unit_numbers("person"), rng, progress)
        sets = [new]
        for _ in range(1, self.candidates):
            sets.append([part.copy() for part in new])
            for chain in chains:
                broken += chain.draw_into(sets[-1], chain.at, 0, rng)
        facts: dict[str, Fact] = {
            "groups with trees of their own": Count(n=len(members), unit="groups"),
            "values that never occur together in the original": Count(n=broken, unit="cells"),
        }
        drawings = [DrawnColumns(records=records, columns=drawn, chains=chains, new=values) for values in sets]
        counts = [redrawn(drawing, rng) for drawing in drawings if self.no_exact_matches]
        if self.candidates > 1:
            facts |= choose(drawn, sets, members, self.by)
            counts += [redrawn(drawing, rng) for drawing in drawings[:1] if self.no_exact_matches]  # beside what stays
        if counts:
            facts |= facts_of(counts)
        remaining = iter(new)
        written = [column.written([next(remaining) for _ in column.parts]) for column in drawn]
        facts["records unchanged"] = Count(n=int(unchanged(records, written).sum()), of=len(records))
        return StepResult(records=records.with_variables(*written), facts=facts)

    def _check_exchangeable(self, columns: Sequence[TreeColumn], partition: Partition) -> None:
        """Refuse candidates where something of a record stays that others were not drawn for."""
        if self.given or (self.groups == "predictor" and partition.n_groups > 1):
            raise ParameterError(
                f"{self.method_name}: candidates take the place of one another, and what is given stays where it is. "
                f"Leave given out, and let groups have trees of their own."
            )
        if self.by is not None and self.by not in [column.variable.name for column in columns]:
            raise ParameterError(f"{self.method_name}: by must be one of the step's columns; '{self.by}' is not.")

    def _column(self, records: Records, name: str) -> TreeColumn:
        return TreeColumn.of(records[name], as_numbers=name in self.numbers)

    def _draw(
        self,
        columns: list[TreeColumn],
        given: list[ColumnPart],
        members: Sequence[Longs],
        persons: Longs | None,
        rng: Generator,
        progress: Progress,
    ) -> tuple[list[Floats], int, list[Chain]]:
        """New values of all columns' parts, how many break a rule, and the models by group, if more is to be drawn.

        `persons`: shape (n,), whose each record is; leaves, heaps and extremes then count persons.
        """
        rules = Rules(growing=self.growing, smooth=self.smooth, exclude=self.exclude)
        parts = [part for column in columns for part in column.parts]
        new, broken, chains = [part.values.copy() for part in parts], 0, []
        again = self.no_exact_matches or self.candidates > 1
        for at in tracked(members, progress):
            values, count, chain = synthesised(parts, given, at, rules, rng, persons, again=again)
            broken += count
            if chain is not None:
                chains.append(chain)
            for whole, part in zip(new, values):
                whole[at] = part
        return new, broken, chains

    def _in_order(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        if both := [name for name in self.given if name in columns]:
            raise ParameterError(f"{self.method_name}: given names {quoted(both)}, which the step replaces.")
        if self.order is None:
            return columns
        if sorted(self.order) != sorted(columns):
            raise ParameterError(
                f"{self.method_name}: order must name each of the step's columns once and no other; it names "
                f"{quoted(self.order)}, the step has {quoted(columns)}."
            )
        return self.order
