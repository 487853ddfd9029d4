"""What all privacy models share: a requirement, and its check against a finished table.

Most models ask something of every class of records by itself (`shoal.judges.class_figures`).

A requirement must hold on the table as released and on its closure, the table with everything filled in that the
release itself gives away, by laws without exceptions and by all (`shoal.judges.closure`). All are judged here, for
every model alike.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from shoal.data.confidential_bins import Bins
from shoal.data.microdata import as_records
from shoal.data.partition import Partition
from shoal.data.records import MissingCells, Records
from shoal.facts import Fact, OfOriginal, OfRelease
from shoal.judges.class_figures import ClassCounts, ClassFigures
from shoal.judges.evidence import Verdict
from shoal.judges.natural_sets import NaturalSets
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Longs
from shoal.kernels.requirement.emd import Requirement


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupLimits:
    """What a model requires of every class of records by itself, for methods that form classes.

    Parameters
    ----------
    k
        Records that a class must hold.
    columns, requirements
        The confidential columns of the whole table, and what a class must satisfy in each.
    """

    k: int = 1
    columns: tuple[Bins, ...] = ()
    requirements: tuple[Requirement, ...] = ()


class PrivacyModel(ABC):
    """States a requirement and proves or refutes it on a table, whoever made the table."""

    method_kind: ClassVar[str] = "privacy"
    method_name: ClassVar[str]

    @property
    def protects(self) -> bool:
        """Whether it is about the privacy of anyone."""
        return True

    @property
    def needs_original(self) -> bool:
        """Whether the model compares with the original, so that it cannot be proved on a released file alone."""
        return False

    @property
    def counts_records(self) -> bool:
        """Whether it takes every record for a person, so that it promises less of persons with several."""
        return self.protects

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Identifiers of the original whose values it counts."""
        return ()

    monotone: ClassVar[bool] = False
    """Whether a table that satisfies the model still does when some of its classes are united."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The roles, or the columns, that a verdict depends on; those of a frame that it does not are left alone."""
        return ("quasi-identifier", "confidential")

    def verdict_on(self, pair: TablePair) -> Verdict:
        """The verdict on a released table: the requirement must hold as the cells stand and once they are filled in."""
        verdict = replace(self.judge(pair), model=self.method_name)
        facts: dict[str, Fact] = {"cells that the release gives away": OfRelease(pair.closure.filled)}
        for stage in pair.stages if verdict.holds else ():
            closed = replace(self.judge(stage), model=self.method_name)
            if not closed.holds:
                sentence = f"{pair.closure.sentence} Filled in: {closed.sentence}"
                return replace(closed, facts={**closed.facts, **facts}, sentence=sentence)
            kind = OfRelease if closed.influence == 0 else OfOriginal
            facts["achieved once these are filled in"] = kind(closed.achieved)
            verdict = replace(verdict, facts={**verdict.facts, **facts})
        return verdict

    @abstractmethod
    def judge(self, pair: TablePair) -> Verdict:
        """The verdict on the cells of a pair's released table as they stand, rounding and formatting done.

        A model that compares with the original, or looks at how records were grouped, cannot hold where these are
        not at hand.
        """

    def group_limits(self, records: Records) -> GroupLimits | None:
        """What the model requires of each class of some records; None where it cannot be said class by class."""
        return None

    def on_counts(self, counts: ClassCounts) -> Verdict | None:
        """The verdict on the cells as they stand where all that matters is how many records share them; None where more
        does. Missing cells count as cells of their own.
        """
        return None

    def check(
        self, table: Any, *, confidential: Any = None, original: Any = None, partition: Partition | None = None
    ) -> Verdict:
        """The verdict on a data frame, Microdata, Records or an array.

        All columns of an array or frame count as quasi-identifiers, but for those that `confidential` names.
        """
        before = None if original is None else as_records(original, confidential, only=self.reads)
        return self.verdict_on(TablePair.of(before, as_records(table, confidential, only=self.reads), partition))


class ClassModel(PrivacyModel):
    """A model that asks something of every class of records by itself."""

    @property
    def by_class(self) -> bool:
        """Whether classes can be looked at apart; False where its parameters make it look at several together."""
        return True

    @property
    def natural_sets(self) -> NaturalSets | None:
        """The sets of classes that each class is compared with; None where it is compared with none, or with all."""
        return None

    def class_columns(self, quasi_identifiers: Sequence[str]) -> tuple[str, ...]:
        """The columns on which the records of a class agree."""
        return tuple(quasi_identifiers)

    @abstractmethod
    def look(self, pair: TablePair) -> ClassFigures:
        """What there is to see of the classes of a table, or of a part of one that holds its classes whole."""

    def look_across(self, one_of_each: Records, sizes: Longs) -> ClassFigures:
        """What there is to see of classes that cannot be looked at apart, from one record of each and their sizes."""
        raise NotImplementedError(f"{self.method_name} looks at classes apart.")

    @abstractmethod
    def conclude(self, seen: ClassFigures) -> Verdict:
        """The verdict on a table all of whose classes were seen; its `failing` is of shape (C,), by class."""

    def judge(self, pair: TablePair) -> Verdict:
        verdict = self.conclude(self.look(pair))
        if verdict.failing is None:
            return verdict
        classes = pair.released.classes(self.class_columns(pair.released.quasi_identifiers))
        return replace(verdict, failing=verdict.failing[classes.ids])


def unproved(requirement: str, required: float, reason: str) -> Verdict:
    """The verdict where nothing can be said."""
    return Verdict(
        requirement=requirement,
        holds=False,
        required=required,
        achieved=None,
        sentence=f"Not proved: {reason}",
        influence=0,
    )


FROM_HARDEST: tuple[MissingCells, ...] = ("nothing", "equal", "wildcard")
"""What a missing cell may match, what is hardest to satisfy first."""


def reading_of(requirements: Iterable[Any]) -> MissingCells | None:
    """What a missing cell matches for some requirements; where they differ, what is hardest to satisfy, and None where
    none says.
    """
    return hardest(getattr(model, "missing", None) for model in requirements)


def hardest(readings: Iterable[MissingCells | None]) -> MissingCells | None:
    """Of several readings of a missing cell the one that is hardest to satisfy; None where there is none."""
    there = set(readings)
    return next((reading for reading in FROM_HARDEST if reading in there), None)
