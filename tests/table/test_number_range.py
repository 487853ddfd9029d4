"""Ranges of numbers in labels."""

import math

import numpy as np
import pytest

from shoal.table.number_range import NumberRange

NUMBERS = np.array([-1.0, 0, 5, 10, 20])


@pytest.mark.parametrize(
    ("label", "inside"),
    [
        ("[0, 10]", [0, 5, 10]),
        ("[0, 10)", [0, 5]),
        ("(0, 10]", [5, 10]),
        ("(0, 10)", [5]),
        ("< 0", [-1]),
        ("<= 0", [-1, 0]),
        ("> 10", [20]),
        (">= 10", [10, 20]),
        ("at most -1", [-1]),
        ("at least 1e1", [10, 20]),
        ("[-inf, 0]", [-1, 0]),
    ],
)
def test_by_hand(label: str, inside: list[float]) -> None:
    span = NumberRange.read(label)
    assert span is not None
    assert NUMBERS[span.holds(NUMBERS)].tolist() == inside


@pytest.mark.parametrize("label", ["", "5", "[0, 10", "0 to 10", "[a, b]", "< ", "above 3", "[0,10]", "<5"])
def test_what_is_no_range(label: str) -> None:
    assert NumberRange.read(label) is None


def test_an_end_that_is_not_a_number_holds_nothing() -> None:
    span = NumberRange.read("[nan, 5]")
    assert span is not None and math.isnan(span.low)
    assert not span.holds(NUMBERS).any()
