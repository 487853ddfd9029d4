import numpy as np
import pandas as pd
import pytest

from shoal.data.microdata import Microdata
from shoal.data.partition import Partition
from shoal.risk.attribute_inference import AttributeInference, _independent, _paired

RNG = np.random.default_rng(41)
N = 600
FRAME = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(size=N)})
SECRET = RNG.choice(["x", "y", "z", "w"], N)  # independent of a and b: nothing to learn about the population
ROLES = {"a": "quasi-identifier", "b": "quasi-identifier", "s": "confidential"}


def records(frame=FRAME, secret=SECRET):
    return Microdata.of(frame.assign(s=secret), ROLES).records


def test_a_copy_gives_everything_away_and_the_population_nothing():
    finding = AttributeInference().measure(records(), records())
    by = finding.by_column.private()["s"]
    assert by["with the release"] == 1
    assert by["baseline"] == pytest.approx(0.25, abs=0.06)
    assert finding.value == pytest.approx(1 - by["baseline"])
    assert finding.interval.low < finding.value < finding.interval.high + 0.01
    assert finding.interval.low > 0.6


def test_what_anyone_could_know_is_no_inference_about_the_person():
    secret = np.where(FRAME["a"] > 0, "high", "low")  # a function of what the attacker knows
    finding = AttributeInference().measure(records(secret=secret), records(secret=secret))
    assert finding.by_column.private()["s"]["baseline"] > 0.95
    assert finding.value < 0.05


def test_a_permuted_secret_gives_nothing_away(rng):
    released = records(secret=rng.permutation(SECRET))
    finding = AttributeInference().measure(records(), released)
    assert finding.interval.low < 0 < finding.interval.high


def test_groups_are_left_out_whole(rng):
    # Groups of three with the mean of a number: a member's own value is a third of the mean. Left out alone, the
    # other two still sit at the group's centre and carry the mean; only the whole group's absence is a baseline.
    labels = np.arange(N) // 3
    part = Partition(labels=labels)
    frame = pd.DataFrame({"a": 10.0 * labels + rng.normal(size=N), "b": 10.0 * labels + rng.normal(size=N)})
    secret = rng.normal(size=N)
    grouped = pd.DataFrame(part.means(frame.to_numpy())[part.labels], columns=["a", "b"])
    released = records(grouped, part.means(secret[:, None])[part.labels, 0])
    alone = AttributeInference(tolerance=0.5).measure(records(frame, secret), released)
    whole = AttributeInference(tolerance=0.5).measure(records(frame, secret), released, partition=part)
    assert whole.details["baseline"] == "without their own part in it"
    assert whole.value > alone.value + 0.03


@pytest.mark.slow
def test_forest(rng):
    pytest.importorskip("sklearn")
    few = records().take(np.arange(150))
    finding = AttributeInference(model="forest").measure(few, few)
    assert finding.value > 0.5
    number = records(secret=rng.normal(size=N)).take(np.arange(150))
    continuous = AttributeInference(model="forest", tolerance=0.5).measure(number, number)
    assert continuous.value > 0.2


def test_paired_interval_is_not_empty_where_all_agree():
    sure = _paired(np.ones(50, dtype=bool), np.zeros(50, dtype=bool))
    assert sure.difference == 1
    assert 0.85 < sure.interval.low < sure.interval.high <= 1


def test_paired_interval_by_hand():
    # Of four people two are found with the release only: 2.5 against 0.5 of 6, as Agresti & Min (2005) count.
    paired = _paired(np.array([True] * 4), np.array([True, True, False, False]))
    assert paired.difference == 0.5
    half = 1.959964 * np.sqrt((3 / 6 - (2 / 6) ** 2) / 6)
    assert (paired.interval.low, paired.interval.high) == (pytest.approx(2 / 6 - half), pytest.approx(2 / 6 + half))


def test_paired_interval_covers():
    # 70 % right with, 50 % without, half of the people decided together; 95 % should cover the true difference.
    rng, hits = np.random.default_rng(2), 0
    for _ in range(400):
        u = rng.uniform(size=(2, 80))
        u[1] = np.where(rng.uniform(size=80) < 0.5, u[0], u[1])
        interval = _paired(u[0] < 0.7, u[1] < 0.5).interval
        hits += interval.low <= 0.2 <= interval.high
    assert hits / 400 > 0.91


def test_not_computable():
    table = records()
    bare = table.without(["s"])
    assert AttributeInference().measure(bare, bare).value is None
    few = table.take(np.arange(3))
    assert "fewer than 5" in AttributeInference().measure(few, few).reason


def test_a_secret_of_one_number_is_predicted_by_everyone():
    secret = np.full(N, 0.1)  # the mean of which is not 0.1 to the last bit
    finding = AttributeInference(model="forest", sample=50).measure(records(secret=secret), records(secret=secret))
    assert finding.by_column.private()["s"]["baseline"] == finding.by_column.private()["s"]["with the release"] == 1


WHOLE = Partition(labels=np.zeros(N, dtype=int))


def test_the_whole_table_as_one_group_is_compared_with_the_other_originals(rng):
    known = np.where(FRAME["a"] > 0, "high", "low")
    fresh = pd.DataFrame({"a": rng.normal(size=N), "b": rng.normal(size=N)})
    synthetic = records(fresh, np.where(fresh["a"] > 0, "high", "low"))
    finding = AttributeInference().measure(records(secret=known), synthetic, partition=WHOLE)
    by = finding.by_column.private()["s"]
    assert by["with the release"] > 0.95 and by["baseline"] > 0.95
    assert finding.details["baseline"] == "with the original records of the others"
    assert finding.interval.low < 0.02 and finding.value < 0.02
    copied = AttributeInference().measure(records(), records(), partition=WHOLE)
    assert copied.value > 0.6  # a generator that returns its training data


def test_a_holdout_is_the_baseline(rng):
    fresh = pd.DataFrame({"a": rng.normal(size=N), "b": rng.normal(size=N)})
    others = fresh.assign(s=rng.choice(["x", "y", "z", "w", "new"], N))
    copied = AttributeInference(holdout=others).measure(records(), records())
    by = copied.by_column.private()["s"]
    assert by["with the release"] == 1
    assert by["baseline"] == pytest.approx(0.2, abs=0.06)
    assert copied.interval.low < copied.value < copied.interval.high + 0.01
    synthetic = records(fresh, rng.choice(["x", "y", "z", "w"], N))
    harmless = AttributeInference(holdout=others).measure(records(), synthetic)
    assert harmless.interval.low < 0.06
    part = records().take(np.arange(400))  # a release of fewer records, of which nobody knows whose they are
    assert AttributeInference(holdout=others).measure(records(), part).value is not None


def test_the_interval_of_two_samples_covers_their_difference():
    rng = np.random.default_rng(4)
    covered = 0
    for _ in range(400):
        interval = _independent(rng.random(80) < 0.6, rng.random(60) < 0.45).interval
        covered += interval.low <= 0.15 <= interval.high
    assert covered / 400 > 0.93
