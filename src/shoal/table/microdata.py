"""A table with its schema: any data frame in, the same kind out.

pandas, polars and pyarrow tables, lazy frames and DuckDB relations are accepted as they are and never modified.
`records` is the table in numbers, with the schema's policy for missing values applied; `rebuild` turns changed numbers
back into a frame of the original kind, with its index, column order and data types.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from shoal.kernels.arrays import Ints, Longs, ints
from shoal.table.cells import encode
from shoal.table.columns import decode, no_negative_zero
from shoal.table.frames import only_whole_numbers, plain_types, strip_metadata, ways_of_missing
from shoal.table.missing_values import treat_missing
from shoal.table.records import Records
from shoal.table.schema import Column, Scale, Schema
from shoal.table.variable import Variable
from shoal.vocabulary.errors import DataError, MissingDependency, SchemaError, plural, quoted, refuse_repeated
from shoal.vocabulary.facts import ByLabel

FrameKind = Literal["frame", "lazy", "duckdb"]
"""Kind of the original table: a frame with its cells, a lazy frame of polars, or a relation of DuckDB."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Microdata:
    """A data frame with its schema.

    Parameters
    ----------
    frame
        The table as a frame of narwhals.
    schema
        A role for every column.
    folder
        Folder in which file names of the schema are looked up.
    spellings
        For a released table and the columns with several spellings: as in `Variable`.
    value_labels
        Labels of the codes, by column, so that a plan can name categories by code or by label.
    """

    frame: nw.DataFrame[Any]
    schema: Schema
    folder: Path = field(default_factory=Path)
    kind: FrameKind = "frame"
    spellings: Mapping[str, Ints] = field(default_factory=dict)
    value_labels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        table: Any,
        schema: Schema | Mapping[str, Any],
        folder: str | Path = ".",
        value_labels: Mapping[str, Mapping[Any, str]] | None = None,
    ) -> "Microdata":
        """Wrap a table and check that the schema describes it.

        Raises
        ------
        SchemaError
            If a column has no role, or a described column does not exist.
        DataError
            If the table is of no known kind, or has two columns of one name.
        """
        frame, kind = eager(table)
        described = Schema.of(schema).covering(frame.columns)
        described.check_covers(frame.columns)
        return cls(frame=frame, schema=described, folder=Path(folder), kind=kind, value_labels=dict(value_labels or {}))

    @classmethod
    def finished(
        cls, table: Any, schema: Schema | Mapping[str, Any], spellings: Mapping[str, Any] | None = None
    ) -> "Microdata":
        """Wrap a released table, made by any program, so that it can be judged as it stands.

        A release may lack columns (identifiers, at least), hold labels in place of numbers, and have suppressed cells;
        but a column that the schema does not describe is an error.

        Parameters
        ----------
        spellings
            For columns whose values have several spellings: shape (n,), the number of each cell's spelling.
        """
        frame, kind = eager(table)
        described = Schema.of(schema).covering(frame.columns)
        if unclassified := [name for name in frame.columns if name not in described.columns]:
            raise SchemaError(f"The released table has columns that the plan does not know: {quoted(unclassified)}.")
        columns = {name: as_released(frame.get_column(name), described.columns[name]) for name in frame.columns}
        ways = {name: way for name in frame.columns if (way := ways_of_missing(frame.get_column(name))) is not None}
        ways |= {name: ints(way) for name, way in (spellings or {}).items()}
        return cls(frame=frame, schema=Schema(columns), kind=kind, spellings=ways)

    def __repr__(self) -> str:
        return f"Microdata of {plural(len(self), 'record')} with the columns {quoted(self.frame.columns)}"

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def native(self) -> Any:
        """The table in its original kind."""
        if self.kind == "duckdb":
            import duckdb

            return duckdb.from_arrow(self.frame.to_arrow())
        native = self.frame.to_native()
        return native.lazy() if self.kind == "lazy" else native

    @cached_property
    def encoded(self) -> Records:
        """Every column in numbers, with missing cells kept missing."""
        return Records.of(self._encode(name) for name in self.frame.columns)

    def _encode(self, name: str) -> Variable:
        variable = encode(self.frame.get_column(name), self.schema.columns[name], self.folder)
        more: dict[str, Any] = {}  # to replace something would turn whole numbers into floats at once
        if name in self.spellings:
            more["spelling"] = self.spellings[name]
        if name in self.value_labels and not variable.continuous:
            more["labels"] = self.value_labels[name]
        return replace(variable, **more) if more else variable

    @cached_property
    def _treated(self) -> tuple[Records, ByLabel]:
        return treat_missing(self.encoded, self.schema)

    @property
    def records(self) -> Records:
        """The table in numbers, with missing cells treated as the schema says."""
        return self._treated[0]

    @property
    def missing_facts(self) -> ByLabel:
        """Numbers of records dropped and of values imputed or kept, by column."""
        return self._treated[1]

    def fingerprint(self) -> str:
        """SHA-256 of all names and cells, the same for every kind of frame."""
        digest = hashlib.sha256()
        for variable in self.encoded.variables:
            digest.update(variable.name.encode() + np.ascontiguousarray(variable.once()).tobytes())
            digest.update(repr(variable.categories).encode())
        return digest.hexdigest()

    def rebuild(self, records: Records, *, blind: bool = False) -> "Microdata":
        """A frame with the cells of the given records; unchanged columns keep their original cells.

        Records whose rows are beyond those of the table are nobody's; columns still have the types of this one.
        `blind`: nothing follows from the cells of this table, not even which of its types a column keeps.
        """
        base, rows = self.frame, records.rows
        if len(rows) and rows.max() >= len(base):
            rows = rows % len(base)
        if len(records) != len(base) or (rows != np.arange(len(base))).any():
            base = base[rows.tolist()]
        columns = [
            base.get_column(v.name)
            if not blind and v.name in self.encoded and _same(v, self.encoded[v.name], rows)
            else self._decode(v, base, blind=blind)
            for v in records.variables
        ]
        kept = [name for name in base.columns if name in records]
        new = [v.name for v in records.variables if v.name not in base.columns]
        frame = base.with_columns(*map(no_negative_zero, columns)).select(*kept, *new) if columns else base.select()
        described = {name: self.schema.columns[name] for name in kept}
        described |= {name: Column(role=records[name].role, level=records[name].level) for name in new}
        return replace(self, frame=frame, schema=Schema(described))

    def without_metadata(self) -> "Microdata":
        """The same table without the metadata of its frame (see `shoal.table.frames`)."""
        return replace(self, frame=strip_metadata(self.frame))

    def with_whole_numbers(self, fractional: Collection[str] = ()) -> "Microdata":
        """The same table, with float columns that hold only integers as integers.

        If types were inferred from the cells of an input, a float column would reveal that a record left out of the
        release has decimals.

        Parameters
        ----------
        fractional
            Columns that stay floats.
        """
        columns = [name for name in self.frame.columns if name not in fractional]
        whole = [name for name in columns if only_whole_numbers(self.frame.get_column(name))]
        return replace(self, frame=self.frame.with_columns(*(self.frame[name].cast(nw.Int64()) for name in whole)))

    def _decode(self, variable: Variable, base: nw.DataFrame[Any], *, blind: bool) -> nw.Series[Any]:
        name = variable.name
        original = self.encoded[name].categories if not blind and name in self.encoded else ()
        return decode(
            variable,
            base.get_column(name) if name in base.columns else None,
            base.implementation,
            decimals=self.schema.columns[name].decimals if name in self.schema.columns else None,
            labels=original,
        )


def as_records(
    x: Any, confidential: Any = None, standardise: Scale = "sd", only: Collection[str] | None = None
) -> Records:
    """Records from any accepted table: Records, Microdata, an array, or any data frame.

    `x`: all columns of an array or frame are quasi-identifiers, except those that `confidential` names.
    `confidential`: column names of `x`, or an array of shape (n,) or (n, c), or a frame. `standardise`: scale of
    continuous columns in distances. `only`: the columns and roles that matter, if not all do: no other column of a
    frame is turned into numbers.
    """
    if isinstance(x, Microdata):
        x = x.records
    if isinstance(x, Records):
        return _add_confidential(x, confidential)
    if isinstance(x, (np.ndarray, list, tuple)):
        return _add_confidential(Records.from_array(x, standardise), confidential)
    frame, _ = eager(x)
    named = _as_names(confidential) if confidential is not None else ()
    described = {
        name: {"role": "confidential" if name in named else "quasi-identifier", "scale": standardise}
        for name in frame.columns
    }
    schema = Schema.of(described)
    if only is not None:
        kept = {name: column for name, column in schema.columns.items() if name in only or column.role in only}
        if kept:
            frame, schema = frame.select(*kept), Schema(kept)
    records = Microdata.of(frame, schema).records
    return records if named else _add_confidential(records, confidential)


def as_released(series: nw.Series[Any], column: Column) -> Column:
    """The column's description, reduced to what still fits the released column."""
    numeric = series.dtype.is_numeric() or series.dtype.is_temporal()
    level = column.level
    if not numeric and (level == "continuous" or (level is None and series.dtype == nw.String)):
        level = "nominal" if column.order is None else "ordinal"
    if level is None and column.hierarchy is not None:  # as it was read, whatever is left of the hierarchy
        level = "nominal"
    order = column.order
    if order is not None and not set(series.drop_nulls().unique().to_list()) <= set(order):
        level, order = "nominal", None
    return column.model_copy(update={"level": level, "order": order, "hierarchy": None, "missing": "keep"})


def _as_names(confidential: Any) -> tuple[str, ...]:
    if isinstance(confidential, str):
        return (confidential,)
    if isinstance(confidential, (list, tuple)) and confidential and all(isinstance(c, str) for c in confidential):
        return tuple(confidential)
    return ()


def _add_confidential(records: Records, confidential: Any) -> Records:
    if confidential is None:
        return records
    if names := _as_names(confidential):
        return records.with_variables(*(replace(records[name], role="confidential") for name in names))
    if isinstance(confidential, (np.ndarray, list, tuple)):
        values = np.asarray(confidential)
        values = values[:, None] if values.ndim == 1 else values
        columns = {f"confidential{j}": values[:, j] for j in range(values.shape[1])}
    else:
        frame, _ = eager(confidential)
        columns = {name: frame[name].to_numpy() for name in frame.columns}
    if any(len(v) != len(records) for v in columns.values()):
        raise DataError(f"confidential must have {len(records):,} records, as many as the table.")
    return records.with_variables(*(_bare(name, values) for name, values in columns.items()))


def _bare(name: str, values: Any) -> Variable:
    if np.issubdtype(values.dtype, np.number):
        if not np.isfinite(values).all():
            raise DataError(f"Column '{name}' has missing or infinite values; remove or impute them first.")
        return Variable(name=name, role="confidential", level="continuous", values=values.astype(np.float64))
    categories, codes = np.unique(values.astype(str), return_inverse=True)
    return Variable(
        name=name,
        role="confidential",
        level="nominal",
        values=codes.astype(np.int32),
        categories=tuple(categories.tolist()),
    )


def eager(table: Any) -> tuple[nw.DataFrame[Any], FrameKind]:
    """The table with its cells in memory, and its original kind."""
    if type(table).__module__.startswith("narwhals") and hasattr(table, "to_native"):
        table = table.to_native()
    if type(table).__module__.split(".")[0] in ("duckdb", "_duckdb"):
        if spans := [name for name, kind in zip(table.columns, table.types) if kind == "INTERVAL"]:
            raise DataError(
                f"Columns of type INTERVAL count in months, days and fractions at once, which cannot be compared: "
                f"{quoted(spans)}. Turn them into seconds, as with epoch(column)."
            )
        try:
            return nw.from_native(table.pl(), eager_only=True), "duckdb"
        except ImportError:
            raise MissingDependency("A DuckDB relation", "pyarrow", "duckdb") from None
    if isinstance(table, pl.LazyFrame):
        return nw.from_native(table.collect(), eager_only=True), "lazy"
    refuse_repeated(getattr(table, "column_names", getattr(table, "columns", ())))
    names = list(getattr(table, "columns", ())) if type(table).__module__.startswith("pandas") else []
    if odd := [name for name in names if not isinstance(name, str)]:
        raise DataError(
            f"Column names must be text; {plural(len(odd), 'name')} of the table are not. "
            f"Rename them, as with frame.columns = frame.columns.astype(str)."
        )
    try:
        return plain_types(nw.from_native(table, eager_only=True)), "frame"
    except TypeError:
        raise DataError(
            f"A table must be a pandas, polars or pyarrow table or a DuckDB relation; got {type(table).__name__}."
        ) from None


def _same(variable: Variable, original: Variable, rows: Longs) -> bool:
    if variable.continuous != original.continuous or variable.categories != original.categories:
        return False
    cells, before = variable.given, original.given
    if cells is before:
        return True
    floating = cells.dtype.kind == "f" == before.dtype.kind
    return bool(np.array_equal(cells, before[rows], equal_nan=floating))
