"""YAML 1.2 texts that a user writes, refused where they stand for more than any of them needs."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from shoal.vocabulary.errors import FileError

DEEPEST = 120
"""Levels of a plan: those of a hierarchy, and some above it."""

LARGEST = 1_000_000
"""Entries of a plan, references (&, *) written out."""


def format_kept() -> Any:
    """The reader and writer of YAML that keeps comments and line numbers."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 110
    return yaml


def parse_yaml(text: str, source: str) -> Any:
    """A YAML 1.2 text with comments and line numbers kept.

    `source`: what messages call it. Raises FileError if it is no YAML, or stands for too much; the message has the
    line.
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
        raise FileError(f"{source}: a number has more digits than any has. Correct it.") from None
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        problem = str(getattr(error, "problem", None) or "no valid YAML").partition(" with value")[0]
        raise FileError(f"{source}{where}: {problem}. Check indentation, colons and brackets.") from None
    if too_deep(content):
        raise FileError(too_deep_message(source))
    return content


def refuse_deep(text: str, source: str) -> None:
    """Refuse a text of which brackets are nested too deep, at once; to read it would take the square of its depth.

    Raises FileError if they are; YAMLError if the text is no YAML.
    """
    from ruamel.yaml.error import YAMLError

    if (suspect := _suspicion(text)) is None:
        return
    with suppress(YAMLError):  # it is cut off
        _refuse_deep_events(text[:suspect], source)
    _refuse_deep_events(text, source)


def _suspicion(text: str) -> int | None:
    """Place where a text may be nested too deep, counting brackets in quotation marks; None if nowhere."""
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
    """The sentence for what is nested too deep."""
    return f"{source}: its brackets and indents are nested more than {DEEPEST} deep. Write it flatter."


def too_deep(content: Any) -> bool:
    """True if something is nested deeper than any plan; to be asked before anything that goes down into it."""
    level, seen = [content] if isinstance(content, (Mapping, list, tuple)) else [], set[int]()
    for _ in range(DEEPEST):
        below = [v for node in level for v in (node.values() if isinstance(node, Mapping) else node)]
        level = [v for v in below if isinstance(v, (Mapping, list, tuple)) and id(v) not in seen]
        seen |= {id(v) for v in level}
        if not level:
            return False
    return True


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
        raise FileError(
            f"{source}: with its references written out it has more than {LARGEST:,} entries. Write out what is meant."
        )
