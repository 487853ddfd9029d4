"""Measures of risk and utility: two tables in, one frozen figure out.

A measure declares its needs, and one place checks that the tables meet them before the measure is computed. If there
is no figure, for lack of that or for a reason that only the measure sees, `NoFigure` gives the reason. It is caught in
one place: `Measure.finding_on`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.judges.class_figures import ClassCounts
from shoal.judges.evidence import Finding
from shoal.judges.table_pair import (
    NO_HOLDOUT,
    NO_PEOPLE,
    NO_PLAN,
    NO_VERSIONS,
    NOBODY,
    NOTHING_CATEGORICAL,
    NOTHING_COMMON,
    NOTHING_CONTINUOUS,
    NOTHING_KNOWN,
    TablePair,
)
from shoal.kernels.arrays import Floats, Longs
from shoal.report.evidence import MeasureKind, Question
from shoal.table.microdata import as_records
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.vocabulary.errors import NoFigure, WidthError
from shoal.vocabulary.facts import Better, ByColumn, Facts, Figure
from shoal.vocabulary.parameters import HoldsCells, Method, TablePath, holds
from shoal.vocabulary.registry import Scales

Need = Literal["columns", "pairing", "records", "quasi-identifiers", "people", "versions", "holdout", "plan"]


class Measure(ABC):
    """A figure for two tables; it knows the tables, never the method that made them."""

    method_kind: ClassVar[MeasureKind]
    method_name: ClassVar[str]
    title: ClassVar[str]
    scales: ClassVar[Scales] = "sample"
    figure_unit: ClassVar[str] = ""
    limits: ClassVar[tuple[float, float]] = (0.0, math.inf)
    better: ClassVar[Better] = "lower"
    cheap: ClassVar[bool] = False
    """True if the figure is quick enough, for any number of records, to stand in every report."""
    of_release_alone: ClassVar[bool] = False
    """True if the figure and its facts are functions of the released table alone, so that they may be public."""
    needs: ClassVar[tuple[Need, ...]] = ()
    """Requirements on the tables, in the order in which their absence is reported."""
    roles: ClassVar[tuple[str, ...]] = ("quasi-identifier", "confidential")
    """Roles of the columns that are compared, unless the parameter `columns` names others."""
    continuous: ClassVar[bool | None] = None
    """True if only continuous columns are compared, False if only categorical ones; None for both."""
    among_releases: ClassVar[Mapping[str, Any]] = {}
    """Parameters for comparing releases that do not hold the same records."""
    question: ClassVar[Question | None] = None
    """The regulators' question that the figure answers; a risk that answers none stands under all of them."""
    of_made_up: ClassVar[bool] = False
    """True if the figure means something for synthetic records, which stand for no person."""
    prominence: ClassVar[int] = 0
    """Rank among the measures that readers know best; the highest above 0 stands at the head of a report."""
    headline: ClassVar[str] = ""
    """Words that follow the title at the head of a report, with their punctuation; the fact `mean` follows them."""
    over_tables: ClassVar[Literal["persons", "classes", "profiles", "joins", "tables"] | None] = None
    """Tables on which the figure is taken where a plan has several linked ones: `persons`, a record for each row right
    below a person with all that hangs on it; `classes`, a record for each person, whose class is the whole profile;
    `profiles`, a record for each person with all cells of all rows; `joins`, the lowest tables, each joined with all
    above it; `tables`, each by itself, and the mean over all columns. None if it means nothing there."""
    of_persons: ClassVar[str] = ""
    """The sentence on a figure over `classes`, with the place of its percentage."""
    unchanged: ClassVar[float | None] = None
    """Figure of a release that equals the original, if it is known."""
    score_weight: ClassVar[float] = 0.0
    """Weight, as a share of the upper limit, in the score of half risk and half loss (Domingo-Ferrer & Torra 2001)."""

    def finding_on(self, pair: TablePair, rng: np.random.Generator) -> Finding:
        """The figure, or the reason why there is none: something is missing, or distances do not fit into memory.

        The figure for the public is found separately: the existence of a figure may depend on a single record.
        """
        try:
            for need in self.needs:
                NEEDS[need](self, pair)
            finding = self.judge(pair, rng)
        except (NoFigure, WidthError) as reason:
            finding = self.without(str(reason))
        try:
            return replace(finding, clipped=self.clipped(pair))
        except NoFigure:
            return finding

    def clipped(self, pair: TablePair) -> Figure | None:
        """The public substitute for a loss whose influence nobody has bounded (see `judges.clipped`).

        Raises NoFigure if the pair lacks what it needs.
        """
        return None

    @abstractmethod
    def judge(self, pair: TablePair, rng: np.random.Generator) -> Finding:
        """The figure for two tables that have what the measure needs. Raises NoFigure if there is none."""

    def on_counts(self, counts: ClassCounts, bound: float | None = None) -> Finding | None:
        """The figure from class sizes alone; None if it depends on more.

        Missing cells count as cells of their own.

        Parameters
        ----------
        bound
            Bound with which the figure is compared; a figure on the same side of it may be returned instead.

        Raises
        ------
        NoFigure
            If there is none.
        """
        return None

    def measure(
        self,
        original: Any,
        released: Any,
        *,
        confidential: Any = None,
        partition: Partition | None = None,
        seed: int | np.random.Generator | None = 0,
    ) -> Finding:
        """The figure for two data frames, arrays, Microdata or Records.

        All columns of an array or frame count as quasi-identifiers, except those that `confidential` names.
        """
        before, after = as_records(original, confidential), as_records(released, confidential)
        return self.finding_on(TablePair.of(before, after, partition), np.random.default_rng(seed))

    @property
    def heading(self) -> str:
        """The title with the chosen parameters; tables, methods and parameters that may hold a cell are left out."""
        markers = holds(type(self))
        plain = [f for f in fields(self) if not isinstance(markers[f.name], (TablePath, Method, HoldsCells))]  # type: ignore[arg-type] # all are dataclasses
        chosen = [
            f"{f.name.replace('_', ' ')} {_in_words(getattr(self, f.name))}"
            for f in plain
            if getattr(self, f.name) != f.default
        ]
        return f"{self.title} ({'; '.join(chosen)})" if chosen else self.title

    def same_as(self, other: "Measure") -> bool:
        """True if another measure is the same with the same parameters; a table equals only itself."""
        if type(self) is not type(other):
            return False
        return all(
            _same_tables(getattr(self, name), getattr(other, name))
            if isinstance(marker, TablePath)
            else bool(getattr(self, name) == getattr(other, name))
            for name, marker in holds(type(self)).items()
        )

    def compared(self, pair: TablePair) -> tuple[str, ...]:
        """The columns that are compared: the named ones, or those of the measure's roles and level in both tables."""
        return pair.common(getattr(self, "columns", None), *self.roles, continuous=self.continuous)

    def finding(
        self, value: float, sentence: str, *, facts: Facts | None = None, by_column: ByColumn | None = None, **more: Any
    ) -> Finding:
        """The figure, under the measure's own name, limits and direction. Raises NoFigure if it is not a number."""
        if math.isnan(value):
            raise NoFigure("The figure is not a number on these tables.")
        more = {"limits": self.limits, "better": self.better, "unit": self.figure_unit, **more}
        if self.of_release_alone:
            more["influence"] = 0
        return Finding(
            measure=self.method_name,
            kind=self.method_kind,
            title=self.heading,
            value=float(value),
            sentence=sentence,
            facts=facts or {},
            by_column=by_column,
            **more,
        )

    def without(self, reason: str) -> Finding:
        """A finding without a figure, and the reason."""
        return Finding(
            measure=self.method_name,
            kind=self.method_kind,
            title=self.heading,
            value=None,
            unit=self.figure_unit,
            reason=reason,
            limits=self.limits,
            better=self.better,
            influence=0 if self.of_release_alone else None,
        )


def by_record(released: Records, attacked: Longs, risk: Floats) -> Floats:
    """Shape (n',); risks of the attacked records, NaN for the others."""
    out = np.full(len(released), np.nan)
    out[attacked] = risk
    return out


def _need_columns(measure: Measure, pair: TablePair) -> None:
    if not measure.compared(pair):
        if measure.continuous:
            raise NoFigure(NOTHING_CONTINUOUS)
        if measure.continuous is False and pair.released.quasi_identifiers:
            raise NoFigure(NOTHING_CATEGORICAL)
        raise NoFigure(NOTHING_KNOWN if measure.roles == ("quasi-identifier",) else NOTHING_COMMON)


def _need_pairing(measure: Measure, pair: TablePair) -> None:
    pair.before, pair.pairing  # noqa: B018 - either raises if it is not known


def _need_records(measure: Measure, pair: TablePair) -> None:
    if not len(pair.released):
        raise NoFigure(NOBODY)


def _need_quasi_identifiers(measure: Measure, pair: TablePair) -> None:
    if not pair.released.quasi_identifiers:
        raise NoFigure("The released table has no quasi-identifier by which someone could be looked up.")


def _need_people(measure: Measure, pair: TablePair) -> None:
    names = pair.released.quasi_identifiers
    if names and set(names) <= set(pair.made_anew):
        raise NoFigure(NO_PEOPLE)


def _need_versions(measure: Measure, pair: TablePair) -> None:
    compared = measure.compared(pair)
    if compared and set(compared) <= set(pair.made_anew):
        raise NoFigure(NO_VERSIONS)


def _need_holdout(measure: Measure, pair: TablePair) -> None:
    if getattr(measure, "holdout", None) is None:
        raise NoFigure(NO_HOLDOUT)


def _need_plan(measure: Measure, pair: TablePair) -> None:
    if pair.again is None:
        raise NoFigure(NO_PLAN)


NEEDS: dict[Need, Callable[[Measure, TablePair], None]] = {
    "columns": _need_columns,
    "pairing": _need_pairing,
    "records": _need_records,
    "quasi-identifiers": _need_quasi_identifiers,
    "people": _need_people,
    "versions": _need_versions,
    "holdout": _need_holdout,
    "plan": _need_plan,
}
"""Checks that the tables have what a measure needs."""


def _same_tables(first: Any, second: Any) -> bool:
    """True if two parameters name the same file, or are the same object: frames cannot be compared by ==."""
    if isinstance(first, (tuple, list)) and isinstance(second, (tuple, list)):
        return len(first) == len(second) and all(map(_same_tables, first, second))
    return first is second or (isinstance(first, (str, Path)) and isinstance(second, (str, Path)) and first == second)


def _in_words(value: Any) -> str:
    """A parameter for a reader."""
    if isinstance(value, tuple):
        return ", ".join(f"{part:g}" if isinstance(part, float) else str(part) for part in value)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
