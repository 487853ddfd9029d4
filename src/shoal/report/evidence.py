"""The layout of evidence.json, from which every page is drawn, and its JSON schema.

It also holds what pages must know of a measure or a privacy model besides its figure, as the method declares it, so
that no page names a method.
"""

from typing import Annotated, Literal, NotRequired

from annotated_types import MaxLen
from pydantic import TypeAdapter, with_config
from pydantic.json_schema import JsonSchemaValue
from typing_extensions import TypedDict

from shoal.report.exploration import Exploration
from shoal.report.forms import CLOSED, Bound, Limits
from shoal.vocabulary.facts import Better, ByLabel

MeasureKind = Literal["risk", "utility"]

Spread = Literal["quantitative", "temporal", "nominal"]

TableName = Literal["original", "released"]

Question = Literal["singling out", "linkability", "inference"]
"""A question of the Article 29 Working Party (WP216, section 2.2.2) that a figure answers."""


class Requirement(TypedDict):
    """A verdict; that on an edit rule `protects` nobody and names no `model`.

    `limited` is the title of the measure that it limits; empty for a privacy model. `counts_classes` is true for a
    limit on the smallest class.
    """

    requirement: str
    holds: bool
    required: float
    achieved: float | None
    sentence: str
    facts: ByLabel
    protects: bool
    model: str
    limited: str
    counts_classes: bool


class Estimate(TypedDict):
    """A confidence interval."""

    low: float
    high: float
    confidence: float


class MeasuredFigure(TypedDict):
    """A figure of risk or loss: exact, in a band, or null if it was not computed or is private."""

    measure: str
    kind: MeasureKind
    title: str
    value: float | Bound | None
    unit: str
    limits: Limits
    better: Better
    sentence: str
    reason: str
    interval: Estimate | None
    by_column: ByLabel | None
    facts: ByLabel


class Declared(TypedDict):
    """Declarations of a measure for its readers; see `shoal.judges.base.Measure`."""

    source: str
    question: Question | None
    of_made_up: bool
    prominence: int
    headline: str
    unchanged: float | None
    score_weight: float


class ReportedFigure(Declared, MeasuredFigure):
    """A figure in a report.

    `original` is a risk's figure on the original table as if it were released; private, and null if it was not taken.
    """

    original: float | Bound | None


class Bin(TypedDict):
    """Share of a table's records in a range of values, or in a category; times in milliseconds since 1970.

    `coarse` is the part of the share that comes from labels of several values, spread evenly over these.
    """

    table: TableName
    share: float
    coarse: NotRequired[float]
    low: NotRequired[float]
    high: NotRequired[float]
    category: NotRequired[str]


class Distribution(TypedDict):
    """Shares in bins; `further` counts the categories that no bin shows."""

    scale: Spread
    bins: list[Bin]
    further: int


class ColumnBefore(TypedDict):
    """A column compared with the original.

    `missing` counts missing cells of the same records, `changed` is the share of cells changed, `distinct` the number
    of values. For numbers, `mean` is the change of the mean, in standard deviations, and `spread` the change of the
    standard deviation, as a share; null where there is no scale.
    """

    missing: int
    changed: float
    distinct: int
    mean: float | None
    spread: float | None


class ReleasedColumn(TypedDict):
    """A released column; it has no distribution if no cell of it is known.

    `missing` counts the missing released cells and `distinct` the released values, null if they were not counted;
    `values` has the labels of codes. `original` is private.
    """

    name: str
    label: str
    role: str
    level: str
    missing: int | None
    distinct: int | None
    values: dict[str, str]
    original: ColumnBefore | None
    distribution: Distribution | None


class ClassSizes(TypedDict):
    """Number of records in classes of `low` to `high` records; a null `high` means no upper end."""

    low: int
    high: int | None
    records: int


Classes = TypedDict(
    "Classes",
    {"missing": str, "records": int, "smallest": int, "fewer than": dict[str, int], "sizes": list[ClassSizes]},
)
"""Class sizes of the released records by their quasi-identifiers, under one reading of missing cells."""


ClassesBefore = TypedDict(
    "ClassesBefore",
    {"missing": str, "records": int | None, "smallest": int | None, "fewer than": dict[str, int | Bound]},
)
"""Class sizes of the original records; null or left out where that is private."""


class Reached(TypedDict):
    """The level that the release reaches of a privacy model, required or not."""

    model: str
    question: Question | None
    title: str
    value: float
    better: Better


class ReportedStep(TypedDict):
    """The parameters of a step, as the plan has them, and its facts, in the words of the page."""

    step: str
    columns: list[str]
    parameters: ByLabel
    facts: dict[str, str]


class Riskiest(TypedDict):
    """The records at highest risk, by row of the original from 1, and their risk."""

    title: str
    rows: list[int]
    risk: list[float]


class CopyRequirement(TypedDict):
    """The level that a copy reaches of a requirement; rules have none."""

    requirement: str
    achieved: float | None


class CopyMeasure(TypedDict):
    """A figure of a copy."""

    title: str
    value: float | None


Copy = TypedDict(
    "Copy",
    {"seed": str, "requirements": list[CopyRequirement], "measures": list[CopyMeasure], "values that cannot be": int},
)
"""Verdicts and figures of one of several copies."""


SingledOutBy = TypedDict("SingledOutBy", {"columns": list[str], "alone": int, "beside the quasi-identifiers": int})
"""Records that are unique on some unchanged columns, and on these and the quasi-identifiers."""


Unchanged = TypedDict(
    "Unchanged",
    {"records": int, "left as they came": list[str], "accepted": list[str], "singled out": list[SingledOutBy]},
)
"""The unchanged columns of a release, and the records that they single out."""


Private = TypedDict(
    "Private",
    {
        "seed": str,
        "seed is small": bool,
        "released unchanged": list[str],
        "values that cannot be": dict[str, dict[str, int]],
        "copies": list[Copy],
        "missing values": dict[str, str],
        "riskiest": list[Riskiest],
        "exploration": Exploration | None,
    },
)
"""The private part, for those who may see everything."""


LONGEST_NAME = 200


class Approval(TypedDict):
    """An approval: name, time, and a hash of the released cells and the public evidence."""

    by: Annotated[str, MaxLen(LONGEST_NAME)]
    when: str
    sha256: str


class OfRecords(TypedDict):
    """An identifier that repeats, so that figures which count records do not count persons.

    `promises` are the requirements that count records. The other keys are private and left out in public: the number of
    `values`, the number of `records` that have one, the fewest values in a class (`smallest`), the number of classes
    (`groups`), and how many of these have fewer than `k` values (`few`); null where classes were not counted so.
    """

    identifier: str
    sentence: str
    promises: list[str]
    records: NotRequired[int]
    values: NotRequired[int]
    smallest: NotRequired[int | None]
    groups: NotRequired[int | None]
    few: NotRequired[int | None]
    k: NotRequired[int]


Judged = TypedDict(
    "Judged",
    {
        "version": Literal[2],
        "of records": NotRequired[list[OfRecords]],
        "requirements": list[Requirement],
        "measures": list[MeasuredFigure],
    },
)
"""Results of the judges, as in record.json."""


Comparable = TypedDict(
    "Comparable",
    {
        "records": int,
        "requirements": list[Requirement],
        "measures": list[ReportedFigure],
        "reached": list[Reached],
        "columns": list[ReleasedColumn],
        "by table": NotRequired["dict[str, Comparable]"],
    },
)
"""The parts of a release's evidence that are set beside those of others; of linked tables, with those of each."""


TableOfSeveral = TypedDict(
    "TableOfSeveral",
    {"name": str, "persons": int | None, "records": int, "left as they came": list[str], "kept": ReportedFigure | None},
)
"""One of several linked tables: its persons (null where no key tells them), and the information kept of it."""


EvidenceFile = TypedDict(
    "EvidenceFile",
    {
        "version": Literal[2],
        "context": str,
        "of the original": str,
        "published exactly": list[str],
        "proved": bool,
        "release": dict[str, str],
        "records": int,
        "copies": int,
        "promises": int,
        "of records": list[OfRecords],
        "requirements": list[Requirement],
        "measures": list[ReportedFigure],
        "classes": list[Classes],
        "classes before": ClassesBefore | None,
        "reached": list[Reached],
        "columns": list[ReleasedColumn],
        "left as they came": list[str],
        "singled out": list[SingledOutBy],
        "made anew": list[str],
        "not released": list[str],
        "steps": list[ReportedStep],
        "plan": str,
        "versions": dict[str, str],
        "sha256": dict[str, str],
        "private": Private | None,
        "approval": NotRequired[Approval],
        "accepted": NotRequired[list[str]],
        "tables": NotRequired[list[TableOfSeveral]],
    },
)
with_config(CLOSED)(EvidenceFile)


def evidence_schema() -> JsonSchemaValue:
    """The JSON schema of evidence.json."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **TypeAdapter(EvidenceFile).json_schema(),
        "title": "shoal evidence",
    }
