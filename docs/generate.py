"""Write the reference pages that follow from the code: `python docs/generate.py`."""

import textwrap
from dataclasses import MISSING
from inspect import getdoc
from pathlib import Path

import click

import shoal
from shoal.cli import cli
from shoal.methods import Entry, registered

REFERENCE = Path(__file__).parent / "reference"
KINDS = {
    "partition": ("Partitions", "Ways to divide records into groups: `{partition: NAME, ...}` in a plan."),
    "replace": ("Replacements", "What takes the place of a group's records: `replace: NAME` beside a partition."),
    "mask": ("Masks", "Masking column by column: `{mask: NAME, columns: [...], ...}` in a plan."),
    "privacy": ("Privacy models", "What can be required: `{privacy: NAME, ...}` under `requirements`."),
    "risk": ("Measures of risk", "What can be measured: `{risk: NAME}` under `measures`."),
    "utility": ("Measures of utility", "What can be measured: `{utility: NAME}` under `measures`."),
}


def methods_page() -> str:
    parts = ["# Methods\n", "Every method is also a name of the package, as in `shoal.MDAV(k=5)`.\n"]
    for kind, (title, what) in KINDS.items():
        parts += [f"\n## {title}\n", f"{what}\n", *(_method(entry) for entry in registered(kind))]
    return "\n".join(parts)


def _method(entry: Entry) -> str:
    parameters = sorted(entry.parameters.items(), key=lambda parameter: parameter[1] is not MISSING)
    shown = ", ".join(k if default is MISSING else f"{k}={_short(default)}" for k, default in parameters)
    body = textwrap.indent(getdoc(entry.cls) or "", "    ")
    source = f" Source: {entry.source}." if entry.source else ""
    return f"\n### {entry.name}\n\n{entry.title}. `shoal.{entry.cls.__name__}({shown})`.{source}\n\n{body}\n"


def _short(default: object) -> str:
    name = getattr(default, "method_name", None)
    return f"{{method: {name}, ...}}" if name else repr(default)


def commands_page() -> str:
    parts = [
        "# Commands\n",
        "Exit statuses: 0 done, 1 unexpected error, 2 wrong use or bad input, 3 a requirement is not met, "
        "130 interrupted.\n",
    ]
    context = click.Context(
        cli,
        info_name="shoal",
        max_content_width=100,
        terminal_width=100,
        help_option_names=cli.context_settings["help_option_names"],
    )
    parts.append(f"```text\n{cli.get_help(context)}\n```\n")
    for name, command in sorted(cli.commands.items()):
        inner = click.Context(command, info_name=name, parent=context, max_content_width=100, terminal_width=100)
        parts.append(f"\n## shoal {name}\n\n```text\n{command.get_help(inner)}\n```\n")
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
    REFERENCE / "commands.md": commands_page,
    Path(__file__).parents[1] / "src" / "shoal" / "__init__.pyi": stub,
}


def main() -> None:
    for path, make in PAGES.items():
        path.write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
