"""The models that compare classes with the table: by hand, against definitions, and on awkward tables."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from naive import emd as naive
from shoal.data.hierarchy import Hierarchy
from shoal.data.microdata import Microdata
from shoal.errors import DataError, ParameterError
from shoal.privacy.nt_closeness import class_points, nested_boxes

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


def test_a_planted_lie_is_caught():
    """All classes have one income of each quarter, until one class is given low incomes only."""
    frame = pd.DataFrame(
        {"age": np.repeat([1, 2, 3, 4], 4), "pay": [1, 8, 9, 16, 2, 7, 10, 15, 3, 6, 11, 14, 4, 5, 12, 13]}
    )
    honest = shoal.TCloseness(t=0.1).check(frame, confidential="pay")
    assert honest.holds and honest.details["classes that fail"] == 0
    lie = frame.copy()
    lie.loc[[2, 3, 4, 8], "pay"] = [2, 3, 9, 16]
    found = shoal.TCloseness(t=0.3).check(lie, confidential="pay")
    assert not found.holds and found.achieved > 0.3
    assert found.details["worst class"] == {"size": 4, "distance": found.achieved, "column": "pay"}
    assert found.details["classes that fail"] == 1
    assert found.sentence == (
        f"1 class with 4 records in all breaks the requirement; the worst holds 4 records at distance "
        f"{found.achieved:.4g}, where 0.3 is required."
    )
    assert shoal.TCloseness(t=found.achieved).check(lie, confidential="pay").holds


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
        found = model.check(frame, confidential="ill")
        assert not found.holds
        assert found.details["worst class"]["size"] == 3
        assert "'a'" not in found.sentence and "a" not in found.details["worst class"].values()


def test_several_columns_count_with_their_worst():
    frame = pd.DataFrame({"q": [1, 1, 2, 2], "even": [1, 2, 1, 2], "odd": [1, 2, 3, 4]})
    both = shoal.TCloseness(t=0.1).check(frame, confidential=["even", "odd"])
    assert both.achieved == shoal.TCloseness(t=0.1).check(frame[["q", "odd"]], confidential="odd").achieved
    assert both.details["worst class"]["column"] == "odd"
    assert shoal.TCloseness(t=0).check(frame[["q", "even"]], confidential="even").holds
    assert shoal.LDiversity(l=3).check(frame, confidential=["even", "odd"]).achieved == 2


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


def test_hierarchy_makes_near_categories_near():
    tree = Hierarchy.from_nested({"lung": ["flu", "cold"], "skin": ["rash", "acne"]})
    frame = pd.DataFrame({"q": [1, 1, 2, 2], "ill": ["flu", "rash", "cold", "acne"]})
    columns = {"q": "quasi-identifier", "ill": {"role": "confidential", "hierarchy": tree}}
    # Each class has half of each branch, on one of its two leaves: 1/4 + 1/4 moves half the height.
    assert shoal.TCloseness(t=1).check(Microdata.of(frame, columns)).achieved == 0.25
    assert shoal.TCloseness(t=1, distance="equal").check(Microdata.of(frame, columns)).achieved == 0.5
    with pytest.raises(DataError, match="Column 'ill' has no hierarchy, which distance: hierarchical needs"):
        shoal.TCloseness(t=1, distance="hierarchical").check(frame, confidential="ill")


def test_large_set_may_differ_from_the_table():
    """Two towns with different incomes: each class is like its town, no class is like the country."""
    rng = np.random.default_rng(1)
    town = np.repeat([0, 1], 60)
    frame = pd.DataFrame(
        {
            "town": town,
            "age": np.tile(np.repeat(np.arange(6), 10), 2),
            "pay": np.tile(rng.permutation(10), 12) + 10 * town,
        }
    )
    assert shoal.TCloseness(t=0.1).check(frame, confidential="pay").achieved > 0.2
    assert shoal.NTCloseness(n=30, t=0.1).check(frame, confidential="pay").achieved == 0
    assert not shoal.NTCloseness(n=61, t=0.1).check(frame, confidential="pay").holds
    assert not shoal.NTCloseness(n=121, t=1).check(frame, confidential="pay").holds


@given(
    points=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=25, unique=True),
    n=st.integers(1, 9),
    data=st.data(),
)
def test_boxes_are_nested_and_large(points, n, data):
    sizes = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(points), max_size=len(points))))
    x = np.array(points, dtype=float)
    levels = nested_boxes(x, sizes, n)
    assert (levels[-1] == 0).all()
    for inside, wider in zip(levels, levels[1:]):
        assert len(set(zip(inside, wider))) == len(set(inside))
        assert np.bincount(inside, weights=sizes).min() >= min(n, sizes.sum())


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


def test_sensitive_anonymity_needs_both():
    frame = pd.DataFrame({"q": [1, 1, 2], "c": ["a", "b", "a"]})
    assert not shoal.PSensitivity(p=1, k=2).check(frame, confidential="c").holds
    assert shoal.PSensitivity(p=1, k=1).check(frame, confidential="c").holds


def test_losses_are_free_under_beta_likeness():
    # A tenth of 400 records are a; of the class of 20 one is: a loses half of its share, b gains .05 on .9.
    frame = pd.DataFrame({"q": [0] * 20 + [1] * 380, "c": ["a"] + ["b"] * 19 + ["a"] * 39 + ["b"] * 341})
    found = shoal.BetaLikeness(beta=1, enhanced=False).check(frame, confidential="c")
    assert found.achieved == pytest.approx(0.05 / 0.9)


def test_delta_itself_is_not_allowed():
    # a is three of four in one class, one of four in the other, half of the table: ln(1/2) to one side.
    frame = pd.DataFrame({"q": [0] * 4 + [1] * 4, "c": list("aaabbbba")})
    assert not shoal.DeltaDisclosure(delta=math.log(2)).check(frame, confidential="c").holds
    assert shoal.DeltaDisclosure(delta=np.nextafter(math.log(2), 1)).check(frame, confidential="c").holds


@pytest.mark.parametrize("values", ["abc", "abcdef", "abcdefghijklmnopqrst"])
def test_equal_shares_of_m_values_have_entropy_diversity_m(values):
    frame = pd.DataFrame({"q": 1, "c": list(values)})  # exp(entropy) is 3 - 4e-16 for three values
    assert shoal.LDiversity(l=len(values), kind="entropy").check(frame, confidential="c").holds


def test_missing_is_as_far_from_every_category_as_two_can_be():
    tree = Hierarchy.from_nested({"lung": ["flu", "cold"], "skin": ["rash"]})
    frame = pd.DataFrame({"q": [1, 1, 2, 2], "ill": ["flu", None, "flu", "flu"]})
    columns = {"q": "quasi-identifier", "ill": {"role": "confidential", "hierarchy": tree, "missing": "keep"}}
    # A quarter of the table is missing, of one class half and of the other nothing: a quarter moves a whole height.
    assert shoal.TCloseness(t=1).check(Microdata.of(frame, columns)).achieved == 0.25


def test_boxes_part_no_equal_values():
    levels = nested_boxes(np.array([[0.0], [0.0], [0.0], [1.0]]), np.array([2, 2, 2, 2]), 2)
    assert [len(set(inside)) for inside in levels] == [2, 1]
    assert levels[0][0] == levels[0][1] == levels[0][2] != levels[0][3]


def test_the_box_is_cut_where_the_column_is_widest_and_nearest_to_the_median() -> None:
    """Ages 0 to 9 on a line of towns: n = 4 allows cuts that leave 4 records on both sides; the middle one is taken."""
    points = np.array([[0.0, 0.1], [0.2, 0.1], [0.4, 0.2], [0.6, 0.2], [1.0, 0.3]])
    sizes = np.array([1, 3, 2, 1, 3])
    boxes = nested_boxes(points, sizes, 4)
    # 4 and 6 records, or 6 and 4: both miss the middle by one, and the first is taken; 4 and 6 are then too few to cut
    assert [b.tolist() for b in boxes] == [[0, 0, 1, 1, 1], [0, 0, 0, 0, 0]]
    wider = np.column_stack([points[:, 0] / 10, points[::-1, 1]])  # now the second column is the wider one
    assert nested_boxes(wider, sizes, 4)[0].tolist() == [1, 1, 1, 0, 0]


def test_a_class_may_appeal_to_any_box_that_holds_it_the_smallest_first() -> None:
    """The young are ill and the old are well: a young class is far from the table, and just as the young half."""
    frame = pd.DataFrame({"age": [1, 1, 2, 2, 8, 8, 9, 9], "ill": ["y", "n", "y", "n", "n", "n", "n", "n"]})
    roles = {"age": "quasi-identifier", "ill": "confidential"}
    table = Microdata.of(frame, roles)
    assert not shoal.TCloseness(t=0.2).check(table).holds
    verdict = shoal.NTCloseness(n=4, t=0.2).check(table)
    assert (verdict.holds, verdict.achieved) == (True, 0.0)
    assert shoal.NTCloseness(n=5, t=0.2).check(table).achieved == 0.25  # no half has five, so the table is the only box


def test_missing_quasi_identifiers_stand_below_all_others_in_a_box() -> None:
    """The two without an age are their own corner: with the youngest they are a box of four, never with the oldest."""
    roles = {"age": {"role": "quasi-identifier", "missing": "keep"}, "ill": "confidential"}
    ages = [None, None, 1.0, 1.0, 8.0, 8.0, 9.0, 9.0]
    ill = ["y", "n", "y", "n", "n", "n", "n", "n"]
    records = Microdata.of(pl.DataFrame({"age": ages, "ill": ill}), roles).encoded
    classes = records.classes(("age",))
    points = class_points(records, classes)[classes.ids, 0]
    assert points.tolist() == [-1, -1, 0, 0, 0.875, 0.875, 1, 1]
    assert shoal.NTCloseness(n=4, t=0.2).check(records).holds


def test_missing_confidential_values_are_as_far_as_can_be_in_boxes_too() -> None:
    roles = {"age": "quasi-identifier", "pay": {"role": "confidential", "missing": "keep"}}
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "pay": [None, None, 5.0, 6.0]})
    verdict = shoal.NTCloseness(n=4, t=0.4).check(Microdata.of(frame, roles))
    assert not verdict.holds
    # half of the table is missing, of one class all: half of everybody's mass moves a whole height
    assert verdict.achieved == pytest.approx(0.5)
