"""evidence.json: everything that a report shows, for programs, and the JSON schema that it obeys.

There are two. The public one is a function of the released table, of the plan as published, and of facts in their
public form: what depends on the original stands there in bands that no single person moves a figure out of, or not
at all. Where a step spent differential privacy not even bands are shown, for a band was not paid for. The private one
holds every figure as it is.

A page is drawn from one of them and from nothing else, so a page tells no more than its file.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal, NotRequired, cast

import numpy as np
from pydantic import ConfigDict, TypeAdapter, with_config
from typing_extensions import TypedDict

from shoal.facts import losses, private_form, public_form
from shoal.files.json_text import as_json
from shoal.judges.evidence import RECORD_VERSION, Finding, rounded
from shoal.plan.lines import dump_yaml
from shoal.release import Account, ColumnAccount, Release
from shoal.report.forms import in_words, jsonable, without_bands
from shoal.step_result import StepAccount

CLOSED = ConfigDict(extra="forbid")

RISKIEST = 20
"""Records that the private evidence lists, for each measure that has a risk by record."""


Bound = TypedDict("Bound", {"at most": NotRequired[float], "at least": NotRequired[float], "unit": NotRequired[str]})
"""A band: all that is told of a figure that depends on the original."""
with_config(CLOSED)(Bound)


@with_config(CLOSED)
class Requirement(TypedDict):
    """A verdict; `protects` is false for a rule of the data, which holds without protecting anybody."""

    requirement: str
    holds: bool
    required: float
    achieved: float | None
    sentence: str
    facts: dict[str, Any]
    protects: bool


@with_config(CLOSED)
class Estimate(TypedDict):
    """A confidence interval."""

    low: float
    high: float
    confidence: float


@with_config(CLOSED)
class Figure(TypedDict):
    """A figure of risk or loss: as it is, in a band, or null where it could not be computed or is private.

    `original` is a risk's figure on the original table as if it were released; private, and null where it was not
    taken.
    """

    measure: str
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
    """Shares in bins."""

    scale: Literal["quantitative", "temporal", "nominal"]
    bins: list[Bin]


@with_config(CLOSED)
class ReleasedColumn(TypedDict):
    """A released column; no distribution where no cell of it is known."""

    name: str
    label: str
    role: str
    level: str
    distribution: Distribution | None


@with_config(CLOSED)
class Step(TypedDict):
    """What a step did, in the words of the page: figures as texts."""

    step: str
    columns: list[str]
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


@with_config(CLOSED)
class Riskiest(TypedDict):
    """The records at highest risk, by rows of the original from 1, and their risk."""

    title: str
    rows: list[int]
    risk: list[float]


Private = TypedDict(
    "Private",
    {
        "seed": str,
        "released unchanged": list[str],
        "singled out": dict[str, int],
        "missing values": dict[str, str],
        "riskiest": list[Riskiest],
        "exploration": Exploration | None,
    },
)
"""What only those may see who may see everything."""
with_config(CLOSED)(Private)


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
        "requirements": list[Requirement],
        "measures": list[Figure],
        "columns": list[ReleasedColumn],
        "left as they came": list[str],
        "not released": list[str],
        "steps": list[Step],
        "plan": str,
        "versions": dict[str, str],
        "sha256": dict[str, str],
        "private": Private | None,
    },
)
with_config(CLOSED)(EvidenceFile)


IN_BANDS = "What depends on the original is shown in bands in which it stays whoever is left out, or not at all."
NOT_AT_ALL = "Nothing that depends on the original is shown but what was paid for with differential privacy."
AS_IT_IS = "All figures are shown as they are; this is not to leave the building."
BUT_EXACTLY = "The plan's owner chose to publish these figures as they are, though they depend on the original: {}."
"""What is told of the original."""


def public_evidence(release: Release, *, files: Mapping[str, str]) -> dict[str, Any]:
    """The content of release/evidence.json.

    Parameters
    ----------
    files
        SHA-256 of the released files by name.
    """
    account = release.account
    bought = any(True for step in account.steps for _ in losses(step.facts))
    shown = without_bands if bought else jsonable
    verdicts = [
        {**form, "sentence": form["sentence"].replace(repr(form["requirement"]), repr(name)), "requirement": name}
        for form, name in zip((verdict.public_form() for verdict in release.evidence.verdicts), account.requirements)
    ]
    content = {
        **_of_both(release),
        "of the original": " ".join([NOT_AT_ALL if bought else IN_BANDS, *_chosen(account)]),
        "requirements": shown(verdicts),
        "measures": rounded(shown([_public_figure(f, account, bought=bought) for f in release.evidence.findings])),
        "columns": [_column(column, column.released) for column in account.columns],
        "steps": [_step(step, shown(public_form(step.facts))) for step in account.steps],
        "plan": account.plan_text,
        "sha256": files,
        "private": None,
    }
    return cast(dict[str, Any], as_json(content))


def private_evidence(release: Release, *, frontier: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The content of private/evidence.json.

    Parameters
    ----------
    frontier
        The content of frontier.json, if the plan was chosen by an exploration.
    """
    account = release.account
    before = {finding.title: finding.value for finding in account.before}
    content = {
        **_of_both(release),
        "of the original": AS_IT_IS,
        "requirements": [verdict.private_form() for verdict in release.evidence.verdicts],
        "measures": [{**f.private_form(), "original": before.get(f.title)} for f in release.evidence.findings],
        "columns": [_column(column, column.both or column.released) for column in account.columns],
        "steps": [_step(step, private_form(step.facts)) for step in account.steps],
        "plan": dump_yaml(release.record["plan"]),
        "sha256": {},
        "private": {
            "seed": str(account.seed),
            "released unchanged": account.unchanged,
            "singled out": dict(account.singled_out),
            "missing values": in_words(account.missing),
            "riskiest": [_riskiest(f, release) for f in release.evidence.findings if f.record_risk is not None],
            "exploration": None if frontier is None else _explored(frontier),
        },
    }
    return cast(dict[str, Any], as_json(content))


def _chosen(account: Account) -> list[str]:
    return [BUT_EXACTLY.format(", ".join(account.exact))] if account.exact else []


def _public_figure(finding: Finding, account: Account, *, bought: bool) -> dict[str, Any]:
    """A finding in its public form; where differential privacy was spent, only what the release alone tells.

    A risk on the original as if it were released is a figure of the original, whatever it is a function of.
    """
    form = {**finding.public_form(), "original": None}
    if finding.measure in account.exact and finding.value is not None:
        interval = None if finding.interval is None else asdict(finding.interval)
        return form | {"value": finding.value, "interval": interval, "sentence": finding.sentence}
    return form | {"value": None, "sentence": ""} if bought and finding.influence != 0 else form


def _of_both(release: Release) -> dict[str, Any]:
    account = release.account
    return {
        "version": RECORD_VERSION,
        "records": len(release.table),
        "copies": len(release.copies),
        "promises": len(release.requirements),
        "published exactly": account.exact,
        "proved": account.proved,
        "release": account.about,
        "left as they came": account.untouched,
        "not released": account.not_released,
        "versions": account.versions,
    }


def _column(column: ColumnAccount, shown: Any) -> dict[str, Any]:
    return {
        "name": column.name,
        "label": column.label,
        "role": column.role,
        "level": column.level,
        "distribution": None if shown is None else shown.as_mapping(),
    }


def _step(step: StepAccount, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {"step": step.step, "columns": step.columns, "facts": in_words(facts)}


def _riskiest(finding: Finding, release: Release) -> dict[str, Any]:
    risk = np.asarray(finding.record_risk)
    order = np.argsort(-np.nan_to_num(risk, nan=-1.0), kind="stable")[:RISKIEST]
    order = order[~np.isnan(risk[order])]
    return {"title": finding.title, "rows": release.rows[order] + 1, "risk": risk[order]}


def _explored(frontier: Mapping[str, Any]) -> dict[str, Any]:
    points = [{key: point[key] for key in Candidate.__annotations__} for point in frontier["points"]]
    return {**{key: frontier[key] for key in Exploration.__annotations__}, "points": points}


def evidence_schema() -> dict[str, Any]:
    """The JSON schema of evidence.json."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **TypeAdapter(EvidenceFile).json_schema(),
        "title": "shoal evidence",
    }
