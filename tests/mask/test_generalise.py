from fractions import Fraction
from math import log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from by_night import by_night, only_by_night
from naive.generalise import (
    adult_like,
    best_local_loss,
    best_loss,
    best_loss_of_table,
    least_among_people,
    least_beside_rest,
    least_entropy,
    nested,
    partitions,
)
from shoal.mask._generalisation.requirements import Requirements
from shoal.privacy.gate import requirement
from shoal.table.hierarchy import Hierarchy
from shoal.vocabulary import registry
from shoal.vocabulary.errors import InputError, Refused

PATHS = [nested(list("abcdef"), [2]), nested(list("uvwx"), [2]), nested(list("pq"), [])]


def micro(rows, paths=PATHS, stratum=None):
    frame = pd.DataFrame({f"c{j}": [row[j] for row in rows] for j in range(len(paths))})
    spec = {
        f"c{j}": {"role": "quasi-identifier", "hierarchy": Hierarchy(tuple(p.values()))} for j, p in enumerate(paths)
    }
    if stratum is not None:
        frame["s"], spec["s"] = stratum, {"role": "stratum"}
    return shoal.Microdata.of(frame, spec)


def run(table, **parameters):
    return shoal.Generalise(**parameters).apply(
        table.records, table.records.quasi_identifiers, np.random.default_rng(0)
    )


rows = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("uvwx"), st.sampled_from("pq")), min_size=4, max_size=30
)


@given(rows=rows, k=st.integers(1, 4), limit=st.sampled_from([0.0, 0.1, 0.3]))
def test_the_optimum_equals_exhaustive_search(rows, k, limit):
    change = run(micro(rows), k=k, suppression=limit)
    assert change.details["loss"] == pytest.approx(best_loss(rows, PATHS, k, limit), abs=1e-12)
    assert shoal.KAnonymity(k=k).check(change.records).holds
    assert change.details["records dropped"] <= limit * len(rows)


@given(rows=rows, k=st.integers(1, 4), limit=st.sampled_from([0.0, 0.2]))
def test_local_recoding_reaches_k_and_loses_no_more(rows, k, limit):
    full, local = (run(micro(rows), k=k, suppression=limit, recoding=r) for r in ("full-domain", "local"))
    assert local.details["loss"] <= full.details["loss"] + 1e-12
    assert shoal.KAnonymity(k=k).check(local.records).holds
    for j in range(3):
        new = local.records[f"c{j}"]
        for row, code in zip(local.records.rows, new.values):
            assert new.categories[code] in PATHS[j][rows[row][j]]  # an ancestor of what stood there


def test_by_hand_the_cheaper_of_two_columns_goes_up():
    """Either column would do; level 1 costs 1/5 of a cell in c0 (6 leaves, pairs) and 1/3 in c1 (4 leaves)."""
    change = run(micro([("a", "u", "p"), ("b", "u", "p"), ("a", "v", "p"), ("b", "v", "p")]), k=2)
    assert change.details["levels"] == {"c0": 1, "c1": 0, "c2": 0}
    assert change.details["loss"] == pytest.approx((1 / 5) / 3)


def test_by_hand_only_one_column_needs_to_go_up():
    table = micro([("a", "u", "p"), ("b", "u", "p"), ("c", "v", "q"), ("d", "v", "q")])
    change = run(table, k=2)
    assert change.details["levels"] == {"c0": 1, "c1": 0, "c2": 0}
    assert change.details["loss"] == pytest.approx((1 / 5) / 3)
    assert table.rebuild(change.records).native["c0"].tolist() == ["2:0", "2:0", "2:1", "2:1"]


def test_precision_counts_levels():
    table = micro([("a", "u", "p"), ("b", "u", "p")])
    assert run(table, k=2, loss="precision").details["loss"] == pytest.approx((1 / 2) / 3)


def test_strata_stay_apart():
    rows = [("a", "u", "p"), ("b", "u", "p"), ("a", "u", "p"), ("f", "u", "p")]
    change = run(micro(rows, stratum=["n", "n", "s", "s"]), k=2)
    assert change.details["levels"]["c0"] == 2  # a and f meet at the root only
    assert (
        run(micro(rows, stratum=["n", "n", "s", "s"]), k=2, recoding="local").details["loss"] < change.details["loss"]
    )


@pytest.mark.slow
def test_adult_like():
    frame, paths = adult_like(3000)
    table = micro(frame.to_numpy().tolist(), list(paths.values()))
    full = run(table, k=5, suppression=0.02)
    assert full.details["nodes"] == 46_080 and full.details["nodes looked at"] < 5000
    local = run(table, k=5, suppression=0.02, recoding="local")
    assert local.details["loss"] < 0.7 * full.details["loss"]
    for change in (full, local):
        assert shoal.KAnonymity(k=5).check(change.records).holds


def test_bad_input_refused():
    table = micro([("a", "u", "p"), ("f", "x", "q")])
    with pytest.raises(InputError, match="k must be at most 2, the number of records; got 3"):
        run(table, k=3)
    frame = pd.DataFrame({"c": ["a", "b"]})
    with pytest.raises(InputError, match="Column 'c' needs a hierarchy that holds all of its values"):
        run(shoal.Microdata.of(frame, {"c": "quasi-identifier"}), k=2)
    with pytest.raises(Refused, match="no combination of levels keeps the requirements with at most 0 of the records"):
        run(micro([("a", "u", "p")] * 3, stratum=["n", "n", "s"]), k=2)


few = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("uvwx"), st.sampled_from("pq")), min_size=4, max_size=8
)


@given(rows=few, k=st.integers(2, 3))
def test_no_recoding_beats_the_best_of_all_partitions_nor_any_goes_below_the_bound(rows, k):
    best = best_local_loss(rows, PATHS, k)
    facts = run(micro(rows), k=k, recoding="local").details
    assert facts["loss"] >= best - 1e-12
    assert facts["no recoding with this k loses less than"] <= best + 1e-12


def test_local_recoding_meets_the_best_of_all_partitions_in_nine_tables_of_ten():
    g = np.random.default_rng(5)
    met = 0
    for _ in range(50):
        rows = [("abcdef"[g.integers(6)], "uvwx"[g.integers(4)], "pq"[g.integers(2)]) for _ in range(8)]
        k = int(g.integers(2, 4))
        loss = run(micro(rows), k=k, recoding="local", effort=200).details["loss"]
        met += loss <= best_local_loss(rows, PATHS, k) + 1e-12
    assert met >= 45


MODELS = [
    {"method": "l-diversity", "l": 2},
    {"method": "l-diversity", "l": 1.6, "kind": "entropy"},
    {"method": "l-diversity", "l": 2, "kind": "recursive", "c": 2},
    {"method": "p-sensitivity", "p": 2},
    {"method": "t-closeness", "t": 0.3, "distance": "equal"},
    {"method": "beta-likeness", "beta": 1.5},
    {"method": "delta-disclosure", "delta": 1.2},
    {"method": "nt-closeness", "n": 20, "t": 0.3},
    {"method": "k-anonymity", "k": 4},
]


def with_illness(n=60, seed=0):
    g = np.random.default_rng(seed)
    rows = [("abcdef"[g.integers(6)], "uvwx"[g.integers(4)], "pq"[g.integers(2)]) for _ in range(n)]
    frame = pd.DataFrame(rows, columns=["c0", "c1", "c2"])
    frame["illness"] = np.array(["flu", "cold", "gout"])[g.integers(0, 3, n)]
    spec = {
        f"c{j}": {"role": "quasi-identifier", "hierarchy": Hierarchy(tuple(p.values()))} for j, p in enumerate(PATHS)
    }
    return shoal.Microdata.of(frame, {**spec, "illness": "confidential"})


@pytest.mark.parametrize("recoding", ["full-domain", "local"])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: "-".join(str(v) for v in m.values()))
def test_requirements_hold_on_the_table_and_cost_no_less_than_k_alone(model, recoding):
    table = with_illness()
    free = run(table, k=2, recoding=recoding)
    change = run(table, k=2, recoding=recoding, requirements=[model])
    assert registry.build("privacy", model).check(change.records).holds
    assert shoal.KAnonymity(k=2).check(change.records).holds
    if recoding == "full-domain":
        assert change.details["loss"] >= free.details["loss"] - 1e-12


def shares(values, table):
    return [(Fraction(values.count(v), len(values)), Fraction(table.count(v), len(table))) for v in set(table)]


BESIDE_THE_TABLE = [
    (
        {"method": "t-closeness", "t": 0.25, "distance": "equal"},
        lambda values, table: sum(abs(q - p) for q, p in shares(values, table)) / 2 <= Fraction(1, 4),
    ),
    (
        {"method": "beta-likeness", "beta": 0.5, "enhanced": False},
        lambda values, table: all(q - p <= p / 2 for q, p in shares(values, table)),
    ),
    (
        {"method": "delta-disclosure", "delta": 1.0},
        lambda values, table: all(q > 0 and abs(log(q / p)) < 1 for q, p in shares(values, table)),
    ),
    ({"method": "t-closeness", "t": 0.25}, lambda values, table: order_distance(values, table) <= Fraction(1, 4)),
]


def order_distance(values, table):
    """Of numbers, neighbours among those of the table being 1 / (their number - 1) apart."""
    places = sorted(set(table))
    below = [Fraction(sum(v <= p for v in some), len(some)) for some in (values, table) for p in places]
    gaps = zip(below[: len(places)], below[len(places) :])
    return sum(abs(q - p) for q, p in gaps) / max(len(places) - 1, 1)


@pytest.mark.parametrize("case", BESIDE_THE_TABLE, ids=lambda case: "-".join(map(str, case[0].values())))
@settings(max_examples=by_night(8, 150))
@given(drawn=st.lists(st.tuples(st.tuples(*map(st.sampled_from, ("abcdef", "uvwx", "pq"))), st.integers(1, 4)),
                      min_size=4, max_size=24), k=st.integers(1, 3))  # fmt: skip
def test_what_may_be_dropped_never_costs_where_classes_are_like_the_table(drawn, k, case):
    """What drops changes the table that classes are compared with; the search goes on until they are like that, too."""
    model, alike = case
    rows, ill = [row for row, _ in drawn], [value for _, value in drawn]
    table = micro(rows)
    numbers = "distance" not in model and model["method"] == "t-closeness"
    frame = table.native.assign(ill=ill if numbers else list(map(str, ill)))
    table = shoal.Microdata.of(frame, {**table.schema.columns, "ill": "confidential"})
    for limit in (0.0, 0.2, 0.5, 1.0):
        expected = least_beside_rest(rows, ill, PATHS, k, limit, alike)
        if expected is None:
            with pytest.raises(Refused):
                run(table, k=k, suppression=limit, requirements=[model])
            continue
        change = run(table, k=k, suppression=limit, requirements=[model])
        assert change.details["loss"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "model", [model for model, _ in BESIDE_THE_TABLE], ids=lambda m: "-".join(map(str, m.values()))
)
def test_local_recoding_drops_nothing_where_the_rest_is_not_like_itself(model):
    """What may be dropped turned tasks that are solved without into refusals."""
    table = with_illness()
    kept, limited = (run(table, k=2, recoding="local", suppression=limit, requirements=[model]) for limit in (0.0, 0.1))
    assert registry.build("privacy", model).check(limited.records).holds
    assert limited.details["loss"] <= kept.details["loss"] + 0.02  # annealing may end elsewhere


OF_PEOPLE = [
    ({"method": "k-map", "k": 3}, lambda size, people: people >= 3, lambda share: True),
    ({"method": "delta-presence", "largest": 0.5}, lambda size, people: size <= 0.5 * people, lambda share: True),
    (
        {"method": "delta-presence", "largest": 0.6, "least": 0.2},
        lambda size, people: size <= 0.6 * people,
        lambda share: share >= 0.2,
    ),
]


@pytest.mark.parametrize("case", OF_PEOPLE, ids=lambda case: "-".join(map(str, case[0].values())))
@given(people=rows, others=rows, drawn=st.sets(st.integers(0, 29)), limit=st.sampled_from([0.0, 0.1, 0.3, 1.0]))
def test_classes_are_dropped_for_the_people_they_may_be_of(people, others, drawn, limit, case):
    """Some of a population are in the table: what is dropped goes by the people of a class, not by its records."""
    model, kept, holds = case
    rows = [row for i, row in enumerate(people) if i in drawn] or people[:1]
    population = pd.DataFrame(people + others, columns=["c0", "c1", "c2"])
    parameters = {"k": 1, "suppression": limit, "requirements": [{**model, "population": population}]}
    expected = least_among_people(rows, people + others, PATHS, limit, kept, holds)
    if expected is None:
        with pytest.raises(Refused):
            run(micro(rows), **parameters)
    else:
        assert run(micro(rows), **parameters).details["loss"] == pytest.approx(expected, abs=1e-12)


def test_people_of_a_population_with_counts_and_with_missing_cells():
    """One person of each of a and b, of whom a table holds one each: of b there are 9 more."""
    table = micro([("a", "u", "p"), ("b", "u", "p")])
    population = pd.DataFrame({"c0": ["a", "b"], "c1": ["u"] * 2, "c2": ["p"] * 2, "n": [1, 10]})
    model = {"method": "k-map", "k": 5, "population": population, "count": "n"}
    change = run(table, k=1, suppression=0.5, requirements=[model])
    assert change.details["records dropped"] == 0 and change.details["levels"]["c0"] == 1
    unknown = pd.concat([population, population.assign(c1=None)])
    change = run(table, k=1, suppression=0.5, requirements=[{**model, "population": unknown}])
    assert change.details["records dropped"] == 0 and change.details["levels"]["c0"] == 1


BOUNDS = [
    {"risk": "sample-uniques", "at most": 0.0},
    {"risk": "population-uniques", "at most": 0.001},
    {"risk": "individual-risk", "at most": 0.02},
    {"risk": "prosecutor", "at most": 0.2},
]


@pytest.mark.parametrize("recoding", ["full-domain", "local"])
@pytest.mark.parametrize(
    "bound",
    [
        pytest.param(bound, id=bound["risk"], marks=[only_by_night] * (bound["risk"] == "population-uniques"))
        for bound in BOUNDS
    ],
)
def test_bounds_on_measures_are_kept_by_the_search_and_cost_something(bound, recoding):
    """The population's uniques are estimated from what the search makes, weights at hand; k alone would leave all."""
    drawn = with_illness()
    frame = drawn.native.assign(w=20.0)
    table = shoal.Microdata.of(frame, {**drawn.schema.columns, "w": "weight"})
    kept = run(table, k=1, recoding=recoding, requirements=[bound])
    verdict = requirement(bound).check(kept.records, original=table.records)
    assert verdict.holds, verdict.sentence
    free = run(table, k=1, recoding=recoding)
    assert free.details["loss"] == 0.0 < kept.details["loss"] < 1.0
    assert not requirement(bound).check(free.records, original=table.records).holds


OF_SIZES = [
    ({"method": "average-risk", "average": 0.2}, lambda sizes: len(sizes) <= 0.2 * sum(sizes)),
    (
        {"method": "average-risk", "average": 0.5, "highest": 0.34, "above": 0.1},
        lambda sizes: len(sizes) <= 0.5 * sum(sizes) and sum(s for s in sizes if s < 3) <= 0.1 * sum(sizes),
    ),
    ({"risk": "sample-uniques", "at most": 0.05}, lambda sizes: sizes.count(1) <= 0.05 * sum(sizes)),
]


@given(rows=rows, case=st.sampled_from(OF_SIZES), limit=st.sampled_from([0.0, 0.1, 0.3]))
def test_what_is_required_of_all_sizes_costs_what_exhaustive_search_finds(rows, case, limit):
    """As few of the smallest classes of a node are dropped as it takes, and none where the node does without."""
    model, holds = case
    expected = best_loss_of_table(rows, PATHS, limit, holds)
    try:
        change = run(micro(rows), k=1, suppression=limit, requirements=[model])
    except Refused:
        assert expected == 1.0  # not even one class of all records will do
        return
    assert change.details["loss"] == pytest.approx(expected, abs=1e-12)
    assert change.details["records dropped"] <= limit * len(rows)
    assert requirement(model).check(change.records).holds


@pytest.mark.parametrize("recoding", ["full-domain", "local"])
@pytest.mark.parametrize(
    "model", [*(model for model, _ in OF_SIZES), BOUNDS[0], *BOUNDS[2:]], ids=lambda m: "-".join(map(str, m.values()))
)
def test_tables_are_made_of_no_recoding_that_sizes_rule_out(monkeypatch, recoding, model):
    """What counts alone refute never reaches the judges, and what does reach them is as the counts said."""
    judged = []
    whole = Requirements.broken

    def noted(self, original, released, models):
        judged.append(whole(self, original, released, models))
        return judged[-1]

    monkeypatch.setattr(Requirements, "broken", noted)
    drawn = with_illness()
    table = shoal.Microdata.of(drawn.native.assign(w=20.0), {**drawn.schema.columns, "w": "weight"})
    run(table, k=1, recoding=recoding, requirements=[model])
    assert judged and not any(judged)


def test_a_bound_on_a_measure_is_spelled_as_it_was_given():
    step = shoal.Generalise(
        k=1, requirements=[{"risk": "individual-risk", "at most": 0.02}, {"method": "k-anonymity", "k": 2}]
    )
    spec = registry.spec_of(step)
    assert spec["requirements"][0]["risk"] == "individual-risk" and spec["requirements"][0]["at most"] == 0.02
    assert registry.build("mask", spec) == step
    with pytest.raises(InputError, match="a requirement needs a finite number"):
        shoal.Generalise(k=1, requirements=[{"risk": "individual-risk"}])


def test_two_requirements_at_once_on_two_confidential_columns():
    table = with_illness()
    change = run(table, k=2, recoding="local", requirements=MODELS[:1] + MODELS[4:5])
    for model in (MODELS[0], MODELS[4]):
        assert registry.build("privacy", model).check(change.records).holds


def test_a_requirement_that_no_class_can_meet_is_refused():
    with pytest.raises(Refused, match="no combination of levels keeps the requirements"):
        run(with_illness(), k=2, requirements=[{"method": "l-diversity", "l": 4}])
    with pytest.raises(
        Refused, match="60 records of 60 are in no class that keeps the requirements even at the greatest levels"
    ):
        run(with_illness(), k=2, recoding="local", requirements=[{"method": "l-diversity", "l": 4}])
    with pytest.raises(InputError, match="l-diversity needs a confidential column"):
        run(micro([("a", "u", "p")] * 4), k=2, requirements=[{"method": "l-diversity", "l": 2}])


def test_levels_keep_between_the_least_and_the_greatest():
    rows = [("a", "u", "p"), ("b", "u", "p"), ("c", "v", "q"), ("d", "v", "q")]
    change = run(micro(rows), k=1, levels={"c0": [1, 1]})
    assert change.details["levels"]["c0"] == 1
    with pytest.raises(Refused, match="no combination of levels"):
        run(micro(rows), k=3, levels={"c0": [0, 1]})
    local = run(micro(rows), k=2, recoding="local", levels={"c1": [1, 2]})
    assert set(local.records["c1"].categories) <= {"2:0", "*"}
    with pytest.raises(InputError, match="levels of 'c0' must be two whole numbers from 0 to 2"):
        run(micro(rows), k=2, levels={"c0": [0, 3]})
    with pytest.raises(InputError, match="levels are given for 'c9'"):
        run(micro(rows), k=2, levels={"c9": [0, 1]})


def test_a_heavy_column_gives_way_last():
    rows = [("a", "u", "p"), ("b", "u", "p"), ("a", "v", "p"), ("b", "v", "p")]
    frame = pd.DataFrame(rows, columns=["c0", "c1", "c2"])
    spec = {
        f"c{j}": {"role": "quasi-identifier", "hierarchy": Hierarchy(tuple(p.values())), "weight": w}
        for j, (p, w) in enumerate(zip(PATHS, (10.0, 1.0, 1.0)))
    }
    change = run(shoal.Microdata.of(frame, spec), k=2)
    assert change.details["levels"] == {"c0": 0, "c1": 1, "c2": 0}  # without weights c0 would go up


def test_missing_cells_are_a_category_of_their_own():
    rows = [("a", "u", "p"), (None, "u", "p"), (None, "u", "p"), ("a", "u", "p"), ("b", "u", "p")]
    frame = pd.DataFrame(rows, columns=["c0", "c1", "c2"])
    spec = {
        f"c{j}": {"role": "quasi-identifier", "hierarchy": Hierarchy(tuple(p.values())), "missing": "category"}
        for j, p in enumerate(PATHS)
    }
    table = shoal.Microdata.of(frame, spec)
    released = table.rebuild(run(table, k=2, recoding="local").records).native["c0"]
    assert released.isna().tolist() == [False, True, True, False, False]
    assert released.dropna().tolist() == ["2:0"] * 3


def test_tight_labels_say_what_a_class_holds():
    frame = pd.DataFrame({"age": ["21", "24", "38", "39"], "town": list("abcd")})
    ages = Hierarchy.from_intervals([20, 21, 24, 30, 38, 39], [10, 50])
    towns = Hierarchy(tuple((leaf, "*") for leaf in "abcdef"))
    spec = {"age": {"role": "quasi-identifier", "hierarchy": ages}, "town": {"role": "quasi-identifier"}}
    spec["town"]["hierarchy"] = towns
    table = shoal.Microdata.of(frame, spec)
    change = run(table, k=2, recoding="local", labels="tight")
    released = table.rebuild(change.records).native
    assert released["age"].tolist() == ["[21, 24]", "[21, 24]", "[38, 39]", "[38, 39]"]
    assert released["town"].tolist() == ["a | b", "a | b", "c | d", "c | d"]
    assert change.details["loss"] == pytest.approx((1 / 5 + 1 / 5) / 2)  # two leaves of six in every label
    assert change.details["no recoding with this k loses less than"] == pytest.approx((1 / 5 + 1 / 5) / 2)


@given(rows=rows, k=st.integers(2, 4))
def test_tight_labels_lose_no_more_than_nodes_and_keep_k(rows, k):
    loose, close = (run(micro(rows), k=k, recoding="local", labels=labels) for labels in ("nodes", "tight"))
    assert close.details["loss"] <= loose.details["loss"] + 1e-12
    assert shoal.KAnonymity(k=k).check(close.records).holds


@given(rows=few, k=st.integers(2, 3), least=st.sampled_from([0, 1]))
def test_no_partition_with_tight_labels_goes_below_their_bound(rows, k, least):
    """The best of all partitions, a label standing for the leaves, or the nodes of the least level, that occur."""

    def stands_for(cells, paths):
        units = {paths[cell][least] for cell in cells}
        return sum(path[least] in units for path in paths.values())

    def lost(group):
        return len(group) * sum(
            (stands_for({row[j] for row in group}, paths) - 1) / (len(paths) - 1) for j, paths in enumerate(PATHS)
        )

    best = min(sum(map(lost, division)) for division in partitions(list(rows), k)) / (3 * len(rows))
    levels = {"c0": (least, 2), "c1": (least, 2)} | ({"c2": (1, 1)} if least else {})
    facts = run(micro(rows), k=k, recoding="local", labels="tight", levels=levels).details
    assert facts["no recoding with this k loses less than"] <= min(best, facts["loss"]) + 1e-12


def test_entropy_counts_the_records_that_a_label_hides_among():
    """Four records, values a, a, b, b: the label of both loses log(4/2) / log 4 = 1/2 in each cell of its column."""
    table = micro([("a", "u", "p"), ("a", "u", "p"), ("b", "u", "p"), ("b", "u", "p")])
    change = run(table, k=3, loss="entropy")
    assert change.details["levels"] == {"c0": 1, "c1": 0, "c2": 0}
    assert change.details["loss"] == pytest.approx((1 / 2) / 3)


@settings(max_examples=by_night(10, 150))
@given(rows=rows, k=st.integers(2, 4), limits=st.lists(st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0]), min_size=2))
def test_what_may_be_dropped_never_costs_entropy(rows, k, limits):
    """A dropped record is charged alike by the search and by the report, so that the node found is the best."""
    losses = [run(micro(rows), k=k, loss="entropy", suppression=limit).details["loss"] for limit in sorted(limits)]
    assert losses == pytest.approx([least_entropy(rows, PATHS, k, limit) for limit in sorted(limits)], abs=1e-12)
    assert all(more <= less + 1e-12 for less, more in zip(losses, losses[1:]))


def test_dropping_is_charged_alike_in_local_recoding():
    """One record more or less like the others: its own loss in company is below that of being dropped."""
    rows = [("a", "u", "p")] * 6 + [("b", "u", "p")]
    change = run(micro(rows), k=2, recoding="local", loss="entropy", suppression=0.2)
    assert change.details["records dropped"] == 0


def test_a_search_that_is_stopped_says_how_much_less_another_node_could_lose():
    frame, paths = adult_like(400)
    table = micro(frame.to_numpy().tolist(), list(paths.values()))
    whole, part = (run(table, k=5, **limit) for limit in ({}, {"most_nodes": 40}))
    bound = "no full-domain recoding loses less than"
    assert not part.details["finished"]
    assert part.details[bound] <= whole.details["loss"] + 1e-12 <= part.details["loss"] + 2e-12
    assert whole.details[bound] == pytest.approx(whole.details["loss"])


def test_suppression_is_used_where_it_pays_and_never_beyond_its_limit():
    rows = [("a", "u", "p")] * 20 + [("f", "x", "q")]
    assert run(micro(rows), k=2, recoding="local", suppression=0.05).details["records dropped"] == 1
    kept = run(micro(rows), k=2, recoding="local", suppression=0.04)
    assert kept.details["records dropped"] == 0 and shoal.KAnonymity(k=2).check(kept.records).holds


def test_the_same_seed_gives_the_same_table():
    frame, paths = adult_like(300)
    table = micro(frame.to_numpy().tolist(), list(paths.values()))
    one, two = (run(table, k=3, recoding="local") for _ in range(2))
    assert all(np.array_equal(one.records[n].values, two.records[n].values) for n in one.records.names())


def test_labels_that_an_earlier_step_left_are_named_with_their_column():
    centroids = {"partition": "whole", "replace": "centroid", "columns": ["c0"]}
    plan = {
        "columns": {"c0": {"role": "quasi-identifier", "hierarchy": {"nested": {"low": ["a", "b"], "high": ["c"]}}}},
        "steps": [centroids, {"mask": "generalise", "k": 2, "columns": ["c0"]}],
    }
    with pytest.raises(
        InputError, match=r"Column 'c0' has 1 value that an earlier step left and .* Let generalise come"
    ):
        shoal.protect(pd.DataFrame({"c0": list("abab")}), plan, seed=1)
