"""Candidates carried out, each by itself, in processes side by side."""

from collections.abc import Iterator, Sequence
from typing import Any, TypedDict

from shoal.desk.assess import assess
from shoal.desk.frontier.candidates import Candidate
from shoal.plan import Plan
from shoal.processes.side_by_side import as_finished, remembered
from shoal.vocabulary.errors import ShoalError
from shoal.vocabulary.facts import Better


class Result(TypedDict):
    """Outcome of a candidate: all figures by measure; values and directions as `taken_by(plan)` orders the measures."""

    holds: bool
    reason: str
    figures: dict[str, float | None]
    values: list[float | None]
    better: list[Better]


def carried_out(todo: Sequence[Candidate], table: Any, seed: int, workers: int) -> Iterator[tuple[str, Result]]:
    """The name of each candidate and what it came to, as they are finished."""
    for candidate, came in as_finished(_try_remembered, todo, workers, {"table": table, "seed": seed}):
        yield candidate.name, came


def _try_remembered(candidate: Candidate) -> Result:
    return _try(remembered["table"], candidate.plan, remembered["seed"])


def _try(table: Any, plan: Plan, seed: int) -> Result:
    """Carry a plan out; a method that cannot be applied is a point without figures, and says why."""
    try:
        evidence = assess(table, plan, seed=seed)
    except ShoalError as refusal:
        return {"holds": False, "reason": str(refusal), "figures": {}, "values": [], "better": []}
    failed = " ".join(v.sentence for v in evidence.verdicts if not v.holds)
    figures: dict[str, float | None] = {}
    for finding in evidence.findings:
        figures[finding.title if finding.measure in figures else finding.measure] = finding.value
    return {
        "holds": all(verdict.holds for verdict in evidence.verdicts),
        "reason": failed,
        "figures": figures,
        "values": [f.value for f in evidence.findings],
        "better": [f.better for f in evidence.findings],
    }
