"""The layout of evidence.json, and the JSON schema that it obeys."""

from typing import Annotated, Any, Literal, NotRequired

from annotated_types import MaxLen
from pydantic import ConfigDict, TypeAdapter, with_config
from typing_extensions import TypedDict

from shoal.report.forms import Bound

CLOSED = ConfigDict(extra="forbid")


@with_config(CLOSED)
class Requirement(TypedDict):
    """A verdict; that of a rule of the data `protects` nobody, and names no `model`."""

    requirement: str
    holds: bool
    required: float
    achieved: float | None
    sentence: str
    facts: dict[str, Any]
    protects: bool
    model: str


@with_config(CLOSED)
class Estimate(TypedDict):
    """A confidence interval."""

    low: float
    high: float
    confidence: float


@with_config(CLOSED)
class Figure(TypedDict):
    """A figure of risk or of loss (utility): as it is, in a band, or null where it could not be computed or is private.

    `original` is a risk's figure on the original table as if it were released; private, and null where it was not
    taken.
    """

    measure: str
    kind: Literal["risk", "utility"]
    source: str
    title: str
    value: float | Bound | None
    original: float | Bound | None
    unit: str
    limits: tuple[float | None, float | None]
    better: Literal["lower", "higher"]
    sentence: str
    reason: str
    interval: Estimate | None
    by_column: dict[str, Any] | None
    facts: dict[str, Any]


@with_config(CLOSED)
class Bin(TypedDict):
    """The share of a table's records in a range of values, or in a category."""

    table: Literal["original", "released"]
    share: float
    low: NotRequired[float]
    high: NotRequired[float]
    category: NotRequired[str]


@with_config(CLOSED)
class Distribution(TypedDict):
    """Shares in bins; `further` counts the categories that no bin shows."""

    scale: Literal["quantitative", "temporal", "nominal"]
    bins: list[Bin]
    further: int


@with_config(CLOSED)
class ColumnBefore(TypedDict):
    """A column against the original: cells of the same records without a value, and the share of cells changed."""

    missing: int
    changed: float


@with_config(CLOSED)
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


@with_config(CLOSED)
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
with_config(CLOSED)(Classes)


ClassesBefore = TypedDict(
    "ClassesBefore",
    {"missing": str, "records": int | None, "smallest": int | None, "fewer than": dict[str, int | Bound]},
)
"""The same of the original; null, or left out, where that is private."""
with_config(CLOSED)(ClassesBefore)


@with_config(CLOSED)
class Reached(TypedDict):
    """The level that the release has of a privacy model, required or not."""

    model: str
    title: str
    value: float
    better: Literal["lower", "higher"]


@with_config(CLOSED)
class Step(TypedDict):
    """What a step did, in the words of the page: figures as texts; and its parameters, as the plan has them."""

    step: str
    columns: list[str]
    parameters: dict[str, Any]
    facts: dict[str, str]


@with_config(CLOSED)
class Candidate(TypedDict):
    """A plan that was tried; null where a figure could not be computed."""

    name: str
    risk: float | None
    utility: float | None
    holds: bool


@with_config(CLOSED)
class ExploredAxis(TypedDict):
    """What candidates are compared by: a measure, with its parameters in its title."""

    measure: str
    title: str
    better: Literal["lower", "higher"]
    unit: str
    limits: tuple[float | None, float | None]


@with_config(CLOSED)
class ExploredAxes(TypedDict):
    """The two measures by which candidates are compared."""

    risk: ExploredAxis
    utility: ExploredAxis


@with_config(CLOSED)
class Landmark(TypedDict):
    """The figures of the unprotected table; null where one could not be computed."""

    risk: float | None
    utility: float | None


@with_config(CLOSED)
class Exploration(TypedDict):
    """Why this plan: the risk and loss of all that were tried."""

    axes: ExploredAxes
    unprotected: Landmark | None
    pareto: list[str]
    recommended: str | None
    because: str
    points: list[Candidate]


@with_config(CLOSED)
class Riskiest(TypedDict):
    """The records at highest risk, by rows of the original from 1, and their risk."""

    title: str
    rows: list[int]
    risk: list[float]


@with_config(CLOSED)
class CopyRequirement(TypedDict):
    """What a copy reaches of a requirement; rules have no figure."""

    requirement: str
    achieved: float | None


@with_config(CLOSED)
class CopyMeasure(TypedDict):
    """A figure of a copy."""

    title: str
    value: float | None


Copy = TypedDict(
    "Copy",
    {"seed": str, "requirements": list[CopyRequirement], "measures": list[CopyMeasure], "values that cannot be": int},
)
"""What was proved and measured on one of several copies."""
with_config(CLOSED)(Copy)


SingledOutBy = TypedDict("SingledOutBy", {"columns": list[str], "alone": int, "beside the quasi-identifiers": int})
"""Records that no other is like in some columns that left as they came, and in these and the quasi-identifiers."""
with_config(CLOSED)(SingledOutBy)


Private = TypedDict(
    "Private",
    {
        "seed": str,
        "seed is small": bool,
        "released unchanged": list[str],
        "singled out": NotRequired[dict[str, int]],
        "values that cannot be": NotRequired[dict[str, dict[str, int]]],
        "copies": NotRequired[list[Copy]],
        "missing values": dict[str, str],
        "riskiest": list[Riskiest],
        "exploration": Exploration | None,
    },
)
"""What only those may see who may see everything."""
with_config(CLOSED)(Private)


LONGEST_NAME = 200


@with_config(CLOSED)
class Approval(TypedDict):
    """Who approved what, and when; the hash is of the released cells and of what is public besides."""

    by: Annotated[str, MaxLen(LONGEST_NAME)]
    when: str
    sha256: str


@with_config(CLOSED)
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
        "of records": NotRequired[list[OfRecords]],
        "requirements": list[Requirement],
        "measures": list[Figure],
        "classes": list[Classes],
        "classes before": ClassesBefore | None,
        "reached": list[Reached],
        "columns": list[ReleasedColumn],
        "left as they came": list[str],
        "singled out": NotRequired[list[SingledOutBy]],
        "made anew": NotRequired[list[str]],
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


def evidence_schema() -> dict[str, Any]:
    """The JSON schema of evidence.json."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **TypeAdapter(EvidenceFile).json_schema(),
        "title": "shoal evidence",
    }
