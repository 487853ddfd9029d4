"""The evidence of a release for regulators."""

from pathlib import Path

import click

import shoal
from shoal.cli.group import cli, pass_terminal
from shoal.cli.reading import FILE, OUTPUT
from shoal.cli.terminal import Terminal


@cli.command()
@click.argument("release", type=FILE)
@click.option("--out", type=OUTPUT, required=True, help="File to write: .html, or .docx to be edited.")
@click.option(
    "--private", is_flag=True, help="Show the exact, private figures; the dossier may then not leave the building."
)
@pass_terminal
def dossier(terminal: Terminal, release: Path, out: Path, private: bool) -> None:
    """Write the evidence of RELEASE in the order of a regulator's questions.

    WP216's three questions, ISO/IEC 27559, HIPAA expert determination, European Health Data Space. Every statement
    refers to its figure in evidence.json; a field is left to fill in for whatever no program can know.

    \b
    Examples:
      shoal dossier release-1 --out dossier.html
      shoal dossier release-1 --out dossier.docx --private
    """
    written = shoal.dossier(release, private=private).write(out)
    terminal.result({"dossier": str(written), "private": private})
    terminal.say(
        f"Dossier   {written.resolve().as_uri()}   ({'may not leave' if private else 'may leave'} the building)"
    )
