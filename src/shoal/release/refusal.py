"""A refusal that says what fails, by how much, and what would help."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from shoal.judges.evidence import Verdict
from shoal.report.evidence import EvidenceFile, Requirement
from shoal.vocabulary.errors import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What would help a requirement that does not hold.

    Parameters
    ----------
    requirement
        In words, as its verdict has it.
    remedy
        What to do.
    effect
        What would come of it; empty where that was not computed.
    """

    requirement: str
    remedy: str
    effect: str = ""


def general_advice(verdict: Verdict) -> Advice:
    """What to do about a verdict that does not hold, where nothing was computed."""
    if verdict.protects:
        remedy = (
            "Ask the steps for larger groups, generalise or suppress what sets records apart (the masks "
            "generalise, suppress and suppress-records), or require less."
        )
    elif verdict.model:
        remedy = "Change less (smaller groups, milder masks), or require less."
    else:
        remedy = "Repair what comes in (constraints: {broken_rules: repair}), or give the rule's columns decimals."
    return Advice(requirement=verdict.requirement, remedy=remedy)


class NotProved(Refused):
    """Nothing was released, for requirements do not hold; private, for what helps is computed from the original.

    Parameters
    ----------
    message
        Which requirements do not hold, and by how much.
    verdicts
        All of them, those that hold too.
    advice
        What would help.
    content
        What the private evidence.json would hold; None where that was not gathered.
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
        """One row a remedy, and one a requirement that fails and has none."""
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
        """One self-contained page on what fails and what would help; private."""
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
        """What a notebook prints where nobody catches it: the sentence and what would help, and no traceback."""
        return [
            str(self),
            *(f"  {advice.requirement}: {advice.remedy} {advice.effect}".rstrip() for advice in self.advice),
        ]
