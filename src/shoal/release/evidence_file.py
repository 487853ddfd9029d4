"""evidence.json: everything that a report shows, for programs (its layout is in `report.evidence`).

There are two. The public one is a function of the released table, of the published plan, and of facts in their public
form: a figure that depends on the original is shown as a band that no single person can move it out of, or not at all.
If a step spent differential privacy, even bands are left out, since no privacy loss was paid for them. The private one
holds every figure as it is.

A page is drawn from one of the two and nothing else, so it tells no more than its file.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from pydantic import ValidationError

from shoal.constraints.verdicts import published
from shoal.judges.class_profile import ClassProfile
from shoal.judges.evidence import RECORD_VERSION, Finding, Verdict, rounded
from shoal.kernels.arrays import least
from shoal.plan.lines import dump_yaml
from shoal.release.unchanged import sets_unchanged
from shoal.release.value import LEAST_SEED, Account, ColumnAccount, Release, SingledOut, WholeRelease
from shoal.report.evidence import (
    Classes,
    ClassesBefore,
    Copy,
    Declared,
    Distribution,
    EvidenceFile,
    OfRecords,
    Private,
    ReleasedColumn,
    ReportedFigure,
    ReportedStep,
    Requirement,
    Riskiest,
    SingledOutBy,
    Unchanged,
)
from shoal.report.exploration import Exploration, TriedPlan
from shoal.report.forms import in_words
from shoal.table.files.json_text import as_json, form_of, read_record
from shoal.table.step_result import StepAccount
from shoal.vocabulary.errors import FileError
from shoal.vocabulary.facts import Band, ByLabel, Interval, losses, private_form, public_form
from shoal.vocabulary.registry import entry

NAMED = ("columns", "partition", "mask", "replace")
"""Keys of a step in a plan that repeat its name and its columns."""

RISKIEST = 20
"""Records that the private evidence lists, for each measure that has a risk by record."""


IN_BANDS = "Figures that depend on the original are shown as bands that hold whoever is left out, or not at all."
NOT_AT_ALL = "Figures that depend on the original are left out, except those paid for with differential privacy."
OF_PERSONS = "Figures that depend on the original are left out, since a person may have any number of its records."
AS_IT_IS = "All figures are exact; this file is not to leave the building."
BUT_EXACTLY = "The plan's owner chose to publish these figures as they are, though they depend on the original: {}."
"""What is told of the original."""


ValueLabels = Mapping[str, Mapping[Any, str]]
"""Labels of codes, by column."""


def public_evidence(
    release: Release,
    *,
    files: Mapping[str, str],
    labels: ValueLabels | None = None,
    titles: Mapping[str, str] | None = None,
) -> EvidenceFile:
    """The content of release/evidence.json.

    Parameters
    ----------
    files
        SHA-256 of the released files by name.
    labels
        Labels of codes that the release holds.
    titles
        Titles of columns for which the plan has no label.
    """
    account = release.account
    bought = any(True for step in account.steps for _ in losses(step.facts))
    banded = not (bought or account.several_records)
    shown = _jsonable if banded else _without_bands
    singled = {single.columns: single for single in account.singled_out}
    sentence = IN_BANDS if banded else NOT_AT_ALL if bought else OF_PERSONS
    verdicts = [
        verdict if verdict.requirement == name else published(verdict, name)
        for verdict, name in zip(release.evidence.verdicts, account.requirements)
    ]
    return _evidence(
        release,
        singled_out=[singled[s] for s in sets_unchanged(account.untouched, account.accepted) if s in singled],
        of_the_original=" ".join([sentence, *_chosen(account)]),
        of_records=[] if bought else release.evidence.public_of_records(),
        requirements=[_public_requirement(verdict, shown) for verdict in verdicts],
        measures=rounded([_public_figure(f, account, banded=banded) for f in release.evidence.findings]),
        classes_before=_before(account, public=True) if banded else None,
        columns=[_column(_entitled(c, titles or {}), c.released, labels or {}) for c in account.columns],
        steps=[_step(step, shown(public_form(step.facts)), account.plan) for step in account.steps],
        plan=account.plan,
        files=files,
    )


def private_evidence(
    release: Release,
    *,
    frontier: Mapping[str, Any] | None = None,
    labels: ValueLabels | None = None,
    titles: Mapping[str, str] | None = None,
) -> EvidenceFile:
    """The content of private/evidence.json.

    Parameters
    ----------
    frontier
        The content of frontier.json, if the plan was chosen by an exploration.
    labels
        Labels of codes.
    titles
        As in `public_evidence`.
    """
    account, plan = release.account, release.record["plan"]
    before = {finding.title: finding.value for finding in account.before}
    return _evidence(
        release,
        singled_out=account.singled_out,
        of_the_original=AS_IT_IS,
        of_records=release.evidence.private_of_records(),
        requirements=[verdict.private_form() for verdict in release.evidence.verdicts],
        measures=[private_figure(f, before.get(f.title)) for f in release.evidence.findings],
        classes_before=_before(account, public=False),
        columns=[
            _column(_entitled(c, titles or {}), c.both or c.released, labels or {}, private=True)
            for c in account.columns
        ],
        steps=[_step(step, private_form(step.facts), plan) for step in account.steps],
        plan=plan,
        private={
            "seed": str(account.seed),
            "seed is small": account.seed < LEAST_SEED,
            "released unchanged": list(account.unchanged),
            "values that cannot be": {name: dict(odd) for name, odd in account.odd_values.items()},
            "copies": [_copy(copy) for copy in release.copies] if len(release.copies) > 1 else [],
            "missing values": in_words(account.missing),
            "riskiest": _riskiest_of(release) if isinstance(release, WholeRelease) else [],
            "exploration": None if frontier is None else _explored(frontier),
        },
    )


def _evidence(
    release: Release,
    *,
    singled_out: Sequence[SingledOut],
    of_the_original: str,
    of_records: list[OfRecords],
    requirements: list[Requirement],
    measures: list[ReportedFigure],
    classes_before: ClassesBefore | None,
    columns: list[ReleasedColumn],
    steps: list[ReportedStep],
    plan: Mapping[str, Any],
    files: Mapping[str, str] | None = None,
    private: Private | None = None,
) -> EvidenceFile:
    """The content of an evidence.json: what both files share, and the given parts."""
    account = release.account
    content: EvidenceFile = {
        "version": RECORD_VERSION,
        "records": release.records,
        "copies": len(release.copies),
        "promises": len(release.requirements),
        "published exactly": list(account.exact),
        "proved": account.proved,
        "release": dict(account.about),
        "classes": [_profile(profile) for profile in account.classes],
        "reached": list(account.reached),
        "left as they came": list(account.untouched),
        "made anew": list(account.made_anew),
        "not released": list(account.not_released),
        "versions": dict(account.versions),
        "singled out": [_singled_out(single) for single in singled_out],
        "context": account.context,
        "of the original": of_the_original,
        "of records": of_records,
        "requirements": requirements,
        "measures": measures,
        "classes before": classes_before,
        "columns": columns,
        "steps": steps,
        "plan": dump_yaml(plan),
        "sha256": dict(files or {}),
        "private": private,
    }
    if account.accepted:
        content["accepted"] = list(account.accepted)
    return cast(EvidenceFile, as_json(content))


def read_evidence(path: Path) -> EvidenceFile:
    """The content of an evidence.json. Raises FileError if it is no evidence.json, or one of another version."""
    content = read_record(path, "an assessed release")
    try:
        form_of(EvidenceFile).validate_python(content)
    except ValidationError:
        raise FileError(f"'{path}' is damaged, or of another version of shoal. Make the release again.") from None
    return cast(EvidenceFile, content)


def _chosen(account: Account) -> list[str]:
    return [BUT_EXACTLY.format(", ".join(account.exact))] if account.exact else []


def _public_requirement(verdict: Verdict, shown: Callable[[Any], Any]) -> Requirement:
    return {**verdict.public_form(), "facts": shown(public_form(verdict.facts))}


def _public_figure(finding: Finding, account: Account, *, banded: bool) -> ReportedFigure:
    """A finding in its public form; without bands, only what the release alone tells.

    A risk that was measured on the original as if it were released is never public, whatever it depends on.
    """
    form: ByLabel = {**declared_by(finding.kind, finding.measure), **finding.public_form(), "original": None}
    exact = finding.measure in account.exact and finding.value is not None
    if exact:
        form |= {"value": finding.value, "interval": finding.interval, "sentence": finding.sentence}
    if not banded and (exact or finding.influence == 0):
        form |= {"by_column": _without_bands(form["by_column"] or {}) or None, "facts": _without_bands(form["facts"])}
    elif not banded:  # not even whether there is a figure
        form |= {"value": None, "sentence": "", "by_column": None, "facts": {}}
    return cast(ReportedFigure, _jsonable(form))


def private_figure(finding: Finding, original: float | None = None) -> ReportedFigure:
    """A finding in its private form.

    Parameters
    ----------
    original
        The figure on the original as if it were released, if it was taken.
    """
    return {**declared_by(finding.kind, finding.measure), **finding.private_form(), "original": original}


def declared_by(kind: str, measure: str) -> Declared:
    """Declarations of a measure for its readers."""
    registration = entry(kind, measure)
    return {
        "source": registration.source,
        "question": registration.cls.question,
        "of_made_up": registration.cls.of_made_up,
        "prominence": registration.cls.prominence,
        "headline": registration.cls.headline,
        "unchanged": registration.cls.unchanged,
        "score_weight": registration.cls.score_weight,
    }


def left_as_they_came(release: Release) -> Unchanged:
    """The released columns whose cells are those of the original, and the records they single out; private."""
    account = release.account
    return {
        "records": release.records,
        "left as they came": list(account.unchanged),
        "accepted": list(account.accepted),
        "singled out": [_singled_out(single) for single in account.singled_out],
    }


def _singled_out(single: SingledOut) -> SingledOutBy:
    return {"columns": list(single.columns), "alone": single.alone, "beside the quasi-identifiers": single.beside_keys}


def _profile(profile: ClassProfile) -> Classes:
    return {
        "missing": profile.missing,
        "records": profile.records,
        "smallest": profile.smallest,
        "fewer than": {str(k): count for k, count in profile.fewer_than.items()},
        "sizes": [{"low": size.low, "high": size.high, "records": size.records} for size in profile.sizes],
    }


def _before(account: Account, *, public: bool) -> ClassesBefore | None:
    """The classes of the original, as far as they may be shown."""
    profile, violations = account.classes_before, account.violations_before
    if profile is None or violations is None:
        return None
    return {
        "missing": profile.missing,
        "records": None if public else profile.records,
        "smallest": None if public else profile.smallest,
        "fewer than": _jsonable((violations.public() if public else violations.private()) or {}),
    }


def _entitled(column: ColumnAccount, titles: Mapping[str, str]) -> ColumnAccount:
    return column if column.label else replace(column, label=titles.get(column.name, ""))


def _column(
    column: ColumnAccount, shown: Distribution | None, labels: ValueLabels, *, private: bool = False
) -> ReleasedColumn:
    return {
        "name": column.name,
        "label": column.label,
        "role": column.role,
        "level": column.level,
        "missing": column.missing,
        "distinct": column.distinct,
        "values": {str(code): text for code, text in labels.get(column.name, {}).items()},
        "original": column.before if private else None,
        "distribution": shown,
    }


def _step(step: StepAccount, facts: Mapping[str, Any], plan: Mapping[str, Any]) -> ReportedStep:
    """A step with its parameters and facts; a parameter that its facts repeat is left out."""
    by_facts = {label for fact in facts.values() if isinstance(fact, Mapping) for label in fact}
    parameters = {} if step.place is None else plan["steps"][step.place]
    return {
        "step": step.step,
        "columns": list(step.columns),
        "parameters": {
            key: value
            for key, value in parameters.items()
            if key not in NAMED and key.replace("_", " ") not in by_facts and value not in (None, [], {})
        },
        "facts": in_words(facts),
    }


def _copy(copy: Release) -> Copy:
    """Verdicts and figures of one of several copies."""
    return {
        "seed": str(copy.account.seed),
        "requirements": [{"requirement": v.requirement, "achieved": v.achieved} for v in copy.evidence.verdicts],
        "measures": [{"title": f.title, "value": f.value} for f in copy.evidence.findings],
        "values that cannot be": sum(sum(odd.values()) for odd in copy.account.odd_values.values()),
    }


def _riskiest_of(release: WholeRelease) -> list[Riskiest]:
    return [_riskiest(f, release) for f in release.evidence.findings if f.record_risk is not None]


def _riskiest(finding: Finding, release: WholeRelease) -> Riskiest:
    risk = np.asarray(finding.record_risk)
    order = least(-np.nan_to_num(risk, nan=-1.0), RISKIEST)
    order = order[risk[order] > 0]
    return {"title": finding.title, "rows": (release.rows[order] + 1).tolist(), "risk": risk[order].tolist()}


def _explored(frontier: Mapping[str, Any]) -> Exploration:
    """The fields of frontier.json that the report shows."""
    points = [{key: point[key] for key in TriedPlan.__annotations__} for point in frontier["points"]]
    return cast(Exploration, {**{key: frontier[key] for key in Exploration.__annotations__}, "points": points})


def _jsonable(value: Any) -> Any:
    """Bands as mappings, as in `{"at most": 0.2}`; everything else as it is."""
    if isinstance(value, Band):
        bound = {"at most": value.at_most} if value.at_least is None else {"at least": value.at_least}
        return {**bound, "unit": value.unit} if value.unit else bound
    if isinstance(value, Interval):
        return asdict(value)
    if isinstance(value, Mapping):
        return {key: _jsonable(below) for key, below in value.items()}
    return [_jsonable(below) for below in value] if isinstance(value, (list, tuple)) else value


def _without_bands(facts: Mapping[str, Any]) -> ByLabel:
    """The facts that do not depend on the original at all; the others are left out with their names.

    Even the presence of a band depends on the original.
    """
    shown: ByLabel = {}
    for label, value in facts.items():
        below = _without_bands(value) if isinstance(value, Mapping) else value
        if not isinstance(below, Band) and (below != {} or value == {}):
            shown[label] = below
    return shown
