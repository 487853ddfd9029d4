"""What rules say of the order of numbers."""

import pytest

from shoal.constraints.bounds import Bound, bounds


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("stays.end <= people.died", [("stays.end", "people.died")]),
        ("people.died >= stays.end", [("stays.end", "people.died")]),
        ("`a b` <= b <= c and d == e", [("a b", "b"), ("b", "c")]),
        ("a < b", []),
        ("a + 1 <= b", []),
        ("2 * a <= b", []),
        ("a <= 3", []),
        ("a <= a", []),
        ("c == 1 -> a <= b", []),
        ("max(s.end) <= died", []),
        ("count(s) <= most", []),
        ("previous(s.end by s.start) <= s.start", [("s.start", "s.end", "")]),
        ("s.start >= previous(s.end by s.start per p)", [("s.start", "s.end", "p")]),
        ("previous(s.end by s.start) <= s.end", []),
        ("previous(s.start by s.start) <= s.start", []),
        ("previous(s.end by s.start where s.ward == 'a') <= s.start", []),
        ("s.start <= previous(s.end by s.start)", []),
    ],
)
def test_bounds_of_a_rule(rule: str, expected: list[tuple[str, ...]]) -> None:
    assert [each[:-1] for each in bounds(["x == 1", rule])] == expected


def test_columns_of_the_whole_rule() -> None:
    """A lower table in the rule means that only rows with one of its rows are spoken of."""
    assert list(bounds(["labs.day <= stays.end <= people.died"]))[1] == Bound(
        "stays.end", "people.died", ("labs.day", "stays.end", "people.died")
    )
