"""The layout of evidence.json, the JSON schema that it obeys, and so what every page is drawn from.

What pages must know of a measure or a privacy model beside its figure stands here too, as the method declares it, so
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

Kind = Literal["risk", "utility"]

Spread = Literal["quantitative", "temporal", "nominal"]

TableName = Literal["original", "released"]

Question = Literal["singling out", "linkability", "inference"]
"""A question of the Article 29 Working Party (WP216, section 2.2.2) that a figure answers."""


class Requirement(TypedDict):
    """A verdict; that of a rule of the data `protects` nobody, and names no `model`.

    `limited` is the title of the measure whose figure it is a limit on; empty for a privacy model. `counts_classes`
    tells of a limit on the smallest class.
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


class Measured(TypedDict):
    """A figure of risk or of loss (utility): as it is, in a band, or null where it was not computed or is private."""

    measure: str
    kind: Kind
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
    """What a measure declares for its readers; see `shoal.judges.base.Measure`."""

    source: str
    question: Question | None
    of_made_up: bool
    prominence: int
    headline: str
    unchanged: float | None


class Figure(Declared, Measured):
    """A figure in a report.

    `original` is a risk's figure on the original table as if it were released; private, and null where it was not
    taken.
    """

    original: float | Bound | None


class Bin(TypedDict):
    """The share of a table's records in a range of values, or in a category; times in milliseconds since 1970."""

    table: TableName
    share: float
    low: NotRequired[float]
    high: NotRequired[float]
    category: NotRequired[str]


class Distribution(TypedDict):
    """Shares in bins; `further` counts the categories that no bin shows."""

    scale: Spread
    bins: list[Bin]
    further: int


class ColumnBefore(TypedDict):
    """A column against the original: cells of the same records without a value, and the share of cells changed."""

    missing: int
    changed: float


class ReleasedColumn(TypedDict):
    """A released column; no distribution where no cell of it is known.

    `missing` counts the released cells without a value, null where nobody did; `values` has the labels of codes.
    `original` is private.
    """

    name: str
    label: str
    role: str
    level: str
    missing: int | None
    values: dict[str, str]
    original: ColumnBefore | None
    distribution: Distribution | None


class ClassSizes(TypedDict):
    """The records whose classes have `low` to `high` records; null for no end."""

    low: int
    high: int | None
    records: int


Classes = TypedDict(
    "Classes",
    {"missing": str, "records": int, "smallest": int, "fewer than": dict[str, int], "sizes": list[ClassSizes]},
)
"""How many released records share their quasi-identifiers, by one reading of missing cells."""


ClassesBefore = TypedDict(
    "ClassesBefore",
    {"missing": str, "records": int | None, "smallest": int | None, "fewer than": dict[str, int | Bound]},
)
"""The same of the original; null, or left out, where that is private."""


class Reached(TypedDict):
    """The level that the release has of a privacy model, required or not."""

    model: str
    question: Question | None
    title: str
    value: float
    better: Better


class Step(TypedDict):
    """What a step did, in the words of the page: figures as texts; and its parameters, as the plan has them."""

    step: str
    columns: list[str]
    parameters: ByLabel
    facts: dict[str, str]


class Riskiest(TypedDict):
    """The records at highest risk, by rows of the original from 1, and their risk."""

    title: str
    rows: list[int]
    risk: list[float]


class CopyRequirement(TypedDict):
    """What a copy reaches of a requirement; rules have no figure."""

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
"""What was proved and measured on one of several copies."""


SingledOutBy = TypedDict("SingledOutBy", {"columns": list[str], "alone": int, "beside the quasi-identifiers": int})
"""Records that no other is like in some columns that left as they came, and in these and the quasi-identifiers."""


Unchanged = TypedDict("Unchanged", {"records": int, "left as they came": list[str], "singled out": list[SingledOutBy]})
"""Of a release what leaves unchanged, and how many of its records that singles out."""


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
"""What only those may see who may see everything."""


LONGEST_NAME = 200


class Approval(TypedDict):
    """Who approved what, and when; the hash is of the released cells and of what is public besides."""

    by: Annotated[str, MaxLen(LONGEST_NAME)]
    when: str
    sha256: str


class OfRecords(TypedDict):
    """An identifier of which several records have one value, so that what counts records counts no persons.

    `promises` are the requirements that count records. What follows is private, and left out in public: how many
    `values` how many `records` have, the fewest values in a class (`smallest`), and how many of the classes (`groups`)
    have fewer than `k` (`few`); null where classes were not counted so.
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
        "measures": list[Measured],
    },
)
"""What judges found, as record.json has it."""


class Comparable(TypedDict):
    """What of a release stands beside that of others."""

    records: int
    requirements: list[Requirement]
    measures: list[Figure]
    reached: list[Reached]
    columns: list[ReleasedColumn]


EvidenceFile = TypedDict(
    "EvidenceFile",
    {
        "version": Literal[2],
        "of the original": str,
        "published exactly": list[str],
        "proved": bool,
        "release": dict[str, str],
        "records": int,
        "copies": int,
        "promises": int,
        "of records": list[OfRecords],
        "requirements": list[Requirement],
        "measures": list[Figure],
        "classes": list[Classes],
        "classes before": ClassesBefore | None,
        "reached": list[Reached],
        "columns": list[ReleasedColumn],
        "left as they came": list[str],
        "singled out": list[SingledOutBy],
        "made anew": list[str],
        "not released": list[str],
        "steps": list[Step],
        "plan": str,
        "versions": dict[str, str],
        "sha256": dict[str, str],
        "private": Private | None,
        "approval": NotRequired[Approval],
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
