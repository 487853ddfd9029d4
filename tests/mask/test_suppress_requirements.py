"""Local suppression for what is required beside k, each figure counted again by hand."""

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from by_night import by_night
from mask.test_suppress import cells, records
from naive.people import cheapest, people, presence
from naive.suppression import matching
from shoal.vocabulary.errors import ParameterError, Refused

WIDTH = 3
rows_of = st.lists(st.lists(st.integers(0, 2), min_size=WIDTH, max_size=WIDTH), min_size=2, max_size=12)


def frame(rows) -> pl.DataFrame:
    return pl.DataFrame({f"k{j}": list(column) for j, column in enumerate(zip(*rows))})


def table(rows, weights=None):
    roles = {f"k{j}": {"role": "quasi-identifier", "level": "nominal", "missing": "keep"} for j in range(WIDTH)}
    data = frame(rows) if weights is None else frame(rows).with_columns(w=pl.Series(weights, dtype=pl.Float64))
    return shoal.Microdata.of(data, roles if weights is None else {**roles, "w": "weight"}).records


def suppressed(before, *requirements, **parameters):
    """The codes before and after, as lists of rows."""
    step = shoal.Suppress(requirements=requirements, **parameters)
    keys = before.quasi_identifiers
    after = step.apply(before, keys, np.random.default_rng(0)).records
    codes = [np.column_stack([part[name].values for name in keys]).tolist() for part in (before, after)]
    return (*codes, after)


def values(before, codes):
    """Rows of codes as rows of the values that they stand for."""
    categories = [before[name].categories for name in before.quasi_identifiers]
    return [[-1 if x < 0 else categories[j][x] for j, x in enumerate(row)] for row in codes]


@settings(max_examples=by_night(30, 60))
@given(rows=rows_of, more=rows_of, k=st.integers(1, 6), dear=st.floats(0.5, 3))
def test_each_record_loses_the_cheapest_cells_for_its_people(rows, more, k, dear):
    population = rows + more
    assume(len(population) >= k)
    before = table(rows)
    model = shoal.KMap(k=k, population=frame(population), missing="wildcard")
    codes, after, _ = suppressed(before, model, importance={"k1": dear})
    ones = [1] * len(population)
    cost = [1, dear, 1]
    price = 0.0
    for was, now in zip(values(before, codes), values(before, after)):
        assert people(now, population, ones) >= k
        assert all(new in (old, -1) for old, new in zip(was, now))
        lost = sum(c for c, old, new in zip(cost, was, now) if old != new)
        assert lost == pytest.approx(cheapest(was, population, ones, k, cost))
        price += lost
    assert price == 0 or cells(codes, after)


@given(rows=rows_of, weights=st.lists(st.integers(1, 5), min_size=12, max_size=12), k=st.integers(1, 12))
def test_weights_that_match_reach_k_and_no_record_is_sacrificed(rows, weights, k):
    weights = weights[: len(rows)]
    assume(sum(weights) >= k)
    before = table(rows, weights)
    codes, after, _ = suppressed(before, shoal.KMap(k=k, missing="wildcard"))
    for was, now in zip(codes, after):
        assert people(now, after, weights) >= k
        assert was == now or people(was, codes, weights) < k


def test_weights_cost_no_more_than_as_many_records_do():
    """Where every weight is 10, the 30-map estimated by weights is 3-anonymity, whose search knows how to refine."""
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.integers(0, 12, 300), rng.integers(0, 6, 300), rng.integers(0, 3, 300)])
    by_weight = cells(*suppressed(table(rows, [10.0] * 300), shoal.KMap(k=30, missing="wildcard"))[:2])
    by_records = cells(*suppressed(table(rows), k=3, search="greedy")[:2])
    assert 0 < by_weight <= 1.1 * by_records


@settings(max_examples=by_night(16, 40))
@given(rows=rows_of, more=rows_of, largest=st.floats(0.2, 1), least=st.sampled_from([0.0, 0.0, 0.05]))
def test_nobody_is_too_surely_in_the_table(rows, more, largest, least):
    population = rows + more
    before = table(rows)
    model = shoal.DeltaPresence(largest=largest, least=least, population=frame(population), missing="wildcard")
    share = len(rows) / len(population)
    try:
        codes, after, _ = suppressed(before, model)
    except Refused:  # blanked altogether, everybody would be there with the same probability
        assert share > largest or share < least
        return
    sure = presence(values(before, after), population)
    assert least - 1e-9 <= min(sure) and max(sure) <= largest + 1e-9
    already = presence(values(before, codes), population)
    if least <= min(already) and max(already) <= largest:
        assert codes == after


@settings(max_examples=by_night(6, 40))
@given(rows=rows_of, average=st.floats(0.1, 1), missing=st.sampled_from(["wildcard", "equal"]))
def test_the_average_risk_is_kept(rows, average, missing):
    assume(1 / len(rows) <= average)
    before = table(rows)
    codes, after, changed = suppressed(before, shoal.AverageRisk(average=average, missing=missing))
    risk = np.mean([1 / have for have in matching(after, missing)])
    assert risk <= average * (1 + 1e-9)
    assert shoal.AverageRisk(average=average, missing=missing).check(changed).achieved == pytest.approx(risk)
    if np.mean([1 / have for have in matching(codes, missing)]) <= average:
        assert codes == after


def test_no_more_records_are_treated_than_an_average_needs():
    """Twenty singles beside eighty of a kind: half of the records may have the risk that they have now."""
    rows = [[0, 0, 0]] * 80 + [[1, 1, x] for x in range(20)]
    for average, most in ((21 / 100, 0), (11 / 100, 11), (2 / 100, 20)):
        codes, after, _ = suppressed(records(rows), shoal.AverageRisk(average=average, missing="equal"))
        assert sum(was != now for was, now in zip(codes, after)) <= most


def test_a_figure_with_a_bound():
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 4, (60, 3)).tolist()
    gate = {"risk": "prosecutor", "at most": 0.34, "missing": "wildcard"}
    _, after, _ = suppressed(records(rows), gate)
    assert min(matching(after)) >= 3


def test_k_and_requirements_hold_together():
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 5, (40, 3)).tolist()
    population = rows + rng.integers(0, 5, (400, 3)).tolist()
    model = shoal.KMap(k=9, population=frame(population), missing="wildcard")
    before = table(rows)
    _, after, _ = suppressed(before, model, k=2)
    assert min(matching(after)) >= 2
    assert min(people(row, population, [1] * len(population)) for row in values(before, after)) >= 9


def test_limits_and_kept_columns_bind():
    rows, population = [[0, 0, 0], [1, 1, 1]], [[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]]
    model = shoal.KMap(k=2, population=frame(population), missing="wildcard")
    _, after, _ = suppressed(table(rows), model)
    assert after == [[0, 0, -1], [1, 1, -1]]
    for parameters in ({"keep": ("k0", "k2")}, {"limits": {"k2": 0.5, "k0": 0}}):
        with pytest.raises(Refused, match="no cells were found without which 2-map holds"):
            suppressed(table(rows), model, **parameters)


def test_what_cannot_be_searched_for_is_refused():
    population = frame([[0, 0, 0]])
    for model in (shoal.KMap(k=2, population=population), shoal.DeltaPresence(largest=0.5, population=population)):
        with pytest.raises(ParameterError, match=f"give the requirement {model.method_name} missing: wildcard"):
            shoal.Suppress(requirements=[model])
    with pytest.raises(ParameterError, match="or none beside requirements"):
        shoal.Suppress()
    with pytest.raises(Refused, match="Neither the size of the population nor sampling weights are known"):
        suppressed(table([[0, 0, 0], [1, 1, 1]]), {"risk": "population-uniques", "at most": 0.1})


def test_the_finished_file_keeps_it_though_homes_give_towns_away(tmp_path):
    """The second member of home 1 would give away the first one's town, which only one person of the population has."""
    people_there = pl.DataFrame({"town": ["a"] * 2 + ["b"] * 6 + ["c"] * 6, "age": ["x", "y"] + ["x", "y"] * 6})
    people_there.write_csv(tmp_path / "everyone.csv")
    data = pl.DataFrame({"home": [1, 1, 2, 2, 3, 3], "town": list("aabbcc"), "age": ["x", "y"] * 3})
    model = {"k": 3, "population": "everyone.csv", "missing": "wildcard"}
    plan = {
        "columns": {
            "home": "household",
            "town": {"role": "quasi-identifier", "missing": "keep"},
            "age": {"role": "quasi-identifier", "missing": "keep"},
        },
        "steps": [{"mask": "suppress", "keep": ["age"], "requirements": [{"method": "k-map", **model}]}],
        "requirements": [{"privacy": "k-map", **model}],
    }
    release = shoal.protect(data, plan, seed=1, folder=tmp_path)
    release.write(tmp_path / "out")
    written = pl.read_csv(tmp_path / "out" / "release" / "data.csv")
    assert written["town"].null_count() == 2
    towns = dict(written.group_by("home").agg(pl.col("town").drop_nulls().unique()).rows())
    assert sorted(map(len, towns.values())) == [0, 1, 1]
    assert shoal.Plan.of(shoal.Plan.of(plan).as_mapping()) == shoal.Plan.of(plan)
