"""The transparency attacker: by hand, against replay, and against chance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.risk.transparency import TransparencyAttack
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.table.step_result import StepResult


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
