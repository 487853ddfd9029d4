"""Several copies of linked tables of made-up persons: all of them made, and what they give away together.

Each copy is carried out by itself, with random numbers of its own, so keys and the order of rows are drawn anew. Whom
copies give back is counted over all of them, for whoever holds one holds all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.judges.evidence import Finding, Verdict
from shoal.judges.joined import Joined
from shoal.kernels.draws import seed_below
from shoal.plan.linked import LinkedPlan
from shoal.run.linked import LinkedOutcome, carry_out_linked
from shoal.run.over_measures import in_any_copy
from shoal.vocabulary.progress import OnProgress

COPIES = 1 << 22
"""Key of the further copies' seeds, beyond the number of any step and measure."""


@dataclass(frozen=True, kw_only=True)
class CopiesTogether:
    """Verdicts and figures on all copies together; none where there is one."""

    verdicts: tuple[Verdict, ...] = ()
    findings: tuple[Finding, ...] = ()


def carried_out(tables: Mapping[str, Any], plan: LinkedPlan, seed: int | None, tell: OnProgress) -> list[LinkedOutcome]:
    """All copies that a plan asks for, one if it asks for no more; parameters as for `carry_out_linked`."""
    first = carry_out_linked(tables, plan, seed, tell)
    seeds = [seed_below(first.entropy, COPIES, number) for number in range(1, plan.copies)]
    copies = [first, *(carry_out_linked(tables, plan, own, tell) for own in seeds)]
    if fractional := _of_two_types(copies):  # one codebook is for all copies
        copies = [carry_out_linked(tables, plan, copy.entropy, tell, fractional) for copy in copies]
    return copies


def _of_two_types(copies: Sequence[LinkedOutcome]) -> dict[str, set[str]]:
    """By table, columns that are integers in one copy and floats in another, as types follow from the cells."""
    differing: dict[str, set[str]] = {}
    for name, first in copies[0].tables.items():
        frame = first.finished.frame
        others = [copy.tables[name].finished.frame for copy in copies[1:]]
        if columns := {c for c in frame.columns if any(other[c].dtype != frame[c].dtype for other in others)}:
            differing[name] = columns
    return differing


def judged_together(copies: Sequence[LinkedOutcome]) -> CopiesTogether:
    """Exact matches of persons, and the bounds on them, over all copies."""
    first = copies[0]
    if len(copies) == 1:
        return CopiesTogether()
    written = [copy.stages[0][0] for copy in copies]
    stages = [stage for copy in copies for stage in _filled(copy)]
    of_persons = [measure for measure in first.plan.taken if measure.over_tables == "profiles"]
    bounds = [gate for gate in first.plan.bounds if gate.measure.over_tables == "profiles"]
    return CopiesTogether(
        verdicts=tuple(gate.verdict_of(in_any_copy(gate.measure, stages, first.before)) for gate in bounds),
        findings=tuple(in_any_copy(measure, written, first.before) for measure in of_persons),
    )


def _filled(copy: LinkedOutcome) -> list[Joined]:
    """The tables of a copy as written, and as each stage fills them in."""
    return [stage for joined, laws in copy.stages for stage in joined.stages(laws)]
