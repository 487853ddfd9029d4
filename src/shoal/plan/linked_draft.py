"""A drafted plan for linked tables: their keys and links, as they are guessed, and a plan for each table.

Profiles are made alike, and columns that would give back what that changes, too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import polars as pl

from shoal.judges.laws_of_table import laws_in_frame
from shoal.plan.draft import described_columns, key_text, to_accept
from shoal.plan.guess import Guess, K, guess
from shoal.plan.linked_evidence import FEWEST_VALUES
from shoal.plan.linked_guess import guess_links
from shoal.table.files.table import Table
from shoal.table.links import Key, key_columns
from shoal.vocabulary.errors import printable


def linked_plan_text(tables: Mapping[str, Table], files: Mapping[str, str]) -> str:
    """A plan file for linked tables, with the reason for each guess as a comment.

    Parameters
    ----------
    files
        Name of the file that each table was read from.
    """
    hanging = guess_links({name: table.frame for name, table in tables.items()})
    links = hanging.tables
    keys = {name: guessed.key for name, guessed in links.items()}
    lines = ["# Guessed from the tables of a folder. Correct links and roles before you trust a release."]
    lines += [f"# {printable(sentence)}" for sentence in hanging.left_out.values()]
    lines.append("tables:")
    for name, guessed in links.items():
        dropped = key_columns(keys, name, tables[name].frame.columns)
        own = replace(tables[name], frame=tables[name].frame.drop(dropped))
        lines += [f"  {key_text(name)}: # {printable(guessed.reason)}", f"    file: {key_text(files[name])}"]
        lines += [f"    {word}: {key_text(value)}" for word, value in _words(guessed.key)]
        lines += [
            f"    {line}" for line in _of_table(own, hanging.names[name], has_parent=guessed.key.parent is not None)
        ]
    k = min(K, len(tables[next(iter(links))].frame))
    return "\n".join(
        [
            *lines,
            "steps: # on all tables: k persons get the same rows, and what some of them have beside these goes",
            f"  - {{mask: profiles, k: {k}}}",
            "requirements: # over all tables: k persons share the whole profile, by which a row and its keys are known",
            f"  - {{privacy: k-anonymity, k: {k}}}",
            "measures: # over all tables: whom the whole profile singles out on average, and what is left of the cells",
            "  - {risk: marketer}",
            "  - {utility: information-kept}",
            "",
        ]
    )


def _words(key: Key) -> Iterator[tuple[str, str]]:
    for word, value in (("key", key.key), ("parent", key.parent), ("link", key.link)):
        if value is not None:
            yield word, value


def _of_table(table: Table, names: Mapping[str, str], *, has_parent: bool) -> Iterator[str]:
    """The plan of one table: its columns and how they are read. `names`: columns that look rows of a table up."""
    guesses = [_alone(_looking_up(guessed, names.get(guessed.name))) for guessed in guess(table)]
    guesses = _without_telling(guesses, table.frame)
    yield "columns:"
    yield from described_columns([_kept_missing(guessed, table.frame) for guessed in guesses])
    yield from to_accept(table.frame, guesses)
    days = [cells.name for cells in table.frame.iter_columns() if cells.dtype.is_temporal() or _days_as_numbers(cells)]
    if has_parent and days:
        order = key_text(days[0])
        yield f"# rows can be put in order; if that is known, add to profiles and to a requirement order: {order}"


def _days_as_numbers(cells: pl.Series) -> bool:
    """True for whole numbers that are all days, as 930105 or 19930105, and too many for that to be chance."""
    if not cells.dtype.is_integer() or cells.n_unique() < FEWEST_VALUES:
        return False
    digits = cells.drop_nulls().cast(pl.String)
    return any(
        bool((digits.str.len_bytes() == width).all()) and not digits.str.to_date(form, strict=False).has_nulls()
        for width, form in ((6, "%y%m%d"), (8, "%Y%m%d"))
    )


def _looking_up(guessed: Guess, table: str | None) -> Guess:
    """The guess for a column, of which no mean is a value where it looks up rows of a table."""
    if table is None:
        return guessed
    reason = f"{guessed.reason}; a name, for it looks up rows of '{printable(table)}'"
    return replace(guessed, level="nominal", reason=reason)


def _alone(guessed: Guess) -> Guess:
    """The guess for a column of linked tables, where a household's number is no use but to find its members."""
    if guessed.role != "household":
        return guessed
    reason = f"{guessed.reason}; left out, for it tells which persons are one household"
    return replace(guessed, role="identifier", missing="", reason=reason)


def _without_telling(guesses: list[Guess], frame: pl.DataFrame) -> list[Guess]:
    """The guesses, with columns made alike as well whose cells give others back that are."""
    roles = {guessed.name: guessed.role for guessed in guesses}
    some = [name for name, role in roles.items() if role in ("quasi-identifier", "confidential")]
    telling: dict[str, str] = {}
    for law in laws_in_frame(frame.select(some)):
        if roles[law.name] == "quasi-identifier" and (law.arithmetic or not law.exceptions):
            telling |= {source: law.name for source in law.sources if roles[source] == "confidential"}
    return [
        replace(
            guessed,
            role="quasi-identifier",
            missing="keep" if frame[guessed.name].null_count() else "",
            reason=f"{guessed.reason}; made alike, too, for it gives '{printable(telling[guessed.name])}' back",
        )
        if guessed.name in telling
        else guessed
        for guessed in guesses
    ]


def _kept_missing(guessed: Guess, frame: pl.DataFrame) -> Guess:
    """The guess with missing cells kept, since none has to be filled in for rows to be made alike."""
    if guessed.role != "quasi-identifier" or not guessed.missing:
        return guessed
    reason = guessed.reason.partition("; missing values")[0]
    lacking = frame[guessed.name].null_count()
    return replace(guessed, missing="keep", reason=f"{reason}; missing values ({lacking:,}) stay missing")
