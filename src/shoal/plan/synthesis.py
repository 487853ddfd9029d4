"""The section `synthesis` of a plan for several linked tables: persons are made up with all their rows.

    synthesis:
      replace: {method: cart, min_leaf: 20}
      order: {stays: [admission, discharge], labs: taken}
      rules: [stays.discharge <= patients.died]

It stands for a first step of every table, which draws all its columns anew; whatever steps a table has come after it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from shoal.mask.shift_dates import ShiftDates
from shoal.plan.model import Plan
from shoal.privacy.gate import Gate
from shoal.replace._trees.synthesiser import DONORS, TreeSynthesiser
from shoal.replace.persons import Method
from shoal.replace.sequential_regression import SequentialRegression
from shoal.table.links import Keys
from shoal.table.order_rules import OrderRules, Rule, rule
from shoal.table.schema import ALL_OTHERS, UNITS
from shoal.vocabulary.errors import InputError, Mistake, quoted, unknown
from shoal.vocabulary.registry import Spec, build, spec_of

KEYS = ("replace", "order", "rules")

NOT_MADE = ("identifier", *UNITS)
"""Roles of columns that are not made up, and not released."""

PER_TABLE = ("given", "order", "numbers", "groups", "small")
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
        By table, the column by which rows that hang on the same row are in order; or two, where a row begins and ends,
        so that none begins before the one before it has ended.
    rules
        Cells that are at most other cells, of the same row, a row above it or a row below it.
    """

    method: Method
    order: Mapping[str, tuple[str, ...]]
    rules: tuple[Rule, ...]

    def order_rules(self, keys: Keys) -> OrderRules:
        """The rules on the order of cells, in tables with these keys."""
        return OrderRules(keys=keys, order=self.order, given=self.rules)

    def as_mapping(self) -> Spec:
        order = {name: columns[0] if len(columns) == 1 else list(columns) for name, columns in self.order.items()}
        rules = [str(each) for each in self.rules]
        more = {key: content for key, content in (("order", order), ("rules", rules)) if content}
        return {"replace": _spec(self.method), **more}


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
    order, rules = section.get("order") or {}, section.get("rules") or []
    wrong += _of_order(order)
    if not isinstance(rules, (list, tuple)):
        wrong.append(
            (("synthesis", "rules"), "synthesis: rules must be a list, as in [stays.admission <= labs.taken].")
        )
        rules = []
    wrong += [
        (
            ("synthesis", "rules", number),
            f"synthesis: rules {number + 1} must say that a cell is at most another one, as in "
            f"'stays.discharge <= patients.died'.",
        )
        for number, text in enumerate(rules)
        if rule(text) is None
    ]
    method = _method(section.get("replace"), wrong)
    mistakes += wrong
    if wrong or method is None:
        return None
    return Synthesis(
        method=method,
        order={str(name): (c,) if isinstance(c, str) else tuple(c) for name, c in order.items()},
        rules=tuple(each for each in map(rule, rules) if each is not None),
    )


def _of_order(order: Any) -> Iterator[Mistake]:
    shape = "a mapping of tables to a column, or to two, where a row begins and ends, as in {stays: admission}"
    if not isinstance(order, Mapping):
        yield ("synthesis", "order"), f"synthesis: order must be {shape}."
        return
    for name, columns in order.items():
        named = [columns] if isinstance(columns, str) else columns
        fits = isinstance(named, (list, tuple)) and 1 <= len(named) <= 2 and len({*map(str, named)}) == len(named)
        if not fits or not all(isinstance(column, str) for column in named):
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


def faults(tables: Mapping[str, Plan], synthesis: Synthesis, keys: Keys) -> Iterator[Mistake]:
    """Mistakes of tables, as plans of their own, whose persons are to be made up."""
    order = synthesis.order_rules(keys)
    for name, plan in tables.items():
        yield from ((("tables", name, *place), f"table '{name}': {why}") for place, why in _of_table(name, plan, order))
    for sentence in order.faults({name: made_columns(plan) for name, plan in tables.items()}):
        yield ("synthesis",), f"synthesis: {sentence}"


def _of_table(name: str, plan: Plan, order: OrderRules) -> Iterator[Mistake]:
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
    kept = {cell.column for each in order.rules for cell in each if cell.table == name} | {*order.order.get(name, ())}
    for number, step in enumerate(plan.steps):
        if isinstance(step.method, ShiftDates) or "identifier" in step.default_roles:
            yield ("steps", number), f"steps {number + 1}: {step.name} hides what is made up anyway. Leave it out."
        elif changed := sorted(kept & set(step.changes(plan.schema))):
            yield (
                ("steps", number),
                f"steps {number + 1}: {step.name} changes {quoted(changed)}, which synthesis keeps in order. Leave it "
                f"out, or the rule.",
            )
    for number, model in enumerate(plan.requirements):
        if not isinstance(model, Gate):
            yield ("requirements", number), f"requirements {number + 1}: {NO_CLASSES.format(model.method_name)}"
