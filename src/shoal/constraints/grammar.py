"""The language in which constraints are written, and its parser.

    rule        = [ conditions "->" ] conditions
    conditions  = comparison { "and" comparison }
    comparison  = side ( relation side ) { relation side }  |  column [ "not" ] "in" "(" literal { "," literal } ")"
    relation    = "==" | "=" | "!=" | "<" | "<=" | ">" | ">="
    side        = [ "-" ] term { ( "+" | "-" ) term }
    term        = factor { ( "*" | "/" ) factor }
    factor      = number | column | text | "true" | "false" | "(" side ")" | "-" factor | of rows
    of rows     = function "(" [ column ] [ "by" column ] [ "per" column ] [ "where" conditions ] ")"
    function    = "count" | "sum" | "min" | "max" | "repeats" | "previous"

A column is a bare name or any name in backticks; text stands in single or double quotes. Numbers are kept as
exact fractions, so that 1.16 is 116/100 and rounding can be decided in whole numbers. Only sums of multiples
of columns are evaluated: a product of two columns is an error, and so is a division by one. A function of rows
stands for a column with its values (`shoal.constraints.of_rows`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Literal, NoReturn

from shoal.vocabulary.errors import ConstraintError

Relation = Literal["==", "!=", "<", "<=", ">", ">="]

TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<name>[^\W\d][\w.]*)
    | `(?P<quoted>[^`]+)`
    | '(?P<single>[^']*)'
    | "(?P<double>[^"]*)"
    | (?P<sign>->|==|!=|<=|>=|[=<>+\-*/(),])
    )""",
    re.VERBOSE,
)

TokenKind = Literal["number", "name", "column", "text", "sign", "end"]
KINDS: Mapping[str, TokenKind] = {
    "number": "number",
    "name": "name",
    "quoted": "column",
    "single": "text",
    "double": "text",
    "sign": "sign",
}
"""Kind of token of each group of `TOKEN`."""

RELATIONS: Mapping[str, Relation] = {"==": "==", "=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
FUNCTIONS = ("count", "sum", "min", "max", "repeats", "previous")
"""Functions of several rows. They are columns where no bracket follows."""

LARGEST_EXPONENT = 300
"""Largest exponent: numbers beyond 1e300 cannot be compared with float64 columns."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a rule; `position` counts characters from 1."""

    kind: TokenKind
    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of multiples of columns and a constant; `positions` has the place where each column is named."""

    terms: Mapping[str, Fraction] = field(default_factory=dict)
    constant: Fraction = Fraction(0)
    positions: Mapping[str, int] = field(default_factory=dict)

    def plus(self, other: "Sum", factor: Fraction = Fraction(1)) -> "Sum":
        terms = dict(self.terms)
        for name, value in other.terms.items():
            terms[name] = terms.get(name, Fraction(0)) + factor * value
        return Sum(terms, self.constant + factor * other.constant, {**other.positions, **self.positions})

    def times(self, factor: Fraction) -> "Sum":
        return Sum().plus(self, factor)


@dataclass(frozen=True, slots=True)
class Text:
    """A level or a date as written, in quotes or as true/false."""

    value: str | bool
    position: int


@dataclass(frozen=True, slots=True)
class RuleComparison:
    """Two sides and their relation; `relation` 'in' and 'not in' have a tuple on the right."""

    left: Sum | Text
    relation: Relation | Literal["in", "not in"]
    right: "Sum | Text | tuple[Sum | Text, ...]"
    position: int


@dataclass(frozen=True, slots=True)
class OfRows:
    """A function of several rows, which a rule reads as a column.

    Parameters
    ----------
    text
        As written; the name of the column with its values.
    column
        What is counted, added up or compared: a column, or for `count` a table; empty if nothing is named.
    by
        Column that puts rows in order; empty if none is named.
    per
        Table whose rows are gone through one by one; empty if none is named.
    where
        Conditions on the rows that count.
    """

    function: str
    text: str
    position: int
    column: str = ""
    by: str = ""
    per: str = ""
    where: tuple[RuleComparison, ...] = ()


@dataclass(frozen=True, slots=True)
class Sentence:
    """A rule as parsed: `then` must hold wherever all of `when` holds; `of_rows`: the functions of rows in both."""

    text: str
    number: int
    when: tuple[RuleComparison, ...]
    then: tuple[RuleComparison, ...]
    of_rows: tuple[OfRows, ...] = ()

    def fail(self, position: int, problem: str) -> NoReturn:
        raise ConstraintError(f"Rule {self.number} ({self.text!r}), position {position}: {problem}")


def parse(text: str, number: int) -> Sentence:
    """Parse one rule; `number` is its place in the list, counted from 1."""
    return _Parser(text, number).sentence()


def is_of_rows(text: str) -> bool:
    """True if a rule has a function of several rows; one that cannot be read has none."""
    try:
        tokens = _Parser(text, 1).tokens
    except ConstraintError:
        return False
    return any(
        first.kind == "name" and first.text in FUNCTIONS and second.text == "(" and second.kind == "sign"
        for first, second in pairwise(tokens)
    )


class _Parser:
    """Recursive descent, one method a production."""

    def __init__(self, text: str, number: int) -> None:
        self.blank = Sentence(text, number, (), ())
        self.tokens = self._tokens(text)
        self.next = 0
        self.depth = 0
        self.of_rows: list[OfRows] = []
        self.inside = False

    def _tokens(self, text: str) -> list[Token]:
        tokens, place = [], 0
        while text[place:].strip():
            match = TOKEN.match(text, place)
            if match is None:
                start = place + len(text[place:]) - len(text[place:].lstrip())
                self.blank.fail(start + 1, f"{text[start]!r} is not part of the language of rules.")
            group = str(match.lastgroup)
            position = match.start(group) + 1 - (group in ("quoted", "single", "double"))
            tokens.append(Token(KINDS[group], match.group(group), position))
            place = match.end()
        return [*tokens, Token("end", "the end of the rule", len(text) + 1)]

    @property
    def here(self) -> Token:
        return self.tokens[self.next]

    def _take(self) -> Token:
        token = self.here
        self.next += token.kind != "end"
        return token

    def _at(self, *texts: str) -> bool:
        return self.here.kind in ("sign", "name") and self.here.text in texts

    def _accept(self, *texts: str) -> Token | None:
        """The next token, taken if it is one of the texts."""
        return self._take() if self._at(*texts) else None

    def _require(self, text: str, what: str) -> None:
        if self._accept(text) is None:
            self._expected(what)

    def _expected(self, what: str) -> NoReturn:
        self.blank.fail(self.here.position, f"expected {what}; got {self.here.text!r}.")

    def sentence(self) -> Sentence:
        first = self._conditions()
        when, then = (first, self._conditions()) if self._accept("->") else ((), first)
        if self.here.kind != "end":
            self._expected("'and', '->' or the end of the rule")
        return Sentence(self.blank.text, self.blank.number, when, then, tuple(self.of_rows))

    def _conditions(self) -> tuple[RuleComparison, ...]:
        comparisons = self._comparisons()
        while self._accept("and"):
            comparisons += self._comparisons()
        return tuple(comparisons)

    def _comparisons(self) -> list[RuleComparison]:
        left = self._side()
        if self._at("in", "not"):
            return [self._membership(left)]
        if not (self.here.kind == "sign" and self.here.text in RELATIONS):
            self._expected("a comparison (==, !=, <, <=, >, >= or in)")
        comparisons = []
        while self.here.kind == "sign" and self.here.text in RELATIONS:
            sign = self._take()
            right = self._side()
            comparisons.append(RuleComparison(left, RELATIONS[sign.text], right, sign.position))
            left = right
        return comparisons

    def _membership(self, left: Sum | Text) -> RuleComparison:
        word = self._take()
        negated = word.text == "not"
        if negated:
            self._require("in", "'in'")
        self._require("(", "'(' and a list of levels")
        members = [self._side()]
        while self._accept(","):
            members.append(self._side())
        self._require(")", "')'")
        return RuleComparison(left, "not in" if negated else "in", tuple(members), word.position)

    def _side(self) -> Sum | Text:
        total = self._term()
        while sign := self._accept("+", "-"):
            factor = Fraction(1 if sign.text == "+" else -1)
            total = self._number(total, sign).plus(self._number(self._term(), sign), factor)
        return total

    def _term(self) -> Sum | Text:
        product = self._factor()
        while sign := self._accept("*", "/"):
            left, right = self._number(product, sign), self._number(self._factor(), sign)
            if sign.text == "/":
                if right.terms:
                    self.blank.fail(sign.position, "a division by a column is not linear; multiply both sides by it.")
                if right.constant == 0:
                    self.blank.fail(sign.position, "a division by zero.")
                product = left.times(1 / right.constant)
            elif left.terms and right.terms:
                self.blank.fail(sign.position, "a product of two columns is not linear; rules are sums of multiples.")
            else:
                product = left.times(right.constant) if left.terms else right.times(left.constant)
        return product

    def _number(self, side: Sum | Text, sign: Token) -> Sum:
        if isinstance(side, Text):
            self.blank.fail(sign.position, "text cannot be added or multiplied.")
        return side

    def _factor(self) -> Sum | Text:
        token = self._take()
        if token.kind == "number":
            if abs(float(token.text)) > 10.0**LARGEST_EXPONENT:
                self.blank.fail(token.position, "the number is too large.")
            return Sum(constant=Fraction(token.text))
        if token.kind == "text":
            return Text(token.text, token.position)
        if token.kind == "name" and token.text.lower() in ("true", "false"):
            return Text(token.text.lower() == "true", token.position)
        if token.kind == "name" and token.text in FUNCTIONS and self._at("("):
            return self._function(token)
        if token.kind == "column" or (token.kind == "name" and token.text not in ("and", "in", "not")):
            return Sum({token.text: Fraction(1)}, positions={token.text: token.position})
        if token.kind == "sign" and token.text in ("-", "("):
            return self._nested(token)
        self.next -= token.kind != "end"
        return self._expected("a number, a column or a level in quotes")

    def _function(self, token: Token) -> Sum:
        """A function of rows, as the column that it stands for."""
        if self.inside:
            self.blank.fail(token.position, "a function of rows cannot stand inside another one.")
        self.inside = True
        self._require("(", "'('")
        column = "" if self._at(")", "by", "per", "where") else self._name()
        by = self._name() if self._accept("by") else ""
        per = self._name() if self._accept("per") else ""
        where = self._conditions() if self._accept("where") else ()
        end = self.here.position
        self._require(")", "')'")
        self.inside = False
        text = " ".join(self.blank.text[token.position - 1 : end].split())
        self.of_rows.append(OfRows(token.text, text, token.position, column, by, per, where))
        return Sum({text: Fraction(1)}, positions={text: token.position})

    def _name(self) -> str:
        token = self._take()
        if token.kind not in ("name", "column"):
            self.next -= token.kind != "end"
            self._expected("the name of a column")
        return token.text

    def _nested(self, token: Token) -> Sum | Text:
        self.depth += 1
        if self.depth > 50:
            self.blank.fail(token.position, "brackets or signs are nested more than 50 deep.")
        if token.text == "-":
            inner = self._number(self._factor(), token).times(Fraction(-1))
        else:
            inner = self._number(self._side(), token)
            self._require(")", "')'")
        self.depth -= 1
        return inner
