"""YAML 1.2 in and out: comments and line numbers survive; `NO` and `012` keep their spelling."""

from collections.abc import Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from shoal.table import yaml_text
from shoal.table.text_files import read_text
from shoal.vocabulary.errors import FileError, PlanError


def plain(value: Any) -> Any:
    """Tuples and other containers as YAML and JSON know them."""
    if isinstance(value, Mapping):
        return {key: plain(below) for key, below in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return [plain(below) for below in value]
    return value


def load_yaml(path: str | Path) -> Any:
    """The content of a YAML 1.2 file, with comments and line numbers kept.

    Raises PlanError if the file cannot be read, or is no YAML; the message has the line.
    """
    try:
        text = read_text(path, "Plan")
    except FileError as error:
        raise PlanError(str(error)) from None
    return parse_yaml(text, f"Plan '{path}'")


def parse_yaml(text: str, source: str) -> Any:
    """The content of a YAML 1.2 text, with comments and line numbers kept.

    Parameters
    ----------
    source
        Name of the text in messages.

    Raises
    ------
    PlanError
        If it is no YAML, or its aliases expand to too much; the message has the line.
    """
    try:
        return yaml_text.parse_yaml(text, source)
    except FileError as error:
        raise PlanError(str(error)) from None


def check_nesting(content: Any, source: str) -> None:
    """Refuse content that is nested deeper than any plan, before a recursive function reads it.

    Raises PlanError if it is.
    """
    if yaml_text.too_deep(content):
        raise PlanError(yaml_text.too_deep_message(source))


def position(content: Any, place: Iterable[str | int]) -> tuple[int, int] | None:
    """Line and column, from 1, of the place that the keys lead to, or of the nearest enclosing one.

    None for a plan that is no file: plain containers have no lines.
    """
    deepest = None
    for part in place:
        keys = {str(key): key for key in content} if isinstance(content, Mapping) else {}
        key = keys.get(str(part), part)
        try:
            marks = content.lc
            line, column = (marks.key if keys else marks.item)(key)
            content = content[key]
        except (AttributeError, KeyError, TypeError, IndexError):
            break
        deepest = line + 1, column + 1
    return deepest


def dump_yaml(content: Any) -> str:
    """Plain containers as a YAML text."""
    text = StringIO()
    yaml_text.format_kept().dump(plain(content), text)
    return text.getvalue()
