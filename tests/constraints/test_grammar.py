"""The parser under random input: it answers with a sentence or a ConstraintError, and reads what it writes."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.constraints import Constraints
from shoal.constraints.grammar import Sum, parse
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import ConstraintError

PIECES = [
    "a",
    "b",
    "`two words`",
    "sex",
    "1",
    "2.5",
    "1e3",
    "+",
    "-",
    "*",
    "/",
    "==",
    "<=",
    ">=",
    "<",
    ">",
    "!=",
    "->",
    "and",
    "in",
    "not",
    "(",
    ")",
    ",",
    "'male'",
    '"x"',
    "true",
    "=",
    "@",
    "__class__",
    ".5",
]


def table() -> Records:
    rng = np.random.default_rng(1)
    columns = [
        Variable(name=n, role="other", level="continuous", values=rng.normal(size=8)) for n in ("a", "b", "two words")
    ]
    sex = Variable(
        name="sex",
        role="other",
        level="nominal",
        values=np.array([0, 1] * 4, dtype=np.int32),
        categories=("female", "male"),
    )
    return Records.of([*columns, sex])


@settings(max_examples=200)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join))
def test_any_rule_is_used_or_answered(text: str) -> None:
    rules, answer = None, ""
    try:
        rules = Constraints.parse([text], table())
    except ConstraintError as error:
        answer = str(error)
    if rules is None:
        assert repr(text) in answer
    else:
        assert set(rules.violations(table())) == {text}


@settings(max_examples=60)
@given(st.text(max_size=40))
def test_any_text_is_read_or_answered_with_a_position(text: str) -> None:
    answer = None
    try:
        parse(text, 1)
    except ConstraintError as error:
        answer = str(error)
    assert answer is None or answer.startswith(f"Rule 1 ({text!r}), position ")


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", "two words"]), st.integers(-999, 999)), min_size=1, max_size=6),
    st.integers(-999, 999),
)
def test_sums_are_read_exactly(terms: list[tuple[str, int]], bound: int) -> None:
    text = " + ".join(f"{factor / 100:.2f}*`{name}`" for name, factor in terms) + f" <= {bound / 1000:.3f}"
    comparison = parse(text, 1).then[0]
    expected: dict[str, Fraction] = {}
    for name, factor in terms:
        expected[name] = expected.get(name, Fraction(0)) + Fraction(factor, 100)
    assert isinstance(comparison.left, Sum) and isinstance(comparison.right, Sum)
    assert dict(comparison.left.terms) == expected
    assert comparison.right.constant == Fraction(bound, 1000)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a + b = 3", "a == 3 - b"),
        ("2*(a - b) <= 4", "a - b <= 2"),
        ("-(-a) >= 1", "a >= 1"),
        ("a/4 == b", "a == 4*b"),
        ("1e-1*a == .1", "a == 1.0"),
        ("3 >= a >= 1", "1 <= a <= 3"),
        ("a - -b == 0", "a == -b"),
    ],
)
def test_two_ways_to_write_one_rule(text: str, same: str) -> None:
    records = table()
    rules = Constraints.parse([text, same], records)
    assert rules.redundant == {same: (text,)}
    after = [Constraints.parse([t], records).repair(records).records.raw(["a", "b"]) for t in (text, same)]
    assert after[0] == pytest.approx(after[1], abs=1e-12)


def test_deep_nesting_is_answered_and_does_not_end_the_stack() -> None:
    with pytest.raises(ConstraintError, match="nested more than 50 deep"):
        parse("(" * 5000 + "a" + ")" * 5000 + " == 1", 1)
