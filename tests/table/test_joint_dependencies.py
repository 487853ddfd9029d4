"""Laws of two columns together are seen where neither column alone has one, and are not seen by chance."""

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.table.dependencies import HALVINGS, Dependencies, Dependency, LawSupport, joint_codes
from shoal.table.joint_dependencies import HEAD, _log_chance, joint_laws
from shoal.table.laws import Laws, look_ups_of
from shoal.table.microdata import Microdata
from shoal.table.records import Records


def records_of(frame: pl.DataFrame, **roles: str) -> Records:
    columns = {name: {"role": roles.get(name, "other"), "missing": "keep"} for name in frame.columns}
    return Microdata.finished(frame, columns).encoded


def rates(n: int, odd: int = 0) -> pl.DataFrame:
    """A tariff by class and region, for some records another one."""
    rng = np.random.default_rng(1)
    kind, region = rng.integers(0, 6, n), rng.integers(0, 5, n)
    tariff = rng.permutation(30).reshape(6, 5)[kind, region] % 9
    tariff[:odd] = (tariff[:odd] + 1) % 9
    noise = rng.integers(0, 4, n)
    return pl.DataFrame({"kind": kind, "region": region, "tariff": tariff, "noise": noise}).cast(pl.String)


@pytest.mark.parametrize("n", [400, 3 * HEAD])
@pytest.mark.parametrize("odd", [0, 1, 3, 15])
def test_a_tariff_by_class_and_region(n: int, odd: int) -> None:
    laws = joint_laws(records_of(rates(n, odd)), ["tariff", "noise"], [])
    assert laws == {Dependency(("kind", "region"), "tariff"): LawSupport(odd, n, 30)}


def test_blanks_are_filled_in_once_the_law_is_known() -> None:
    frame = rates(400)
    blank = frame.with_columns(pl.when(pl.int_range(400) % 9 > 0).then("tariff").alias("tariff"))
    records = records_of(blank)
    laws = joint_laws(records, ["tariff"], [])
    assert Dependencies(records).completed().records is records
    filled = Dependencies(records, also=laws).completed().records["tariff"]
    assert [filled.categories[code] for code in filled.values] == frame["tariff"].to_list()


def test_what_one_column_tells_is_no_law_of_two() -> None:
    frame = rates(400).with_columns(pl.col("tariff").alias("price"))
    laws = Laws.of(records_of(frame), ["price"]).look_ups
    assert [law.by for law in laws] == [("tariff",), ("kind", "region")]
    alone = frame.drop("kind")
    assert [law.by for law in Laws.of(records_of(alone), ["price"]).look_ups] == [("tariff",)]
    assert joint_laws(records_of(alone), ["price"], []) == {}  # a second column adds nothing


def test_members_of_households_are_too_few_to_tell() -> None:
    frame = rates(400)
    assert joint_laws(records_of(frame, kind="household"), ["tariff"], []) == {}


def test_work_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.table.joint_dependencies.MOST_JOINT", 3)
    records = records_of(rates(400))
    assert list(joint_laws(records, ["tariff"], [])) == [Dependency(("kind", "region"), "tariff")]
    assert joint_laws(records, ["noise", "kind"], []) == {}  # only the pairs of the first are tried


Cells = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2))


@given(st.lists(Cells, min_size=1, max_size=40), st.integers(0, 3))
def test_the_bound_equals_that_of_the_formula(rows: list[tuple[int, int, int]], wrong: int) -> None:
    """The product over the values of both columns, one after the other, as the module's first lines say."""
    groups = Counter((a, b) for a, b, _ in rows)
    bounds = []
    for s in [0.5**power for power in HALVINGS] if wrong else [0.5**64]:
        logs = 0.0
        for (a, _), size in groups.items():
            own = Counter(c for first, _, c in rows if first == a)
            shares = [count / own.total() for count in own.values()]
            if size > 1:
                logs += min(math.log(sum((p + s * (1 - p)) ** size for p in shares)), 0.0)
        bounds.append(logs - (wrong * math.log(s) if wrong else 0.0))
    first, second, on = (np.array(column, dtype=np.int32) for column in zip(*rows))
    assert _log_chance(first, joint_codes(first, second), on, wrong) == pytest.approx(min(bounds), abs=1e-9)


def test_tables_without_laws_claim_none() -> None:
    """Twenty tables in which one column leans on another, a third on nothing: shares of 92 %, few values and many."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = (300, 1000, 3000)[seed % 3]
        base = rng.integers(0, 6, n)
        columns = {
            "base": base,
            "leaning": np.where(rng.random(n) < 0.9, base % 4, rng.integers(0, 4, n)),
            "mostly": np.where(rng.random(n) < 0.84, base % 2, rng.integers(0, 2, n)),
            "rare": rng.random(n) < 0.02,
            "rare where base is 1": (base == 1) & (rng.random(n) < 0.3),
            "many": rng.integers(0, n // 2, n),
            "pairs": np.repeat(np.arange(n // 2), 2)[:n],
            "even": rng.integers(0, 5, n),
        }
        frame = pl.DataFrame(columns)
        gaps = [pl.when(pl.Series(rng.random(n) < 0.05)).then(None).otherwise(c).alias(c) for c in columns]
        records = records_of(frame.with_columns(gaps))
        assert look_ups_of(records, list(columns)) == {}
