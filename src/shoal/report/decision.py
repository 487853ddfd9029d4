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
from typing import Literal

from shoal.report.became import became, with_one_value
from shoal.report.evidence import EvidenceFile, MeasureKind, ReportedFigure, Requirement
from shoal.report.forms import in_unit, is_share, number_of, share
from shoal.report.headlines import (
    Headline,
    by_rank,
    counted,
    headlines,
    is_or_are,
    is_synthetic,
    limited_by,
    limits_of,
    limits_on,
    listed,
    main_measure,
    measured,
    proved_only,
)
from shoal.report.unchanged import accepted_columns, left_unchanged, most_singled_out, unchanged_columns

Status = Literal["good", "open", "bad"]

WORDS: dict[Status, str] = {"good": "Limits kept", "open": "For you to judge", "bad": "Refused"}
"""Words for each status, so that no one needs its colour."""

NAMED = 4
"""Columns that the head names among those that lost most."""

NOT_ATTACKED = "no attack on made-up records was measured (such as singling-out, inference or membership-inference)"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionPoint:
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
    points: tuple[DecisionPoint, ...]
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
        points=tuple(DecisionPoint(label=label, sentences=tuple(lines)) for label, lines in points if lines),
        headlines=headlines(content),
    )


def _judged(
    content: EvidenceFile, limits: Sequence[Requirement], rules: Sequence[Requirement]
) -> tuple[Status, str, list[tuple[str, Sequence[str]]]]:
    """The status, the heading, and the points by label."""
    of_records = _of_records(content)
    of_context = [content["context"]] if content["context"] else []
    left = left_unchanged(content)
    beside: list[tuple[str, Sequence[str]]] = [
        ("Leaves unchanged", [line for line in (unchanged_columns(left), accepted_columns(left)) if line]),
        ("An intruder", _of_intruders(content)),
        ("Lost", _lost(content)),
    ]
    broken = [verdict for verdict in (*limits, *rules) if not verdict["holds"]]
    if broken:
        heading = f"{counted(len(broken), 'requirement')} of {len(limits) + len(rules)} not met"
        lines = [f"{_named(content, verdict)}: {verdict['sentence']}" for verdict in broken]
        return "bad", heading, [("Not met", [*of_records, *lines])]
    if not any(verdict["protects"] for verdict in limits):
        clauses = ["The plan names no privacy requirement, so no protection was proved"]
        clauses += ["its rules hold in every record, which protects nobody"] * bool(rules)
        clauses += ["what differential privacy was spent on stands under what was done"] * content["proved"]
        promised = ("Promised", [*of_records, f"{'; '.join(clauses)}."])
        gaps = [*_not_attacked(content), *_highest(content, [])]
        return "open", "Nothing was promised", [promised, *beside, ("To decide", [gap.sentence for gap in gaps])]
    written = "on the tables as they are written" if content.get("tables") else "on the table as it is written"
    proved = f"{'; '.join(_named(content, verdict) for verdict in limits)}, {written}."
    promised = ("Promised and proved", [*of_records, proved, *of_context])
    gaps = list(_not_judged(content))
    if not gaps:
        heading = f"{_all(len(limits))} of the plan {'is' if len(limits) == 1 else 'are'} kept"
        return "good", heading, [promised, *beside]
    more = f", and {counted(len(gaps) - 1, 'more point')}" if len(gaps) > 1 else ""
    heading = f"Proved as far as the plan asks; to decide: {gaps[0].short}{more}"
    return "open", heading, [promised, *beside, ("To decide", [gap.sentence for gap in gaps])]


def _of_records(content: EvidenceFile) -> list[str]:
    """Cautions on identifiers whose values repeat; in public, where no figures differ, one for all of them."""
    repeated = content["of records"]
    if content["private"] or len(repeated) < 2 or len({tuple(one["promises"]) for one in repeated}) > 1:
        return [_in_names(content, one["sentence"]) for one in repeated]
    names = listed([repr(one["identifier"]) for one in repeated])
    promises = ", ".join(repeated[0]["promises"])
    sentence = f"{promises} of records, not of values of {names}: in the original, records repeat these values."
    return [_in_names(content, sentence)]


def _in_names(content: EvidenceFile, sentence: str) -> str:
    """A sentence with its requirements as they are named in the head."""
    for verdict in content["requirements"]:
        sentence = sentence.replace(verdict["requirement"], _named(content, verdict))
    return sentence


def _named(content: EvidenceFile, verdict: Requirement) -> str:
    """A requirement in words, its bound as measures are written: shares in per cent."""
    measures = limited_by(content, verdict) if verdict["limited"] else []
    words = verdict["requirement"]
    for bound in ("at most", "at least") if measures else ():
        words = words.replace(
            f"{bound} {verdict['required']:g}", f"{bound} {in_unit(verdict['required'], measures[0])}", 1
        )
    return words


def _of_intruders(content: EvidenceFile) -> list[str]:
    """The risk that stands at the head, and the highest one, each in its measure's sentence."""
    ranked = by_rank(content, "risk")
    shares = [measure for measure in ranked if is_share(measure)]
    shown = [*ranked[:1], *([max(shares, key=_worst)] if shares else [])]
    return [*_kept_privately(content, "risk"), *dict.fromkeys(m["sentence"] for m in shown if m["sentence"])]


def _kept_privately(content: EvidenceFile, kind: MeasureKind) -> list[str]:
    """A sentence on a limit that is kept, if its figure is private."""
    limited = proved_only(content, kind)
    what = "risk" if kind == "risk" else "loss"
    return [f"The limit on the {what} is kept ({_named(content, limited)}); the figure is private."] if limited else []


def _lost(content: EvidenceFile) -> list[str]:
    """The loss that stands at the head in its measure's sentence, and the columns that lost most."""
    measure = main_measure(content, "utility")
    lines = _kept_privately(content, "utility") or ([measure["sentence"]] if measure and measure["sentence"] else [])
    columns = became(content, measure)
    single_valued = with_one_value(content)
    lost = sorted((c for c in columns if c.kept is not None and c.kept < 1), key=lambda c: c.kept or 0.0)
    alike: dict[str, list[str]] = {}
    for c in columns:
        if c.name in single_valued:
            alike.setdefault(c.words, []).append(c.name)
    named = [f"{', '.join(names)}: {words}" for words, names in alike.items()]
    named += [f"{c.name}: {c.words} ({share(c.kept or 0.0)} kept)" for c in lost if c.name not in single_valued][:NAMED]
    return lines + ([f"{'; '.join(named)}."] if named else [])


def _not_judged(content: EvidenceFile) -> Iterator[Gap]:
    """Gaps between the proofs and a decision, the gravest first; none if everything was judged."""
    on_risk, on_loss = limits_on(content, "risk"), limits_on(content, "utility")
    if repeated := [measure["identifier"] for measure in content["of records"] if measure["promises"]]:
        names = " and ".join(filter(None, [", ".join(map(repr, repeated[:-1])), repr(repeated[-1])]))
        yield Gap(
            short="people with several records",
            sentence=f"Records were counted, not values of {names}: people with several records are not protected as "
            "promised.",
        )
    if clause := most_singled_out(content):
        yield Gap(
            short="columns that leave unchanged",
            sentence=f"{_upper(clause)}. If others may know these values of a person, the promises do not cover them: "
            f"make the columns quasi-identifiers.",
        )
    yield from _not_attacked(content)
    yield from _highest(content, on_risk)
    if lost := with_one_value(content):
        has, it = ("has", "it") if len(lost) == 1 else ("have", "them")
        tells = f"{', '.join(lost)} {has} one value for all, which tells nothing of anybody"
        yield Gap(short="whether the table is still of use", sentence=f"{tells}. Mask less of {it}, or leave {it} out.")
    hidden = _hidden(content)
    if hidden:
        short = f"{counted(len(hidden), 'measured risk')} without a limit {is_or_are(len(hidden))} not public"
        yield Gap(
            short=short, sentence=f"{_upper(short)}; the private report has {'it' if len(hidden) == 1 else 'them'}."
        )
    if lacking := [what for what, stated in (("measured risk", on_risk), ("loss", on_loss)) if not stated]:
        short = f"no limit on {' and none on '.join(lacking)}"
        yield Gap(
            short=short,
            sentence=f"The plan states {short}, so that any figure passes. State "
            f"{'one' if len(lacking) == 1 else 'both'} as {'a requirement' if len(lacking) == 1 else 'requirements'}.",
        )


def _hidden(content: EvidenceFile) -> list[ReportedFigure]:
    """The measured risks without a limit whose figures are not shown here."""
    risks = (m for m in content["measures"] if m["kind"] == "risk" and m["value"] is None and not m["reason"])
    return [measure for measure in risks if not limits_of(content, measure)]


def _highest(content: EvidenceFile, on_risk: Sequence[Requirement]) -> list[Gap]:
    """The highest measured risk that has no limit of its own, if it exceeds the highest limit that was stated."""
    tolerated = max((verdict["required"] for verdict in on_risk), default=0.0)
    free = [
        measure
        for measure in measured(content["measures"], "risk")
        if is_share(measure) and not limits_of(content, measure)
    ]
    above = [measure for measure in free if _worst(measure) > tolerated]
    if not above:
        return []
    worst = max(above, key=_worst)
    which = (
        "the highest measured risk" + " without a limit" * bool(on_risk) + " that is public" * bool(_hidden(content))
    )
    end = worst["interval"]
    sure = f", with {share(end['confidence'])} confidence at most {in_unit(end['high'], worst)}" if end else ""
    value = in_unit(worst["value"], worst)
    return [Gap(short=f"a risk of {value}", sentence=f"{_upper(which)} is {value}{sure} ({worst['title']}).")]


def _not_attacked(content: EvidenceFile) -> list[Gap]:
    """A gap if the records are synthetic and no risk that applies to such records was measured."""
    taken = [measure for measure in content["measures"] if measure["value"] is not None or not measure["reason"]]
    if not is_synthetic(content) or any(measure["of_made_up"] for measure in taken):
        return []
    return [Gap(short="no attack was measured", sentence=f"{_upper(NOT_ATTACKED)}.")]


def _worst(measure: ReportedFigure) -> float:
    """The upper end of a risk's interval, or the figure or bound itself."""
    number = number_of(measure["value"]) or 0.0
    return max(number, float(measure["interval"]["high"])) if measure["interval"] else number


def _upper(clause: str) -> str:
    return clause[:1].upper() + clause[1:]


def _all(count: int) -> str:
    return "The limit" if count == 1 else f"All {count} limits"
