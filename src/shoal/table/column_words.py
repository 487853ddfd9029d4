r"""Meaning of a column from the whole words of its name and label, in five languages.

Names are split where their writing changes (`patientId`, `PATIENT_ID` and `patient id` are two words, `address1` is a
word and a number), and letters lose their accents. A term counts only as a whole word: wage, dosage and mortgage do not
contain `age`. The label is consulted first, since it says more than the name. Words for money, counts or scores mean no
trait of a person, whatever else stands beside them ("income by age"). The words are listed in `column_words.toml`.
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
class WordGroup:
    """Words with one meaning."""

    # Role of a column with these words: a role of a plan, `unit` for the number of a sampling cluster, or empty
    role: str
    words: re.Pattern[str]  # Pattern that matches whole words
    letter: str = ""  # Letter of the HIPAA identifier (`identifiers.IDENTIFIERS`); empty for none
    doubtful: bool = False  # True if the words also have other meanings
    name: str = ""  # Name by which other modules refer to the term; empty for most


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """Meaning of a column, and the words that show it."""

    term: WordGroup
    words: str  # The words that show it, without accents and capitals
    where: str  # `name` or `label`

    @property
    def role(self) -> str:
        return self.term.role

    @property
    def reason(self) -> str:
        """The reason as a clause for readers: "its name says 'age'"."""
        return f"its {self.where} says '{self.words}'"


@cache
def _content() -> Mapping[str, Any]:
    """The file, read when a column's meaning is asked for."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _term(entry: Mapping[str, Any]) -> WordGroup:
    """A term of the file, with each `<part>` in its words expanded."""
    words = re.sub(r"<(\w+)>", lambda part: str(_content()["parts"][part[1]]), "|".join(entry["words"]))
    return WordGroup(**{**entry, "words": re.compile(rf"\b(?:{words})\b")})


@cache
def _terms() -> tuple[WordGroup, ...]:
    """Terms from the narrowest to the widest; the first that a text contains decides. Compiled when one is needed."""
    return tuple(map(_term, _content()["terms"]))


@cache
def _alone() -> Mapping[str, str]:
    """Roles of words that count only if they are the whole name or label."""
    return {word: role for role, words in _content()["alone"].items() for word in words}


def words_in(text: str) -> str:
    """The words of a name or label in lower case, without accents and signs, separated by blanks."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])", " ", _bare(text))
    return " ".join(re.findall(r"[a-z]+|\d+", split.lower()))


def _bare(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def meaning(name: str, label: str = "") -> Meaning | None:
    """Meaning of a column from its label, or else its name; None if neither contains a term."""
    return next(meanings(name, label), None)


def meanings(name: str, label: str = "") -> Iterator[Meaning]:
    """All meanings that the label and the name of a column contain, in order of precedence."""
    for where, text in (("label", words_in(label)), ("name", words_in(name))):
        if text in (alone := _alone()):
            people = _content()["parts"]["people"]
            whole = WordGroup(role=alone[text], words=re.compile(text), letter="R" if text in people else "")
            yield Meaning(term=whole, words=text, where=where)
        yield from _spoken_of(text, where)


@cache
def _spoken_of(text: str, where: str) -> tuple[Meaning, ...]:
    matches = ((term, term.words.search(text)) for term in _terms()) if text else ()
    return tuple(Meaning(term=term, words=match[0].strip(), where=where) for term, match in matches if match)
