"""A plan as the public may see it: what was done, but nothing that only the original tells.

A plan can name what it hides: a category in an order, in a hierarchy or in groups of a recoding may be the only
trace of a person whom the release no longer shows. What stands in the plan and is a cell of the original, but of
no released column, is withheld, from rules and what was proved of them too; so is what a method calls secret, such as
a key. Of files only the names are told, not where they lie.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PureWindowsPath
from typing import Any

import numpy as np

from shoal.data.records import Records
from shoal.judges.evidence import Verdict
from shoal.parameters import Secret, holds
from shoal.plan.lines import dump_yaml, plain
from shoal.plan.model import Plan

WITHHELD = "withheld"

CELLS = ("order", "hierarchy", "groups", "other", "label", "value", "cuts", "bounds")
"""What in the description of a column or a step can hold cells."""

FILES = ("holdout", "others", "key_file")
"""Parameters that can hold paths."""


LITERAL = re.compile(
    r"""`[^`]+`|'(?P<single>[^']*)'|"(?P<double>[^"]*)"
                     |(?<![\w.])(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)""",
    re.VERBOSE,
)
"""A number or a text in a rule; or a column's name, which may hold either."""


def public_yaml(plan: Plan, hidden: set[str]) -> str:
    """The plan as a file without what only the original tells (`hidden_cells`)."""
    sections = plain(plan.as_mapping())
    for step, spec in zip(plan.steps, sections["steps"]):
        for name, held in holds(type(step.method)).items():
            if isinstance(held, Secret) and spec.get(name) is not None:
                spec[name] = WITHHELD
    for place in _places(sections):
        for key in place.keys() & {*CELLS, *FILES}:
            if key in FILES or (key == "hierarchy" and isinstance(place[key], str)):
                place[key] = _without_folders(place[key])
            elif key != "label" or "role" not in place:  # the label of a column describes it
                place[key] = _without(place[key], hidden)
    if rules := sections.get("constraints"):
        rules["rules"] = [public_rule(rule, hidden) for rule in rules["rules"]]
    return dump_yaml(sections)


def public_verdict(verdict: Verdict, hidden: set[str]) -> Verdict:
    """What was proved of a rule, without the numbers and texts in it that only the original tells."""
    rule = public_rule(verdict.requirement, hidden)
    return replace(verdict, requirement=rule, sentence=verdict.sentence.replace(repr(verdict.requirement), repr(rule)))


def public_rule(rule: str, hidden: set[str]) -> str:
    """A rule without the numbers and texts that only the original tells."""
    return LITERAL.sub(lambda found: WITHHELD if _literal(found) in hidden else found[0], rule)


def _literal(found: re.Match[str]) -> str | None:
    """The number or text that stands in a rule, None for a column's name."""
    if found.lastgroup is None:
        return None
    return _text(float(found["number"])) if found.lastgroup == "number" else found[found.lastgroup]


def _places(sections: Any) -> Iterator[dict[str, Any]]:
    yield from sections["columns"].values()
    for name in ("steps", "measures"):
        yield from sections.get(name, ())


def hidden_cells(plan: Plan, original: Records, released: Records) -> set[str]:
    """Cells in the plan that no released column has: categories, and the extremes of columns of numbers."""
    sections = plain(plan.as_mapping())
    texts = {text for place in _places(sections) for key in CELLS if key in place for text in _scalars(place[key])}
    texts |= {text for rule in plan.constraints for found in LITERAL.finditer(rule) if (text := _literal(found))}
    cells: set[str] = set()
    for variable in original.variables:
        if not variable.continuous:
            cells |= texts & {str(category) for category in variable.categories}
        elif not variable.missing.all():
            cells |= texts & {_text(float(end)) for end in (np.nanmin(variable.values), np.nanmax(variable.values))}
    shown: set[str] = set()
    for variable in released.variables if cells else ():
        present = np.unique(variable.values[~variable.missing]).tolist()
        shown |= {_text(value) if variable.continuous else str(variable.categories[value]) for value in present} & cells
    return cells - shown - set(sections["columns"])


def _text(value: Any) -> str:
    """Equal texts for equal numbers, whether whole or not."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _scalars(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield _text(key)
            yield from _scalars(below)
    elif isinstance(value, list):
        for below in value:
            yield from _scalars(below)
    else:
        yield _text(value)


def _without(value: Any, hidden: set[str]) -> Any:
    """The same with one word for any number of hidden things, which does not tell how many they are."""
    if isinstance(value, Mapping):
        return {_without(key, hidden): _without(below, hidden) for key, below in value.items()}
    if isinstance(value, list):
        kept = [_without(below, hidden) for below in value]
        return [below for below in kept if below != WITHHELD] + [WITHHELD] * (WITHHELD in kept)
    return WITHHELD if _text(value) in hidden else value


def _without_folders(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_folders(below) for key, below in value.items()}
    if isinstance(value, list):
        return [_without_folders(below) for below in value]
    return PureWindowsPath(value).name if isinstance(value, str) else value  # either kind of slash
