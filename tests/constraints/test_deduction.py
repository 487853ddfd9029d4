"""What rules leave one value for is filled in, and nothing else."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.constraints import Constraints
from shoal.table.microdata import Microdata
from shoal.table.records import Records

KEEP = {"role": "quasi-identifier", "missing": "keep"}
LABEL = {**KEEP, "level": "nominal"}


def filled(rules: list[str], **columns: list[object]) -> dict[str, list[object]]:
    roles = {name: LABEL if any(isinstance(c, str) for c in cells) else KEEP for name, cells in columns.items()}
    records = Microdata.of(pl.DataFrame(columns), roles).encoded
    after = Constraints.parse(rules, records).deduced(records)
    out: dict[str, list[object]] = {}
    for name in columns:
        v = after[name]
        cells = v.values.tolist() if v.continuous else [None if c < 0 else v.categories[c] for c in v.values]
        out[name] = [None if isinstance(c, float) and np.isnan(c) else c for c in cells]
    return out


def test_the_missing_term_of_a_sum() -> None:
    out = filled(
        ["net + tax == gross"], net=[1.0, None, 5.0, None], tax=[2.0, 2.0, None, None], gross=[None, 5.0, 9.0, 4.0]
    )
    assert out["gross"][0] == 3
    assert out["net"][1] == 3
    assert out["tax"][2] == 4
    assert (out["net"][3], out["tax"][3]) == (None, None)


def test_bounds_that_meet_and_bounds_that_do_not() -> None:
    out = filled(["tax >= 0", "tax <= gross"], tax=[None, None, 1.0], gross=[0.0, 3.0, 2.0])
    assert out["tax"] == [0, None, 1]


def test_a_condition_that_is_met_tells_its_consequence() -> None:
    out = filled(
        ["age <= 14 -> status == 'single'", "status == 'married' -> age >= 16"],
        age=[10.0, 40.0, None, 12.0],
        status=[None, None, "married", "single"],
    )
    assert out["status"] == ["single", None, "married", "single"]
    assert out["age"][2] is None  # that it is at least 16 tells no value


def test_a_chain_and_equations_solved_together() -> None:
    assert filled(["a == b", "b + c == d"], a=[2.0, 0.0], b=[None, 0.0], c=[None, 0.0], d=[7.0, 0.0])["c"][0] == 5
    both = filled(["a + b == c", "a - b == d"], a=[None, 1.0], b=[None, 1.0], c=[7.0, 2.0], d=[3.0, 0.0])
    assert (both["a"][0], both["b"][0]) == pytest.approx((5, 2))
    assert both["a"][1] == 1


def test_a_category_that_no_released_record_holds() -> None:
    roles = {"age": KEEP, "job": LABEL}
    original = Microdata.of(pl.DataFrame({"age": [9.0, 30.0], "job": ["none", "baker"]}), roles).encoded
    released = Microdata.of(pl.DataFrame({"age": [9.0, 30.0], "job": [None, "baker"]}), roles).encoded
    job = Constraints.parse(["age <= 14 -> job == 'none'"], original).deduced(released)["job"]
    assert job.categories[job.values[0]] == "none"


def test_a_deduced_number_is_equal_to_a_known_one() -> None:
    out = filled(["a + b == c"], a=[0.1, None], b=[0.2, 0.2], c=[0.1 + 0.2, 0.1 + 0.2])
    assert out["a"] == [0.1, 0.1]


def test_nothing_to_deduce_gives_the_table_itself_and_lost_columns_say_nothing() -> None:
    table = Records.from_array(np.array([[1.0, 2.0]]), names=["a", "b"])
    rules = Constraints.parse(["a <= b"], table)
    assert rules.deduced(table) is table
    only = table.without(["b"])
    assert rules.deduced(only) is only


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3, st.integers(0, 15)), min_size=1, max_size=12), st.integers(-2, 2))
def test_whatever_is_filled_in_is_what_stood_there(rows: list[tuple[int, ...]], factor: int) -> None:
    """Complete records obey the rules; cells are blanked; every deduced cell is the blanked one."""
    factor = factor or 1
    complete = np.array([(a, b, a + factor * b, a + b + c) for a, b, c, _ in rows], dtype=float)
    blank = np.array([[mask >> j & 1 for j in range(4)] for *_, mask in rows], dtype=bool)
    names = ["a", "b", "s", "t"]
    whole = Records.from_array(complete, names=names)
    rules = Constraints.parse([f"a + {factor}*b == s", "a + b <= t", "a >= 0", "b >= 0"], whole)
    table = whole.with_raw(names, np.where(blank, np.nan, complete))
    after = rules.deduced(table).raw(names)
    known = ~np.isnan(after)
    assert np.allclose(after[known], complete[known])
    lone = blank[:, :3].sum(axis=1) == 1
    assert known[lone, :3].all()  # one missing term of the sum is always found
    assert Fraction(factor) != 0


def test_categories_that_are_left_and_categories_that_are_ruled_out_are_put_together() -> None:
    """Each rule by itself leaves two categories or more."""
    out = filled(
        ["age <= 14 -> job in ('none', 'pupil')", "pay >= 1 -> job != 'none'"],
        age=[9.0, 9.0, 40.0, 9.0, 9.0],
        pay=[5.0, 0.0, 5.0, 5.0, 0.0],
        job=[None, None, None, "pupil", "none"],
    )
    assert out["job"] == ["pupil", None, None, "pupil", "none"]
