"""Audit: a plan's requirements proved or refuted on any released table, whoever made it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.constraints import Constraints
from shoal.data.microdata import Microdata
from shoal.data.partition import Partition
from shoal.data.records import Records
from shoal.errors import DataError, FileError, plural, quoted
from shoal.files.tables import read_table
from shoal.judges.closure import closure
from shoal.judges.evidence import Evidence, Finding, Verdict
from shoal.judges.table_pair import TablePair
from shoal.plan import Plan
from shoal.release import OF
from shoal.run import judged, measured


def audit(
    table: Any,
    plan: Plan | Mapping[str, Any] | str | Path,
    *,
    original: Any = None,
    private: str | Path | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
) -> Evidence:
    """Prove or refute a plan's requirements on a released table, whoever made it.

    Parameters
    ----------
    table
        The released table, or the path of its file. A file is read so that cells that it writes differently
        stay different.
    plan
        Only its columns, requirements, measures and constraints matter.
    original
        The table the release was made from; risk and loss are measured only where it is given.
    private
        The private folder of the release, which says what original record each released one came from and how
        records were grouped. Without it both tables must hold the same records in the same order, and the plan
        must say so: `output: {shuffle: false}`.
    seed
        For measures that sample.
    folder
        Where file names in the plan are looked up; by default beside the plan's file.

    Raises
    ------
    DataError
        If the table has no records, for then everything would hold.
    InputError
        If a table, the plan or the private folder cannot be used.
    """
    plan = Plan.of(plan, folder)
    if isinstance(table, (str, Path)):
        table = read_table(table, apart=plan.schema.names("quasi-identifier")).frame
    released = Microdata.finished(table, plan.schema).encoded
    if not len(released):
        raise DataError("The released table has no records, so nothing can be proved on it. Check the file.")
    partition, before = None, None
    hidden: Mapping[str, Partition] | None = None
    if private is not None:
        released, partition, hidden = _as_recorded(released, Path(private))
    if original is not None:
        before = Microdata.of(original, plan.schema, plan.folder).records
        if private is None:
            _check_paired(before, released, plan)
    rules = Constraints.parse(plan.constraints, released, released=True).as_written(plan.schema.decimals)
    filled = closure(released, rules.deduced)
    verdicts = judged(plan, before, filled, released, partition, hidden) + rules.check(released)
    if left := [name for name in released.names("identifier") if not plan.coded(released[name])]:
        verdicts.append(
            Verdict(
                influence=0,
                requirement="no identifiers",
                holds=False,
                required=0,
                achieved=len(left),
                sentence=f"The table still has {plural(len(left), 'identifier')}: {quoted(left)}. Take them out.",
            )
        )
    findings: tuple[Finding, ...] = ()
    if before is not None:
        findings = measured(plan, TablePair.of(before, released, partition, filled), seed, lambda text, fraction: None)
    return Evidence(verdicts=tuple(verdicts), findings=findings)


def _as_recorded(released: Records, private: Path) -> tuple[Records, Partition | None, dict[str, Partition]]:
    """The released records with the rows they came from, their last groups, and those of each changed column."""
    path = private / "partition.parquet"
    told = read_table(path).frame
    if "row" not in told.columns or len(told) != len(released):
        raise FileError(f"'{path}' does not belong to the released table, which has {len(released):,} records.")
    groups = {name: Partition.of(told[name].to_numpy()) for name in told.columns if name != "row"}
    hidden = {name.removeprefix(OF): part for name, part in groups.items() if name.startswith(OF)}
    return replace(released, rows=told["row"].to_numpy().astype(np.int64)), groups.get("group"), hidden


def _check_paired(original: Records, released: Records, plan: Plan) -> None:
    if plan.output.shuffle:
        raise DataError(
            "The plan releases records in random order, so they cannot be compared with the original's one by one. "
            "Give the private folder of the release, or set output: {shuffle: false} if the order was kept."
        )
    if len(original) != len(released):
        raise DataError(
            f"The original has {len(original):,} records and the release {len(released):,}; records can only be "
            f"compared where both have the same, in the same order. Leave out the original, or give the private folder."
        )
