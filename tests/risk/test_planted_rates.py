"""Releases whose true re-identification rate is known: the intervals of the attacks cover it as often as they say.

Every draw makes a table, a release of which it is known by construction how many records an intruder finds, and an
attack on some records only. An interval at 95 % covers the truth in at least 92 % of 200 draws but for one draw in 60.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from by_night import by_night, crossed
from shoal.judges.base import Measure
from shoal.judges.table_pair import TablePair
from shoal.risk.attribute_inference import AttributeInference
from shoal.risk.closest_record import ClosestRecord
from shoal.risk.distance_linkage import DistanceLinkage
from shoal.risk.inference import Inference
from shoal.risk.linkability import Linkability
from shoal.risk.membership_inference import MembershipInference
from shoal.risk.probabilistic_linkage import ProbabilisticLinkage
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.table.variable import Variable

DRAWS, COVERED = by_night(80, 200), 0.92
N, ATTACKED = 160, 60
AREAS, JOBS = 8, 20

Release = Callable[[Records, np.random.Generator], tuple[Records, float]]


def people() -> Records:
    """One person in every area and job, so that each is unique."""
    codes = np.stack(np.meshgrid(np.arange(AREAS), np.arange(JOBS), indexing="ij"), axis=-1).reshape(-1, 2)
    columns = {"area": [f"area {i}" for i in range(AREAS)], "job": [f"job {i}" for i in range(JOBS)]}
    return Records.of(
        Variable(
            name=n, role="quasi-identifier", level="nominal", values=codes[:, j].astype(np.int32), categories=tuple(c)
        )
        for j, (n, c) in enumerate(columns.items())
    )


def changed(table: Records, name: str, codes: np.ndarray, categories: tuple[str, ...] | None = None) -> Records:
    column = table[name]
    return table.with_variables(
        replace(
            column, values=codes.astype(np.int32), categories=column.categories if categories is None else categories
        )
    )


def suppressed(table: Records, rng: np.random.Generator) -> tuple[Records, float]:
    """The job of some is blank: any of the jobs in their area, since all are as frequent."""
    blank = rng.random(N) < 0.4
    return changed(table, "job", np.where(blank, -1, table["job"].values)), float(np.where(blank, 1 / JOBS, 1).mean())


def recoded(table: Records, rng: np.random.Generator) -> tuple[Records, float]:
    """Jobs are joined to sectors of one, two or four: whoever looks for someone has as many to choose from."""
    sectors = np.repeat(np.arange(9), [1, 1, 1, 1, 2, 2, 4, 4, 4])
    of_job = rng.permutation(sectors)
    sizes = np.bincount(sectors)
    labels = tuple(f"sector {i}" for i in range(9))
    codes = of_job[table["job"].values]
    return changed(table, "job", codes, labels), float((1 / sizes[codes]).mean())


def sampled(table: Records, rng: np.random.Generator) -> tuple[Records, float]:
    """Half of the people, each as they are."""
    return table.take(np.sort(rng.choice(N, N // 2, replace=False))), 1.0


def swapped(table: Records, rng: np.random.Generator) -> tuple[Records, float]:
    """Some people of one area change jobs in a circle, and are then taken for one another."""
    codes = table["job"].values.copy()
    moved = 0
    for area in range(AREAS):
        chosen = np.flatnonzero((table["area"].values == area) & (rng.random(N) < 0.3))
        if len(chosen) > 1:
            codes[chosen] = np.roll(codes[chosen], 1)
            moved += len(chosen)
    return changed(table, "job", codes), 1 - moved / N


def synthetic(table: Records, rng: np.random.Generator) -> tuple[Records, float]:
    """Cells of nobody: any link is right with the same probability."""
    area, job = rng.integers(0, AREAS, N), rng.integers(0, JOBS, N)
    return changed(changed(table, "area", area), "job", job), 1 / N


def coverage(measure: Measure, release: Release) -> float:
    table, covered = people(), 0
    for draw in range(DRAWS):
        rng = np.random.default_rng(draw)
        released, truth = release(table, rng)
        finding = measure.finding_on(TablePair.of(table, released), rng)
        assert finding.interval is not None
        covered += finding.interval.low - 1e-9 <= truth <= finding.interval.high + 1e-9
    return covered / DRAWS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "attack"),
    crossed([suppressed, recoded, sampled, swapped, synthetic], [DistanceLinkage, ProbabilisticLinkage]),
    ids=lambda it: it.__name__,
)
def test_the_interval_of_a_linkage_covers_the_true_rate(
    attack: type[Measure], release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.risk.probabilistic_linkage.STEPS", 10)  # of EM, by which these patterns are told apart
    assert coverage(attack(sample=ATTACKED), release) >= 0.95  # type: ignore[call-arg]


def numbers(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=(n, 2))


@pytest.mark.slow
@pytest.mark.parametrize("attack", [ClosestRecord, MembershipInference], ids=lambda a: a.method_name)
def test_a_release_of_strangers_tells_nothing_of_members(attack: type[Measure]) -> None:
    """The truth is one half: members, others and the released records are all drawn alike."""
    covered = 0
    for draw in range(DRAWS):
        rng = np.random.default_rng(draw)
        members, others, released = numbers(rng, 80), numbers(rng, 80), numbers(rng, 80)
        finding = attack(holdout=others).measure(members, released, seed=draw)  # type: ignore[call-arg]
        assert finding.interval is not None
        covered += finding.interval.low <= 0.5 <= finding.interval.high
    assert covered / DRAWS >= COVERED


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_the_interval_of_attribute_inference_covers_what_the_release_gives_away(share: float) -> None:
    """Of a share of the people the release holds the confidential value, one of four; of the others a guess."""
    covered = 0
    truth = share * 0.75
    for draw in range(DRAWS):
        rng = np.random.default_rng(draw)
        people, others = numbers(rng, 150), numbers(rng, 150)
        of_people, of_others = rng.integers(0, 4, 150), rng.integers(0, 4, 150)
        released = np.where(rng.random(150) < share, of_people, rng.integers(0, 4, 150))
        tables = [with_secret(x, s) for x, s in ((people, of_people), (people, released), (others, of_others))]
        finding = AttributeInference(holdout=tables[2]).measure(tables[0], tables[1], seed=draw)
        assert finding.interval is not None
        covered += finding.interval.low <= truth <= finding.interval.high
    assert covered / DRAWS >= 0.95


@pytest.mark.parametrize("share", [0.0, 0.8])
@pytest.mark.parametrize("groups", [None, Partition(labels=np.zeros(60, dtype=np.int64))], ids=["many", "one"])
def test_the_interval_of_attribute_inference_without_a_holdout_covers_it_too(
    groups: Partition | None, share: float
) -> None:
    """Beside predictions from one another, where two nearest people are right or wrong together."""
    covered = 0
    for draw in range(DRAWS):
        rng = np.random.default_rng(draw)
        people, secret = numbers(rng, 60), rng.integers(0, 4, 60)
        released = np.where(rng.random(60) < share, secret, rng.integers(0, 4, 60))
        tables = with_secret(people, secret), with_secret(people, released)
        finding = AttributeInference().measure(*tables, seed=draw, partition=groups)
        assert finding.interval is not None
        covered += finding.interval.low <= share * 0.75 <= finding.interval.high
    assert covered / DRAWS >= 0.95


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_the_interval_of_inference_covers_what_the_release_gives_away(share: float) -> None:
    """As above by the nearest record, beside a holdout of another size: who is right by luck is among strangers too."""
    covered = 0
    for draw in range(DRAWS):
        rng = np.random.default_rng(draw)
        people, others = numbers(rng, 150), numbers(rng, 220)
        of_people, of_others = rng.integers(0, 4, 150), rng.integers(0, 4, 220)
        released = np.where(rng.random(150) < share, of_people, rng.integers(0, 4, 150))
        attack = Inference(holdout=with_secret(others, of_others), attacks=100)
        finding = attack.measure(with_secret(people, of_people), with_secret(people, released), seed=draw)
        assert finding.interval is not None
        covered += finding.interval.low <= share <= finding.interval.high
    assert covered / DRAWS >= 0.95


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_the_interval_of_linkability_covers_the_links_that_are_left(share: float) -> None:
    """The second column of all but a share of the people is dealt in a circle, so that their two files part."""
    covered = 0
    for draw in range(DRAWS):
        rng = np.random.default_rng(draw)
        people, others = numbers(rng, 150), numbers(rng, 220)
        moved = np.flatnonzero(rng.random(150) >= share)
        released = people.copy()
        released[moved, 1] = people[np.roll(moved, 1), 1]
        finding = Linkability(holdout=others, attacks=100).measure(people, released, seed=draw)
        assert finding.interval is not None
        covered += finding.interval.low <= 1 - len(moved) / 150 <= finding.interval.high
    assert covered / DRAWS >= 0.95


def with_secret(x: np.ndarray, secret: np.ndarray) -> Records:
    column = Variable(
        name="secret", role="confidential", level="nominal", values=secret.astype(np.int32), categories=tuple("abcd")
    )
    return Records.from_array(x).with_variables(column)
