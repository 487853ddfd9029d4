from math import factorial

import numpy as np
import pandas as pd
import pytest

from shoal.risk.attribute_inference import AttributeInference, _independent, _paired
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition

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
    few = records().take(np.arange(80))
    finding = AttributeInference(model="forest").measure(few, few)
    assert finding.value > 0.5
    number = records(secret=rng.normal(size=N)).take(np.arange(80))
    continuous = AttributeInference(model="forest", tolerance=0.5).measure(number, number)
    assert continuous.value > 0.2


def test_paired_interval_is_not_empty_where_all_agree():
    sure = _paired(np.ones(50, dtype=bool), np.zeros(50, dtype=bool))
    assert sure.difference == 1
    assert 0.85 < sure.interval.low < sure.interval.high <= 1


def test_paired_interval_by_hand():
    # Of ten people four are found with the release alone and one without it alone, so that the difference has a
    # variance of .5 - .09 and the baseline one of .6 * .4: the ten count as 10 / (1 + .24 / .41) = 6.31. Of so many the
    # shares lie, by Wilson's interval corrected for continuity, in (.0935, .7946) and (.0053, .5660); they correlate by
    # -sqrt(4 * 1 / (6 * 9)).
    attack = np.array([True] * 4 + [False] + [True] * 5)
    paired = _paired(attack, np.array([False] * 4 + [True] * 6))
    assert paired.difference == pytest.approx(0.3)
    reach = [up**2 + down**2 + 2 * np.sqrt(4 / 54) * up * down for up, down in ((0.3065, 0.466), (0.3946, 0.0947))]
    ends = 0.3 - np.sqrt(reach[0]), 0.3 + np.sqrt(reach[1])
    assert (paired.interval.low, paired.interval.high) == pytest.approx(ends, abs=0.001)


def test_paired_interval_covers_every_difference():
    # Whatever shares are gained and lost, the sum of the probabilities of the draws whose interval holds the truth.
    n = 30
    counts = np.array([(up, down) for up in range(n + 1) for down in range(n + 1 - up)])
    ends = np.empty((len(counts), 2))
    for row, (gained, lost) in enumerate(counts):
        person = np.arange(n)
        interval = _paired(person < gained, (person >= gained) & (person < gained + lost)).interval
        ends[row] = interval.low, interval.high
    ways = np.array([factorial(n) / (factorial(u) * factorial(d) * factorial(n - u - d)) for u, d in counts.tolist()])
    for gain, loss in [(0.0, 0.02), (0.02, 0.02), (0.1, 0.0), (0.1, 0.1), (0.3, 0.02), (0.4, 0.2), (0.4, 0.4)]:
        chance = ways * gain ** counts[:, 0] * loss ** counts[:, 1] * (1 - gain - loss) ** (n - counts.sum(axis=1))
        assert chance.sum() == pytest.approx(1)
        truth = gain - loss
        assert chance[(ends[:, 0] <= truth + 1e-12) & (truth - 1e-12 <= ends[:, 1])].sum() > 0.95, (gain, loss)


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


def test_any_columns_are_reconstructed_from_any_others():
    """A copy gives a hidden column back from two that are known, beyond what strangers show."""
    rng = np.random.default_rng(4)
    roles = dict.fromkeys("abc", "quasi-identifier") | {"d": "confidential"}

    def people(n):
        cells = {name: rng.integers(0, 60, n).astype(str) for name in "abcd"}
        return Microdata.of(pd.DataFrame(cells), roles).records

    original, strangers = people(150), people(150)
    attack = AttributeInference(known=("a", "d"), columns=("c",), holdout=strangers)
    finding = attack.measure(original, original)
    assert finding.value > 0.8
    assert set(finding.by_column.private()) == {"c"}
    assert finding.details["mean difference of the columns"] == pytest.approx(finding.value)
    both = AttributeInference(known=("a", "b"), holdout=strangers, columns=("c", "d")).measure(original, original)
    single = [both.by_column.private()[name]["difference"] for name in "cd"]
    assert both.details["mean difference of the columns"] == pytest.approx(np.mean(single))
    assert AttributeInference(known=("d",), holdout=strangers).measure(original, original).value is None
