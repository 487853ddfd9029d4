"""Codes of one column in several tables: equal exactly where the cells are."""

import numpy as np
import polars as pl

from shoal.judges.joint_codes import joint_codes
from shoal.table.microdata import Microdata


def column(values: list, level: str | None = None):
    role = {"role": "quasi-identifier", "missing": "keep", **({"level": level} if level else {})}
    return Microdata.of(pl.DataFrame({"x": values}), {"x": role}).records["x"]


def test_labels_are_compared_as_text_and_missing_is_apart() -> None:
    one, other = joint_codes(column(["a", "b", None, "a"]), column(["c", "a", None]))
    assert one[0] == one[3] == other[1]
    assert len({one[0], one[1], other[0]}) == 3
    assert one[2] == other[2] == -1
    codes, texts = joint_codes(column([1, 2], "nominal"), column(["2", "3"]))
    assert codes[1] == texts[0]
    assert codes[0] not in texts


def test_numbers_are_compared_as_numbers() -> None:
    one, other = joint_codes(column([1.0, -0.0, None]), column([0.0, 1.0, 2.5]))
    assert one[0] == other[1]
    assert one[1] == other[0]
    assert one[2] == -1
    assert other[2] not in one


def test_a_number_is_never_a_label() -> None:
    numbers, labels, more = joint_codes(column([1.0, 2.0]), column(["1.0", "[1, 2]"]), column([2.0]))
    assert not set(numbers) & set(labels)
    assert numbers[1] == more[0]


def test_columns_without_records_or_values() -> None:
    one, other = joint_codes(column([1.0, 2.0]).take(np.arange(0)), column([3.0]))
    assert one.tolist() == []
    assert len(other) == 1
