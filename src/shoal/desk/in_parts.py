"""A plan carried out on a table in parts and released, or taken up where an earlier run was killed."""

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any
from weakref import finalize

from shoal.desk.given import EngineName, Given, check_fits, engine_for
from shoal.desk.identity import identity
from shoal.desk.keeping import AT_ONCE, Keeping
from shoal.desk.whole import exact_measures, protect_whole
from shoal.plan import Plan
from shoal.plan.admission import admit
from shoal.release import LargeRelease, Release, WholeRelease
from shoal.release.directory import into_place
from shoal.release.in_parts import write_release
from shoal.release.publish import UNPROVED
from shoal.run.parts.admission import columns_at_once, needed_at_once, whole_needed
from shoal.run.parts.in_blocks import Runs
from shoal.run.parts.journal import Journal
from shoal.run.parts.outcome import carried_out
from shoal.run.parts.steps import Run
from shoal.run.privacy_spent import private_steps
from shoal.table.files.atomic import locked, resolved
from shoal.table.files.table import Table
from shoal.table.parts.session import enough_memory, session
from shoal.vocabulary.errors import FileError, ParameterError, Refused, ShoalError, plural
from shoal.vocabulary.progress import OnProgress

UNFINISHED = "unfinished"
"""In the name of the folder in which a run works."""


@dataclass(frozen=True, kw_only=True)
class Workshop:
    """Place and engine of the work on parts; no byte of a release depends on them.

    Parameters
    ----------
    memory
        Bytes that may be used. About 1 GB is used whatever is said.
    workers, engine
        As for `shoal.protect`.
    """

    memory: int
    workers: int | None
    engine: EngineName | None
    tell: OnProgress


@dataclass(frozen=True, kw_only=True)
class Writing:
    """Destination of a release, and notes beside it; as for `shoal.protect`. `keeping`: the plan's ledger."""

    overwrite: bool = False
    unproved: bool = False
    frontier: Mapping[str, Any] | None = None
    source: Mapping[str, Any] | None = None
    keeping: Keeping | None = None


def protect_in_parts(
    given: Given, plan: Plan, out: Path | None, seed: int | None, workshop: Workshop, writing: Writing
) -> Release:
    """Protect a table in parts, prove what the plan requires on the files as written, and put the release in its place.

    The release is a directory of Parquet parts, or one CSV file; one file of any format where something of the plan
    needs the table whole. Without `out` nothing is written to stay. Parameters are those of `shoal.protect`.

    Raises
    ------
    Refused
        If a requirement does not hold on the files as written, a step refuses, or the plan requires nothing.
    InputError
        If the table or the plan cannot be used, or what needs records at once needs more memory than may be used.
    """
    if writing.keeping is not None and writing.keeping.rules.hold_back:
        raise ParameterError(AT_ONCE)
    if out is None:
        return _for_now(given, plan, seed, workshop, writing)
    protects = any(model.protects for model in plan.requirements)
    if not (protects or writing.unproved or private_steps(plan)):
        raise Refused(UNPROVED)
    if whole_needed(plan):
        return _written_whole(given, plan, out, seed, workshop, writing)
    return _written_in_parts(given, plan, out, seed, workshop, writing)


def _written_in_parts(
    given: Given, plan: Plan, out: Path, seed: int | None, workshop: Workshop, writing: Writing
) -> LargeRelease:
    with _runs(given, plan, out, seed, workshop) as (run, entropy, connection):
        journal = run(plan, entropy).journal
        source = given.source(connection, lambda: journal.place("given", anew=True))
        plan = _described(plan, source.columns)
        _check_steps_fit(given, plan, workshop.memory)
        with enough_memory(source.name):
            done = carried_out(run(plan.ready, entropy), source)
        exact = exact_measures(plan, done.accounts)
        with into_place(out, overwrite=writing.overwrite) as temporary, enough_memory(source.name):
            return write_release(done, plan, source, temporary, out, exact, writing.frontier)


def _written_whole(
    given: Given, plan: Plan, out: Path, seed: int | None, workshop: Workshop, writing: Writing
) -> WholeRelease:
    with _runs(given, plan, out, seed, workshop) as (run, entropy, _):
        release = _of_the_whole(given, plan, entropy, workshop, run, writing)
        release.write(
            out,
            overwrite=writing.overwrite,
            labels=given.whole if isinstance(given.whole, Table) else None,
            frontier=writing.frontier,
            unproved=writing.unproved,
        )
    return release


def _for_now(given: Given, plan: Plan, seed: int | None, workshop: Workshop, writing: Writing) -> Release:
    """The same with nothing written to stay: a `LargeRelease` lies in a temporary folder as long as it is there."""
    folder = mkdtemp(prefix="shoal-")
    out = Path(folder, "release")
    try:
        if whole_needed(plan):
            with _runs(given, plan, out, seed, workshop) as (run, entropy, _):
                return _of_the_whole(given, plan, entropy, workshop, run, writing)
        release = _written_in_parts(given, plan, out, seed, workshop, writing)
        finalize(release, rmtree, folder, ignore_errors=True)
        return release
    finally:
        if not out.exists():
            rmtree(folder, ignore_errors=True)


def _of_the_whole(
    given: Given, plan: Plan, entropy: int, workshop: Workshop, run: Runs, writing: Writing
) -> WholeRelease:
    """The release of a table that is held whole, its groups formed in blocks."""
    data = given.in_memory(workshop.memory, whole_needed(plan))
    source = writing.source or given.origin
    return protect_whole(data, plan, seed=entropy, stage=workshop.tell, source=source, run=run, keeping=writing.keeping)


def _check_steps_fit(given: Given, plan: Plan, memory: int) -> None:
    """Refuse a plan of which a step needs more records at once than memory holds, before it is begun."""
    columns = plan.schema.columns
    for number, step in enumerate(plan.steps, 1):
        if why := needed_at_once(step, plan):
            wanted = columns_at_once(step, plan)
            share = len(columns) if wanted is None else len(wanted & set(columns))
            need = f"steps {number} ({step.name}) may need {{}} to hold the {plural(share, 'column')} that it looks at"
            check_fits(need, given.cells * share // len(columns), memory, f"It {why}")


@contextmanager
def _runs(given: Given, plan: Plan, out: Path, seed: int | None, workshop: Workshop) -> Iterator[tuple[Runs, int, Any]]:
    """A function that makes a run beside the place of its release, its seed, and a session of DuckDB.

    A run of another seed than this, as for a further copy, has a folder inside that of the run.
    """
    place = resolved(out).with_name(f".{out.name}.{UNFINISHED}")
    at_work = engine_for(given.data, workshop.engine, place, workshop.memory, workshop.workers)
    with _with_parents(place), _alone(place), session(workshop.memory, place / "spill") as connection:
        journal, entropy = _journal(place, identity(plan, given.files, given.reading, at_work.name), seed)

        def run(plan: Plan, of: int) -> Run:
            inside = journal if of == entropy else Journal(folder=journal.place(f"copy-{of}"))
            return Run(
                plan=plan, entropy=of, journal=inside, engine=at_work, memory=workshop.memory, tell=workshop.tell
            )

        with _left_to_go_on(journal):
            yield run, entropy, connection
        journal.remove()


def _described(plan: Plan, columns: Sequence[str]) -> Plan:
    """The plan with a role for every column of the table."""
    plan = plan.covering(columns)
    admit(plan)
    plan.schema.check_covers(columns)
    return plan


@contextmanager
def _left_to_go_on(journal: Journal) -> Iterator[None]:
    """Keep finished work where another try may go on; leave nothing of the table where it would fail again."""
    try:
        yield
    except ShoalError as error:
        if not isinstance(error.__context__, OSError):  # neither a full disk nor a file that may be there again
            journal.remove()
        raise
    except OSError as error:
        raise FileError(
            f"The folder of the run, '{journal.folder}', cannot be written ({error.strerror or error}). Make room, and "
            f"start again: what is finished is not done again."
        ) from None


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Nobody else works in a folder meanwhile."""
    lock = place.with_name(f"{place.name}.lock")
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_RDONLY | os.O_NOFOLLOW, 0o600))
    except OSError as error:  # such as a link that somebody put there
        raise FileError(f"The lock '{lock}' cannot be made ({error.strerror}). Name another directory.") from None
    try:
        with locked(lock, wait=False):
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)
    except BlockingIOError:
        raise FileError(
            f"Another run is writing to '{place.parent}'. Wait for it, or name another directory."
        ) from None


def _journal(place: Path, run: Mapping[str, Any], seed: int | None) -> tuple[Journal, int]:
    """The folder of the run and its seed: those of the same run that was killed, where there was one."""
    before = Journal.seed_in(place)
    if seed is None and before is not None and Journal.is_of(place, {**run, "seed": before}):
        seed = before
    entropy = secrets.randbits(128) if seed is None else int(seed)
    return Journal.open(place, {**run, "seed": entropy}), entropy


@contextmanager
def _with_parents(place: Path) -> Iterator[None]:
    """The folders above a place, made where they are missing, and taken away again if nothing comes of them."""
    missing = [folder for folder in place.parents if not folder.exists()]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"Output '{place.parent}' cannot be made ({error.strerror}). Choose another place.") from None
    try:
        yield
    except BaseException:
        with suppress(OSError):  # something of the run, or of others, is in one
            for folder in missing:
                folder.rmdir()
        raise
