"""A synthesiser fitted to a table, to be kept without the table and drawn from whenever records are wanted.

Only a model that is differentially private is kept: trees hold the cells of their leaves, and whoever has them has
these cells. A private model follows from noisy answers, so that it may be published as a release may.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw

from shoal.desk.given import Given
from shoal.kernels.draws import keyed_generator
from shoal.mask._marginals.fitted import FittedMarginals
from shoal.mask.private_marginals import PrivateMarginals
from shoal.mask.secret_stream import SecretStream
from shoal.plan import Plan
from shoal.plan.admission import admit
from shoal.plan.linked import LinkedPlan, any_plan
from shoal.privacy.differential import Differential
from shoal.release.fitted import Cells, Fitted
from shoal.release.refusal import require
from shoal.run.carry_out import Outcome, after_steps, check_seed
from shoal.table.parts.session import allowance
from shoal.table.records import Records
from shoal.table.step_result import StepResult
from shoal.vocabulary.errors import PlanError
from shoal.vocabulary.progress import OnProgress, shown

WHOLE_TABLE = ("A model is fitted to a table that is held whole.",)


def fit(
    table: Any,
    plan: Plan | LinkedPlan | Mapping[str, Any] | str | Path,
    *,
    seed: int | None = None,
    memory: str | int | None = None,
    stage: OnProgress | None = None,
    reading: Mapping[str, Any] | None = None,
    folder: str | Path | None = None,
) -> Fitted:
    """Fit the synthesiser of a plan to a table, and prove that the model may be published.

    The plan has the one step `private-marginals` and the requirement `differential`. What it says of measures, output
    and exploration concerns a release, and is left aside.

    Parameters
    ----------
    table
        As for `shoal.protect`; it is held whole.
    plan
        A Plan, its sections as a mapping, or the path of a YAML file.
    seed
        Makes the model repeatable; by default drawn from the operating system. Keep it as secret as the table: whoever
        knows it can take the noise away.
    memory
        Bytes that may be used, as a number or as in "6GB"; half of the machine's by default.
    stage
        Called with the name of the current stage and the fraction of the run that is done.
    reading
        Options for reading files, as for `shoal.protect`.
    folder
        Folder in which files that the plan names are looked up; by default that of the plan's file.

    Returns
    -------
    The fitted model, without any record: `draw` makes new ones, `write` keeps it.

    Raises
    ------
    Refused
        If the requirement does not hold.
    InputError
        If the table or the plan cannot be used.
    """
    described = _fittable(any_plan(plan, folder))
    admit(described)
    check_seed(seed)
    given = Given.of(table, reading)
    with shown(stage) as tell:
        data = given.in_memory(allowance(memory), WHOLE_TABLE)
        entropy = secrets.randbits(128) if seed is None else int(seed)
        fitting = _Fitting(plan=described, entropy=entropy, tell=tell)
        done = after_steps(data, described, entropy, tell, shared={0: fitting}).outcome()
        (proved,) = require(done.verdicts())
    (marginals,) = fitting.fitted
    required: Any = described.requirements[0]
    return Fitted(
        marginals=marginals,
        cells=_cells_of(done, marginals),
        epsilon=required.epsilon,
        delta=required.delta,
        proved=proved.sentence,
    )


@dataclass(frozen=True, kw_only=True)
class _Fitting:
    """The step that keeps the model which it fits."""

    plan: Plan
    entropy: int
    tell: OnProgress
    fitted: list[FittedMarginals] = field(default_factory=list)

    def __call__(self, records: Records) -> StepResult:
        (step,) = self.plan.ready.steps
        method: PrivateMarginals = step.method
        columns = step.changes(self.plan.covering(records.names()).schema)
        stream = SecretStream(keyed_generator(self.entropy, 0))
        fitted, facts = method.fit(records, columns, stream, lambda fraction: self.tell(step.name, fraction))
        self.fitted.append(fitted)
        return method.drawn(records, fitted, facts, stream)


def _fittable(plan: Plan | LinkedPlan) -> Plan:
    """The plan, if its model may be kept. Raises PlanError for all others, before a record is read."""
    if isinstance(plan, LinkedPlan):
        raise PlanError("A model is fitted to one table, and the plan has several. Name a plan for one table.")
    if len(plan.steps) != 1 or not isinstance(plan.steps[0].method, PrivateMarginals):
        raise PlanError(
            "steps: a model that is kept must be differentially private, for others hold cells of the table. Let "
            "private-marginals be the only step, or draw records with shoal protect."
        )
    if len(plan.requirements) != 1 or not isinstance(plan.requirements[0], Differential):
        raise PlanError(
            "requirements: what is proved of a model must hold for every table drawn from it. Require differential "
            "alone, as in {privacy: differential, epsilon: 1, delta: 1e-9}."
        )
    if plan.ledger is not None:
        raise PlanError("ledger: shoal fit writes in no ledger. Take the section out, or release by shoal protect.")
    return plan


def _cells_of(done: Outcome, marginals: FittedMarginals) -> tuple[Cells, ...]:
    """By column, the type that a released column has."""
    types: list[Cells] = []
    for domain in marginals.domains:
        dtype = done.finished.frame[domain.like.name].dtype
        if domain.like.continuous:
            types.append("integer" if dtype.is_integer() and domain.whole else "number")
        elif dtype.is_numeric():
            types.append("integer" if dtype.is_integer() else "number")
        else:
            types.append("truth" if dtype == nw.Boolean else "text")
    return tuple(types)
