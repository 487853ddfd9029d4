"""Large CSV files: the same rules as for small ones (`shoal.table.files.csv_text`), asked of all records by aggregates.

Columns become integers, floats, ISO dates or date-times only where every cell is one; numbers written with a leading
zero are codes and stay text.
"""

import gzip
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import polars as pl

from shoal.table.files.csv_text import (
    DAY,
    DELIMITERS,
    IN_UTC,
    LOCAL,
    MISSING_AMONG_NUMBERS,
    STAMPS,
    TOO_LONG,
    WRITTEN_CODE,
    header_names,
)
from shoal.table.files.doubts import NUMBER
from shoal.table.parts.csv_quotes import IN_MEMORY, refuse_marks_that_tell
from shoal.table.parts.session import lacks_memory, too_little_memory
from shoal.vocabulary.errors import DataError, FileError, quoted, refuse_repeated

Result = TypeVar("Result")

LACKING = "is lacking in"
"""Beginning of the fault of a column that some files lack."""

TAKE_ABSENT = (
    "Say absent: missing (--absent missing) to take what is lacking as missing, or give all files the same columns."
)
ONE_TYPE = "Give all files one type of each column; what is lacking can be taken as missing (--absent missing)."
NO_ABSENT = "Give all CSV files the same columns, or write them as Parquet, of which columns may be lacking."

AT_ONCE = 240
"""Aggregates of one query."""

CELLS_AT_ONCE = 2_000_000

IN_PARTS = "CSV files that are read in parts, as those of a folder are,"
"""The subject of what is refused of them and not of one file that is read whole."""


def csv_queries(
    connection: Any, files: Sequence[Path], reading: Mapping[str, Any], *, hive: bool, judged: bool = False
) -> list[Any]:
    """A relation with the typed columns of some CSV files that have the same header, and one of each file.

    `judged`: True to refuse two cells that are written differently and become one value. Raises FileError if headers
    differ or cells do not fit the header, too; DataError if columns have no names of their own.
    """
    mark, names = _mark_and_names(files, reading)
    with _readable(files):
        cells = _texts(connection, files, mark, names, hive)
        parts = [_texts(connection, [path], mark, names, hive) for path in files] if len(files) > 1 else []
        kinds, marked = _types(cells)
        check_names(cells.columns)  # those of folders included
        if judged:
            _refuse_two_ways(cells, kinds, marked)
            refuse_marks_that_tell(files, names, mark)
    columns = {name: name_in_sql(name) for name in cells.columns}
    chosen = [f"{_cast(c, kinds[n], n in marked)} AS {c}" if n in kinds else c for n, c in columns.items()]
    typed = [relation.project(", ".join(chosen)) for relation in (cells, *parts)]
    return typed if parts else typed * 2  # a wide file takes long to be looked at anew


def csv_size(connection: Any, files: Sequence[Path], reading: Mapping[str, Any], *, hive: bool) -> tuple[int, int]:
    """Numbers of records and columns of some CSV files, without a look at their cells; raises as `csv_queries`."""
    mark, names = _mark_and_names(files, reading)
    with _readable(files):
        cells = _texts(connection, files, mark, names, hive)
        return int(cells.aggregate("count(*)").fetchall()[0][0]), len(cells.columns)


def _mark_and_names(files: Sequence[Path], reading: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The delimiter of some files, and the names of the columns that all of them have."""
    if (encoding := reading.get("encoding")) not in (None, "utf-8", "utf-8-sig"):
        raise FileError(f"{IN_PARTS} must be in utf-8; got the encoding '{encoding}'. Convert them first.")
    if reading.get("decimal", ".") != ".":
        raise FileError(f"{IN_PARTS} must have the decimal mark '.'. Convert them first, or write them as Parquet.")
    mark = reading.get("delimiter") or max(DELIMITERS, key=_first_line(files[0]).count)
    names = _header(files[0], mark)
    check_names(names)
    headers = {path: dict.fromkeys(_header(path, mark), "") for path in files}
    if faults := drifted(headers):
        clauses = "; ".join(f"{quoted([name])} {fault}" for name, fault in faults.items())
        raise FileError(f"The {len(files)} files of the table differ in their columns: {clauses}. {NO_ABSENT}")
    if any(list(header) != list(names) for header in headers.values()):
        raise FileError(f"The {len(files)} files of the table have their columns in different orders. {NO_ABSENT}")
    return mark, names


def _texts(connection: Any, files: Sequence[Path], mark: str, names: Sequence[str], hive: bool) -> Any:
    """All cells of some files, as they are written."""
    return connection.read_csv(
        [literal(path) for path in files],
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


@contextmanager
def _readable(files: Sequence[Path]) -> Iterator[None]:
    """Files that cannot be read as CSV, or not in the memory that there is, are errors of our own."""
    try:
        yield
    except Exception as error:
        if "duckdb" not in type(error).__module__:
            raise
        if lacks_memory(error):
            raise too_little_memory(files[0]) from None
        raise FileError(
            f"'{files[0]}' cannot be read as CSV: records and header differ in their cells, or quotation marks do not "
            f"pair ({type(error).__name__}). Mend it, or name the delimiter."
        ) from None


def drifted(types: Mapping[Path, Mapping[str, str]]) -> dict[str, str]:
    """Columns that some files of a table lack or have with another type, each with what is wrong.

    `types`: the types of each file's columns.
    """
    names = dict.fromkeys(name for columns in types.values() for name in columns)
    faults = {}
    for name in names:
        kinds = sorted({columns[name] for columns in types.values() if name in columns})
        lacking = [path.name for path, columns in types.items() if name not in columns]
        if len(kinds) > 1:
            faults[name] = f"has the types {quoted(kinds)}"
        elif lacking:
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            faults[name] = f"{LACKING} '{lacking[0]}'{more}"
    return faults


def _refuse_two_ways(cells: Any, kinds: Mapping[str, str], marked: Container[str]) -> None:
    """Refuse columns of numbers or dates in which one value, or a missing cell, is written in several ways."""

    def ways(cell: str) -> str:
        return f"count(DISTINCT {cell}) + max(CASE WHEN {cell} IS NULL THEN 1 ELSE 0 END)"

    columns = {name: name_in_sql(name) for name in kinds}
    values = {name: _cast(column, kinds[name], name in marked) for name, column in columns.items()}
    dates = [name for name, kind in kinds.items() if kind not in NUMBERS]
    otherwise = [f"count_if(CAST({values[name]} AS VARCHAR) <> {columns[name]})" for name in dates]
    doubtful = [name for name, count in zip(dates, _asked(cells, otherwise)) if count]
    doubtful += _written_otherwise(cells, {name: kind for name, kind in kinds.items() if kind in NUMBERS})
    counts = _asked(cells, [f"{ways(columns[name])} - ({ways(values[name])})" for name in doubtful])
    if several := [name for name, count in zip(doubtful, counts) if count]:
        raise FileError(
            f"The files write one value of {quoted(several)} in several ways, as 34 and 34.0, by which records can be "
            f"told apart. {IN_MEMORY}"
        )


def check_names(names: Sequence[str]) -> None:
    """Refuse names of columns that DuckDB does not tell apart. Raises DataError naming them."""
    refuse_repeated(names)
    if "" in names:
        raise DataError(f"Column {list(names).index('') + 1} has no name. Name it in the header row, or take it out.")
    small = [name.lower() for name in names]
    if alike := [name for name in names if small.count(name.lower()) > 1]:
        raise DataError(
            f"The names {quoted(alike)} differ in capital letters only, which a table in parts cannot have. "
            f"Rename one, or say exact: true in the plan."
        )


def _first_line(path: Path) -> str:
    return _of_text(path, lambda file: str(file.readline()).rstrip("\r\n"))


def _header(path: Path, mark: str) -> list[str]:
    return _of_text(path, lambda file: header_names(file, mark, path))


def _of_text(path: Path, take: Callable[[Any], Result]) -> Result:
    """Result of a function on the open text of a file."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            return take(file)
    except (OSError, UnicodeError, EOFError) as error:
        raise FileError(
            f"File '{path}' cannot be read as text in utf-8 ({type(error).__name__}). Convert it first."
        ) from None


def _types(cells: Any) -> tuple[dict[str, str], set[str]]:
    """DuckDB's types of columns that are no text, and the columns in which some words mark missing cells."""
    forms = _forms(cells)
    kinds = {name: kind for name, of in forms.items() if (kind := of.kind)}
    dates = {name: kind for name, kind in kinds.items() if kind not in NUMBERS}  # not every date of that form exists
    columns = {name: name_in_sql(name) for name in dates}
    failed = _asked(cells, [f"count({columns[n]}) - count(TRY_CAST({columns[n]} AS {dates[n]}))" for n in dates])
    no_dates = {name for name, count in zip(dates, failed, strict=True) if count}
    kinds = {name: kind for name, kind in kinds.items() if name not in no_dates}
    return kinds, {name for name, of in forms.items() if of.marked}


NUMBERS = ("BIGINT", "DOUBLE", "VARCHAR")
"""DuckDB's types of columns of numbers and of codes, in which some words may mark a missing cell."""


def _cast(column: str, kind: str, marked: bool) -> str:
    """Cells as values of a type; blanks around numbers mean nothing. DuckDB would make a join of a list after IN."""
    bare = f"trim({column})" if kind in NUMBERS else column
    if kind in NUMBERS and marked:
        marks = "|".join(map(re.escape, MISSING_AMONG_NUMBERS))
        bare = f"CASE WHEN NOT regexp_full_match({bare}, '{marks}') THEN {bare} END"
    return f"CAST({bare} AS {kind})"


def _written_otherwise(cells: Any, kinds: Mapping[str, str]) -> list[str]:
    """Columns of numbers and codes with a cell that polars would write in another way: of each value it has one."""
    if not kinds:
        return []
    doubtful: set[str] = set()
    texts = cells.project(", ".join(map(name_in_sql, kinds)))
    for batch in texts.to_arrow_reader(max(CELLS_AT_ONCE // len(kinds), 1)):
        alike: dict[str, dict[str, pl.Series]] = {}
        for (name, kind), column in zip(kinds.items(), _columns(batch), strict=True):
            alike.setdefault(kind, {})[name] = column.rename("")
        for kind, columns in alike.items():
            if not _in_one_way(pl.concat(columns.values()), kind):
                doubtful |= {name for name, column in columns.items() if not _in_one_way(column, kind)}
    return [name for name in kinds if name in doubtful]


def _in_one_way(cells: pl.Series, kind: str) -> bool:
    """True if all cells that are not missing are written as polars writes their values."""
    present = cells.drop_nulls()
    if kind == "VARCHAR":
        return bool(((present == present.str.strip_chars(" ")) & ~present.is_in(MISSING_AMONG_NUMBERS)).all())
    written = present.cast(pl.Int64 if kind == "BIGINT" else pl.Float64, strict=False).cast(pl.String)
    return bool((written.eq_missing(present) & (present != "-0.0")).all())  # -0.0 is a 0, too


def _forms(cells: Any) -> dict[str, "_Forms"]:
    """Forms of the cells of each column, by one look at all cells.

    Of columns of numbers that were alike so far the different cells are looked at together: few tell anything new.
    """
    forms = {name: _Forms() for name in cells.columns}
    for batch in cells.to_arrow_reader(max(CELLS_AT_ONCE // max(len(forms), 1), 1)):
        alike: dict[Any, list[tuple[_Forms, pl.Series]]] = {}
        for (name, of), column in zip(forms.items(), _columns(batch), strict=True):
            key = (of.whole, of.codes, of.long, of.marked) if of.numbers else name
            alike.setdefault(key, []).append((of, column.rename("")))
        for together in alike.values():
            if not together[0][0].numbers or not _nothing_new(together):
                for of, column in together:
                    of.see(column.drop_nulls())
    return forms


def _columns(batch: Any) -> list[pl.Series]:
    """The columns of a batch of Arrow, turned at once, which takes a tenth of turning one by one."""
    return cast(pl.DataFrame, pl.from_arrow(batch)).get_columns()


def _nothing_new(alike: list[tuple["_Forms", pl.Series]]) -> bool:
    """True if further cells of columns of numbers with the same forms leave these as they are."""
    before = alike[0][0]
    after = replace(before)
    after.see(pl.concat([column for _, column in alike]).unique().drop_nulls())
    return after == before


@dataclass
class _Forms:
    """Forms that all cells of a column have, as far as they were seen.

    `numbers`: that some cell is a number and none anything else but a mark of a missing one; `long`: a number of more
    digits than an integer has; `fine`: a date-time with a digit other than 0 at its end; `marked`: a mark of a missing
    number.
    """

    numbers: bool | None = None
    whole: bool = True
    codes: bool = False
    long: bool = False
    dates: set[str] | None = None
    fine: bool = False
    marked: bool = False

    @property
    def kind(self) -> str:
        """DuckDB's type of such columns; empty for text that is no code."""
        if self.numbers:
            codes = self.codes or (self.long and not self.whole)
            return "VARCHAR" if codes else "BIGINT" if self.whole else "DOUBLE"
        if self.dates == {DAY}:
            return "DATE"
        for kind, (seconds, *further) in (("TIMESTAMP", STAMPS), ("TIMESTAMP", LOCAL), ("TIMESTAMPTZ", IN_UTC)):
            if self.dates and (self.dates == {seconds} or (self.fine and self.dates <= {*further})):
                return kind
        return ""

    def see(self, cells: pl.Series) -> None:
        """Take further cells into account."""
        # The first cell tells of most columns of text.
        for some in (cells.head(1), cells) if self.numbers is None else (cells,):
            if len(some) and self.numbers is not False:
                self._see_numbers(some.str.strip_chars(" "))
        if self.numbers:
            self.dates = set()  # a number is no date
        if len(cells) and self.dates != set():
            forms = {DAY, *STAMPS, *LOCAL, *IN_UTC} if self.dates is None else self.dates
            self.dates = _of_all(cells, _of_all(cells.head(1), forms))
        if len(cells) and self.dates:
            self.fine |= not cells.str.strip_chars_end("Z").str.ends_with("000").all()

    def _see_numbers(self, bare: pl.Series) -> None:
        whole = bare.cast(pl.Int64, strict=False)
        if whole.null_count():
            present = bare.filter(~bare.is_in(MISSING_AMONG_NUMBERS))
            self.marked |= len(present) < len(bare)
            if not len(present):
                return
            self.whole &= whole.null_count() == len(bare) - len(present)
            if not present.str.contains(NUMBER).all():
                self.numbers = False
                return
            bare = present
        self.numbers = True
        self.long |= bare.str.contains(TOO_LONG).any()
        self.codes |= bare.str.contains(WRITTEN_CODE).any()


def _of_all(cells: pl.Series, forms: set[str]) -> set[str]:
    """The forms that all cells have."""
    return {form for form in forms if cells.str.contains(f"^{form}$").all()}


def _asked(cells: Any, aggregates: Sequence[str]) -> list[int]:
    """Values of aggregates, a few in a query: what DuckDB takes of memory grows with their number.

    Where it has too little for them, half as many are asked for, and so on down to one.
    """
    values: list[int] = []
    few = AT_ONCE
    while len(values) < len(aggregates):
        piece = aggregates[len(values) : len(values) + few]
        try:
            values += cells.aggregate(", ".join(piece)).fetchall()[0]
        except Exception as error:
            if len(piece) == 1 or not lacks_memory(error):
                raise
            few = len(piece) // 2
    return values


def literal(path: Path) -> str:
    """The path of a file as DuckDB takes it, to which the signs * ? [ are a pattern of names."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def name_in_sql(name: str) -> str:
    """A column's name in quotation marks, as SQL wants it."""
    return '"' + name.replace('"', '""') + '"'


def text_in_sql(text: str) -> str:
    """A text in quotation marks, as SQL wants it."""
    return "'" + text.replace("'", "''") + "'"
