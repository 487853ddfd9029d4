"""YAML 1.2 in and out: comments and line numbers survive, `NO` and `012` are what they look like."""

from collections.abc import Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from shoal.data.text_files import read_text
from shoal.errors import FileError, PlanError

DEEPEST = 120
"""Levels of a plan: those of a hierarchy, and some above it."""

LARGEST = 1_000_000
"""Entries of a plan, references (&, *) written out."""


def plain(value: Any) -> Any:
    """Tuples and other containers as YAML and JSON know them."""
    if isinstance(value, Mapping):
        return {key: plain(below) for key, below in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return [plain(below) for below in value]
    return value


def _yaml() -> Any:
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 110
    return yaml


def load_yaml(path: str | Path) -> Any:
    """A YAML 1.2 file with comments and line numbers kept.

    Raises
    ------
    PlanError
        If the file cannot be read, or is no YAML; the message has the line.
    """
    try:
        text = read_text(path, "Plan")
    except FileError as error:
        raise PlanError(str(error)) from None
    return parse_yaml(text, f"Plan '{path}'")


def parse_yaml(text: str, source: str) -> Any:
    """A YAML 1.2 text with comments and line numbers kept.

    Parameters
    ----------
    source
        What messages call it.

    Raises
    ------
    PlanError
        If it is no YAML, or stands for too much; the message has the line.
    """
    from ruamel.yaml.error import YAMLError

    try:
        content = _yaml().load(text)
        _check_size(content, source)
        check_nesting(content, source)
        return content
    except PlanError:
        raise
    except RecursionError:
        raise PlanError(_too_deep(source)) from None
    except ValueError:  # Python reads no integer of more than 4,300 digits
        raise PlanError(f"{source}: a number has more digits than any has. Correct it.") from None
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        problem = str(getattr(error, "problem", None) or "no valid YAML").partition(" with value")[0]
        raise PlanError(f"{source}{where}: {problem}. Check indentation, colons and brackets.") from None


def _too_deep(source: str) -> str:
    return f"{source}: its brackets and indents are nested more than {DEEPEST} deep. Write it flatter."


def check_nesting(content: Any, source: str) -> None:
    """Refuse what is nested deeper than any plan, before anything that goes down into it.

    Raises
    ------
    PlanError
        If it is.
    """
    level, seen = [content] if isinstance(content, (Mapping, list, tuple)) else [], set[int]()
    for _ in range(DEEPEST):
        below = [v for one in level for v in (one.values() if isinstance(one, Mapping) else one)]
        level = [v for v in below if isinstance(v, (Mapping, list, tuple)) and id(v) not in seen]
        seen |= {id(v) for v in level}
        if not level:
            return
    raise PlanError(_too_deep(source))


def _check_size(content: Any, source: str) -> None:
    """References can make a few lines stand for more than any memory holds."""
    sizes: dict[int, int] = {}

    def size(value: Any) -> int:
        if not isinstance(value, (Mapping, list)):
            return 1
        if id(value) not in sizes:
            below = value.values() if isinstance(value, Mapping) else value
            sizes[id(value)] = min(LARGEST + 1, 1 + sum(map(size, below)))
        return sizes[id(value)]

    if size(content) > LARGEST:
        raise PlanError(
            f"{source}: with its references written out it has more than {LARGEST:,} entries. Write out what is meant."
        )


def position(content: Any, place: Iterable[str | int]) -> tuple[int, int] | None:
    """Line and column, from 1, of what the keys in `place` lead to, or of the nearest thing around it.

    None for a plan that is no file: plain containers have no lines.
    """
    found = None
    for part in place:
        keys = {str(key): key for key in content} if isinstance(content, Mapping) else {}
        key = keys.get(str(part), part)
        try:
            marks = content.lc
            line, column = (marks.key if keys else marks.item)(key)
            content = content[key]
        except (AttributeError, KeyError, TypeError, IndexError):
            break
        found = line + 1, column + 1
    return found


def dump_yaml(content: Any) -> str:
    """Plain containers as a YAML text."""
    text = StringIO()
    _yaml().dump(plain(content), text)
    return text.getvalue()
