"""Hierarchies: show one, check it, build one from a column."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.group import cli, pass_terminal
from shoal.cli.reading import FILE, OUTPUT, Options, read, reading_options
from shoal.cli.terminal import Terminal
from shoal.vocabulary.errors import InputError, SchemaError, plural, quoted

if TYPE_CHECKING:
    from shoal.table.hierarchy import Hierarchy
    from shoal.table.hierarchy_faults import Fault

SHOWN = 10
"""Most values that are listed, of those that a hierarchy lacks or that no record has."""


@cli.group()
def hierarchy() -> None:
    """Show a hierarchy, check it, or build one from a column. The output is private.

    A HIERARCHY is the name of a file (rows as ARX has them, or in YAML a tree), or a form as in a plan.

    \b
    Examples:
      shoal hierarchy show towns.yaml
      shoal hierarchy check towns.csv --data people.csv --column town
      shoal hierarchy build people.csv age '{intervals: [5, 10, 50]}' --out age.csv
    """


def _column_options(command: Any) -> Any:
    """Give a command options for the table and column that a hierarchy is for."""
    options = (
        click.option("--data", type=FILE, help="Table that has the column."),
        click.option("--column", help="Column of the table; by default the only one."),
    )
    for option in reversed(options):
        command = option(command)
    return reading_options(command)


@hierarchy.command()
@click.argument("form", metavar="HIERARCHY")
@_column_options
@click.option("--most", type=click.IntRange(1), default=100, show_default=True, help="Labels to list.")
@pass_terminal
def show(terminal: Terminal, form: str, data: Path | None, column: str | None, most: int, reading: Options) -> None:
    """Show the levels of HIERARCHY and its labels as a tree, with the records of a column under each.

    \b
    Examples:
      shoal hierarchy show towns.csv
      shoal hierarchy show '{prefix: [3, 1]}' --data people.csv --column postcode
    """
    counts = _counts(terminal, data, column, reading)
    tree = _loaded(form, counts)
    levels = [_level(tree, level, counts) for level in range(tree.height + 1)]
    terminal.result({"levels": levels, "paths": [list(path) for path in tree.paths]})
    records = ["fewest records"] if counts is not None else []
    terminal.table(
        ["level", "labels", "most values under one", *records],
        [[f"{value:,}" for value in level.values()] for level in levels],
    )
    for line in _tree_lines(tree, counts, most):
        terminal.say(line)


@hierarchy.command()
@click.argument("form", metavar="HIERARCHY")
@_column_options
@pass_terminal
def check(terminal: Terminal, form: str, data: Path | None, column: str | None, reading: Options) -> None:
    """List all mistakes in HIERARCHY: blanks, leaves that occur twice, labels with two parents.

    With a table, values of its column that the hierarchy lacks are mistakes too. What is allowed but seldom meant is
    listed as well.

    \b
    Examples:
      shoal hierarchy check towns.csv
      shoal hierarchy check towns.csv --data people.csv --column town

    Exit status: 2 if there is a mistake.
    """
    from shoal.table.hierarchy_faults import Fault, cautions, faults, rooted

    counts = _counts(terminal, data, column, reading)
    rows = _rows(form, counts)
    mistakes = faults(rows)
    remarks = [] if mistakes else cautions(rooted(rows), counts)
    leaves = {row[0] for row in rows}
    lacking = tuple(value for value in counts or () if value not in leaves)
    if lacking:
        what = f"The hierarchy lacks {plural(len(lacking), 'value')} of '{column or 'the column'}'"
        mistakes = [*mistakes, Fault(what, labels=lacking, mend="Add a row for each.")]
    terminal.result(
        {
            "mistakes": [_described(fault) for fault in mistakes],
            "to look at": [_described(problem) for problem in remarks],
        }
    )
    for word, problems in (("mistake", mistakes), ("look at", remarks)):
        for problem in problems:
            terminal.say(f"{word:<9} {problem}{_listed(problem.labels)}")
    if mistakes:
        raise SchemaError(f"The hierarchy has {plural(len(mistakes), 'mistake')}.")
    terminal.say(f"checked   {plural(len(rows), 'value')}, {plural(len(rooted(rows)[0]) - 1, 'level')} above them")


@hierarchy.command()
@click.argument("data", type=FILE)
@click.argument("column")
@click.argument("form")
@click.option("--out", type=OUTPUT, help="File to write, in ARX's form, private; printed by default.")
@reading_options
@pass_terminal
def build(terminal: Terminal, data: Path, column: str, form: str, out: Path | None, reading: Options) -> None:
    """Build a hierarchy of the form FORM for COLUMN of DATA, and write it as a file that a plan can name.

    \b
    FORM is as in a plan, or one that needs the whole table:
      {intervals: [5, 10, 50]}      numbers in intervals of these widths
      {rounding: [5, 10]}           numbers rounded to multiples
      {masking: right}              codes, one more character masked at each level
      {masking: {side: right, padding: "0"}}   the same, shorter ones padded in front
      {prefix: [3, 1]}              codes under their first so many characters
      {dates: [month, year]}        days under spans of time
      {priority: [Bonn, [Arles]]}   the least important values become 'other' first
      {order: [2, 4]}               values in their order, so many together
      {frequency: [5, 50]}          values of fewer records become 'other'

    \b
    Examples:
      shoal hierarchy build people.csv age '{intervals: [5, 10, 50]}' --out age.csv
      shoal hierarchy build people.csv town '{frequency: [20, 100]}' --out town.csv
    """
    from shoal.table.files.atomic import atomic_file

    tree = _loaded(form, _counts(terminal, data, column, reading))
    terminal.result({"paths": [list(path) for path in tree.paths]})
    if out is None:
        terminal.say(tree.as_csv().removesuffix("\n"), whole=True)
        return
    with atomic_file(out, 0o600) as temporary:  # its leaves are cells
        tree.to_csv(temporary)
    terminal.say(f"written   {out}: {plural(len(tree.paths), 'value')}, {plural(tree.height, 'level')} above them")


def _counts(
    terminal: Terminal, data: Path | None, column: str | None, reading: Mapping[str, Any]
) -> dict[str, int] | None:
    """Records by value of the column that a hierarchy is for; None without a table."""
    import narwhals.stable.v2 as nw

    from shoal.table.cells import value_counts

    if data is None:
        if column is not None:
            raise InputError("--column names a column of a table; give the table with --data.")
        return None
    frame = read(terminal, data, reading).frame
    if column is None and len(frame.columns) > 1:
        raise InputError(f"'{data}' has several columns; say with --column which one the hierarchy is for.")
    name = frame.columns[0] if column is None else column
    if name not in frame.columns:
        raise InputError(f"'{data}' has no column {quoted([name])}; it has {quoted(frame.columns)}.")
    return value_counts(nw.from_native(frame[name], series_only=True))


def _form(text: str) -> Any:
    """A form as it stands in a plan, or a file's name."""
    from shoal.table.yaml_text import parse_yaml

    return parse_yaml(text, "The form of the hierarchy") if text.lstrip().startswith("{") else text


def _loaded(text: str, counts: Mapping[str, int] | None) -> "Hierarchy":
    from shoal.table.hierarchy_forms import hierarchy_of, of_values

    form = _form(text)
    if counts is None and of_values(form):
        raise InputError("This form builds a hierarchy from the values of a column; give it with --data and --column.")
    return hierarchy_of(form, counts or {}, Path())


def _rows(text: str, counts: Mapping[str, int] | None) -> tuple[tuple[str, ...], ...]:
    """The rows of a file, mistakes included; for a form, those of its hierarchy."""
    from shoal.table.hierarchy import rows_in

    return rows_in(text) if isinstance(_form(text), str) else _loaded(text, counts).paths


def _level(tree: "Hierarchy", level: int, counts: Mapping[str, int] | None) -> dict[str, int]:
    """The number of labels of a level, the most values under one of them, and the records of the rarest."""
    values: dict[str, int] = {}
    records: dict[str, int] = {}
    for path in tree.paths:
        values[path[level]] = values.get(path[level], 0) + 1
        records[path[level]] = records.get(path[level], 0) + (counts or {}).get(path[0], 0)
    rarest = {"fewest records": min(records.values())} if counts is not None else {}
    return {"level": level, "labels": len(values), "most values": max(values.values()), **rarest}


def _tree_lines(tree: "Hierarchy", counts: Mapping[str, int] | None, most: int) -> Iterator[str]:
    """The labels from the root down, each once under its parent; a label that repeats from level to level only once."""
    nodes: dict[tuple[str, ...], list[int]] = {}
    for path in tree.paths:
        down = tuple(reversed(path))
        for depth in range(1, len(down) + 1):
            if depth == 1 or down[depth - 1] != down[depth - 2]:
                values, records = nodes.setdefault(down[:depth], [0, 0])
                nodes[down[:depth]] = [values + 1, records + (counts or {}).get(path[0], 0)]
    ordered = _depth_first(nodes)
    for place in ordered[:most]:
        values, records = nodes[place]
        under = [plural(values, "value")] * (len(place) <= tree.height and values > 1)
        under += [plural(records, "record")] * (counts is not None)
        depth = sum(above != below for above, below in zip(place, place[1:]))
        yield f"{'  ' * depth}{place[-1]}" + (f"   ({', '.join(under)})" if under else "")
    if len(ordered) > most:
        yield f"... and {len(ordered) - most:,} labels more; see all with --most {len(ordered)}"


def _depth_first(nodes: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Nodes in depth-first order, branches in the order in which they first occur."""
    first: dict[tuple[str, ...], int] = {place: number for number, place in enumerate(nodes)}
    return sorted(first, key=lambda place: [first[place[:d]] for d in range(1, len(place) + 1) if place[:d] in first])


def _described(fault: "Fault") -> Mapping[str, object]:
    return {"rule": fault.rule, "rows": list(fault.rows), "labels": list(fault.labels), "mend": fault.mend}


def _listed(labels: tuple[str, ...]) -> str:
    """Labels, to follow a sentence about them."""
    if not labels:
        return ""
    more = f" and {len(labels) - SHOWN:,} more" if len(labels) > SHOWN else ""
    return f" {quoted(labels[:SHOWN])}{more}"
