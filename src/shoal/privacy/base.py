"""Privacy models: a requirement, and its check against a finished table.

Most models state a requirement on every class of records by itself (`shoal.judges.class_figures`).

A requirement must hold on the table as released and on its closure: the table with every cell filled in that the
release lets one deduce, by laws without exceptions and by all laws (`shoal.judges.closure`). All models are judged on
these here.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from shoal.judges.class_figures import ClassCounts, ClassFigures
from shoal.judges.class_table import ClassesInMemory, ClassTable
from shoal.judges.further_tables import like, numbers_of
from shoal.judges.prelude import Floats, MissingCells, Records, TablePair, Verdict
from shoal.kernels.requirement.emd import Requirement
from shoal.report.evidence import Question
from shoal.table.confidential_bins import Bins
from shoal.table.microdata import as_records
from shoal.table.partition import Partition
from shoal.vocabulary.facts import Better, Fact, OfOriginal, OfRelease
from shoal.vocabulary.prelude import Scales


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupLimits:
    """Requirements of a model on each class of records by itself, for methods that form classes.

    Parameters
    ----------
    k
        Fewest records of a class.
    columns, requirements
        The confidential columns of the whole table, and the requirement on a class in each.
    """

    k: int = 1
    columns: tuple[Bins, ...] = ()
    requirements: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PeopleLimits:
    """Requirements of a model on the people who match each class, for methods that form classes.

    Parameters
    ----------
    population
        The population, with the quasi-identifiers and no missing cells.
    counts
        Shape (N,); number of people that each of its rows stands for.
    fewest
        Fewest people of a class.
    least, largest
        Limits on the share of the people of a class whose records are released, if it has any people.
    """

    population: Records
    counts: Floats
    fewest: float = 0.0
    least: float = 0.0
    largest: float = float("inf")

    @classmethod
    def of(cls, records: Records, table: Any, count: str | None, missing: MissingCells, **limits: float) -> Self | None:
        """The limits for a table of the population; None if cells are missing, which takes more to compare."""
        population, names = like(records, table), records.quasi_identifiers
        if missing != "equal" or not set(names) <= set(population.names()):
            return None
        if not all(side[name].complete for name in names for side in (records, population)):
            return None
        counts = np.ones(len(population)) if count is None else numbers_of(table, count)
        return cls(population=population, counts=counts, **limits)


class PrivacyModel(ABC):
    """A requirement that is proved or refuted on a table made by any program."""

    method_kind: ClassVar[str] = "privacy"
    method_name: ClassVar[str]
    scales: ClassVar[Scales] = "memory"

    @property
    def protects(self) -> bool:
        """True if it protects anyone's privacy: if some table would not satisfy it."""
        return not self.emptily or any(getattr(self, name) != value for name, value in self.emptily.items())

    @property
    def needs_original(self) -> bool:
        """True if it compares with the original, so that it cannot be proved on a released file alone."""
        return False

    @property
    def counts_records(self) -> bool:
        """True if it takes every record for a person, so that it promises less to persons with several records."""
        return self.protects

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Identifiers of the original whose values it counts."""
        return ()

    monotone: ClassVar[bool] = False
    """True if a table that satisfies the model still does when some of its classes are united."""
    counts_classes: ClassVar[bool] = False
    """True if it requires a smallest size of every class, against which a report sets the smallest class."""
    blanked_for: ClassVar[bool] = False
    """True if local suppression (`suppress`) reaches it where it stands among the step's requirements."""
    emptily: ClassVar[Mapping[str, float]] = {}
    """Limits that any table keeps, so that with these nobody is protected; empty if there are none."""
    of_account: ClassVar[bool] = False
    """True if it is proved on the account of the run that made a release, and no table shows it."""
    reported: ClassVar[bool] = False
    """True if every release reports its level, taken with the limits that any table keeps."""
    question: ClassVar[Question | None] = None
    """The regulators' question that a reported level answers."""
    better: ClassVar[Better] = "higher"
    """The direction in which levels protect more."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Roles or columns that a verdict depends on; other columns of a frame are ignored."""
        return ("quasi-identifier", "confidential")

    def verdict_on(self, pair: TablePair) -> Verdict:
        """The verdict on a released table, with its cells as they stand and with deducible cells filled in.

        The requirement must also hold for an intruder who knows the laws of the original; no figure of that is told.
        """
        verdict = self.named(self.judge(pair))
        facts: dict[str, Fact] = {"cells that the release gives away": OfRelease(pair.closure.filled)}
        for stage in pair.stages if verdict.holds else ():
            closed = self.named(self.judge(stage))
            if not closed.holds:
                sentence = f"{pair.closure.sentence} Filled in: {closed.sentence}"
                return replace(closed, facts={**closed.facts, **facts}, sentence=sentence)
            kind = OfRelease if closed.influence == 0 else OfOriginal
            facts["achieved once these are filled in"] = kind(closed.achieved)
            verdict = replace(verdict, facts={**verdict.facts, **facts})
        for stage in pair.informed if verdict.holds else ():
            closed = self.named(self.judge(stage))
            if not closed.holds:
                return replace(closed, sentence=f"{stage.closure.sentence} Filled in: {closed.sentence}")
        return verdict

    def named(self, verdict: Verdict) -> Verdict:
        """The verdict with the model's name and its declarations for readers."""
        return replace(verdict, model=self.method_name, counts_classes=self.counts_classes, protects=self.protects)

    @abstractmethod
    def judge(self, pair: TablePair) -> Verdict:
        """The verdict on the cells of a pair's released table as they stand, rounding and formatting done.

        A model that compares with the original, or depends on how records were grouped, cannot hold without these.
        """

    def group_limits(self, records: Records) -> GroupLimits | None:
        """Requirements of the model on each class of some records; None if they cannot be stated class by class."""
        return None

    def people_limits(self, records: Records) -> PeopleLimits | None:
        """Requirements on the people of each class; None if there are none, or they cannot be stated class by class."""
        return None

    @property
    def largest_average_risk(self) -> float | None:
        """Largest mean over the records of 1 over the size of their class, where this is all that is required."""
        return None

    def on_counts(self, counts: ClassCounts) -> Verdict | None:
        """The verdict on the cells as they stand, from class sizes alone; None if it depends on more.

        Missing cells count as cells of their own.
        """
        return None

    def check(
        self, table: Any, *, confidential: Any = None, original: Any = None, partition: Partition | None = None
    ) -> Verdict:
        """The verdict on a data frame, Microdata, Records or an array.

        All columns of an array or frame count as quasi-identifiers, except those that `confidential` names.
        """
        before = None if original is None else as_records(original, confidential, only=self.reads)
        return self.verdict_on(TablePair.of(before, as_records(table, confidential, only=self.reads), partition))


class ClassModel(PrivacyModel):
    """A model whose requirement is on every class of records by itself."""

    @property
    def by_class(self) -> bool:
        """True if classes can be judged separately; False if its parameters make it look at several together."""
        return True

    @property
    def in_parts(self) -> bool:
        """True if it can be proved on some classes of a table at a time."""
        return True

    @property
    def units(self) -> tuple[str, ...]:
        """Units that it counts in a class instead of records: `household`, or the name of an identifier."""
        return ()

    def class_columns(self, quasi_identifiers: Sequence[str]) -> tuple[str, ...]:
        """The columns on which the records of a class agree."""
        return tuple(quasi_identifiers)

    @abstractmethod
    def look(self, table: ClassTable) -> ClassFigures:
        """The figures of the classes of a table, or of some of them, that the verdict depends on."""

    @abstractmethod
    def conclude(self, class_figures: ClassFigures) -> Verdict:
        """The verdict on a table from the figures of all its classes; its `failing` has shape (C,), by class."""

    def judge(self, pair: TablePair) -> Verdict:
        names = self.class_columns(pair.released.quasi_identifiers)
        verdict = self.conclude(self.look(ClassesInMemory(pair=pair, names=names)))
        if verdict.failing is None:
            return verdict
        return replace(verdict, failing=verdict.failing[pair.released.classes(names).ids])


def unproved(requirement: str, required: float, reason: str) -> Verdict:
    """The verdict where nothing can be proved."""
    return Verdict(
        requirement=requirement,
        holds=False,
        required=required,
        achieved=None,
        sentence=f"Not proved: {reason}",
        influence=0,
    )


FROM_HARDEST: tuple[MissingCells, ...] = ("nothing", "equal", "wildcard")
"""Readings of a missing cell, the hardest to satisfy first."""


def reading_of(requirements: Iterable[Any]) -> MissingCells | None:
    """The reading of missing cells of some requirements, the hardest to satisfy; None if none of them names one."""
    return hardest(getattr(model, "missing", None) for model in requirements)


def hardest(readings: Iterable[MissingCells | None]) -> MissingCells | None:
    """The reading of a missing cell, among several, that is hardest to satisfy; None if there is none."""
    available = set(readings)
    return next((reading for reading in FROM_HARDEST if reading in available), None)
