from collections import Counter

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition

FRAME = pl.DataFrame(
    {"age": [20.0, 30, 40, 50, 60, 70], "town": ["a", "a", "b", "b", "c", "c"], "pay": [1.0, 2, 3, 4, 5, 6]}
)
ROLES = {"age": "quasi-identifier", "town": "quasi-identifier", "pay": "confidential"}


def permuted(frame, labels, seed=0, **parameters):
    records = Microdata.of(frame, ROLES).records
    return shoal.Permutation(**parameters).apply(
        records, records.quasi_identifiers, Partition.of(labels), np.random.default_rng(seed)
    )


def test_by_hand():
    # A group of one keeps its record; groups of two keep or exchange theirs.
    change = permuted(FRAME.head(3), [0, 1, 1], seed=0)
    ages = change.records["age"].values.tolist()
    assert ages in ([20, 30, 40], [20, 40, 30])
    assert change.details["records unchanged"] == (3 if ages == [20, 30, 40] else 1)
    assert change.records["pay"].values.tolist() == [1, 2, 3]


@given(st.lists(st.integers(0, 3), min_size=6, max_size=6), st.booleans(), st.integers(0, 99))
def test_every_group_keeps_its_values(labels, joint, seed):
    new = permuted(FRAME, labels, seed, joint=joint).records
    for g in set(labels):
        mine = [i for i in range(6) if labels[i] == g]
        for name in ("age", "town"):
            codes = Microdata.of(FRAME, ROLES).records[name].values
            assert sorted(new[name].values[mine]) == sorted(codes[mine])
        if joint:  # the town of a given age is the same as before
            assert all(int(age) // 10 // 2 - 1 == town for age, town in zip(new["age"].values, new["town"].values))


def test_every_order_is_equally_likely():
    # 3! = 6 orders in 3000 groups: 500 expected, standard deviation 20.4.
    frame = pl.concat([FRAME.head(3)] * 3000)
    ages = permuted(frame, np.arange(9000) // 3).records["age"].values.reshape(3000, 3)
    counts = Counter(map(tuple, ages))
    assert len(counts) == 6
    assert all(abs(count - 500) < 4 * 20.4 for count in counts.values())
