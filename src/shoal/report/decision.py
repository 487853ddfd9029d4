"""The head of a report: may the release go, what is left to decide, and what would be lost.

It is a heading, a few points and four figures, each against its limit. The points stand in one order: what was promised
and proved; what leaves unchanged, and how many records it singles out; what an intruder gets; what was lost; what is
left to decide, because nobody limited it.

A proof about a release does not make it safe. The head is green only if the plan limits a measured risk and a loss, all
its requirements hold, no measured risk without a limit of its own exceeds the highest limit, and every released column
still tells something. Whatever a page does not show counts as not judged.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from shoal.report.became import ONE_VALUE, became, counts_kept, with_one_value
from shoal.report.evidence import EvidenceFile, Figure, Measured, MeasureKind, Requirement
from shoal.report.forms import figure, in_unit, is_share, number_of, share
from shoal.report.unchanged import left_unchanged, most_singled_out, unchanged_columns

M = TypeVar("M", bound=Measured)

Status = Literal["good", "open", "bad"]

WORDS: dict[Status, str] = {"good": "Limits kept", "open": "For you to judge", "bad": "Refused"}
"""Words for each status, so that no one needs its colour."""

NAMED = 4
"""Columns that the head names among those that lost most."""

NOT_JUDGED = "what is refused is not measured"

NOT_ATTACKED = "no attack on made-up records was measured (such as singling-out, inference or membership-inference)"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Sentences that answer one question of whoever decides."""

    label: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Something that nobody has limited, in a few words and in a sentence that says why it matters."""

    short: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The head of a report."""

    status: Status
    heading: str
    points: tuple[Point, ...]
    headlines: tuple[Headline, ...]

    @property
    def word(self) -> str:
        return WORDS[self.status]

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(sentence for point in self.points for sentence in point.sentences)


def decision(content: EvidenceFile) -> Decision:
    """The head of the report on an evidence.json."""
    limits = [verdict for verdict in content["requirements"] if verdict["model"]]
    rules = [verdict for verdict in content["requirements"] if not verdict["model"]]
    status, heading, points = _judged(content, limits, rules)
    return Decision(
        status=status,
        heading=heading,
        points=tuple(Point(label=label, sentences=tuple(lines)) for label, lines in points if lines),
        headlines=headlines(content),
    )


def limits_on(content: EvidenceFile, kind: MeasureKind) -> list[Requirement]:
    """The requirements that limit a measured figure of risk, or of utility."""
    names = {measure["measure"] for measure in content["measures"] if measure["kind"] == kind}
    return [verdict for verdict in content["requirements"] if verdict["limited"] and verdict["model"] in names]


def limited_by(content: EvidenceFile, verdict: Requirement) -> list[Figure]:
    """The measures that a requirement limits: those of its name with its parameters, else all of its name."""
    named = [measure for measure in content["measures"] if measure["measure"] == verdict["model"]]
    return [measure for measure in named if measure["title"] == verdict["limited"]] or named


def _limits_of(content: EvidenceFile, measure: Figure) -> list[Requirement]:
    """The requirements that limit a measure."""
    return [verdict for verdict in content["requirements"] if measure in limited_by(content, verdict)]


def measured(measures: Sequence[M], kind: MeasureKind) -> list[M]:
    """The measures of risk, or of utility, that have a figure to show."""
    return [measure for measure in measures if measure["kind"] == kind and measure["value"] is not None]


def _judged(
    content: EvidenceFile, limits: Sequence[Requirement], rules: Sequence[Requirement]
) -> tuple[Status, str, list[tuple[str, Sequence[str]]]]:
    """The status, the heading, and the points by label."""
    of_records = [repeated["sentence"] for repeated in content["of records"]]
    of_context = [content["context"]] if content["context"] else []
    beside: list[tuple[str, Sequence[str]]] = [
        ("Leaves unchanged", [line] if (line := unchanged_columns(left_unchanged(content))) else []),
        ("An intruder", _of_intruders(content)),
        ("Lost", _lost(content)),
    ]
    broken = [verdict for verdict in (*limits, *rules) if not verdict["holds"]]
    if broken:
        heading = f"Refused: {_counted(len(broken), 'requirement')} of {len(limits) + len(rules)} not met"
        lines = [f"{verdict['requirement']}: {verdict['sentence']}" for verdict in broken]
        return "bad", heading, [("Not met", [*of_records, *lines])]
    if not any(verdict["protects"] for verdict in limits):
        clauses = ["The plan names no privacy requirement, so no protection was proved"]
        clauses += ["its rules hold in every record, which protects nobody"] * bool(rules)
        clauses += ["what differential privacy was spent on stands under what was done"] * content["proved"]
        promised = ("Promised", [*of_records, f"{'; '.join(clauses)}."])
        gaps = [*_not_attacked(content), *_highest(content, [])]
        return "open", "Nothing was promised", [promised, *beside, ("To decide", [gap.sentence for gap in gaps])]
    proved = f"{'; '.join(verdict['requirement'] for verdict in limits)}, on the table as it is written."
    promised = ("Promised and proved", [*of_records, proved, *of_context])
    gaps = list(_not_judged(content))
    if not gaps:
        heading = f"{_all(len(limits))} of the plan {'is' if len(limits) == 1 else 'are'} kept"
        return "good", heading, [promised, *beside]
    more = f" and {len(gaps) - 1} more" if len(gaps) > 1 else ""
    heading = f"Proved as far as the plan asks; to decide: {gaps[0].short}{more}"
    return "open", heading, [promised, *beside, ("To decide", [gap.sentence for gap in gaps])]


def _of_intruders(content: EvidenceFile) -> list[str]:
    """The risk that stands at the head, and the highest one, each in its measure's sentence."""
    ranked = by_rank(content, "risk")
    shares = [measure for measure in ranked if is_share(measure)]
    shown = [*ranked[:1], *([max(shares, key=_worst)] if shares else [])]
    return list(dict.fromkeys(measure["sentence"] for measure in shown if measure["sentence"]))


def _lost(content: EvidenceFile) -> list[str]:
    """The loss that stands at the head in its measure's sentence, and the columns that lost most."""
    measure = main_measure(content, "utility")
    lines = [measure["sentence"]] if measure and measure["sentence"] else []
    columns = became(content, measure)
    lost = sorted((c for c in columns if c.kept is not None and c.kept < 1), key=lambda c: c.kept or 0.0)
    named = [f"{c.name}: {c.words} ({share(c.kept or 0.0)} kept)" for c in lost[:NAMED]]
    named += [f"{name}: {ONE_VALUE}" for name in with_one_value(content) if name not in {c.name for c in lost[:NAMED]}]
    return lines + ([f"{'; '.join(named)}."] if named else [])


def _not_judged(content: EvidenceFile) -> Iterator[Gap]:
    """Gaps between the proofs and a decision, the gravest first; none if everything was judged."""
    on_risk, on_loss = limits_on(content, "risk"), limits_on(content, "utility")
    if repeated := [measure["identifier"] for measure in content["of records"] if measure["promises"]]:
        names = _listed([repr(name) for name in repeated])
        short = f"records were counted, not values of {names}"
        yield Gap(short=short, sentence=f"{_upper(short)}: people with several records are not protected as promised.")
    if clause := most_singled_out(content):
        yield Gap(
            short="columns that leave unchanged",
            sentence=f"{_upper(clause)}. If others may know these values of a person, the promises do not cover them: "
            f"make the columns quasi-identifiers.",
        )
    yield from _not_attacked(content)
    yield from _highest(content, on_risk)
    if lost := with_one_value(content):
        names = f"{', '.join(lost)} {'has' if len(lost) == 1 else 'have'} one value for all"
        yield Gap(
            short="whether the table is still of use",
            sentence=f"{names}, which tells nothing of anybody. Mask less of it, or leave it out.",
        )
    hidden = [
        measure
        for measure in content["measures"]
        if measure["kind"] == "risk"
        and measure["value"] is None
        and not measure["reason"]
        and not _limits_of(content, measure)
    ]
    if hidden:
        short = f"{_counted(len(hidden), 'measured risk')} without a limit {_is(len(hidden))} not public"
        yield Gap(
            short=short, sentence=f"{_upper(short)}; the private report has {'it' if len(hidden) == 1 else 'them'}."
        )
    if lacking := [what for what, stated in (("measured risk", on_risk), ("loss", on_loss)) if not stated]:
        short = f"no limit on {' and none on '.join(lacking)}"
        yield Gap(
            short=short, sentence=f"The plan states {short}, so that any figure passes. State one as a requirement."
        )


def _highest(content: EvidenceFile, on_risk: Sequence[Requirement]) -> list[Gap]:
    """The highest measured risk that has no limit of its own, if it exceeds the highest limit that was stated."""
    tolerated = max((verdict["required"] for verdict in on_risk), default=0.0)
    free = [
        measure
        for measure in measured(content["measures"], "risk")
        if is_share(measure) and not _limits_of(content, measure)
    ]
    above = [measure for measure in free if _worst(measure) > tolerated]
    if not above:
        return []
    worst = max(above, key=_worst)
    which = "the highest measured risk" + (" without a limit" if on_risk else "")
    end = worst["interval"]
    sure = f", with {share(end['confidence'])} confidence at most {in_unit(end['high'], worst)}" if end else ""
    value = in_unit(worst["value"], worst)
    return [Gap(short=f"a risk of {value}", sentence=f"{_upper(which)} is {value}{sure} ({worst['title']}).")]


def _is_synthetic(content: EvidenceFile) -> bool:
    """True if no released record stands for a person."""
    keys = {column["name"] for column in content["columns"] if column["role"] == "quasi-identifier"}
    return bool(keys) and keys <= set(content["made anew"])


def _not_attacked(content: EvidenceFile) -> list[Gap]:
    """A gap if the records are synthetic and no risk that applies to such records was measured."""
    taken = [measure for measure in content["measures"] if measure["value"] is not None or not measure["reason"]]
    if not _is_synthetic(content) or any(measure["of_made_up"] for measure in taken):
        return []
    return [Gap(short="no attack was measured", sentence=f"{_upper(NOT_ATTACKED)}.")]


def _worst(measure: Figure) -> float:
    """The upper end of a risk's interval, or the figure or bound itself."""
    number = number_of(measure["value"]) or 0.0
    return max(number, float(measure["interval"]["high"])) if measure["interval"] else number


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
        note += f"; {_listed(others)} {_is(len(others))} asked of something else"
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
    if _is_synthetic(content):
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


def main_measure(content: EvidenceFile, kind: MeasureKind) -> Figure | None:
    """The measure of a kind shown in the head; None if none has a figure."""
    return next(iter(by_rank(content, kind)), None)


def by_rank(content: EvidenceFile, kind: MeasureKind) -> list[Figure]:
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


def _limit_of(content: EvidenceFile, measure: Figure) -> tuple[str, bool | None]:
    stated = _limits_of(content, measure)
    if not stated:
        return "", None
    word = "at most" if measure["better"] == "lower" else "at least"
    return f"{word} {in_unit(stated[0]['required'], measure)}", all(v["holds"] for v in stated)


def _proved_only(content: EvidenceFile, kind: MeasureKind, label: str) -> Headline | None:
    """The headline where all limits on measures of a kind are known to hold, but their figures are private."""
    limits = limits_on(content, kind)
    if not limits or any(limited_by(content, v)[0]["value"] is not None or not v["holds"] for v in limits):
        return None
    measure = limited_by(content, limits[0])[0]
    limit, kept = _limit_of(content, measure)
    note = f"{measure['title']}; the figure itself is private"
    return Headline(label=label, value=limit, note=note, limit=limit, kept=kept)


def _main_risk(content: EvidenceFile) -> Headline:
    if proved := _proved_only(content, "risk", "Measured risk"):
        return proved
    measure = main_measure(content, "risk")
    if measure is None:
        why = "no measure of risk has a figure to show here" if content["measures"] else NOT_JUDGED
        return Headline(label="Measured risk", value="none", note=why)
    limit, kept = _limit_of(content, measure)
    return Headline(
        label="Measured risk", value=in_unit(measure["value"], measure), note=_words(measure), limit=limit, kept=kept
    )


def _cells(content: EvidenceFile) -> Headline:
    columns = content["columns"]
    cells = content["records"] * len(columns)
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
    same = len(content["left as they came"])
    as_came = f"{_counted(same, 'column')} left as {'it' if same == 1 else 'they'} came"
    note = f"{figure(blank)} of {figure(cells)} cells; {as_came}"
    return Headline(label="Cells empty", value=share(blank / cells) if cells else "none", note=note)


def _main_loss(content: EvidenceFile) -> Headline:
    if proved := _proved_only(content, "utility", "Loss"):
        return proved
    measure = main_measure(content, "utility")
    if measure is None:
        hidden = any(m["kind"] == "utility" and not m["reason"] for m in content["measures"])
        why = "for the private report only" if hidden else "no measure of loss has a figure"
        why = why if content["measures"] else NOT_JUDGED
        return Headline(label="Loss", value="not shown" if hidden else "none", note=why)
    limit, kept = _limit_of(content, measure)
    return Headline(
        label=measure["title"] if counts_kept(measure) else "Loss",
        value=in_unit(measure["value"], measure, named=False),
        note=_words(measure),
        limit=limit,
        kept=kept,
    )


def _words(measure: Figure) -> str:
    """The note on a figure in the head; for a bound, its title and unit."""
    if isinstance(value := measure["value"], dict):
        return f"{measure['title']}, {value['unit']}" if "unit" in value else measure["title"]
    mean = measure["facts"].get("mean") if measure["headline"] else None
    average = "" if mean is None else f"; {in_unit(mean, measure)} on average"
    title = "" if counts_kept(measure) else measure["title"]
    return f"{title}{measure['headline']}{average}".removeprefix(", ")


def _listed(clauses: Sequence[str]) -> str:
    """One or more clauses as a part of a sentence."""
    return ", and ".join([*([", ".join(clauses[:-1])] if len(clauses) > 1 else []), clauses[-1]])


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _upper(clause: str) -> str:
    return clause[:1].upper() + clause[1:]


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _all(count: int) -> str:
    return "The limit" if count == 1 else f"All {count} limits"
