"""The plan as a text: read with a place for every mistake, and edited in place.

An edit replaces the characters of one value and leaves all others alone, so comments, order and layout survive. The
parser tells where a value begins and ends; the new value is written on one line in flow style, which YAML accepts
inside either style.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Any

from shoal.plan import Plan
from shoal.plan.admission import admit
from shoal.plan.any_plan import is_linked
from shoal.plan.lines import parse_yaml, position
from shoal.plan.linked import FOR_ALL, LinkedPlan
from shoal.table.yaml_text import refuse_deep, too_deep_message
from shoal.vocabulary.errors import FileError, InputError, PlanError

Place = tuple[str | int, ...]
"""Keys and positions that lead to a value from outside."""

Edit = tuple[int, int, str]
"""Start and end of a part of a text, and what comes in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A mistake in a plan, and its place.

    Parameters
    ----------
    place
        Keys and positions that lead to it.
    line
        Line, counted from 1; None if the mistake is in no particular line.
    """

    sentence: str
    place: Place = ()
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """A text that was read as a plan.

    Parameters
    ----------
    tree
        Content in types of JSON; empty if the text is no YAML mapping.
    plan
        The plan for one table; None if there are mistakes.
    linked
        The plan for several tables; None if there are mistakes.
    """

    tree: Mapping[str, Any]
    plan: Plan | None = None
    linked: LinkedPlan | None = None
    mistakes: tuple[Problem, ...] = ()


def reading(text: str, folder: Path) -> ReadPlan:
    """The plan in a text, and every mistake in it.

    Parameters
    ----------
    folder
        Folder in which files that the plan names are looked up.
    """
    try:
        content = parse_yaml(text, "plan")
    except PlanError as error:
        line = re.search(r"line (\d+)", str(error))
        mistake = Problem(sentence=str(error), line=int(line[1]) if line else None)
        return ReadPlan(tree={}, mistakes=(mistake,))
    tree = _shown(content) if isinstance(content, Mapping) else {}
    try:
        if is_linked(tree):
            return ReadPlan(tree=tree, linked=LinkedPlan.of(content, folder))
        plan = Plan.of(content if tree else {}, folder)
        admit(plan)
        return ReadPlan(tree=tree, plan=plan)
    except InputError as error:
        mistakes = tuple(
            Problem(sentence=sentence, place=place, line=(position(content, place) or (None,))[0])
            for place, sentence in _placed(error)
        )
        return ReadPlan(tree=tree, mistakes=mistakes)


OF_ONE_TABLE = re.compile(r"plan, table '([^']+)'[:,]")
"""The beginning of a message on the plan of one of several tables."""


def _placed(error: InputError) -> Iterator[tuple[Place, str]]:
    """Each mistake with its place in the whole plan; that of one of several tables is placed in the table's own."""
    of_table = OF_ONE_TABLE.match(str(error))
    for place, sentence in error.mistakes or (((), str(error)),):
        if of_table is None or place[:1] == ("tables",) or (place and place[0] in FOR_ALL):
            yield place, sentence
        else:
            yield ("tables", of_table[1], *place), f"table '{of_table[1]}': {sentence}"


def _shown(value: Any) -> Any:
    """A value in types of JSON; other YAML values (days, infinities, tags, keys that are no texts) as texts."""
    if isinstance(value, Mapping):
        return {str(key): _shown(below) for key, below in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_shown(below) for below in value]
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and isfinite(value)):
        return value
    return str(value)


def put(text: str, place: Sequence[str | int], value: Any) -> str:
    """The text with a value at a place: replaced, or added if there was none.

    A number beyond the end of a list appends to it; None removes the entry. Raises PlanError if the text is no YAML, or
    the place cannot be reached in it.
    """
    return _changed(text, _composed(text), place, value)


def put_all(text: str, changes: Iterable[tuple[Sequence[str | int], Any]]) -> str:
    """The text after several changes, as if each were put after the one before.

    A text is read once for all changes that concern different parts of it; read once for each change, hundreds of
    columns would take a time that grows with the square of their number.
    """
    waiting = list(changes)
    while waiting:
        root = _composed(text)
        edits: list[Edit] = []
        places: list[Sequence[str | int]] = []
        for place, value in waiting:
            edit = _edit(text, _changed(text, root, place, value))
            if any(_near(place, other) for other in places) or not all(_apart(edit, other) for other in edits):
                break
            places.append(place)
            edits += [edit] * (edit[:2] != (len(text), len(text)) or edit[2] != "")  # none that changes nothing
        for start, end, new in sorted(edits, reverse=True):
            text = text[:start] + new + text[end:]
        waiting = waiting[len(places) :]
    return text


def _near(place: Sequence[str | int], other: Sequence[str | int]) -> bool:
    """True if two places lie in one mapping or list, or one inside the other, so that one change concerns the other."""
    shared = min(len(place), len(other))
    return list(place[:-1]) == list(other[:-1]) or list(place[:shared]) == list(other[:shared])


def _apart(edit: Edit, other: Edit) -> bool:
    return edit[1] < other[0] or other[1] < edit[0]


def _edit(before: str, after: str) -> Edit:
    """Start and end of the part of a text that another one has different, and what it has there."""
    start = _shared(before, after)
    end = min(_shared(before[::-1], after[::-1]), min(len(before), len(after)) - start)
    return start, len(before) - end, after[start : len(after) - end]


def _shared(first: str, second: str) -> int:
    """Length of the beginning that two texts share."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first.startswith(second[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low


def _changed(text: str, root: Any, place: Sequence[str | int], value: Any) -> str:
    """As `put`, of a text that was read already."""
    if not place:
        raise PlanError("A change needs a place in the plan. Reload the page.")
    if root is None:
        whole = f"{_flow({place[0]: _nest(place[1:], value)})[1:-1]}\n"
        return text.rstrip() + ("\n" if text.strip() else "") + whole
    key, node, rest = None, root, list(place)
    while rest:
        entry = _entry(node, rest[0])
        if entry is None:
            return text if value is None else _added(text, key, node, rest[0], _nest(rest[1:], value))
        if len(rest) == 1 and value is None:
            return _removed(text, node, entry)
        (key, node), rest = entry, rest[1:]
    start, end = _span(text, key, node)
    if len(place) == 1 and not root.flow_style and isinstance(value, (list, tuple)) and value:
        return text[:start] + _lines(value, node) + text[end:]
    return text[:start] + " " * (start == end) + _flow(value) + text[end:]


def swapped(text: str, place: Sequence[str | int], first: int, second: int) -> str:
    """The text with two entries of a list exchanged; comments at the ends of lines stay."""
    node = _composed(text)
    for key in place:
        entry = None if node is None else _entry(node, key)
        if entry is None:
            raise PlanError("The plan has no such list; undo, and look at its text.")
        node = entry[1]
    if node is None or not (0 <= first < len(node.value) and 0 <= second < len(node.value)):
        raise PlanError("The plan has no such entry; undo, and look at its text.")
    early, late = (node.value[i] for i in sorted((first, second)))
    a, b, c, d = early.start_mark.index, _end(early), late.start_mark.index, _end(late)
    return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


def _composed(text: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        refuse_deep(text, "plan")
        return YAML().compose(StringIO(text))
    except FileError as error:
        raise PlanError(str(error)) from None
    except RecursionError:
        raise PlanError(too_deep_message("plan")) from None
    except YAMLError:
        raise PlanError("The plan's text is no valid YAML, so no form can change it. Mend the text first.") from None


def _entry(node: Any, key: str | int) -> tuple[Any, Any] | None:
    """The key's node (None in a list) and the value's node."""
    if node.id == "mapping":
        return next(((k, v) for k, v in node.value if str(k.value) == str(key)), None)
    if node.id == "sequence" and isinstance(key, int) and 0 <= key < len(node.value):
        return None, node.value[key]
    if node.id == "sequence" or _is_empty(node):
        return None
    raise PlanError(f"The plan's text has no place for '{key}'. Undo, and look at the text.")


def _is_empty(node: Any) -> bool:
    return node.id == "scalar" and node.value in ("", "null", "~")


def _span(text: str, key: Any, node: Any) -> tuple[int, int]:
    """Start and end of a value in the text; a missing value has its place after the colon or dash."""
    start, end = node.start_mark.index, _end(node)
    if start < end:
        return start, end
    behind = text.index(":", key.end_mark.index) + 1 if key is not None else len(text[:start].rstrip(" \n"))
    return behind, behind


def _end(node: Any) -> int:
    """The position after a value's last character: block styles end with their last entry."""
    if node.id == "scalar" or node.flow_style:
        return int(node.end_mark.index)
    last = node.value[-1] if node.value else None
    if last is None:
        return int(node.end_mark.index)
    return _end(last[1] if node.id == "mapping" else last)


def _added(text: str, holder: Any, node: Any, key: str | int, value: Any) -> str:
    """The text with a new last entry; `holder` is the node of the key that holds the list or mapping."""
    if _is_empty(node):
        start, end = _span(text, holder, node)
        content = _flow([value] if isinstance(key, int) else {key: value})
        return text[:start] + " " * (start == end) + content + text[end:]
    entry = _flow(value) if node.id == "sequence" else _flow({key: value})[1:-1]
    if node.flow_style:
        end = node.end_mark.index - 1
        return text[:end].rstrip() + (", " if node.value else "") + entry + text[end:]
    first = node.value[0] if node.id == "sequence" else node.value[0][0]
    indent: int = first.start_mark.column
    line_end: int = _line_end(text, _end(node))
    if node.id == "sequence":
        dash = text.rindex("-", 0, first.start_mark.index)
        indent = dash - text.rfind("\n", 0, dash) - 1
        entry = f"- {entry}"
    return text[:line_end] + "\n" + " " * indent + entry + text[line_end:]


def _removed(text: str, node: Any, entry: tuple[Any, Any]) -> str:
    """The text without an entry; an empty list or mapping is left of one that had no other."""
    key, value = entry
    whole = [v if node.id == "sequence" else v[1] for v in node.value]
    number = next(i for i, v in enumerate(whole) if v is value)
    if len(whole) == 1:
        left = "[]" if node.id == "sequence" else "{}"  # indented, for a dash may stand where its key does
        return text[: node.start_mark.index] + " " * (not node.flow_style) + left + text[_end(node) :]
    if node.flow_style:
        begins = [v if node.id == "sequence" else v[0] for v in node.value]
        if number + 1 < len(whole):
            return text[: begins[number].start_mark.index] + text[begins[number + 1].start_mark.index :]
        before, after = _end(whole[number - 1]), _end(value)
        return text[:before] + text[after:]
    start = (key or value).start_mark.index
    line = text.rfind("\n", 0, text.rindex("-", 0, start) if node.id == "sequence" else start) + 1
    return text[:line] + text[_line_end(text, _end(value)) + 1 :]


def _lines(entries: Sequence[Any], before: Any) -> str:
    """A section's list, one entry a line, with the indent of what it replaces."""
    block = before.id == "sequence" and not before.flow_style
    indent = " " * (before.start_mark.column if block else 2)
    return ("" if block else "\n" + indent) + f"\n{indent}".join(f"- {_flow(entry)}" for entry in entries)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _nest(keys: Sequence[str | int], value: Any) -> Any:
    for key in reversed(keys):
        value = [value] if isinstance(key, int) else {key: value}
    return value


PLAIN = re.compile(r"[A-Za-z_][\w./-]*( [\w./-]+)*")
"""Texts that YAML reads as themselves without quotes, unless they are words of its own."""

WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}


DEEP = " " * 12
"""Indent of further rows of a list of lists: deeper than any place where the list may stand."""


def _flow(value: Any) -> str:
    """A value in flow style on one line, without unneeded quotes; of a list of lists each row has a line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_flow(str(key))}: {_flow(below)}" for key, below in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        rows = len(value) > 1 and all(isinstance(entry, (list, tuple)) for entry in value)
        return "[" + (f",\n{DEEP}" if rows else ", ").join(map(_flow, value)) + "]"
    if isinstance(value, str) and PLAIN.fullmatch(value) and value.isascii() and value.lower() not in WORDS:
        return value
    return json.dumps(value, ensure_ascii=isinstance(value, str) and not value.isprintable())


def names_in(tree: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and role of each column that a plan describes."""
    columns = tree.get("columns")
    for name, column in (columns if isinstance(columns, Mapping) else {}).items():
        role = column.get("role") if isinstance(column, Mapping) else column
        yield str(name), role if isinstance(role, str) else ""
