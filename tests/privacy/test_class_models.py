"""The models that compare classes with the table: by hand, against definitions, and on awkward tables."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from by_night import by_night
from naive import emd as naive
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import ParameterError

MODELS = [
    lambda: shoal.TCloseness(t=0.2),
    lambda: shoal.TCloseness(t=0.2, distance="rank"),
    lambda: shoal.TCloseness(t=0.2, distance="equal"),
    lambda: shoal.LDiversity(l=2),
    lambda: shoal.LDiversity(l=2, kind="entropy"),
    lambda: shoal.LDiversity(l=2, kind="recursive", c=2),
    lambda: shoal.PSensitivity(p=2),
    lambda: shoal.BetaLikeness(beta=1),
    lambda: shoal.BetaLikeness(beta=1, enhanced=False),
    lambda: shoal.DeltaDisclosure(delta=1),
    lambda: shoal.NTCloseness(n=3, t=0.2),
]

KEEP = {
    "q": {"role": "quasi-identifier", "missing": "keep"},
    "r": {"role": "quasi-identifier", "missing": "keep"},
    "c": {"role": "confidential", "missing": "keep"},
}

cells = st.sampled_from([0.0, 1.0, 2.0, 5.0, float("nan")])
tables = st.lists(
    st.tuples(st.sampled_from([0.0, 1.0, float("nan")]), st.sampled_from(["x", "y", None]), cells),
    min_size=1,
    max_size=20,
)


def frame_of(rows):
    q, r, c = zip(*rows)
    return pd.DataFrame({"q": q, "r": pd.Series(r, dtype=object), "c": c})


def by_class(rows):
    classes = {}
    for q, r, c in rows:
        classes.setdefault((None if q != q else q, r), []).append(None if c != c else c)
    return classes, [None if c != c else c for _, _, c in rows]


def shares(values):
    return {value: count / len(values) for value, count in Counter(values).items()}


def recursive(values, c):
    counts = sorted(Counter(values).values(), reverse=True)
    return max((j + 1 for j in range(len(counts)) if counts[0] < c * sum(counts[j:])), default=0)


def gain(values, table, enhanced):
    p, worst = shares(table), 0.0
    for value, q in shares(values).items():
        g = (q - p[value]) / p[value]
        worst = max(worst, math.inf if enhanced and g > -math.log(p[value]) + 1e-12 else g)
    return worst


def log_ratio(values, table):
    q = shares(values)
    return max(abs(math.log(q[v] / p)) if v in q else math.inf for v, p in shares(table).items())


def filled(values):
    known = [v for v in values if v is not None]
    return [max(known, key=known.count) if v is None and known else v for v in values]


def test_suppressed_cells_make_no_class_diverse():
    """One of four has a known illness; blanking the others, or all but two of a kind, hides nothing of it."""
    columns = {"q": "quasi-identifier", "ill": {"role": "confidential", "missing": "keep"}}
    for ill in (["flu", None, None, None], ["flu", "flu", None, None], [None] * 4):
        records = Microdata.of(pd.DataFrame({"q": [1] * 4, "ill": ill}), columns)
        for model in (
            shoal.LDiversity(l=2),
            shoal.LDiversity(l=1.1, kind="entropy"),
            shoal.PSensitivity(p=2),
            shoal.LDiversity(l=2, kind="recursive", c=5),
        ):
            assert not model.check(records).holds


def test_a_missing_household_may_be_one_that_is_there():
    columns = {"q": "quasi-identifier", "h": {"role": "household", "missing": "keep"}}
    for homes, holds in (([1, None, None], False), ([1, 2, None], True), ([None] * 3, False)):
        records = Microdata.of(pl.DataFrame({"q": [1] * 3, "h": homes}), columns)
        assert shoal.KAnonymity(k=2, unit="household").check(records).holds is holds


@given(rows=tables)
def test_figures_equal_the_definitions(rows):
    classes, table = by_class(rows)
    frame = Microdata.of(frame_of(rows), KEEP)
    entropy = lambda values: math.exp(-sum(p * math.log(p) for p in shares(values).values()))
    expected = {
        "t": max(float(naive.with_missing(v, table, naive.ordered)) for v in classes.values()),
        "rank": max(float(naive.with_missing(v, table, naive.spread)) for v in classes.values()),
        "equal": max(sum(abs(shares(v).get(x, 0) - p) for x, p in shares(table).items()) / 2 for v in classes.values()),
        "distinct": min(len(set(filled(v))) for v in classes.values()),
        "entropy": min(entropy(filled(v)) for v in classes.values()),
        "recursive": min(recursive(filled(v), 2) for v in classes.values()),
        "basic": max(gain(v, table, False) for v in classes.values()),
        "enhanced": max(gain(v, table, True) for v in classes.values()),
        "delta": max(log_ratio(v, table) for v in classes.values()),
        "whole": max(float(naive.with_missing(v, table, naive.ordered)) for v in classes.values()),
    }
    made = {
        "t": shoal.TCloseness(t=0),
        "rank": shoal.TCloseness(t=0, distance="rank"),
        "equal": shoal.TCloseness(t=0, distance="equal"),
        "distinct": shoal.LDiversity(l=9),
        "entropy": shoal.LDiversity(l=9, kind="entropy"),
        "recursive": shoal.LDiversity(l=9, kind="recursive", c=2),
        "enhanced": shoal.BetaLikeness(beta=1e-9),
        "basic": shoal.BetaLikeness(beta=1e-9, enhanced=False),
        "delta": shoal.DeltaDisclosure(delta=1e-9),
        "whole": shoal.NTCloseness(n=len(rows), t=0),
    }
    for name, model in made.items():
        assert model.check(frame).achieved == pytest.approx(expected[name], abs=1e-12), name


@settings(max_examples=by_night(6, 60))
@given(rows=tables)
def test_index_order_and_kind_of_table_do_not_matter(rows):
    frame = frame_of(rows)
    shuffled = frame.sample(frac=1, random_state=1).set_index(pd.Index(range(7, 7 + 3 * len(frame), 3)))
    polars = pl.DataFrame(
        {
            "q": [None if q != q else q for q, _, _ in rows],
            "r": [r for _, r, _ in rows],
            "c": [None if c != c else c for _, _, c in rows],
        },
        schema={"q": pl.Float64, "r": pl.String, "c": pl.Float64},
    )
    for make in MODELS:
        first = make().check(Microdata.of(frame, KEEP))
        assert make().check(Microdata.of(shuffled, KEEP)) == first
        assert make().check(Microdata.of(polars, KEEP)) == first


@pytest.mark.parametrize("make", MODELS)
def test_no_records_no_confidential_column_constant_column(make):
    none = make().check(Microdata.of(pd.DataFrame({"q": np.empty(0), "r": np.empty(0), "c": np.empty(0)}), KEEP))
    assert none.holds and none.achieved is None
    blind = make().check(pd.DataFrame({"q": [1, 1]}))
    assert not blind.holds and "no confidential column" in blind.sentence
    constant = make().check(pd.DataFrame({"q": [1, 1, 2], "c": [7, 7, 7]}), confidential="c")
    diverse = isinstance(make(), (shoal.LDiversity, shoal.PSensitivity))
    assert constant.holds is not diverse
    assert constant.achieved == (1 if diverse else 0)


def test_a_class_of_one_value_is_caught():
    frame = pd.DataFrame({"age": [1, 1, 1, 2, 2, 2], "ill": ["a", "a", "a", "a", "b", "c"]})
    for model in (
        shoal.LDiversity(l=2),
        shoal.LDiversity(l=2, kind="entropy"),
        shoal.PSensitivity(p=2),
        shoal.LDiversity(l=2, kind="recursive", c=3),
        shoal.BetaLikeness(beta=0.4),
        shoal.DeltaDisclosure(delta=1),
    ):
        verdict = model.check(frame, confidential="ill")
        assert not verdict.holds
        assert verdict.details["worst class"]["size"] == 3
        assert "'a'" not in verdict.sentence and "a" not in verdict.details["worst class"].values()


def test_a_class_exactly_at_the_limit_passes():
    # Ten values, classes {1, 10}, {2, 9} ...; the worst is {5, 6}: 2 (.1 + .2 + .3 + .4) over 9 steps.
    frame = pd.DataFrame({"q": [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], "c": [1, 10, 2, 9, 3, 8, 4, 7, 5, 6]})
    at = shoal.TCloseness(t=0).check(frame, confidential="c").achieved
    assert at == 2 / 9
    assert shoal.TCloseness(t=at).check(frame, confidential="c").holds
    assert not shoal.TCloseness(t=np.nextafter(at, 0)).check(frame, confidential="c").holds
    half = pd.DataFrame({"q": [0, 0, 1, 1], "c": ["a", "a", "b", "b"]})
    assert shoal.BetaLikeness(beta=1, enhanced=False).check(half, confidential="c").holds
    assert not shoal.DeltaDisclosure(delta=1).check(half, confidential="c").holds


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: shoal.TCloseness(t=1.5), "t-closeness: t must be less than or equal to 1; got 1.5."),
        (lambda: shoal.LDiversity(l=0), "l-diversity: l must be greater than or equal to 1; got 0."),
        (lambda: shoal.PSensitivity(p=0), "p-sensitivity: p must be greater than or equal to 1; got 0."),
        (lambda: shoal.BetaLikeness(beta=0), "beta-likeness: beta must be greater than 0; got 0."),
        (lambda: shoal.DeltaDisclosure(delta=-1), "delta-disclosure: delta must be greater than 0; got -1."),
        (lambda: shoal.NTCloseness(n=0, t=0.1), "nt-closeness: n must be greater than or equal to 1; got 0."),
    ],
)
def test_parameters_outside_their_limits(make, sentence):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == sentence
