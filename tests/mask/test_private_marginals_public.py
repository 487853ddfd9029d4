"""Private marginals: that nothing beside the mechanism looks at the table, where a plan, a type or a person may."""

import hashlib
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import crossed
from shoal.mask._marginals.account import rho_of
from shoal.mask._marginals.model import NoisyMarginal
from shoal.vocabulary.errors import ParameterError, PlanError

STEP = {"mask": "private-marginals", "epsilon": 1, "delta": 1e-6}


class Even:
    """A mechanism that answers alike whatever the table: all combinations are as frequent."""

    def __init__(self, shape):
        self.shape = shape

    def measure(self, columns, rho):
        shape = [self.shape[c] for c in columns]
        counts = np.full(shape, 240 // int(np.prod(shape)))
        return NoisyMarginal(columns=columns, counts=counts, variance=40)

    def choose(self, pairs, scoring, rho):
        return 0


@pytest.fixture
def of_no_table(monkeypatch):
    monkeypatch.setattr(shoal.PrivateMarginals, "mechanism", lambda self, codes, shape, stream: Even(shape))


def public(frame, plan, folder, **more):
    shoal.protect(frame, plan, folder, seed=5, **more)
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted((folder / "release").iterdir())}


LETTERS = pl.Enum(["u", "v", "w"])


TYPES = dict(
    zip(
        ("floats", "truths", "numbers of truths", "wholes", "enum", "outside enum", "int8", "no number", "no text"),
        [
            (pl.Series([1, 2]), pl.Series([1, 1]), [1.0, 2.0]),
            (pl.Series([1, 0]), pl.Series([1, 1]), [True, False]),
            (pl.Series([True, False]), pl.Series([True, True]), [0, 1]),
            (pl.Series([1.0, 2.0]), pl.Series([1.0, 1.0]), [1, 2]),
            (pl.Series(["u", "v"], dtype=LETTERS), pl.Series(["u", "u"], dtype=LETTERS), ["u", "v"]),
            (pl.Series(["u", "v"], dtype=LETTERS), pl.Series(["u", "u"], dtype=LETTERS), ["u", "v", "x"]),
            (pl.Series([1, 2], dtype=pl.Int8), pl.Series([2, 2], dtype=pl.Int8), [1, 2, 300]),
            (pl.Series([None, 1], dtype=pl.Int64), pl.Series([None, None], dtype=pl.Int64), [1.0, None]),
            (pl.Series([None, "1"]), pl.Series([None, None], dtype=pl.String), [1, None]),
        ],
    )
)
"""By what stands in a column: cells in which two categories occur, in which one does, and the categories stated."""


@pytest.mark.parametrize(("name", "kind"), crossed(TYPES, ["csv", "parquet"]))
def test_the_type_of_a_column_does_not_tell_which_categories_occur(name, kind, tmp_path, of_no_table):
    some, others, stated = TYPES[name]
    plan = {
        "columns": {"x": {"role": "other", "level": "nominal", "missing": "keep"}, "y": "other"},
        "steps": [{**STEP, "domain": {"x": stated, "y": ["a", "b"]}}],
        "output": {"format": kind},
    }
    frames = [pl.DataFrame({"x": pl.concat([cells] * 30), "y": ["a", "b"] * 30}) for cells in (some, others)]
    first, second = (public(frame, plan, tmp_path / str(place)) for place, frame in enumerate(frames))
    assert first == second


def test_whole_numbers_stated_with_a_point_are_whole_numbers():
    frame = pl.DataFrame({"x": [1, 2] * 200, "y": ["a", "b"] * 200})
    plan = {
        "columns": {"x": {"role": "other", "level": "nominal"}, "y": "other"},
        "steps": [{**STEP, "domain": {"x": [1.0, 2.0], "y": ["a", "b"]}}],
    }
    assert shoal.protect(frame, plan, seed=1).data["x"].dtype == pl.Int64


def families(size):
    """Four hundred records, so many of each person."""
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {"x": rng.choice(["a", "b"], 400), "y": rng.choice(["a", "b"], 400), "person": np.arange(400) // size}
    )


def of_persons(**more):
    return {
        "columns": {"x": "quasi-identifier", "y": "confidential", "person": {"role": "person", "release_key": False}},
        "steps": [{**STEP, "domain": {"x": ["a", "b"], "y": ["a", "b"]}, "records_per_person": 4}],
        **more,
    }


@pytest.mark.parametrize("unit", [{}, {"unit": "person"}], ids=["by default", "persons"])
def test_a_requirement_that_counts_the_tables_persons_is_refused_and_one_of_records_is_not(unit, tmp_path, of_no_table):
    """Who is in the table decided whether two hundred persons shared each class of records that are nobody's."""
    required = {"privacy": "k-anonymity", "k": 3}
    for size in (1, 100):
        with pytest.raises(PlanError, match="k-anonymity counts by 'person', which is not released"):
            shoal.protect(families(size), of_persons(requirements=[{**required, **unit}]), seed=1)
    of_records = of_persons(requirements=[{**required, "unit": "record"}])
    first, second = (public(families(size), of_records, tmp_path / str(size)) for size in (1, 100))
    assert first == second


def test_new_records_stand_in_the_places_of_nobody():
    frame = families(1)
    before = shoal.Microdata.of(frame, of_persons()["columns"]).records
    method = shoal.PrivateMarginals(epsilon=1.0, delta=1e-6, domain={"x": ("a", "b"), "y": ("a", "b")})
    after = method.apply(before, ["x", "y"], np.random.default_rng(0)).records
    assert after.names() == ("x", "y")
    assert not set(after.rows.tolist()) & set(before.rows.tolist())
    assert len(set(after.rows.tolist())) == len(after)


def test_an_empty_table_is_made_anew_like_any_other():
    """A record that is the only one is as hidden as others."""
    before = shoal.Microdata.of(families(1), of_persons()["columns"]).records
    method = shoal.PrivateMarginals(epsilon=1.0, delta=1e-6, domain={"x": ("a", "b"), "y": ("a", "b")})
    result = method.apply(before.take(np.arange(0)), ["x", "y"], np.random.default_rng(0))
    assert len(result.records) >= 1 and "privacy loss" in result.facts


def test_hierarchies_of_the_tables_values_are_refused():
    frame = families(1).with_columns(age=pl.col("person") % 90).drop("person")
    for hierarchy in ({"intervals": [10, 20]}, {"masking": "right"}):
        age = {"role": "quasi-identifier", "level": "ordinal", "hierarchy": hierarchy}
        domain = {"x": ["a", "b"], "y": ["a", "b"], "age": list(range(90))}
        plan = {"columns": {"x": "other", "y": "other", "age": age}, "steps": [{**STEP, "domain": domain}]}
        with pytest.raises(PlanError, match="hierarchy of 'age' is made of the values that the table has"):
            shoal.protect(frame, plan, seed=1)


@pytest.mark.parametrize("epsilon", [1e-5, 1e-8, 1e-300])
def test_an_epsilon_that_pays_for_nothing_is_refused(epsilon):
    plan = of_persons()
    plan["steps"][0]["epsilon"] = epsilon
    with pytest.raises(ParameterError, match="Raise epsilon"):
        shoal.protect(families(1), plan, seed=1)


def test_what_is_paid_for_is_above_nothing_or_refused():
    assert rho_of(Fraction(1, 1000), Decimal("1e-6")) > 0
    with pytest.raises(ParameterError, match="pays for no count"):
        rho_of(Fraction(1, 10**8), Decimal("1e-9"))
