r"""Meaning of a column by the whole words of its name and label, in five languages.

Names are taken apart where their writing changes (`patientId`, `PATIENT_ID` and `patient id` are two words, `address1`
is one and a number), letters lose their accents, and a term counts only where it stands as a word: `age` is none in
wage, dosage or mortgage. A label says more than a name does, so that it is asked first; what speaks of money, counts or
scores is no trait of a person whatever else it names ("income by age"). The words stand in `column_words.toml`.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """Words that speak of one thing."""

    # What a column with these words is: a role of a plan, `unit` for a number of a cluster of the sample, or empty for
    # what is none of them
    role: str
    words: re.Pattern[str]  # As a pattern that whole words match
    letter: str = ""  # Of the identifiers of HIPAA (`identifiers.IDENTIFIERS`) that it is; empty for none
    doubtful: bool = False  # True if the same words are used of other things
    name: str = ""  # By which other modules know it; empty for most


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """Meaning of a column by its words."""

    term: Term
    words: str  # That say so, as they stand in the text without accents and capitals
    where: str  # `name` or `label`

    @property
    def role(self) -> str:
        return self.term.role

    @property
    def reason(self) -> str:
        """For people."""
        return f"its {self.where} says '{self.words}'"


CONTENT = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
PARTS: Mapping[str, str] = CONTENT["parts"]


def _term(entry: Mapping[str, Any]) -> Term:
    """A term, with `<part>` in its words written out."""
    words = re.sub(r"<(\w+)>", lambda part: PARTS[part[1]], "|".join(entry["words"]))
    return Term(**{**entry, "words": re.compile(rf"\b(?:{words})\b")})


TERMS = tuple(map(_term, CONTENT["terms"]))
"""From the narrowest to the widest: the first that a text holds decides."""

ALONE: Mapping[str, str] = {word: role for role, words in CONTENT["alone"].items() for word in words}
"""Roles of words that say them only where they are the whole name or label."""


def words_in(text: str) -> str:
    """The words of a name or a label, small, without accents and signs, with blanks between them."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])", " ", _bare(text))
    return " ".join(re.findall(r"[a-z]+|\d+", split.lower()))


def _bare(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def meaning(name: str, label: str = "") -> Meaning | None:
    """Meaning of a column by its label, or else by its name; None if neither says anything."""
    return next(meanings(name, label), None)


def meanings(name: str, label: str = "") -> Iterator[Meaning]:
    """All that label and name of a column speak of, what decides first."""
    for where, text in (("label", words_in(label)), ("name", words_in(name))):
        if text in ALONE:
            whole = Term(role=ALONE[text], words=re.compile(text), letter="R" if text in PARTS["people"] else "")
            yield Meaning(term=whole, words=text, where=where)
        yield from _spoken_of(text, where)


@cache
def _spoken_of(text: str, where: str) -> tuple[Meaning, ...]:
    matches = ((term, term.words.search(text)) for term in TERMS) if text else ()
    return tuple(Meaning(term=term, words=match[0].strip(), where=where) for term, match in matches if match)
