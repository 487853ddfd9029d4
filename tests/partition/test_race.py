from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

from shoal import GaussianMixture
from shoal.partition._em import race
from shoal.partition._em.race import Race


@dataclass(frozen=True)
class Fit:
    """A fit whose BIC at each look is laid down; it breaks down where that is None."""

    looks: tuple[float | None, ...]
    at: int = 0

    @property
    def bic(self) -> float:
        return self.looks[self.at]

    @property
    def gain(self) -> float:
        return self.bic - self.looks[self.at - 1] if self.at else np.inf

    @property
    def ended(self) -> bool:
        return self.at == len(self.looks) - 1

    def further(self) -> "Fit | None":
        return None if self.looks[self.at + 1] is None else replace(self, at=self.at + 1)


def begun(looks):
    return partial(lambda: Fit(looks) if looks[0] is not None else None)


def ends(contest, *fields):
    return [sorted(fit.bic for fit in contest.run([begun(looks) for looks in field], None)) for field in fields]


def test_by_hand():
    # 100 ends at the first look. 90 -> 91 could reach 91 + 5: given up. 90 -> 93 could reach 108: goes on to 101.
    contest = Race()
    assert ends(contest, [(100.0,), (90.0, 91.0, 200.0), (90.0, 93.0, 101.0)]) == [[91.0, 100.0, 101.0]]
    assert (contest.best, contest.given_up) == (101.0, 1)


def test_a_fit_that_breaks_down_gives_up_no_other():
    # The second soars before its covariance becomes singular: it never was at an end.
    assert ends(Race(), [(80.0, 81.0, 82.0), (80.0, 900.0, None), (None,)]) == [[82.0]]


def test_one_more_field_changes_nothing_of_those_before_it():
    rng = np.random.default_rng(0)
    fields = [[tuple(np.cumsum(rng.exponential(size=rng.integers(1, 7)))) for _ in range(20)] for _ in range(5)]
    for count in range(1, 5):
        before, after = Race(), Race()
        assert ends(after, *fields[: count + 1])[:count] == ends(before, *fields[:count])
        assert after.best >= before.best
    assert after.given_up > 0


def test_progress_never_falls():
    seen = []
    list(Race().run([begun((1.0, 2.0, 3.0)), begun((1.0, 2.0)), begun((5.0,))], seen.append))
    assert seen == sorted(seen)
    assert seen[0] > 0 and seen[-1] <= 1


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_mixture_as_without_giving_up(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    x = np.vstack([rng.normal(size=(80, 3)) * rng.lognormal(size=3) + rng.normal(size=3) * 2 for _ in range(3)])
    method = GaussianMixture(k=10, groups="2..5")
    raced = method.partition(x, seed=1).details
    monkeypatch.setattr(race, "PATIENCE", 1e9)
    whole = method.partition(x, seed=1).details
    assert raced["fits given up"] > 50 > 10 > whole["fits given up"]
    assert raced["BIC"] == pytest.approx(whole["BIC"], rel=1e-9)
