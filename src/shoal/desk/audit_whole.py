"""A plan's requirements proved or refuted on a released table that is held whole."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.constraints import Constraints
from shoal.constraints.blank_columns import with_blank_numbers
from shoal.constraints.of_persons import PersonRules
from shoal.judges.closure import closure
from shoal.judges.evidence import Evidence, Finding, Verdict
from shoal.judges.refinement import trees, with_trees
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Longs
from shoal.plan import Plan
from shoal.release import OF, WHOSE
from shoal.run.judging import judged, laws_known, measured, pair_of, repeated_in
from shoal.table.files.table import Table
from shoal.table.files.tables import read_table
from shoal.table.files.value_labels import once_named, ranges_in_words
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.vocabulary.errors import DataError, FileError, plural, quoted


def audit_whole(
    table: Any, plan: Plan, *, original: Any = None, private: str | Path | None = None, seed: int = 0
) -> Evidence:
    """Prove or refute a plan's requirements on a released table that is held whole; parameters as for `shoal.audit`."""
    pair, verdicts = pair_and_verdicts(table, plan, original, private)
    plan = plan.covering(pair.released.names())
    findings: tuple[Finding, ...] = ()
    if original is not None:
        findings = measured(plan, pair, seed, lambda text, fraction: None)
    return Evidence(verdicts=tuple(verdicts), findings=findings, of_records=repeated_in(plan, pair))


def pair_and_verdicts(
    table: Any, plan: Plan, original: Any = None, private: str | Path | None = None
) -> tuple[TablePair, list[Verdict]]:
    """A released table as it is judged, and the verdicts on it."""
    spellings: Mapping[str, Any] = {}
    if isinstance(table, Table):
        table, spellings = _in_nodes(table, plan), table.spellings
    described, finished = plan, Microdata.finished(table, plan.schema, spellings)
    plan = plan.covering(finished.frame.columns)
    released = with_blank_numbers(finished.encoded, plan.constraints)
    loaded = trees(plan.schema, plan.folder, released)
    released = with_trees(released, loaded)
    if not len(released):
        raise DataError("The released table has no records, so nothing can be proved on it. Check the file.")
    partition, before = None, None
    hidden: Mapping[str, Partition] | None = None
    units: Mapping[str, Longs] = {}
    if private is not None:
        released, partition, hidden, units = _as_recorded(released, Path(private))
    if original is not None:
        before = Microdata.of(original, described.schema, plan.folder).records
        if private is None:
            _check_paired(before, released, plan)
    rules = Constraints.parse(plan.constraints, released, released=True).as_written()
    of_persons = PersonRules.parse(plan.edit_rules.of_persons, None)
    persons = TablePair.of(before, released, units=units).units_by("person")

    def deduce(records: Records) -> Records:
        return of_persons.deduced(rules.deduced(records), persons)

    filled = closure(released, deduce, loaded, laws_known(plan, before, released))
    pair = pair_of(plan, before, released, partition, filled, hidden, units)
    verdicts = judged(plan, pair) + rules.check(released) + of_persons.check(released, persons)
    if left := [name for name in released.names("identifier") if not plan.coded(released[name])]:
        verdicts.append(identifiers_left(left))
    return pair, verdicts


def identifiers_left(names: Sequence[str]) -> Verdict:
    """The verdict on a released table that still has identifiers."""
    return Verdict(
        influence=0,
        requirement="no identifiers",
        holds=False,
        required=0,
        achieved=len(names),
        sentence=f"The table still has {plural(len(names), 'identifier')}: {quoted(names)}. Take them out.",
    )


def _in_nodes(table: Table, plan: Plan) -> pl.DataFrame:
    """The cells of a file, with labels in place of codes that the plan's hierarchy of the column does not have.

    So a generalised column of codes is judged by the nodes that its codes stand for, and a column of numbers that
    became ranges by these. A code stays if another cell has its label as well, since the file tells the two apart.
    """
    frame, columns = table.frame, plan.schema.columns
    for name in table.value_labels.keys() & {n for n, column in columns.items() if column.codes}:
        tree = columns[name].load_hierarchy({}, plan.folder)
        if tree is None:
            continue
        nodes = tree.nodes()
        cells = frame[name].cast(pl.String)
        labels = {str(code): label for code, label in table.value_labels[name].items() if str(code) not in nodes}
        if meant := once_named({cell: labels.get(cell, cell) for cell in cells.drop_nulls().unique().to_list()}):
            frame = frame.with_columns(cells.replace(meant))
    words = ranges_in_words(table, [n for n, column in columns.items() if column.ranges and n in frame.columns])
    return frame.with_columns(frame[name].cast(pl.String).replace(meant) for name, meant in words.items())


def _as_recorded(
    released: Records, private: Path
) -> tuple[Records, Partition | None, dict[str, Partition], dict[str, Longs]]:
    """The released records with their original rows, and what the private folder holds of them.

    Returns
    -------
    The records; their last groups; the groups of each changed column; the values of each counted identifier, numbered.
    """
    path = private / "partition.parquet"
    recorded = read_table(path).frame
    if "row" not in recorded.columns or len(recorded) != len(released):
        raise FileError(f"'{path}' does not belong to the released table, which has {len(released):,} records.")
    numbers = {name: recorded[name].to_numpy().astype(np.int64) for name in recorded.columns}
    groups = {name: Partition.of(labels) for name, labels in numbers.items() if name.startswith("group")}
    hidden = {name.removeprefix(OF): part for name, part in groups.items() if name.startswith(OF)}
    units = {name.removeprefix(WHOSE): number for name, number in numbers.items() if name.startswith(WHOSE)}
    return replace(released, rows=numbers["row"]), groups.get("group"), hidden, units


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
