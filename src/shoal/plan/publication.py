"""The public form of a plan: everything that was done, and nothing that only the original tells.

A plan can name what it hides: a category in an order, in a hierarchy or in groups of a recoding may be the only
trace of a person whom the release no longer shows. The annotation of a parameter declares what it holds
(`shoal.vocabulary.parameters`), and that alone decides what of it is public. Where cells may stand, a number or a text
is shown only if the release shows it, as a cell or inside a label such as "[18, 65)"; the original plays no part, for
that would tell. 0 and 1 are always shown: every other rule has them. A secret is always withheld; of a file only the
name is told, not its folder. A parameter without a declaration is treated as if it held cells and named files. Words
for readers, such as a column's label, are shown except for cells that only the original has.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePath, PureWindowsPath
from typing import Any

import numpy as np

from shoal.plan.lines import plain
from shoal.plan.model import Plan
from shoal.plan.sections import About, EditRules, LedgerRules, SearchSpace
from shoal.privacy.gate import Gate
from shoal.table.records import Records
from shoal.table.schema import Column, Schema
from shoal.table.variable import Variable
from shoal.vocabulary.parameters import ForReaders, Holds, HoldsCells, KeyFile, Secret, Setting, TablePath, holds
from shoal.vocabulary.registry import Spec, entry, registered

WITHHELD = "withheld"

NOT_RECORDED = "withheld: secret"
"""Stands for a secret in the record; a later run of the plan must supply it."""

A_TABLE = "a table"
"""Stands in the record for a table that was not given as a file."""

LITERAL = re.compile(
    r"""`[^`]+`|'(?P<single>[^']*)'|"(?P<double>[^"]*)"
                     |(?<![\w.])(?P<moment>\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?)(?!\w)
                     |(?<![\w.])(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)""",
    re.VERBOSE,
)
"""A number, a moment or a text in a rule; or a column's name, which may contain either."""

ALWAYS = {"0", "1"}
"""Numbers that reveal nothing about anyone."""

PlanValue = tuple[Spec, str, Holds | None]
"""Part of a plan, the key of a value in it, and what that value may hold."""


def public_sections(plan: Plan, hidden: set[str]) -> Spec:
    """The sections of the plan without what only the original tells (`hidden_cells`)."""
    sections: Spec = plain(plan.as_mapping())
    for spec, key, marker in _places(plan, sections):
        spec[key] = _public(spec[key], marker, hidden)
    return sections


def recorded(plan: Plan) -> Spec:
    """The plan's sections for the private record, without secrets."""
    sections: Spec = plain(plan.as_mapping())
    for spec, key, marker in _places(plan, sections):
        if isinstance(marker, Secret):
            spec[key] = NOT_RECORDED
        elif isinstance(marker, TablePath):
            spec[key] = _named(spec[key])
    return sections


def moved(plan: Plan, folder: Path) -> Spec:
    """The plan's sections for a file in another folder, from which its files are found again."""
    sections: Spec = plain(plan.as_mapping())
    for spec, key, marker in _places(plan, sections):
        if isinstance(marker, (TablePath, KeyFile)):
            spec[key] = _from(spec[key], plan.folder, folder)
    return sections


def _from(value: Any, before: Path, after: Path) -> Any:
    if isinstance(value, list):
        return [_from(item, before, after) for item in value]
    if isinstance(value, Mapping):  # a hierarchy that stands in the plan itself, or says which file it is in
        return {key: _from(below, before, after) if key == "file" else below for key, below in value.items()}
    return os.path.relpath(before / value, after) if isinstance(value, (str, Path)) else value


def _named(value: Any) -> Any:
    """Files by their paths; a table that was itself given is only mentioned."""
    if isinstance(value, (list, tuple)):
        return [_named(item) for item in value]
    return value if value is None or isinstance(value, (str, PurePath, Mapping)) else A_TABLE


def public_rule(rule: str, hidden: set[str]) -> str:
    """A rule, or a label, without the numbers and texts in it that only the original tells."""
    return LITERAL.sub(lambda match: WITHHELD if _literal(match) in hidden else match[0], rule)


def public_about(plan: Plan, hidden: set[str]) -> dict[str, str]:
    """The description of the release, as its report shows it; the contact stays as it is written."""
    may_be = holds(About)
    return {
        key: public_rule(text, hidden) if isinstance(may_be[key], HoldsCells) else text
        for key, text in plan.about.as_mapping().items()
    }


def public_schema(schema: Schema, hidden: set[str]) -> Schema:
    """The columns as the codebook describes them, without what only the original tells in their labels."""
    return Schema(
        {
            name: column.model_copy(update={"label": column.label and public_rule(column.label, hidden)})
            for name, column in schema.columns.items()
        }
    )


def hidden_cells(plan: Plan, original: Records | None, released: Records) -> set[str]:
    """Texts and numbers of the plan that may be cells and that the release does not show.

    Only words for readers are compared with the original: a cell of it in them is hidden if no released column has it.

    Parameters
    ----------
    original
        None where nothing may depend on it: words for readers are then treated like the rest of the plan.
    """
    return hidden_in_parts(plan, None if original is None else lambda: (original,), lambda: (released,))


ReadParts = Callable[[], Iterable[Records]]
"""Reads the parts of a table when they are needed."""


def hidden_in_parts(plan: Plan, original: ReadParts | None, released: ReadParts) -> set[str]:
    """`hidden_cells` of tables in parts, which are read only if the plan holds anything that could be a cell."""
    sections = plain(plan.as_mapping())
    texts: set[str] = set()
    words: set[str] = set()
    for spec, key, marker in _places(plan, sections):
        if isinstance(marker, ForReaders):
            words |= set(_texts(spec[key]))
        elif marker is None or isinstance(marker, (HoldsCells, TablePath)):
            texts |= set(_texts(spec[key]))
    public = _shown(texts | words, released) | ALWAYS
    of_words = words if original is None else _shown(words, original)
    return ((texts - words) | of_words) - public - set(sections["columns"])


def _shown(texts: set[str], parts: ReadParts) -> set[str]:
    """The texts that are cells or stand in a label, with either sign, since a rule's numbers carry none."""
    forms = {form for text in texts for form in (text, f"-{text}")}
    among = set().union(*(_among(forms, records) for records in parts())) if texts - ALWAYS else set()
    return {text for text in texts if {text, f"-{text}"} & among}


def _places(plan: Plan, sections: Spec) -> Iterator[PlanValue]:
    """Every place of a plan that a user fills in, with what it may hold."""
    for name in plan.schema.columns:
        yield from _keys(Column, sections["columns"][name])
    for step, spec in zip(plan.steps, sections["steps"]):
        yield from _parameters(step.method, spec)
        for key, method in step.further_methods.items():
            yield from _parameters(method, spec[key])
    for methods, section in ((plan.requirements, "requirements"), (plan.measures, "measures")):
        for method, spec in zip(methods, sections.get(section, ())):
            yield from _parameters(method, spec)
    yield from _keys(About, sections.get("release", {}))
    yield from _keys(EditRules, sections.get("constraints", {}))
    yield from _keys(LedgerRules, sections.get("ledger", {}))
    yield from _explored(sections.get("explore", {}))


def _keys(cls: type[Any], spec: Spec) -> Iterator[PlanValue]:
    yield from ((spec, key, marker) for key, marker in holds(cls).items() if key in spec)


def _parameters(method: Any, spec: Spec) -> Iterator[PlanValue]:
    """Parameters of a method, including those of methods nested inside it; for a bound on a measure, the measure's."""
    if isinstance(method, Gate):
        method = method.measure
    for name, marker in holds(type(method)).items():
        value = getattr(method, name)
        if hasattr(value, "method_kind"):
            yield from _parameters(value, spec[name])
        elif isinstance(value, tuple) and any(hasattr(item, "method_kind") for item in value):
            for item, inner in zip(value, spec[name]):
                yield from _parameters(item, inner)
        elif value is not None:
            yield spec, name, marker


def _explored(spec: Spec) -> Iterator[PlanValue]:
    """Places of an exploration: ranges hold what the parameters of their names hold, and so do candidates' steps."""
    for key in spec.keys() - SearchSpace.model_fields:
        markers = [holds(e.cls)[key] for e in registered() if key in e.parameters]
        yield spec, key, next((marker for marker in markers if not isinstance(marker, Setting)), Setting())
    for axis in ("risk", "utility"):
        if isinstance(measure := spec.get(axis), dict):
            markers_of = holds(entry(axis, measure["method"]).cls)
            yield from ((measure, key, markers_of.get(key)) for key in measure.keys() - {"method"})
    candidates = spec.get("method", ())
    for step in (step for steps in candidates.values() for step in steps) if isinstance(candidates, dict) else ():
        kind = next(kind for kind in ("partition", "mask") if kind in step)
        markers_of = holds(entry(kind, step[kind]).cls)
        for key in step.keys() - {kind, "columns", "by", "small_strata", "unit"}:
            yield step, key, markers_of.get(key)


def _public(value: Any, marker: Holds | None, hidden: set[str]) -> Any:
    match marker:
        case Setting():
            return value
        case Secret():
            return WITHHELD
        case KeyFile():
            return _file_name(value)
        case TablePath():
            return _table(value, hidden)
        case HoldsCells():
            return _without(value, hidden)
        case None:
            return _file_name(_without(value, hidden))
        case _:  # names of columns
            return value


def _table(value: Any, hidden: set[str]) -> Any:
    """A table or a hierarchy: the name of its file, or its content where it stands in the plan itself."""
    if isinstance(value, Mapping):
        return {key: _file_name(below) if key == "file" else _without(below, hidden) for key, below in value.items()}
    if isinstance(value, list):
        return [_table(below, hidden) for below in value]
    return _file_name(value) if isinstance(value, str) else type(value).__name__


def _among(texts: set[str], records: Records) -> set[str]:
    """The texts that are cells of some column."""
    numbers = {text: number for text in texts if (number := _number(text)) is not None}
    return set().union(*(_in_column(texts, numbers, variable) for variable in records.variables))


def _in_column(texts: set[str], numbers: Mapping[str, float], variable: Variable) -> set[str]:
    if not variable.continuous:
        present = np.unique(variable.values[~variable.missing])
        return texts & {text for code in present for text in _texts(variable.categories[code])}
    if variable.unit in ("date", "datetime"):
        numbers = {text: time for text in texts if (time := _time(text, variable.unit)) is not None}
    occurs = np.isin(list(numbers.values()), variable.values)
    return {text for text, present in zip(numbers, occurs) if present}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _time(text: str, unit: str) -> float | None:
    """Days or microseconds since 1970, the units in which records count time."""
    try:
        moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        return None
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return since / timedelta(days=1) if unit == "date" else since / timedelta(microseconds=1)


def _literal(match: re.Match[str]) -> str | None:
    """The number, moment or text that stands in a rule, None for a column's name."""
    if match.lastgroup is None:
        return None
    return _text(float(match["number"])) if match.lastgroup == "number" else match[match.lastgroup]


def _text(value: Any) -> str:
    """Equal texts for equal numbers, whether whole or not."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _texts(value: Any) -> Iterator[str]:
    """Every scalar, and every number and quoted text inside one."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _texts(key)
            yield from _texts(below)
    elif isinstance(value, list):
        for below in value:
            yield from _texts(below)
    elif value is not None and not isinstance(value, bool):
        yield _text(value)
        yield from filter(None, map(_literal, LITERAL.finditer(value))) if isinstance(value, str) else ()


def _without(value: Any, hidden: set[str]) -> Any:
    """The value without what is hidden; one word stands for any number of hidden items, so that none can be counted."""
    if isinstance(value, Mapping):
        return {_without(key, hidden): _without(below, hidden) for key, below in value.items()}
    if isinstance(value, list):
        kept = [_without(below, hidden) for below in value]
        return [below for below in kept if below != WITHHELD] + [WITHHELD] * (WITHHELD in kept)
    if _text(value) in hidden:
        return WITHHELD
    return public_rule(value, hidden) if isinstance(value, str) else value


def _file_name(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _file_name(below) for key, below in value.items()}
    if isinstance(value, list):
        return [_file_name(below) for below in value]
    return PureWindowsPath(value).name if isinstance(value, str) else value  # either kind of slash
