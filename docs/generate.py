"""Write the reference pages that follow from the code: `python docs/generate.py`."""

import json
import re
from collections.abc import Iterator
from functools import partial
from inspect import cleandoc
from pathlib import Path
from typing import Any, get_type_hints

import click
from api_page import api_page
from front_picture import front_picture
from method_pages import kind_in_words, method_page, methods_page
from pydantic import BaseModel
from pydantic.fields import FieldInfo

import shoal
from shoal.cli import cli
from shoal.plan import Plan
from shoal.plan.sections import About, EditRules, LedgerRules, Output
from shoal.table.schema import Column
from shoal.vocabulary.glossary import TERMS
from shoal.vocabulary.parameters import docstring_sections
from shoal.vocabulary.registry import KIND_NAMES, SCALE_NAMES, registered

REFERENCE = Path(__file__).parent / "reference"
GROWTH = Path(__file__).parents[1] / "bench" / "growth.json"
PLEASANT = 10.0
"""CPU seconds that are waited for with pleasure."""


def scaling_page() -> str:
    parts = [
        "# Methods and tables in parts\n",
        "How each method works on a table in parts ([how to](../howto/large-tables.md)). What needs more records at "
        "once than `--memory` holds is refused before the run begins, with how much it needs and what needs less.\n",
    ]
    for scales, meaning in SCALE_NAMES.items():
        parts.append(f"\n## {meaning[0].upper()}{meaning[1:]}\n\n| kind | methods |\n| --- | --- |")
        for kind, name in KIND_NAMES.items():
            if methods := [f"`{entry.name}`" for entry in registered(kind) if entry.cls.scales == scales]:
                parts.append(f"| {name} | {', '.join(methods)} |")
    return "\n".join([*parts, *growth_table()]) + "\n"


def growth_table() -> Iterator[str]:
    """The growth of each method with the records, as `bench/growth.py grid` measured it."""
    yield "\n## Measured growth\n"
    yield (
        "CPU seconds of one call on a busy machine, with four columns and a k of 5, at the most records that were "
        "tried (`python bench/growth.py grid`; a method's sizes end with the first that takes long). The exponent is "
        "the slope of the logarithms between the two largest sizes. How many records ten seconds are enough for "
        "follows from it, or from 1 where it is less.\n"
    )
    yield "| method | records | CPU s | MB | exponent | in ten seconds |\n| --- | ---: | ---: | ---: | ---: | ---: |"
    figures = json.loads(GROWTH.read_text("utf-8"))
    slow = list[str]()
    for name in sorted(figures):
        measured = figures[name]["records"]
        if not measured["points"]:
            slow.append(f"`{name.split()[-1]}`")
        else:
            size, seconds, megabytes = measured["points"][-1]
            slope = measured["exponent"]
            yield (
                f"| {name} | {size:,} | {seconds:.2f} | {megabytes:,} | {'' if slope is None else slope} | "
                f"{'' if slope is None else f'{rounded(size * (PLEASANT / seconds) ** (1 / max(slope, 1))):,}'} |"
            )
    yield f"\nOver three seconds with 1,000 records: {', '.join(slow)}."
    yield from steep_columns(figures)


STEEP = 1.3
"""Exponent in the columns from which on a method is named."""


def steep_columns(figures: dict[str, Any]) -> Iterator[str]:
    """The methods whose cost grows much faster than the columns."""
    slopes = {name: figures[name].get("columns", {}).get("exponent") for name in sorted(figures)}
    steep = [f"`{name.split()[-1]}` {slope}" for name, slope in slopes.items() if slope is not None and slope > STEEP]
    yield (
        f"\nWith the columns the cost of most methods grows in proportion. Exponents above {STEEP} (from 16 to 64 "
        f"columns, or from 4 to 16 where these took long): {', '.join(steep)}. Models of several columns fit a "
        "regression or trees for each column, on up to all others; measures look at pairs or threes of columns; the "
        "model of `propensity` has a coefficient for each pair. What is known of a column by itself is made once."
    )


def rounded(number: float) -> int:
    """A number with one digit that counts."""
    return int(float(f"{number:.0e}"))


def glossary_page() -> str:
    terms = sorted(TERMS, key=lambda term: term.name)
    lead = (
        "The words of the field as shoal uses them. The studio shows them where a word is pointed at, or has the focus."
    )
    return "\n\n".join(["# Glossary", lead, *(f"**{term.name}**\n: {term.meaning}" for term in terms)]) + "\n"


def plan_page() -> str:
    """The page of the plan, its tables (between `<!-- keys: NAME -->` and `<!-- end -->`) written from the model."""
    page = (REFERENCE / "plan.md").read_text(encoding="utf-8")
    tables = {"Plan": _sections_of_a_plan, **{model.__name__: partial(_keys, model) for model in MODELS}}
    return re.sub(
        r"(<!-- keys: (\w+) -->\n).*?(<!-- end -->)",
        lambda match: f"{match[1]}\n{tables[match[2]]()}\n\n{match[3]}",
        page,
        flags=re.S,
    )


MODELS: tuple[type[BaseModel], ...] = (Column, About, EditRules, Output, LedgerRules)


def _meanings(cls: type) -> dict[str, str]:
    """What the docstring says of each parameter, in one line."""
    return {
        name: " ".join(meaning.split())
        for names, meaning in docstring_sections(cls.__doc__)[1].items()
        for name in names.split(", ")
    }


def _sections_of_a_plan() -> str:
    said, hints = _meanings(Plan), get_type_hints(Plan, include_extras=True)
    rows, sections = [], Plan.json_schema()["properties"]
    for name, meaning in said.items():
        key = next((m.alias for m in getattr(hints[name], "__metadata__", ()) if getattr(m, "alias", None)), name)
        if key in sections:
            rows.append(f"| `{key}` | {meaning} |")
    return "\n".join(["| section | says |", "| --- | --- |", *rows])


def _keys(model: type[BaseModel]) -> str:
    """A table of the keys of a section: what may stand there, and what is meant where it is left out."""
    properties, said = model.model_json_schema()["properties"], _meanings(model)
    rows = [
        f"| `{key}` | {_values(properties[key])} | {_default(field)} | {said[key]} |"
        for key, field in model.model_fields.items()
    ]
    return "\n".join(["| key | values | default | says |", "| --- | --- | --- | --- |", *rows])


def _values(schema: dict[str, Any]) -> str:
    """What may stand under a key of a plan file, in few words."""
    kinds = [kind for kind in schema.get("anyOf", [schema]) if kind.get("type", "null") != "null"]
    return " or ".join(dict.fromkeys(map(kind_in_words, kinds)))


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.default
    if default is None or default == ():
        return ""
    return str(default).lower() if isinstance(default, bool) else str(default)


STATUSES = """Exit statuses:

| status | means |
| --- | --- |
| 0 | done, and everything that was required is proved |
| 1 | an error that nobody foresaw: the system refused a file, or memory ran out |
| 2 | wrong use or bad input: an option, a plan, a file or a table |
| 3 | a requirement is not met; nothing was written |
| 130 | interrupted by Ctrl-C or by the system |

`--quiet`, `--json` and `--log` may stand before the command or after it. Every option can come from the environment:
those three as `SHOAL_QUIET`, `SHOAL_JSON` and `SHOAL_LOG`, an option of a command as `SHOAL_COMMAND_OPTION`, so
`SHOAL_PROTECT_SEED` for `--seed` of `protect`. [Run unattended](../howto/run-unattended.md) tells what `--json` prints
and what the log holds. `man shoal` shows this page in a terminal.
"""


def _context(above: click.Context | None, name: str, command: click.Command) -> click.Context:
    """What shows the help of a command."""
    return click.Context(
        command,
        info_name=name,
        parent=above,
        max_content_width=100,
        terminal_width=100,
        help_option_names=cli.context_settings["help_option_names"],
    )


def _commands(group: click.Group, above: click.Context) -> Iterator[click.Context]:
    """Every command of a group, those of groups in it after them."""
    for name, command in sorted(group.commands.items()):
        context = _context(above, name, command)
        yield context
        if isinstance(command, click.Group):
            yield from _commands(command, context)


def commands_page() -> str:
    group = _context(None, "shoal", cli)
    parts = ["# Commands\n", STATUSES, f"```text\n{cli.get_help(group)}\n```\n"]
    parts += [
        f"\n## {context.command_path}\n\n```text\n{context.command.get_help(context)}\n```\n"
        for context in _commands(cli, group)
    ]
    return "\n".join(parts)


def man_page() -> str:
    """The same for `man shoal`, in the macros of man(7)."""
    group = _context(None, "shoal", cli)
    parts = [
        '.TH SHOAL 1 "" shoal',
        f".SH NAME\nshoal \\- {_roff(cli.get_short_help_str(limit=200).rstrip('.').lower())}",
        '.SH SYNOPSIS\n.B shoal\n.RI [ options ] " command " [ options ] " " [ arguments ]',
        f".SH DESCRIPTION\n{_man_text(cli)}",
        f".SH OPTIONS\n{_man_options(group)}",
    ]
    for context in _commands(cli, group):
        usage = " ".join(context.command.collect_usage_pieces(context))
        parts.append(f".SH {context.command_path.upper()}\n.B {context.command_path}\n{_roff(usage)}")
        parts.append(f".PP\n{_man_text(context.command)}\n{_man_options(context)}")
    return "\n".join(part.rstrip("\n") for part in parts) + "\n"


def _roff(text: str) -> str:
    """Text in which nothing is taken for a request or an escape."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in escaped.split("\n"))


def _man_text(command: click.Command) -> str:
    """The paragraphs of a command's help; those that are marked keep their lines."""
    paragraphs = []
    for paragraph in cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith("\b"):
            paragraphs.append(f".nf\n{_roff(paragraph[1:].strip(chr(10)))}\n.fi")
        else:
            paragraphs.append(_roff(" ".join(paragraph.split())))
    return "\n.PP\n".join(paragraphs)


def _man_options(context: click.Context) -> str:
    """Each option with what it says and the name that it has in the environment."""
    parts = []
    for option in context.command.get_params(context):
        if isinstance(option, click.Option) and (record := option.get_help_record(context)):
            variable = f" ({option.envvar})" if option.envvar else ""
            parts.append(f".TP\n.B {_roff(record[0])}\n{_roff(record[1] + variable)}")
    return "\n".join(parts)


def stub() -> str:
    """What the package offers, for editors and type checkers: at run time its names are looked up when used."""
    homes = {name: f"shoal.{home}" for name, home in shoal._HOMES.items()}
    homes |= {entry.cls.__name__: entry.cls.__module__ for entry in registered()}
    names = sorted(homes, key=lambda name: (homes[name], name))
    return "\n".join(
        [
            '"""Written by docs/generate.py: the names of the package and where they are made."""',
            "",
            *(f"from {homes[name]} import {name} as {name}" for name in names),
            "",
            "__version__: str",
            "",
        ]
    )


PAGES = {
    REFERENCE / "methods.md": methods_page,
    **{REFERENCE / "methods" / f"{entry.name}.md": partial(method_page, entry) for entry in registered()},
    REFERENCE / "api.md": api_page,
    REFERENCE / "commands.md": commands_page,
    REFERENCE / "plan.md": plan_page,
    REFERENCE / "glossary.md": glossary_page,
    REFERENCE / "scaling.md": scaling_page,
    REFERENCE.parent / "front.svg": front_picture,
    Path(__file__).parents[1] / "man" / "shoal.1": man_page,
    Path(__file__).parents[1] / "src" / "shoal" / "__init__.pyi": stub,
}


def left_over() -> list[Path]:
    """Pages of methods that there are no more."""
    return sorted(set((REFERENCE / "methods").glob("*.md")) - PAGES.keys())


def main() -> None:
    for path in left_over():
        path.unlink()
    for path, make in PAGES.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
