"""Releases of linked tables one after another: an adversary who joins all files that he holds, person by person.

He reads the released tables alone, joins them by the keys in them, and knows which persons of different releases are
the same. He is written with dictionaries and tuples, and shares nothing with the package.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import by_night
from command_line import Run, runner
from shoal.desk.keeping_linked import LinkedKeeping
from shoal.ledger.store import Ledger
from shoal.plan.linked import LinkedPlan
from shoal.release import publish
from shoal.release.linked import LinkedRelease
from shoal.vocabulary.errors import FileError, ParameterError, PlanError, Refused

K = 3
NOMINAL = {"role": "quasi-identifier", "level": "nominal"}
PLAN: dict[str, Any] = {
    "tables": {
        "patients": {"key": "patient", "columns": {"sex": NOMINAL, "area": NOMINAL}},
        "stays": {"key": "stay", "parent": "patients", "columns": {"ward": NOMINAL, "illness": "confidential"}},
        "drugs": {"parent": "stays", "columns": {"drug": NOMINAL}},
    },
    "suppress_persons": 0.9,
    "requirements": [{"privacy": "k-anonymity", "k": K}],
    "ledger": {},
}


def hospital(n: int = 120, seed: int = 0) -> dict[str, pl.DataFrame]:
    rng = np.random.default_rng(seed)
    patients = pl.DataFrame(
        {"patient": np.arange(n) * 7 + 3, "sex": rng.choice(["f", "m"], n), "area": rng.choice(["n", "s"], n)}
    )
    of = np.sort(rng.integers(0, n, n))
    stays = pl.DataFrame(
        {
            "stay": np.arange(n),
            "patient": patients["patient"].gather(of),
            "ward": rng.choice(["a", "b"], n, p=[0.8, 0.2]),
            "illness": rng.choice(["x", "y", "z"], n),
        }
    )
    drugs = pl.DataFrame({"stay": rng.integers(0, n, n // 3), "drug": rng.choice(["p", "q"], n // 3, p=[0.9, 0.1])})
    return {"patients": patients, "stays": stays, "drugs": drugs}


def moved(tables: Mapping[str, pl.DataFrame], persons: int) -> dict[str, pl.DataFrame]:
    """A month later: some persons have moved to the other area."""
    there = pl.when(pl.int_range(pl.len()) < persons).then(pl.col("area").replace({"n": "s", "s": "n"}))
    return {**tables, "patients": tables["patients"].with_columns(there.otherwise("area").alias("area"))}


def recorded(release: Path, original: pl.DataFrame, rows: Sequence[int]) -> dict[str, Any]:
    """What the files of a release tell of each person, by the person's true key.

    `rows`: the truth that pairs released persons with those who came in: for each, the row of the original.
    """
    files = {name: pl.read_csv(release / f"{name}.csv") for name in ("patients", "stays", "drugs")}
    drugs: dict[int, list[str]] = {}
    for row in files["drugs"].to_dicts():
        drugs.setdefault(row["stay"], []).append(row["drug"])
    stays: dict[int, list[tuple[Any, ...]]] = {}
    for row in files["stays"].to_dicts():
        stays.setdefault(row["patient"], []).append((row["ward"], *sorted(drugs.get(row["stay"], []))))
    keys = original["patient"].to_list()
    return {
        str(keys[place]): (row["sex"], row["area"], *sorted(stays.get(row["patient"], [])))
        for row, place in zip(files["patients"].to_dicts(), rows)
    }


def under(releases: Sequence[Mapping[str, Any]]) -> set[str]:
    """The persons of whom fewer than K share all that some releases tell; who is in which is known, too."""
    persons = {person for release in releases for person in release}
    sequences = {person: tuple(release.get(person) for release in releases) for person in persons}
    times = Counter(sequences.values())
    return {person for person, sequence in sequences.items() if times[sequence] < K}


def made(tables: Mapping[str, pl.DataFrame], folder: Path, plan: Mapping[str, Any], **how: Any) -> dict[str, Any]:
    release = shoal.protect(tables, plan, folder, seed=1, **how)
    assert isinstance(release, LinkedRelease)
    return recorded(folder / "release", tables["patients"], release.tables["patients"].rows.tolist())


def passed(tables: Mapping[str, pl.DataFrame], folder: Path, plan: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a release tells; None if it is refused beside the earlier ones."""
    try:
        return made(tables, folder, plan)
    except Refused as refused:
        if "over releases" not in "".join(verdict.requirement for verdict in refused.verdicts if not verdict.holds):
            raise
        return None


def test_persons_are_told_apart_by_two_releases_or_the_second_is_refused(tmp_path: Path) -> None:
    """The refusal counts the persons whom the joiner finds in the files that would have been released."""
    first, later = hospital(), moved(hospital(), 2)
    without = {name: section for name, section in PLAN.items() if name != "ledger"}
    alone = [made(tables, tmp_path / name, without) for name, tables in (("a", first), ("b", later))]
    assert under(alone[:1]) == under(alone[1:]) == set()
    small = under(alone)
    assert small
    kept = made(first, tmp_path / "1", PLAN, ledger=tmp_path / "l")
    assert kept == alone[0]
    before = (tmp_path / "l").read_bytes()
    with pytest.raises(Refused, match=r"Together with release 1 \(") as refused:
        shoal.protect(later, PLAN, tmp_path / "2", seed=1, ledger=tmp_path / "l")
    assert ((tmp_path / "2").exists(), (tmp_path / "l").read_bytes() == before) == (False, True)
    (over,) = (v for v in refused.value.verdicts if v.requirement == "3-anonymity over releases")
    assert over.facts["persons under it"].private() == len(small)
    Ledger(tmp_path / "l").withdraw(1, "never sent")
    made(later, tmp_path / "2", PLAN, ledger=tmp_path / "l")


def test_what_changes_for_enough_alike_is_released(tmp_path: Path) -> None:
    """Whole classes move together, and further columns are alike for all of a class: nobody is under K by all files."""
    tables = hospital()
    waves = [made(tables, tmp_path / "1", PLAN, ledger=tmp_path / "l")]
    classes: dict[Any, list[str]] = {}
    for person, profile in waves[0].items():
        classes.setdefault(profile, []).append(person)
    whole = max(classes.values(), key=len)
    moving = pl.when(pl.col("patient").cast(pl.String).is_in(whole)).then(pl.lit("abroad")).otherwise("area")
    tables["patients"] = tables["patients"].with_columns(area=moving)
    waves.append(made(tables, tmp_path / "2", PLAN, ledger=tmp_path / "l"))
    assert under(waves) == set()
    assert waves[0][whole[0]][1] != waves[1][whole[0]][1] == "abroad"
    content = json.loads((tmp_path / "2/release/evidence.json").read_text())
    (over,) = (r for r in content["requirements"] if r["requirement"] == "3-anonymity over releases")
    assert (over["holds"], len(over["facts"]["earlier releases"])) == (True, 1)
    patient = str(whole[0]).encode()
    for path in (tmp_path / "l", tmp_path / "l.head"):
        assert b'"' + patient + b'"' not in path.read_bytes()


def test_random_waves_and_an_independent_recount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Persons come, go, move and get further stays: what passes leaves nobody under K, what is refused would have."""
    monkeypatch.setattr(publish, "page", lambda content: "")
    outcomes = []
    for seed in range(by_night(2, 5)):
        rng, folder = np.random.default_rng(seed), tmp_path / str(seed)
        tables, waves = hospital(240, seed), []
        for month in range(3):
            plan = {**PLAN, "ledger": {"file": str(folder / "l")}}
            wave = passed(tables, folder / str(month), plan)
            if wave is None:
                loose = {name: section for name, section in PLAN.items() if name != "ledger"}
                assert under([*waves, made(tables, folder / f"would-{month}", loose)])
            else:
                waves.append(wave)
            outcomes.append(wave is not None)
            assert not under(waves)
            tables = moved(tables, int(rng.choice([0, 0, 1, 60])))
            if rng.random() < 0.5:
                leaver = tables["patients"]["patient"][-1]
                stays = tables["stays"].filter(pl.col("patient") != leaver)
                tables = {
                    "patients": tables["patients"].filter(pl.col("patient") != leaver),
                    "stays": stays,
                    "drugs": tables["drugs"].filter(pl.col("stay").is_in(stays["stay"].implode())),
                }
    assert {True, False} <= set(outcomes)


def test_one_table_alone_meets_linked_ones_by_the_same_key(tmp_path: Path) -> None:
    """A table of patients released before counts: whoever is told apart by both is under K."""
    tables = hospital()
    patients = tables["patients"].with_columns(decade=pl.Series(np.random.default_rng(9).integers(1, 9, 120) * 10))
    alone = {
        "columns": {"patient": "identifier", "sex": NOMINAL, "area": "other", "decade": NOMINAL},
        "requirements": [{"privacy": "k-anonymity", "k": K}],
        "ledger": {"key": "patient"},
    }
    shoal.protect(patients, alone, tmp_path / "1", seed=1, ledger=tmp_path / "l")
    alone_recorded = {str(row["patient"]): (row["sex"], row["decade"]) for row in patients.to_dicts()}
    without = {name: section for name, section in PLAN.items() if name != "ledger"}
    expected = under([alone_recorded, made(tables, tmp_path / "would", without)])
    assert expected
    with pytest.raises(Refused) as refused:
        shoal.protect(tables, PLAN, tmp_path / "2", seed=1, ledger=tmp_path / "l")
    (over,) = (v for v in refused.value.verdicts if "over releases" in v.requirement)
    assert over.facts["persons under it"].private() == len(expected)


def test_made_up_persons_are_entered_and_tell_of_nobody(tmp_path: Path) -> None:
    tables = hospital(60)
    fictional = {"tables": PLAN["tables"], "synthesis": {"replace": {"method": "cart", "min_leaf": 10}}, "ledger": {}}
    for number in (1, 2):
        shoal.protect(tables, fictional, tmp_path / str(number), seed=number, unproved=True, ledger=tmp_path / "l")
    assert [(row.persons, row.about["quasi-identifiers"]) for row in Ledger(tmp_path / "l").rows()] == [(60, [])] * 2
    made(tables, tmp_path / "3", PLAN, ledger=tmp_path / "l")


def test_the_ledger_shows_tables_and_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run: Run = runner(monkeypatch, capsys)
    (tmp_path / "tables").mkdir()
    for name, table in hospital().items():
        table.write_csv(tmp_path / "tables" / f"{name}.csv")
    cut = {**PLAN["tables"], "drugs": {**PLAN["tables"]["drugs"], "steps": [{"mask": "truncate-records", "most": 1}]}}
    described = {**PLAN, "tables": cut, "release": {"audience": "researchers"}, "ledger": {"file": "vault/l"}}
    (tmp_path / "plan.yaml").write_text(LinkedPlan.of(described).as_yaml())
    assert LinkedPlan.of(tmp_path / "plan.yaml").ledger == LinkedPlan.of(described).ledger
    protect = "protect", tmp_path / "tables", "--plan", tmp_path / "plan.yaml", "--seed", 1, "--out"
    assert run(*protect, tmp_path / "1")[0] == 0
    assert "vault" not in (tmp_path / "1/release/evidence.json").read_text()  # the folder of the ledger
    status, out, _ = run("ledger", "show", tmp_path / "vault/l", "--json")
    (shown,) = json.loads(out)["releases"]
    assert (status, shown["for"], shown["epsilon"]) == (0, "researchers", [])
    assert shown["persons"] == len(pl.read_csv(tmp_path / "1/release/patients.csv"))
    assert {"patients.csv", "stays.csv", "drugs.csv"} < set(shown["sha256"])
    assert run("ledger", "verify", tmp_path / "vault/l")[0] == 0
    (tmp_path / "plan.yaml").write_text(LinkedPlan.of({**PLAN, "ledger": {}}).as_yaml())
    assert run(*protect, tmp_path / "2")[0] == 0
    assert (tmp_path / "2/private/releases.ledger").exists()
    assert run(*protect, tmp_path / "3", "--after", tmp_path / "2")[0] == 0
    assert len(Ledger(tmp_path / "3/private/releases.ledger").rows()) == 2


@pytest.mark.parametrize(
    ("section", "sentence"),
    [
        ({"m": 2}, "ledger: m is for a plan of one table"),
        ({"epsilon": {"*": 1.0}}, "ledger: epsilon is for a plan of one table"),
        ({"hold_back": True}, "ledger: hold_back is for a plan of one table"),
        ({"key": "patient"}, "recognised in every release by the key of 'patients', 'patient'. Leave key out"),
        ({"colude": []}, "did you mean 'collude'"),
        ({"k": 1}, "ledger: k must be a whole number of at least 2; got 1"),
        ([], "ledger must be a mapping"),
    ],
)
def test_what_a_ledger_of_several_tables_does_not_keep_is_refused(section: Any, sentence: str) -> None:
    with pytest.raises(PlanError) as refused:
        LinkedPlan.of({**PLAN, "ledger": section})
    assert sentence in str(refused.value)


def test_a_ledger_needs_its_section_and_is_one(tmp_path: Path) -> None:
    plan = LinkedPlan.of({name: section for name, section in PLAN.items() if name != "ledger"})
    assert LinkedKeeping.of(plan, None, ()) is None
    with pytest.raises(ParameterError, match=r"Add it to the plan: ledger: \{\}"):
        shoal.protect(hospital(), plan, seed=1, ledger=tmp_path / "l")
    with pytest.raises(ParameterError, match="Leave --after out"):
        shoal.protect(hospital(), PLAN, seed=1, ledger=tmp_path / "l", after=tmp_path)
    made(hospital(), tmp_path / "1", PLAN, ledger=tmp_path / "l")
    (tmp_path / "l.key").write_bytes(b"short")
    with pytest.raises(FileError, match="is damaged"):
        shoal.protect(hospital(), PLAN, seed=1, ledger=tmp_path / "l")


def test_an_order_that_no_table_has_is_refused_as_without_a_ledger(tmp_path: Path) -> None:
    lacking = {
        **PLAN,
        "requirements": [{"privacy": "k-anonymity", "k": K, "knowing": "all records", "order": "admitted"}],
    }
    with pytest.raises(Refused, match="has a column 'admitted', so the order of rows is not known"):
        shoal.protect(hospital(), lacking, tmp_path / "1", seed=1, ledger=tmp_path / "l")
    assert not (tmp_path / "l").exists()


def test_the_order_of_rows_tells_persons_apart_over_releases(tmp_path: Path) -> None:
    """Two stays in one order, then in the other: by their set alone nobody is told apart, in order some are."""
    n = 12
    patients = pl.DataFrame({"patient": np.arange(n)}).with_columns(sex=pl.lit("f"), area=pl.lit("n"))
    stays = pl.DataFrame(
        {"stay": np.arange(2 * n), "patient": np.repeat(np.arange(n), 2), "ward": ["a", "b"] * n, "day": [1, 2] * n}
    )
    drugs = pl.DataFrame({"stay": np.arange(0, 2 * n, 2), "drug": ["p"] * n})
    first = {"patients": patients, "stays": stays, "drugs": drugs}
    turned = pl.when(pl.col("patient") < 2).then(3 - pl.col("day")).otherwise("day")
    later = {**first, "stays": stays.with_columns(day=turned)}
    columns = {"ward": NOMINAL, "day": {"role": "confidential", "level": "continuous"}}
    tables = {**PLAN["tables"], "stays": {"key": "stay", "parent": "patients", "columns": columns}}
    for order, passes in ((None, True), ("day", False)):
        required = {"privacy": "k-anonymity", "k": 2, "knowing": "all records"} | ({"order": order} if order else {})
        described = {**PLAN, "tables": tables, "requirements": [required], "ledger": {"k": K}}
        where = tmp_path / str(order)
        shoal.protect(first, described, where / "1", seed=1, ledger=where / "l")
        if passes:
            assert shoal.protect(later, described, seed=1, ledger=where / "l").evidence.holds
            continue
        with pytest.raises(Refused) as refused:
            shoal.protect(later, described, seed=1, ledger=where / "l")
        (over,) = (v for v in refused.value.verdicts if "over releases" in v.requirement)
        assert over.facts["persons under it"].private() == 2


def test_the_largest_k_of_all_requirements_is_kept() -> None:
    tables = {
        **PLAN["tables"],
        "stays": {**PLAN["tables"]["stays"], "requirements": [{"privacy": "k-anonymity", "k": 4}]},
    }
    assert [LinkedPlan.of({**PLAN, "tables": of}).k for of in (PLAN["tables"], tables)] == [3, 4]
    plan = LinkedPlan.of({**PLAN, "ledger": {"k": 9}})
    assert plan.ledger is not None and plan.ledger.k == 9


def test_homes_are_counted_over_releases_where_they_are_the_first_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The joiner knows which homes of two releases are the same, and finds some that only the ledger keeps back."""
    monkeypatch.setattr(publish, "page", lambda content: "")
    tables = hospital(60, 4)
    homes = pl.DataFrame({"home": range(30)})
    patients = tables["patients"].drop("area").with_columns(home=pl.int_range(60) // 2)
    first = {"homes": homes, "patients": patients, "stays": tables["stays"].drop("illness")}
    later = {**first, "patients": patients.with_columns(sex=pl.col("sex").reverse())}
    plan = {
        "tables": {
            "homes": {"key": "home", "columns": {}},
            "patients": {"key": "patient", "parent": "homes", "columns": {"sex": NOMINAL}},
            "stays": {"key": "stay", "parent": "patients", "columns": {"ward": NOMINAL}},
        },
        "steps": [{"mask": "profiles", "k": K}],
        "requirements": [{"privacy": "k-anonymity", "k": K}],
        "ledger": {},
    }

    def homes_of(release: LinkedRelease) -> dict[str, Any]:
        wards: dict[int, list[str]] = {}
        for row in release.to_frames()["stays"].to_dicts():
            wards.setdefault(row["patient"], []).append(row["ward"])
        members: dict[int, list[Any]] = {}
        for row in release.to_frames()["patients"].to_dicts():
            members.setdefault(row["home"], []).append((row["sex"], *sorted(wards.get(row["patient"], []))))
        numbers = release.to_frame()["home"].to_list()
        places = zip(numbers, release.tables["homes"].rows.tolist(), strict=True)
        return {str(place): tuple(sorted(members.get(number, []))) for number, place in places}

    without = {name: section for name, section in plan.items() if name != "ledger"}
    alone = [homes_of(shoal.protect(given, without, seed=1)) for given in (first, later)]
    assert under(alone[:1]) == under(alone[1:]) == set()
    assert under(alone)
    shoal.protect(first, plan, tmp_path / "1", seed=1, ledger=tmp_path / "l")
    with pytest.raises(Refused, match=f"fewer than {K} persons share what is told of {len(under(alone))} persons"):
        shoal.protect(later, plan, tmp_path / "2", seed=1, ledger=tmp_path / "l")
