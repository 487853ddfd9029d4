"""Protect a table of any size, held whole or in parts; release it only if every requirement of the plan was proved."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.desk.given import EngineName, Given
from shoal.desk.whole import protect_whole
from shoal.plan import Plan
from shoal.plan.admission import admit
from shoal.plan.any_plan import any_plan
from shoal.release import Release
from shoal.release.directory import check_free, check_writable
from shoal.run.carry_out import check_seed
from shoal.run.parts.admission import whole_needed
from shoal.table.files.table import Table
from shoal.table.parts.session import allowance
from shoal.vocabulary.progress import OnProgress, shown

if TYPE_CHECKING:
    from shoal.desk.keeping import Keeping
    from shoal.plan.linked import LinkedPlan


def protect(
    table: Any,
    plan: "Plan | LinkedPlan | Mapping[str, Any] | str | Path",
    out: str | Path | None = None,
    *,
    seed: int | None = None,
    memory: str | int | None = None,
    workers: int | None = None,
    engine: EngineName | None = None,
    overwrite: bool = False,
    unproved: bool = False,
    stage: OnProgress | None = None,
    reading: Mapping[str, Any] | None = None,
    source: Mapping[str, Any] | None = None,
    frontier: Mapping[str, Any] | None = None,
    folder: str | Path | None = None,
    ledger: str | Path | None = None,
    after: str | Path | Sequence[str | Path] = (),
) -> Release:
    """Protect a table as a plan says, and prove what the plan requires.

    A table of up to 20 million cells is held whole, a larger one worked on in parts, its groups formed in blocks of
    near records; `exact` and `block_size` in the plan choose otherwise. What a plan asks for that parts cannot do, such
    as a bound on a measure, is done on the whole table, if it fits into memory. Neither memory, workers nor engine
    changes a byte of what is released. A run in parts that was killed is taken up by the same call: it goes on from
    what it had finished.

    Parameters
    ----------
    table
        A pandas, polars or pyarrow table, a lazy frame of polars, a DuckDB relation, a data frame of Spark, or
        Microdata; never modified. Or the path of a file, a folder of Parquet or CSV files or a pattern as in
        `data/*.parquet`; or what `shoal.table.files.tables.read_table` made of a file. For a plan with `tables`, a
        mapping of tables by their names, a list of their files, or the folder that these are in; they are held whole.
    plan
        A Plan or LinkedPlan, its sections as a mapping, or the path of a YAML file.
    out
        Directory to write the release to, which must not exist or be empty; without one, `write` does it.
    seed
        Makes the release repeatable; by default drawn from the operating system. Treat it as a secret: whoever
        knows it can undo random masking. A run that is resumed keeps its own seed.
    memory
        Bytes that may be used, as a number or as in "6GB"; half of the machine's by default. What needs more at once
        is refused; in parts, the more, the more processes work side by side.
    workers
        Most processes that work on parts; by default as many as there are processors.
    engine
        Engine that works on parts: `processes` of this machine, or the executors of a `spark` cluster (the default for
        a data frame of Spark).
    overwrite
        Replace an earlier release in the directory.
    unproved
        Write a release although the plan requires nothing.
    stage
        Called with the name of the current stage and the fraction of the run that is done. Without it, a notebook
        shows a bar after a second of work.
    reading
        Options for reading files: `delimiter`, `encoding`, `decimal`, `sheet`, as for `shoal.read`; and `absent`:
        `missing` takes columns that some Parquet files of a folder lack as missing there.
    source
        Origin of a table in memory, to be noted in the record.
    frontier
        The content of frontier.json, if the plan was chosen by an exploration; the private report shows it.
    folder
        Folder in which files that the plan names are looked up; by default that of the plan's file.
    ledger
        The ledger of all releases, for a plan with a section `ledger`; by default the file that this names.
    after
        Directory of the release before this one, whose private folder has the ledger so far; or several, where each
        was made without the others. For a plan whose ledger has no file of its own.

    Returns
    -------
    A release on which every requirement was proved: a `LargeRelease` where no more than parts of it were held at once.

    Raises
    ------
    Refused
        If a requirement does not hold on the finished table. The message says which, and by how much; the error has
        the verdicts and advice (`shoal.release.NotProved`).
    InputError
        If the table or the plan cannot be used, or a table held whole needs more memory than is allowed.
    """
    described = any_plan(plan, folder)
    if not isinstance(described, Plan):
        from shoal.desk.linked import protect_linked

        run = partial(protect_linked, seed=seed, memory=memory, stage=stage, reading=reading, frontier=frontier)
        run = partial(run, ledger=ledger, after=_several(after))
        return run(table, described, out, overwrite=overwrite, unproved=unproved)
    admit(described)
    check_seed(seed)
    keeping = _keeping(described, ledger, _several(after))
    allowed = allowance(memory)
    given = Given.of(table, reading)
    if out is not None:
        check_writable(Path(out))
        check_free(Path(out), overwrite=overwrite)
    with shown(stage) as tell:
        if given.in_parts(described):
            from shoal.desk.in_parts import Workshop, Writing, protect_in_parts

            how = Workshop(memory=allowed, workers=workers, engine=engine, tell=tell)
            writing = Writing(overwrite=overwrite, unproved=unproved, frontier=frontier, source=source, keeping=keeping)
            return protect_in_parts(given, described, Path(out) if out is not None else None, seed, how, writing)
        data = given.in_memory(allowed, whole_needed(described))
        release = protect_whole(data, described, seed=seed, stage=tell, source=source or given.origin, keeping=keeping)
    if out is not None:
        labels = data if isinstance(data, Table) else None
        release.write(out, overwrite=overwrite, labels=labels, frontier=frontier, unproved=unproved)
    return release


def _several(after: str | Path | Sequence[str | Path]) -> Sequence[str | Path]:
    return (after,) if isinstance(after, (str, Path)) else after


def _keeping(plan: Plan, ledger: str | Path | None, after: Sequence[str | Path]) -> "Keeping | None":
    """The ledger that the plan asks for; None where neither it nor the caller names one."""
    if plan.ledger is None and ledger is None and not after:
        return None
    from shoal.desk.keeping import Keeping

    return Keeping.of(plan, ledger, after)
