"""Cells are read as the numbers that a reader of the file sees, and written as the file writes them."""

from datetime import date, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.table.microdata import Microdata
from shoal.table.numeric_cells import NumericCells


def cells_of(values: list[Any], level: str | None = None) -> NumericCells | None:
    column = {"role": "other", "missing": "keep", **({"level": level} if level else {})}
    return NumericCells.of(Microdata.of(pl.DataFrame({"a": values}), {"a": column}).encoded["a"])


@pytest.mark.parametrize(
    ("values", "level", "numbers", "step"),
    [
        ([1, 2, None], None, [1, 2, None], 1.0),
        ([0.25, 1.5, None], None, [0.25, 1.5, None], 0.01),
        ([1000, 3000], None, [1000, 3000], 1000.0),
        ([1 / 3, 1.0], None, [1 / 3, 1.0], 0.0),
        ([3, 7], "nominal", [3, 7], 1.0),
        (["3", "7.5", "none", None], "nominal", [3, 7.5, None, None], 0.1),
        (["1970-01-03", "1970-02-01"], "nominal", [2, 31], 1.0),
        ([date(1970, 1, 3), None, date(1970, 1, 5)], None, [2, None, 4], 1.0),
        ([datetime(1970, 1, 1, 6), datetime(1970, 1, 2)], None, [0.25, 1], 1 / 24),
        ([datetime(1970, 1, 1, 6), datetime(1970, 1, 2)], "nominal", [0.25, 1], 1 / 24),
        ([5e-324, 1e300, 2.0, 3.0], "nominal", [None, None, 2, 3], 1.0),
    ],
)
def test_cells_are_read_with_the_step_that_they_were_rounded_to(
    values: list[Any], level: str | None, numbers: list[float | None], step: float
) -> None:
    cells = cells_of(values, level)
    assert cells is not None
    assert [None if np.isnan(x) else x for x in cells.values.tolist()] == numbers
    assert cells.step == step


@pytest.mark.parametrize("values", [["a", "b"], [4, 4, None], [True, False], [None, None, 1]])
def test_what_has_no_two_numbers_is_not_read(values: list[Any]) -> None:
    assert cells_of(values) is None


def test_numbers_are_rounded_as_the_column_and_equal_known_ones_to_the_bit() -> None:
    cells = cells_of([0.1, 0.3, 7.0, None])
    assert cells is not None
    assert cells.on_grid(np.array([0.1 + 0.2, 5.04, 7.0])).tolist() == [0.3, 5.0, 7.0]
    filled = cells.filled_in(np.array([False, False, False, True]), np.array([0.1 + 0.2]))
    assert filled.values.tolist() == [0.1, 0.3, 7.0, 0.3]
