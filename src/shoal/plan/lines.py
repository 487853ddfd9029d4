"""YAML 1.2 in and out: comments and line numbers survive, `NO` and `012` are what they look like."""

from collections.abc import Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from shoal.errors import PlanError

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
    from ruamel.yaml.error import YAMLError

    try:
        content = _yaml().load(Path(path).read_text(encoding="utf-8"))
        _check_size(content, path)
        return content
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise PlanError(f"Plan '{path}' cannot be read ({why}). Check the path.") from None
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        problem = str(getattr(error, "problem", None) or "no valid YAML").partition(" with value")[0]
        raise PlanError(f"Plan '{path}'{where}: {problem}. Check indentation, colons and brackets.") from None


def _check_size(content: Any, path: str | Path) -> None:
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
            f"Plan '{path}': with its references written out it has more than {LARGEST:,} entries. "
            f"Write out what is meant."
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
