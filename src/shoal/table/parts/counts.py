"""Whole numbers that a table larger than memory tells of itself, asked of DuckDB in SQL.

Counts are the same in whatever order they are taken, so that no thread and no part changes one (decision 9). Cells are
equal in SQL exactly where they are to the judges: missing cells are equal, and -0 is another value than 0, which DuckDB
alone does not tell apart. A stage holds no not-a-number: it is a missing cell.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl

from shoal.kernels.arrays import Longs
from shoal.table.parts.csv_columns import name_in_sql
from shoal.table.parts.moments import Counted
from shoal.table.parts.stage import OWN, Stage

TABLE = "released"
"""The view that is asked; its columns are numbered, so that no name of the table's own can be another's."""

AT_ONCE = 50
"""Columns that are copied together to be asked one by one."""

WORTH_A_COPY = 3_000
"""Records for each column up to which a column is copied sooner than it is found among all for each question."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CountedTable:
    """A table that is asked for counts.

    Parameters
    ----------
    connection
        A DuckDB session of its own.
    types
        Of the columns.
    records
        How many there are.
    lacking
        Missing cells of each column.
    cells
        Of each column, what stands for it in the view, and what else two cells must agree on to be equal.
    """

    connection: Any
    types: Mapping[str, pl.DataType]
    records: int
    lacking: Mapping[str, int]
    cells: Mapping[str, tuple[str, ...]]
    _alone: dict[frozenset[str], tuple[int, int]] = field(default_factory=dict, init=False, repr=False)
    _copied: set[str] = field(default_factory=set, init=False, repr=False)

    @classmethod
    def of(cls, stage: Stage, session: Any) -> Self:
        """A stage, asked in a session."""
        connection = session.cursor()
        types = {name: dtype for name, dtype in stage.schema.items() if name not in OWN}
        _name(connection, "given", stage.relation(connection).sql_query())
        columns = {name: name_in_sql(name) for name in types}
        floats = [name for name, dtype in types.items() if dtype.is_float()]
        asked = [f"count({column})" for column in columns.values()]
        asked += [f"count_if({columns[name]} = 0 AND signbit({columns[name]}))" for name in floats]
        records, *seen = connection.sql(f"FROM given SELECT count(*), {', '.join(asked)}").fetchall()[0]
        present, signed = dict(zip(types, seen)), dict(zip(floats, seen[len(types) :]))
        cells = {n: (f"c{j}", f"s{j}") if signed.get(n) else (f"c{j}",) for j, n in enumerate(types)}
        shown = [f"{column} AS c{j}" for j, column in enumerate(columns.values())]
        shown += [f"signbit({columns[name]}) AS {sign}" for name, (_, *signs) in cells.items() for sign in signs]
        _name(connection, TABLE, f"FROM given SELECT {', '.join(shown)}")
        return cls(
            connection=connection,
            types=types,
            records=records,
            lacking={name: records - present[name] for name in types},
            cells=cells,
        )

    def agreeing(self, names: Iterable[str]) -> list[str]:
        """Cells of every record that agrees in these columns."""
        return [cell for name in names for cell in self.cells[name]]

    def cells_and_numbers(self, query: str, names: Sequence[str] = ()) -> tuple[pl.DataFrame, dict[str, Longs]]:
        """The answer to a query: cells of some columns, and whole numbers by their names in the query."""
        answer = pl.DataFrame(self.connection.sql(query).to_arrow_table())
        cells = answer.select(pl.col(self.cells[name][0]).alias(name).cast(self.types[name]) for name in names)
        numbers = [column for column in answer.columns if column not in {self.cells[name][0] for name in names}]
        return cells, {column: np.asarray(answer[column].to_numpy(), dtype=np.int64) for column in numbers}

    def counted(self, name: str) -> Counted:
        """The distinct cells of a column."""
        cells = self.agreeing([name])
        query = (
            f"FROM {TABLE} SELECT {cells[0]}, count(*) AS n WHERE {cells[0]} IS NOT NULL GROUP BY {', '.join(cells)}"
        )
        seen, numbers = self.cells_and_numbers(query, [name])
        order = seen[name].arg_sort()
        return Counted(cells=seen[name][order], counts=numbers["n"][order.to_numpy()], missing=self.lacking[name])

    def uniques(self, names: Sequence[str], beside: Sequence[str] = ()) -> tuple[int, int]:
        """Numbers of records that no other one agrees with in some columns and those beside, and of their classes."""
        every = tuple(dict.fromkeys((*beside, *names)))
        asked = frozenset(every)
        if asked not in self._alone:
            table = self._with_next(names[0], beside) if len(names) == 1 else TABLE
            groups = f"FROM {table} SELECT count(*) AS n GROUP BY {', '.join(self.agreeing(every))}"
            alone, all_of_them = self.connection.sql(f"FROM ({groups}) SELECT count_if(n = 1), count(*)").fetchall()[0]
            self._alone[asked] = int(alone), int(all_of_them)
        return self._alone[asked]

    def _with_next(self, name: str, beside: Sequence[str]) -> str:
        """A copy of a column, those after it and some beside, where that is worth it; else the view of all."""
        if self.records > WORTH_A_COPY * len(self.types):
            return TABLE
        if not self._copied.issuperset((name, *beside)):
            after = list(self.types)[list(self.types).index(name) :]
            self._copied.clear()
            self._copied.update((*after[:AT_ONCE], *beside))
            cells = ", ".join(self.agreeing(sorted(self._copied)))
            self.connection.execute(f"CREATE OR REPLACE TEMP TABLE copied AS FROM {TABLE} SELECT {cells}")
        return "copied"


@dataclass(frozen=True, kw_only=True, eq=False)
class CountedClasses:
    """Equivalence classes of a table, numbered as DuckDB happens to find them; only the last ones made can be asked.

    Parameters
    ----------
    names
        Columns on which the records of a class agree.
    columns
        Columns whose cells can be counted by class.
    """

    table: CountedTable
    names: tuple[str, ...]
    columns: tuple[str, ...]

    @cached_property
    def sizes(self) -> Longs:
        """Shape (C,); records of each class."""
        cells = self.table.agreeing(self.names)
        by = f"GROUP BY {', '.join(cells)}" if cells else ""
        self._make("classes", f"FROM {TABLE} SELECT {', '.join([*cells, 'count(*) AS n'])} {by}")
        return self.table.cells_and_numbers("FROM classes SELECT n ORDER BY rowid")[1]["n"]

    def keys(self, low: int, high: int) -> pl.DataFrame:
        """The cells on which the records of some classes agree, a row for each class."""
        cells = ", ".join([*(self.table.cells[name][0] for name in self.names), "n"])
        query = f"FROM classes SELECT {cells} {_between('rowid', low, high)} ORDER BY rowid"
        return self.table.cells_and_numbers(query, self.names)[0]

    def distinct(self, name: str) -> pl.Series:
        """The distinct cells of a column, in the order of their numbers; a missing one comes last."""
        cell = self.table.cells[name][0]
        self._members  # noqa: B018 - makes the table
        cells = self.table.cells_and_numbers(f"FROM of_{cell} SELECT {cell} ORDER BY rowid", [name])[0][name]
        return cells.extend_constant(None, 1) if self.table.lacking[name] else cells

    def entries(self, name: str, low: int, high: int) -> tuple[Longs, Longs, Longs | None]:
        """Each of shape (P,): the class of each entry, counted from `low`, the number of its cell, and its records.

        Where there may be as many entries as records, each record is one: they are not counted.
        """
        cell, distinct = self.table.cells[name][0], self._members[name]
        shown = f"class - {low} AS class, coalesce({cell}, {distinct}) AS cell"
        query, within = f"FROM members SELECT {shown}", _between("class", low, high)
        few = (distinct + 1) * len(self.sizes) <= self.table.records
        query = f"{query}, count(*) AS n {within} GROUP BY ALL" if few else f"{query} {within}"
        seen = self.table.cells_and_numbers(query)[1]
        return seen["class"], seen["cell"], seen.get("n")

    def different(self, names: Sequence[str], low: int, high: int) -> Longs:
        """Shape (C,); how many different cells some classes have in columns, those with a missing one left out."""
        cells = [self.table.cells[name][0] for name in names]
        present = " AND ".join(f"{cell} IS NOT NULL" for cell in cells)
        self._members  # noqa: B018 - makes the table
        query = f"FROM members SELECT DISTINCT class, {', '.join(cells)} {_between('class', low, high)} AND {present}"
        query = f"FROM ({query}) SELECT class - {low} AS class, count(*) AS n GROUP BY class"
        seen = self.table.cells_and_numbers(query)[1]
        counts = np.zeros(high - low, dtype=np.int64)
        counts[seen["class"]] = seen["n"]
        return counts

    def in_order(self, name: str, low: int, high: int) -> tuple[Longs, pl.DataFrame]:
        """The class of each record of some classes, counted from `low`, and its cell, in the order of the table."""
        self.sizes  # noqa: B018 - makes the table
        placed = f"FROM (FROM {TABLE} SELECT *, row_number() OVER () AS place) AS r"
        query = f"{placed} JOIN classes AS c ON {self._same('c', self.names)} SELECT r.{self.table.cells[name][0]}"
        query = f"{query}, c.rowid - {low} AS class {_between('c.rowid', low, high)} ORDER BY r.place"
        cells, seen = self.table.cells_and_numbers(query, [name])
        return seen["class"], cells

    @cached_property
    def _members(self) -> Mapping[str, int]:
        """Number of distinct cells of each column; leaves these cells, and each record's class, as tables."""
        self.sizes  # noqa: B018 - makes the table
        counts, joins, shown = {}, [f"JOIN classes AS c ON {self._same('c', self.names)}"], ["c.rowid AS class"]
        for name in self.columns:
            cell, agreeing = self.table.cells[name][0], ", ".join(self.table.agreeing([name]))
            query = f"FROM {TABLE} SELECT {agreeing} WHERE {cell} IS NOT NULL GROUP BY {agreeing}"
            counts[name] = self._make(f"of_{cell}", query)
            joins.append(f"LEFT JOIN of_{cell} ON {self._same(f'of_{cell}', [name])}")
            shown.append(f"of_{cell}.rowid AS {cell}")
        self._make("members", f"FROM {TABLE} AS r {' '.join(joins)} SELECT {', '.join(shown)}")
        return counts

    def _make(self, name: str, query: str) -> int:
        """Leave a table, and give its rows."""
        return int(self.table.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}").fetchall()[0][0])

    def _same(self, other: str, names: Sequence[str]) -> str:
        cells = self.table.agreeing(names)
        return " AND ".join(f"r.{cell} IS NOT DISTINCT FROM {other}.{cell}" for cell in cells) or "TRUE"


def _name(connection: Any, name: str, query: str) -> None:
    """Give a query a name for one connection; a view that is not temporary would be seen by all."""
    connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {query}")


def _between(column: str, low: int, high: int) -> str:
    return f"WHERE {column} >= {low} AND {column} < {high}"
