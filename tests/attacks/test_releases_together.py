"""All that ever left, in one reader's hands: attacks that read `release/` folders only, before and after the ledger.

The attacker pairs records by a number that nobody shares (pay, income), or by what else stays. He joins blanks of one
file with cells of another, compares who is in which, and counts those of whom fewer than k persons share the same. Each
case was 'Proved', release by release, while he found people; beside the earlier releases it is refused now, or holds.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from published.reference import reference
from shoal.vocabulary.errors import Refused
from waves import adversary, data, known_of, registry

K = 5
COLUMNS: dict[str, Any] = {
    "person": "identifier",
    "cohort": {"role": "quasi-identifier", "level": "nominal", "missing": "keep"},
    "region": {"role": "quasi-identifier", "missing": "keep"},
    "pay": "confidential",
    "left": "identifier",
}
NAMES = ("cohort", "region")
SUPPRESS = [{"mask": "suppress", "k": K}]
REQUIRED = [{"privacy": "k-anonymity", "k": K}]
RULES = {"key": "person", "hold_back": True, "left": "left"}


def plan(steps: Sequence[Any] = SUPPRESS, **more: Any) -> dict[str, Any]:
    return {"columns": COLUMNS, "steps": list(steps), "requirements": REQUIRED, **more}


@pytest.fixture(scope="module")
def months() -> list[pl.DataFrame]:
    """Two months of 90 people, in classes so small that cells are blanked."""
    return list(registry(2, 90, 11))


def filled(folders: Sequence[Path]) -> int:
    """Blank cells of any file that another one shows, for the same pay."""
    seen: dict[str, list[tuple[str | None, ...]]] = defaultdict(list)
    for folder in folders:
        for pay, *cells in pl.read_csv(data(folder), infer_schema=False).select("pay", *NAMES).iter_rows():
            seen[pay].append(tuple(cells))
    columns = [column for files in seen.values() for column in zip(*files)]
    return sum(column.count(None) for column in columns if any(cell is not None for cell in column))


def test_blanks_of_january_are_filled_by_february(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    """One plan on two months: each is proved, and together they fill blanks and tell newcomers and movers apart."""
    alone, kept = [], []
    for number, table in enumerate(months):
        alone.append(tmp_path / f"alone-{number}")
        kept.append(tmp_path / f"kept-{number}")
        shoal.protect(table.filter(pl.col("left").is_null()), plan(), alone[-1], seed=number)
        shoal.protect(table, plan(ledger=RULES), kept[-1], seed=number, ledger=tmp_path / "l")
    assert filled(alone) > 0
    assert adversary(alone)[1] > 5
    assert adversary(kept)[1] == 0
    with pytest.raises(Refused, match="Together with release 1"):
        shoal.protect(months[1], plan(ledger={"key": "person"}), tmp_path / "2", seed=1, ledger=tmp_path / "l")


def test_one_original_under_two_plans(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    """Suppression that spares regions, and one that spares cohorts: what one blanks the other shows."""
    two = [plan([{**SUPPRESS[0], "importance": {spared: 9}}]) for spared in NAMES]
    folders = [tmp_path / str(number) for number in range(2)]
    for described, folder in zip(two, folders):
        shoal.protect(months[0], described, folder, seed=1)
    assert filled(folders) > 5
    assert adversary(folders)[1] > 5
    with_ledger = [{**described, "ledger": {"key": "person"}} for described in two]
    shoal.protect(months[0], with_ledger[0], tmp_path / "a", seed=1, ledger=tmp_path / "l")
    with pytest.raises(Refused, match="Together with release 1"):
        shoal.protect(months[0], with_ledger[1], tmp_path / "b", seed=1, ledger=tmp_path / "l")


def for_readers(audience: str, **more: Any) -> dict[str, Any]:
    return plan([], release={"audience": audience}, ledger={**RULES, **more})


def test_two_recipients_who_put_their_files_together(tmp_path: Path) -> None:
    """January to A, February to B: nobody is found if the plan says that they may collude, somebody if it does not."""
    january, february = registry(2, 300, 2)
    for name, more in (("apart", {}), ("colluding", {"collude": ["A"]})):
        folders = [tmp_path / f"{name}-{audience}" for audience in "AB"]
        ledger = tmp_path / f"{name}.ledger"
        shoal.protect(january, for_readers("A"), folders[0], seed=1, ledger=ledger)
        shoal.protect(february, for_readers("B", **more), folders[1], seed=1, ledger=ledger)
        assert min(adversary(folders[:1])[1], adversary(folders[1:])[1]) == 0
        assert (adversary(folders)[1] == 0) == (name == "colluding")


def test_a_revision(tmp_path: Path) -> None:
    """Three regions of a release were wrong. Beside the release that it replaces, the revision points at the three."""
    wrong = next(registry(1, 300, 5))
    three = pl.col("person").is_in([3, 33, 133])
    right = wrong.with_columns(region=pl.when(three).then(pl.lit("N")).otherwise("region"))
    for number, table in enumerate((wrong, right)):
        shoal.protect(table, plan([]), tmp_path / f"alone-{number}", seed=1)
    assert adversary([tmp_path / "alone-0", tmp_path / "alone-1"])[1] > 0
    shoal.protect(wrong, for_readers("A"), tmp_path / "1", seed=1, ledger=tmp_path / "l")
    without = plan([], release={"audience": "A"}, ledger={"key": "person"})
    with pytest.raises(Refused, match="Together with release 1"):
        shoal.protect(right, without, tmp_path / "2", seed=1, ledger=tmp_path / "l")
    shoal.protect(right, for_readers("A"), tmp_path / "2", seed=1, ledger=tmp_path / "l")
    assert adversary([tmp_path / "1", tmp_path / "2"])[1] == 0


@pytest.mark.parametrize(("replace", "nearer"), [("normal", 0.85), ("cart", 0.4)])
def test_averages_for_one_and_a_synthetic_table_for_another(replace: str, nearer: float, tmp_path: Path) -> None:
    """The synthetic row of the nearest pay has an age no nearer to the person's than another row's.

    Trees are nearer by what they tell of the ten records of a leaf, which are more than k.
    """
    rng = np.random.default_rng(3)
    age, pay = rng.integers(20, 70, 300), rng.permutation(9000)[:300] / 4
    table = pl.DataFrame({"person": range(300), "age": age, "pay": pay, "left": None})
    roles = {"person": "identifier", "age": "quasi-identifier", "pay": "confidential", "left": "identifier"}
    ledger = {"ledger": {"key": "person"}, "columns": roles}
    averages = {**ledger, "steps": [{"partition": "mdav", "k": K}], "requirements": REQUIRED}
    anew = [{"partition": "whole", "replace": replace, "columns": ["age", "pay"]}]
    shoal.protect(table, averages, tmp_path / "a", seed=1, ledger=tmp_path / "l")
    shoal.protect(table, {**ledger, "steps": anew}, tmp_path / "s", seed=1, ledger=tmp_path / "l", unproved=True)
    averaged, synthetic = (pl.read_csv(data(tmp_path / name)) for name in "as")
    nearest = np.abs(synthetic["pay"].to_numpy() - averaged["pay"].to_numpy()[:, None]).argmin(axis=1)
    own = averaged.join(table, on="pay", how="left", suffix=" own", maintain_order="left")["age own"].to_numpy()
    guesses = synthetic["age"].to_numpy()[nearest]
    near, anybody = (float(np.abs(ages - own).mean()) for ages in (guesses, rng.permutation(guesses)))
    assert near > nearer * anybody
    assert near > 2 * float(np.abs(averaged["age"].to_numpy() - own).mean())  # the averages alone tell far more


SURVEY = {"SEX": "quasi-identifier", "AGEP": "quasi-identifier", "MSP": "quasi-identifier"}


def waves_of_survey(count: int, persons: int) -> Iterator[pl.DataFrame]:
    """The American Community Survey of 2019 resampled into a register with a key: people come, leave and marry."""
    survey = pl.read_csv(reference("nist/national2019.csv"), infer_schema=False).select(*SURVEY, "PINCP")
    rng = np.random.default_rng(9)
    coarse = survey.with_columns(AGEP=pl.col("AGEP").cast(pl.Int64) // 25 * 25)
    people = coarse[rng.integers(0, len(coarse), 2 * persons)]
    people = people.with_columns(person=pl.int_range(2 * persons), left=pl.lit(None, pl.Int64))
    people = people.with_columns(pay=pl.col("person").cast(pl.String) + "-" + pl.col("PINCP")).drop("PINCP")
    coming = persons
    for wave in range(count):
        if wave:
            coming += int(rng.poisson(persons / 50))
            leaving, marrying = rng.integers(0, coming, persons // 100), rng.integers(0, coming, persons // 100)
            is_in = pl.col("person").is_in
            people = people.with_columns(
                left=pl.when(pl.col("left").is_null() & is_in(leaving)).then(wave).otherwise("left"),
                MSP=pl.when(is_in(marrying)).then(pl.lit("1")).otherwise("MSP"),
            )
        yield people[:coming]


def test_a_real_survey_resampled_into_a_register(tmp_path: Path) -> None:
    """Alone, three waves find people; with the ledger nobody, and nine in ten living persons are released."""
    roles = {**{n: {"role": r, "level": "nominal"} for n, r in SURVEY.items()}, "person": "identifier"}
    roles |= {"pay": {"role": "confidential", "level": "nominal"}, "left": "identifier"}
    described = {"columns": roles, "steps": SUPPRESS, "requirements": REQUIRED, "accept": ["pay"]}
    described["columns"] |= {n: {**roles[n], "missing": "keep"} for n in SURVEY}
    alone, kept = [], []
    for wave, table in enumerate(waves_of_survey(3, 500)):
        alone.append(tmp_path / f"alone-{wave}")
        kept.append(tmp_path / f"kept-{wave}")
        alive = table.filter(pl.col("left").is_null())
        shoal.protect(alive, described, alone[-1], seed=1)
        shoal.protect(table, {**described, "ledger": RULES}, kept[-1], seed=1, ledger=tmp_path / "l")
    assert adversary(alone, tuple(SURVEY))[1] > 30
    assert min(known_of(kept, tuple(SURVEY)).values()) >= K
    assert len(set(pl.read_csv(data(kept[-1]))["pay"]) & set(alive["pay"])) > 0.9 * len(alive)
