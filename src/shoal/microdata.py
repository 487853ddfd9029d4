"""A table with its schema: any data frame in, the same kind out.

pandas, polars and pyarrow tables and DuckDB relations are taken as they are and never modified. `records`
is the table in numbers, with the schema's policy for missing values applied; `rebuild` turns changed
numbers back into a frame of the kind that came in, with its index, column order and data types.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from shoal.errors import DataError, MissingDependency, SchemaError, plural, quoted
from shoal.kernels.arrays import Bools, Floats, Ints, ints, longs
from shoal.kernels.classes import distinct
from shoal.records import Records, Unit, Variable
from shoal.schema import Column, Level, Scale, Schema

EXACT_INTEGERS = 2**53
"""Integers beyond this have no exact float64."""

BEYOND_INT64 = (nw.UInt64, nw.Int128, nw.UInt128)
NO_CELLS = (nw.List, nw.Array, nw.Struct, nw.Binary, nw.Unknown)
"""What a cell of a table of records cannot hold."""

SIMPLE = {str, int, float, bool, Decimal, date, datetime, time, timedelta}


@dataclass(frozen=True, kw_only=True, eq=False)
class Microdata:
    """A data frame with its schema.

    Parameters
    ----------
    frame
        The table, as narwhals sees it.
    schema
        A role for every column.
    folder
        Where file names in the schema are looked up.
    """

    frame: nw.DataFrame[Any]
    schema: Schema
    folder: Path = field(default_factory=Path)
    duckdb: bool = False

    @classmethod
    def of(cls, table: Any, schema: Schema | Mapping[str, Any], folder: str | Path = ".") -> "Microdata":
        """Wrap a table and check that the schema describes it.

        Raises
        ------
        SchemaError
            If a column has no role, or a described column is not there.
        DataError
            If the table is not one of the kinds known, or has two columns of one name.
        """
        frame, duckdb = _eager(table)
        described = Schema.of(schema)
        described.check_covers(frame.columns)
        return cls(frame=frame, schema=described, folder=Path(folder), duckdb=duckdb)

    @classmethod
    def finished(cls, table: Any, schema: Schema | Mapping[str, Any]) -> "Microdata":
        """Wrap a released table, whoever made it, to be judged as it stands.

        A release may lack columns (identifiers, at least), hold labels where there were numbers, and have
        suppressed cells; but a column that the schema does not know is an error all the same.
        """
        frame, duckdb = _eager(table)
        described = Schema.of(schema)
        if unclassified := [name for name in frame.columns if name not in described.columns]:
            raise SchemaError(f"The released table has columns that the plan does not know: {quoted(unclassified)}.")
        columns = {name: _as_released(frame[name], described.columns[name]) for name in frame.columns}
        return cls(frame=frame, schema=Schema(columns=columns), duckdb=duckdb)

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def native(self) -> Any:
        """The table in the kind that came in."""
        if self.duckdb:
            import duckdb

            return duckdb.from_arrow(self.frame.to_arrow())
        return self.frame.to_native()

    @cached_property
    def encoded(self) -> Records:
        """Every column in numbers, missing values still missing."""
        return Records.of(
            _encode(self.frame[name], column, self.folder)
            for name, column in ((n, self.schema.columns[n]) for n in self.frame.columns)
        )

    @cached_property
    def _treated(self) -> tuple[Records, dict[str, Any]]:
        return _treat_missing(self.encoded, self.schema)

    @property
    def records(self) -> Records:
        """The table in numbers, missing values treated as the schema says."""
        return self._treated[0].targeting(self.schema.names("quasi-identifier"))

    @property
    def missing_facts(self) -> dict[str, Any]:
        """How many records were dropped and how many values imputed or kept, by column."""
        return self._treated[1]

    def fingerprint(self) -> str:
        """SHA-256 of all names and cells, whatever kind of frame holds them."""
        digest = hashlib.sha256()
        for variable in self.encoded.variables:
            digest.update(variable.name.encode() + np.ascontiguousarray(variable.values).tobytes())
            digest.update(repr(variable.categories).encode())
        return digest.hexdigest()

    def rebuild(self, records: Records) -> "Microdata":
        """The frame that these records stand for; columns without change keep their cells as they were."""
        base = self.frame
        if len(records) != len(base) or (records.rows != np.arange(len(base))).any():
            base = base[records.rows.tolist()]
        columns = []
        for variable in records.variables:
            if variable.name in self.encoded and _same(variable, self.encoded[variable.name], records):
                columns.append(_no_negative_zero(base[variable.name]))
            else:
                columns.append(_no_negative_zero(self._decode(variable, base)))
        kept = [name for name in base.columns if name in records]
        new = [v.name for v in records.variables if v.name not in base.columns]
        frame = base.with_columns(*columns).select(*kept, *new) if columns else base.select()
        described = {name: self.schema.columns[name] for name in kept}
        described |= {name: Column(role=records[name].role, level=records[name].level) for name in new}
        return replace(self, frame=frame, schema=Schema(columns=described))

    def _decode(self, variable: Variable, base: nw.DataFrame[Any]) -> nw.Series[Any]:
        column = self.schema.columns.get(variable.name)
        dtype = base[variable.name].dtype if variable.name in base.columns else None
        if variable.continuous:
            return _decode_numbers(variable, dtype, column.decimals if column else None, base)
        return _decode_categories(variable, dtype, self, base)


def as_records(
    x: Any, confidential: Any = None, standardise: Scale = "sd", roles: Mapping[str, Any] | None = None
) -> Records:
    """Records from whatever a user has: Records, Microdata, an array, or any data frame.

    Parameters
    ----------
    x
        All columns of an array or frame are quasi-identifiers, but for those that `confidential` or `roles`
        name.
    confidential
        Column names of `x`, or an array of shape (n,) or (n, c), or a frame.
    standardise
        How distances standardise continuous columns.
    """
    if isinstance(x, Microdata):
        x = x.records
    if isinstance(x, Records):
        return _add_confidential(x if x.targets else x.targeting(x.quasi_identifiers), confidential)
    if isinstance(x, (np.ndarray, list, tuple)):
        return _add_confidential(Records.from_array(x, standardise), confidential)
    frame, _ = _eager(x)
    named = _as_names(confidential) if confidential is not None else ()
    described = {
        name: {"role": "confidential" if name in named else "quasi-identifier", "scale": standardise}
        for name in frame.columns
    }
    records = Microdata.of(x, {**described, **(roles or {})}).records
    return records if named else _add_confidential(records, confidential)


def _as_released(series: nw.Series[Any], column: Column) -> Column:
    """The column's description as far as it still fits what was released."""
    numeric = series.dtype.is_numeric() or series.dtype.is_temporal()
    level = column.level
    if not numeric and (level == "continuous" or (level is None and series.dtype == nw.String)):
        level = "nominal" if column.order is None else "ordinal"
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
        frame, _ = _eager(confidential)
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
    return Variable(name=name, role="confidential", level="nominal", values=codes.astype(np.int32),
                    categories=tuple(categories.tolist()))


def _eager(table: Any) -> tuple[nw.DataFrame[Any], bool]:
    if isinstance(table, nw.DataFrame):
        return table, False
    if type(table).__module__.split(".")[0] in ("duckdb", "_duckdb"):
        try:
            return nw.from_native(table.pl(), eager_only=True), True
        except ImportError:
            raise MissingDependency("A DuckDB relation", "pyarrow", "test") from None
    repeated = _repeated(getattr(table, "column_names", getattr(table, "columns", ())))
    if repeated:
        raise DataError(f"Column names must differ; {quoted(repeated)} occur more than once. Rename them.")
    names = list(getattr(table, "columns", ())) if type(table).__module__.startswith("pandas") else []
    if odd := [name for name in names if not isinstance(name, str)]:
        raise DataError(f"Column names must be text; {plural(len(odd), 'name')} of the table are not. "
                        f"Rename them, as with frame.columns = frame.columns.astype(str).")
    try:
        return nw.from_native(table, eager_only=True), False
    except TypeError:
        raise DataError(
            f"A table must be a pandas, polars or pyarrow table or a DuckDB relation; "
            f"got {type(table).__name__}."
        ) from None


def _repeated(names: Any) -> list[str]:
    listed = [str(name) for name in names]
    return sorted({name for name in listed if listed.count(name) > 1}) if len(set(listed)) < len(listed) else []


# From cells to numbers


def _encode(series: nw.Series[Any], column: Column, folder: Path) -> Variable:
    _check_cells(series)
    level = column.level or _default_level(series, column)
    common: dict[str, Any] = {"name": series.name, "role": column.role, "level": level, "weight": column.weight,
                              "scale": column.scale}
    if level == "continuous":
        values = _numbers(series)
        if column.role == "weight" and (wrong := int((values <= 0).sum())):
            raise DataError(f"The weight column '{series.name}' has {plural(wrong, 'weight')} of zero or less; a "
                            f"record stands for a positive number of persons. Correct them.")
        return Variable(values=values, unit=_unit(series.dtype), **common)
    codes, categories = _categories(series, column)
    try:
        hierarchy = column.load_hierarchy([str(c) for c in categories if c is not None], folder)
    except SchemaError as error:
        raise SchemaError(f"Column '{series.name}': {error}") from None
    return Variable(values=codes, categories=categories, hierarchy=hierarchy, **common)


def _check_cells(series: nw.Series[Any]) -> None:
    """A frame's column of anything may hold cells of one simple type, and then only."""
    dtype = series.dtype
    if dtype == nw.Object:
        types = {type(v) for v, gone in zip(series.to_list(), _missing(series)) if not gone}
        fits = not types or (len(types) == 1 and types <= SIMPLE)
    else:
        fits = dtype not in NO_CELLS or (dtype == nw.Unknown and bool(series.is_null().all()))
    if not fits:
        raise DataError(
            f"Column '{series.name}' holds {type(dtype).__name__.lower()} cells, or cells of several types; a column "
            f"must hold numbers, text, dates or truth values. Convert it, or take it out of the table."
        )


def _unit(dtype: Any) -> Unit | None:
    if dtype == nw.Date:
        return "date"
    return "datetime" if dtype == nw.Datetime else "duration" if dtype == nw.Duration else None


def _default_level(series: nw.Series[Any], column: Column) -> Level:
    if column.role in ("identifier", "household", "stratum"):
        return "nominal"
    if column.order is not None:
        return "ordinal"
    if column.hierarchy is not None:
        return "nominal"
    numeric = series.dtype.is_numeric() or series.dtype in (nw.Date, nw.Datetime, nw.Duration)
    return "continuous" if numeric else "nominal"


def _numbers(series: nw.Series[Any]) -> Floats:
    dtype = series.dtype
    if dtype.is_temporal():
        days = dtype == nw.Date
        if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        series = series.cast(nw.Datetime("us")) if days or dtype == nw.Datetime else series
        stamps = series.to_numpy().astype("datetime64[D]" if days else "datetime64[us]")
        values = stamps.astype(np.int64).astype(np.float64)
        values[np.isnat(stamps)] = np.nan
        return np.ascontiguousarray(values)
    if not dtype.is_numeric() and dtype != nw.Boolean:
        raise DataError(
            f"Column '{series.name}' holds text but its level is continuous. "
            f"Set level: nominal or ordinal, or turn the text into numbers."
        )
    if dtype.is_integer():
        largest = max((abs(int(v)) for v in (series.min(), series.max()) if v is not None), default=0)
        if largest > EXACT_INTEGERS:
            raise DataError(
                f"Column '{series.name}' has integers beyond 2^53, which are not exact as numbers. "
                f"Set level: nominal, or rescale it."
            )
    missing = _missing(series)
    values = np.array(series.cast(nw.Float64).fill_null(np.nan).to_numpy(), dtype=np.float64)
    values[missing] = np.nan
    if infinite := int(np.isinf(values).sum()):
        raise DataError(
            f"Column '{series.name}' has {plural(infinite, 'infinite value')}; numbers must be finite. "
            f"Replace them before the release."
        )
    return values


def _missing(series: nw.Series[Any]) -> Bools:
    mask = series.is_null()
    if series.dtype.is_float():
        mask = mask | series.is_nan().fill_null(True)
    return np.asarray(mask.to_numpy(), dtype=bool)


def _categories(series: nw.Series[Any], column: Column) -> tuple[Ints, tuple[Any, ...]]:
    missing = _missing(series)
    if series.dtype.is_integer() and series.dtype not in BEYOND_INT64 and column.order is None and not missing.any():
        numbers, places = distinct(longs(series.to_numpy()))  # the same without a Python object a cell
        return ints(places), tuple(numbers.tolist())
    values = series.to_list()
    written = repr if series.dtype.is_float() and column.order is None else _itself  # -0.0 is not written as 0.0
    present = {written(v): v for v, gone in zip(values, missing) if not gone}
    if column.order is not None:
        categories = tuple(column.order)
        if absent := sum(v not in set(categories) for v in present.values()):
            raise DataError(
                f"Column '{series.name}' has an order that leaves out {plural(absent, 'value')} of the data. "
                f"Add them to order."
            )
    elif series.dtype in (nw.Enum,) or (series.dtype == nw.Categorical and column.level == "ordinal"):
        categories = tuple(c for c in series.cat.get_categories().to_list() if c in present)
    else:
        categories = tuple(sorted(present.values(), key=lambda v: (type(v).__name__, v, str(v))))
    codes = {written(category): i for i, category in enumerate(categories)}
    found = [-1 if gone else codes[written(v)] for v, gone in zip(values, missing)]
    return np.array(found, dtype=np.int32), categories


def _itself(value: Any) -> Any:
    return value


def _treat_missing(records: Records, schema: Schema) -> tuple[Records, dict[str, Any]]:
    keep = np.ones(len(records), dtype=bool)
    facts: dict[str, Any] = {}
    changed = []
    for variable in records.variables:
        count = int(variable.missing.sum())
        if not count:
            continue
        policy = schema.columns[variable.name].missing_policy
        facts[variable.name] = {"missing": count, "policy": policy}
        match policy:
            case "refuse":
                raise DataError(
                    f"Column '{variable.name}' has {plural(count, 'missing value')}; "
                    f"a column with the role {variable.role} must be complete. "
                    f"Set missing: drop, impute, category or keep for it."
                )
            case "drop":
                keep &= ~variable.missing
            case "impute":
                changed.append(_impute(variable))
            case "category":
                changed.append(_as_category(variable))
    treated = records.with_variables(*changed)
    if not keep.all():
        facts["records dropped"] = int((~keep).sum())
        treated = treated.take(np.flatnonzero(keep))
    return treated, facts


def _impute(variable: Variable) -> Variable:
    known = variable.values[~variable.missing]
    if not len(known):
        raise DataError(f"Column '{variable.name}' has no value at all, so none can be imputed. Drop the column.")
    if variable.continuous:
        middle = float(np.sort(known)[(len(known) - 1) // 2])  # the lower median is a value of the column
        return variable.with_values(np.where(variable.missing, middle, variable.values))
    mode = int(np.bincount(known).argmax())
    return variable.with_values(np.where(variable.missing, mode, variable.values))


def _as_category(variable: Variable) -> Variable:
    if variable.level != "nominal":
        raise DataError(
            f"Column '{variable.name}' is {variable.level}; missing: category is for nominal columns. "
            f"Set missing: drop or impute."
        )
    codes = np.where(variable.missing, len(variable.categories), variable.values)
    return replace(variable, values=codes.astype(np.int32), categories=(*variable.categories, None))


# From numbers to cells


def _same(variable: Variable, original: Variable, records: Records) -> bool:
    if variable.continuous != original.continuous or variable.categories != original.categories:
        return False
    before = original.values if variable.values is original.values else original.values[records.rows]
    return bool(np.array_equal(variable.values, before, equal_nan=variable.continuous))


def _no_negative_zero(series: nw.Series[Any]) -> nw.Series[Any]:
    """Zeros of one sign: they are equal, but would be written differently."""
    if not series.dtype.is_float():
        return series
    return series.zip_with(~(series == 0.0).fill_null(False), series.abs())


def _decode_numbers(
    variable: Variable, dtype: Any, decimals: int | None, base: nw.DataFrame[Any]
) -> nw.Series[Any]:
    values = np.array(variable.values, dtype=np.float64)
    if decimals is not None:
        values = np.round(values, decimals)
    missing = np.isnan(values)
    if dtype is not None and dtype.is_temporal():
        unit = "D" if dtype == nw.Date else "us"
        whole_numbers = np.where(missing, 0, np.round(values)).astype(np.int64)
        if dtype == nw.Duration:
            spans = [None if gone else timedelta(microseconds=span)
                     for gone, span in zip(missing, whole_numbers.tolist())]
            return _series(variable.name, spans, nw.Duration("us"), base).cast(dtype)
        stamps = whole_numbers.astype(f"datetime64[{unit}]")
        cells = [None if gone else stamp for gone, stamp in zip(missing, stamps.astype("datetime64[us]").tolist())]
        series = _series(variable.name, cells, nw.Datetime("us"), base)
        zone = dtype.time_zone if isinstance(dtype, nw.Datetime) else None
        return (series.dt.replace_time_zone("UTC").dt.convert_time_zone(zone) if zone else series).cast(dtype)
    whole = bool((values[~missing] == np.floor(values[~missing])).all())
    if dtype is not None and dtype.is_integer() and whole:
        if not missing.any():
            return _series(variable.name, values.astype(np.int64), nw.Int64, base).cast(dtype)
        return _series(variable.name, [None if np.isnan(v) else int(v) for v in values], nw.Int64, base)
    if missing.any():
        return _series(variable.name, [None if np.isnan(v) else float(v) for v in values], nw.Float64, base)
    out = _series(variable.name, values, nw.Float64, base)
    return out.cast(dtype) if dtype is not None and dtype.is_float() else out


def _decode_categories(
    variable: Variable, dtype: Any, table: Microdata, base: nw.DataFrame[Any]
) -> nw.Series[Any]:
    original = table.encoded[variable.name].categories if variable.name in table.encoded else ()
    same_kind = dtype is not None and set(variable.categories) <= {*original, None}
    cells = [*variable.categories, None] if same_kind else [*map(_text, variable.categories), None]
    values = [cells[code] for code in variable.values.tolist()]
    if not same_kind:
        return _series(variable.name, values, nw.String, base)
    series = _series(variable.name, values, None, base)
    nullable = dtype.is_integer() and any(v is None for v in values)
    return series if series.dtype == dtype or nullable else series.cast(dtype)


def _text(category: Any) -> str | None:
    return None if category is None else str(category)


def _series(name: str, values: Sequence[Any] | Any, dtype: Any, base: nw.DataFrame[Any]) -> nw.Series[Any]:
    return nw.new_series(name, values, dtype, backend=base.implementation)
