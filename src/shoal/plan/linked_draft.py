"""A drafted plan for linked tables: their keys and links guessed from the cells, and a plan for each table.

A key is a column of whole numbers or of text with a value of its own in each row. A column links to it if it has the
same name, or is text of many values, and all of its values are among the key's. Of several tables that it could hang
on, a table hangs on the lowest. How coarse columns are made, is tried (`shoal.plan.linked_coarsening`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import polars as pl

from shoal.plan.draft import described_columns, key_text, to_accept
from shoal.plan.guess import Guess, K, guess
from shoal.plan.linked_coarsening import Coarse, Rung, coarsened
from shoal.table.files.table import Table
from shoal.table.links import Key, key_columns
from shoal.vocabulary.errors import DataError, in_digits, printable, quoted
from shoal.vocabulary.registry import Spec

FEWEST_VALUES = 20
"""Fewest values of text that make a link of a column of another name."""

SUPPRESSED = 0.2
"""Share of the persons that a drafted plan may leave out."""


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
    frames = {name: table.frame for name, table in tables.items()}
    links = guess_links(frames)
    keys = {name: guessed.key for name, guessed in links.items()}
    own = {
        name: replace(tables[name], frame=frames[name].drop(key_columns(keys, name, frames[name].columns)))
        for name in keys
    }
    guesses = {name: [_alone(g) for g in guess(table)] for name, table in own.items()}
    coarse = coarsened({name: frames[name] for name in keys}, keys, guesses)
    lines = ["# Guessed from the tables of a folder. Correct links and roles before you trust a release."]
    lines += [*_expected(coarse), "tables:"]
    for name, guessed in links.items():
        lines += [f"  {key_text(name)}: # {printable(guessed.reason)}", f"    file: {key_text(files[name])}"]
        lines += [f"    {word}: {key_text(value)}" for word, value in _words(guessed.key)]
        rungs = {column: rung for (of, column), rung in coarse.rungs.items() if of == name}
        some = [_with_rung(g, rungs.get(g.name)) for g in guesses[name]]
        lines += [f"    {line}" for line in _of_table(own[name], some, rungs, guessed.key.parent is not None)]
    return "\n".join(
        [
            *lines,
            "requirements: # over all tables: k persons share the whole profile, by which a row and its keys are known",
            f"  - {{privacy: k-anonymity, k: {K}}}",
            f"suppress_persons: {SUPPRESSED} # share of the persons who may be left out where that fails",
            "",
        ]
    )


def _words(key: Key) -> Iterator[tuple[str, str]]:
    for word, value in (("key", key.key), ("parent", key.parent), ("link", key.link)):
        if value is not None:
            yield word, value


def _alone(guess: Guess) -> Guess:
    """The guess for a column of linked tables, where a household's number is no use but to find its members."""
    if guess.role != "household":
        return guess
    reason = f"{guess.reason}; left out, for it tells which persons are one household"
    return replace(guess, role="identifier", missing="", reason=reason)


def _with_rung(guess: Guess, rung: Rung | None) -> Guess:
    """The guess, of a column that is left out if its rung says so."""
    if rung is None or not rung.left_out:
        return guess
    reason = guess.reason.partition("; missing values")[0]
    why = (
        "few have a value, which tells them" if guess.missing else "too many persons would be alone with their profile"
    )
    return replace(guess, role="identifier", missing="", reason=f"{reason}; left out: {why}")


def _expected(coarse: Coarse) -> Iterator[str]:
    """Comments on what the plan is expected to leave out."""
    if coarse.alone is None:
        return
    share = in_digits(100 * coarse.alone, 2)
    yield f"# Columns are so coarse that about {share} % of the persons are left out, whose profile fewer than {K}"
    yield "# share. Allow more under suppress_persons to release finer columns; make them coarser to leave out fewer."


def _of_table(table: Table, guesses: list[Guess], rungs: Mapping[str, Rung], has_parent: bool) -> Iterator[str]:
    """The plan of one table: its columns, how they are read, and steps that make persons alike."""
    yield "columns:"
    yield from described_columns(guesses)
    yield from to_accept(table.frame, guesses)
    kept = {g.name for g in guesses if g.role != "identifier"}
    days = [name for name, dtype in table.frame.schema.items() if dtype.is_temporal() and name in kept]
    if has_parent and days:
        yield f"# rows can be put in order; if that is known, add to a requirement order: {key_text(days[0])}"
    steps = [
        f"  - {{mask: recode, columns: [{key_text(name)}], {_parameters(rung.step)}}}{_why(rung.step)}"
        for name, rung in rungs.items()
        if rung.step is not None
    ]
    truncated = (
        "  - {mask: truncate-records, most: 1, keep: common} # more rows than others have tell a person; of a kind"
    )
    steps += [f"{truncated} that many have, fewer are left out"] * has_parent
    yield from ["steps:", *steps] if steps else []


def _parameters(step: Spec) -> str:
    return ", ".join(f"{word}: {value}" for word, value in step.items())


def _why(step: Spec) -> str:
    """A comment on a recoding."""
    if "bins" in step:
        return f" # {step['bins']} groups of about as many rows"
    if "rare" in step:
        return f" # categories of fewer than {step['rare']} rows together"
    return " # the first characters of codes say most" if "prefix" in step else ""
