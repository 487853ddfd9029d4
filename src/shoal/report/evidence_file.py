"""evidence.json: everything the public page shows, for programs, and the JSON schema that it obeys."""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, cast

from pydantic import ConfigDict, TypeAdapter, with_config
from typing_extensions import TypedDict

from shoal.judges.evidence import RECORD_VERSION, Evidence, as_json, rounded
from shoal.report.content import columns_of, in_words, removed, threshold_of, unchanged
from shoal.report.dossier import Dossier

CLOSED = ConfigDict(extra="forbid")


@with_config(CLOSED)
class Requirement(TypedDict):
    """A requirement, and whether it was proved."""

    requirement: str
    holds: bool
    required: float
    achieved: float | None
    sentence: str
    facts: dict[str, Any]


@with_config(CLOSED)
class Estimate(TypedDict):
    """A confidence interval."""

    low: float
    high: float
    confidence: float


@with_config(CLOSED)
class Figure(TypedDict):
    """A figure of risk or loss; null with a reason where it could not be computed.

    `original` is a risk's figure on the original table as if it were released; null where it was not taken.
    """

    measure: str
    title: str
    value: float | None
    unit: str
    original: float | None
    limits: tuple[float, float | None]
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
    """Shares in bins. Those of few records are left out; the outer ones hold everything beyond them."""

    scale: Literal["quantitative", "temporal", "nominal"]
    bins: list[Bin]


@with_config(CLOSED)
class ReleasedColumn(TypedDict):
    """A released column; no distribution where it would tell of few records."""

    name: str
    label: str
    role: str
    level: str
    distribution: Distribution | None


@with_config(CLOSED)
class Step(TypedDict):
    """What a step did, in the words of the page: figures as texts, counts of few records as 'fewer than 5'."""

    step: str
    facts: dict[str, str]


@with_config(CLOSED)
class Candidate(TypedDict):
    """A plan that was tried; null where a figure could not be computed."""

    name: str
    risk: float | None
    utility: float | None
    holds: bool


@with_config(CLOSED)
class Exploration(TypedDict):
    """Why this plan: the risk and loss of all that were tried."""

    risk: str
    utility: str
    better: list[Literal["lower", "higher"]]
    pareto: list[str]
    recommended: str | None
    because: str
    points: list[Candidate]


EvidenceFile = TypedDict(
    "EvidenceFile",
    {
        "version": Literal[1],
        "records": int,
        "requirements": list[Requirement],
        "measures": list[Figure],
        "columns": list[ReleasedColumn],
        "released unchanged": list[str],
        "not released": list[str],
        "steps": list[Step],
        "plan": str,
        "exploration": Exploration | None,
        "versions": dict[str, str],
        "sha256": dict[str, str],
    },
)
with_config(CLOSED)(EvidenceFile)


def evidence_file(
    dossier: Dossier, *, files: Mapping[str, str], frontier: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The content of evidence.json, as safe to publish as the public page.

    Parameters
    ----------
    files
        SHA-256 of the released files by name.
    frontier
        The content of frontier.json, if the plan was chosen by an exploration.
    """
    told = Evidence(verdicts=dossier.public_verdicts, findings=dossier.findings).as_mapping()
    threshold = threshold_of(dossier)
    steps = [in_words(facts, threshold, len(dossier.original)) for facts in dossier.steps]
    return cast(
        dict[str, Any],
        as_json(
            {
                "version": RECORD_VERSION,
                "records": len(dossier.released),
                "requirements": told["requirements"],
                "measures": rounded(
                    [{**figure, "original": dossier.figure_before(figure["title"])} for figure in told["measures"]]
                ),
                "columns": columns_of(dossier, threshold, public=True),
                "released unchanged": unchanged(dossier),
                "not released": removed(dossier),
                "steps": [{"step": name, "facts": dict(facts)} for name, facts in steps],
                "plan": dossier.public_plan,
                "exploration": None
                if frontier is None
                else {
                    **{key: frontier[key] for key in Exploration.__annotations__},
                    "points": rounded(
                        [{key: point[key] for key in Candidate.__annotations__} for point in frontier["points"]]
                    ),
                },
                "versions": dossier.versions,
                "sha256": files,
            }
        ),
    )


def evidence_schema() -> dict[str, Any]:
    """The JSON schema of evidence.json."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **TypeAdapter(EvidenceFile).json_schema(),
        "title": "shoal evidence",
    }
