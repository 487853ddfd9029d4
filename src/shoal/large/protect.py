"""A plan carried out on a table larger than memory and released, or taken up where an earlier run was killed."""

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shoal.errors import FileError, ParameterError, Refused, ShoalError
from shoal.files.atomic import atomic_directory, locked, resolved
from shoal.large.given import engine_for, table_given
from shoal.large.identity import identity
from shoal.large.publication import write_release
from shoal.plan import Plan
from shoal.plan.admission import admit
from shoal.progress import Stage
from shoal.protect import exact_measures
from shoal.publish import UNPROVED, check_free, check_writable
from shoal.release import LargeRelease
from shoal.scale.admission import check_requirements, check_scales
from shoal.scale.journal import Journal
from shoal.scale.outcome import carried_out
from shoal.scale.session import bytes_of, half_of_memory, session
from shoal.scale.steps import Run

UNFINISHED = "unfinished"
"""In the name of the folder in which a run works."""


def protect_large(
    data: Any,
    plan: Plan | Mapping[str, Any] | str | Path,
    out: str | Path,
    *,
    seed: int | None = None,
    memory: str | int | None = None,
    workers: int | None = None,
    overwrite: bool = False,
    unproved: bool = False,
    engine: Literal["duckdb", "spark"] | None = None,
    stage: Stage | None = None,
    reading: Mapping[str, Any] | None = None,
    folder: str | Path | None = None,
) -> LargeRelease:
    """Protect a table that does not fit into memory, prove what the plan requires, and write the release.

    The release is written to a directory of Parquet parts, or as one CSV file, and is the same whatever memory and
    however many workers it was made with. A run that was killed is taken up by the same call: it goes on from what it
    had finished.

    Parameters
    ----------
    data
        The path of a Parquet or CSV file, a folder of such files, a pattern as in `data/*.parquet`, a DuckDB
        relation, or a data frame of Spark.
    plan
        A Plan, its sections as a mapping, or the path of a YAML file.
    out
        Directory to write; must not exist or be empty.
    seed
        As for `protect`. A run that is taken up keeps its own.
    memory
        Bytes that may be used, as a number or as in "6GB"; half of the machine's by default. About 1 GB is used
        whatever is said; the more, the more processes work side by side.
    workers
        Processes at most; as many as there are processors by default.
    overwrite
        Replace an earlier release in the directory.
    unproved
        Write a release although the plan requires nothing.
    engine
        Who works on the parts: processes of this machine ("duckdb"), or the executors of a Spark cluster ("spark"; by
        default for a data frame of Spark).
    stage
        Called with what is being done and the fraction of it that is done.
    reading
        For CSV files: `delimiter`.
    folder
        Where file names in the plan are looked up; by default beside the plan's file.

    Raises
    ------
    Refused
        If a requirement does not hold on the files as written, or a step refuses.
    InputError
        If the table or the plan cannot be used, or a step needs the whole table at once.
    """
    described = Plan.of(plan, folder)
    target = Path(out)
    admit(described)
    check_scales(described)
    check_requirements(described)
    if not described.requirements and not unproved:
        raise Refused(UNPROVED)
    _check_seed(seed)
    check_writable(target)
    check_free(target, overwrite=overwrite)
    allowance = half_of_memory() if memory is None else bytes_of(memory)
    place = resolved(target).with_name(f".{target.name}.{UNFINISHED}")
    at_work = engine_for(data, engine, place, allowance, workers)
    with _with_parents(place), _alone(place), session(allowance, place / "spill") as connection:
        given = table_given(data, connection, reading)
        described = _described(described, given.columns)
        journal, entropy = _journal(place, identity(described, given.files, reading, at_work.name), seed)
        run = Run(
            plan=described.ready,
            entropy=entropy,
            journal=journal,
            engine=at_work,
            memory=allowance,
            tell=stage or (lambda text, fraction: None),
        )
        with _left_to_go_on(journal):
            source = given.source(lambda: journal.place("given", anew=True))
            done = carried_out(run, source)
            exact = exact_measures(described, done.accounts)
            with atomic_directory(target, overwrite=overwrite) as temporary:
                release = write_release(done, described, source, temporary, target, exact)
                check_free(target, overwrite=overwrite)  # something may have been put there meanwhile
        journal.remove()
    return release


def _described(plan: Plan, columns: Sequence[str]) -> Plan:
    """The plan with a role for every column of the table."""
    plan = plan.covering(columns)
    plan.schema.check_covers(columns)
    return plan


def _check_seed(seed: int | None) -> None:
    if seed is not None and (not isinstance(seed, (int, np.integer)) or seed < 0):
        raise ParameterError(f"seed must be an integer of at least 0; got {seed!r}.")


@contextmanager
def _left_to_go_on(journal: Journal) -> Iterator[None]:
    """What is finished stays where another try may go on; nothing of the table stays where it would fail again."""
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
