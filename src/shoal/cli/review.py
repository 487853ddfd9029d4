"""Two people for a release: one hands it over, the other reviews, comments and approves."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

import shoal
from shoal.cli.group import cli, pass_terminal
from shoal.cli.reading import FILE, OUTPUT
from shoal.cli.terminal import Terminal

if TYPE_CHECKING:
    from shoal.release.review import Review

WHO = "Name of the person who does it."


@cli.group()
def review() -> None:
    """Have a release approved by a second person, who gets a file without data.

    \b
    Examples:
      shoal review make release-1 --by Ada --out review.json    Ada hands it over
      shoal review show review.json                             Bo looks at it,
      shoal review comment review.json "Why k = 5?" --by Bo     asks
      shoal review approve review.json --by Bo                  and approves,
      shoal review reject review.json "k is too low" --by Bo    or rejects
      shoal review record release-1 review.json                 Ada writes it into the release
    """


@review.command()
@click.argument("release", type=FILE)
@click.option("--by", required=True, help=WHO)
@click.option("--out", type=OUTPUT, required=True, help="File to write.")
@click.option(
    "--public", is_flag=True, help="Leave out the figures of the original; the reviewer then sees bands only."
)
@pass_terminal
def make(terminal: Terminal, release: Path, by: str, out: Path, public: bool) -> None:
    """Write RELEASE, a directory, as one file for a second person: plan and evidence, and no record of the table.

    \b
    Examples:
      shoal review make release-1 --by Ada --out review.json
      shoal review make release-1 --by Ada --out review.json --public
    """
    review = shoal.review(release, by, private=not public)
    review.write(out)
    terminal.result({"review": str(out), "sha256": review.sha256, "private": review.private is not None})
    terminal.say(f"Review    {out}   ({'no figure of the original' if public else 'has figures of the original'})")


@review.command()
@click.argument("file", type=FILE)
@pass_terminal
def show(terminal: Terminal, file: Path) -> None:
    """Show the release that FILE describes: plan, verdicts, figures, comments, and approval.

    \b
    Example:
      shoal review show review.json
    """
    review = shoal.Review.read(file)
    terminal.result({**_state(review), "evidence": review.evidence, "private": review.private})
    for line in _lines(review):
        terminal.say(line)


@review.command()
@click.argument("file", type=FILE)
@click.argument("text")
@click.option("--by", required=True, help=WHO)
@pass_terminal
def comment(terminal: Terminal, file: Path, text: str, by: str) -> None:
    """Add TEXT to the comments of FILE.

    \b
    Example:
      shoal review comment review.json "Why k = 5?" --by Bo
    """
    _written(terminal, shoal.Review.read(file).commented(by, text), file)


@review.command()
@click.argument("file", type=FILE)
@click.option("--by", required=True, help=WHO + " Not the person who handed it over.")
@pass_terminal
def approve(terminal: Terminal, file: Path, by: str) -> None:
    """Approve the release that FILE describes; look at it first with `shoal review show`.

    \b
    Example:
      shoal review approve review.json --by Bo
    """
    _written(terminal, shoal.Review.read(file).approved(by), file)


@review.command()
@click.argument("file", type=FILE)
@click.argument("why")
@click.option("--by", required=True, help=WHO + " Not the person who handed it over.")
@pass_terminal
def reject(terminal: Terminal, file: Path, why: str, by: str) -> None:
    """Reject the release that FILE describes, for the reason WHY; it can then be neither approved nor recorded.

    \b
    Example:
      shoal review reject review.json "k = 3 is too low for the public." --by Bo
    """
    _written(terminal, shoal.Review.read(file).rejected(by, why), file)


@review.command()
@click.argument("release", type=FILE)
@click.argument("file", type=FILE)
@pass_terminal
def record(terminal: Terminal, release: Path, file: Path) -> None:
    """Write the approval in FILE into both folders of RELEASE; an approval of any other release is refused.

    \b
    Example:
      shoal review record release-1 review.json
    """
    approved = shoal.approve(release, file)
    terminal.result({"directory": str(release), "approval": approved})
    terminal.say(f"Approved  {release} by {approved['by']} on {approved['when']}")


def _written(terminal: Terminal, review: "Review", file: Path) -> None:
    """Replace the file of a review, and print its state."""
    review.write(file)
    terminal.result(_state(review))
    for line in _remarks(review):
        terminal.say(line)


def _state(review: "Review") -> Mapping[str, object]:
    return {key: getattr(review, key) for key in ("by", "sha256", "comments", "approval", "rejection")}


def _lines(review: "Review") -> Iterator[str]:
    """A review for a person: figures of the original if they were handed over, else the public ones."""
    from shoal.report.forms import figure, in_unit

    shown = review.private or review.evidence
    yield f"Release of {review.evidence['records']:,} records, handed over by {review.by}"
    yield f"SHA-256   {review.sha256}"
    yield "\nPlan\n" + "\n".join(f"  {line}" for line in shown["plan"].splitlines()) + "\n"
    for verdict in shown["requirements"]:
        yield f"{'proved' if verdict['holds'] else 'REFUTED':<9} {verdict['requirement']}: {verdict['sentence']}"
    if not shown["requirements"]:
        yield "UNPROVED  the plan requires nothing that protects anybody."
    for measure in shown["measures"]:
        if measure["value"] is not None:
            before = measure.get("original")
            beside = "" if before is None else f" (of the table as it came {in_unit(before, measure)})"
            yield f"measured  {measure['title']}: {in_unit(measure['value'], measure)}{beside}"
    for profile in review.evidence["classes"][:1]:
        fewer = ", ".join(f"{figure(n)} among fewer than {k}" for k, n in profile["fewer than"].items())
        yield f"classes   the smallest has {figure(profile['smallest'])}; records: {fewer}"
    yield from _remarks(review)


def _remarks(review: "Review") -> Iterator[str]:
    for comment in review.comments:
        yield f"comment   {comment['by']}, {comment['when']}: {comment['text']}"
    if review.rejection is not None:
        yield f"rejected  by {review.rejection['by']} on {review.rejection['when']}"
    elif review.approval is None:
        yield "approval  none yet"
    else:
        yield f"approved  by {review.approval['by']} on {review.approval['when']}, SHA-256 {review.approval['sha256']}"
