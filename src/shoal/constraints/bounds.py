"""Rules that say that a number is at most another one, or that rows of a kind follow one another."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shoal.constraints.grammar import OfRows, RuleComparison, Sum, parse
from shoal.constraints.of_rows import plain_names


class Bound(NamedTuple):
    """A column is at most another one. `of`: all columns that the rule names, but in functions of rows."""

    low: str
    high: str
    of: tuple[str, ...]


class Succession(NamedTuple):
    """Rows that begin and end: none begins before the one before it has ended.

    `per`: table below whose rows they are in order, empty if it is not named; `of` as for `Bound`.
    """

    start: str
    end: str
    per: str
    of: tuple[str, ...]


def bounds(rules: Iterable[str]) -> Iterator[Bound | Succession]:
    """What rules say of this kind, of rows without conditions; whatever else they say is left out.

    A chain of comparisons, as in `a <= b <= c`, says several.
    """
    for number, text in enumerate(rules, 1):
        sentence = parse(text, number)
        functions = {function.text: function for function in sentence.of_rows}
        for comparison in () if sentence.when else sentence.then:
            if (each := _bound(comparison, functions, tuple(plain_names(sentence)))) is not None:
                yield each


def _bound(comparison: RuleComparison, functions: dict[str, OfRows], of: tuple[str, ...]) -> Bound | Succession | None:
    if comparison.relation not in ("<=", ">="):
        return None
    low, high = _column(comparison.left), _column(comparison.right)
    if comparison.relation == ">=":
        low, high = high, low
    if low is None or high is None or low == high or high in functions:
        return None
    if low not in functions:
        return Bound(low, high, of)
    function = functions[low]
    if function.function != "previous" or function.by != high or function.where or function.column == high:
        return None
    return Succession(start=high, end=function.column, per=function.per, of=of)


def _column(side: object) -> str | None:
    """The column that a side consists of; None if it is anything else."""
    if not isinstance(side, Sum) or side.constant or list(side.terms.values()) != [1]:
        return None
    return next(iter(side.terms))
