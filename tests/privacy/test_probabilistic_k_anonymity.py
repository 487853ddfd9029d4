import itertools
import math
from collections import Counter

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import only_by_night
from shoal.judges.intervals import proportion_interval
from shoal.judges.linkage import DIRECTIONS, METRICS
from shoal.judges.table_pair import TablePair
from shoal.kernels.partition import mdav
from shoal.privacy.probabilistic_k_anonymity import _attackers, _subsets
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.table.step_result import StepTrace
from shoal.vocabulary.errors import Refused
from shoal.vocabulary.registry import build


def table(n=600, d=2, seed=0):
    return Records.from_array(np.random.default_rng(seed).normal(size=(n, d)))


def groups(records, k):
    return Partition(labels=mdav(records.matrix(), k))


def verdict(released, original, partition, k, dealt=None, **parameters):
    """The verdict where those columns of the two were redistributed that differ, unless others are named."""
    changed = [n for n in released.names() if not np.array_equal(released[n].values, original[n].values[released.rows])]
    model = shoal.ProbabilisticKAnonymity(k=k, **parameters)
    return model.check(released, original=original, partition=partition, dealt=changed if dealt is None else dealt)


def protected(records, partition, method, columns=None, seed=1):
    return method.apply(records, columns or records.quasi_identifiers, partition, np.random.default_rng(seed)).records


@pytest.mark.parametrize("method", ["Permutation", "Normal"])
def test_permutation_and_normal_draws_hold(method):
    records = table()
    part = groups(records, 10)
    answer = verdict(protected(records, part, getattr(shoal, method)()), records, part, 10)
    assert answer.holds
    assert answer.achieved == 10
    assert answer.details["measured"]["interval"][0] <= 0.1
    assert answer.requirement == "probabilistic 10-anonymity, 'x0', 'x1' being known"
    assert answer.details["proved"] == {"smallest group": 10, "columns not redistributed": []}
    assert "Proved: 'x0', 'x1' were redistributed inside groups of at least 10 records." in answer.sentence
    assert "Measured: " in answer.sentence and "linkage" in answer.details["measured"]["attacker"]
    assert answer.details["measured"]["attackers tried"] == 8  # four by both columns, two by each
    # 95 % for eight attackers together
    wide = proportion_interval(answer.details["measured"]["rate"] * 600, 600, 1 - 0.05 / 8)
    assert answer.details["measured"]["interval"] == [wide.low, wide.high]


@pytest.mark.parametrize("k", [8, 20])
def test_a_measured_rate_above_1_over_k_refutes_what_is_said_of_a_method(k):
    # Muralidhar-Sarathy with alpha = .99 keeps everyone near their own place, whoever says it dealt them out.
    records = table()
    part = shoal.Whole().partition(records)
    answer = verdict(protected(records, part, shoal.MuralidharSarathy(alpha=0.99)), records, part, k)
    assert not answer.holds
    assert answer.achieved == 1 / answer.details["measured"]["interval"][0] < k
    assert "which refutes the claim" in answer.sentence


def test_a_column_released_as_it_was_is_found():
    records = table(d=3)
    part = groups(records, 10)
    released = protected(records, part, shoal.IPSO(given=("x1", "x2")), ["x0"])
    answer = verdict(released, records, part, 10)
    assert not answer.holds
    assert answer.achieved == 1
    assert "Not proved: 'x1', 'x2' were not redistributed in groups" in answer.sentence
    assert verdict(released, records, part, 10, known=("x0",)).details["columns known to the intruder"] == ["x0"]


def test_a_column_released_as_it_was_does_not_hold_though_no_attack_succeeds():
    # Half of everybody is 0, half is 1: whoever links by that finds one in twenty.
    records = Records.from_array(np.tile([0.0, 1.0], 20))
    answer = verdict(records, records, Partition(labels=np.arange(40, dtype=np.int32) // 20), 10)
    assert answer.details["measured"]["interval"][0] < 0.1
    assert not answer.holds
    assert answer.achieved == 1


def test_a_column_that_is_constant_in_every_group_may_stay():
    town = np.repeat([1.0, 2.0, 3.0], 200)
    records = Records.from_array(np.column_stack([np.random.default_rng(2).normal(size=600), town]))
    part = Partition.of(town)
    released = protected(records, part, shoal.Permutation(), ["x0"])
    assert verdict(released, records, part, 50).holds


def test_a_column_that_is_constant_in_the_release_may_have_been_anything():
    records = table(60, d=3)
    part = groups(records, 6)
    released = protected(records, part, shoal.Permutation(), ["x0"])
    flat = released.with_variables(released["x1"].with_values(np.zeros(60)))
    model = shoal.ProbabilisticKAnonymity(k=6, known=("x0", "x1"))
    for after, achieved in ((released, 1), (flat, 6)):
        answer = model.check(after, original=records, partition=part, dealt=["x0"], formed_on=["x0"])
        assert (answer.holds, answer.achieved) == (achieved == 6, achieved)


def test_a_column_that_only_the_release_has_stays_beside_the_dealt_ones():
    frame = pl.DataFrame({"age": np.arange(40.0)})
    part = Partition(labels=np.arange(40, dtype=np.int32) // 10)
    shuffled = np.concatenate(
        [np.random.default_rng(g).permutation(np.arange(g * 10.0, g * 10 + 10)) for g in range(4)]
    )
    for note, sentence in ((part.labels, "'note' of a person is not covered"), (np.arange(40), "'note' of a person")):
        new = pl.DataFrame({"age": shuffled, "note": note})
        answer = shoal.ProbabilisticKAnonymity(k=10, known=("age",)).check(
            new, original=frame, partition=part, dealt=["age"], formed_on=["age"]
        )
        assert answer.details["proved"]["smallest group"] == 10
        assert sentence in answer.sentence


@pytest.mark.parametrize("dropped", [0, 1])
def test_records_that_a_step_dropped_tell_of_all_that_it_may_have_read(dropped):
    records = table(60)
    part = groups(records, 6)
    released = protected(records, part, shoal.Permutation(), ["x0"]).take(np.arange(dropped, 60))
    steps = StepTrace(columns=(), reads=None), StepTrace(columns=("x0",), reads=frozenset(["x0"]), dealing="columns")
    dealt = {"x0": Partition.of(part.labels[dropped:])}
    pair = TablePair.of(records, released, dealt=dealt, traces=steps, traced=True)
    assert shoal.ProbabilisticKAnonymity(k=5, known=("x0",)).judge(pair).holds is not bool(dropped)


def test_small_groups_fail():
    records = table(60)
    part = groups(records, 3)
    answer = verdict(protected(records, part, shoal.Permutation()), records, part, 5)
    assert not answer.holds
    assert answer.required == 5
    assert "fewer than 5" in answer.sentence


def test_suppressed_records_do_not_count():
    records = table(40)
    part = groups(records, 10)
    released = protected(records, part, shoal.Permutation()).take(np.flatnonzero(np.arange(40) != 0))
    answer = verdict(released, records, part, 10)
    assert answer.details["proved"]["smallest group"] == 9
    assert not answer.holds


@pytest.mark.parametrize("k", [2, 3, 8])
def test_permutations_are_hardly_ever_refuted(k):
    # The interval misses 1/k from above with probability 1/2 % for each attacker: over 30 tables at most one does.
    refuted, rates = 0, []
    for seed in range(30):
        records = table(120, seed=seed)
        part = groups(records, k)
        released = protected(records, part, shoal.Permutation(), seed=seed + 1000)  # not the stream of the data
        answer = verdict(released, records, part, k)
        refuted += not answer.holds
        rates.append(answer.details["measured"]["rate"])
    assert refuted <= 1
    assert np.mean(rates) == pytest.approx(1 / k, rel=0.1)


def test_what_is_not_at_hand_is_not_proved():
    records = table(20)
    part = groups(records, 5)
    model = shoal.ProbabilisticKAnonymity(k=5)
    for answer in (model.check(records), model.check(records, original=records), model.check(records, partition=part)):
        assert not answer.holds
        assert answer.achieved is None
    assert not model.check(records.take(np.arange(10)), original=records, partition=Partition.of(np.zeros(7))).holds
    assert (
        "has another number of records"
        in model.check(records, original=records, partition=Partition.of(np.zeros(7))).sentence
    )
    nothing = Records.of(records.variables[:1]).without(["x0"])
    assert not model.check(records, original=nothing, partition=part).holds


def test_records_that_are_nobodys_in_particular_are_not_proved():
    records, fewer = table(20), table(10, seed=1)
    answer = shoal.ProbabilisticKAnonymity(k=2).judge(TablePair.of(records, fewer, dealt={}))
    assert not answer.holds
    assert "does not say which original record" in answer.sentence


def test_frames():
    frame = pl.DataFrame({"age": np.random.default_rng(3).normal(size=100), "pay": np.arange(100.0)})
    records = shoal.table.microdata.as_records(frame, "pay")
    part = shoal.Whole().partition(records)
    new = frame.with_columns(age=pl.Series(np.random.default_rng(4).permutation(frame["age"].to_numpy())))
    model = shoal.ProbabilisticKAnonymity(k=50)
    answer = model.check(new, confidential="pay", original=frame, partition=part, dealt=["age"], formed_on=[])
    assert answer.holds
    assert (
        answer.sentence.endswith("%).")
        or "An intruder who also knows 'pay' of a person is not covered." in answer.sentence
    )
    assert not model.check(
        new, confidential="pay", original=frame, partition=part
    ).holds  # nobody vouches for the method


def hospital(n=200):
    rng = np.random.default_rng(5)
    return pl.DataFrame({"age": rng.integers(20, 90, n).astype(float), "charge": rng.permutation(n).astype(float)})


def permuting(*columns, k=5, known=None, replace="permutation"):
    return {
        "columns": {"age": "quasi-identifier", "charge": "confidential"},
        "steps": [{"partition": "mdav", "k": k, "by": ["age"], "columns": list(columns), "replace": replace}],
        "requirements": [{"privacy": "probabilistic-k-anonymity", "k": 5, **({"known": known} if known else {})}],
    }


@pytest.mark.parametrize("column", ["age", "charge"])
def test_both_ways_of_dealing_out_give_one_law_and_are_both_proved(column):
    verdict = shoal.protect(hospital(), permuting(column), seed=1).evidence.verdicts[0]
    assert verdict.holds
    assert verdict.achieved == 5
    assert verdict.requirement == "probabilistic 5-anonymity, 'age' being known"
    other = "An intruder who also knows 'charge' of a person is not covered"
    assert (other in verdict.sentence) == (column == "age")
    with pytest.raises(Refused, match=r"fewer than 5\.|not redistributed"):
        shoal.protect(hospital(), permuting(column, k=2), seed=1)


def test_both_ways_give_the_same_releases_equally_often():
    """Six records in two groups: all 36 outcomes of the one way are, once shuffled, those of the other."""
    age, charge = [1, 2, 3, 4, 5, 6], list("uvwxyz")
    orders = [(*one, *two) for one in itertools.permutations(range(3)) for two in itertools.permutations(range(3, 6))]
    by_age = Counter(frozenset((age[j], charge[i]) for i, j in enumerate(order)) for order in orders)
    by_charge = Counter(frozenset((age[i], charge[j]) for i, j in enumerate(order)) for order in orders)
    assert by_age == by_charge
    assert len(by_age) == 36


def test_whoever_knows_both_columns_finds_the_record_unless_both_were_dealt_out():
    known = ["age", "charge"]
    for column in known:
        with pytest.raises(Refused, match="not redistributed"):
            shoal.protect(hospital(), permuting(column, known=known), seed=1)
    apart = {"method": "permutation", "joint": False}
    assert shoal.protect(hospital(), permuting(*known, known=known, replace=apart), seed=1).evidence.holds
    with pytest.raises(Refused, match="whole records only changed places"):
        shoal.protect(hospital(), permuting(*known, known=known), seed=1)


AGES, CHARGES = [23, 31, 38, 52, 64, 71], [9.0, 2.0, 25.0, 4.0, 16.0, 1.0]
"""Six persons, whose ages are known; what each was charged is not."""

BOTH = ["age", "charge"]

FORMED = [
    ({"partition": "mdav", "k": 3, "by": ["age"]}, True),
    ({"partition": "mdav", "k": 3, "by": ["charge"]}, True),
    ({"partition": "mdav", "k": 3, "by": ["age", "charge"]}, False),
    ({"partition": "k-anonymity-first", "k": 3, "t": 0.2, "by": ["age"]}, False),
]
"""How groups of three are formed, and whether they tell nothing of which age belongs to which charge."""


def best_guess(step):
    """How surely the best guess of who was charged what is right, for the release by which it is surest.

    The intruder knows the ages, the method and the released pairs. Before the release each way to charge the six is as
    likely. A table can give those releases in which the charges of each of its groups stand beside ages of that group,
    each equally often.
    """
    settings = {key: value for key, value in step.items() if key not in ("partition", "by")}
    method = build("partition", {"method": step["partition"], **settings})
    tables = {}
    for table in itertools.permutations(CHARGES):
        frame = pl.DataFrame({"age": AGES, "charge": table})
        labels = method.partition(frame, columns=step.get("by", ["age"]), confidential=["charge"]).labels
        groups = tuple(tuple(np.flatnonzero(labels == g).tolist()) for g in range(labels.max() + 1))
        tables.setdefault(groups, {}).setdefault(charged_by_group(table, groups), []).append(table)
    best = 0.0
    for release in itertools.permutations(CHARGES):  # beside the ages
        right, total = Counter(), 0.0
        for groups, known in tables.items():
            chance = 1 / math.prod(math.factorial(len(group)) for group in groups)
            for table in known.get(charged_by_group(release, groups), ()):
                total += chance
                for pair in enumerate(table):
                    right[pair] += chance
        best = max([best, *(chance / total for chance in right.values())])
    return best


def charged_by_group(charges, groups):
    return tuple(frozenset(charges[i] for i in group) for group in groups)


@pytest.mark.parametrize(
    ("step", "tells_nothing"),
    [pytest.param(*case, marks=[only_by_night] * (place not in (1, 2))) for place, case in enumerate(FORMED)],
)
def test_proved_is_what_an_intruder_who_enumerates_all_tables_cannot_refute(step, tells_nothing):
    assert (best_guess(step) <= 1 / 3 + 1e-9) == tells_nothing
    frame = pl.DataFrame({"age": AGES, "charge": CHARGES})
    plan = {**permuting("age", k=3), "requirements": [{"privacy": "probabilistic-k-anonymity", "k": 3}]}
    for column in frame.columns:
        plan["steps"] = [{**step, "columns": [column], "replace": "permutation"}]
        verdict = shoal.assess(frame, plan, seed=1).verdicts[0]
        assert verdict.holds == tells_nothing
        assert ("only if the way the groups were formed is unknown" in verdict.sentence) == (not tells_nothing)


def judged(steps, columns=None, known=None):
    """The verdict on a hospital with towns, in which `age` is known unless others are."""
    roles = {"age": "quasi-identifier", "charge": "confidential", "weight": "other", "town": "other"}
    frame = hospital().with_columns(
        weight=pl.Series(np.random.default_rng(6).normal(size=200)), town=pl.Series(["north", "south"] * 100)
    )
    asked = {"privacy": "probabilistic-k-anonymity", "k": 5, **({"known": known} if known else {})}
    return shoal.assess(
        frame, {"columns": {**roles, **(columns or {})}, "steps": steps, "requirements": [asked]}, seed=1
    ).verdicts[0]


def dealt(*columns, by=None, replace="permutation", **partition):
    method = {"partition": "mdav", "k": 5, **({"by": by} if by else {}), **partition}
    return {**method, "columns": list(columns), "replace": replace}


APART = {"method": "permutation", "joint": False}
SAMPLED = {"mask": "sample", "fraction": 0.9}
AGES_IN_CHARGES = {"mask": "shuffle", "columns": ["charge"], "given": ["age"]}

SEVERAL = {
    "by strata": ([dealt("age")], {"town": "stratum"}, True),
    "by what stays, which a mask changed": (
        [{"mask": "noise", "columns": ["charge"], "variance": 0.1}, dealt("age", by=["charge"])],
        {},
        True,
    ),
    "from a sample": ([SAMPLED, dealt("age")], {}, True),
    "by another column redistributed before": ([dealt("charge"), dealt("age", by=["age"])], {}, True),
    "by the column itself, once it was redistributed": (
        [dealt("age"), dealt("charge", by=["age", "charge"])],
        {},
        True,
    ),
    "each by itself": ([dealt("age", "charge", by=["age"], replace=APART)], {}, True),
    "drawn together": ([dealt("age", "charge", k=10, replace="normal")], {}, True),
    "drawn together, by what stays too": (
        [dealt("age", "charge", by=["age", "weight"], k=10, replace="normal")],
        {},
        False,
    ),
    "side by side": ([dealt("age", "charge", by=["age"])], {}, False),
    "by what stays too, only then by itself": ([dealt("age", by=["age", "charge"]), dealt("age")], {}, False),
    "by confidential columns": ([dealt("age", partition="k-anonymity-first", t=0.2)], {}, False),
    "after what was moved by it": ([AGES_IN_CHARGES, dealt("age")], {}, False),
    "copies of the centre's record": (
        [dealt("age", "charge", replace={"method": "centroid", "continuous": "medoid"})],
        {},
        False,
    ),
}
"""Steps, further roles, and True if knowing the ages finds nobody. Each column was redistributed in groups of 5."""


@pytest.mark.parametrize("case", SEVERAL)
def test_several_steps_are_proved_only_if_none_read_what_is_dealt_out_and_what_stays(case):
    steps, columns, proved = SEVERAL[case]
    verdict = judged(steps, columns)
    assert verdict.holds == proved
    assert verdict.details["proved"]["columns not redistributed"] == []


def test_an_attack_that_fails_proves_nothing():
    """Six columns redistributed, one hardly moved: who heeds that one finds 83 %, who heeds all finds nobody."""
    rng = np.random.default_rng(0)
    names = [f"q{j}" for j in range(1, 8)]
    frame = pl.DataFrame(rng.normal(size=(1000, 7)), schema=names)
    near = {"method": "muralidhar-sarathy", "alpha": 0.9999999}
    plan = {
        "columns": dict.fromkeys(names, "quasi-identifier"),
        "steps": [
            {"partition": "whole", "columns": names[1:], "replace": "permutation"},
            {"partition": "whole", "columns": names[:1], "replace": near},
        ],
        "requirements": [{"privacy": "probabilistic-k-anonymity", "k": 5}],
    }
    verdict = shoal.assess(frame, plan, seed=1).verdicts[0]
    assert not verdict.holds
    assert verdict.details["proved"]["smallest group"] == 1
    assert verdict.details["measured"]["rate"] > 0.5
    assert "'q1'" in verdict.details["measured"]["attacker"]


def test_replacements_that_keep_something_of_a_record_prove_nothing():
    plan = permuting("age", replace="ipso")
    with pytest.raises(Refused, match="'age' was not redistributed"):
        shoal.protect(hospital(), plan, seed=1)


def test_households_are_known_to_everybody():
    frame = hospital().with_columns(home=pl.Series(np.arange(200) // 2))
    plan = permuting("age")
    plan["columns"] = {**plan["columns"], "home": "household"}
    with pytest.raises(Refused, match="'home' was not redistributed"):
        shoal.protect(frame, plan, seed=1)


def test_a_column_that_is_all_but_unchanged_links_though_few_records_refute_nothing():
    """Three records measure next to nothing (Wilson's interval of 3 of 3 reaches down to 0.31), but all are found."""
    frame = pl.DataFrame({"a": [1.0, 2.0, 4.0], "b": [5.0, 3.0, 8.0]})
    plan = {
        "columns": dict.fromkeys("ab", "quasi-identifier"),
        "steps": [
            {"partition": "whole", "replace": "permutation", "columns": ["a"]},
            {"mask": "noise", "columns": ["b"], "variance": 1e-12},
        ],
        "requirements": [{"privacy": "probabilistic-k-anonymity", "k": 2}],
    }
    with pytest.raises(Refused, match="'b' was not redistributed in groups"):
        shoal.protect(frame, plan, seed=1)


def test_a_requirement_on_fewer_columns_bears_them_in_its_name():
    original = table(60)
    partition = groups(original, 5)
    released = protected(original, partition, shoal.Permutation())
    assert verdict(released, original, partition, 5).requirement.endswith("5-anonymity, 'x0', 'x1' being known")
    assert verdict(released, original, partition, 5, known=("x0",)).requirement.endswith(
        "5-anonymity, 'x0' being known"
    )


def test_one_column_that_gives_people_away_is_found_among_others_that_lead_astray():
    # q1 is released all but unchanged (though not every nearest value is the right one), the others at random
    rng = np.random.default_rng(5)
    x = rng.normal(size=(400, 6))
    y = np.column_stack([x[:, 0] + rng.normal(size=400) / 1000, *(rng.permutation(column) for column in x.T[1:])])
    answer = verdict(Records.from_array(y), Records.from_array(x), Partition.of(np.zeros(400, dtype=int)), 400)
    assert not answer.holds
    assert "the distance of 'x0', euclidean" in answer.details["measured"]["attacker"]
    assert answer.details["measured"]["rate"] > 0.5


def test_a_column_that_is_constant_in_the_release_alone_was_not_dealt_out():
    """Everybody's x1 is another one; the release has one for each group, and nobody knows how it came about."""
    original = table(40)
    part = groups(original, 20)
    released = protected(original, part, shoal.Permutation(), ["x0"])
    ofgroup = part.labels.astype(float)
    released = released.with_variables(released["x1"].with_values(ofgroup))
    answer = verdict(released, original, part, 20, dealt=["x0"])
    assert not answer.holds
    assert answer.achieved == 1


def test_a_column_that_tells_nothing_hides_nobody():
    """Every record stands alone by x0, which was left as it is; that x1 is one value for all changes nothing."""
    original = table(40)
    released = original.with_variables(original["x1"].with_values(np.zeros(40)))
    for dealt in ([], ["x1"]):
        answer = verdict(released, original, shoal.Whole().partition(original), 20, dealt=dealt)
        assert not answer.holds
        assert answer.achieved == 1


def test_the_intruders_that_are_tried() -> None:
    """By all columns in every way; by each column, each pair and all but one, up to 66 pairs."""
    names = ("a", "b", "c", "d")
    few = [(one,) for one in names] + list(itertools.combinations(names, 2)) + list(itertools.combinations(names, 3))
    assert _subsets(names) == few
    assert _subsets(("a", "b")) == [("a",), ("b",)]
    assert _subsets(("a",)) == []
    assert [len(_subsets(tuple(map(str, range(n))))) for n in (12, 13)] == [12 + 66 + 12, 13 + 13]
    whole = [(names, metric, direction) for metric in METRICS for direction in DIRECTIONS]
    assert _attackers(names) == whole + [(known, "euclidean", direction) for known in few for direction in DIRECTIONS]
