"""Every privacy model fails on exactly the records on which a slow, obvious twin does (`naive/privacy.py`).

Tables are small and dense in what is awkward: ties, classes of one record, columns without a value, missing cells in
quasi-identifiers, in the confidential column and in households. Limits lie on what such classes reach and beside it.
"""

import random
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import shoal
from by_night import by_night
from naive import privacy as naive
from shoal.judges.table_pair import TablePair
from shoal.kernels.requirement import emd
from shoal.privacy.base import PrivacyModel
from shoal.table.microdata import Microdata

READINGS = ("equal", "wildcard", "nothing")
KINDS = ("distinct", "entropy", "recursive")
KEEP = {"role": "quasi-identifier", "missing": "keep"}
ROLES: dict[str, Any] = {
    "q": KEEP,
    "r": {**KEEP, "level": "nominal"},
    "home": {"role": "household", "missing": "keep"},
    "weight": "weight",
}
PATHS = {"a": ("a", "x"), "b": ("b", "x"), "d": ("d", "y")}
ILLNESS = {"nested": {"x": ["a", "b"], "y": ["d"]}}
TYPES = {"q": pl.Float64, "r": pl.String, "home": pl.Int64, "weight": pl.Int64}


VALUES: dict[str, list[Any]] = {
    "q": [1.0, 2.0, None],
    "r": ["f", "m", None],
    "home": [1, 2, 3, None],
    "weight": [1, 2, 3],
}


def tables(cells: list[Any], most: int = 14) -> st.SearchStrategy[list[naive.Record]]:
    """Tables of some of the values each; drawn evenly, for what a search tries first are tables of one class."""

    def drawn(seed: int) -> list[naive.Record]:
        rng = random.Random(seed)
        some = {name: rng.sample(of, rng.randint(1, len(of))) for name, of in (VALUES | {"c": cells}).items()}
        return [{name: rng.choice(of) for name, of in some.items()} for _ in range(rng.randint(1, most))]

    return st.integers(0, 2**32).map(drawn)


NUMBERS = tables([1.0, 2.0, 5.0, None])
ILL = tables(["a", "a", "b", "d", None])
many = settings(max_examples=by_night(20, 60))


def pair_of(table: list[naive.Record], hierarchy: Any = None) -> TablePair:
    confidential: dict[str, Any] = {"role": "confidential", "missing": "keep"}
    words = hierarchy is not None or any(isinstance(record["c"], str) for record in table)
    if words:
        confidential |= {"level": "nominal", "hierarchy": hierarchy}
    frame = pl.DataFrame(table, schema=TYPES | {"c": pl.String if words else pl.Float64})
    records = Microdata.of(frame, ROLES | {"c": confidential}).encoded
    return TablePair.of(records, records)


def same(model: PrivacyModel, pair: TablePair, failing: list[bool]) -> None:
    """A model proves what its twin does, and names the records on which the twin fails.

    So does what it requires of each class by itself, by which methods form classes.
    """
    verdict = model.judge(pair)
    assert verdict.holds is not any(failing)
    assert ([False] * len(failing) if verdict.failing is None else verdict.failing.tolist()) == failing
    if (limits := model.group_limits(pair.released)) is not None:
        classes = pair.released.classes(naive.QUASI)
        broken = classes.sizes < limits.k
        for column, required in zip(limits.columns, limits.requirements, strict=True):
            broken = broken | (emd.excesses(required, column.bins, classes.ids, column.m, len(classes.sizes)) > 0)
        assert broken[classes.ids].tolist() == failing


@many
@given(table=NUMBERS, k=st.integers(1, 4), missing=st.sampled_from(READINGS), few=st.booleans())
def test_k_anonymity(table: list[naive.Record], k: int, missing: Any, few: bool) -> None:
    names = ("r",) if few else naive.QUASI
    model = shoal.KAnonymity(k=k, missing=missing, columns=names if few else None)
    same(model, pair_of(table), naive.k_anonymity(table, k, missing, names))


@many
@given(table=NUMBERS, k=st.integers(1, 3))
def test_k_anonymity_of_households(table: list[naive.Record], k: int) -> None:
    same(shoal.KAnonymity(k=k, unit="household"), pair_of(table), naive.k_anonymity_of_households(table, k))


@many
@given(table=NUMBERS, gain=st.integers(0, 12), cost=st.integers(1, 4), digits=st.sampled_from([1, 10]))
def test_no_attack(table: list[naive.Record], gain: int, cost: int, digits: int) -> None:
    """In tenths, too, of which binary fractions lie beside."""
    model = shoal.NoAttack(gain=gain / digits, cost=cost / digits)
    same(model, pair_of(table), naive.no_attack(table, Fraction(gain, digits), Fraction(cost, digits)))


@pytest.mark.parametrize("kind", KINDS)
@many
@given(table=NUMBERS | ILL, l=st.sampled_from([1, 1.5, 1.9, 2, 2.5, 3]), c=st.sampled_from([0.5, 1, 2, 3]))
def test_l_diversity(kind: Any, table: list[naive.Record], l: float, c: float) -> None:  # noqa: E741
    same(shoal.LDiversity(l=l, kind=kind, c=c), pair_of(table), naive.l_diversity(table, l, kind, c))


@pytest.mark.parametrize("kind", KINDS)
@given(
    counts=st.lists(st.integers(1, 60), min_size=1, max_size=4),
    blank=st.integers(0, 3),
    l=st.sampled_from([1.5, 1.9, 1.99, 2, 3, 3.9, 4]),
    c=st.sampled_from([0.5, 1, 2]),
)
@example(counts=[49, 51], blank=0, l=2, c=1)
@example(counts=[50, 50], blank=0, l=2, c=1)
@example(counts=[51, 49], blank=2, l=1.99, c=1)
def test_l_diversity_of_one_large_class(kind: Any, counts: list[int], blank: int, l: float, c: float) -> None:  # noqa: E741
    """Shares that are all but equal are not taken for equal ones."""
    cells = [float(v) for v, count in enumerate(counts) for _ in range(count)] + [None] * blank
    table = [{"q": 1.0, "r": "f", "c": cell, "home": 1, "weight": 1} for cell in cells]
    same(shoal.LDiversity(l=l, kind=kind, c=c), pair_of(table), naive.l_diversity(table, l, kind, c))


@many
@given(table=NUMBERS | ILL, p=st.integers(1, 3), k=st.integers(1, 3))
def test_p_sensitivity(table: list[naive.Record], p: int, k: int) -> None:
    same(shoal.PSensitivity(p=p, k=k), pair_of(table), naive.p_sensitivity(table, p, k))


DISTANCES: dict[str, Any] = {
    "distinct": naive.ordered,
    "rank": naive.ranked,
    "equal": naive.equal_distances,
    "hierarchical": naive.in_tree(PATHS),
}
LIMITS = [0.0, 0.1, 0.2, 0.25, 1 / 3, 0.5, 2 / 3, 1.0]


@pytest.mark.parametrize("distance", DISTANCES)
@many
@given(data=st.data(), t=st.sampled_from(LIMITS))
def test_t_closeness(distance: Any, data: st.DataObject, t: float) -> None:
    table = data.draw(ILL if distance == "hierarchical" else NUMBERS)
    pair = pair_of(table, ILLNESS if distance == "hierarchical" else None)
    same(shoal.TCloseness(t=t, distance=distance), pair, naive.t_closeness(table, t, DISTANCES[distance]))


@many
@given(table=ILL, t=st.sampled_from(LIMITS))
def test_t_closeness_of_categories_without_a_hierarchy(table: list[naive.Record], t: float) -> None:
    same(shoal.TCloseness(t=t), pair_of(table), naive.t_closeness(table, t, naive.equal_distances))


@pytest.mark.parametrize("distance", ["distinct", "equal"])
@many
@given(table=NUMBERS, n=st.integers(1, 8), t=st.sampled_from(LIMITS))
def test_nt_closeness(distance: Any, table: list[naive.Record], n: int, t: float) -> None:
    failing = naive.nt_closeness(table, n, t, DISTANCES[distance])
    same(shoal.NTCloseness(n=n, t=t, distance=distance), pair_of(table), failing)


@many
@given(table=NUMBERS | ILL, beta=st.sampled_from([0.2, 0.5, 1, 1.5, 2, 3]), enhanced=st.booleans())
def test_beta_likeness(table: list[naive.Record], beta: float, enhanced: bool) -> None:
    same(shoal.BetaLikeness(beta=beta, enhanced=enhanced), pair_of(table), naive.beta_likeness(table, beta, enhanced))


@many
@given(table=NUMBERS | ILL, delta=st.sampled_from([0.1, 0.3, 0.7, 1, 1.5]))
def test_delta_disclosure(table: list[naive.Record], delta: float) -> None:
    same(shoal.DeltaDisclosure(delta=delta), pair_of(table), naive.delta_disclosure(table, delta))


PARTS = st.sampled_from([Fraction(1, n) for n in (1, 2, 3, 4, 5)] + [Fraction(2, 3), Fraction(3, 8)])


@many
@given(
    table=NUMBERS, average=PARTS, highest=PARTS, above=PARTS | st.just(Fraction(0)), missing=st.sampled_from(READINGS)
)
def test_average_risk(
    table: list[naive.Record], average: Fraction, highest: Fraction, above: Fraction, missing: Any
) -> None:
    model = shoal.AverageRisk(average=float(average), highest=float(highest), above=float(above), missing=missing)
    same(model, pair_of(table), naive.average_risk(table, average, highest, above, missing))


@many
@given(table=NUMBERS, k=st.integers(1, 8), missing=st.sampled_from(READINGS))
def test_k_map_by_weights(table: list[naive.Record], k: int, missing: Any) -> None:
    same(shoal.KMap(k=k, missing=missing), pair_of(table), naive.k_map_by_weights(table, k, missing))


PEOPLE = tables([1.0], most=25)


@many
@given(table=NUMBERS, people=PEOPLE, k=st.integers(1, 4), missing=st.sampled_from(READINGS))
def test_k_map(table: list[naive.Record], people: list[naive.Record], k: int, missing: Any) -> None:
    """The people of the table are among the population, or nothing would explain a category that is released."""
    everybody = [*map(dict, table), *people]
    model = shoal.KMap(k=k, population=pair_of(everybody).released.select(naive.QUASI), missing=missing)
    same(model, pair_of(table), naive.k_map(table, everybody, k, missing))


@many
@given(
    table=tables([1.0], most=4),
    more=PEOPLE,
    least=st.sampled_from([0.0, 0.25]),
    largest=st.sampled_from([0.5, 0.75, 1.0]),
    missing=st.sampled_from(READINGS),
)
def test_delta_presence(
    table: list[naive.Record], more: list[naive.Record], least: float, largest: float, missing: Any
) -> None:
    everybody = [*map(dict, table), *more]
    population = pair_of(everybody).released.select(naive.QUASI)
    model = shoal.DeltaPresence(largest=largest, least=least, population=population, missing=missing)
    holds = naive.delta_presence(table, everybody, least, largest, missing)
    assert model.judge(pair_of(table)).holds is holds
