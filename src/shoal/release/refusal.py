"""A refusal that tells which requirements fail, by how much, and what would help."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from shoal.judges.evidence import Verdict
from shoal.report.evidence import EvidenceFile, Requirement
from shoal.vocabulary.errors import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A remedy for a requirement that does not hold.

    Parameters
    ----------
    requirement
        The requirement in words, as in its verdict.
    remedy
        Action to take.
    effect
        Expected result of the action; empty where it was not computed.
    """

    requirement: str
    remedy: str
    effect: str = ""


def general_advice(verdict: Verdict) -> Advice:
    """Advice on a verdict that does not hold, where nothing was computed."""
    if verdict.protects:
        remedy = (
            "Form larger groups in the steps, generalise or suppress what sets records apart (the masks "
            "generalise, suppress and suppress-records), or require less."
        )
    elif verdict.model:
        remedy = "Change less (smaller groups, milder masks), or require less."
    else:
        remedy = "Repair the input (constraints: {broken_rules: repair}), or give the rule's columns decimals."
    return Advice(requirement=verdict.requirement, remedy=remedy)


class NotProved(Refused):
    """A refusal to release, since requirements do not hold; private, as its advice is computed from the original.

    Parameters
    ----------
    message
        The requirements that do not hold, and by how much.
    verdicts
        All verdicts, including those that hold.
    advice
        Remedies for requirements that do not hold.
    content
        Content of the private evidence.json; None where it was not gathered.
    """

    def __init__(
        self,
        message: str,
        verdicts: Iterable[Verdict] = (),
        advice: Sequence[Advice] = (),
        content: EvidenceFile | None = None,
    ) -> None:
        super().__init__(message, verdicts)
        self.advice = tuple(advice)
        self.content = content

    @property
    def failed(self) -> tuple[Verdict, ...]:
        """The verdicts that do not hold."""
        return tuple(verdict for verdict in self.verdicts if not verdict.holds)

    def to_frame(self) -> pl.DataFrame:
        """One row a remedy, and one a failed requirement without any."""
        rows = []
        for verdict in self.failed:
            remedies = [advice for advice in self.advice if advice.requirement == verdict.requirement]
            reached = None if verdict.achieved is None else float(verdict.achieved)
            start = {"requirement": verdict.requirement, "required": float(verdict.required), "reached": reached}
            rows += [{**start, "remedy": advice.remedy, "effect": advice.effect} for advice in remedies]
            rows += [{**start, "remedy": "", "effect": ""}] * (not remedies)
        numbers, texts = (
            dict.fromkeys(("required", "reached"), pl.Float64),
            dict.fromkeys(("remedy", "effect"), pl.String),
        )
        return pl.DataFrame(rows, schema={"requirement": pl.String, **numbers, **texts})

    def page(self) -> str:
        """One self-contained page on the failed requirements and their remedies; private."""
        from shoal.report.refusal_page import refusal_page

        return refusal_page(self._requirements, self.advice, self.content)

    @property
    def _requirements(self) -> list[Requirement]:
        return [verdict.private_form() for verdict in self.verdicts]

    def _repr_html_(self) -> str:
        from shoal.report.display import displayed
        from shoal.report.refusal_page import refusal_parts

        return displayed("parts/refusal.html", **refusal_parts(self._requirements, self.advice, self.content))

    def _render_traceback_(self) -> list[str]:
        """Lines that a notebook prints for an uncaught refusal: the message and the advice, without a traceback."""
        return [
            str(self),
            *(f"  {advice.requirement}: {advice.remedy} {advice.effect}".rstrip() for advice in self.advice),
        ]


class Unanswered(Refused):
    """A refusal to release, since columns leave unchanged that people can be found by and nobody answers for.

    Parameters
    ----------
    reasons
        The columns to answer for under `accept`, each with a clause on why, as in "singles out 3.1 % of the records".
    """

    def __init__(self, message: str, reasons: Mapping[str, str]) -> None:
        super().__init__(message)
        self.reasons = dict(reasons)


def require(verdicts: list[Verdict]) -> list[Verdict]:
    """The verdicts, if all of them hold. Raises NotProved if one does not; the message says which, and by how much."""
    if not all(verdict.holds for verdict in verdicts):
        raise not_proved(verdicts)
    return verdicts


def not_proved(
    verdicts: Sequence[Verdict], advice: Sequence[Advice] = (), content: EvidenceFile | None = None
) -> NotProved:
    """The refusal for verdicts that do not hold; parameters as for `NotProved`."""
    failed = " ".join(
        f"{v.requirement} does not hold (required {v.required:g}, achieved {_reached(v.achieved)}): {v.sentence}"
        for v in verdicts
        if not v.holds
    )
    advised = {remedy.requirement for remedy in advice}
    general = [general_advice(v) for v in verdicts if not v.holds and v.requirement not in advised]
    return NotProved(f"Nothing was released. {failed}", verdicts, [*advice, *general], content)


def _reached(achieved: float | None) -> str:
    if achieved is None:
        return "nothing"
    return format(achieved, "g") if math.isfinite(achieved) else "infinite"
