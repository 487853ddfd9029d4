"""Rules over several rows: of linked tables, or of the records of a person.

A rule is judged for each row of one table, its home (`shoal.constraints.of_rows`). The columns of the tables above it
and its functions of rows are columns beside those of the home; then it is a rule of single rows, bound, judged and
deduced from as any other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shoal.constraints.blank_columns import with_blank_numbers
from shoal.constraints.constraints import Constraints
from shoal.constraints.deduction import deduced
from shoal.constraints.grammar import Sentence, parse
from shoal.constraints.of_rows import DependentRows, FunctionOfRows, home_of, names_of, plain_names
from shoal.constraints.rules import bind
from shoal.constraints.system import refuse_clashes
from shoal.constraints.verdicts import broken_input, of_persons, reason_lost, unjudged
from shoal.judges.evidence import Verdict
from shoal.kernels.arrays import Bools
from shoal.table.links import root_of
from shoal.table.records import Records
from shoal.table.schema import Policy
from shoal.table.variable import Variable
from shoal.vocabulary.errors import DataError, Refused
from shoal.vocabulary.facts import Count, Facts, OfOriginal, OfPlan

ROUNDS = 3
"""Times that the tables are gone through to repair them: a cell that moves may break a rule of another table."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RulesOverRows:
    """Rules over several rows, as texts.

    Parameters
    ----------
    rules
        The rules, in the order of the plan.
    numbers
        For each column that held numbers (true) or categories (false) in the original, by its name in rules; empty
        where the original is not at hand.
    """

    rules: tuple[str, ...]
    numbers: Mapping[str, bool]

    @classmethod
    def parse(cls, rules: Sequence[str], original: DependentRows) -> "RulesOverRows":
        """Read rules and tie them to the original.

        Raises
        ------
        ConstraintError
            If a rule cannot be read, names an unknown column or level, or clashes with others.
        """
        tied = cls(rules=tuple(rules), numbers={name: original.column(name).continuous for name in original.names})
        for home in tied.homes(original, released=False):
            refuse_clashes(home.constraints.rules, home.constraints.domain)
        return tied

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        return tuple(parse(text, number) for number, text in enumerate(self.rules, 1))

    def homes(self, rows: DependentRows, *, released: bool) -> "Iterator[_Home]":
        """The rules by the table that they are judged for; without those that the tables no longer let one judge."""
        judged: dict[str, list[Sentence]] = {}
        for sentence in self.sentences:
            if not (released and self._lost(sentence, rows)):
                judged.setdefault(home_of(sentence, rows), []).append(sentence)
        for home, sentences in judged.items():
            yield _Home.of(home, sentences, rows, released=released)

    def _lost(self, sentence: Sentence, rows: DependentRows) -> str:
        """The reason why a rule cannot be judged on a release; empty if it can."""
        for name in names_of(sentence):
            numbers = self.numbers.get(name)
            if numbers is None:
                continue  # an unknown column, which the rule is refused for, or the original is not at hand
            if rows.place(name) is None or (rows.column(name).continuous != numbers and not _blank(rows.column(name))):
                return reason_lost(sentence.text, name, numbers=numbers)
        return ""

    def check(self, rows: DependentRows) -> list[Verdict]:
        """One verdict for each rule, as for rules of single rows; of a table's home, records are its rows."""
        verdicts, persons = {}, root_of(rows.links.keys)
        for home in self.homes(rows, released=True):
            for verdict in home.constraints.as_written().check(home.records):
                verdicts[verdict.requirement] = of_persons(verdict) if home.name == persons else verdict
        for sentence in self.sentences:
            if reason := self._lost(sentence, rows):
                verdicts[sentence.text] = unjudged(sentence.text, reason)
        return [replace(verdicts[text], failing=None) for text in dict.fromkeys(self.rules)]

    def admit(self, rows: DependentRows, policy: Policy) -> Facts:
        """What the input breaks. Raises DataError if it breaks a rule and the policy is to refuse it."""
        broken = [verdict for verdict in self.check(rows) if not verdict.holds]
        if broken and policy == "refuse":
            raise DataError(broken_input(" ".join(verdict.sentence for verdict in broken), "report"))
        counts = {verdict.requirement: int(verdict.achieved or 0) for verdict in broken}
        return {"policy": OfPlan(policy), "broken": OfOriginal(counts)}

    def deduced(self, rows: DependentRows) -> DependentRows:
        """The tables with every missing cell filled in that the rules determine; the same object if there is none."""
        while True:
            after = rows
            for home in self.homes(rows, released=True):
                after = _written_back(home, deduced(home.records, home.constraints.rules), after)
            if after is rows:
                return rows
            rows = after

    def repaired(self, rows: DependentRows) -> tuple[DependentRows, dict[str, Facts]]:
        """The tables with rows moved to the nearest that obey the rules, where the columns of their own table allow it.

        What stands in tables above, and functions of rows, stay as they are; quasi-identifiers as well wherever the
        other columns can take the change. Rows that no such move makes obey are left for the verdict.

        Returns
        -------
        The tables, and for each table with columns that a rule may move what was done.
        """
        before = rows
        movable: dict[str, list[str]] = {}
        for _ in range(ROUNDS):
            start = rows
            for home in self.homes(rows, released=True):
                movable.setdefault(home.name, []).extend(home.own)
                rows = home.repaired(rows)
            if rows is start:
                break
        return rows, {name: _moved(name, before, rows) for name, columns in movable.items() if columns}

    def columns_moved(self, rows: DependentRows) -> dict[str, tuple[str, ...]]:
        """For each table, the columns that a repair may move."""
        homes = {home.name: home.own for home in self.homes(rows, released=True)}
        return {name: tuple((rows.place(n) or ("", ""))[1] for n in own) for name, own in homes.items() if own}


@dataclass(frozen=True, kw_only=True, eq=False)
class _Home:
    """A table with the rules that are judged for its rows, and with what they are judged on.

    Parameters
    ----------
    own
        Columns of the table itself that a rule names outside functions of rows.
    """

    name: str
    functions: tuple[FunctionOfRows, ...]
    records: Records
    constraints: Constraints
    own: tuple[str, ...]

    @classmethod
    def of(cls, home: str, sentences: Sequence[Sentence], rows: DependentRows, *, released: bool) -> "_Home":
        functions = tuple(
            FunctionOfRows.of(written, sentence, rows, home, released=released)
            for sentence in sentences
            for written in sentence.of_rows
        )
        plain = [rows.join(home, plain_names(sentence)) for sentence in sentences]
        variables = {v.name: v for records in plain for v in records.variables}
        variables |= {function.written.text: function.variable() for function in functions}
        records = Records(variables=tuple(variables.values()), rows=np.arange(rows.links.sizes[home]))
        if released:
            records = with_blank_numbers(records, [sentence.text for sentence in sentences])
        rules = tuple(bind(sentence, sentence.number, records, released=released) for sentence in sentences)
        own = tuple(name for name in variables if (rows.place(name) or ("", ""))[0] == home and rows.place(name))
        return cls(
            name=home,
            functions=functions,
            records=records,
            constraints=Constraints(rules=rules, original=records),
            own=own,
        )

    def repaired(self, rows: DependentRows) -> DependentRows:
        """The tables, with own columns of this one moved; the same object if nothing can be."""
        rules = tuple(rule for rule in self.constraints.rules if set(rule.columns) & set(self.own))
        constraints = replace(self.constraints, rules=rules)
        if not rules or not any(broken.any() for broken in constraints.violations(self.records).values()):
            return rows
        fixed = tuple(v.name for v in self.records.variables if v.name not in self.own)
        keys = tuple(name for name in self.own if rows.column(name).role == "quasi-identifier")
        for kept in ((*fixed, *keys), fixed) if keys else (fixed,):
            if (after := _moving(constraints, self.records, kept)) is not None:
                return _with_cells(rows, self.name, self.own, after)
        return rows


def _moving(constraints: Constraints, records: Records, kept: tuple[str, ...]) -> Records | None:
    """Records repaired without a change of some columns; None if that is impossible."""
    if any(set(rule.columns) <= set(kept) for rule in constraints.rules):
        return None
    try:
        after = constraints.repair(records, keep=kept).records
    except Refused:
        return None
    if any((after[name].identity() != records[name].identity()).any() for name in kept):
        return None
    decimals = constraints.decimals_of(records).values()
    places = [number for number in decimals if number is not None]
    if len(places) == len(decimals):  # a sum has no more decimals than its terms
        free = [v for v in records.variables if v.name not in kept]
        after = after.with_variables(*(_rounded(after[v.name], v, max(places, default=0)) for v in free))
    return None if any(broken.any() for broken in constraints.violations(after).values()) else after


def _rounded(after: Variable, before: Variable, places: int) -> Variable:
    """A column whose moved numbers have no more decimals than the rules' columns had."""
    if not after.continuous:
        return after
    moved = after.identity() != before.identity()
    return after.with_values(np.where(moved, np.round(after.values, places), after.values))


def _with_cells(rows: DependentRows, table: str, names: Sequence[str], after: Records) -> DependentRows:
    """The tables, with columns of one of them as they became."""
    columns = [replace(after[name], name=(rows.place(name) or ("", ""))[1]) for name in names]
    return replace(rows, tables={**rows.tables, table: rows.tables[table].with_variables(*columns)})


def _moved(table: str, before: DependentRows, after: DependentRows) -> Facts:
    """What repair did to a table."""
    columns = [(v, after.tables[table][v.name]) for v in before.tables[table].variables]
    changed = [new.identity() != old.identity() for old, new in columns if new is not old]
    moved = np.logical_or.reduce([np.zeros(len(before.tables[table]), dtype=bool), *changed])
    return {"records repaired": Count(n=int(moved.sum()))}


def _written_back(home: _Home, after: Records, rows: DependentRows) -> DependentRows:
    """The tables, with the cells that were deduced for the rows of one of them."""
    if after is home.records:
        return rows
    filled = [v for v in after.variables if not home.records[v.name].complete]
    for variable in filled:
        new = home.records[variable.name].missing & ~variable.missing
        if new.any() and rows.place(variable.name) is not None:
            rows = _filled(rows, variable, home.name, new)
    for function in home.functions:
        name = function.written.text
        new = home.records[name].missing & ~after[name].missing
        if new.any():
            rows = _of_function(rows, function, after[name], new)
    return rows


def _filled(rows: DependentRows, variable: Variable, home: str, new: Bools) -> DependentRows:
    """The tables, with missing cells of one column as they were deduced for rows of a table below it."""
    table, name = rows.place(variable.name) or ("", "")
    column = rows.tables[table][name]
    upper = rows.links.rows_of(table, home)[new]
    blank = variable.continuous and not column.continuous
    values = np.full(len(column), np.nan) if blank else column.values.copy()
    gaps = column.missing[upper]
    if not gaps.any():
        return rows
    values[upper[gaps]] = variable.values[new][gaps]
    same = replace(column, level=variable.level, categories=variable.categories)
    return _put(rows, table, same.filled_in(values, upper[gaps]))


def _put(rows: DependentRows, table: str, column: Variable) -> DependentRows:
    return replace(rows, tables={**rows.tables, table: rows.tables[table].with_variables(column)})


def _of_function(rows: DependentRows, function: FunctionOfRows, value: Variable, new: Bools) -> DependentRows:
    """The tables, with the cells that must be missing in a sum, or be the least or largest, for its value to be so."""
    cells = function.given_back(value.values, new)
    table, name = rows.place(function.written.column) or ("", "")
    if cells is None or np.isnan(cells).all():
        return rows
    column = rows.tables[table][name]
    numbers = column.values if column.continuous else np.full(len(column), np.nan)
    filled = replace(column, level="continuous", categories=(), hierarchy=None)
    gaps = np.flatnonzero(~np.isnan(cells))
    return _put(rows, table, filled.filled_in(np.where(np.isnan(cells), numbers, cells), gaps))


def _blank(column: Variable) -> bool:
    return bool(column.missing.all())
