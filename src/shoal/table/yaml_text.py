"""YAML 1.2 texts of users, refused if they expand to more than any plan needs."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from shoal.vocabulary.errors import FileError

DEEPEST = 120
"""Most levels of nesting: those of a hierarchy, and some above it."""

LARGEST = 1_000_000
"""Most entries of a plan, with references (&, *) expanded."""


def format_kept() -> Any:
    """The reader and writer of YAML that keeps comments and line numbers."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 110
    return yaml


def parse_yaml(text: str, source: str) -> Any:
    """A YAML 1.2 text with comments and line numbers kept.

    `source`: name of the text in messages. Raises FileError, with the line, if it is no YAML; also if it is nested too
    deeply or too large.
    """
    from ruamel.yaml.error import YAMLError

    try:
        refuse_deep(text, source)
        content = format_kept().load(text)
        _check_size(content, source)
    except RecursionError:
        raise FileError(too_deep_message(source)) from None
    except FileError:
        raise
    except ValueError:  # Python reads no integer of more than 4,300 digits
        raise FileError(f"{source}: a number has too many digits. Correct it.") from None
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        problem = str(getattr(error, "problem", None) or "no valid YAML").partition(" with value")[0]
        raise FileError(f"{source}{where}: {problem}. Check indentation, colons and brackets.") from None
    if too_deep(content):
        raise FileError(too_deep_message(source))
    return content


def refuse_deep(text: str, source: str) -> None:
    """Refuse a text whose brackets are nested too deeply, before a parse, which would take quadratic time.

    Raises FileError if they are; YAMLError if the text is no YAML.
    """
    from ruamel.yaml.error import YAMLError

    if (suspect := _suspicion(text)) is None:
        return
    with suppress(YAMLError):  # it is cut off
        _refuse_deep_events(text[:suspect], source)
    _refuse_deep_events(text, source)


def _suspicion(text: str) -> int | None:
    """Position where a text may be nested too deeply, counting brackets in quotation marks, too; None if nowhere."""
    depth = 0
    for bracket in re.finditer(r"[][{}]", text):
        depth = depth + 1 if bracket[0] in "[{" else max(depth - 1, 0)
        if depth > DEEPEST:
            return bracket.end()
    return None


def _refuse_deep_events(text: str, source: str) -> None:
    from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent

    depth = 0
    for event in format_kept().parse(text):
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > DEEPEST:
            raise FileError(too_deep_message(source))


def too_deep_message(source: str) -> str:
    """The message for text that is nested too deeply."""
    return f"{source}: its brackets and indents are nested more than {DEEPEST} deep. Use fewer levels."


def too_deep(content: Any) -> bool:
    """True if a value is nested more deeply than any plan; to be called before any recursion into it."""
    level, seen = [content] if isinstance(content, (Mapping, list, tuple)) else [], set[int]()
    for _ in range(DEEPEST):
        below = [v for node in level for v in (node.values() if isinstance(node, Mapping) else node)]
        level = [v for v in below if isinstance(v, (Mapping, list, tuple)) and id(v) not in seen]
        seen |= {id(v) for v in level}
        if not level:
            return False
    return True


def _check_size(content: Any, source: str) -> None:
    """Refuse content that references expand to more entries than memory holds."""
    sizes: dict[int, int] = {}

    def size(value: Any) -> int:
        if not isinstance(value, (Mapping, list)):
            return 1
        if id(value) not in sizes:
            below = value.values() if isinstance(value, Mapping) else value
            sizes[id(value)] = min(LARGEST + 1, 1 + sum(map(size, below)))
        return sizes[id(value)]

    if size(content) > LARGEST:
        raise FileError(
            f"{source}: with its references expanded it has more than {LARGEST:,} entries. Use fewer references."
        )
