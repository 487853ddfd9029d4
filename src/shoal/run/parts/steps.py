"""A step carried out on a table in parts: parts are made, treated side by side, and put together again."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.kernels.draws import keyed_generator
from shoal.plan import Plan
from shoal.plan.steps import LOSS, MaskStep, PartitionStep, Step, settings_of
from shoal.run.one_step import refuse_nothing_left
from shoal.run.parts.joining import ADD_UP, joined_facts, merged_order
from shoal.run.parts.journal import Journal
from shoal.run.parts.part_work import PartDone, PartJob, Spread, StepWork, treated
from shoal.table.parts.dealing import Dealing
from shoal.table.parts.engine import HERE, Engine
from shoal.table.parts.moments import WholeTable, with_categories
from shoal.table.parts.pieces import gathered
from shoal.table.parts.stage import ROW, Stage
from shoal.table.parts.strata import StrataMoments
from shoal.table.schema import Column, Schema, default_unit
from shoal.table.step_result import StepAccount
from shoal.vocabulary.errors import DataError, Refused, plural
from shoal.vocabulary.facts import ByLabel, Count, Facts, Figure

CUTTING = 1 << 23
"""Key of the random numbers by which blocks are found, beyond the number of any block."""

ANYWAY = 1 << 30
"""Bytes that a run takes whatever it is allowed."""

WORTH_PROCESSES = 50_000_000
"""Cells from which on work row by row is done in processes side by side: each takes a second of CPU to begin."""

Tell = Callable[[str, float], None]


@dataclass(frozen=True, kw_only=True)
class Run:
    """The run of a plan: all that stays the same from step to step.

    Parameters
    ----------
    plan
        Ready to be carried out.
    engine
        Who does the work on parts; nothing depends on it.
    memory
        Bytes that may be used; no byte of a release depends on it.
    tell
        Called with what is being done and the fraction of it that is done.
    """

    plan: Plan
    entropy: int
    journal: Journal
    engine: Engine
    memory: int
    tell: Tell

    @property
    def folder(self) -> Path:
        """Folder in which files that the plan names are looked up."""
        return self.plan.folder

    @property
    def spill(self) -> Path:
        """Folder for DuckDB's temporary files."""
        return self.journal.place("spill")

    @property
    def memory_for_combinations(self) -> int:
        """Bytes that a step may take that looks at all distinct combinations of its columns at once."""
        return max(self.memory, ANYWAY)

    def generator(self, *key: int) -> np.random.Generator:
        """The random numbers of one piece of work."""
        return keyed_generator(self.entropy, *key)


@dataclass(frozen=True, kw_only=True)
class After:
    """The table after a step.

    Parameters
    ----------
    schema
        How the columns are described now.
    averaged
        Columns whose cells are averages now, as in `StepResult`.
    private
        For the private record alone: where the table was cut.
    """

    stage: Stage
    schema: Schema
    account: StepAccount
    averaged: frozenset[str] = frozenset()
    private: ByLabel = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class WorkInParts:
    """A step's work, cut up, and who does it."""

    jobs: list[PartJob]
    work: StepWork
    engine: Engine
    private: ByLabel = field(default_factory=dict)


def after_step(run: Run, number: int, step: Step, stage: Stage, schema: Schema) -> After:
    """A step carried out on a stage.

    Raises
    ------
    Refused
        If the step left no record, or blocks could not be treated even joined.
    """
    columns = tuple(step.columns or schema.names(*step.default_roles))
    run.tell(step.name, 0.0)
    parts = _blocks(run, number, step, stage, schema, columns) if isinstance(step, PartitionStep) else None
    parts = parts or _as_they_lie(run, number, step, stage, schema, columns)
    done = _all_treated(run, step, parts)
    following = Stage.of((part.out for part in done), run.engine)
    refuse_nothing_left(step, following.records)
    run.tell(step.name, 1.0)
    return After(
        stage=following,
        schema=_joined_schema(step, done),
        account=StepAccount(step=step.name, columns=columns, facts=_joined_facts(step, done)),
        averaged=frozenset(name for part in done for name in part.averaged),
        private=parts.private,
    )


def _as_they_lie(
    run: Run, number: int, step: Step, stage: Stage, schema: Schema, columns: tuple[str, ...]
) -> WorkInParts:
    """The parts of the stage themselves, for a step that works row by row."""
    place = run.journal.place(f"step-{number}")
    jobs = [PartJob(number=i, paths=(path,), out=place / path.name) for i, path in enumerate(stage.parts)]
    whole = WholeTable(schema=schema)
    if isinstance(step, MaskStep) and step.method.sees_categories:
        whole = run.journal.once(f"whole-{number}", lambda: with_categories(stage, whole, columns, run.folder))
    known = None
    if isinstance(step, MaskStep) and step.method.wants_moments:
        known = run.journal.once(f"known-{number}", lambda: StrataMoments.of(stage, schema, columns))
    work = StepWork(
        step=step, columns=columns, whole=whole, folder=run.folder, entropy=run.entropy, key=number, known=known
    )
    small = not run.engine.far and stage.records * len(stage.columns) < WORTH_PROCESSES
    return WorkInParts(jobs=jobs, work=work, engine=HERE if small else run.engine)


def _blocks(
    run: Run, number: int, step: PartitionStep, stage: Stage, schema: Schema, columns: tuple[str, ...]
) -> WorkInParts:
    """Blocks of records that lie near one another, each in a file of its own."""
    if step.unit is None and (unit := default_unit(schema.names)) != "record":
        step = replace(step, unit=unit)  # as by default, without the loss of another unit for each block
    by = step.by or columns
    _refuse_gaps(stage, by, step.method.method_name)
    confidential = schema.names("confidential") if step.method.compares_confidential else ()
    whole = run.journal.once(
        f"whole-{number}", lambda: WholeTable.of(stage, schema, run.folder, compared=by, counts=confidential)
    )

    def deal() -> tuple[list[Path], list[Any]]:
        dealing = Dealing.of(stage, whole, by, run.folder, run.generator(number, CUTTING), run.plan.block_size)
        place = run.journal.place(f"blocks-{number}", anew=True)
        files = stage.dealt(dealing.dealt, dealing.blocks, place)
        return files, [cuts.as_mapping() for cuts in dealing.cuts if cuts.nodes]

    files, cuts = run.journal.once(f"dealt-{number}", deal)
    place = run.journal.place(f"step-{number}")
    jobs = [PartJob(number=i, paths=(path,), out=place / f"part-{i:05d}.parquet") for i, path in enumerate(files)]
    while len(jobs) > 1 and (small := {job.number for job in jobs if _records(job) < 2 * step.method.smallest}):
        jobs, _ = _joined_with_next(jobs, small)
    work = StepWork(step=step, columns=columns, whole=whole, folder=run.folder, entropy=run.entropy, key=number)
    return WorkInParts(jobs=jobs, work=work, engine=run.engine, private={"blocks": len(files), "cuts": cuts})


def _refuse_gaps(stage: Stage, by: Sequence[str], method: str) -> None:
    """Refuse missing cells where records are dealt to blocks by how near they are."""
    missing = Counter[str]()
    for counts in stage.each(_gaps, tuple(by)):
        missing.update(counts)
    for name in by:
        if missing[name]:
            raise DataError(
                f"Column '{name}' has {plural(missing[name], 'missing value')}; {method} needs complete columns on a "
                f"table in parts. Set missing: drop or impute for it, or say exact: true in the plan."
            )


def _gaps(chunk: pl.DataFrame) -> dict[str, int]:
    return {column.name: column.null_count() for column in chunk}


def _records(job: PartJob) -> int:
    return sum(len(gathered(path, ROW)) for path in job.paths)


def _all_treated(run: Run, step: Step, parts: WorkInParts) -> list[PartDone]:
    """All parts treated; blocks that cannot be by themselves are joined with the next until they can.

    Raises
    ------
    Refused
        If not even all blocks together can.
    """
    jobs = parts.jobs
    done: dict[int, PartDone] = {}
    while True:
        for part in _treated(run, step, parts, [job for job in jobs if job.number not in done], len(jobs)):
            done[part.number] = part
        refused = {number for number, part in done.items() if part.refused}
        if not refused:
            return [done[job.number] for job in jobs]
        if len(jobs) == 1:
            raise Refused(done[jobs[0].number].refused)
        jobs, again = _joined_with_next(jobs, refused)
        done = {number: part for number, part in done.items() if number not in again}


def _joined_with_next(jobs: Sequence[PartJob], chosen: set[int]) -> tuple[list[PartJob], set[int]]:
    """The jobs with each of some joined to its neighbour, and the numbers of those that are to be done again.

    A joined block has a number and a file of its own.
    """
    out: list[PartJob] = []
    again: set[int] = set(chosen)
    waiting: PartJob | None = None
    fresh = max(job.number for job in jobs) + 1
    for job in jobs:
        if waiting is not None:
            again |= {job.number, waiting.number}
            waiting = _united(waiting, job, fresh)
            fresh += 1
            out.append(waiting)
            waiting = None
        elif job.number in chosen:
            waiting = job
        else:
            out.append(job)
    if waiting is not None:  # the last one goes to the one before
        before = out.pop()
        again |= {before.number, waiting.number}
        out.append(_united(before, waiting, fresh))
    return out, again


def _united(first: PartJob, second: PartJob, number: int) -> PartJob:
    out = first.out.with_name(f"part-{number:05d}.parquet")
    return PartJob(number=number, paths=(*first.paths, *second.paths), out=out)


def _treated(run: Run, step: Step, parts: WorkInParts, jobs: list[PartJob], count: int) -> Iterator[PartDone]:
    """Parts as they are finished; those that were before are not treated again."""
    name = f"treated-{parts.work.key}-{{:05d}}"
    waiting = []
    for job in jobs:
        if run.journal.finished(name.format(job.number)):
            yield run.journal.once(name.format(job.number), lambda: treated(job))  # noqa: B023 - is not called
        else:
            waiting.append(job)
    for left, (_, part) in enumerate(parts.engine.as_finished(treated, waiting, {"work": parts.work}), 1):
        yield run.journal.once(name.format(part.number), lambda: part)  # noqa: B023 - is called at once
        run.tell(step.name, 1 - (len(waiting) - left) / count)


def _joined_schema(step: Step, done: Sequence[PartDone]) -> Schema:
    """Columns as all parts describe them; the order of categories is the step's own, or suits that of every part."""
    labels = step.method.labels_in_order if isinstance(step, MaskStep) else ()
    described: dict[str, Column] = {}
    for name in done[0].described:
        columns = [part.described[name] for part in done if part.records]
        column = columns[0]
        if column.level == "ordinal":
            orders = [c.order or () for c in columns]
            present = {label for order in orders for label in order}
            order = tuple(label for label in labels if label in present)
            column = column.model_copy(
                update={"order": order if present and present <= set(labels) else merged_order(orders)}
            )
        described[name] = column
    return Schema.model_construct(root=described)


def _joined_facts(step: Step, done: Sequence[PartDone]) -> Facts:
    """Facts of all parts together."""
    if isinstance(step, PartitionStep):
        sizes = np.array([part.sizes for part in done if part.sizes is not None])
        spread = sum(Spread.joined([part.spreads[name] for part in done]).total for name in done[0].spreads)
        loss = sum(part.loss for part in done)
        summed = joined_facts([part.facts for part in done])
        return {
            **settings_of(step.method),
            **settings_of(step.replace),
            **{label: fact for label, fact in summed.items() if isinstance(fact, Count) and fact.unit in ADD_UP},
            "groups": Count(n=int(sizes[:, 2].sum()), unit="groups"),
            "smallest group": Count(n=int(sizes[:, 0].min())),
            "largest group": Count(n=int(sizes[:, 1].max())),
            LOSS: Figure(value=100 * loss / spread if spread > 0 else 0.0),
            **{label: fact for label, fact in done[0].facts.items() if label == "unit"},
            "blocks": Count(n=len(done), unit="blocks"),
        }
    return joined_facts([part.facts for part in done])
