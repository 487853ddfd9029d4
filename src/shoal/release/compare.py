"""Several releases of one table side by side."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn, cast

import polars as pl
from pydantic import ConfigDict, ValidationError, with_config
from typing_extensions import TypedDict

from shoal.release import Release
from shoal.release.evidence_file import declared_by, private_evidence
from shoal.release.linked import LinkedRelease
from shoal.report.comparison_page import ComparisonRow, comparison, comparison_map, comparison_page, comparison_parts
from shoal.report.display import Picture, displayed
from shoal.report.evidence import Comparable
from shoal.report.forms import Bound, number_of
from shoal.table.files.json_text import form_of, read_record, unreadable
from shoal.vocabulary.errors import DataError, FileError, plural, quoted
from shoal.vocabulary.registry import registered

OTHER_CELLS = (
    "The releases were made from tables with different cells, or with columns described differently. Figures can be "
    "compared only between releases of one table."
)

ALONE = ""
"""Name of the one table of a release."""

FINITE = ConfigDict(allow_inf_nan=False)


@with_config(FINITE)
class ComparedRequirement(TypedDict):
    """Layout of a requirement in an evidence.json, as far as it is compared."""

    requirement: str
    achieved: float | None
    required: float
    holds: bool


@with_config(FINITE)
class ComparedFigure(TypedDict):
    """Layout of a measure in an evidence.json, as far as it is compared."""

    measure: str
    title: str
    better: Literal["lower", "higher"]
    value: float | Bound | None


@with_config(FINITE)
class ComparedEvidence(TypedDict):
    """Layout of an evidence.json, as far as it is compared: the same in both versions of it."""

    version: Literal[1, 2]
    records: int
    requirements: list[ComparedRequirement]
    measures: list[ComparedFigure]


@dataclass(frozen=True, slots=True, kw_only=True)
class InputTable:
    """Identification of the input table in a record.

    Parameters
    ----------
    digests
        Hashes of its file and of its cells.
    """

    records: int
    columns: frozenset[str]
    digests: frozenset[str]

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "InputTable":
        """The identification from the content of record.json.

        Raises
        ------
        KeyError, TypeError, ValueError
            If it is missing or malformed.
        """
        table, columns = record["input"], record["plan"]["columns"]
        if not isinstance(table["records"], int) or not isinstance(columns, Mapping):
            raise ValueError
        digests = (table.get(key) for key in ("sha256 of cells", "sha256"))
        return cls(
            records=table["records"],
            columns=frozenset(columns),
            digests=frozenset(digest for digest in digests if isinstance(digest, str)),
        )


def inputs_of(record: Mapping[str, Any]) -> dict[str, InputTable]:
    """Identification of each table that came in, by its name; of one table by itself, by no name.

    Raises as `InputTable.of`.
    """
    if "tables" not in record:
        return {ALONE: InputTable.of(record)}
    return {name: InputTable.of(own) for name, own in record["tables"].items()}


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Several releases side by side.

    Parameters
    ----------
    evidence
        Content of evidence.json by the name of the release.
    private
        True if the figures come from private evidence.
    note
        Caution for the reader; empty where none is needed.
    """

    evidence: Mapping[str, Comparable] = field(repr=False)
    private: bool
    note: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.evidence)

    @property
    def rows(self) -> list[ComparisonRow]:
        """One row a requirement, level, measure or count, as in `report.comparison_page.comparison`."""
        return comparison(self.evidence)

    def page(self) -> str:
        """One self-contained page."""
        return comparison_page(self.evidence, private=self.private)

    def to_frame(self) -> pl.DataFrame:
        """One row a figure, one column a release; a bound is given by its number, `best` names the best releases."""
        rows = self.rows
        plain = {"group": pl.String, "figure": pl.String, "better": pl.String}
        return pl.DataFrame(
            [
                {
                    "group": row["group"],
                    "figure": row["title"],
                    "better": row["better"],
                    **{name: number_of(cell) for name, cell in zip(self.evidence, row["cells"])},
                    "best": [self.names[place] for place in row["best"]],
                }
                for row in rows
            ],
            schema={**plain, **dict.fromkeys(self.evidence, pl.Float64), "best": pl.List(pl.String)},
        )

    def plot(self) -> Any:
        """The releases between risk and loss, as a chart (see `report.display.picture`).

        Raises DataError if no measure of risk, or none of loss, has a figure in all of them.
        """
        drawn = comparison_map(list(self.evidence.values()))
        if drawn is None:
            raise DataError(
                "The releases have no figure of risk and of loss in common, so there is nothing to draw. Measure the "
                "same in all of them."
            )
        return Picture(drawn.chart)

    def _repr_html_(self) -> str:
        return displayed("parts/comparison.html", **comparison_parts(self.evidence, private=self.private))


def compare(*releases: Release | str | Path) -> Comparison:
    """Set several releases of one table side by side: requirements, levels reached, risk and loss.

    Of several linked tables, what is required of persons and figures over all tables come first; those of each table
    have its name before them.

    Parameters
    ----------
    releases
        Releases, or their directories. Figures are private if releases are given as values, or if all directories
        have their private folders; otherwise they are those of release/evidence.json.

    Raises
    ------
    FileError
        If a directory holds no release, or if they are releases of different tables.
    DataError
        If no release is given.
    """
    if not releases:
        raise DataError("There is nothing to compare. Name at least one release.")
    folders = [Path(release) for release in releases if not isinstance(release, Release)]
    private = all((folder / "private" / "evidence.json").is_file() for folder in folders)
    if not private and len(folders) < len(releases):
        raise FileError(
            "A release in memory has private figures, and a directory without a private folder only public ones. "
            "Compare releases of one kind."
        )
    evidence: dict[str, Comparable] = {}
    inputs: dict[str, dict[str, InputTable]] = {}
    for number, release in enumerate(releases, 1):
        if isinstance(release, Release):
            name = f"release {number}"
            evidence[name], inputs[name] = evidence_of(release), inputs_of(release.record)
            continue
        name, folder = str(release), Path(release)
        evidence[name] = _evidence_in(name, folder / ("private" if private else "release"))
        if (record := folder / "private" / "record.json").is_file():
            inputs[name] = _inputs_in(record)
    _refuse_other_tables(inputs, evidence)
    first = next(iter(inputs.values()), {})
    others = [(first[name], table) for of in inputs.values() for name, table in of.items()]
    note = OTHER_CELLS if any(one.digests.isdisjoint(other.digests) for one, other in others) else ""
    return Comparison(evidence=evidence, private=private, note=note)


def checked(name: str, content: Any) -> Comparable:
    """The content of an evidence.json, with defaults for compared fields that earlier versions lack.

    Raises FileError if it is no evidence.json, or one of an unknown version.
    """
    try:
        form_of(ComparedEvidence).validate_python(content)
    except ValidationError:
        raise FileError(
            f"'{name}' cannot be compared: its evidence.json is damaged, or of a later version of shoal. "
            f"Make the release again."
        ) from None
    kinds = {e.name: e for kind in ("risk", "utility") for e in registered(kind)}
    plain = {
        "kind": "utility",
        "unit": "",
        "limits": (None, None),
        "original": None,
        "prominence": 0,
        "unchanged": None,
        "score_weight": 0.0,
    }
    declared = {name: {"kind": e.kind, **declared_by(e.kind, e.name)} for name, e in kinds.items()}
    measures = [{**plain, **declared.get(f["measure"], {}), **f} for f in content["measures"]]
    columns = [{"original": None, **column} for column in content.get("columns", ())]
    return cast(Comparable, {"reached": [], **content, "measures": measures, "columns": columns})


def evidence_of(release: Release) -> Comparable:
    """The private evidence of a release in memory; of linked tables, with that of each."""
    whole: Any = private_evidence(release)
    if isinstance(release, LinkedRelease):
        whole = {**whole, "by table": {name: private_evidence(of) for name, of in release.tables.items()}}
    return cast(Comparable, whole)


def _evidence_in(name: str, folder: Path) -> Comparable:
    """The evidence in a folder of a release; of linked tables, with that of each, which lies in a folder of its own."""
    content = read_record(folder / "evidence.json", "an assessed release")
    tables = [str(table["name"]) for table in content.get("tables", ())]
    own = {table: read_record(folder / table / "evidence.json", "an assessed release") for table in tables}
    whole = checked(name, content)
    return {**whole, "by table": {table: checked(name, of) for table, of in own.items()}} if own else whole


def _inputs_in(path: Path) -> dict[str, InputTable]:
    record = read_record(path, "a release", ("input", "plan"))
    try:
        return inputs_of(record)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise unreadable(path, "a release") from None


def _refuse_other_tables(inputs: Mapping[str, Mapping[str, InputTable]], evidence: Mapping[str, Comparable]) -> None:
    """Refuse to compare releases of tables that differ in their names, in number of records or in columns."""
    by_table = {name: frozenset(content.get("by table", {ALONE: content})) for name, content in evidence.items()}
    for name, tables in by_table.items():
        first, others = next(iter(by_table.items()))
        if tables != others:
            there = quoted(sorted((tables ^ others) - {ALONE}))
            _refuse(first, name, f"only one has {there}")
    for name, of in inputs.items():
        first, other = next(iter(inputs.items()))
        for table, own in of.items():
            if what := _difference(other[table], own):
                _refuse(first, name, what if table == ALONE else f"in '{table}' {what}")


def _difference(one: InputTable, other: InputTable) -> str:
    """The difference between two tables in words; empty if both have as many records and the same columns."""
    if one.records != other.records:
        return f"one has {plural(one.records, 'record')}, the other {other.records:,}"
    if one.columns != other.columns:
        return f"only one has the columns {quoted(sorted(one.columns ^ other.columns))}"
    return ""


def _refuse(first: str, name: str, what: str) -> NoReturn:
    raise FileError(
        f"'{first}' and '{name}' are releases of different tables: {what}. Figures of different tables cannot be "
        f"compared. Name releases of one table, or of the same linked ones."
    )
