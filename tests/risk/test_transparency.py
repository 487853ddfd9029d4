"""The transparency attacker: by hand, against replay, and against chance."""

import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from by_night import only_by_night
from shoal.judges.replay import Replay
from shoal.risk.transparency import TransparencyAttack
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.table.step_result import StepResult
from shoal.vocabulary.registry import build


def microaggregated(x: np.ndarray, part: Partition, replacement: str = "Centroid") -> tuple[Records, Records]:
    original = Records.from_array(x)
    change: StepResult = getattr(shoal, replacement)().apply(
        original, original.quasi_identifiers, part, np.random.default_rng(0)
    )
    return original, change.records


def test_by_hand() -> None:
    # Groups {0, 1, 4} and {5, 9, 10}: centres 5/3 and 8. 4 is 2.33 from 5/3 and 4 from 8; 5 is 3.33 from 5/3 and 3
    # from 8. All six classes are named rightly, and each record is then one of three.
    x = np.array([0.0, 1.0, 4.0, 5.0, 9.0, 10.0])
    finding = TransparencyAttack().measure(*microaggregated(x, Partition.of([0, 0, 0, 1, 1, 1])))
    assert finding.value == pytest.approx(1 / 3)
    assert finding.details["classes named rightly, by attack"] == {"nearest": 1.0, "counting": 1.0}
    assert finding.details["one over the smallest class"] == pytest.approx(1 / 3)
    # Groups {0, 1, 9} and {4, 5, 10}: centres 10/3 and 19/3. 9 is taken for one of the second group and 4
    # for one of the first; 5 is nearer to 19/3. Counting pairs the three smallest with the smaller centre.
    finding = TransparencyAttack().measure(*microaggregated(x, Partition.of([0, 0, 1, 1, 0, 1])))
    rightly = finding.details["classes named rightly, by attack"]
    assert rightly["nearest"] == pytest.approx(4 / 6)
    assert rightly["counting"] == pytest.approx(4 / 6)
    assert finding.value == pytest.approx(4 / 18)


def test_a_centre_equally_near_counts_by_its_share() -> None:
    original = Records.from_array(np.array([0.0, 2.0, 1.0, -1.0, 3.0]))
    released = original.with_raw(["x0"], np.array([[0.0], [2.0], [0.0], [0.0], [2.0]]))
    finding = TransparencyAttack().measure(original, released)
    assert finding.details["classes named rightly, by attack"]["nearest"] == pytest.approx(4.5 / 5)


@pytest.mark.parametrize("k", [2, 5])
def test_a_deterministic_method_is_undone_by_replay(k: int) -> None:
    x = np.random.default_rng(1).normal(size=(103, 3))
    part = shoal.MDAV(k=k).partition(x)
    finding = TransparencyAttack(knows={"method": "mdav", "k": k}).measure(*microaggregated(x, part))
    assert finding.details["classes named rightly, by attack"]["replay"] == 1.0
    assert finding.value == pytest.approx(part.n_groups / 103)
    assert finding.value <= 1 / k
    assert finding.interval.low <= finding.value <= finding.interval.high


@given(st.integers(0, 50), st.integers(2, 5))
def test_no_attack_exceeds_one_over_k(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 5, (40, 2)).astype(float)
    part = Partition.of(rng.permutation(np.arange(40) // k % (40 // k)))
    finding = TransparencyAttack(knows={"method": "mdav", "k": k}).measure(*microaggregated(x, part))
    assert 0 <= finding.value <= 1 / k + 1e-12


def test_the_fuzzier_the_draw_the_less_is_found() -> None:
    x = np.random.default_rng(2).normal(size=(300, 2))
    shares = []
    for m2 in (1.05, 2.0, 50.0):
        method = shoal.FuzzyCMeans(k=5, m1=1.3, m2=m2)
        original, released = microaggregated(x, method.partition(x, seed=1), "FuzzyCentre")
        shares.append(TransparencyAttack(knows=method).measure(original, released).value)
    assert shares[0] > 1.5 * shares[1] > 2 * shares[2]
    assert shares[2] < 0.03


def test_counting_uses_the_sizes() -> None:
    # One class of 5, one of 1, at 0 and 1; five records at 0.6 and one at 0.7: nearest puts all into the class at 1
    original = Records.from_array(np.array([0.6] * 5 + [0.7]))
    released = original.with_raw(["x0"], np.array([[0.0]] * 5 + [[1.0]]))
    details = TransparencyAttack().measure(original, released).details
    assert details["classes named rightly, by attack"] == {"nearest": pytest.approx(1 / 6), "counting": 1.0}
    assert details["records found, by attack"]["counting"] == pytest.approx(2 / 6)
    assert details["best attack"] == "counting"


def test_what_cannot_be_attacked_says_so() -> None:
    original = Records.from_array(np.arange(6.0))
    nothing = TransparencyAttack().measure(original, original.without(["x0"]))
    assert nothing.value is None
    assert "no quasi-identifier" in nothing.reason
    assert TransparencyAttack().measure(original, original.take(np.array([], dtype=int))).value is None


@pytest.mark.parametrize(
    ("knows", "named"),
    [(None, 0), (shoal.FuzzyCMeans(c=2, balanced=False), 1), (shoal.EntropyFuzzyCMeans(c=2, balanced=False), 0)],
)
def test_counting_uses_the_memberships_of_the_method(knows: object, named: float) -> None:
    # People at -100 and -1, centres at 0 and 10. Squared distances send the lower one to the lower centre; the sum of
    # their logarithms is less the other way round, for 110 times 1 is less than 100 times 11.
    original, released = Records.from_array([-100.0, -1.0]), Records.from_array([10.0, 0.0])
    finding = TransparencyAttack(knows=knows).measure(original, released)
    assert finding.details["classes named rightly, by attack"]["counting"] == named


AGES, CHARGES = [23.0, 31.0, 38.0, 52.0, 64.0, 71.0], [9.0, 2.0, 25.0, 4.0, 16.0, 1.0]
"""Six persons, whose ages are known; what each was charged is not."""

MIXED = {"method": "mdav", "k": 3}, ["age", "charge"]
BY_AGE = {"method": "mdav", "k": 3}, ["age"]
T_CLOSE = {"method": "k-anonymity-first", "k": 3, "t": 0.2}, ["age"]
T_CLOSE_FIRST = {"method": "tcloseness-first", "k": 3, "t": 0.2}, ["age"]


def people(n: int = 6) -> pl.DataFrame:
    if n == 6:
        return pl.DataFrame({"age": AGES, "charge": CHARGES})
    rng = np.random.default_rng(5)
    age = rng.normal(size=n)
    return pl.DataFrame({"age": age, "charge": age + rng.normal(size=n), "town": ["north", "south"] * (n // 2)})


def dealt_out(
    frame: pl.DataFrame, how: tuple[dict[str, object], list[str]], columns: tuple[str, ...] = ("age",), **also: object
) -> pl.DataFrame:
    """A release in which each column changed places inside the groups, or all together if `together`."""
    step, by = how
    labels = build("partition", step).partition(frame, columns=by, confidential=["charge"], seed=0).labels
    out, rng = frame, np.random.default_rng(7)
    for columns_at_once in [columns] if also.get("together") else [(name,) for name in columns]:
        order = np.lexsort((rng.random(len(frame)), labels))
        place = np.empty(len(frame), dtype=int)
        place[np.argsort(labels, kind="stable")] = order
        out = out.with_columns(frame[name][place] for name in columns_at_once)
    return out


def exchange(
    frame: pl.DataFrame, released: pl.DataFrame, how: tuple[dict[str, object], list[str]], known: tuple[str, ...]
) -> float | None:
    attack = TransparencyAttack(knows=how[0], columns=known, by=tuple(how[1]))
    finding = attack.measure(frame, released, confidential="charge")
    rates: dict[str, float] = finding.details["records found, by attack"]
    assert finding.value == max(rates.values())
    return rates.get("exchange")


@pytest.mark.parametrize("how", [pytest.param(MIXED, marks=only_by_night), T_CLOSE], ids=["mixed", "t-close"])
def test_orders_of_six_are_as_likely_as_enumerating_all_tables_says(how: tuple[dict[str, object], list[str]]) -> None:
    frame = people()
    method, by = build("partition", how[0]), how[1]

    def labels(table: pl.DataFrame) -> np.ndarray:
        return np.asarray(method.partition(table, columns=by, confidential=["charge"], seed=0).labels)

    released = dealt_out(frame, how)
    links = np.zeros((6, 6))
    for order in itertools.permutations(range(6)):  # who was charged what: each way is as likely before the release
        table = frame.with_columns(age=frame["age"][list(order)])
        groups = labels(table)
        parts = [np.flatnonzero(groups == g) for g in set(groups)]
        hold = all(set(table["age"][rows]) == set(released["age"][rows]) for rows in parts)
        links[np.arange(6), order] += hold / math.prod(math.factorial(len(rows)) for rows in parts)
    surest = (links / links.sum(axis=1, keepdims=True)).max(axis=1)
    before, after = (shoal.table.microdata.as_records(table, "charge") for table in (frame, released))
    replay = Replay.of(before, after, ["age"], ["age"], lambda x: method.partition(x, columns=by, seed=0))
    assert replay is not None
    whole = Partition(labels=np.zeros(6, dtype=np.int32))
    assert replay.guesses(whole, 720, 720, np.random.default_rng(0)) == pytest.approx(surest)
    assert (surest > 0.34).any()  # these groups tell who belongs to which charge


@pytest.mark.parametrize(
    ("how", "least", "most"),
    [(BY_AGE, 1 / 3, 1 / 3), (({"method": "mdav", "k": 3}, ["charge"]), 1 / 3, 1 / 3)]
    + [(({"method": "mdav", "k": 10}, ["age"]), 1 / 10, 1 / 10)]
    + [(MIXED, 0.5, 1.0), (T_CLOSE, 0.5, 1.0), (T_CLOSE_FIRST, 0.7, 1.0)],
    ids=["by age", "by charge", "tens by age", "mixed", "t-close", "t-close first"],
)
@pytest.mark.parametrize("column", ["age", "charge"])
def test_whoever_can_form_the_groups_again_finds_more_if_they_depend_on_both_columns(
    how: tuple[dict[str, object], list[str]], least: float, most: float, column: str
) -> None:
    frame = people(30)
    rate = exchange(frame, dealt_out(frame, how, (column,)), how, ("age",))
    assert rate is not None
    assert least - 1e-9 <= rate <= most + 1e-9


def test_columns_that_the_attacker_knows_and_that_stay_leave_fewer_to_exchange_with() -> None:
    frame = people(30).with_row_index()
    # Groups of six by number, three of each town: their age is known, and the town, which stays
    how = ({"method": "mdav", "k": 6}, ["index"])
    released = dealt_out(frame, how)
    assert exchange(frame, released, how, ("age",)) == pytest.approx(1 / 6)
    assert exchange(frame, released, how, ("age", "town")) == pytest.approx(1 / 3)


def test_known_cells_that_kept_company_with_others_give_these_away() -> None:
    frame = people(30)
    both = dealt_out(frame, BY_AGE, ("age", "charge"), together=True)
    assert exchange(frame, both, BY_AGE, ("age",)) == 1.0
    assert exchange(frame, dealt_out(frame, BY_AGE, ("age", "charge")), BY_AGE, ("age",)) == pytest.approx(1 / 3)


def test_what_was_not_dealt_out_in_these_groups_is_not_exchanged() -> None:
    frame = people(30)
    released = dealt_out(frame, BY_AGE)
    assert exchange(frame, released, ({"method": "mdav", "k": 4}, ["age"]), ("age",)) is None
    assert exchange(frame, released.with_columns(pl.col("age") + 1e-6), BY_AGE, ("age",)) is None
    assert exchange(frame, frame, BY_AGE, ("age",)) is None


def test_so_many_replays_are_made_and_no_more() -> None:
    frame = people(30)
    before, after = (shoal.table.microdata.as_records(t, "charge") for t in (frame, dealt_out(frame, BY_AGE)))
    calls = []

    def form(table: Records) -> Partition:
        calls.append(table)
        return shoal.MDAV(k=3).partition(table, columns=["age"])

    replay = Replay.of(before, after, ["age"], ["age"], form)
    assert replay is not None
    chances = replay.guesses(replay.groups, 120, 13, np.random.default_rng(0))
    assert (~np.isnan(chances)).sum() == 6  # two groups of three, six orders each
    assert len(calls) == 1 + 2 * 5  # the true order is not formed again
