"""evidence.json: everything that a report shows, for programs (its layout is in `evidence_schema`).

There are two. The public one is a function of the released table, of the plan as published, and of facts in their
public form: what depends on the original stands there in bands that no single person moves a figure out of, or not
at all. Where a step spent differential privacy not even bands are shown, for a band was not paid for. The private one
holds every figure as it is.

A page is drawn from one of them and from nothing else, so a page tells no more than its file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from pydantic import TypeAdapter, ValidationError

from shoal.errors import FileError
from shoal.facts import losses, private_form, public_form
from shoal.files.json_text import as_json, read_record
from shoal.judges.class_profile import ClassProfile
from shoal.judges.evidence import RECORD_VERSION, Finding, rounded
from shoal.methods import entry
from shoal.plan.lines import dump_yaml
from shoal.release.evidence_schema import Candidate, EvidenceFile, Exploration
from shoal.release.forms import jsonable, without_bands
from shoal.release.value import LEAST_SEED, Account, ColumnAccount, LargeRelease, Release, SingledOut
from shoal.report.forms import in_words
from shoal.step_result import StepAccount

NAMED = ("columns", "partition", "mask", "replace")
"""Keys of a step in a plan that its name and its columns tell already."""

RISKIEST = 20
"""Records that the private evidence lists, for each measure that has a risk by record."""


IN_BANDS = "What depends on the original is shown in bands in which it stays whoever is left out, or not at all."
NOT_AT_ALL = "Nothing that depends on the original is shown but what was paid for with differential privacy."
AS_IT_IS = "All figures are shown as they are; this is not to leave the building."
BUT_EXACTLY = "The plan's owner chose to publish these figures as they are, though they depend on the original: {}."
"""What is told of the original."""


Labels = Mapping[str, Mapping[Any, str]]
"""Labels of codes, by column."""


def public_evidence(
    release: Release | LargeRelease,
    *,
    files: Mapping[str, str],
    labels: Labels | None = None,
    titles: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The content of release/evidence.json.

    Parameters
    ----------
    files
        SHA-256 of the released files by name.
    labels
        Of codes that the release holds.
    titles
        Labels of columns, where the plan has none.
    """
    account = release.account
    bought = any(True for step in account.steps for _ in losses(step.facts))
    shown = without_bands if bought else jsonable
    verdicts = [
        {
            **form,
            "sentence": form["sentence"].replace(repr(form["requirement"]), repr(name)),
            "requirement": name,
            "facts": shown(form["facts"]),
        }
        for form, name in zip((verdict.public_form() for verdict in release.evidence.verdicts), account.requirements)
    ]
    content = {
        **_of_both(release),
        "singled out": [_singled_out(one) for one in account.singled_out if set(one.columns) <= set(account.untouched)],
        "of the original": " ".join([NOT_AT_ALL if bought else IN_BANDS, *_chosen(account)]),
        "of records": [] if bought else release.evidence.public_of_records(),
        "requirements": verdicts,
        "measures": rounded([_public_figure(f, account, bought=bought) for f in release.evidence.findings]),
        "classes before": None if bought else _before(account, public=True),
        "columns": [_column(_entitled(c, titles or {}), c.released, labels or {}) for c in account.columns],
        "steps": [_step(step, shown(public_form(step.facts)), account.plan["steps"]) for step in account.steps],
        "plan": dump_yaml(account.plan),
        "sha256": files,
        "private": None,
    }
    return cast(dict[str, Any], as_json(content))


def private_evidence(
    release: Release | LargeRelease,
    *,
    frontier: Mapping[str, Any] | None = None,
    labels: Labels | None = None,
    titles: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The content of private/evidence.json.

    Parameters
    ----------
    frontier
        The content of frontier.json, if the plan was chosen by an exploration.
    labels
        Of codes.
    titles
        As in `public_evidence`.
    """
    account = release.account
    before = {finding.title: finding.value for finding in account.before}
    content = {
        **_of_both(release),
        "singled out": [_singled_out(one) for one in account.singled_out],
        "of the original": AS_IT_IS,
        "of records": release.evidence.private_of_records(),
        "requirements": [verdict.private_form() for verdict in release.evidence.verdicts],
        "measures": [private_figure(f, before.get(f.title)) for f in release.evidence.findings],
        "classes before": _before(account, public=False),
        "columns": [
            _column(_entitled(c, titles or {}), c.both or c.released, labels or {}, private=True)
            for c in account.columns
        ],
        "steps": [_step(step, private_form(step.facts), release.record["plan"]["steps"]) for step in account.steps],
        "plan": dump_yaml(release.record["plan"]),
        "sha256": {},
        "private": {
            "seed": str(account.seed),
            "seed is small": account.seed < LEAST_SEED,
            "released unchanged": account.unchanged,
            "values that cannot be": {name: dict(odd) for name, odd in account.odd_values.items()},
            "copies": [_copy(copy) for copy in release.copies] if len(release.copies) > 1 else [],
            "missing values": in_words(account.missing),
            "riskiest": _riskiest_of(release) if isinstance(release, Release) else [],
            "exploration": None if frontier is None else _explored(frontier),
        },
    }
    return cast(dict[str, Any], as_json(content))


def read_evidence(path: Path) -> dict[str, Any]:
    """What an evidence.json holds.

    Raises
    ------
    FileError
        If it is none, or one of another version.
    """
    content = read_record(path, "an assessed release")
    try:
        TypeAdapter(EvidenceFile).validate_python(content)
    except ValidationError:
        raise FileError(f"'{path}' is damaged, or of another version of shoal. Make the release again.") from None
    return content


def _chosen(account: Account) -> list[str]:
    return [BUT_EXACTLY.format(", ".join(account.exact))] if account.exact else []


def _public_figure(finding: Finding, account: Account, *, bought: bool) -> dict[str, Any]:
    """A finding in its public form; where differential privacy was spent, only what the release alone tells.

    A risk on the original as if it were released is a figure of the original, whatever it is a function of.
    """
    form = {**_source(finding), **finding.public_form(), "original": None}
    if finding.measure in account.exact and finding.value is not None:
        form |= {"value": finding.value, "interval": finding.interval, "sentence": finding.sentence}
    if bought and finding.influence == 0:
        form |= {"by_column": without_bands(form["by_column"] or {}) or None, "facts": without_bands(form["facts"])}
    elif bought:  # not even whether there is a figure
        form |= {"value": None, "sentence": "", "by_column": None, "facts": {}}
    return cast(dict[str, Any], jsonable(form))


def private_figure(finding: Finding, original: float | None = None) -> dict[str, Any]:
    """A finding in its private form.

    Parameters
    ----------
    original
        The figure on the original as if it were released, where it was taken.
    """
    return {**_source(finding), **finding.private_form(), "original": original}


def _source(finding: Finding) -> dict[str, str]:
    """Where a measure is from."""
    return {"source": entry(finding.kind, finding.measure).source}


def _of_both(release: Release | LargeRelease) -> dict[str, Any]:
    account = release.account
    return {
        "version": RECORD_VERSION,
        "records": release.records,
        "copies": len(release.copies),
        "promises": len(release.requirements),
        "published exactly": account.exact,
        "proved": account.proved,
        "release": account.about,
        "classes": [_profile(profile) for profile in account.classes],
        "reached": [asdict(level) for level in account.reached],
        "left as they came": account.untouched,
        "made anew": account.made_anew,
        "not released": account.not_released,
        "versions": account.versions,
    }


def left_as_they_came(release: Release | LargeRelease) -> dict[str, Any]:
    """The released columns whose cells are those of the original, and how many records they single out; private."""
    account = release.account
    return {
        "records": release.records,
        "left as they came": list(account.unchanged),
        "singled out": [_singled_out(one) for one in account.singled_out],
    }


def _singled_out(one: SingledOut) -> dict[str, Any]:
    return {"columns": list(one.columns), "alone": one.alone, "beside the quasi-identifiers": one.beside_keys}


def _profile(profile: ClassProfile) -> dict[str, Any]:
    return {
        "missing": profile.missing,
        "records": profile.records,
        "smallest": profile.smallest,
        "fewer than": {str(k): count for k, count in profile.fewer_than.items()},
        "sizes": [asdict(one) for one in profile.sizes],
    }


def _before(account: Account, *, public: bool) -> dict[str, Any] | None:
    """The classes of the original, as far as they may be told."""
    profile, violations = account.classes_before, account.violations_before
    if profile is None or violations is None:
        return None
    return {
        "missing": profile.missing,
        "records": None if public else profile.records,
        "smallest": None if public else profile.smallest,
        "fewer than": jsonable((violations.public() if public else violations.private()) or {}),
    }


def _entitled(column: ColumnAccount, titles: Mapping[str, str]) -> ColumnAccount:
    return column if column.label else replace(column, label=titles.get(column.name, ""))


def _column(column: ColumnAccount, shown: Any, labels: Labels, *, private: bool = False) -> dict[str, Any]:
    known = private and column.missing_before is not None
    return {
        "name": column.name,
        "label": column.label,
        "role": column.role,
        "level": column.level,
        "missing": column.missing,
        "values": {str(code): text for code, text in labels.get(column.name, {}).items()},
        "original": {"missing": column.missing_before, "changed": column.changed} if known else None,
        "distribution": None if shown is None else shown.as_mapping(),
    }


def _step(step: StepAccount, facts: Mapping[str, Any], planned: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What a step was told to do and did; what its facts say already is not said again."""
    said = {label for fact in facts.values() if isinstance(fact, Mapping) for label in fact}
    parameters = {} if step.place is None else planned[step.place]
    return {
        "step": step.step,
        "columns": step.columns,
        "parameters": {
            key: value
            for key, value in parameters.items()
            if key not in NAMED and key.replace("_", " ") not in said and value not in (None, [], {})
        },
        "facts": in_words(facts),
    }


def _copy(copy: Release | LargeRelease) -> dict[str, Any]:
    """What was proved and measured on one of several copies."""
    return {
        "seed": str(copy.account.seed),
        "requirements": [{"requirement": v.requirement, "achieved": v.achieved} for v in copy.evidence.verdicts],
        "measures": [{"title": f.title, "value": f.value} for f in copy.evidence.findings],
        "values that cannot be": sum(sum(odd.values()) for odd in copy.account.odd_values.values()),
    }


def _riskiest_of(release: Release) -> list[dict[str, Any]]:
    return [_riskiest(f, release) for f in release.evidence.findings if f.record_risk is not None]


def _riskiest(finding: Finding, release: Release) -> dict[str, Any]:
    risk = np.asarray(finding.record_risk)
    order = np.argsort(-np.nan_to_num(risk, nan=-1.0), kind="stable")[:RISKIEST]
    order = order[risk[order] > 0]
    return {"title": finding.title, "rows": release.rows[order] + 1, "risk": risk[order]}


def _explored(frontier: Mapping[str, Any]) -> dict[str, Any]:
    points = [{key: point[key] for key in Candidate.__annotations__} for point in frontier["points"]]
    return {**{key: frontier[key] for key in Exploration.__annotations__}, "points": points}
