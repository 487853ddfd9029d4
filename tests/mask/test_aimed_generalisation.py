"""Generalisation that keeps what tells of a target column."""

import numpy as np
import pandas as pd
import pytest

import shoal
from naive.generalise import best_aimed_local_loss, best_aimed_loss, nested
from shoal.table.hierarchy import Hierarchy
from shoal.vocabulary.errors import DataError, ParameterError

PATHS = [nested(list("abcdef"), [2]), nested(list("uvwx"), [2]), nested(list("pq"), [])]
BOUND = "no recoding with this k loses less than"


def micro(rows, target, role="confidential"):
    frame = pd.DataFrame(rows, columns=["c0", "c1", "c2"])
    frame["t"] = target
    spec = {
        f"c{j}": {"role": "quasi-identifier", "hierarchy": Hierarchy(tuple(p.values()))} for j, p in enumerate(PATHS)
    }
    return shoal.Microdata.of(frame, {**spec, "t": role})


def run(table, **parameters):
    method = shoal.Generalise(**{"target": "t", **parameters})
    return method.apply(table.records, table.records.quasi_identifiers, np.random.default_rng(0))


def words(target):
    return np.where(np.array(target) > 0, "yes", "no")


def drawn(g, n=8):
    rows = [("abcdef"[g.integers(6)], "uvwx"[g.integers(4)], "pq"[g.integers(2)]) for _ in range(n)]
    return rows, g.integers(0, 2, n).astype(float).tolist(), int(g.integers(2, 4))


def test_the_optimum_equals_exhaustive_search():
    g = np.random.default_rng(1)
    for _ in range(40):
        rows, target, k = drawn(g, 12)
        change = run(micro(rows, words(target)), k=k)
        assert change.details["loss"] == pytest.approx(best_aimed_loss(rows, PATHS, target, k), abs=1e-12)
        assert shoal.KAnonymity(k=k).check(change.records).holds


def test_local_recoding_never_beats_the_best_of_all_partitions_and_meets_it_in_nine_tables_of_ten():
    g, met = np.random.default_rng(1), 0
    for _ in range(40):
        rows, target, k = drawn(g)
        details = run(micro(rows, words(target)), k=k, recoding="local", effort=200).details
        best = best_aimed_local_loss(rows, PATHS, target, k)
        assert details[BOUND] - 1e-12 <= best <= details["loss"] + 1e-12
        met += details["loss"] <= best + 1e-12
    assert met >= 36


TELLING = [("a", "u", "p"), ("b", "u", "p"), ("a", "v", "p"), ("b", "v", "p")] * 2
"""Either c0 or c1 must go up; c0 costs less by its size, and tells all of the target."""


def test_by_hand_the_column_that_tells_of_the_target_stays():
    target = ["yes" if row[0] == "a" else "no" for row in TELLING]
    assert run(micro(TELLING, target), k=4, target=None).details["levels"] == {"c0": 1, "c1": 0, "c2": 0}
    change = run(micro(TELLING, target), k=4)
    assert change.details["levels"] == {"c0": 0, "c1": 1, "c2": 0}
    assert change.details["loss"] == pytest.approx(0)  # c1 explains none of the target, and so counts for nothing
    assert change.details["measure of loss"] == "ncp, for t"


def test_by_hand_a_cell_loses_half_by_its_size_and_half_by_what_its_label_hides():
    """Only c0 differs; k = 4 asks for `a b` and `c d`, which hide what lies between the two leaves of each."""
    rows = [(leaf, "u", "p") for leaf in "abcdabcd"]
    target = [0.0, 1.0, 2.0, 3.0] * 2
    change = run(micro(rows, target), k=4)
    assert change.details["levels"] == {"c0": 1, "c1": 0, "c2": 0}
    hidden = 0.25 / 1.25  # the means 0, 1 are .5 from theirs, all four 1.5 and .5 from theirs
    assert change.details["loss"] == pytest.approx((1 / 5 + hidden) / 2)  # c0 alone counts, three times over


def test_two_categories_count_as_two_numbers():
    rows, target, _ = drawn(np.random.default_rng(4), 40)
    losses = [run(micro(rows, column), k=5).details["loss"] for column in (words(target), target)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-12)


def test_a_target_that_does_not_vary_asks_for_nothing():
    rows, _, k = drawn(np.random.default_rng(5), 40)
    aimed, plain = (run(micro(rows, ["no"] * 40), k=k, target=target) for target in ("t", None))
    assert aimed.details["loss"] == pytest.approx(plain.details["loss"], abs=1e-12)


def test_missing_cells_of_the_target_are_one_more_category_or_the_mean():
    rows, target, _ = drawn(np.random.default_rng(6), 40)
    some = [None if i % 4 == 0 else word for i, word in enumerate(words(target))]
    named = [word or "unknown" for word in some]
    keep = {"role": "confidential", "missing": "keep"}
    losses = [run(micro(rows, column, keep), k=4).details["loss"] for column in (some, named)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-12)
    numbers = np.where(np.arange(40) % 4 == 0, np.nan, target)
    mean = np.where(np.isnan(numbers), np.nanmean(numbers), numbers)
    losses = [run(micro(rows, column, keep), k=4).details["loss"] for column in (numbers, mean)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-12)


def test_requirements_and_suppression_hold_with_a_target():
    rows, target, _ = drawn(np.random.default_rng(7), 60)
    for recoding in ("full-domain", "local"):
        change = run(
            micro(rows, words(target)),
            k=3,
            recoding=recoding,
            suppression=0.1,
            requirements=[{"method": "l-diversity", "l": 2}],
        )
        assert shoal.LDiversity(l=2).check(change.records).holds
        assert shoal.KAnonymity(k=3).check(change.records).holds
        assert change.details["records dropped"] <= 6


def test_bad_targets_are_refused():
    table = micro(TELLING, ["yes", "no"] * 4)
    with pytest.raises(ParameterError, match="a target goes with loss: ncp or precision; got entropy"):
        run(table, k=2, loss="entropy")
    with pytest.raises(ParameterError, match="the target must be none of the columns to generalise; got c1"):
        run(table, k=2, target="c1")
    with pytest.raises(DataError, match="There is no column 'nobody'"):
        run(table, k=2, target="nobody")
    assert shoal.Generalise(k=2, target="t").whole_needed == "the target of every record; leave target out"
