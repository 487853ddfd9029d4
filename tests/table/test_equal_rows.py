"""Rows of a table that are equal."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.table.equal_rows import mean_ranks, patterns


@given(st.integers(0, 40), st.integers(1, 5), st.integers(-3, 3), st.integers(0, 99))
def test_equal_rows_are_found(n: int, p: int, low: int, seed: int) -> None:
    table = np.random.default_rng(seed).integers(low, low + 3, (n, p))
    parts = patterns(table)
    assert sorted(np.concatenate([np.empty(0, dtype=int), *(rows for _, rows in parts)]).tolist()) == list(range(n))
    assert all((table[rows] == row).all() for row, rows in parts)
    assert len(parts) == len({tuple(row) for row in table})


@given(st.lists(st.integers(-2, 4)))
def test_equal_cells_share_the_mean_of_their_ranks(cells: list[int]) -> None:
    places = [[place for place, other in enumerate(sorted(cells), 1) if other == cell] for cell in cells]
    assert mean_ranks(np.array(cells, dtype=int)).tolist() == [sum(ranks) / len(ranks) for ranks in places]
