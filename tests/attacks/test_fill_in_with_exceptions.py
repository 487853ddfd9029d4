"""An attacker fills in what releases give away by laws with exceptions and by arithmetic, and finds no one below k.

Nothing here shares code with shoal: the attacker reads the files in `release/` and knows which columns are the
quasi-identifiers, which one numbers households, and what a missing cell is taken to match. A blank is filled in

- with what most others of the household have, where that is right in 90 % of the visible pairs, and with what most
  others with the same cell of another column, or of two others, have, where that is right in 95 % and errs half as
  often as the most frequent value;
- with `slope * x + offset`, rounded, from two records of which one is the last in order, where that is right in 95 %;
- with the sum, difference, product or ratio of two other cells, where that is right in 95 %.

Each case was 'proved' once while the attacker found people: in memory and by parts it is now refused, or holds.
"""

import csv
import itertools
import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import crossed
from shoal import protect
from shoal.vocabulary.errors import Refused

Row = dict[str, str | None]

OPERATIONS: tuple[Callable[[float, float], float], ...] = (operator.add, operator.sub, operator.mul, operator.truediv)


def rows_of(folder: Path) -> list[Row]:
    """The cells of a release as text; None for a blank."""
    files = sorted((folder / "release").glob("data.csv")) + sorted((folder / "release" / "data").glob("*.parquet"))
    rows: list[Row] = []
    for path in files:
        if path.suffix == ".csv":
            with path.open(newline="", encoding="utf-8") as file:
                rows += [{name: cell or None for name, cell in row.items()} for row in csv.DictReader(file)]
        else:
            frame = pl.read_parquet(path)
            rows += [{name: None if c is None else str(c) for name, c in row.items()} for row in frame.to_dicts()]
    return rows


def by_others(rows: list[Row], by: tuple[str, ...], on: str, share: float) -> dict[int, str]:
    """What most others with the same cells of some columns have, if that is right often enough."""
    causes = [tuple(row[name] for name in by) for row in rows]
    beside: dict[tuple[str | None, ...], Counter[str]] = defaultdict(Counter)
    for cause, row in zip(causes, rows):
        if None not in cause and row[on] is not None:
            beside[cause][str(row[on])] += 1
    several = [values for values in beside.values() if values.total() > 1]
    pairs = sum(values.total() for values in several)
    right = sum(values.most_common(1)[0][1] for values in several)
    common = Counter(str(row[on]) for row in rows if row[on] is not None).most_common(1)
    if not pairs or right < share * pairs or pairs - right > (1 - common[0][1] / len(rows)) * pairs / 2:
        return {}
    filled = {}
    for number, row in enumerate(rows):
        values = beside[causes[number]].most_common(2) if row[on] is None and None not in causes[number] else []
        if len(values) == 1 or (len(values) == 2 and values[0][1] > values[1][1]):
            filled[number] = values[0][0]
    return filled


def number(cell: str | None) -> float | None:
    try:
        return None if cell is None else float(cell)
    except ValueError:
        return None


def by_arithmetic(rows: list[Row], on: str) -> Iterator[dict[int, str]]:
    """What lines and operations give that are right in 95 % of the records in which all is known."""
    cells = {name: [number(row[name]) for row in rows] for name in rows[0]}
    digits = max((len(str(row[on]).partition(".")[2].rstrip("0")) for row in rows if row[on] is not None), default=0)
    others = [name for name in cells if name != on and sum(x is not None for x in cells[name]) > len(rows) / 4]
    for by in others:
        known = [(x, y) for x, y in zip(cells[by], cells[on]) if x is not None and y is not None]
        if len(known) > 20 and max(known)[0] > min(known)[0]:
            (a, b), (c, d) = min(known), max(known)
            slope = (d - b) / (c - a)
            values = [None if x is None else b + slope * (x - a) for x in cells[by]]
            yield tried(values, cells[on], digits)
    for (one, two), operation in itertools.product(itertools.permutations(others, 2), OPERATIONS):
        values = []
        for x, y in zip(cells[one], cells[two]):
            usable = x is not None and y is not None and not (operation is operator.truediv and y == 0)
            values.append(operation(x, y) if usable and x is not None and y is not None else None)
        yield tried(values, cells[on], digits)


def tried(values: list[float | None], cells: list[float | None], digits: int) -> dict[int, str]:
    """The blanks that some numbers fill, if these are right wherever they can be compared, but for one in twenty."""
    both = [(x, y) for x, y in zip(values, cells) if x is not None and y is not None]
    right = sum(abs(x - y) <= 0.5 * 10**-digits * 1.000001 for x, y in both)
    common = Counter(y for _, y in both).most_common(1)
    if len(both) < 20 or right < 0.95 * len(both) or 2 * (len(both) - right) > len(both) - common[0][1]:
        return {}
    return {
        n: str(round(x, digits)) if digits else str(round(x))
        for n, (x, y) in enumerate(zip(values, cells))
        if x is not None and y is None
    }


def attacked(rows: list[Row], units: set[str]) -> dict[tuple[int, str], str]:
    """Everything that can be filled in, until nothing more comes of it."""
    filled: dict[tuple[int, str], str] = {}
    while True:
        more: dict[tuple[int, str], str] = {}
        for on in rows[0]:
            if all(row[on] is not None for row in rows):
                continue
            others = [name for name in rows[0] if name != on]
            guesses = [by_others(rows, (by,), on, 0.9 if by in units else 0.95) for by in others]
            two = itertools.combinations([name for name in others if name not in units], 2)
            guesses += [by_others(rows, pair, on, 0.95) for pair in two]
            for guess in itertools.chain(guesses, by_arithmetic(rows, on)):
                more |= {(n, on): value for n, value in guess.items() if (n, on) not in more}
        for (n, on), value in more.items():
            rows[n][on] = value
        filled |= more
        if not more:
            return filled


def smallest(rows: list[Row], keys: list[str]) -> int:
    """The fewest records that one may stand for, where a blank matches everything."""
    patterns = Counter(tuple(row[key] for key in keys) for row in rows)

    def alike(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
        return all(a is None or b is None or a == b for a, b in zip(one, other))

    return min(sum(n for other, n in patterns.items() if alike(one, other)) for one in patterns)


def households(rng: np.random.Generator) -> tuple[pl.DataFrame, dict[str, Any]]:
    """300 households that live in one region each, but for one."""
    home = np.repeat(np.arange(300), rng.integers(1, 5, 300))
    region = rng.choice(list("ABCDEF"), 300, p=[0.4, 0.3, 0.19, 0.04, 0.04, 0.03])[home]
    pair = np.flatnonzero(np.diff(home) == 0)[0]
    region[pair] = "A" if region[pair + 1] != "A" else "B"
    frame = pl.DataFrame({"home": home, "region": region, "age": rng.integers(0, 7, len(home))})
    return frame, {"home": "household", "region": "quasi-identifier", "age": "quasi-identifier"}


def birth_years(rng: np.random.Generator) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Ages beside years of birth."""
    year = rng.integers(1930, 2010, 1200)
    frame = pl.DataFrame({"year": year, "age": 2024 - year, "sex": rng.choice(["f", "m"], 1200)})
    return frame, {"year": "other", "age": "quasi-identifier", "sex": "quasi-identifier"}


def incomes(rng: np.random.Generator) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Sizes of households beside their incomes, and these per head."""
    size = np.minimum(1 + rng.poisson(1.5, 1200), 9)
    income = rng.integers(10_000, 90_000, 1200)
    columns = {"size": size, "income": income, "head": (income / size).round(2), "sex": rng.choice(["f", "m"], 1200)}
    roles = {"size": "quasi-identifier", "income": "confidential", "head": "confidential", "sex": "quasi-identifier"}
    return pl.DataFrame({**columns, "area": rng.choice(list("abcdef"), 1200)}), {**roles, "area": "quasi-identifier"}


def sums(rng: np.random.Generator) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Adults and children of households, and both together, twelve of them entered wrongly."""
    adults, children = 1 + rng.poisson(0.8, 1200), rng.poisson(1, 1200)
    people = adults + children
    people[:12] = 1
    return pl.DataFrame({"adults": adults, "children": children, "people": people}), {
        "adults": "other",
        "children": "other",
        "people": "quasi-identifier",
    }


def tariffs(rng: np.random.Generator) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Tariffs by class and zone, three of them entered wrongly, and few of one sex."""
    kind, zone = rng.integers(0, 6, 1200), rng.integers(0, 6, 1200)
    tariff = rng.permutation(36).reshape(6, 6)[kind, zone] % 4
    tariff[:3] = (tariff[:3] + 1) % 4
    sex = rng.choice(["f", "m", "x"], 1200, p=[0.495, 0.495, 0.01])
    roles = {"kind": "other", "zone": "other", "tariff": "quasi-identifier", "sex": "quasi-identifier"}
    return pl.DataFrame({"kind": kind, "zone": zone, "tariff": tariff, "sex": sex}), roles


CASES: dict[str, tuple[Callable[..., tuple[pl.DataFrame, dict[str, Any]]], list[str], set[str]]] = {
    "households": (households, ["region", "age"], {"home"}),
    "birth years": (birth_years, ["age", "sex"], set()),
    "incomes": (incomes, ["size", "sex", "area"], set()),
    "sums": (sums, ["people"], set()),
    "tariffs": (tariffs, ["tariff", "sex"], set()),
}


def plan_for(roles: dict[str, Any], keys: list[str], *, blank: bool, layout: str) -> dict[str, Any]:
    """Suppression for k = 5 and the requirement, a blank matching everything."""
    columns = {n: {"role": r, "level": "nominal", "missing": "keep"} if n in keys else r for n, r in roles.items()}
    step = {"mask": "suppress", "k": 5, "columns": keys, "missing": "wildcard", "effort": 0.1}
    dear = {"region": "age", "tariff": "sex"}.get(keys[0])
    step |= {"importance": {dear: 5}} if dear else {}
    return {
        "columns": columns,
        "steps": [step] if blank else [],
        "requirements": [{"privacy": "k-anonymity", "k": 5, "missing": "wildcard", "columns": keys}],
        "output": {"format": layout},
    }


def blanked_alone(frame: pl.DataFrame, roles: dict[str, Any], keys: list[str]) -> pl.DataFrame:
    """The table as one that only looks at the keys blanks it: nothing beside them is seen."""
    alone = {name: roles[name] for name in keys}
    plan = plan_for(alone, keys, blank=True, layout="csv") | {"output": {"shuffle": False}}
    return frame.with_columns(shoal.protect(frame.select(keys), plan, seed=1).table.native)


@pytest.mark.parametrize("case", CASES)
def test_the_attacker_finds_people_where_blanks_were_made_blindly(case: str, tmp_path: Path) -> None:
    """What was blanked with an eye on the keys alone falls to the attacker, and is refused before he comes."""
    make, keys, units = CASES[case]
    frame, roles = make(np.random.default_rng(7))
    blind = blanked_alone(frame, roles, keys)
    (tmp_path / "release").mkdir()
    blind.write_csv(tmp_path / "release" / "data.csv")
    rows = rows_of(tmp_path)
    assert smallest(rows, keys) >= 5
    filled = attacked(rows, units)
    blanks = {(n, name) for name in keys for n in np.flatnonzero(blind[name].is_null())}
    right = sum(str(frame[on][n]) == value for (n, on), value in filled.items())
    assert len(filled) > 0.2 * len(blanks)
    assert right >= 0.9 * len(filled)
    assert smallest(rows, keys) < 5
    plan = plan_for(roles, keys, blank=False, layout="csv")
    verdict = shoal.audit(blind, plan).verdicts[0]
    assert not verdict.holds
    assert "gives away" in verdict.sentence
    with pytest.raises(Refused):
        shoal.protect(blind, plan, seed=1)


@pytest.mark.parametrize(("case", "parts"), crossed(CASES, [False, True]))
def test_what_is_released_holds_against_the_attacker(case: str, parts: bool, tmp_path: Path) -> None:
    make, keys, units = CASES[case]
    frame, roles = make(np.random.default_rng(7))
    plan = plan_for(roles, keys, blank=True, layout="parquet" if parts else "csv")
    out = tmp_path / "out"

    def released() -> None:
        if parts:
            frame.write_parquet(tmp_path / "in.parquet")
            protect(tmp_path / "in.parquet", {**plan, "exact": False}, out, seed=1, workers=1)
        else:
            shoal.protect(frame, plan, seed=1).write(out)

    if case in ("incomes", "sums"):  # others are blanked as a whole household, or not at all where a year stays
        with pytest.raises(Refused, match=r" back[:,]"):
            released()
        return
    released()
    rows = rows_of(out)
    attacked(rows, units)
    assert smallest(rows, keys) >= 5
