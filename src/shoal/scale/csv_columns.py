"""Large CSV files: the same rules as for small ones (`shoal.files.csv_text`), asked of all records by aggregates.

Columns become integers, floats, ISO dates or date-times only where every cell is one; numbers written with a leading
zero are codes and stay text.
"""

import csv
import gzip
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from shoal.errors import DataError, FileError, not_unique, quoted
from shoal.files.csv_text import DAY, DELIMITERS, MISSING_AMONG_NUMBERS, STAMPS
from shoal.scale.csv_quotes import refuse_marks_that_tell

Result = TypeVar("Result")

NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
WHOLE = r"[+-]?\d{1,18}"
CODE = r"[+-]?0\d.*"
TOO_LONG = r"[+-]?\d{19,}"


def csv_queries(
    connection: Any, files: Sequence[Path], reading: Mapping[str, Any], *, hive: bool, judged: bool = False
) -> list[Any]:
    """A relation with the typed columns of some CSV files that have the same header, and one of each file.

    Parameters
    ----------
    judged
        Whether the files are to be judged: then no two cells that are written differently may become one value.

    Raises
    ------
    FileError
        If headers differ, cells do not fit the header, or one value of a table to be judged is written in two ways.
    DataError
        If columns have no names of their own.
    """
    if (encoding := reading.get("encoding")) not in (None, "utf-8", "utf-8-sig"):
        raise FileError(f"A large CSV file must be in utf-8; got the encoding '{encoding}'. Convert it first.")
    if reading.get("decimal", ".") != ".":
        raise FileError("A large CSV file must have the decimal mark '.'. Convert it first, or write it as Parquet.")
    mark = reading.get("delimiter") or max(DELIMITERS, key=_first_line(files[0]).count)
    names = _header(files[0], mark)
    for path in files[1:]:
        if _header(path, mark) != names:
            raise FileError(
                f"File '{path}' has another header than '{files[0]}'. All files must have the same columns."
            )
    check_names(names)
    try:
        cells, *parts = (
            connection.read_csv(
                [literal(path) for path in some],
                all_varchar=True,
                header=True,
                names=names,
                skiprows=0,
                comment="",
                delimiter=mark,
                quotechar='"',
                escapechar='"',
                null_padding=False,
                na_values="",
                hive_partitioning=hive,
                hive_types_autocast=False,
            )
            for some in (files, *([path] for path in files))
        )
        chosen = _types(cells)
    except Exception as error:
        if "duckdb" not in type(error).__module__:
            raise
        raise FileError(
            f"'{files[0]}' cannot be read as CSV: records and header differ in their cells, or quotation marks do not "
            f"pair ({type(error).__name__}). Mend it, or name the delimiter."
        ) from None
    check_names(cells.columns)  # those of folders included
    if judged:
        _refuse_two_ways(cells, chosen)
        refuse_marks_that_tell(files, names, mark)
    return [relation.project(", ".join(chosen)) for relation in (cells, *parts)]


def _refuse_two_ways(cells: Any, chosen: Sequence[str]) -> None:
    """Refuse columns of numbers or dates in which one value, or a missing cell, is written in several ways."""
    typed = [(name, text) for name, text in zip(cells.columns, chosen) if text != name_in_sql(name)]
    if not typed:
        return
    tests = []
    for name, text in typed:
        value = text.removesuffix(f" AS {name_in_sql(name)}")
        tests.append(
            f"count(DISTINCT {name_in_sql(name)}) + max(CASE WHEN {name_in_sql(name)} IS NULL THEN 1 ELSE 0 END) - "
            f"count(DISTINCT {value}) - max(CASE WHEN {value} IS NULL THEN 1 ELSE 0 END)"
        )
    counts = cells.aggregate(", ".join(tests)).fetchall()[0]
    if several := [name for (name, _), count in zip(typed, counts) if count]:
        raise FileError(
            f"The files write one value of {quoted(several)} in several ways, as 34 and 34.0, by which records can be "
            f"told apart. That is judged only in memory (--engine memory)."
        )


def check_names(names: Sequence[str]) -> None:
    """Refuse names of columns that DuckDB does not tell apart.

    Raises
    ------
    DataError
        Naming them.
    """
    if repeated := sorted({name for name in names if list(names).count(name) > 1}):
        raise DataError(not_unique(repeated))
    if "" in names:
        raise DataError(f"Column {list(names).index('') + 1} has no name. Name it in the header row, or take it out.")
    small = [name.lower() for name in names]
    if alike := [name for name in names if small.count(name.lower()) > 1]:
        raise DataError(
            f"The names {quoted(alike)} differ in capital letters only, which a table larger than memory cannot have. "
            f"Rename one, or take --engine memory."
        )


def _first_line(path: Path) -> str:
    return _of_text(path, lambda file: str(file.readline()).rstrip("\r\n"))


def _header(path: Path, mark: str) -> list[str]:
    """The names of the first record."""
    try:
        return _of_text(path, lambda file: next(csv.reader(file, delimiter=mark, strict=True), []))
    except csv.Error:
        raise FileError(f"File '{path}' has quotation marks in its header row that do not pair. Mend them.") from None


def _of_text(path: Path, take: Callable[[Any], Result]) -> Result:
    """What is taken of a file's text."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            return take(file)
    except (OSError, UnicodeError, EOFError) as error:
        raise FileError(f"File '{path}' cannot be read as text in utf-8 ({type(error).__name__}).") from None


def _types(cells: Any) -> list[str]:
    """For each column the expression that gives its cells the type that all of them have."""
    names = cells.columns
    tests = []
    marks = ", ".join(map(text_in_sql, MISSING_AMONG_NUMBERS))
    for name in names:
        bare = f"trim({name_in_sql(name)})"
        known = f"{bare} IS NOT NULL AND {bare} NOT IN ({marks})"
        tests += [
            f"count(*) FILTER ({known})",
            *(
                f"count(*) FILTER ({known} AND regexp_full_match({bare}, {text_in_sql(pattern)}))"
                for pattern in (NUMBER, WHOLE, CODE, TOO_LONG)
            ),
            f"count(*) FILTER ({name_in_sql(name)} IS NOT NULL)",
            *(
                f"count(*) FILTER (regexp_full_match({name_in_sql(name)}, {text_in_sql(form)}) "
                f"AND TRY_CAST({name_in_sql(name)} AS {kind}) IS NOT NULL)"
                for form, kind in ((DAY, "DATE"), *((form, "TIMESTAMP") for form in STAMPS))
            ),
            f"count(*) FILTER ({name_in_sql(name)} LIKE '%000')",
        ]
    counts = cells.aggregate(", ".join(tests)).fetchall()[0]
    width = len(tests) // max(len(names), 1)
    return [_typed(name, counts[i * width : (i + 1) * width], marks) for i, name in enumerate(names)]


def _typed(name: str, counts: Sequence[int], marks: str) -> str:
    known, numbers, whole, codes, too_long, cells, dates, seconds, milliseconds, microseconds, coarser = counts
    column = name_in_sql(name)
    if known and numbers == known and not codes and not too_long:
        bare = f"CASE WHEN trim({column}) IN ({marks}) THEN NULL ELSE trim({column}) END"
        return f"CAST({bare} AS {'BIGINT' if whole == known else 'DOUBLE'}) AS {column}"
    if cells and dates == cells:
        return f"CAST({column} AS DATE) AS {column}"
    if cells and (seconds == cells or (cells in (milliseconds, microseconds) and coarser < cells)):
        return f"CAST({column} AS TIMESTAMP) AS {column}"
    return column


def literal(path: Path) -> str:
    """The path of a file as DuckDB takes it, to which the signs * ? [ are a pattern of names."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def name_in_sql(name: str) -> str:
    """A column's name in quotation marks, as SQL wants it."""
    return '"' + name.replace('"', '""') + '"'


def text_in_sql(text: str) -> str:
    """A text in quotation marks, as SQL wants it."""
    return "'" + text.replace("'", "''") + "'"
