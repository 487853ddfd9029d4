"""What a method's parameter holds, said in its annotation.

    value: Annotated[float | None, HoldsCells()] = None
    holdout: Annotated[Any, TablePath()] = None
    variance: Annotated[float, Gt(0), Setting()]

From these alone follow what of a plan is public, where file names are looked up (from the plan's folder), how
record.json is written, what a form offers and what the documentation says. Whole numbers, truth values and words
from a fixed list need none: they are settings by themselves. Everything else must be classified; a contract test
looks.
"""

import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


@dataclass(frozen=True, slots=True)
class Holds:
    """What a parameter holds; one of the classes below."""


@dataclass(frozen=True, slots=True)
class Setting(Holds):
    """A plain setting, chosen without looking at any record: public."""


@dataclass(frozen=True, slots=True)
class HoldsCells(Holds):
    """May hold a cell's value (a bound, a label, a category): public only where a released cell has it."""


@dataclass(frozen=True, slots=True)
class ColumnName(Holds):
    """The name of one column: public, and completed in forms."""


@dataclass(frozen=True, slots=True)
class Columns(Holds):
    """Names of columns: public, and completed in forms."""


@dataclass(frozen=True, slots=True)
class TablePath(Holds):
    """Names a file with a table, or is a table: of a path only the file's name is public."""


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


def holds(cls: type[Any]) -> dict[str, Holds | None]:
    """For every parameter of a method what it holds; None for one that should say so and does not."""
    hints = get_type_hints(cls, include_extras=True)
    return {f.name: _said(hints[f.name]) for f in fields(cls)}


def _said(annotation: Any) -> Holds | None:
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
    """Whether an annotation admits nothing but whole numbers, truth values, None and words from a list."""
    origin = get_origin(annotation)
    if origin is typing.Annotated:
        return _plain(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return all(_plain(part) for part in get_args(annotation))
    if origin is tuple:
        return all(part is Ellipsis or _plain(part) for part in get_args(annotation))
    return origin is Literal or annotation in (int, bool, None, type(None))
