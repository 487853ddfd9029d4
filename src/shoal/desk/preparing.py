"""A table prepared for work before any plan: types of columns, some of the records, cells set to missing.

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
from shoal.desk.column_types import typed
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

TYPES = {
    **{"where": str, "rows": list, "sample": int, "file": str, "seed": int, "key": str, "columns": list},
    **{"weights": list, "taken as": dict},
}
"""What a preparation may say, by type."""

TAKEN_AS = "taken as"

IN_WORDS = {str: "a text", list: "a list", int: "a whole number", dict: "a mapping"}


def prepared(table: Table, preparations: Sequence[Mapping[str, Any]]) -> Table:
    """A table after some preparations, one after the other.

    Parameters
    ----------
    preparations
        Each chooses records: `where`, a condition as in constraints, which records with missing cells in its columns
        do not meet; `rows`, numbers from 1; `sample`, how many are drawn at random, by `seed`; or `file`, with the
        values of the column `key`. With `columns`, these become missing in the records chosen; without, no other
        records are kept. A sample multiplies the sampling weights in `weights`, so that their sum still stands for the
        population. `taken as` chooses no records but has columns with their types and codes for missing
        (`shoal.desk.column_types`).

    Raises
    ------
    InputError
        If a preparation cannot be read, names what is not there, or leaves no record.
    """
    for preparation in preparations:
        if _way(preparation) == TAKEN_AS:
            notes = {name: note for name, note in table.notes.items() if name not in preparation[TAKEN_AS]}
            table = replace(table, frame=typed(table.frame, preparation[TAKEN_AS]), notes=notes)
            continue
        chosen = _chosen(table, preparation)
        columns = preparation.get("columns")
        if columns is None:
            if not chosen.any():
                raise DataError("No record would be left. Choose others.")
            weights = preparation.get("weights") or []
            scaled = _scaled(table.frame, weights, len(chosen) / chosen.sum()) if weights else table.frame
            table = replace(table, frame=scaled.filter(pl.Series(chosen)))
        else:
            table = replace(table, frame=_blanked(table.frame, columns, chosen))
    return table


def prepared_tables(tables: Mapping[str, Table], preparations: Sequence[Mapping[str, Any]]) -> dict[str, Table]:
    """Linked tables after some preparations; `table` names the one that each is of.

    Raises InputError as `prepared` does, and if a preparation names no table that is there.
    """
    after = dict(tables)
    for preparation in preparations:
        name, own = _of_table(preparation)
        if not isinstance(name, str) or name not in after:
            raise DataError(unknown("table", name, after))
        after[name] = prepared(after[name], [own])
    return after


def _of_table(preparation: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The name of the table that a preparation is of, and what it says beside that."""
    return preparation.get("table", ""), {key: value for key, value in preparation.items() if key != "table"}


def in_words(preparation: Mapping[str, Any]) -> str:
    """A preparation in a sentence."""
    if (of := _of_table(preparation))[0]:
        return f"In '{of[0]}': {in_words(of[1])}"
    way = _way(preparation)
    if way == TAKEN_AS:
        return f"Read otherwise: {'; '.join(_as_read(*column) for column in preparation[TAKEN_AS].items())}."
    chosen = {
        "where": lambda: f"records where {preparation['where']}",
        "rows": lambda: f"{plural(len(preparation['rows']), 'row')} by number",
        "sample": lambda: f"{plural(preparation['sample'], 'record')} drawn at random",
        "file": lambda: f"records whose {preparation.get('key')} is in '{Path(str(preparation['file'])).name}'",
    }[way]()
    if weights := preparation.get("weights"):
        chosen += f", with the weights in {quoted(weights)} made larger accordingly"
    columns = preparation.get("columns")
    return f"Worked on: {chosen}." if columns is None else f"{quoted(columns)} set to missing in {chosen}."


def _as_read(name: str, asked: Any) -> str:
    codes = plural(len(asked.get("missing") or []), "code") if isinstance(asked, Mapping) else ""
    kind = (asked.get("type") if isinstance(asked, Mapping) else None) or "it was"
    return f"'{name}' as {kind}" + (f", {codes} missing" if codes and not codes.startswith("0 ") else "")


def _scaled(frame: pl.DataFrame, weights: Sequence[str], factor: float) -> pl.DataFrame:
    """The frame with weights multiplied by a factor."""
    if absent := [name for name in weights if name not in frame.columns]:
        raise DataError(unknown("column", absent[0], frame.columns))
    if words := [name for name in weights if not frame[name].dtype.is_numeric()]:
        raise DataError(f"Weights are numbers, and {quoted(words)} has none. Give the column another role.")
    return frame.with_columns(pl.col(name) * factor for name in weights)


def _way(preparation: Mapping[str, Any]) -> str:
    given = {name: value for name, value in preparation.items() if value is not None}
    named = [way for way in (*WAYS, TAKEN_AS) if way in given]
    if len(named) != 1 or given.keys() - TYPES.keys():
        raise ParameterError(f"A preparation chooses records in one way: {', '.join(WAYS)}. Give exactly one.")
    if "weights" in given and named != ["sample"]:
        raise ParameterError("Weights are made larger for a sample. Leave 'weights' out.")
    for name, value in given.items():
        if not isinstance(value, TYPES[name]) or isinstance(value, bool):
            raise ParameterError(f"A preparation's '{name}' must be {IN_WORDS[TYPES[name]]}.")
    return named[0]


def _chosen(table: Table, preparation: Mapping[str, Any]) -> Bools:
    """Shape (n,); the records that a preparation chooses."""
    way, frame = _way(preparation), table.frame
    n = len(frame)
    if way == "where":
        return _meeting(frame, str(preparation["where"]))
    if way == "rows":
        rows = [row for row in preparation["rows"] if type(row) is int and 1 <= row <= n]
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
    try:
        return _keeping(frame, condition)
    except ConstraintError as error:
        raise ParameterError(str(error).replace(CONSEQUENCE, "").replace("Rule 1", "The condition")) from None


def _keeping(frame: pl.DataFrame, condition: str) -> Bools:
    names = list(plain_names(parse(condition, 1)))
    if absent := [name for name in names if name not in frame.columns]:
        raise DataError(unknown("column", absent[0], frame.columns))
    some = Column(role="other", missing="keep")
    columns = [*(frame[name] for name in names), pl.Series(NEVER, np.zeros(len(frame)))]
    records = Records.of([encode(nw.from_native(cells, series_only=True), some, Path()) for cells in columns])
    rules = Constraints.parse([f"{condition}{CONSEQUENCE}"], records, released=True)
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
