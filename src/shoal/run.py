"""Carry a plan out: from a table to a finished one that waits to be judged.

The order of events is always the same. The table becomes records; the steps change them one after another,
each with random numbers of its own; edit constraints are restored and values rounded; identifiers are taken
out; the records become a table again. Only that table is judged, as it would be written.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from shoal.constraints import Constraints
from shoal.data.microdata import Microdata
from shoal.data.partition import Partition, meet
from shoal.data.records import Records
from shoal.data.schema import Role
from shoal.errors import DataError, ParameterError, PlanError
from shoal.facts import Figure, losses
from shoal.judges.base import Measure
from shoal.judges.evidence import Finding, Verdict
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Longs
from shoal.methods import registered
from shoal.plan import MaskStep, PartitionStep, Plan
from shoal.privacy.base import PrivacyModel
from shoal.step_result import Grouping, StepResult

EXACT = 1e-9
"""Relative change of a moment that is put down to rounding."""

MEASURES, MEASURES_BEFORE = 1 << 20, 1 << 21
"""Keys of the measures' random numbers, on the release and on the original, beyond the number of any step."""

Stage = Callable[[str, float], None]
"""Called with what is being done and the fraction of it that is done."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """A plan carried out: the finished table, and what is needed to judge it."""

    plan: Plan
    entropy: int
    tell: Stage
    run: "Run"
    original: Microdata
    before: Records
    finished: Microdata
    released: Records

    @property
    def partition(self) -> Partition | None:
        return self.run.partition(self.released.rows)

    @property
    def hidden(self) -> dict[str, Partition]:
        return self.run.hidden(self.released.rows)

    def verdicts(self) -> list[Verdict]:
        self.tell("proving", 0.0)
        models = judged(self.plan, self.released, self.before, self.partition, self.hidden)
        return models + self.run.constraints.check(self.released)

    def risk_before(self) -> tuple[Finding, ...]:
        """The cheap measures of risk, taken on the original as if it were released."""
        self.tell("measuring the original", 0.0)
        rng = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(MEASURES_BEFORE,)))
        return tuple(
            m.finding_on(TablePair.of(self.before, self.before), rng)
            for m in _measures(self.plan)
            if m.method_kind == "risk" and m.cheap
        )

    def findings(self) -> tuple[Finding, ...]:
        return measured(self.plan, self.before, self.released, self.partition, self.entropy, self.tell)


def carry_out(
    table: Any, plan: Plan | Mapping[str, Any] | str | Path, seed: int | None, stage: Stage | None
) -> Outcome:
    """Carry a plan out on a table; parameters as in `shoal.protect`.

    Raises
    ------
    InputError
        If the table or the plan cannot be used.
    """
    plan = Plan.of(plan)
    tell = stage or (lambda text, fraction: None)
    original = table if isinstance(table, Microdata) else Microdata.of(table, plan.schema, plan.folder)
    if not len(original):
        raise DataError("The table has no records. A release needs at least one.")
    if seed is not None and (not isinstance(seed, (int, np.integer)) or seed < 0):
        raise ParameterError(f"seed must be an integer of at least 0; got {seed!r}.")
    entropy = secrets.randbits(128) if seed is None else int(seed)
    before = original.records
    if not len(before):
        raise DataError(
            "No record is left after those with missing values were dropped. "
            "Set missing: impute, category or keep for the columns that lack values."
        )
    run = Run(plan=plan.ready, entropy=entropy, tell=tell, constraints=Constraints.parse(plan.constraints, before))
    records = run.finish(run.steps(run.check_input(before)))
    finished = Microdata.finished(original.rebuild(records).without_metadata().native, plan.schema)
    return Outcome(
        plan=plan,
        entropy=entropy,
        tell=tell,
        run=run,
        original=original,
        before=before,
        finished=finished,
        released=replace(finished.encoded, rows=records.rows),
    )


class Run:
    """The steps of one release, and what they have to tell."""

    def __init__(self, *, plan: Plan, entropy: int, tell: Stage, constraints: Constraints) -> None:
        self.plan = plan
        self.entropy = entropy
        self.tell = tell
        self.constraints = constraints
        self.told: list[dict[str, Any]] = []
        self.results: list[StepResult] = []

    def generator(self, number: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(number,)))

    def check_input(self, records: Records) -> Records:
        """The input against the constraints, treated as the plan says."""
        change = self.constraints.admit(records, self.plan.broken_rules)
        if change.facts["broken"]:
            self.told.append({"step": "input constraints", **change.facts})
        return change.records

    def steps(self, records: Records) -> Records:
        for number, step in enumerate(self.plan.steps):
            self.tell(step.name, 0.0)
            records = self._step(step, number, records)
            self.tell(step.name, 1.0)
        spent = [loss.epsilon for result in self.results for loss in losses(result.facts)]
        if spent:  # differential privacy composes: the losses of the steps add up
            self.told.append(
                {"step": "privacy loss", "columns": [], "epsilon of all steps": Figure(value=sum(spent), influence=0)}
            )
        return records

    def _step(self, step: PartitionStep | MaskStep, number: int, records: Records) -> Records:
        columns = step.columns or self.plan.schema.names(*step.default_roles)
        if step.own_cells:
            self._refuse_shared_cells(step.name, columns)
        result = step.carry_out(
            records, columns, self.generator(number), lambda fraction: self.tell(step.name, fraction)
        )
        self.results.append(result)
        self.told.append({"step": step.name, "columns": list(columns), **result.facts})
        return result.records

    def _refuse_shared_cells(self, step: str, columns: tuple[str, ...]) -> None:
        """Refuse columns whose cells another record's cells may have gone into: noise on many is averaged away."""
        changed = {name for result in self.results for name in result.changed}
        for name in columns:
            if self.plan.schema.columns[name].missing_policy == "impute":
                raise PlanError(
                    f"{step}: missing cells of '{name}' are imputed from other records, whose privacy loss nobody "
                    f"accounts for. Set missing: drop or refuse for the column."
                )
            if name in changed:
                raise PlanError(
                    f"{step}: an earlier step changed '{name}', so its cells may hold what other records gave, "
                    f"and the loss of privacy would exceed epsilon. Let this step come first on the column."
                )

    def finish(self, records: Records) -> Records:
        """Constraints restored and rounded, identifiers out, households renumbered, order shuffled."""
        decimals = {n: c.decimals for n, c in self.plan.schema.columns.items() if c.decimals is not None}
        if self.plan.constraints:
            change = self.constraints.repair(records)
            kept = self.constraints.round(change.records, decimals)
            self.told.append({"step": "constraints and rounding", **change.facts, **_moments_moved(records, kept)})
            records = kept
        records = records.without(set(self.plan.schema.names("identifier")) - self.plan.pseudonyms)
        rng = self.generator(len(self.plan.steps))
        for name in records.names("household"):
            records = records.with_variables(_renumbered(records[name], rng))
        return records.take(rng.permutation(len(records))) if self.plan.output.shuffle else records

    @property
    def _groupings(self) -> list[Grouping]:
        return [result.grouping for result in self.results if result.grouping is not None]

    def partition(self, rows: Longs) -> Partition | None:
        """The last partition, for the records that are still there, in their order."""
        return self._groupings[-1].among(rows) if self._groupings else None

    def hidden(self, rows: Longs) -> dict[str, Partition]:
        """For each column that a step changed, the groups inside which it was replaced, as above.

        Those of a column that several steps replaced are the records that stayed together in all of them; those of a
        column that masks alone changed are of one record each.
        """
        inside: dict[str, list[Partition]] = {}
        for grouping in self._groupings:
            here = grouping.among(rows)
            for name in grouping.columns:
                inside.setdefault(name, []).append(here)
        alone = Partition(labels=np.arange(len(rows), dtype=np.int32))
        masked = {name for result in self.results for name in result.masked}
        return dict.fromkeys(sorted(masked), alone) | {name: meet(parts) for name, parts in inside.items()}


def judged(
    plan: Plan, released: Records, before: Records | None, partition: Partition | None, hidden: Mapping[str, Partition]
) -> list[Verdict]:
    """What becomes of the plan's requirements; parameters as in `hiding`."""
    return [
        model.judge(TablePair.of(before, released, hiding(model, released, partition, hidden)))
        for model in plan.requirements
    ]


def hiding(
    model: PrivacyModel, released: Records, partition: Partition | None, hidden: Mapping[str, Partition]
) -> Partition | None:
    """The groups in which records are hidden from who knows the columns that a requirement is about.

    If several steps changed these columns, each in groups of its own, only records that share a group in all of them
    are hidden in each other. A column that is constant in the release tells nothing, whatever changed it.

    Parameters
    ----------
    partition
        The groups of the last partition step, which stand if no step changed any of the columns.
    hidden
        As from `Run.hidden`.
    """
    roles = get_args(Role)
    about = [name for read in model.reads for name in (released.names(read) if read in roles else (read,))]
    parts = {
        id(hidden[name]): hidden[name]
        for name in about
        if name in hidden and name in released.names() and np.ptp(released[name].codes()) > 0
    }
    return meet(list(parts.values())) if parts else partition


def _moments_moved(before: Records, after: Records) -> dict[str, Any]:
    """What became of promises about means and covariances when records were moved to keep the constraints."""
    names = [v.name for v in before.variables if v.continuous and not v.missing.any()]
    if len(before) < 2 or not names:
        return {}
    x, y = before.raw(names), after.raw(names)
    spread = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    x, y = (x - x.mean(axis=0)) / spread, (y - x.mean(axis=0)) / spread
    means = float(np.abs(y.mean(axis=0) - x.mean(axis=0)).max())
    covariances = float(np.abs(np.cov(y, rowvar=False) - np.cov(x, rowvar=False)).max())
    return {
        "largest change of a mean, in standard deviations": means,
        "largest change of a covariance, in products of standard deviations": covariances,
        "exact means survive": means <= EXACT,
        "exact covariances survive": covariances <= EXACT,
    }


def _renumbered(variable: Any, rng: np.random.Generator) -> Any:
    """Household numbers say who lives together and nothing else: random numbers from 1."""
    order = rng.permutation(len(variable.categories))
    numbers = tuple(range(1, len(order) + 1))
    codes = np.where(variable.missing, -1, order[variable.values])  # a missing household stays missing
    return replace(variable, values=codes.astype(np.int32), categories=numbers)


def measured(
    plan: Plan, before: Records, released: Records, partition: Partition | None, entropy: int, tell: Stage
) -> tuple[Finding, ...]:
    """What the measures say of a release, each with random numbers of its own."""
    measures = _measures(plan)
    pair = TablePair.of(before, released, partition)
    findings = []
    for number, measure in enumerate(measures):
        tell(f"measuring {measure.method_name}", number / len(measures))
        rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(MEASURES, number)))
        findings.append(measure.finding_on(pair, rng))
    tell("judging", 1.0)
    return tuple(findings)


def _measures(plan: Plan) -> list[Measure]:
    """All cheap measures and those that the plan names."""
    cheap = [e.cls() for kind in ("risk", "utility") for e in registered(kind) if e.cls.cheap]
    named = {m.method_name for m in plan.ready.measures}
    return [m for m in cheap if m.method_name not in named] + list(plan.ready.measures)
