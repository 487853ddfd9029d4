"""What all privacy models share: a requirement, and its check against a finished table."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from shoal.data.microdata import as_records
from shoal.data.partition import Partition
from shoal.judges.evidence import Verdict
from shoal.judges.table_pair import TablePair


class PrivacyModel(ABC):
    """States a requirement and proves or refutes it on a table, whoever made the table."""

    method_kind: ClassVar[str] = "privacy"
    method_name: ClassVar[str]
    needs_original: ClassVar[bool] = False
    """Whether the model compares with the original, so that it cannot be proved on a released file alone."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The roles, or the columns, that a verdict depends on; those of a frame that it does not are left alone."""
        return ("quasi-identifier", "confidential")

    @abstractmethod
    def judge(self, pair: TablePair) -> Verdict:
        """The verdict on the released table of a pair, rounding and formatting done.

        A model that compares with the original, or looks at how records were grouped, cannot hold where these are
        not at hand.
        """

    def check(
        self, table: Any, *, confidential: Any = None, original: Any = None, partition: Partition | None = None
    ) -> Verdict:
        """The verdict on a data frame, Microdata, Records or an array.

        All columns of an array or frame count as quasi-identifiers, but for those that `confidential` names.
        """
        before = None if original is None else as_records(original, confidential, only=self.reads)
        return self.judge(TablePair.of(before, as_records(table, confidential, only=self.reads), partition))
