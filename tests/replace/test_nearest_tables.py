"""Records chosen among candidates: against a slow twin, what stays as it is, and what it tells."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.replace._trees import nearest_tables
from shoal.replace._trees.columns import TreeColumn
from shoal.replace._trees.nearest_tables import UNIT, choose, codes_of, nearest
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.vocabulary.errors import ParameterError


def distance(original, records):
    """Sum over pairs and cells of the difference of counts, the original's scaled, in parts of a record."""
    total = 0
    for a, b in combinations(range(original.shape[1]), 2):
        for cell in {*zip(original[:, a], original[:, b])} | {*zip(records[:, a], records[:, b])}:
            target, here = ((t[:, [a, b]] == cell).all(axis=1).sum() for t in (original, records))
            total += abs(UNIT * here - UNIT * len(records) * target // len(original))
    return total


def naive(original, candidates, chosen):
    """The same rounds, every change counted anew on whole tables."""
    chosen, size = [*chosen], sum(chosen)

    def after(leaves=None, comes=None):
        rows = [i for i, c in enumerate(chosen) if (c and i != leaves) or i == comes]
        scaled = size  # of as many records as there are, whatever is missing just then
        total = 0
        for a, b in combinations(range(original.shape[1]), 2):
            cells = {*zip(original[:, a], original[:, b])} | {*zip(candidates[:, a], candidates[:, b])}
            for cell in cells:
                target = (original[:, [a, b]] == cell).all(axis=1).sum()
                here = (candidates[rows][:, [a, b]] == cell).all(axis=1).sum() if rows else 0
                total += abs(UNIT * here - UNIT * scaled * target // len(original))
        return total

    for _ in range(nearest_tables.ROUNDS):
        present = [i for i, c in enumerate(chosen) if c]
        absent = [i for i, c in enumerate(chosen) if not c]
        going = sorted(present, key=lambda i: after(leaves=i))
        coming = sorted(absent, key=lambda i: after(comes=i))
        some = False
        for leaves, comes in list(zip(going, coming))[: max(nearest_tables.TRIED, size // nearest_tables.TRIED)]:
            if after(leaves, comes) < after():
                chosen[leaves], chosen[comes], some = False, True, True
        if not some:
            return np.array(chosen)
    raise AssertionError("no end")


@pytest.mark.parametrize("seed", range(3))
def test_the_same_records_as_by_counting_all_tables_anew(seed):
    rng = np.random.default_rng(seed)
    original, candidates = rng.integers(0, 3, (7, 3)), rng.integers(0, 3, (13, 3))
    at_first = np.arange(13) < 5
    chosen, before, after = nearest(original, candidates, at_first)
    assert chosen.tolist() == naive(original, candidates, at_first).tolist()
    assert (before, after) == (distance(original, candidates[at_first]), distance(original, candidates[chosen]))
    assert chosen.sum() == 5 and after <= before and at_first.sum() == 5


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    area = rng.choice(list("abc"), n, p=[0.6, 0.3, 0.1])
    age = rng.integers(0, 90, n).astype(float)
    ill = np.where(rng.random(n) < age / 100, "gout", np.where(area == "a", "flu", "none"))
    pay = [None if lacks else x for lacks, x in zip(age < 15, np.round(age * 10 + rng.normal(size=n) * 50))]
    return pl.DataFrame({"area": area, "age": age, "ill": ill, "pay": pay})


def columns_of(frame):
    roles = {name: {"role": "other", "missing": "keep"} for name in frame.columns}
    return [TreeColumn.of(variable) for variable in Microdata.of(frame, roles).records.variables]


def synthesised(frame, seed=1, labels=None, **more):
    roles = {name: {"role": "quasi-identifier", "missing": "keep"} for name in frame.columns}
    table = Microdata.of(frame, roles)
    whole = Partition(labels=(np.zeros(len(frame)) if labels is None else labels).astype(np.int32))
    change = shoal.Cart(**more).apply(table.records, tuple(frame.columns), whole, np.random.default_rng(seed))
    return pl.DataFrame(table.rebuild(change.records).native), change.details


def loss(frame, released):
    """Mean distance of the tables of pairs, numbers in some parts."""
    parts = [0, 18, 36, 54, 72, 90, 10**6]
    cut = [
        f.select(
            pl.col("area"),
            pl.col("ill"),
            pl.Series("age", np.digitize(f["age"].to_numpy(), parts)),
            pl.Series("pay", np.digitize(f["pay"].fill_null(-1).to_numpy(), [0, 200, 400, 600])),
        )
        for f in (frame, released)
    ]
    total = []
    for pair in combinations(["area", "ill", "age", "pay"], 2):
        counts = [{row[:-1]: row[-1] / len(f) for row in f.group_by(pair).len().iter_rows()} for f in cut]
        total.append(sum(abs(counts[0].get(c, 0) - counts[1].get(c, 0)) for c in {*counts[0], *counts[1]}) / 2)
    return float(np.mean(total))


def loss_by_area(frame, released):
    areas = frame["area"].unique().sort()
    return float(np.mean([loss(*(f.filter(pl.col("area") == area) for f in (frame, released))) for area in areas]))


def test_tables_come_nearer_and_within_areas_if_these_are_named():
    frame = people(500)
    plain, one = synthesised(frame)
    chosen, three = synthesised(frame, candidates=3)
    by_area, _ = synthesised(frame, candidates=3, by="area")
    assert loss(frame, chosen) < 0.6 * loss(frame, plain)
    assert loss_by_area(frame, by_area) < 0.95 * loss_by_area(frame, chosen) < loss_by_area(frame, plain)
    assert by_area["area"].value_counts().sort("area").equals(plain["area"].value_counts().sort("area"))
    first, last = "records out of place in a table of two columns, as drawn", "and as chosen among candidates"
    assert 0 < three[last] < 0.6 * three[first] < 1 and first not in one


def test_records_are_chosen_whole_inside_their_group():
    """Every record that is kept was drawn as it is, in its group."""
    frame = people(90)
    columns = columns_of(frame.drop("pay"))
    originals = [part.values for column in columns for part in column.parts]
    rng = np.random.default_rng(3)
    sets = [[values[order] for values in originals] for order in (rng.permutation(90) for _ in range(3))]
    members = [np.arange(0, 40), np.arange(40, 90)]
    drawn = [[[tuple(v[i] for v in values) for i in at] for values in sets] for at in members]
    choose(columns, sets, members, None)
    for at, pools in zip(members, drawn):
        pool = [repr(row) for rows in pools for row in rows]
        for row in (repr(tuple(v[i] for v in sets[0])) for i in at):
            pool.remove(row)  # a ValueError: nobody drew it, or not so often


def test_codes_keep_kinds_gaps_and_few_values_apart():
    frame = people(300)
    columns = columns_of(frame)
    pay = columns[3]
    values = [part.values for part in pay.parts]
    (codes,) = codes_of(pay, [values])
    missing = np.isnan(values[-1])
    assert missing.any() and not {*codes[missing]} & {*codes[~missing]}
    assert 18 <= len({*codes[~missing]}) <= 20 and np.bincount(codes[~missing])[np.unique(codes[~missing])].min() >= 5
    (few,) = codes_of(columns[1], [[np.array([0.0, 1.0, 1.0, 5.0])]])
    assert len({*few}) == 3 and few[1] == few[2]


def test_no_exact_match_is_left_beside_columns_that_stay():
    frame = people(200).with_columns(age=pl.col("age") // 10)
    released, details = synthesised(frame, candidates=2, min_leaf=2, no_exact_matches=True, smooth=False)
    alone = frame.filter(frame.is_unique())
    assert not {*alone.iter_rows()} & {*released.iter_rows()}
    assert details["draws rejected, for they equalled a unique original"] > 0


def test_candidates_want_columns_that_are_all_drawn():
    frame = people(60)
    with pytest.raises(ParameterError, match="what is given stays where it is"):
        shoal.Cart(candidates=2, given=("age",)).apply(
            Microdata.of(frame.drop("pay"), dict.fromkeys(["area", "age", "ill"], "other")).records,
            ("area", "ill"),
            Partition(labels=np.zeros(60, dtype=np.int32)),
            np.random.default_rng(0),
        )
    with pytest.raises(ParameterError, match="what is given stays where it is"):
        synthesised(frame, labels=np.arange(60) % 2, candidates=2, groups="predictor")
    with pytest.raises(ParameterError, match="by must be one of the step's columns; 'size' is not"):
        synthesised(frame, candidates=2, by="size")
    assert shoal.Cart().anew and not shoal.Cart(candidates=2).anew


def test_nobody_of_a_small_area_comes_back_by_the_choice():
    """With a hundred candidates each, the three of an area would be found among them by all of its tables of pairs."""
    rng = np.random.default_rng(100)
    frame = pl.DataFrame({"area": ["a"] * 297 + ["z"] * 3, **{name: rng.choice(list("pqrst"), 300) for name in "xyw"}})
    plain, _ = synthesised(frame)
    chosen, _ = synthesised(frame, candidates=100, by="area")
    few = [f.filter(area="z") for f in (plain, chosen)]
    assert len(few[0]) > 0 and few[0].equals(few[1])  # as it was drawn
    assert not plain.equals(chosen)
