"""The four figures at the head of a report, each against its limit, and the measures in the order readers want them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from shoal.report.became import counts_kept
from shoal.report.evidence import EvidenceFile, MeasuredFigure, MeasureKind, ReportedFigure, Requirement
from shoal.report.forms import figure, in_unit, number_of, share

M = TypeVar("M", bound=MeasuredFigure)

NOT_JUDGED = "what is refused is not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """One of the figures that matter, against its limit in the plan.

    Parameters
    ----------
    value
        Figure in words, or the reason why there is none.
    limit
        Limit in words; empty where the plan states none.
    kept
        True if the limit is kept; None if there is none.
    """

    label: str
    value: str
    note: str = ""
    limit: str = ""
    kept: bool | None = None


def limits_on(content: EvidenceFile, kind: MeasureKind) -> list[Requirement]:
    """The requirements that limit a measured figure of risk, or of utility."""
    names = {measure["measure"] for measure in content["measures"] if measure["kind"] == kind}
    return [verdict for verdict in content["requirements"] if verdict["limited"] and verdict["model"] in names]


def limited_by(content: EvidenceFile, verdict: Requirement) -> list[ReportedFigure]:
    """The measures that a requirement limits: those of its name with its parameters, else all of its name."""
    named = [measure for measure in content["measures"] if measure["measure"] == verdict["model"]]
    return [measure for measure in named if measure["title"] == verdict["limited"]] or named


def limits_of(content: EvidenceFile, measure: ReportedFigure) -> list[Requirement]:
    """The requirements that limit a measure."""
    return [verdict for verdict in content["requirements"] if measure in limited_by(content, verdict)]


def measured(measures: Sequence[M], kind: MeasureKind) -> list[M]:
    """The measures of risk, or of utility, that have a figure to show."""
    return [measure for measure in measures if measure["kind"] == kind and measure["value"] is not None]


def main_measure(content: EvidenceFile, kind: MeasureKind) -> ReportedFigure | None:
    """The measure of a kind shown in the head; None if none has a figure."""
    return next(iter(by_rank(content, kind)), None)


def by_rank(content: EvidenceFile, kind: MeasureKind) -> list[ReportedFigure]:
    """The measures of a kind: those that the plan limits, then those that readers know best, then all others.

    Of the risks that readers know, the highest comes first.
    """
    figures = measured(content["measures"], kind)
    stated = [
        measure
        for verdict in limits_on(content, kind)
        for measure in limited_by(content, verdict)
        if measure in figures
    ]
    free = [measure for measure in figures if measure not in stated]
    ranked = sorted((measure for measure in free if measure["prominence"]), key=lambda measure: -measure["prominence"])
    if kind == "risk":
        ranked.sort(key=lambda measure: -(number_of(measure["value"]) or 0.0))
    return [*stated, *ranked, *(measure for measure in free if not measure["prominence"])]


def headlines(content: EvidenceFile) -> tuple[Headline, ...]:
    """The four figures that matter."""
    return (_smallest_class(content), _main_risk(content), _cells(content), _main_loss(content))


def _smallest_class(content: EvidenceFile) -> Headline:
    label = "Smallest class"
    asked = [verdict for verdict in content["requirements"] if verdict["counts_classes"]]
    if not content["classes"]:
        return _of_verdict(label, asked, _why_no_classes(content))
    profile = content["classes"][0]
    note = "records that share all quasi-identifiers"
    if profile["missing"] == "wildcard":
        note = "records that match on the quasi-identifiers, a missing cell matching every value"
    elif profile["missing"] == "nothing":
        note = "complete records that match on the quasi-identifiers"
    smallest = profile["smallest"]
    on_this = [v for v in asked if v["holds"] == (smallest is None or smallest >= v["required"])]
    if others := [verdict["requirement"] for verdict in asked if verdict not in on_this]:
        note += f"; {listed(others)} {is_or_are(len(others))} asked of something else"
    if not on_this:
        return Headline(label=label, value=figure(smallest), note=note)
    strictest = max(on_this, key=lambda verdict: verdict["required"])
    return Headline(
        label=label,
        value=figure(smallest),
        note=note,
        limit=f"at least {figure(strictest['required'])}",
        kept=strictest["holds"],
    )


def _why_no_classes(content: EvidenceFile) -> str:
    keys = {column["name"] for column in content["columns"] if column["role"] == "quasi-identifier"}
    if not keys:
        return "no quasi-identifier by which someone could be looked up"
    if is_synthetic(content):
        return "every quasi-identifier was made anew, so that no record stands for a person"
    return "the classes were not counted"


def _of_verdict(label: str, asked: Sequence[Requirement], why: str) -> Headline:
    """The smallest class, from the requirements that counted classes; the classes themselves are not known."""
    if not asked:
        return Headline(label=label, value="none", note=why)
    strictest = max(asked, key=lambda verdict: verdict["required"])
    limit = f"at least {figure(strictest['required'])}"
    value = figure(strictest["achieved"])
    return Headline(label=label, value=value, note=strictest["requirement"], limit=limit, kept=strictest["holds"])


def _limit_of(content: EvidenceFile, measure: ReportedFigure) -> tuple[str, bool | None]:
    stated = limits_of(content, measure)
    if not stated:
        return "", None
    word = "at most" if measure["better"] == "lower" else "at least"
    return f"{word} {in_unit(stated[0]['required'], measure)}", all(v["holds"] for v in stated)


def proved_only(content: EvidenceFile, kind: MeasureKind) -> Requirement | None:
    """The first limit on measures of a kind, where all are known to hold but their figures are private."""
    limits = limits_on(content, kind)
    if not limits or any(limited_by(content, v)[0]["value"] is not None or not v["holds"] for v in limits):
        return None
    return limits[0]


def _proved_only(content: EvidenceFile, kind: MeasureKind, label: str) -> Headline | None:
    """The headline for the first limit on measures of a kind, where all figures are private."""
    if (limited := proved_only(content, kind)) is None:
        return None
    measure = limited_by(content, limited)[0]
    limit, kept = _limit_of(content, measure)
    private = "the figure itself is private"
    if counts_kept(measure):
        return Headline(label=measure["title"], value=limit, note=private, limit=limit, kept=kept)
    return Headline(label=label, value=limit, note=f"{measure['title']}; {private}", limit=limit, kept=kept)


def _main_risk(content: EvidenceFile) -> Headline:
    if proved := _proved_only(content, "risk", "Measured risk"):
        return proved
    measure = main_measure(content, "risk")
    if measure is None:
        why = "no measure of risk has a figure to show here" if content["measures"] else _unmeasured(content)
        return Headline(label="Measured risk", value=_nothing(content), note=why)
    limit, kept = _limit_of(content, measure)
    return Headline(
        label="Measured risk", value=in_unit(measure["value"], measure), note=_words(measure), limit=limit, kept=kept
    )


def _nothing(content: EvidenceFile) -> str:
    return "by table" if "tables" in content else "none"


def _unmeasured(content: EvidenceFile) -> str:
    """The reason why a release, or what was refused, has no measures."""
    return "measured in each table, in its own report" if "tables" in content else NOT_JUDGED


def _cells(content: EvidenceFile) -> Headline:
    columns = content["columns"]
    records = {table["name"]: table["records"] for table in content.get("tables", ())}
    cells = sum(records.get(column["name"].partition(".")[0], content["records"]) for column in columns)
    if anew := content["made anew"]:
        note = "made for the table as a whole, so that a cell is no version of one person's"
        return Headline(label="Columns made anew", value=f"{len(anew)} of {len(columns)}", note=note)
    if any(column["missing"] is None for column in columns):
        return Headline(label="Cells changed", value="not counted", note="the table was carried through part by part")
    blank = sum(column["missing"] or 0 for column in columns)
    compared = [(column["missing"] or 0, before) for column in columns if (before := column["original"])]
    if compared and cells:
        changed = sum(before["changed"] for _, before in compared) / len(compared)
        blanked = sum(max(missing - before["missing"], 0) for missing, before in compared)
        note = f"{figure(blanked) if blanked else 'none'} of {figure(cells)} blanked"
        return Headline(label="Cells changed", value=share(changed), note=note)
    of_tables = (name for table in content.get("tables", ()) for name in table["left as they came"])
    same = len([*content["left as they came"], *of_tables])
    as_came = f"{counted(same, 'column')} left as {'it' if same == 1 else 'they'} came"
    note = f"{figure(blank)} of {figure(cells)} cells; {as_came}"
    return Headline(label="Cells empty", value=share(blank / cells) if cells else "none", note=note)


def _main_loss(content: EvidenceFile) -> Headline:
    if proved := _proved_only(content, "utility", "Loss"):
        return proved
    measure = main_measure(content, "utility")
    if measure is None:
        hidden = any(m["kind"] == "utility" and not m["reason"] for m in content["measures"])
        why = "for the private report only" if hidden else "no measure of loss has a figure"
        why = why if content["measures"] else _unmeasured(content)
        return Headline(label="Loss", value="not shown" if hidden else _nothing(content), note=why)
    limit, kept = _limit_of(content, measure)
    return Headline(
        label=measure["title"] if counts_kept(measure) else "Loss",
        value=in_unit(measure["value"], measure, named=False),
        note=_words(measure),
        limit=limit,
        kept=kept,
    )


def _words(measure: ReportedFigure) -> str:
    """The note on a figure in the head; for a bound, its title and unit."""
    if isinstance(value := measure["value"], dict):
        return f"{measure['title']}, {value['unit']}" if "unit" in value else measure["title"]
    mean = measure["facts"].get("mean") if measure["headline"] else None
    average = "" if mean is None else f"; {in_unit(mean, measure)} on average"
    title = "" if counts_kept(measure) else measure["title"]
    return f"{title}{measure['headline']}{average}".removeprefix(", ")


def is_synthetic(content: EvidenceFile) -> bool:
    """True if no released record stands for a person."""
    keys = {column["name"] for column in content["columns"] if column["role"] == "quasi-identifier"}
    return bool(keys) and keys <= set(content["made anew"])


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def is_or_are(count: int) -> str:
    return "is" if count == 1 else "are"


def listed(clauses: Sequence[str]) -> str:
    """One or more clauses as a part of a sentence."""
    return ", and ".join([*([", ".join(clauses[:-1])] if len(clauses) > 1 else []), clauses[-1]])
