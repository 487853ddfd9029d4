"""Records drawn again until none equals a unique original: the law of what is left, and what its absence tells."""

from collections import Counter
from math import exp, prod

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.plan.synthesis import PER_TABLE
from shoal.replace._trees import unlike_uniques
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.vocabulary.errors import Refused


def people(n: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    skew = np.arange(1, 13) ** -1.5
    return pl.DataFrame(
        {
            "a": rng.choice(list("abc"), n, p=[0.6, 0.3, 0.1]),
            "b": rng.choice([f"b{i}" for i in range(12)], n, p=skew / skew.sum()),
            "c": rng.choice(list("xyz"), n, p=[0.7, 0.2, 0.1]),
            "d": rng.choice([f"d{i}" for i in range(12)], n, p=skew / skew.sum()),
        }
    )


def records(frame: pl.DataFrame, **roles: str) -> Records:
    return Microdata.of(frame, {name: roles.get(name, "quasi-identifier") for name in frame.columns}).records


def drawn(table: Records, method: shoal.Cart, seed: int, columns: tuple[str, ...] = ()) -> tuple[Records, dict]:
    whole = Partition(labels=np.zeros(len(table), dtype=np.int32))
    change = method.apply(table, columns or table.names(), whole, np.random.default_rng(seed))
    return change.records, dict(change.facts)


def rows_of(table: Records, names: tuple[str, ...]) -> list[tuple]:
    return list(zip(*(np.array(table[name].categories)[table[name].values] for name in names)))


def law(shares: list[dict[str, float]], uniques: set[tuple]) -> dict[tuple, float]:
    """P' of the module's docstring, for four independent columns: by its formula."""
    cells = {
        (a, b, c, d): prod(share[cell] for share, cell in zip(shares, (a, b, c, d)))
        for a in shares[0]
        for b in shares[1]
        for c in shares[2]
        for d in shares[3]
    }
    half: dict[tuple, float] = Counter()
    both: dict[tuple, float] = Counter()
    for row, chance in cells.items():
        half[row[:2]] += chance
        both[row[:2]] += chance * (row in uniques)
    q = {h: both[h] / half[h] for h in half}
    s = sum(half[h] * q[h] ** 2 for h in half)
    u = sum(both.values())
    return {row: p * (1 + q[row[:2]] + s / (1 - u)) for row, p in cells.items() if row not in uniques}


def setting() -> tuple[Records, list[dict[str, float]], set[tuple]]:
    """A table, the shares of its cells by column, and its unique rows."""
    frame = people(1500)
    shares = [{cell: n / len(frame) for cell, n in Counter(frame[name]).items()} for name in frame.columns]
    uniques = {row for row, n in Counter(frame.iter_rows()).items() if n == 1}
    assert len(uniques) > 50
    return records(frame), shares, uniques


def test_the_law_of_what_is_left() -> None:
    """Trees that cannot split draw columns by themselves; what is released has the law of the formula, and no other."""
    table, shares, uniques = setting()
    method = shoal.Cart(min_leaf=1500, exclude=False, no_exact_matches=True)
    seen: Counter = Counter()
    for seed in range(12):
        seen.update(rows_of(drawn(table, method, seed)[0], table.names()))
    assert not uniques & seen.keys()
    expected, plain = law(shares, uniques), law(shares, set())
    assert sum(expected.values()) == pytest.approx(1) and sum(plain.values()) == pytest.approx(1)
    total = sum(seen.values())

    def misfit(chances: dict[tuple, float]) -> float:
        """Chi-squared over its degrees of freedom, of the cells expected ten times or more."""
        cells = {row: total * p for row, p in chances.items() if total * p >= 10 and row not in uniques}
        return sum((seen[row] - n) ** 2 / n for row, n in cells.items()) / len(cells)

    assert misfit(expected) < 1.25
    assert misfit({row: p / (1 - sum(plain[x] for x in uniques)) for row, p in plain.items()}) > misfit(expected)


def test_absence_tells_no_more_than_is_said() -> None:
    """For every unique original: the factor of each record with it and without, against the bound of each."""
    _, shares, uniques = setting()
    plain, with_all = law(shares, set()), law(shares, uniques)
    u = sum(plain[x] for x in uniques)
    halves: dict[tuple, float] = Counter()
    for row, p in plain.items():
        halves[row[:2]] += p
    worst = sorted(uniques, key=lambda x: -plain[x] / halves[x[:2]])[:5]
    for x in worst:
        without = law(shares, uniques - {x})
        given_half, reach = plain[x] / halves[x[:2]], 2 * plain[x] / (1 - u) ** 2
        for row, p in with_all.items():
            assert p / without[row] <= (1 + given_half if row[:2] == x[:2] else 1) * exp(reach) * (1 + 1e-12)
        m = 1000 * halves[x[:2]]
        ratio = sum(1000 * p * np.log(p / without[row]) for row, p in with_all.items())
        assert ratio <= m * given_half + 1000 * reach


def test_no_unique_original_comes_back() -> None:
    """On all columns, and on those that are known and sought, in groups and with columns that stay."""
    frame = people(600).with_columns(pl.Series("w", np.arange(600) % 7 + 1.0))
    table = records(frame, c="confidential", w="weight")
    groups = Partition(labels=(np.arange(600) % 2).astype(np.int32))
    method = shoal.Cart(min_leaf=2, no_exact_matches=True)
    for columns, partition in ((("a", "b", "c", "d"), groups), (("b", "d"), groups)):
        change = method.apply(table, columns, partition, np.random.default_rng(1))
        names = ("a", "b", "c", "d")
        uniques = {row for row, n in Counter(rows_of(table, names)).items() if n == 1}
        assert not uniques & {*rows_of(change.records, names)}
        plain = shoal.Cart(min_leaf=2).apply(table, columns, partition, np.random.default_rng(1))
        assert uniques & {*rows_of(plain.records, names)}
        weighted = [(*row, w) for row, w in zip(rows_of(table, names), frame["w"])]
        alone = {row for row, n in Counter(weighted).items() if n == 1}
        assert not alone & {(*row, w) for row, w in zip(rows_of(change.records, names), change.records["w"].values)}
        facts = {name: getattr(fact, "n", getattr(fact, "value", None)) for name, fact in change.facts.items()}
        assert facts["draws rejected, for they equalled a unique original"] > 0
        first = Counter(row for row in rows_of(plain.records, names) if row in uniques)
        first += Counter((*row, w) for row, w in zip(rows_of(plain.records, names), frame["w"]) if (*row, w) in alone)
        most = facts["first draws that equalled the same unique original, at most"]
        assert most == first.most_common(1)[0][1]


def test_what_comes_out_as_uniques_alone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlike_uniques, "ROUNDS", 3)
    table = records(pl.DataFrame({"a": [f"{i}" for i in range(30)]}))
    with pytest.raises(Refused, match="30 records of 30 came out as a unique original record 3 times"):
        drawn(table, shoal.Cart(no_exact_matches=True), 1)


def test_it_is_refused_where_persons_are_made_up() -> None:
    assert "no_exact_matches" in PER_TABLE
