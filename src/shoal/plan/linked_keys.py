"""The tables of a plan for several linked ones: their names, keys and links, checked before their own plans are."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from shoal.table.links import Key, Keys, chain, root_of
from shoal.vocabulary.errors import Mistake, quoted, unknown

OF_KEYS = ("file", "key", "parent", "link")
OF_TABLE = ("columns", "steps", "requirements", "measures", "constraints", "publish", "accept")
"""Keys of a table in a plan: those that link it, and sections of a plan."""

SEVERAL_PARENTS = (
    "table '{}': parent must be one table, for its rows belong to a person by one path. Name the table through which "
    "they do, and give the column with the other key the role identifier, which leaves it out; or join what that key "
    "looks up to this table before."
)

SEVERAL_COLUMNS = (
    "table '{}': {} must be one column. Where several together are the key, make one of them before, in this table and "
    "in those that link to it, as in account + '-' + number."
)

NAME = re.compile(r"[^\W_][\w-]*")


def person_column(keys: Keys, name: str) -> str:
    """The column that numbers the persons of a table: the key of persons, as the table calls it."""
    key = keys[name]
    return str(key.link if key.parent == root_of(keys) else keys[root_of(keys)].key)


def read_keys(tables: Any, mistakes: list[Mistake]) -> dict[str, Key]:
    """The keys of the tables, each after its parent; mistakes are added to those that there are."""
    if not isinstance(tables, Mapping) or not all(isinstance(table, Mapping) for table in tables.values()):
        mistakes.append(
            (("tables",), "tables must be a mapping of tables, as in {patients: {key: id, columns: {...}}}.")
        )
        return {}
    for name, table in tables.items():
        if not NAME.fullmatch(str(name)):
            mistakes.append((("tables", name), f"table '{name}': a name is of letters, digits, - and _, for its file."))
        known = (*OF_KEYS, *OF_TABLE)
        mistakes += [
            (("tables", name, k), f"table '{name}': {unknown('key', str(k), known)}") for k in table if k not in known
        ]
    roots = [name for name, table in tables.items() if table.get("parent") is None]
    if len(roots) != 1:
        named = f"{quoted(roots)} have none" if roots else "all have one"
        mistakes.append((("tables",), f"tables: exactly one, that of persons, has no parent; {named}."))
    for name, table in tables.items():
        mistakes += _of_key(tables, str(name), table)
    return {} if mistakes else _ordered(tables, roots[0], mistakes)


def _of_key(tables: Mapping[str, Any], name: str, table: Mapping[str, Any]) -> Iterator[Mistake]:
    parent, place = table.get("parent"), ("tables", name)
    if not isinstance(table.get("columns"), (Mapping, type(None))):
        yield (*place, "columns"), f"table '{name}': columns must be a mapping, with a role for every column."
    if isinstance(parent, (list, tuple, Mapping)):
        yield (*place, "parent"), SEVERAL_PARENTS.format(name)
    elif parent is not None and parent not in list(tables):
        yield (*place, "parent"), f"table '{name}': {unknown('table', str(parent), tables)}"
    for key in ("key", "link"):
        if isinstance(table.get(key), (list, tuple, Mapping)):
            yield (*place, key), SEVERAL_COLUMNS.format(name, key)
    lower = [other for other, described in tables.items() if described.get("parent") == name]
    if table.get("key") is None and (lower or parent is None):
        why = f"{quoted(lower)} hang on it" if lower else "its rows are persons"
        yield place, f"table '{name}' needs a key, a column with a value of its own in each row, for {why}."
    if parent is None and table.get("link") is not None:
        yield (*place, "link"), f"table '{name}': link is for a table with a parent. Name the parent, or leave it out."


def _ordered(tables: Mapping[str, Any], root: str, mistakes: list[Mistake]) -> dict[str, Key]:
    """Keys of the tables, from the persons downwards."""
    keys: dict[str, Key] = {}
    names = [root]
    while names:
        name = names.pop(0)
        table, parent = tables[name], tables[name].get("parent")
        link = None if parent is None else str(table.get("link") or tables[parent]["key"])
        key = table.get("key")
        keys[name] = Key(key=None if key is None else str(key), parent=parent, link=link)
        names += [other for other, described in tables.items() if described.get("parent") == name]
    if circle := [str(name) for name in tables if name not in keys]:
        mistakes.append((("tables",), f"tables: {quoted(circle)} are parents of each other, and hang on no person."))
    for name, own in keys.items():
        columns = tables[name].get("columns") or {}
        above = [keys[upper].key for upper in chain(keys, name)]
        for column in map(str, {own.key, own.link, person_column(keys, name), *above} & set(columns)):
            sentence = f"table '{name}': '{column}' is a key, which the plan numbers anew. Leave it out of columns."
            mistakes.append((("tables", name, "columns", column), sentence))
    return keys
