"""A drafted plan for linked tables: their keys and links guessed from the cells, and a plan for each table.

A key is a column of whole numbers or of text with a value of its own in each row. A column links to it if it has the
same name, or is text of many values, and all of its values are among the key's. Of several tables that it could hang
on, a table hangs on the lowest. Profiles are made alike, and columns that would give back what that changes, too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import polars as pl

from shoal.judges.laws_of_table import laws_in_frame
from shoal.plan.draft import described_columns, key_text, to_accept
from shoal.plan.guess import Guess, K, guess
from shoal.table.files.table import Table
from shoal.table.links import Key, key_columns
from shoal.vocabulary.errors import DataError, printable, quoted

FEWEST_VALUES = 20
"""Fewest values of text that make a link of a column of another name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guessed:
    """A guessed key of a table, and why."""

    key: Key
    reason: str


def guess_links(frames: Mapping[str, pl.DataFrame]) -> dict[str, Guessed]:
    """The keys and links of some tables, that of persons first, every table after the one above it.

    Raises
    ------
    DataError
        If the tables do not hang together on one.
    """
    texts = {name: _candidates(frame) for name, frame in frames.items()}
    above = {name: list(_above(name, texts)) for name in frames}
    roots = [name for name, links in above.items() if not links]
    if len(roots) != 1:
        raise DataError(
            f"No links were seen that make all tables hang on one: {quoted(roots or frames)} "
            f"{'hangs' if len(roots) == 1 else 'hang'} on no other. A table links to another by a column with the name "
            f"of its key, whose values are all there. Write the plan by hand."
        )
    order = sorted(frames, key=lambda name: (_depth(name, above, ()), list(frames).index(name)))
    parents = {name: max(above[name], key=lambda link: _depth(link[0], above, ())) for name in order if above[name]}
    return {name: _guessed(name, texts, parents) for name in order}


def _guessed(
    name: str, texts: Mapping[str, Mapping[str, pl.Series]], parents: Mapping[str, tuple[str, str, str]]
) -> Guessed:
    lower = [key for parent, _, key in parents.values() if parent == name]
    own = lower[0] if lower else None
    parent, link, key = parents.get(name, (None, None, None))
    reasons = [] if own is None else [f"'{own}' has a value of its own in each row"]
    if parent is not None:
        values = texts[name][str(link)]
        reasons.append(f"all {values.n_unique():,} values of '{link}' are '{key}' of '{parent}'")
    return Guessed(key=Key(key=own, parent=parent, link=link), reason="; ".join(reasons))


def _candidates(frame: pl.DataFrame) -> dict[str, pl.Series]:
    """The columns of whole numbers or text without missing cells, as text."""
    named = {series.name: series for series in frame.iter_columns()}
    return {
        name: series.cast(pl.String)
        for name, series in named.items()
        if (series.dtype.is_integer() or series.dtype == pl.String) and not series.null_count() and len(series)
    }


def _above(name: str, texts: Mapping[str, Mapping[str, pl.Series]]) -> Iterator[tuple[str, str, str]]:
    """Tables that a table can hang on, each with the column of the link and the key."""
    for parent, columns in texts.items():
        for key, keys in columns.items():
            if parent != name and keys.n_unique() == len(keys):
                links = [link for link, cells in texts[name].items() if _links(cells, keys, first=parent < name)]
                if links:
                    yield parent, next((link for link in links if link == key), links[0]), key
                    break


def _links(cells: pl.Series, keys: pl.Series, *, first: bool) -> bool:
    """True if a column holds keys of another table. `first`: that table goes first if both hold the same keys."""
    if cells.name != keys.name and (cells.n_unique() < FEWEST_VALUES or not cells.str.contains(r"\D").all()):
        return False
    if not cells.is_in(keys.implode()).all():
        return False
    return len(cells) != len(keys) or cells.n_unique() < len(cells) or first


def _depth(name: str, above: Mapping[str, list[tuple[str, str, str]]], seen: tuple[str, ...]) -> int:
    """Number of tables on the longest way up."""
    upper = [parent for parent, _, _ in above[name] if parent not in seen and parent != name]
    return 1 + max((_depth(parent, above, (*seen, name)) for parent in upper), default=-1)


def linked_plan_text(tables: Mapping[str, Table], files: Mapping[str, str]) -> str:
    """A plan file for linked tables, with the reason for each guess as a comment.

    Parameters
    ----------
    files
        Name of the file that each table was read from.
    """
    links = guess_links({name: table.frame for name, table in tables.items()})
    keys = {name: guessed.key for name, guessed in links.items()}
    lines = ["# Guessed from the tables of a folder. Correct links and roles before you trust a release.", "tables:"]
    for name, guessed in links.items():
        dropped = key_columns(keys, name, tables[name].frame.columns)
        own = replace(tables[name], frame=tables[name].frame.drop(dropped))
        lines += [f"  {key_text(name)}: # {printable(guessed.reason)}", f"    file: {key_text(files[name])}"]
        lines += [f"    {word}: {key_text(value)}" for word, value in _words(guessed.key)]
        lines += [f"    {line}" for line in _of_table(own, has_parent=guessed.key.parent is not None)]
    k = min(K, len(tables[next(iter(links))].frame))
    return "\n".join(
        [
            *lines,
            "steps: # on all tables: k persons get the same rows, and what some of them have beside these goes",
            f"  - {{mask: profiles, k: {k}}}",
            "requirements: # over all tables: k persons share the whole profile, by which a row and its keys are known",
            f"  - {{privacy: k-anonymity, k: {k}}}",
            "",
        ]
    )


def _words(key: Key) -> Iterator[tuple[str, str]]:
    for word, value in (("key", key.key), ("parent", key.parent), ("link", key.link)):
        if value is not None:
            yield word, value


def _of_table(table: Table, *, has_parent: bool) -> Iterator[str]:
    """The plan of one table: its columns and how they are read."""
    guesses = _without_telling([_alone(guessed) for guessed in guess(table)], table.frame)
    yield "columns:"
    yield from described_columns([_kept_missing(guessed, table.frame) for guessed in guesses])
    yield from to_accept(table.frame, guesses)
    days = [name for name, dtype in table.frame.schema.items() if dtype.is_temporal()]
    if has_parent and days:
        order = key_text(days[0])
        yield f"# rows can be put in order; if that is known, add to profiles and to a requirement order: {order}"


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
