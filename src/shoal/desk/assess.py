"""Assess: the verdicts and figures of a plan on a table, without a release."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.desk.linked import assess_linked
from shoal.judges.evidence import Evidence
from shoal.plan import Plan
from shoal.plan.admission import admit
from shoal.plan.any_plan import any_plan
from shoal.plan.linked import LinkedPlan
from shoal.run.carry_out import carry_out
from shoal.vocabulary.progress import OnProgress, shown


def assess(
    table: Any,
    plan: Plan | LinkedPlan | Mapping[str, Any] | str | Path,
    *,
    seed: int | None = None,
    stage: OnProgress | None = None,
    folder: str | Path | None = None,
) -> Evidence:
    """The verdicts and figures of a plan on a table; without a release, nothing is refused.

    Parameters are those of `protect`.
    """
    described = any_plan(plan, folder)
    if isinstance(described, LinkedPlan):
        return assess_linked(table, described, seed=seed, stage=stage)
    admit(described)
    with shown(stage) as tell:
        done = carry_out(table, described, seed, tell)
        verdicts = tuple(done.verdicts())
        return Evidence(verdicts=verdicts, findings=done.findings(), of_records=done.of_records)
