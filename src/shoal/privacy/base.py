"""What all privacy models share: a requirement, and its check against a finished table.

A requirement must hold on the table as released and on its closure, the table with everything filled in that the
release itself gives away (`shoal.judges.closure`). Both are judged here, for every model alike.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from shoal.data.confidential_bins import Bins
from shoal.data.microdata import as_records
from shoal.data.partition import Partition
from shoal.data.records import Records
from shoal.facts import OfRelease
from shoal.judges.evidence import Verdict
from shoal.judges.table_pair import TablePair
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
    needs_original: ClassVar[bool] = False
    """Whether the model compares with the original, so that it cannot be proved on a released file alone."""

    monotone: ClassVar[bool] = False
    """Whether a table that satisfies the model still does when some of its classes are united."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The roles, or the columns, that a verdict depends on; those of a frame that it does not are left alone."""
        return ("quasi-identifier", "confidential")

    def verdict_on(self, pair: TablePair) -> Verdict:
        """The verdict on a released table: the requirement must hold as the cells stand and once they are filled in."""
        verdict = self.judge(pair)
        if not verdict.holds or not pair.closure.filled:
            return verdict
        closed = self.judge(pair.closed)
        facts = {"missing cells that the release gives away": OfRelease(pair.closure.filled)}
        if closed.holds:
            facts["achieved once these are filled in"] = OfRelease(closed.achieved)
            return replace(verdict, facts={**verdict.facts, **facts})
        return replace(
            closed, facts={**closed.facts, **facts}, sentence=f"{pair.closure.sentence} Filled in: {closed.sentence}"
        )

    @abstractmethod
    def judge(self, pair: TablePair) -> Verdict:
        """The verdict on the cells of a pair's released table as they stand, rounding and formatting done.

        A model that compares with the original, or looks at how records were grouped, cannot hold where these are
        not at hand.
        """

    def group_limits(self, records: Records) -> GroupLimits | None:
        """What the model requires of each class of some records; None where it cannot be said class by class."""
        return None

    def check(
        self, table: Any, *, confidential: Any = None, original: Any = None, partition: Partition | None = None
    ) -> Verdict:
        """The verdict on a data frame, Microdata, Records or an array.

        All columns of an array or frame count as quasi-identifiers, but for those that `confidential` names.
        """
        before = None if original is None else as_records(original, confidential, only=self.reads)
        return self.verdict_on(TablePair.of(before, as_records(table, confidential, only=self.reads), partition))
