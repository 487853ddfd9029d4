"""A drafted plan for a table: the guessed columns, steps that suit them, and requirements."""

import json
import re
from collections.abc import Iterator, Sequence

import polars as pl

from shoal.judges.laws_of_table import MOST_COLUMNS, REMEDY, TOO_WIDE, laws_in_frame
from shoal.plan.context import CONTEXTS, KEPT, Context
from shoal.plan.guess import FEW_CODES, UNCOVERED, Guess, K, guess
from shoal.table.files.table import Table
from shoal.vocabulary.errors import ParameterError, plural, printable, unknown
from shoal.vocabulary.registry import Spec

MANY_KEYS = 12
"""With more quasi-identifiers, suppression would leave little, so records are averaged instead."""
NO_STEPS = "steps: []"

FORMATS = {
    "parquet": "parquet",
    "xlsx": "xlsx",
    "xls": "xlsx",
    **dict.fromkeys(("sav", "zsav", "por"), "sav"),
    "dta": "dta",
    **dict.fromkeys(("xpt", "sas7bdat"), "xpt"),
    **dict.fromkeys(("rds", "rdata", "rda"), "rds"),
}
"""Format of the release by the ending of the file that was read; csv for all others."""


def plan_text(table: Table, source: str, *, synthetic: bool = False, context: str | None = None) -> str:
    """A plan file with the reason for each guess as a comment.

    It runs as it stands, unless a column that leaves unchanged singles people out: then a comment shows how to answer
    for it, and no release is made before somebody does.

    Parameters
    ----------
    source
        Name of the file that was read; the release is written in the same format.
    table, synthetic
        As in `guess`.
    context
        Kind of recipient whose limits are spelled out in the plan (`shoal.plan.context`).
    """
    frame, guesses, given = table.frame, guess(table, synthetic=synthetic), _context(context)
    lines = [
        f"# Guessed from {printable(source)} ({len(frame):,} records). Correct the roles before you trust a release:",
        "# identifier, quasi-identifier, confidential, other, weight, person, household or stratum.",
        *([] if synthetic else _repeated(frame, guesses)),
        "columns:",
    ]
    lines += described_columns(guesses)
    if not synthetic:
        lines += _laws(frame, guesses)
    lines += [] if synthetic else to_accept(frame, guesses)
    ending = source.lower().removesuffix(".gz").rpartition(".")[2]
    body = _synthesised(frame, guesses, given) if synthetic else _steps(frame, guesses, given)
    if given is not None and NO_STEPS not in body:
        origin = given.origin(synthetic=synthetic)
        lines.append(f"for: {context} # limits under requirements, to be changed one by one ({origin})")
    return "\n".join([*lines, *body, f"output: {{format: {FORMATS.get(ending, 'csv')}}}", ""])


def described_columns(guesses: Sequence[Guess]) -> Iterator[str]:
    """A line for each column: its role and level, and the reason."""
    wide = max((len(key_text(g.name)) for g in guesses), default=0)
    for g in guesses:
        more = f", missing: {g.missing}" if g.missing else ""
        column = f"{key_text(g.name) + ':':<{wide + 1}} {{role: {g.role}, level: {g.level}{more}}}"
        yield f"  {column:<{wide + 52}} # {g.reason}"


def _context(name: str | None) -> Context | None:
    """The context of a name. Raises ParameterError if there is none."""
    given = next((given for known, given in CONTEXTS.items() if known == name), None)
    if name is not None and given is None:
        raise ParameterError(unknown("context", name, CONTEXTS))
    return given


def _repeated(frame: pl.DataFrame, guesses: Sequence[Guess]) -> Iterator[str]:
    """A comment on each identifier that repeats: its number of persons, and how to count persons."""
    for name in (g.name for g in guesses if g.role == "identifier"):
        cells = frame[name].drop_nulls()
        if (persons := cells.n_unique()) < len(cells):
            yield (
                f"# {printable(name)}: {plural(persons, 'person')} in {plural(len(cells), 'record')}. Promises count "
                f"records; with the role person for this column they count persons, and groups are formed of persons."
            )


def _laws(frame: pl.DataFrame, guesses: Sequence[Guess]) -> list[str]:
    """Comments on the columns that give others back, identifiers left out."""
    released = [g.name for g in guesses if g.role != "identifier"]
    if len(released) > MOST_COLUMNS:
        return [f"# {TOO_WIDE}"]
    laws = laws_in_frame(frame.select(released), [g.name for g in guesses if g.role == "household"])
    if not laws:
        return []
    return [*(f"# {printable(str(law))}" for law in laws), f"# The remedy: {REMEDY}."]


def to_accept(frame: pl.DataFrame, guesses: Sequence[Guess]) -> Iterator[str]:
    """A comment on each column that the steps leave alone and that singles records out."""
    for name in (g.name for g in guesses if g.role in UNCOVERED):
        if alone := int((frame[name].unique_counts() == 1).sum()):
            yield (
                f"# accept: [{key_text(name)}] # needed if it singles out more than 1 % of the records, here {alone:,} "
                f"of {len(frame):,}; answer for it only if nobody outside can know it"
            )


def _steps(frame: pl.DataFrame, guesses: Sequence[Guess], context: Context | None) -> list[str]:
    """Steps and requirements that suit the quasi-identifiers."""
    keys = [g for g in guesses if g.role == "quasi-identifier"]
    k = min(K if context is None else context.k, len(frame))
    if not keys or k < 2:
        return ["# Nothing here can be protected: no column that others may know, or too few records.", NO_STEPS]
    required, *more = [{"privacy": "k-anonymity", "k": k}] if context is None else context.limits(synthetic=False)
    limits = [f"  - {_entry(limit)}" for limit in more]
    if len(keys) > MANY_KEYS or any(g.level == "continuous" for g in keys):
        return [
            "steps: # groups of similar records, in which everyone has the group's average",
            f"  - {{partition: mdav, k: {k}, replace: centroid}}",
            "requirements:",
            f"  - {_entry(required)}",
            *limits,
        ]
    return [
        "steps: # rare categories put together, then as few cells taken out as will do",
        *recoded(frame, keys, k),
        f"  - {{mask: suppress, k: {k}}}",
        "requirements:",
        f"  - {_entry({**required, 'missing': 'wildcard'})}",
        *limits,
    ]


def recoded(frame: pl.DataFrame, keys: Sequence[Guess], k: int) -> list[str]:
    """Steps that put rare categories of columns with many together."""
    rare = max(2 * k, len(frame) // 100)
    wide = [g.name for g in keys if frame[g.name].dtype == pl.String and frame[g.name].n_unique() > FEW_CODES]
    return [f"  - {{mask: recode, columns: [{key_text(name)}], rare: {rare}, other: other}}" for name in wide]


def _synthesised(frame: pl.DataFrame, guesses: Sequence[Guess], context: Context | None) -> list[str]:
    """The step that synthesises records, and the requirements on them."""
    drawn = [g.name for g in guesses if g.role != "identifier"]
    if not any(g.role == "quasi-identifier" for g in guesses) or len(frame) < 2:
        return ["# Nothing here can be made up: no column that others may know, or too few records.", NO_STEPS]
    kept = [] if context is None else [f"  - {_entry(KEPT)}"]
    measures = ["{utility: k-marginal}"]
    if secrets := [key_text(g.name) for g in guesses if g.role == "confidential" and not g.missing]:
        named = f", columns: [{', '.join(secrets)}]" if any(g.missing for g in guesses) else ""
        better = "better with a holdout: people of the same kind who are not in this file"
        measures.append(f"{{risk: attribute-inference{named}}} # {better}")
    return [
        "steps: # all records are one group, in which every column is drawn anew; no record is anybody's",
        f"  - {{partition: whole, columns: [{', '.join(map(key_text, drawn))}], replace: cart}}",
        "requirements: # of 100 people, at most 5 who are alone with what others know may turn up among those made up",
        "  - {risk: replicated-uniques, at most: 0.05}",
        *kept,
        "# Once you know what it comes to, limit the loss here too, as in - {utility: k-marginal, at least: 800}",
        "measures:",
        *(f"  - {measure}" for measure in measures),
    ]


def _entry(limit: Spec) -> str:
    """A requirement as an entry of a plan."""
    return f"{{{', '.join(f'{word}: {value}' for word, value in limit.items())}}}"


def key_text(name: str) -> str:
    """A name as YAML reads it."""
    plain = re.fullmatch(r"[A-Za-z_][\w-]*", name) and name.lower() not in ("null", "true", "false", "yes", "no")
    return name if plain else json.dumps(name, ensure_ascii=not name.isprintable())  # what JSON quotes YAML reads
