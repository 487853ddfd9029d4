"""A page for every method, and the page that lists them, from the registry."""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING
from inspect import getdoc
from typing import Any

from shoal.cli.methods import python_of, required_of, yaml_of
from shoal.vocabulary.parameters import (
    ColumnName,
    Columns,
    ForReaders,
    Holds,
    HoldsCells,
    KeyFile,
    Method,
    Secret,
    TablePath,
    docstring_sections,
    holds,
)
from shoal.vocabulary.registry import KIND_NAMES, SCALE_NAMES, Entry, registered

KINDS = {
    "partition": ("Partitions", "Ways to divide records into groups: `{partition: NAME, ...}` in a plan."),
    "replace": ("Replacements", "What takes the place of a group's records: `replace: NAME` beside a partition."),
    "mask": ("Masks", "Masking column by column: `{mask: NAME, columns: [...], ...}` in a plan."),
    "privacy": ("Privacy models", "What can be required: `{privacy: NAME, ...}` under `requirements`."),
    "risk": ("Measures of risk", "What can be measured: `{risk: NAME}` under `measures`."),
    "utility": ("Measures of utility", "What can be measured: `{utility: NAME}` under `measures`."),
}

PROVED = {
    "partition": "Nothing by itself: what is required is proved on the finished table.",
    "replace": "Nothing by itself: what is required is proved on the finished table.",
    "mask": "Nothing by itself: what is required is proved on the finished table.",
    "privacy": "Itself, on the table as it was written, by whatever steps it was made.",
    "risk": "The figure is measured. With a bound it is required: a release beyond the bound is refused.",
    "utility": "The figure is measured. With a bound it is required: a release beyond the bound is refused.",
}
PROVED_BY_NOISE = (
    "Differential privacy with this epsilon ([what epsilon promises](../../explanation/differential-privacy.md))."
)
PROVED_OF_GROUPS = "Every group reaches its smallest size. What is required is proved on the finished table."

PUBLIC: dict[type[Holds], str] = {
    Secret: "never",
    KeyFile: "name of the file",
    TablePath: "name of the file",
    ForReaders: "all but cells of the original",
    HoldsCells: "cells that the release has",
}
"""What of a parameter the public plan shows, most private first; of all others everything."""


def methods_page() -> str:
    parts = ["# Methods\n", "Every method is also a name of the package, as in `shoal.MDAV(k=5)`.\n"]
    for kind, (title, what) in KINDS.items():
        rows = [f"| [{e.name}](methods/{e.name}.md) | {e.title} | {markdown(e.source)} |" for e in registered(kind)]
        parts += [f"\n## {title}\n", f"{what}\n", "| name | what it is | source |", "| --- | --- | --- |", *rows]
    links = [f"methods/{entry.name}" for entry in registered()]
    return "\n".join([*parts, "\n```{toctree}\n:hidden:", *links, "```\n"])


def method_page(entry: Entry) -> str:
    """Title, what it does, how a plan and a program name it, its parameters, and what follows in its docstring."""
    text, said, rest = docstring_sections(getdoc(entry.cls))
    parts = [f"# {entry.name}\n", f"*{entry.title}*, a {KIND_NAMES[entry.kind]}.\n", f"{markdown(text)}\n"]
    parts += ["```yaml", yaml_of(entry), "```\n", "```python", "import shoal\n", python_of(entry), "```\n"]
    parts += ["| | |", "| --- | --- |", *(f"| {what} | {answer} |" for what, answer in facts_of(entry))]
    if entry.parameters:
        parts += ["\n## Parameters\n", "| name | values | default | says | public |", "| --- | --- | --- | --- | --- |"]
        parts += parameter_rows(entry, said)
    for section in re.split(r"\n\n(?=\w+\n---)", rest) if rest else ():
        title, _, body = section.split("\n", 2)
        parts.append(f"\n## {title}\n\n{markdown(body)}")
    return "\n".join(parts) + "\n"


def facts_of(entry: Entry) -> Iterator[tuple[str, str]]:
    """What of a method stands in the table below its examples."""
    if entry.kind in ("risk", "utility"):
        yield "required", f"`{required_of(entry)}`"
        low, high = entry.cls.limits
        yield "figure", f"from {low:g} to {high:g}{', ' * bool(entry.cls.figure_unit)}{entry.cls.figure_unit}"
        yield "better", entry.cls.better
        yield "looks at", "the released table alone" if entry.cls.of_release_alone else "both tables"
    noise = entry.kind == "mask" and "epsilon" in entry.parameters
    groups = entry.kind == "partition" and "k" in entry.parameters
    yield "proved", PROVED_BY_NOISE if noise else PROVED_OF_GROUPS if groups else PROVED[entry.kind]
    if getattr(entry.cls, "cheap", False):
        yield "cost", "quick for any number of records"
    yield "large tables", f"{SCALE_NAMES[entry.cls.scales]} ([scaling](../scaling.md))"
    if entry.source:
        yield "source", f"{markdown(entry.source)} ([literature](../../references.md))"


def parameter_rows(entry: Entry, said: dict[str, str]) -> Iterator[str]:
    """A row a parameter, those that must be given first."""
    schema, markers = entry.json_schema(), holds(entry.cls)
    meanings = {one: meaning for names, meaning in said.items() for one in names.split(", ")}
    for name, default in sorted(entry.parameters.items(), key=lambda parameter: parameter[1] is not MISSING):
        values = _values(schema["properties"][name], markers[name], schema.get("$defs", {}))
        public = next((shown for kind, shown in PUBLIC.items() if isinstance(markers[name], kind)), "yes")
        meaning = cell(textwrap.dedent(meanings.get(name, "")))
        yield f"| `{name}` | {cell(values)} | {cell(_default(default))} | {meaning} | {public} |"


def _default(default: object) -> str:
    if default is MISSING:
        return "required"
    name = getattr(default, "method_name", None)
    if name:
        return f"`{{method: {name}, ...}}`"
    if default is None or default == () or default == {}:
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _values(schema: dict[str, Any], marker: Holds | None, others: dict[str, Any]) -> str:
    """What may stand there, in few words."""
    match marker:
        case Method():
            return f"a {KIND_NAMES[marker.kind]}, as `{{method: NAME, ...}}`"
        case TablePath():
            return "a file with a table, or a table"
        case KeyFile():
            return "a file with a secret"
        case ColumnName():
            return "the name of a column"
        case Columns() if schema.get("type") == "array":
            return "names of columns"
    kinds = [kind for kind in schema.get("anyOf", [schema]) if kind.get("type") != "null"]
    return " or ".join(dict.fromkeys(kind_in_words(kind, others) for kind in kinds))


WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true, false",
    "array": "a list",
    "object": "a mapping",
}
LIMITS = {"minimum": "from", "exclusiveMinimum": "over", "maximum": "to", "exclusiveMaximum": "below"}
"""What types and limits of the JSON schema are in the words of the pages."""


def kind_in_words(schema: dict[str, Any], others: dict[str, Any] | None = None) -> str:
    """One type of the JSON schema in words."""
    if "$ref" in schema:
        return kind_in_words((others or {})[schema["$ref"].rpartition("/")[2]])
    if "enum" in schema:
        return ", ".join(str(word) for word in schema["enum"])
    if "const" in schema:
        return str(schema["const"])
    if schema.get("format") == "date":
        return "a date"
    limits = [f"{word} {schema[key]:g}" for key, word in LIMITS.items() if key in schema]
    inner = schema.get("items") or schema.get("additionalProperties")
    members = PLURALS.get(inner.get("type", "")) if isinstance(inner, dict) else None
    return " ".join([WORDS[schema["type"]], *([f"of {members}"] if members else []), *limits])


PLURALS = {"string": "texts", "integer": "whole numbers", "number": "numbers", "array": "lists"}


def markdown(text: str) -> str:
    """Plain text of a docstring, in which nothing but backticks and lists is taken for markup."""
    return "\n\n".join(
        f"```text\n{part}\n```" if part.startswith(">>> ") else _escaped(part) for part in text.split("\n\n")
    )


def _escaped(text: str) -> str:
    lines = []
    for line in text.split("\n"):
        parts = line.split("`")
        if not line.startswith("    "):  # a block of its own
            parts[::2] = [re.sub(r"(?<!\*)\*(?!\*)|[<$\[\]]|(?<!\w)_|_(?!\w)", r"\\\g<0>", part) for part in parts[::2]]
        lines.append("`".join(parts))
    return "\n".join(lines)


def cell(text: str) -> str:
    """The same in a cell of a table, where a line ends it and a bar the cell."""
    return " ".join(markdown(text).replace("|", r"\|").split())
