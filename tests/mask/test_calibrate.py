"""Whole weights of households: every margin recounted by hand, a published example, and all weights there are."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

import shoal
from shoal.mask.calibrate import UnitMargin, _updated
from shoal.vocabulary.errors import InputError

ROLES = {
    "hid": "household",
    "region": "quasi-identifier",
    "size": "quasi-identifier",
    "sex": "quasi-identifier",
    "age": "confidential",
    "weight": {"role": "weight", "decimals": 2},
}


def people(homes, seed):
    rng = np.random.default_rng(seed)
    size = rng.choice([1, 2, 3, 4], homes)
    home = np.repeat(np.arange(homes), size)
    return pl.DataFrame(
        {
            "hid": home,
            "region": rng.choice(list("abc"), homes)[home],
            "size": size[home].astype(str),
            "sex": rng.choice(["f", "m"], len(home)),
            "age": rng.choice(["child", "adult", "old"], len(home)),
            "weight": np.round(rng.lognormal(1.5, 0.4, homes), 2)[home],
        }
    )


def counted(table, names, by="hid"):
    """The margin of a population: households, or persons."""
    return table.group_by(names).agg((pl.col(by).n_unique() if by else pl.len()).alias("count"))


def weighed(released, names, *, homes):
    """By categories, the sum of weights, household by household or person by person, in plain Python."""
    out, seen = Counter(), set()
    for row in released.iter_rows(named=True):
        if homes and row["hid"] in seen:
            continue
        seen.add(row["hid"])
        out[tuple(row[name] for name in names)] += row["weight"]
    return dict(out)


def as_dict(margin):
    return {row[:-1]: row[-1] for row in margin.iter_rows() if row[-1]}


def calibrated(table, households=(), persons=(), seed=1):
    records = shoal.Microdata.of(table, ROLES).records
    method = shoal.Calibrate(households=tuple(households), persons=tuple(persons))
    return method.apply(records, ["weight"], np.random.default_rng(seed))


def test_margins_of_households_and_of_persons_hold_exactly_in_the_release(tmp_path):
    population, sample = people(600, 1), people(120, 2)
    of_homes = counted(population, ["region", "size"])
    of_persons = [counted(population, ["age", "sex"], None), counted(population, ["sex", "region"], None)]
    for place, margin in enumerate([of_homes, *of_persons]):
        margin.write_csv(tmp_path / f"{place}.csv")
    step = {"mask": "calibrate", "households": ["0.csv"], "persons": ["1.csv", "2.csv"]}
    columns = {**ROLES, "age": {"role": "confidential", "order": ["child", "adult", "old"]}}
    plan = {"columns": columns, "steps": [step], "accept": ["region", "size", "sex", "age"]}
    text = sample.with_columns(pl.col("size").cast(pl.Int64))  # as it is read from the margins' files
    columns["size"] = {"role": "quasi-identifier", "level": "ordinal"}
    released = shoal.protect(text, plan, seed=3, unproved=True, folder=tmp_path).data
    whole = released["weight"].to_numpy()
    assert (whole >= 1).all() and (whole == np.rint(whole)).all()
    assert released.group_by("hid").agg(pl.col("weight").n_unique())["weight"].max() == 1
    numbers = of_homes.with_columns(pl.col("size").cast(pl.Int64))
    assert weighed(released, numbers.columns[:-1], homes=True) == as_dict(numbers)
    for margin in of_persons:
        assert weighed(released, margin.columns[:-1], homes=False) == as_dict(margin)


def test_updating_gives_the_weights_of_the_published_example():
    """Ye et al. (2009), table 2: eight households of two types, persons of three."""
    types = [0, 0, 0, 1, 1, 1, 1, 1]
    persons = [[1, 1, 1], [1, 0, 1], [2, 1, 0], [1, 0, 2], [0, 2, 1], [1, 1, 0], [2, 1, 2], [1, 1, 0]]
    homes = np.array([[t == 0, t == 1] for t in types], dtype=float).T
    margins = [
        UnitMargin(names=("type",), rows=csr_array(homes), totals=np.array([35, 65]), listed=b""),
        UnitMargin(
            names=("person",),
            rows=csr_array(np.array(persons, dtype=float).T),
            totals=np.array([91, 65, 104]),
            listed=b"",
        ),
    ]
    printed = [1.36, 25.66, 7.98, 27.79, 18.45, 8.64, 1.47, 8.64]
    assert _updated(np.ones(8), margins) == pytest.approx(printed, abs=0.02)


def all_weights(homes, of_homes, of_persons, most):
    """Every list of whole weights, `most` at most, of households with two margins."""
    weights = np.stack(np.meshgrid(*[np.arange(most + 1)] * len(homes), indexing="ij"), axis=-1).reshape(-1, len(homes))
    fits = np.ones(len(weights), dtype=bool)
    for kind in {kind for kind, _ in homes}:
        fits &= weights @ [kind == h for h, _ in homes] == of_homes[kind]
    for member in {member for _, members in homes for member in members}:
        fits &= weights @ [members.count(member) for _, members in homes] == of_persons[member]
    return set(map(tuple, weights[fits].tolist()))


def test_whole_weights_are_there_exactly_where_there_are_any():
    """Against all weights of five small households; half of the margins come from some weights, half from anywhere."""
    rng, refused = np.random.default_rng(4), 0
    for _ in range(10):
        homes = [(str(rng.choice(["a", "b"])), [*rng.choice(["x", "y"], rng.integers(1, 4))]) for _ in range(5)]
        weights = rng.integers(0, 3, 5)
        of_homes, of_persons = Counter(), Counter()
        for weight, (kind, members) in zip(weights.tolist(), homes):
            of_homes[kind] += weight
            for member in members:
                of_persons[member] += weight
        if rng.random() < 0.5:
            of_persons[homes[0][1][0]] += 1
        rows = [(i, kind, str(len(m)), "f", member, 2.0) for i, (kind, m) in enumerate(homes) for member in m]
        table = pl.DataFrame(rows, schema=["hid", "region", "size", "sex", "age", "weight"], orient="row")
        margins = [
            pl.DataFrame({name: list(counts), "count": list(counts.values())})
            for name, counts in (("region", of_homes), ("age", of_persons))
        ]
        possible = all_weights(homes, of_homes, of_persons, 10)
        try:
            out = calibrated(table, margins[:1], margins[1:]).records
        except InputError:
            assert not possible
            refused += 1
            continue
        chosen = np.zeros(5, dtype=int)
        chosen[out["hid"].values.astype(int)] = out["weight"].values
        assert tuple(chosen.tolist()) in possible
    assert 0 < refused < 10


def test_weights_stay_as_near_as_margins_allow_and_are_right_on_average():
    table = people(60, 5)
    before = table.unique("hid").sort("hid")["weight"].to_numpy()
    drawn = []
    for seed in range(40):
        out = calibrated(table, seed=seed).records
        row = np.zeros(60)
        row[out["hid"].values.astype(int)] = out["weight"].values
        drawn.append(row)
    assert (np.abs(np.array(drawn) - before) < 1).all()
    assert np.mean(drawn, axis=0) == pytest.approx(before, abs=0.35)


REFUSED = {
    "not of households": ({"households": [{"sex": ["f", "m"], "count": [9, 9]}]}, "must be the same for all members"),
    "other totals": (
        {"persons": [{"sex": ["f", "m"], "count": [9, 9]}, {"age": ["child", "adult"], "count": [9, 8]}]},
        "the margins of 'sex' and of 'age' have other numbers in all",
    ),
    "nobody has it": ({"persons": [{"sex": ["x"], "count": [3]}]}, "1 combination that nobody in the table has"),
    "no column": ({"persons": [{"town": ["x"], "count": [3]}]}, "columns of the data alone; it has 'town', 'count'"),
    "numbers": ({"persons": [{"weight": [1.5], "count": [3]}]}, "'weight' is continuous"),
    "parts": ({"persons": [{"sex": ["f"], "count": [2.5]}]}, "must have whole numbers in 'count'"),
    "no whole weights": (
        {"households": [{"size": ["2"], "count": [3]}], "persons": [{"sex": ["f", "m"], "count": [3, 2]}]},
        "no whole weights",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_margins_that_cannot_hold_are_refused(name):
    margins, sentence = REFUSED[name]
    tables = {level: [pl.DataFrame(cells) for cells in several] for level, several in margins.items()}
    with pytest.raises(InputError, match=sentence):
        calibrated(people(40, 6), **tables)


def test_what_is_no_weight_is_refused():
    table = people(5, 7)
    with pytest.raises(InputError, match="one column of weights; the step has 0"):
        shoal.Calibrate().apply(shoal.Microdata.of(table, ROLES).records, [], np.random.default_rng(0))
    other = shoal.Microdata.of(table.with_columns(weight=pl.lit(-1.0)), {**ROLES, "weight": "other"}).records
    with pytest.raises(InputError, match="must hold a weight of 0 or more"):
        shoal.Calibrate().apply(other, ["weight"], np.random.default_rng(0))
    lacking = {**ROLES, "hid": {"role": "household", "missing": "keep"}}
    gap = table.with_columns(hid=pl.when(pl.int_range(pl.len()) > 0).then("hid"))
    with pytest.raises(InputError, match="the number of the household is missing in 1 record"):
        shoal.Calibrate().apply(shoal.Microdata.of(gap, lacking).records, ["weight"], np.random.default_rng(0))


def test_weights_that_whole_numbers_cannot_hold_are_refused():
    heavy = people(5, 7).with_columns(weight=pl.lit(1e30))
    with pytest.raises(InputError, match=r"must be below 2\^53 in all"):
        shoal.Calibrate().apply(shoal.Microdata.of(heavy, ROLES).records, ["weight"], np.random.default_rng(0))
