"""Information kept: by hand, against a slow twin, and at the ends of its scale."""

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.judges.table_pair import TablePair
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.utility.information_kept import InformationKept
from shoal.vocabulary.errors import DataError
from utility.test_first_set import X


def records(**columns: list) -> Records:
    role = {"role": "quasi-identifier", "missing": "keep"}
    return Microdata.of(pl.DataFrame(columns, strict=False), dict.fromkeys(columns, role)).records


def kept(before: Records, after: Records) -> float:
    return InformationKept().measure(before, after).value


def test_numbers_by_hand():
    # x = 1, 2, 3, 4 around 2.5: spread 5. Pairs averaged, 1.5 and 3.5: between 4, so 4 / 5.
    assert kept(records(x=[1.0, 2, 3, 4]), records(x=[1.5, 1.5, 3.5, 3.5])) == pytest.approx(0.8)
    # Labels that stand for the same pairs tell as much.
    assert kept(records(x=[1.0, 2, 3, 4]), records(x=["1-2", "1-2", "3-4", "3-4"])) == pytest.approx(0.8)
    # The last cell is blank, so 1.5 squared is lost; the others are exact: 1 - 2.25 / 5.
    assert kept(records(x=[1.0, 2, 3, 4]), records(x=[1.0, 2, 3, None])) == pytest.approx(0.55)
    # Turned around, the values mislead.
    assert kept(records(x=[1.0, 2, 3, 4]), records(x=[4.0, 3, 2, 1])) == 0


def test_categories_by_hand():
    # a a b c: 1, 1, 2 and 2 bits, 6 in all. With b and c under one label 1 bit is left for each: 1 - 2 / 6.
    assert kept(records(c=["a", "a", "b", "c"]), records(c=["a", "a", "bc", "bc"])) == pytest.approx(2 / 3)
    # Other names for the same categories tell the same.
    assert kept(records(c=["a", "a", "b", "c"]), records(c=["x", "x", "y", "z"])) == 1
    # b is blank: its 2 bits of 6 are lost.
    assert kept(records(c=["a", "a", "b", "c"]), records(c=["a", "a", None, "c"])) == pytest.approx(1 - 2 / 6)


def test_the_ends_of_the_scale():
    original = Records.from_array(X)
    assert kept(original, original) == 1
    assert kept(original, Records.from_array(np.tile(X.mean(axis=0), (len(X), 1)))) == pytest.approx(0, abs=1e-12)
    assert kept(original, original.take(np.arange(0))) == 0
    half = kept(original, original.take(np.arange(1, len(X), 2)))
    assert half == pytest.approx(0.5, abs=0.1)
    finding = InformationKept().measure(original, original.select(original.names()[:1]))
    assert finding.value == pytest.approx(1 / X.shape[1])
    assert "least of" in finding.sentence


def test_a_constant_column_keeps_all_or_nothing():
    assert kept(records(x=[2.0, 2, 2]), records(x=[2.0, 2, 2])) == 1
    assert kept(records(x=[2.0, 2, 2]), records(x=[2.0, 3, 2])) == 0
    assert kept(records(x=[2.0, 2, 2, 2]), records(x=[2.0, 2, 2, None])) == 0.75
    assert kept(records(c=["a", "a"]), records(c=["a", "b"])) == 0


def test_noise_keeps_the_reliability_ratio():
    rng = np.random.default_rng(3)
    x = rng.normal(size=20_000)
    noisy = x + 0.5 * rng.normal(size=len(x))
    assert kept(records(x=x.tolist()), records(x=noisy.tolist())) == pytest.approx(1 / 1.25, abs=0.01)


def test_a_column_made_anew_is_compared_as_a_distribution():
    before = records(c=["a", "a", "b", "c"], x=[1.0, 2, 3, 4])
    after = records(c=["c", "a", "a", "a"], x=[4.0, 3, 2, 1])
    pair = TablePair.of(before, after, made_anew=("c", "x"))
    finding = InformationKept().finding_on(pair, np.random.default_rng(0))
    assert finding.private_form()["by_column"] == {"c": pytest.approx(0.75), "x": 1.0}


def slow(before: list, after: list, nominal: bool) -> float:
    """From the definition: entropy cell by cell, or sums of squares in label means."""
    known = [b for b in before if b is not None]
    if nominal:
        share = {c: n / len(known) for c, n in Counter(known).items()}
        at_first = sum(-math.log(share[b]) for b in known)
        labels = Counter(a for a, b in zip(after, before) if a is not None and b is not None)
        both = Counter(zip(after, before))
        left = sum(-math.log(both[a, b] / labels[a] if a is not None else share[b]) for a, b in zip(after, before) if b)
        return max(1 - left / at_first, 0.0)
    mean = np.mean(known)
    at_first = sum((b - mean) ** 2 for b in known)
    groups: dict = {}
    for a, b in zip(after, before):
        if b is not None:
            groups.setdefault(a, []).append(b)
    left = sum(sum((b - (mean if a is None else np.mean(m))) ** 2 for b in m) for a, m in groups.items())
    return max(1 - left / at_first, 0.0)


CELLS = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["u", "v", "w", None])), min_size=2, max_size=12)


@given(CELLS)
def test_labels_like_the_slow_twin(cells):
    before, after = (list(side) for side in zip(*cells))
    if len(set(before)) > 1:
        assert kept(records(c=before), records(c=after)) == pytest.approx(slow(before, after, True), abs=1e-9)
        numbers = [float("abcd".index(cell)) for cell in before]
        assert kept(records(x=numbers), records(x=after)) == pytest.approx(slow(numbers, after, False), abs=1e-9)


def test_a_column_that_does_not_exist_is_no_column_without_information() -> None:
    records = Microdata.of(pl.DataFrame({"a": [1, 2]}), {"a": "quasi-identifier"}).records
    with pytest.raises(DataError, match="'b' cannot be found there"):
        InformationKept(columns=("b",)).measure(records, records)
