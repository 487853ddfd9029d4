"""Functions of several rows in rules, each the values of a column.

`count(stays)`, `sum(items.amount)`, `min(...)` and `max(...)` are of all rows of a table that hang on one row of
another: by default the lowest table above it on which the rule's other columns hang too, else the person, or the table
after `per`. `repeats(stays.kind)` counts those rows whose value another such row before it has, so that 0 means at most
one row of a kind. `previous(stays.discharge by stays.admission)` is of the row that comes before a row among these, in
the order of a column; of equal ones, the smaller value comes first. `where` takes some of the rows only. In one table
the rows are those of a person, and columns have no table's name before them.

A sum of nothing is 0, and so is a count; the least of nothing is missing. Where a cell that is added up, compared, or
met by a condition is missing, the value is missing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from shoal.constraints.grammar import OfRows, RuleComparison, Sentence, Sum
from shoal.constraints.precision import written_decimals
from shoal.constraints.rules import View, bind
from shoal.kernels.arrays import Bools, Floats, Longs
from shoal.table.links import Key, Links, chain, root_of
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import quoted, unknown

PERSONS, RECORDS = "persons", ""
"""Names of the tables that one table with a person column is seen as."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DependentRows:
    """Tables whose rows hang on one another.

    Parameters
    ----------
    tables
        By name; in rules a column has the table's name before it, as in `stays.ward`, but in the table `RECORDS`.
    """

    tables: Mapping[str, Records]
    links: Links

    @classmethod
    def of_persons(cls, records: Records, persons: Longs) -> "DependentRows":
        """The records of one table, which hang on persons; who is missing, of number -1, is a person each time."""
        several = np.where(persons < 0, persons.max(initial=0) + 1 + np.arange(len(persons)), persons)
        present, numbers = np.unique(several, return_inverse=True)
        keys = {PERSONS: Key(key="person"), RECORDS: Key(parent=PERSONS, link="person")}
        links = Links(
            keys=keys, sizes={PERSONS: len(present), RECORDS: len(records)}, above={RECORDS: numbers.astype(np.int64)}
        )
        return cls(tables={PERSONS: Records(variables=(), rows=np.arange(len(present))), RECORDS: records}, links=links)

    @property
    def names(self) -> list[str]:
        """Names of all columns, as rules have them."""
        return [named(table, v.name) for table, records in self.tables.items() for v in records.variables]

    def place(self, name: str) -> tuple[str, str] | None:
        """The table and the name in it of a column that a rule names; None if there is none."""
        if RECORDS in self.tables:
            return (RECORDS, name) if name in self.tables[RECORDS] else None
        table, _, column = name.partition(".")
        return (table, column) if table in self.tables and column in self.tables[table] else None

    def column(self, name: str) -> Variable:
        table, column = self.place(name) or ("", "")
        return self.tables[table][column]

    def join(self, home: str, names: Iterable[str]) -> Records:
        """Some columns of a table and of those above it, a record for each row of the table."""
        variables = []
        for name in names:
            table, column = self.place(name) or ("", "")
            taken = self.tables[table][column].take(self.links.rows_of(table, home))
            variables.append(replace(taken, name=name))
        return Records(variables=tuple(variables), rows=np.arange(self.links.sizes[home]))


def named(table: str, column: str) -> str:
    """A column as rules name it."""
    return f"{table}.{column}" if table else column


def names_in(comparisons: Iterable[RuleComparison]) -> dict[str, int]:
    """The columns that comparisons name, each with its place in the rule."""
    sides = [s for c in comparisons for s in (c.left, *(c.right if isinstance(c.right, tuple) else (c.right,)))]
    return {name: side.positions[name] for side in sides if isinstance(side, Sum) for name in side.terms}


def plain_names(sentence: Sentence) -> dict[str, int]:
    """The columns that a rule names outside functions of rows, each with its place."""
    functions = {function.text for function in sentence.of_rows}
    named_ones = names_in((*sentence.when, *sentence.then))
    return {name: place for name, place in named_ones.items() if name not in functions}


def names_of(sentence: Sentence) -> dict[str, int]:
    """All columns that a rule names, each with its place."""
    names = plain_names(sentence)
    for function in sentence.of_rows:
        names |= names_in(function.where)
        names |= {name: function.position for name in (function.column, function.by) if name}
        if function.function == "count":
            names.pop(function.column, None)
    return names


def home_of(sentence: Sentence, rows: DependentRows) -> str:
    """The table for whose rows a rule is judged: the lowest that it names outside sums and the like, else persons.

    Raises ConstraintError if a column is unknown, or the tables do not hang on one another.
    """
    keys = rows.links.keys
    for name, position in names_of(sentence).items():
        if rows.place(name) is None:
            problem = unknown("column", name, rows.names)
            sentence.fail(position, problem[0].lower() + problem[1:])
    tables = {(rows.place(name) or ("", ""))[0]: place for name, place in plain_names(sentence).items()}
    for function in sentence.of_rows:
        if function.function == "previous":
            tables[table_of(function, sentence, rows)] = function.position
        elif function.per:
            tables[_known(function.per, function, sentence, rows)] = function.position
    home = max(tables, key=lambda table: len(list(chain(keys, table))), default=root_of(keys))
    for table, place in tables.items():
        if table not in chain(keys, home):
            sentence.fail(place, f"{quoted([home, table])} do not hang on one another, so no row has both.")
    return home


def table_of(function: OfRows, sentence: Sentence, rows: DependentRows) -> str:
    """The table whose rows a function is of."""
    if RECORDS in rows.tables:
        if function.function == "count" and function.column:
            sentence.fail(function.position, "count takes no column; write count() or count(where ...).")
        table = RECORDS
    elif function.function == "count":
        table = _known(function.column, function, sentence, rows)
    else:
        table = (rows.place(function.column) or ("", ""))[0]
    if function.function != "count" and not function.column:
        sentence.fail(function.position, f"{function.function} needs a column.")
    if (function.function == "previous") != bool(function.by):
        needs = "needs 'by' and the column that puts rows in order"
        must = needs if function.function == "previous" else "takes no 'by'"
        sentence.fail(function.position, f"{function.function} {must}.")
    others = {name: (rows.place(name) or ("", ""))[0] for name in (*names_in(function.where), function.by) if name}
    if wrong := [name for name, of in others.items() if of not in chain(rows.links.keys, table)]:
        sentence.fail(function.position, f"{quoted(wrong)} is no column of '{table}' or of a table above it.")
    return table


def _known(table: str, function: OfRows, sentence: Sentence, rows: DependentRows) -> str:
    if RECORDS in rows.tables:
        sentence.fail(function.position, "'per' is for several tables; in one table rows are gone through by person.")
    if table not in rows.tables:
        problem = unknown("table", table, rows.tables)
        sentence.fail(function.position, problem[0].lower() + problem[1:])
    return table


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionOfRows:
    """A function of rows, tied to the rows of tables.

    Parameters
    ----------
    source, order
        The column that it is of, for `count` one without a missing cell; and the one that puts rows in order.
    group
        Shape (n,); the row that each row of the function's table is counted with.
    of_home
        Shape (m,); for each row that the rule is judged for, its group, or for `previous` the row itself.
    used, unclear
        Shape (n,); rows that count, and rows of which a condition is not known.
    """

    written: OfRows
    sentence: Sentence
    source: Variable
    order: Variable
    group: Longs
    groups: int
    of_home: Longs
    used: Bools
    unclear: Bools

    @classmethod
    def of(
        cls, written: OfRows, sentence: Sentence, rows: DependentRows, home: str, *, released: bool
    ) -> "FunctionOfRows":
        table, keys = table_of(written, sentence, rows), rows.links.keys
        above = [upper for upper in chain(keys, table) if upper != table]
        shared = [upper for upper in above if upper in chain(keys, home)]
        if not shared or (written.per and written.per not in shared):
            upper = written.per or "another table"
            sentence.fail(written.position, f"the rows of '{table}' do not hang on rows of {upper} in this rule.")
        per = written.per or shared[0]
        used, unclear = _where(written, sentence, rows, table, released=released)
        source = _source(written, rows, table)
        return cls(
            written=written,
            sentence=sentence,
            source=source,
            order=rows.join(table, [written.by])[written.by] if written.by else source,
            group=rows.links.rows_of(per, table),
            groups=rows.links.sizes[per],
            of_home=rows.links.rows_of(table if written.function == "previous" else per, home),
            used=used,
            unclear=unclear,
        )

    def variable(self) -> Variable:
        """The column with the values."""
        function = self.written.function
        if function not in ("count", "repeats"):
            self._check_numbers()
        values = self._previous() if function == "previous" else self._of_groups(function)
        unit = None if function in ("count", "repeats") else self.source.unit
        return Variable(
            name=self.written.text, role="other", level="continuous", values=values[self.of_home], unit=unit
        )

    def _check_numbers(self) -> None:
        if not self.source.continuous:
            self.sentence.fail(
                self.written.position, f"'{self.written.column}' holds no numbers, which {self.written.function} needs."
            )
        if self.written.function == "sum" and self.source.unit in ("date", "datetime"):
            self.sentence.fail(self.written.position, f"'{self.written.column}' holds dates, which are not added up.")

    def _of_groups(self, function: str) -> Floats:
        """Shape (groups,); one value for the rows of each group."""
        group = self.group[self.used]
        lacking = np.zeros(self.groups, dtype=bool)
        lacking[self.group[self.unclear]] = True
        lacking[group[self.source.missing[self.used]]] = True
        if function == "count":
            values = np.bincount(group, minlength=self.groups).astype(np.float64)
        elif function == "repeats":
            kinds = self._kinds()[self.used]
            width = int(kinds.max(initial=0)) + 1
            different = np.unique(group * width + kinds) // width
            counts, kept = (np.bincount(of, minlength=self.groups) for of in (group, different))
            values = (counts - kept).astype(np.float64)
        else:
            values = self._of_numbers(function, group)
        return np.where(lacking, np.nan, values)

    def _of_numbers(self, function: str, group: Longs) -> Floats:
        cells = np.nan_to_num(self.source.values[self.used])
        if function == "sum":
            totals = np.bincount(group, weights=cells, minlength=self.groups)
            places = written_decimals(self.source.values)
            return np.asarray(totals if places is None else np.round(totals, places), dtype=np.float64)
        worst = np.inf if function == "min" else -np.inf
        values = np.full(self.groups, worst)
        (np.minimum if function == "min" else np.maximum).at(values, group, cells)
        return np.where(np.isinf(values), np.nan, values)

    def given_back(self, values: Floats, new: Bools) -> Floats | None:
        """Shape (n,); the cells of the column that follow from values of the function, NaN for all others.

        Of a sum, the only missing cell; of a least or largest value, too, if no other cell has it. None of the other
        functions, or if only some rows count.

        Parameters
        ----------
        values, new
            Shape (m,); the values by row of the rule's table, and those that were deduced.
        """
        function, source = self.written.function, self.source
        if self.written.where or function not in ("sum", "min", "max"):
            return None
        of_group = np.full(self.groups, np.nan)
        of_group[self.of_home[new]] = values[new]
        gaps = np.bincount(self.group[source.missing], minlength=self.groups)
        present = ~source.missing
        others = replace(self, used=present)._of_numbers(function, self.group[present])
        alone = source.missing & (gaps[self.group] == 1)
        if function == "sum":
            return np.where(alone, (of_group - others)[self.group], np.nan)
        return np.where(alone & (of_group != others)[self.group], of_group[self.group], np.nan)

    def _kinds(self) -> Longs:
        return np.unique(self.source.codes(), return_inverse=True)[1].astype(np.int64)

    def before(self) -> Longs:
        """Shape (n,); the row that comes before each row, -1 for none."""
        unclear = np.zeros(self.groups, dtype=bool)
        unclear[self.group[self.unclear | (self.used & self.order.missing)]] = True
        rows = np.flatnonzero(self.used & ~unclear[self.group])
        by = rows[np.lexsort((self.source.values[rows], self.order.values[rows], self.group[rows]))]
        earlier = np.full(len(self.group), -1)
        same = self.group[by[1:]] == self.group[by[:-1]]
        earlier[by[1:][same]] = by[:-1][same]
        return earlier

    def _previous(self) -> Floats:
        earlier = self.before()
        return np.where(earlier < 0, np.nan, self.source.values[earlier])


def _source(written: OfRows, rows: DependentRows, table: str) -> Variable:
    """The column that a function is of; one without any cell counts as numbers."""
    n = rows.links.sizes[table]
    if written.function == "count":
        return Variable(name=written.text, role="other", level="continuous", values=np.zeros(n))
    column = rows.column(written.column)
    if not column.continuous and column.missing.all() and written.function != "repeats":
        return replace(column, level="continuous", values=np.full(n, np.nan), categories=(), hierarchy=None)
    return column


def _where(
    written: OfRows, sentence: Sentence, rows: DependentRows, table: str, *, released: bool
) -> tuple[Bools, Bools]:
    """Shape (n,) twice; rows that meet the conditions of a function, and rows of which that is not known."""
    n = rows.links.sizes[table]
    if not written.where:
        return np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    records = rows.join(table, names_in(written.where))
    conditions = replace(sentence, when=written.where, then=(), of_rows=())
    literals = bind(conditions, sentence.number, records, released=released).conditions
    view = View.of(records, [v.name for v in records.variables])
    met = np.logical_and.reduce([view.holds(literal, 0.0) for literal in literals])
    unclear = view.missing([v.name for v in records.variables])
    return np.asarray(met & ~unclear), unclear
