"""Exchange of cells within a group that leaves the distribution of the release unchanged.

The columns of the original are divided into those that a step *moves* and those that *stay*. Let the members of a group
exchange their moved cells among themselves before the first step. If every step then does the same as before, except
for the order in which it redistributes cells, the releases of both tables have one law, and nobody can tell which
member had which cells: each person is linked to the cells that stay with a probability of 1 over the size of the group.

This holds for a step that reads moved columns alone (its groups move with the cells) or columns that stay alone (its
groups stay). A step that reads both forms other groups after the exchange, and then the groups reveal which cells
belonged together: with six records in groups of three by `mdav` on age and charge and with ages redistributed, an
intruder who knows the ages and the method can find up to all charges. Groups that must be t-close are formed on
confidential columns, too.

A column is moved until it is redistributed; from then on it stays with the rest of its row. A column that depends on
both kinds is *mixed* for ever. Columns that are constant in every group can be exchanged with no effect. Ties are
broken by the order of rows, which is assumed to be independent of the cells.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from shoal.table.partition import Partition, meet
from shoal.table.step_result import StepTrace

Side = Literal["moved", "stays", "mixed"]

ExchangeFault = Literal["groups", "together", "whole", "earlier"]
"""Reason why an exchange shows: groups were formed on both kinds of columns, cells of both were redistributed together,
records were redistributed whole, or a step that deals nothing out read both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An exchange that may show in the release, and the first step by which it does."""

    fault: ExchangeFault
    step: StepTrace


@dataclass(kw_only=True)
class Exchange:
    """A second pass through the steps, with the cells of some columns exchanged inside groups."""

    columns: Sequence[str]
    moved: Collection[str]  # Columns of the original whose cells are exchanged
    known: Collection[str]  # Columns that the intruder knows
    neutral: Collection[str]  # Columns of the original that are constant in all groups
    released: Collection[str]  # Columns of the release that tell records apart
    groups: Partition  # The groups inside which cells are exchanged
    dealt: Mapping[str, Partition]  # For each column that was redistributed its groups
    fewer: bool  # True if the release lacks records of the original
    sides: dict[str, Side] = field(init=False)
    mixed_by: dict[str, Shown] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.sides = {n: "moved" if n in self.moved else "stays" for n in self.columns if n not in self.neutral}

    def shown(self, steps: Sequence[StepTrace]) -> Shown | None:
        """First way in which the exchange shows in the release; None if it does not."""
        for step in steps:
            reads = self.columns if step.reads is None else step.reads
            if step.dealing is None:
                self._change(step, {*reads, *step.columns})
            else:
                self._deal(step, self._side_of(reads))
        return next((self.mixed_by[name] for name in self.released if name in self.mixed_by), None)

    def _side_of(self, names: Collection[str]) -> Side | None:
        """The side of some columns; None if all of them are neutral."""
        sides = {self.sides[name] for name in names if name in self.sides}
        return "mixed" if len(sides) > 1 else next(iter(sides), None)

    def _change(self, step: StepTrace, reads: Collection[str]) -> None:
        """Follow a step that deals nothing out: changed columns take the side of the columns that it reads."""
        side = self._side_of(reads)
        changed = self.columns if step.reads is None and self.fewer else step.columns
        if side == "mixed":
            self._mix(changed, Shown(fault="earlier", step=step))
        elif side is not None:
            self.sides |= dict.fromkeys(step.columns, side)

    def _deal(self, step: StepTrace, formed_on: Side | None) -> None:
        """Follow a step that deals cells out anew, after which they stay with the rest of their rows."""
        moved = {name for name in step.columns if self.sides.get(name) == "moved"}
        fault: ExchangeFault | None = None
        if formed_on == "mixed" or (formed_on == "moved" and not self._within(set(step.columns) - moved)):
            fault = "groups"
        elif moved and self._whole(step):
            fault = "whole"
        elif self._together(step, moved):
            fault = "together"
        if fault is None:
            self.sides |= dict.fromkeys(set(step.columns) - self.mixed_by.keys(), "stays")
        else:
            self._mix(step.columns, Shown(fault=fault, step=step))

    def _within(self, names: Collection[str]) -> bool:
        """True if all members of a group share the groups in which some columns were redistributed."""
        parts = [self.dealt[name] for name in names if name in self.dealt]
        return meet([self.groups, *parts]).n_groups == self.groups.n_groups

    def _whole(self, step: StepTrace) -> bool:
        """True if records were redistributed whole, so that no released cell has new neighbours."""
        kept = step.dealing == "records" or (step.dealing == "columns" and len(step.columns) == 1)
        return kept and set(self.released) <= set(step.columns)

    def _together(self, step: StepTrace, moved: set[str]) -> bool:
        """True if cells were redistributed side by side, or depend on which cells belonged together."""
        if step.dealing == "columns":
            return False
        both = step.dealing == "records" and bool(moved & set(self.known)) and bool(moved - set(self.known))
        return both or self._side_of(step.columns) == "mixed"

    def _mix(self, names: Collection[str], shown: Shown) -> None:
        self.sides |= dict.fromkeys(names, "mixed")
        self.mixed_by = {**dict.fromkeys(names, shown), **self.mixed_by}
