"""Output of a run: lines for a person, JSON for a program, progress and tables on a terminal."""

import json
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, TextIO

import click

from shoal.cli.log import Log
from shoal.cli.wrapping import wrapped
from shoal.vocabulary.errors import Refused, plural, printable
from shoal.vocabulary.progress import QUIET_SECONDS, OnProgress

WIDE = 160
"""Width, in characters, of a table that goes into a file or a pipe."""

FEWEST = 12
"""Least width of a column whose text has several words."""


def _fitted(text: str, stream: TextIO) -> str:
    """Text wrapped to the width of a terminal; unchanged for any other destination."""
    return wrapped(text, get_terminal_size().columns) if stream.isatty() else text


def _whole_columns(titles: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[bool]:
    """For each column, True if it is not wrapped: its cells are single words or figures, and the others fit."""
    cells = [list(column) for column in zip(*rows)] or [[] for _ in titles]
    single = [bool(column) and all(" " not in cell or len(cell) < FEWEST for cell in column) for column in cells]
    needed = [
        max(len(title), *map(len, column)) if whole else FEWEST for title, column, whole in zip(titles, cells, single)
    ]
    return single if sum(needed) + 3 * len(needed) + 1 <= width else [False] * len(needed)


class Terminal:
    """Prints and logs as the options of every command ask."""

    def __init__(self) -> None:
        self.quiet = False
        self.as_json = False
        self.log = Log()

    def set(self, option: str, value: Any) -> None:
        """Set one of the options `quiet`, `as_json` and `log` (the place to log to)."""
        if option == "log":
            self.log.send(value)
        else:
            setattr(self, option, value)

    def say(self, text: str, *, whole: bool = False) -> None:
        """Print a line for a person: silent under --quiet and --json, wrapped to a terminal's width unless `whole`."""
        if not self.quiet and not self.as_json:
            click.echo(printable(text if whole else _fitted(text, sys.stdout), keep="\n"))

    def note(self, text: str) -> None:
        """Print a caution on standard error, so that it never mixes with a result."""
        self.log.warning("%s", text)
        if not self.quiet:
            click.echo(printable(_fitted(f"shoal: note: {text}", sys.stderr), keep="\n"), err=True)

    def result(self, content: Mapping[str, object]) -> None:
        """Print a result for a program, under --json only."""
        if self.as_json:
            click.echo(json.dumps(content, indent=2, default=str))

    def failed(self, status: int, kind: str, text: str, *, shown: bool = False, refused: Refused | None = None) -> int:
        """Report a failed run to a person, a program and the log.

        Parameters
        ----------
        kind
            Name of the error.
        shown
            True if the message was already printed.
        refused
            The refusal, if that is the reason.

        Returns
        -------
        The exit status.
        """
        if not shown:
            click.echo(printable(_fitted(text, sys.stderr), keep="\n"), err=True)
        self.log.error("%s", text.removeprefix("shoal: "))
        verdicts = () if refused is None else refused.verdicts
        if self.as_json:
            content = {
                "exit status": status,
                "error": {"kind": kind, "message": text.removeprefix("shoal: ")},
                "requirements": [verdict.private_form() for verdict in verdicts],
                "what would help": []
                if refused is None
                else [f"{advice.remedy} {advice.effect}".rstrip() for advice in refused.advice],
            }
            self.result(content)
        return status

    def judged(self, evidence: Any) -> None:
        """Print and log verdicts and figures."""
        for line in evidence.lines():
            self.say(line)
        for verdict in evidence.verdicts:
            self.log.info("%s %s", "proved" if verdict.holds else "REFUTED", verdict.requirement)

    def table(self, titles: Sequence[str], rows: Iterable[Sequence[str]], bold: Sequence[Collection[int]] = ()) -> None:
        """Print a table for a person, as wide as the terminal; `bold` has the places of emphasised cells by row."""
        if self.quiet or self.as_json:
            return
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text  # a plain string would be read for markup

        console = Console(width=None if sys.stdout.isatty() else WIDE)
        rows = [[printable(cell) for cell in row] for row in rows]
        table = Table()
        for title, whole in zip(titles, _whole_columns(titles, rows, console.width)):
            table.add_column(Text(printable(title)), overflow="fold", no_wrap=whole)  # a name that is cut is of no use
        for row, best in zip_longest(rows, bold, fillvalue=()):
            table.add_row(*(Text(cell, style="bold" if i in best else "") for i, cell in enumerate(row)))
        console.print(table)

    @contextmanager
    def progress(self) -> Iterator[Any]:
        """A callback for `shoal.protect`; after a second of work it shows a bar on standard error."""
        if self.quiet or not sys.stderr.isatty():
            yield self._logged(lambda text, fraction: None)
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        bar = Progress(*columns, console=Console(stderr=True), transient=True)
        task = bar.add_task("", total=1.0)
        began = time.monotonic()

        def stage(text: str, fraction: float) -> None:
            if time.monotonic() - began > QUIET_SECONDS and not bar.live.is_started:
                bar.start()
            bar.update(task, description=text, completed=fraction)

        try:
            yield self._logged(stage)
        finally:
            bar.stop()

    def _logged(self, stage: OnProgress) -> OnProgress:
        """The callback, which also logs each new stage."""
        last = ""

        def logged(text: str, fraction: float) -> None:
            nonlocal last
            if text != last:
                self.log.info("%s", text)
            last = text
            stage(text, fraction)

        return logged

    def tried(self, release: Any) -> None:
        """Print the result of a dry run."""
        self._shown(release, {"dry run": True})
        self.say("\nDry run: nothing was written.")

    def released(self, release: Any, out: Path) -> None:
        """Print verdicts and figures of a release, and its directory."""
        report, engine = out / "release" / "report.html", release.record["engine"]
        where = {"directory": str(out), "report": str(report), "engine": engine, "seed": "in private/record.json"}
        self._shown(release, where)
        proved = release.account.proved
        leaves = "may leave the building" if proved else "UNPROVED: nothing says that it may leave the building"
        self.log.info("wrote %s", out)
        self.say(f"\nTable     {'held whole' if engine == 'whole' else f'in parts, by {engine}'}")
        self.say(f"Release   {out / 'release'}   ({leaves})")
        self.say(f"Private   {out / 'private'}   (may not)")
        self.say(f"Report    {report.resolve().as_uri()}")

    def _shown(self, release: Any, more: Mapping[str, Any]) -> None:
        """Print verdicts and figures of a release, and the head of its report."""
        from shoal.release.evidence_file import left_as_they_came, private_evidence
        from shoal.report.decision import decision

        head = decision(private_evidence(release))
        points = {point.label: list(point.sentences) for point in head.points}
        self.result(
            {
                "exit status": 0,
                **more,
                "proved": release.account.proved,
                "decision": {"status": head.status, "heading": head.heading, **points},
                **left_as_they_came(release),
                **release.evidence.as_mapping(),
            }
        )
        self._noted(release)
        self.say(f"\n{head.word}: {head.heading}")
        for sentence in points.get("To decide", ()):
            self.say(f"decide    {sentence}")

    def _noted(self, release: Any) -> None:
        """Print verdicts, figures and cautions."""
        from shoal.plan.steps import LOSS, LOSS_OF_RECORDS
        from shoal.release.evidence_file import left_as_they_came
        from shoal.report.unchanged import unchanged_sentence

        if sentence := unchanged_sentence(left_as_they_came(release)):
            self.note(sentence)
        self.judged(release.evidence)
        for name, odd in release.account.odd_values.items():
            counts = " and ".join(f"{plural(count, 'value')} {why}" for why, count in odd.items())
            self.note(
                f"'{name}' has {counts}; if such values are impossible, set support in the step that made them, or add "
                f"a rule under constraints."
            )
        for step in release.account.steps:
            if LOSS_OF_RECORDS in step.facts:
                unit = str(step.facts["unit"].value).partition(",")[0]
                self.note(
                    f"{step.step} formed groups of {unit}s, for the table has a {unit} column: information loss "
                    f"{step.facts[LOSS].value:.3g} %, of groups of records {step.facts[LOSS_OF_RECORDS].value:.3g} %. "
                    f"Choose with unit: {unit} or unit: record in the step."
                )
        if len(release.copies) > 1:
            what, but = "tables", "not on all of them together, which tell more"
            if isinstance(release.data, dict):
                what, but = "copies", "and who stands in one as in the original was counted over all of them together"
            self.note(f"The requirements were proved on each of {len(release.copies)} {what} by itself, {but}.")
        if not release.account.proved:
            self.note("UNPROVED: the plan requires nothing that protects anybody, so nothing protects this release.")
