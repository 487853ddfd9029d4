"""Kinds of values that a parameter of a method may hold, declared in its annotation.

    value: Annotated[float | None, HoldsCells()] = None
    holdout: Annotated[Any, TablePath()] = None
    variance: Annotated[float, Gt(0), Setting()]

These markers alone decide which parts of a plan are public, which names are files (looked up from the plan's folder),
how record.json is written, what a form offers and what the documentation says. Whole numbers, truth values and words
from a fixed list need no marker: they are settings. Everything else must be classified, which a contract test checks.
"""

import re
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from inspect import cleandoc
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary


@dataclass(frozen=True, slots=True)
class Holds:
    """Marker of a parameter; one of the classes below."""


@dataclass(frozen=True, slots=True)
class Setting(Holds):
    """A plain setting, chosen without looking at any record: public."""


@dataclass(frozen=True, slots=True)
class HoldsCells(Holds):
    """May hold a cell's value (a bound, a label, a category): public only where a released cell has it."""


@dataclass(frozen=True, slots=True)
class ForReaders(HoldsCells):
    """Words for the readers of a release: public except for cells in them that only the original has."""


@dataclass(frozen=True, slots=True)
class ColumnName(Holds):
    """The name of one column: public, and completed in forms."""


@dataclass(frozen=True, slots=True)
class Columns(Holds):
    """Names of columns: public, and completed in forms."""


@dataclass(frozen=True, slots=True)
class TablePath(Holds):
    """Names a file with a table, or is a table; of a path only the file's name is public."""


@dataclass(frozen=True, slots=True)
class KeyFile(Holds):
    """Names a file with a secret: only the file's name is public."""


@dataclass(frozen=True, slots=True)
class Secret(Holds):
    """A secret itself: never public, and not written to record.json either."""


@dataclass(frozen=True, slots=True)
class Method(Holds):
    """A method of some kind, whose own parameters are classified in its own class.

    Parameters
    ----------
    kind
        As in the registry: "partition", "replace", ...
    """

    kind: str


_READ: WeakKeyDictionary[type[Any], Mapping[str, Holds | None]] = WeakKeyDictionary()
"""Markers that `holds` has read before, by class: reading annotations takes longer than running many a method."""


def holds(cls: type[Any]) -> Mapping[str, Holds | None]:
    """The marker of every parameter of a method, or key of a plan's section; None where nothing is declared."""
    if cls not in _READ:
        hints = get_type_hints(cls, include_extras=True)
        names = [f.name for f in fields(cls)] if is_dataclass(cls) else list(cls.model_fields)
        _READ[cls] = types.MappingProxyType({name: _marker_in(hints[name]) for name in names})
    return _READ[cls]


def columns_named_by(method: Any) -> Iterator[str]:
    """Columns that a method's parameters name."""
    for name, marker in holds(type(method)).items():
        if isinstance(marker, (ColumnName, Columns)):
            value = getattr(method, name)
            yield from (value,) if isinstance(value, str) else (value or ())


LISTS = {"tuple_type": "a list", "too_short": "a list that is not empty"}
"""Rules about lists, by pydantic's names of the errors."""


def broken_rules(cls: type[Any], problems: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The rules that each parameter breaks, and the value that came: 'must be a list; got 3'.

    A parameter of several types breaks the rule of each. A value that may be a cell or a secret is not repeated.

    Parameters
    ----------
    problems
        The errors of a pydantic ValidationError, the place of each counted from the parameter's name.
    """
    classes = holds(cls)
    broken: dict[str, tuple[list[str], Any]] = {}
    for problem in problems:
        if problem["type"] == "too_short" and problem["input"]:  # its members are wrong, and have rules of their own
            continue
        rules, _ = broken.setdefault(str(problem["loc"][0]), ([], problem["input"]))
        rule = LISTS.get(problem["type"], problem["msg"])
        rule = rule.removeprefix("Value error, ").removeprefix("Input should be ").rstrip(".")
        if rule not in rules:
            rules.append(rule)
    return {
        key: f"must be {' or '.join(rules)}" + ("" if _unshown(classes[key], came) else f"; got {came!r}")
        for key, (rules, came) in broken.items()
    }


def _unshown(marker: Holds | None, came: Any) -> bool:
    return isinstance(marker, (HoldsCells, Secret, TablePath)) or isinstance(came, Mapping)


def _marker_in(annotation: Any) -> Holds | None:
    for part in _parts(annotation):
        if isinstance(part, Holds):
            return part
    return Setting() if _plain(annotation) else None


def _parts(annotation: Any) -> Iterator[Any]:
    """The markers anywhere in an annotation, the outermost first."""
    yield from getattr(annotation, "__metadata__", ())
    for inner in get_args(annotation):
        if not isinstance(inner, Holds):
            yield from _parts(inner)


def _plain(annotation: Any) -> bool:
    """True if an annotation admits only whole numbers, truth values, None and words from a list."""
    origin = get_origin(annotation)
    if origin is typing.Annotated:
        return _plain(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return all(_plain(part) for part in get_args(annotation))
    if origin is tuple:
        return all(part is Ellipsis or _plain(part) for part in get_args(annotation))
    return origin is Literal or annotation in (int, bool, None, type(None))


def docstring_sections(docstring: str | None) -> tuple[str, dict[str, str], str]:
    """The parts of a numpydoc docstring: its text, the description of each parameter, and the other sections."""
    text, *sections = re.split(r"\n\n(?=\w+\n---)", cleandoc(docstring or ""))
    if not sections or not sections[0].startswith("Parameters\n"):
        return text, {}, "\n\n".join(sections)
    body = sections[0].split("\n", 2)[2]
    entries = re.findall(r"^(\S.*)\n((?:(?: +.*)?(?:\n|\Z))+)", body, re.M)
    return text, {names: meaning.rstrip("\n") for names, meaning in entries}, "\n\n".join(sections[1:])
