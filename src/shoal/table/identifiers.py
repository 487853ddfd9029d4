"""Search for columns that identify persons directly: the eighteen identifiers of HIPAA's safe harbour.

45 CFR 164.514(b)(2)(i) lists what must be removed, (A) to (R). Each column is examined twice: its name and label, for
words that name an identifier, and its distinct values, for the format of one, numbers with check digits included. An
empty result proves nothing: no pattern detects a name in free text, a rare illness or a face in a picture. The result
therefore says what was examined and what cannot be detected; it contains no cell.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import narwhals.stable.v2 as nw

from shoal.table.check_digits import enough_hold, kind_of
from shoal.table.column_words import meanings

MOST_VALUES = 20_000
"""Most distinct values of a column that are examined."""

FEWEST = 10
"""Fewest distinct values in which a format that numbers may have by chance counts as a sign."""

MOST = 0.9
"""Least share of a column's distinct values that must have such a format."""

OLD = 89
"""Highest age that need not be merged into one category."""

OWN_VALUE = 0.95
"""Share of distinct values from which nearly every record has a value of its own."""


@dataclass(frozen=True, slots=True)
class Identifier:
    """One of the eighteen identifiers of the rule."""

    # letter, title: those of the rule
    letter: str
    title: str
    unseen: str = ""  # What the search cannot detect of it; empty if names and values both show it


BY_NAME = "only the names and labels of columns are looked at"
IDENTIFIERS = (
    Identifier("A", "names", "a name inside other text, and a column of names that is called something else"),
    Identifier(
        "B", "places smaller than a state", "places written in free text; whether an area is smaller than a state"
    ),
    Identifier("C", "dates but for the year, and ages over 89", "dates inside other text"),
    Identifier("D", "telephone numbers"),
    Identifier("E", "fax numbers", BY_NAME),
    Identifier("F", "e-mail addresses"),
    Identifier("G", "social security and national numbers"),
    Identifier("H", "medical record numbers", "numbers without a check digit"),
    Identifier("I", "health plan numbers", BY_NAME),
    Identifier("J", "account numbers", "numbers without a check digit"),
    Identifier("K", "certificate and licence numbers", BY_NAME),
    Identifier("L", "vehicles and their plates", "plates"),
    Identifier("M", "devices and their serial numbers", "serial numbers"),
    Identifier("N", "web addresses"),
    Identifier("O", "IP addresses"),
    Identifier("P", "biometric identifiers", BY_NAME),
    Identifier("Q", "photographs of faces", BY_NAME),
    Identifier(
        "R",
        "any other number, trait or code of one person's own",
        "a rare trait, or a code that only some records have",
    ),
)
"""The identifiers of 45 CFR 164.514(b)(2)(i); the words for each are listed in `column_words.toml`."""

INSIDE = {
    "F": re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(\.[\w-]+)+"),  # begun once in a long word, not at each letter
    "N": re.compile(r"(https?://|www\.)[\w-]+\.\w", re.I),
    "O": re.compile(
        r"(?<![\d.])((25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(25[0-5]|2[0-4]\d|1?\d?\d)(?![\d.])|"
        r"(?<![\w:])([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}(?![\w:])",
        re.I,
    ),
    "M": re.compile(r"(?<![\w:-])([0-9a-f]{2}[:-]){5}[0-9a-f]{2}(?![\w:-])", re.I),
}
"""Patterns that are a sign anywhere in a cell."""

WHOLE = {
    "C": re.compile(
        r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T]\d{1,2}:\d\d(:\d\d(\.\d+)?)?)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|"
        r"\d{1,2}\s+[A-Za-z]{3,9}\.?\s+\d{4}"
    ),
    "G": re.compile(r"(?!000|666|9\d\d)\d{3}-(?!00)\d\d-(?!0000)\d{4}"),
    "D": re.compile(r"(\+\d{1,3}[ .-]?)?(\(\d{1,4}\)[ .-]?)?\d{2,4}([ .-]\d{2,4}){1,4}|\+\d{8,15}"),
    "B": re.compile(r"\d{5}-\d{4}|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d", re.I),
    "R": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I),
}
"""Patterns that are a sign if nearly every value matches; the first that matches is named."""

LETTER_OF_KIND = {"IBAN": "J", "VIN": "L", "DNI": "G", "NHS or ISBN-10": "H", "Luhn": "J"}
"""Identifier for each kind of number with check digits; other kinds could be any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """Reason why a column may hold one of the eighteen identifiers; it names no cell."""

    # column, letter: name of the column, and letter of the identifier
    column: str
    letter: str
    reason: str  # Evidence in its name or its values


def signs(frame: nw.DataFrame[Any], labels: Mapping[str, str] | None = None) -> list[Sign]:
    """All signs of the eighteen identifiers in a table, column by column. `labels`: descriptions of columns."""
    described = labels or {}
    return [s for name in frame.columns for s in _of_column(frame.get_column(name), described.get(name, ""))]


def by_identifier(seen: Iterable[Sign]) -> dict[str, dict[str, str]]:
    """For each identifier's letter, the columns with signs of it and the joined reasons."""
    reasons: dict[str, dict[str, list[str]]] = {identifier.letter: {} for identifier in IDENTIFIERS}
    for sign in seen:
        reasons[sign.letter].setdefault(sign.column, []).append(sign.reason)
    return {letter: {name: "; ".join(texts) for name, texts in columns.items()} for letter, columns in reasons.items()}


def unseen() -> dict[str, list[str]]:
    """Limits of the search, each with the letters of the identifiers concerned."""
    out: dict[str, list[str]] = {}
    for identifier in IDENTIFIERS:
        if identifier.unseen:
            out.setdefault(identifier.unseen, []).append(identifier.letter)
    return out


def outright(values: Iterable[Any]) -> str:
    """Identifier whose format nearly all distinct values have, in words; empty if there is none."""
    texts = [str(value).strip() for value in islice(values, MOST_VALUES)]
    if len(texts) < FEWEST:
        return ""
    titles = {identifier.letter: identifier.title for identifier in IDENTIFIERS}
    forms = [*((letter, INSIDE[letter].search) for letter in INSIDE), ("G", WHOLE["G"].fullmatch)]
    for letter, matches in forms:
        if enough_hold(map(matches, texts), len(texts), MOST):
            return titles[letter]
    kind = kind_of(texts, MOST)
    return f"numbers with a check digit ({kind})" if kind else ""


def _of_column(column: nw.Series[Any], label: str) -> Iterator[Sign]:
    spoken_of = list(meanings(column.name, label))
    reasons = {meaning.term.letter: meaning.reason for meaning in reversed(spoken_of) if meaning.term.letter}
    for letter, reason in reasons.items():
        yield Sign(column=column.name, letter=letter, reason=reason)
    present = column.drop_nulls()
    if not len(present):
        return
    if present.dtype in (nw.Date, nw.Datetime):
        yield Sign(column=column.name, letter="C", reason="its values are exact dates")
        return
    if (
        present.dtype.is_numeric()
        and any(meaning.term.name == "age" for meaning in spoken_of)
        and float(present.max()) > OLD
    ):
        yield Sign(column=column.name, letter="C", reason=f"it has ages above {OLD}")
    distinct = present.unique(maintain_order=True)
    if present.dtype.is_float() or isinstance(present.dtype, nw.Boolean):
        return
    if len(distinct) >= max(FEWEST, OWN_VALUE * len(present)):
        yield Sign(column=column.name, letter="R", reason="nearly every record has a value of its own")
    yield from _of_values(column.name, [str(value).strip() for value in distinct.head(MOST_VALUES).to_list()])


def _of_values(name: str, values: list[str]) -> Iterator[Sign]:
    """Signs in the distinct values of a column, as text."""
    addresses = False
    for letter, pattern in INSIDE.items():
        if count := sum(pattern.search(value) is not None for value in values):
            addresses |= letter == "O" and count >= MOST * len(values)
            yield Sign(column=name, letter=letter, reason=f"{100 * count / len(values):.3g} % of its values hold one")
    if len(values) < FEWEST:
        return
    for letter, pattern in WHOLE.items():
        count = sum(pattern.fullmatch(value) is not None for value in values)
        if count >= MOST * len(values) and not (letter == "D" and addresses):
            yield Sign(column=name, letter=letter, reason=f"{100 * count / len(values):.3g} % of its values look so")
            break
    if kind := kind_of(values, MOST):
        letter = LETTER_OF_KIND.get(kind, "R")
        yield Sign(column=name, letter=letter, reason=f"its values are numbers with a check digit ({kind})")
