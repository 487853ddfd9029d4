"""Candidates carried out, each by itself, in processes side by side."""

from collections.abc import Iterator, Sequence
from typing import Any, TypedDict

from shoal.desk.assess import assess
from shoal.desk.frontier.candidates import Candidate
from shoal.plan import Plan
from shoal.plan.linked import LinkedPlan
from shoal.processes.side_by_side import as_finished, remembered
from shoal.vocabulary.errors import ShoalError
from shoal.vocabulary.facts import Better


class CandidateResult(TypedDict):
    """Outcome of a candidate: figures by measure; values and directions in the order of `taken_by(plan)`."""

    holds: bool
    reason: str
    figures: dict[str, float | None]
    values: list[float | None]
    better: list[Better]


def carried_out(
    todo: Sequence[Candidate], table: Any, seed: int, workers: int
) -> Iterator[tuple[str, CandidateResult]]:
    """The name and the outcome of each candidate, as they are finished."""
    for candidate, result in as_finished(_try_remembered, todo, workers, {"table": table, "seed": seed}):
        yield candidate.name, result


def _try_remembered(candidate: Candidate) -> CandidateResult:
    return _try(remembered["table"], candidate.plan, remembered["seed"])


def _try(table: Any, plan: Plan | LinkedPlan, seed: int) -> CandidateResult:
    """Carry a plan out; a method that cannot be applied gives no figures, and a reason."""
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
