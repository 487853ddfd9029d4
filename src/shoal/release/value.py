"""A release: a protected table on which every requirement of its plan has been proved.

It is a value. It holds the released table, the evidence, and the account for the reports, and nothing of the original
that its two folders would not hold: no original cell can be read from a release that is pickled, copied or shown.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from shoal.judges.class_profile import ClassProfile
from shoal.judges.evidence import Evidence, Finding
from shoal.kernels.arrays import Longs
from shoal.plan import Output
from shoal.plan.sections import EditRules
from shoal.report.evidence import ColumnBefore, Distribution, EvidenceFile, Reached
from shoal.table.files.table import Table
from shoal.table.files.tables import read_table
from shoal.table.hierarchy import Hierarchy
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.table.records import MissingCells
from shoal.table.schema import Schema
from shoal.table.step_result import StepAccount
from shoal.vocabulary.errors import DataError, plural, quoted
from shoal.vocabulary.facts import ByColumn

LEAST_SEED = 1 << 64
"""Smaller seeds can be tried one by one until a release comes out again."""

OF, WHOSE = "group of ", "value of "
"""Prefixes of the names of columns that hold groups, or numbers of an identifier's values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnAccount:
    """Distribution of the records over a released column.

    Parameters
    ----------
    released
        Distribution of the released column; a function of the released table alone.
    both
        Distributions of the original and the released column; private. None if the original has no such column.
    missing
        Number of missing released cells; None if they were not counted.
    distinct
        Number of released values; None if they were not counted.
    before
        Comparison with the original cells of these records; private. None if the original has no such column.
    """

    name: str
    label: str
    role: str
    level: str
    released: Distribution | None
    both: Distribution | None
    missing: int | None = None
    distinct: int | None = None
    before: ColumnBefore | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SingledOut:
    """Number of records that unchanged columns single out; a function of the released table and these names alone.

    Parameters
    ----------
    columns
        One of the unchanged columns, or all of them.
    alone
        Records that are unique on these columns.
    beside_keys
        Records that are unique on these columns and the released quasi-identifiers.
    """

    columns: tuple[str, ...]
    alone: int
    beside_keys: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Account:
    """The account of a release for its reports.

    Parameters
    ----------
    plan
        The public form of the plan's sections.
    requirements
        Public names of the verdicts, in their order: a rule is shown without what only the original tells.
    untouched
        Released columns that no step and no constraint of the plan names, so that they left as they came.
    own_gaps
        Released columns whose missing cells are those of the original: unchanged columns, and columns that were changed
        in known cells only.
    unchanged
        Released columns whose cells are those of the original, whatever was done to them; private.
    missing
        Treatment of missing values, by column; private.
    about
        Description of the release: title, owner, purpose, audience, valid until, contact.
    exact
        Measures whose exact figures are published.
    proved
        True if something protects the release: a requirement that was proved, or differential privacy on every column.
    accepted
        Released columns for which the plan answers though they single people out.
    singled_out
        Numbers of records that each of the unchanged and accepted columns singles out, and all of each kind together.
    odd_values
        For each released column, counts of numbers that no original record could have, by reason; private.
    before
        Measures of risk taken on the original as if it were released; private.
    classes
        Class sizes of the released records by their quasi-identifiers: under the plan's reading of missing cells, then
        under `equal` where that differs.
    classes_before
        Class sizes of the original records under the plan's reading; private.
    violations_before
        Number of original records in classes that are too small, as facts with a public form.
    reached
        Levels of privacy models, required or not; functions of the released table alone.
    made_anew
        Released columns that were drawn anew for the whole table, so that no cell is a person's.
    context
        Sentences on the limits that the plan took from its context; empty if it names none.
    several_records
        True if a person may have several records, which together may move a figure as far as they like.
    """

    steps: tuple[StepAccount, ...]
    columns: tuple[ColumnAccount, ...]
    plan: Mapping[str, Any]
    requirements: tuple[str, ...]
    not_released: tuple[str, ...]
    untouched: tuple[str, ...]
    unchanged: tuple[str, ...]
    missing: Mapping[str, Any]
    before: tuple[Finding, ...]
    versions: Mapping[str, str]
    seed: int
    about: Mapping[str, str] = field(default_factory=dict)
    own_gaps: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    proved: bool = True
    accepted: tuple[str, ...] = ()
    singled_out: tuple[SingledOut, ...] = ()
    odd_values: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    classes: tuple[ClassProfile, ...] = ()
    classes_before: ClassProfile | None = None
    violations_before: ByColumn | None = None
    reached: tuple[Reached, ...] = ()
    made_anew: tuple[str, ...] = ()
    context: str = ""
    several_records: bool = False


class Publisher(Protocol):
    """Writes the two folders of a release; see `shoal.publish`."""

    def __call__(
        self,
        release: Any,
        directory: str | Path,
        *,
        overwrite: bool = False,
        labels: Any = None,
        frontier: Mapping[str, Any] | None = None,
        unproved: bool = False,
        approval: Any = None,
    ) -> Path: ...


class Pending(Protocol):
    """A release that waits to be entered in a ledger."""

    def record(self, folder: Path, account: Account) -> None:
        """Enter the release whose two folders lie, written, in a folder; refuse if it is not proved any more."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Release(ABC):
    """A protected table with its evidence and its record, held whole (`WholeRelease`) or in parts (`LargeRelease`).

    Parameters
    ----------
    evidence
        Verdicts on the requirements, and figures of the measures.
    account
        Account for the reports.
    record
        Everything needed to make the release again: versions, plan, seed, figures of every step; private.
    requirements
        The plan's requirements.
    publisher
        Writes the release.
    describe
        Makes the content of its private/evidence.json.
    """

    evidence: Evidence
    account: Account = field(repr=False)
    record: Mapping[str, Any] = field(repr=False)
    requirements: tuple[Any, ...] = field(repr=False)
    publisher: Publisher = field(repr=False)
    describe: Callable[["Release"], EvidenceFile] = field(repr=False)

    @property
    @abstractmethod
    def records(self) -> int:
        """Number of released records."""

    @property
    @abstractmethod
    def data(self) -> Any:
        """The protected table, as the kind of frame given as input."""

    @abstractmethod
    def to_frame(self) -> pl.DataFrame:
        """The protected table as a polars frame; `data` has it as the kind of frame given as input."""

    @property
    @abstractmethod
    def copies(self) -> "tuple[Release, ...]":
        """This release and all further ones of the same plan, as `shoal.combine_tables` takes their data."""

    def write(
        self,
        directory: str | Path,
        *,
        overwrite: bool = False,
        labels: Table | None = None,
        frontier: Mapping[str, Any] | None = None,
        unproved: bool = False,
    ) -> Path:
        """Write `release/`, which may leave the building, and `private/`, which may not.

        Same as `shoal.publish(release, directory, ...)`; see there for the parameters and refusals.
        """
        return self.publisher(self, directory, overwrite=overwrite, labels=labels, frontier=frontier, unproved=unproved)

    def _repr_html_(self) -> str:
        from shoal.report.display import displayed
        from shoal.report.page import parts

        return displayed("parts/release.html", **parts(self.describe(self)))

    def plot(self, column: str | None = None) -> Any:
        """A chart: the release between risk and loss with the unprotected table, or the spread of one column; private.

        Raises DataError if there is no such column, or no figures to draw.
        """
        from shoal.report.charts import distribution_chart
        from shoal.report.display import Picture
        from shoal.report.page import release_map

        content = self.describe(self)
        if column is None:
            drawn = release_map(content)
            if drawn is None:
                raise DataError("No risk and loss were measured that can be drawn. Name a column to see its spread.")
            return Picture(drawn.chart)
        spreads = {
            described["name"]: (spread, described["values"])
            for described in content["columns"]
            if (spread := described["distribution"])
        }
        if column not in spreads:
            raise DataError(f"No spread of a column '{column}' is known; there are those of {quoted(spreads)}.")
        return Picture(distribution_chart(*spreads[column]))


@dataclass(frozen=True, kw_only=True, eq=False)
class WholeRelease(Release):
    """A release that holds its table.

    Parameters
    ----------
    table
        The protected table with its schema.
    partition
        Groups of the last partition step, by row of the release; private. None if there was no such step.
    hidden
        Groups inside which each column was replaced, by column; private.
    schema, reading, rules, trees, output
        Parts of the plan needed to write the table and to prove the requirements and rules on its file.
    rows
        Shape (n',); the original row of each released record; private.
    units
        By identifier that a requirement counts, shape (n',): number of the value of each released record; private.
    fingerprint
        Hash of the cells on which everything was proved.
    further
        The other copies, if the plan asks for several; each is a release proved by itself.
    pending
        Enters the release in the plan's ledger when it is written; None without a ledger.

    Other parameters are those of `Release`.
    """

    table: Microdata
    partition: Partition | None
    hidden: Mapping[str, Partition] = field(repr=False)
    schema: Schema = field(repr=False)
    reading: MissingCells = field(repr=False)
    rules: EditRules = field(repr=False)
    trees: Mapping[str, Hierarchy] = field(repr=False)
    output: Output = field(repr=False)
    rows: Longs = field(repr=False)
    units: Mapping[str, Longs] = field(repr=False)
    fingerprint: str = field(repr=False)
    further: "tuple[WholeRelease, ...]" = field(default=(), repr=False)
    pending: Pending | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        n, columns = len(self.table), len(self.table.frame.columns)
        return f"Release of {plural(n, 'record')} and {plural(columns, 'column')}\n{self.evidence!r}"

    def to_frame(self) -> pl.DataFrame:
        """The protected table as a polars frame; `data` has it as the kind of frame given as input."""
        return self.table.frame.to_polars()

    @property
    def data(self) -> Any:
        """The protected table, as the kind of frame given as input."""
        return self.table.native

    @property
    def records(self) -> int:
        return len(self.table)

    @property
    def copies(self) -> "tuple[WholeRelease, ...]":
        """This release and all further ones of the same plan, as `shoal.combine_tables` takes their data."""
        return (self, *self.further)


@dataclass(frozen=True, kw_only=True, eq=False)
class LargeRelease(Release):
    """A release that was written part by part; it holds no table.

    Parameters
    ----------
    size
        Number of released records.
    directory
        Directory of its files: a temporary one, which lasts as long as the release, until it is written elsewhere.

    Other parameters are those of `Release`.
    """

    size: int
    directory: Path

    @property
    def records(self) -> int:
        return self.size

    def to_frame(self) -> pl.DataFrame:
        """The protected table as a polars frame, which memory must hold."""
        place = self.directory / "release"
        if (parts := place / "data").is_dir():
            return pl.read_parquet(parts / "*.parquet")
        return read_table(place / "data.csv").frame

    data = property(to_frame)

    @property
    def copies(self) -> "tuple[LargeRelease, ...]":
        """The release itself."""
        return (self,)

    def __repr__(self) -> str:
        return f"Release of {plural(self.size, 'record')} in '{self.directory}'\n{self.evidence!r}"
