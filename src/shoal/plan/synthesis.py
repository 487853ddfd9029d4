"""The section `synthesis` of a plan for several linked tables: persons are made up with all their rows.

    synthesis:
      replace: {method: cart, min_leaf: 20}
      order: {stays: admission, labs: taken}
    constraints: [stays.discharge <= patients.died, previous(stays.discharge by stays.admission) <= stays.admission]

It stands for a first step of every table, which draws all its columns anew; whatever steps a table has come after it.
Rules of the plan hold by construction if they say that a cell is at most another one, or that rows do not overlap;
all others, and whatever later steps make of these, are judged as in any plan.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from shoal.constraints.bounds import Bound, Succession, bounds
from shoal.mask.shift_dates import ShiftDates
from shoal.plan.model import Plan
from shoal.privacy.gate import Gate
from shoal.replace._trees.synthesiser import DONORS, TreeSynthesiser
from shoal.replace.persons import Method
from shoal.replace.sequential_regression import SequentialRegression
from shoal.table.links import Keys, chain
from shoal.table.order_rules import OrderRule, OrderRules, TableColumn
from shoal.table.schema import ALL_OTHERS, UNITS
from shoal.vocabulary.errors import InputError, Mistake, quoted, unknown
from shoal.vocabulary.registry import Spec, build, spec_of

KEYS = ("replace", "order")

NOT_MADE = ("identifier", *UNITS)
"""Roles of columns that are not made up, and not released."""

PER_TABLE = ("given", "order", "numbers", "groups", "small", "no_exact_matches", "candidates", "by")
"""Parameters of methods that are about the columns, or groups, of one table."""

NO_CLASSES = (
    "{} counts persons or records that are alike, and where all are made up nobody hides among them. Require "
    "unique-exact-matches or replicated-uniques instead, as in {{risk: unique-exact-matches, at most: 0.05}}."
)


@dataclass(frozen=True, kw_only=True)
class Synthesis:
    """How persons are made up with their rows.

    Parameters
    ----------
    method
        Trees that columns are drawn from, whose leaves hold records of `min_leaf` different persons; or regressions.
    order
        By table, the column by which rows that hang on the same row are in order.
    """

    method: Method
    order: Mapping[str, str]

    def order_rules(self, keys: Keys, rules: Sequence[str]) -> OrderRules:
        """What is kept in order in tables with these keys, by those rules of the plan that say so of every row."""
        order: dict[str, tuple[str, ...]] = {name: (column,) for name, column in self.order.items()}
        given: list[OrderRule] = []
        for each in bounds(rules):
            lowest = max((_cell(name).table for name in each.of), key=lambda table: len(list(chain(keys, table))))
            if isinstance(each, Bound):
                rule = OrderRule(low=_cell(each.low), high=_cell(each.high))
                given += [rule] if lowest in (rule.low.table, rule.high.table) else []
            elif lowest == _in_succession(each, keys):
                start, end = _cell(each.start).column, _cell(each.end).column
                if order.get(lowest, (start,)) == (start,):
                    order[lowest] = (start, end)
        return OrderRules(keys=keys, order=order, given=tuple(dict.fromkeys(given)))

    def as_mapping(self) -> Spec:
        return {"replace": _spec(self.method), **({"order": dict(self.order)} if self.order else {})}


def _cell(name: str) -> TableColumn:
    table, _, column = name.partition(".")
    return TableColumn(table, column)


def _in_succession(each: Succession, keys: Keys) -> str | None:
    """The table whose rows follow one another below the row above; None if they do so elsewhere."""
    name = _cell(each.start).table
    return name if name == _cell(each.end).table and each.per in ("", keys[name].parent) else None


def read_synthesis(section: Any, mistakes: list[Mistake]) -> Synthesis | None:
    """The section of a plan; None if there is none. Mistakes are added to those that there are."""
    if section is None:
        return None
    if not isinstance(section, Mapping):
        mistakes.append((("synthesis",), "synthesis must be a mapping, as in {replace: cart}."))
        return None
    wrong: list[Mistake] = [
        (("synthesis", str(k)), f"synthesis: {unknown('key', str(k), KEYS)}") for k in section if k not in KEYS
    ]
    order = section.get("order") or {}
    wrong += _of_order(order)
    method = _method(section.get("replace"), wrong)
    mistakes += wrong
    if wrong or method is None:
        return None
    return Synthesis(method=method, order={str(name): column for name, column in order.items()})


def _of_order(order: Any) -> Iterator[Mistake]:
    shape = "a mapping of tables to a column, as in {stays: admission}"
    if not isinstance(order, Mapping):
        yield ("synthesis", "order"), f"synthesis: order must be {shape}."
        return
    for name, column in order.items():
        if not isinstance(column, str):
            yield ("synthesis", "order", str(name)), f"synthesis: order must be {shape}."


def _method(spec: Any, mistakes: list[Mistake]) -> Method | None:
    place = ("synthesis", "replace")
    if spec is None:
        mistakes.append((place, "synthesis: replace must name the method that draws, as in replace: cart."))
        return None
    try:
        method: Any = build("replace", spec)
    except InputError as error:
        mistakes.append((place, f"synthesis: {error}"))
        return None
    if not isinstance(method, (TreeSynthesiser, SequentialRegression)):
        sentence = (
            f"{method.method_name} draws the records of one table. Persons with their rows are drawn by cart, forest "
            f"or sequential-regression."
        )
        mistakes.append((place, f"synthesis: {sentence}"))
        return None
    usual = type(method)()
    if own := [name for name in PER_TABLE if getattr(method, name, None) != getattr(usual, name, None)]:
        mistakes.append((place, f"synthesis: leave out {quoted(own)}, which is for one table."))
    if isinstance(method, TreeSynthesiser) and method.growing.min_leaf < DONORS:
        sentence = f"min_leaf must be at least {DONORS} persons, or what is drawn is too near to somebody's rows."
        mistakes.append((place, f"synthesis: {sentence}"))
    return cast(Method, method)


def with_synthesis(tables: Mapping[str, Plan], synthesis: Synthesis) -> Iterator[tuple[str, Spec]]:
    """The first step of every table, which stands for the section: it draws all columns anew."""
    for name, plan in tables.items():
        columns = list(made_columns(plan))
        yield name, {"partition": "whole", "replace": _spec(synthesis.method), "columns": columns}


def _spec(method: Method) -> Spec:
    return {key: value for key, value in spec_of(method).items() if key not in PER_TABLE}


def made_columns(plan: Plan) -> tuple[str, ...]:
    """The columns of a table that are made up."""
    return tuple(name for name, column in plan.schema.columns.items() if column.role not in NOT_MADE)


def faults(tables: Mapping[str, Plan], synthesis: Synthesis, keys: Keys, rules: Sequence[str]) -> Iterator[Mistake]:
    """Mistakes of tables, as plans of their own, whose persons are to be made up, and of the rules that these keep."""
    for name, plan in tables.items():
        yield from ((("tables", name, *place), f"table '{name}': {why}") for place, why in _of_table(plan))
    order = synthesis.order_rules(keys, rules)
    for sentence in order.faults({name: made_columns(plan) for name, plan in tables.items()}):
        yield ("synthesis",), f"synthesis: {sentence}"


def _of_table(plan: Plan) -> Iterator[Mistake]:
    if plan.schema.all_others is not None:
        yield ("columns", ALL_OTHERS), "synthesis needs every column by its name. Name those for which '*' stands."
    if grouped := plan.schema.names("stratum", "household"):
        yield (
            ("columns",),
            f"{quoted(grouped)} keeps records together or apart, which made-up persons do not. Give "
            f"{'it' if len(grouped) == 1 else 'them'} another role: identifier leaves a column out.",
        )
    if not made_columns(plan):
        yield ("columns",), "no column is left that could be made up. Leave the table out of the plan."
    for number, step in enumerate(plan.steps):
        if isinstance(step.method, ShiftDates) or "identifier" in step.default_roles:
            yield ("steps", number), f"steps {number + 1}: {step.name} hides what is made up anyway. Leave it out."
    for number, model in enumerate(plan.requirements):
        if not isinstance(model, Gate):
            yield ("requirements", number), f"requirements {number + 1}: {NO_CLASSES.format(model.method_name)}"
