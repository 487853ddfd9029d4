"""A table prepared for work: some of its records, or some of its cells set to missing, before any plan is carried out.

What is prepared stands in the place of the original: risks and losses are those of the prepared table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from shoal.constraints import Constraints
from shoal.constraints.grammar import parse
from shoal.constraints.of_rows import plain_names
from shoal.kernels.arrays import Bools
from shoal.kernels.draws import drawn_rows, keyed_generator
from shoal.table.cells import encode
from shoal.table.files.table import Table
from shoal.table.files.tables import read_table
from shoal.table.records import Records
from shoal.table.schema import Column
from shoal.vocabulary.errors import ConstraintError, DataError, ParameterError, plural, quoted, unknown

WAYS = ("where", "rows", "sample", "file")
"""Ways of choosing records: by a condition, by their numbers, at random, by the keys in a file."""

NEVER = "chosen records"
CONSEQUENCE = f" -> `{NEVER}` == 1"
"""A consequence that no record meets, for the column is 0 throughout."""

TYPES = {"where": str, "rows": list, "sample": int, "file": str, "seed": int, "key": str, "columns": list}
"""What a preparation may say, by type."""

IN_WORDS = {str: "a text", list: "a list", int: "a whole number"}


def prepared(table: Table, preparations: Sequence[Mapping[str, Any]]) -> Table:
    """A table after some preparations, one after the other.

    Parameters
    ----------
    preparations
        Each chooses records: `where`, a condition as in constraints, which records with missing cells in its columns
        do not meet; `rows`, numbers from 1; `sample`, how many are drawn at random, by `seed`; or `file`, with the
        values of the column `key`. With `columns`, these become missing in the records chosen; without, no other
        records are kept.

    Raises
    ------
    InputError
        If a preparation cannot be read, names what is not there, or leaves no record.
    """
    for preparation in preparations:
        chosen = _chosen(table, preparation)
        columns = preparation.get("columns")
        if columns is None:
            if not chosen.any():
                raise DataError("No record would be left. Choose others.")
            table = replace(table, frame=table.frame.filter(pl.Series(chosen)))
        else:
            table = replace(table, frame=_blanked(table.frame, columns, chosen))
    return table


def in_words(preparation: Mapping[str, Any]) -> str:
    """A preparation in a sentence."""
    way = _way(preparation)
    chosen = {
        "where": lambda: f"records where {preparation['where']}",
        "rows": lambda: f"{plural(len(preparation['rows']), 'row')} by number",
        "sample": lambda: f"{plural(preparation['sample'], 'record')} drawn at random",
        "file": lambda: f"records whose {preparation.get('key')} is in '{Path(str(preparation['file'])).name}'",
    }[way]()
    columns = preparation.get("columns")
    return f"Worked on: {chosen}." if columns is None else f"{quoted(columns)} set to missing in {chosen}."


def _way(preparation: Mapping[str, Any]) -> str:
    given = {name: value for name, value in preparation.items() if value is not None}
    named = [way for way in WAYS if way in given]
    if len(named) != 1 or given.keys() - TYPES.keys():
        raise ParameterError(f"A preparation chooses records in one way: {', '.join(WAYS)}. Give exactly one.")
    for name, value in given.items():
        if not isinstance(value, TYPES[name]):
            raise ParameterError(f"A preparation's '{name}' must be {IN_WORDS[TYPES[name]]}.")
    return named[0]


def _chosen(table: Table, preparation: Mapping[str, Any]) -> Bools:
    """Shape (n,); the records that a preparation chooses."""
    way, frame = _way(preparation), table.frame
    n = len(frame)
    if way == "where":
        return _meeting(frame, str(preparation["where"]))
    if way == "rows":
        rows = [row for row in preparation["rows"] if isinstance(row, int) and 1 <= row <= n]
        if len(rows) < len(preparation["rows"]) or not rows:
            raise ParameterError(f"Rows are numbers from 1 to {n:,}. Write them with commas between them.")
        return np.isin(np.arange(1, n + 1), rows)
    if way == "sample":
        most, seed = preparation["sample"], preparation.get("seed") or 0
        if most < 1 or seed < 0:
            raise ParameterError("A sample has a number of records, of at least 1, and a seed, of at least 0.")
        return np.isin(np.arange(n), drawn_rows(keyed_generator(seed), n, most))
    other = read_table(Path(str(preparation["file"])).expanduser()).frame
    key = str(preparation.get("key"))
    for cells in (frame, other):
        if key not in cells.columns:
            raise DataError(unknown("column", key, cells.columns))
    return frame[key].cast(pl.String).is_in(other[key].cast(pl.String).implode()).fill_null(value=False).to_numpy()


def _meeting(frame: pl.DataFrame, condition: str) -> Bools:
    """Shape (n,); the records that meet a condition: those that break the rule that it has a consequence never met."""
    names = list(plain_names(parse(condition, 1)))
    if absent := [name for name in names if name not in frame.columns]:
        raise DataError(unknown("column", absent[0], frame.columns))
    some = Column(role="other", missing="keep")
    columns = [*(frame[name] for name in names), pl.Series(NEVER, np.zeros(len(frame)))]
    records = Records.of([encode(nw.from_native(cells, series_only=True), some, Path()) for cells in columns])
    try:
        rules = Constraints.parse([f"{condition}{CONSEQUENCE}"], records, released=True)
    except ConstraintError as error:
        raise ParameterError(str(error).replace(CONSEQUENCE, "")) from None
    return next(iter(rules.violations(records).values()))


def _blanked(frame: pl.DataFrame, columns: Sequence[str], chosen: Bools) -> pl.DataFrame:
    if absent := [name for name in columns if name not in frame.columns]:
        raise DataError(unknown("column", absent[0], frame.columns))
    if not columns:
        raise ParameterError("Name the columns whose cells become missing.")
    kept = pl.Series(~chosen)
    return frame.with_columns(
        pl.when(kept).then(pl.col(name)).otherwise(None).alias(name) for name in dict.fromkeys(columns)
    )
