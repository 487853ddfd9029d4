"""Profiles made alike, against a recount of everybody's records written out for a handful of them."""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, permutations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import shoal
from naive.persons import fewest
from shoal.kernels.arrays import ints
from shoal.mask._profiles.alignment import _assigned, _in_order
from shoal.mask._profiles.bound import most_kept
from shoal.mask._profiles.people import People
from shoal.mask._profiles.shared import values_of
from shoal.table.links import Key, Links
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.table.step_result import StepResult
from shoal.vocabulary.errors import DataError, ParameterError

CODE = {"role": "quasi-identifier", "level": "nominal", "missing": "keep"}
TREE = {"nested": {"left": ["a", "b"], "right": ["c", "d"]}}
ROLES: dict[str, Any] = {
    "p": "person",
    "age": {"role": "quasi-identifier", "level": "continuous", "missing": "keep"},
    "code": {**CODE, "hierarchy": TREE},
    "ward": CODE,
    "day": "other",
}
KEYS = ["age", "code", "ward"]


def visits(seed: int, persons: int, lacking: bool) -> pl.DataFrame:
    """Visits of persons, of whom some come once and some often."""
    rng = np.random.default_rng(seed)
    owner = np.concatenate([np.arange(persons), rng.integers(0, persons, int(rng.integers(0, 3 * persons)))])
    n = len(owner)
    cells: dict[str, list[Any]] = {
        "age": rng.integers(0, 90, n).tolist(),
        "code": rng.choice(list("abcd"), n).tolist(),
        "ward": rng.choice(["x", "y"], n).tolist(),
    }
    if lacking:
        for name in cells:
            cells[name] = [None if rng.random() < 0.2 else cell for cell in cells[name]]
    table = pl.DataFrame({"p": owner, **cells, "day": rng.permutation(n)}, schema_overrides={"age": pl.Float64})
    return table[rng.permutation(n).tolist()]


def alike(table: pl.DataFrame, roles: dict[str, Any] = ROLES, **settings: Any) -> StepResult:
    records = Microdata.of(table, roles).records
    return shoal.Profiles(**settings).apply(records, KEYS, np.random.default_rng(0))


def cells(result: StepResult, table: pl.DataFrame) -> list[dict[str, Any]]:
    """The released records as the naive twins read them: person, class and day."""
    records = result.records
    written = []
    for place, row in enumerate(records.rows):
        known = []
        for name in KEYS:
            variable = records[name]
            cell: Any = variable.values[place] if variable.continuous else variable.values[place].item()
            known.append(
                None if variable.missing[place] else cell if variable.continuous else variable.categories[cell]
            )
        written.append({"p": table["p"][int(row)], "q": tuple(map(str, known)), "day": table["day"][int(row)]})
    return written


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 14), st.integers(1, 4), st.booleans())
def test_nobody_stands_among_fewer(seed: int, persons: int, k: int, lacking: bool) -> None:
    table = visits(seed, persons, lacking)
    if persons < k:
        with pytest.raises(DataError, match=f"there are only {persons} person"):
            alike(table, k=k)
        return
    written = cells(alike(table, k=k), table)
    assert min(fewest(written, "all records").values()) >= k
    assert len(fewest(written, "all records")) == persons, "everybody keeps a record, for everybody has one"


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 12))
def test_sequences_are_alike_too(seed: int, persons: int) -> None:
    table = visits(seed, persons, lacking=False)
    written = cells(alike(table, k=2, order="day"), table)
    sequences: dict[Any, list[Any]] = {}
    for record in sorted(written, key=lambda record: record["day"]):
        sequences.setdefault(record["p"], []).append(record["q"])
    assert min(Counter(map(tuple, sequences.values())).values()) >= 2


def test_by_hand() -> None:
    """Ann and Bob share a visit in x at about 30, Cem and Dea one in y at about 70; Bob's visit in y is left over."""
    table = pl.DataFrame(
        {
            "p": ["Ann", "Bob", "Bob", "Cem", "Dea"],
            "age": [30.0, 32, 70, 70, 74],
            "code": ["a", "b", "c", "c", "c"],
            "ward": ["x", "x", "y", "y", "y"],
            "day": [1, 2, 3, 4, 5],
        }
    )
    result = alike(table, k=2)
    assert result.records.rows.tolist() == [0, 1, 3, 4]
    assert result.records["age"].values.tolist() == [31, 31, 72, 72]
    labels = [result.records["code"].categories[code] for code in result.records["code"].values]
    assert labels == ["left", "left", "c", "c"]
    assert result.facts["records dropped"].n == 1 and result.facts["groups of persons"].n == 2


def test_a_cell_that_somebody_lacks_is_blanked_in_all() -> None:
    table = pl.DataFrame(
        {"p": [1, 2, 3], "age": [30.0, None, 31], "code": ["a", "a", None], "ward": ["x", "x", "x"], "day": [1, 2, 3]}
    )
    records = alike(table, k=3).records
    assert records["age"].missing.all() and records["code"].missing.all() and not records["ward"].missing.any()


def test_strata_are_not_mixed() -> None:
    table = visits(3, 12, lacking=False).with_columns(part=pl.col("p") % 2)
    roles = {**ROLES, "part": "stratum"}
    result = alike(table, roles, k=3)
    assert result.grouping is not None
    parts = table["part"].gather(result.records.rows.tolist()).to_numpy()
    for group in range(result.grouping.partition.n_groups):
        assert len(set(parts[result.grouping.partition.labels == group])) == 1
    with pytest.raises(DataError, match="a stratum has only 6 persons"):
        alike(table, roles, k=7)


def test_who_is_whose_must_be_known_and_rows_become_alike() -> None:
    table = visits(1, 6, lacking=False).with_columns(p=pl.when(pl.col("p") > 0).then(pl.col("p")))
    with pytest.raises(DataError, match="without a person"):
        alike(table, {**ROLES, "p": {"role": "person", "missing": "keep"}}, k=2)
    with pytest.raises(ParameterError, match="permutation leaves rows different"):
        shoal.Profiles(k=2, replacement=shoal.Permutation())
    with pytest.raises(DataError, match="no table below the persons has a column 'hour'"):
        alike(visits(1, 6, lacking=False), k=2, order="hour")


def test_heavy_columns_do_not_overflow() -> None:
    """One person has nearly all rows, and columns weigh more than a row: values of persons stay in int32."""
    table = visits(2, 12, lacking=False)
    many = table.filter(pl.col("p") == 0).head(1)
    table = pl.concat([table, *[many] * 2000])
    light, heavy = ({key: {**ROLES[key], "weight": weight} for key in KEYS} for weight in (1.0, 50.0))
    kept = []
    for of_keys in (light, heavy):
        records = Microdata.of(table, {**ROLES, **of_keys}).records
        numbers = records.unit_numbers("person")
        assert numbers is not None
        links = Links(
            keys={"persons": Key(key="p"), "rows": Key(parent="persons", link="p")},
            sizes={"persons": 12, "rows": len(records)},
            above={"rows": numbers},
        )
        nobody = Records(variables=(), rows=np.arange(12))
        people = People(
            tables={"persons": nobody, "rows": records}, links=links, columns={"persons": (), "rows": KEYS}, order={}
        )
        values = values_of(people)
        assert values.min() >= 0
        kept.append(values[:, : values.shape[1] - 1])
    assert (kept[0].argmax(axis=0) == kept[1].argmax(axis=0)).all(), "whoever has most of a piece has it at any weight"


def test_a_person_with_very_many_rows_is_compared_with_few_or_refused() -> None:
    table = visits(2, 12, lacking=False)
    own = [table.filter(pl.col("p") == person).head(1) for person in (0, 1)]
    many = pl.concat([table, *[own[0]] * 20_000])
    assert len(alike(many, k=1).records) == len(many), "nobody is compared with himself"
    assert len(alike(many, k=2).records) < 100
    with pytest.raises(DataError, match=r"have 6,\d+ and 6,\d+ rows in 'records' to make alike.*truncate-records"):
        alike(pl.concat([table, *[own[0]] * 6_000, *[own[1]] * 6_000]), k=2)


def test_sequences_with_ties_are_alike_if_the_order_is_one_of_the_keys() -> None:
    table = visits(4, 12, lacking=False).with_columns(day=pl.col("day") % 3)
    plan = {
        "columns": {**ROLES, "day": "quasi-identifier"},
        "steps": [{"mask": "profiles", "k": 3, "order": "day"}],
        "requirements": [{"privacy": "k-anonymity", "k": 3, "knowing": "all records", "order": "day"}],
    }
    assert shoal.protect(table, plan, seed=1).evidence.verdicts[0].holds


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(0, 3))
def test_rows_are_aligned_at_least_loss(seed: int, s: int, more: int) -> None:
    lost = np.random.default_rng(seed).integers(0, 5, (s, s + more)).astype(float)
    rows = range(s)
    assigned, ordered = _assigned(lost), _in_order(lost)
    assert len(set(assigned.tolist())) == s and ordered.tolist() == sorted(set(ordered.tolist()))
    free = min(lost[rows, list(columns)].sum() for columns in permutations(range(s + more), s))
    in_order = min(lost[rows, list(columns)].sum() for columns in combinations(range(s + more), s))
    assert lost[rows, assigned].sum() == free and lost[rows, ordered].sum() == in_order


def test_far_less_is_lost_than_by_leaving_persons_out() -> None:
    """The multi-visit table of the how-to: nobody has to go, where whole profiles by chance left most alone."""
    table = visits(8, 200, lacking=False)
    plan = {
        "columns": {**ROLES, "day": "identifier"},
        "steps": [{"mask": "profiles", "k": 5}],
        "requirements": [{"privacy": "k-anonymity", "k": 5}],
    }
    release = shoal.protect(table, plan, seed=1)
    assert release.evidence.verdicts[0].holds
    assert release.data["p"].n_unique() == 200
    assert len(release.data) > 0.6 * len(table)


def represented(sets: list[set[str]]) -> int:
    """By hand: the largest number of values that different persons can stand for, one each."""
    stands: dict[str, int] = {}

    def placed(person: int, tried: set[str]) -> bool:
        for value in sets[person] - tried:
            tried.add(value)
            if value not in stands or placed(stands[value], tried):
                stands[value] = person
                return True
        return False

    return sum(placed(person, set()) for person in range(len(sets)))


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000), st.integers(8, 20), st.integers(2, 3), st.booleans())
def test_different_persons_of_a_group_stand_for_l_values(seed: int, persons: int, least: int, lacking: bool) -> None:
    """Whoever shares all records with somebody is in no class of too few confidential values."""
    table = visits(seed, persons, lacking)
    ill = np.random.default_rng(seed).choice(["flu", "gout", "rash"], len(table), p=[0.8, 0.1, 0.1])
    table = table.with_columns(ill=pl.Series(ill))
    try:
        result = alike(table, {**ROLES, "ill": "confidential"}, k=2, l=least)
    except DataError:  # not even all persons, with the rows that they keep, stand for so many
        reject()
    rows: dict[Any, list[Any]] = {}
    values: dict[Any, set[str]] = {}
    for row, place in zip(cells(result, table), result.records.rows, strict=True):
        rows.setdefault(row["p"], []).append(row["q"])
        values.setdefault(row["p"], set()).add(str(table["ill"][int(place)]))
    classes: dict[Any, list[set[str]]] = {}
    for person, own in rows.items():
        classes.setdefault(tuple(sorted(own)), []).append(values[person])
    assert min(map(len, classes.values())) >= 2
    assert min(map(represented, classes.values())) >= least


def test_households_are_alike_as_a_whole() -> None:
    """Two persons in each of six homes, and one in a seventh: every home keeps as many persons as another one has."""
    rng = np.random.default_rng(1)
    homes = np.append(np.repeat(np.arange(6), 2), 6)
    table = pl.DataFrame({"p": np.arange(13), "home": homes, "ward": rng.choice(["x", "y"], 13)})
    roles = {"p": "person", "home": "household", "ward": {**CODE}}
    records = Microdata.of(table, roles).records
    result = shoal.Profiles(k=3, unit="household").apply(records, ["ward"], rng)
    wards = result.records["ward"]
    own: dict[int, list[str]] = {}
    for place, row in enumerate(result.records.rows):
        own.setdefault(int(table["home"][int(row)]), []).append(str(wards.categories[wards.values[place]]))
    assert len(own) == 7, "no home goes"
    assert min(Counter(tuple(sorted(of)) for of in own.values()).values()) >= 3
    with pytest.raises(DataError, match="no column has the role household"):
        shoal.Profiles(k=3, unit="household").apply(records.without(["home"]), ["ward"], rng)
    with pytest.raises(DataError, match="l = 9 values of a confidential column are needed in a group"):
        alike(
            table.with_columns(ill=pl.lit("flu")).rename({"home": "code"}).with_columns(age=1.0, day=0),
            {**ROLES, "code": "other", "ill": "confidential"},
            k=2,
            l=9,
        )


@given(st.integers(0, 10**6), st.integers(4, 7), st.integers(1, 3))
def test_no_groups_keep_more_than_the_bound(seed: int, persons: int, k: int) -> None:
    """Of all partitions into groups of k or more; nor do fewer than all pairs give another bound."""
    values = ints(np.random.default_rng(seed).integers(0, 9, (persons, 5)))
    best = max(
        sum(len(group) * int(values[group].min(axis=0).sum()) for group in groups)
        for groups in partitions(list(range(persons)), k)
    )
    bound = most_kept(values, np.zeros(persons, dtype=np.int64), k)
    assert bound is not None
    assert best <= bound <= int(values.sum())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("shoal.mask._profiles.bound.AT_ONCE", 1)
        assert most_kept(values, np.zeros(persons, dtype=np.int64), k) == bound


def partitions(persons: list[int], k: int) -> Iterator[list[list[int]]]:
    """All partitions into groups of at least k."""
    if not persons:
        yield []
        return
    first, *others = persons
    for size in range(k - 1, len(others) + 1):
        for more in combinations(others, size):
            left = [person for person in others if person not in more]
            yield from ([[first, *more], *groups] for groups in partitions(left, k))


def test_the_bound_stands_beside_what_is_kept() -> None:
    """Persons in pairs that are alike keep all they have; with k = 3 they cannot."""
    table = pl.DataFrame({"p": range(8), "age": [float(20 + n // 2) for n in range(8)], "code": ["a"] * 8, "ward": "x"})
    table = table.with_columns(day=pl.int_range(8))
    labels = ("share kept of what persons have", "no groups with this k keep more than")
    for k, least in ((2, 1.0), (3, 0.5)):
        facts = alike(table, k=k).facts
        kept, most = (facts[label].value for label in labels)
        assert least <= kept <= most
        assert (most == 1.0) == (k == 2)


@pytest.mark.parametrize("seed", [0, 2])
def test_persons_of_households_that_are_alike_are_alike(seed: int) -> None:
    """A release that tells whose each row is must leave two homes with as many persons who have the same rows."""
    rng = np.random.default_rng(seed)
    persons = np.repeat(np.arange(24), rng.integers(1, 4, 24))
    homes = rng.integers(0, 9, 24)[persons]
    table = pl.DataFrame({"p": persons, "home": homes, "ward": rng.choice(["x", "y", "z"], len(persons))})
    roles = {"p": "person", "home": "household", "ward": {**CODE}}
    two = {"privacy": "k-anonymity", "k": 2, "unit": "household", "knowing": "all records"}
    plan = {"columns": roles, "steps": [{"mask": "profiles", "k": 2, "unit": "household"}], "requirements": [two]}
    released = pl.DataFrame(shoal.protect(table, plan, seed=1).to_frame())
    assert min(nested(released).values()) >= 2
    swapped = released.with_columns(p=pl.int_range(pl.len()))  # each row is another person's: alike by rows still
    joined = swapped.with_columns(p=pl.when(pl.col("home") == 1).then(0).otherwise("p"))
    assert min(nested(joined).values()) == 1
    assert not shoal.audit(joined, plan).holds


def nested(table: pl.DataFrame) -> Counter[tuple[str, ...]]:
    """Homes by the rows of each of their persons."""
    own: dict[int, dict[int, list[str]]] = {}
    for person, home, ward in table.select("p", "home", "ward").rows():
        own.setdefault(home, {}).setdefault(person, []).append(str(ward))
    return Counter(tuple(sorted("".join(sorted(rows)) for rows in of.values())) for of in own.values())


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(2, 5))
def test_the_bound_counts_persons_who_have_the_same(seed: int, persons: int, k: int) -> None:
    """Pair by pair: the (k - 1)-th largest of what a person shares with each other one."""
    values = ints(np.random.default_rng(seed).integers(0, 3, (persons, 2)))
    expected = 0
    for i, own in enumerate(values.tolist()):
        shared = [sum(map(min, own, other)) for j, other in enumerate(values.tolist()) if j != i]
        expected += sorted(shared, reverse=True)[k - 2] if persons >= k else 0
    assert most_kept(values, np.zeros(persons, dtype=np.int64), k) == expected
