from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from naive import persons as naive
from shoal.judges.evidence import Finding
from shoal.judges.table_pair import TablePair
from shoal.table.microdata import Microdata

ROLES = {"p": "person", "q": {"role": "quasi-identifier", "level": "nominal"}}


def finding_of(table: list[dict[str, Any]], roles: dict[str, Any] = ROLES, **given: Any) -> Finding:
    records = Microdata.of(pl.DataFrame(table), roles).records
    return shoal.KnownRecords(**given).finding_on(TablePair.of(records, records), np.random.default_rng(0))


@given(
    table=st.lists(st.fixed_dictionaries({"p": st.integers(0, 4), "q": st.sampled_from("abc")}), min_size=1, max_size=9)
)
def test_as_who_tries_all_sets_finds(table: list[dict[str, Any]]) -> None:
    persons = naive.persons_of(table)
    by_number = finding_of(table, most=3).details["share singled out"]
    for m in (1, 2, 3):
        shares = []
        for own in persons.values():
            sets = list(combinations([record["q"] for record in own], min(m, len(own))))
            alone = [len(naive.candidates(Counter(some), persons, m)) == 1 for some in sets]
            shares.append(sum(alone) / len(alone))
        assert by_number[f"{m} known"] == pytest.approx(np.mean(shares), abs=1e-6)


def test_a_sample_of_sets_with_its_interval() -> None:
    rng = np.random.default_rng(3)
    table = [{"p": int(p), "q": f"q{q}"} for p, q in zip(rng.integers(0, 300, 6_000), rng.integers(0, 130, 6_000))]
    sampled = finding_of(table, most=3)
    assert sampled.details["sets of records tried"] == 2_000
    persons = naive.persons_of(table)
    counted = {p: Counter(record["q"] for record in own) for p, own in persons.items()}
    hits, trials = 0, 400
    for _ in range(trials):
        person = int(rng.choice(list(counted)))
        own = [record["q"] for record in persons[person]]
        some = Counter(rng.permutation(own)[:3].tolist())
        hits += sum(some <= cells for cells in counted.values()) == 1
    assert sampled.interval is not None and sampled.value is not None
    assert abs(sampled.value - hits / trials) < 4 * (0.25 / trials) ** 0.5
    assert sampled.interval.low <= sampled.value <= sampled.interval.high


def test_without_persons_there_is_no_figure() -> None:
    finding = finding_of([{"p": 1, "q": "a"}], {**ROLES, "p": "other"})
    assert finding.value is None and "no column with the role person" in (finding.reason or "")
