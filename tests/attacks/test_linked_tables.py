"""Random linked tables under random plans, each release joined and recounted from its files alone.

`PYTHONPATH=tests python tests/attacks/test_linked_tables.py 1000 --seed 7` tries so many. The joiner reads
`release/*.csv` and the plan, joins the rows by the keys in them, and looks for persons by one record, by any m, or by
all, and for households. It shares no code with what it attacks.
"""

import argparse
import csv
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import by_night
from shoal.release import publish
from shoal.table.examples import DIAGNOSES
from shoal.table.linked_examples import TABLES_PLAN
from shoal.vocabulary.errors import Refused

Rows = list[dict[str, str]]
PARENTS: tuple[dict[str, str | None], ...] = (
    {"patients": None, "stays": "patients"},
    {"patients": None, "stays": "patients", "drugs": "stays"},
    {"patients": None, "stays": "patients", "labs": "patients"},
    {"patients": None, "stays": "patients", "drugs": "stays", "visits": "patients", "doses": "drugs"},
)
FIRST = date(2020, 1, 1)
KEY = "KEY{}-{:04}"


def random_tables(rng: np.random.Generator) -> tuple[dict[str, str | None], dict[str, pl.DataFrame]]:
    """Persons with rows in one to four tables; some have none. A key says which table and row it is of."""
    parents = PARENTS[rng.integers(len(PARENTS))]
    tables: dict[str, pl.DataFrame] = {}
    for name, parent in parents.items():
        n = int(rng.integers(60, 300)) if parent is None else int(len(tables[parent]) * rng.uniform(0.2, 1.0)) + 9
        columns: dict[str, Any] = {f"{name} key": [KEY.format(name, i) for i in rng.permutation(n)]}
        if parent is not None:
            skew = rng.random(n) ** rng.choice([1, 3])
            columns[f"{parent} key"] = tables[parent][f"{parent} key"].gather((skew * len(tables[parent])).astype(int))
        for number in range(int(rng.integers(1, 3)) if len(parents) < 3 else 1):
            cells = rng.integers(0, rng.choice([1, 2, 2, 4]), n)
            columns[f"q{number}"] = cells if rng.random() < 0.5 else [f"c{cell}" for cell in cells]
        columns["ill"] = rng.choice(["flu", "gout", "rash"], n)
        if parent is None:
            columns["home"] = rng.integers(0, n // 2, n)
        columns["day"] = [FIRST + timedelta(days=int(day)) for day in rng.integers(0, 300, n)]
        tables[name] = pl.DataFrame(columns)
    return parents, tables


def random_plan(
    parents: Mapping[str, str | None], tables: Mapping[str, pl.DataFrame], rng: np.random.Generator
) -> dict[str, Any]:
    shifts = {"mask": "shift-dates", "columns": ["day"], "most": int(rng.integers(3, 90)), "weeks": False}
    described = {}
    for name, parent in parents.items():
        names = [n for n in tables[name].columns if n.startswith("q")]
        columns: dict[str, Any] = {n: {"role": "quasi-identifier", "level": "nominal"} for n in names}
        columns |= {"ill": "confidential", "day": "other"}
        if parent is None:
            columns["home"] = "household"
        steps: list[dict[str, Any]] = [shifts]
        if parent is not None and rng.random() < 0.8:
            steps.append({"mask": "truncate-records", "most": int(rng.integers(1, 3))})
        if rng.random() < 0.3:
            steps.append({"mask": "suppress", "k": 2, "columns": names})
            columns |= {n: {**columns[n], "missing": "keep"} for n in names}
        if rng.random() < 0.3:
            steps.append({"mask": "suppress-records", "k": int(rng.integers(2, 4)), "columns": names, "limit": 1})
        if rng.random() < 0.3:
            steps.append({"mask": "sample", "fraction": 0.8})
        described[name] = {
            "key": f"{name} key",
            "parent": parent,
            "columns": columns,
            "steps": steps,
            "accept": ["day"],
        }
    knowing = [None, "all records", "one record", 1, 2, 3][rng.integers(6)]
    required: dict[str, Any] = {"privacy": "k-anonymity", "k": int(rng.integers(2, 5))}
    plan = {
        "tables": described,
        "requirements": [required if knowing is None else {**required, "knowing": knowing}],
        "suppress_persons": float(rng.choice([0.0, 0.5, 0.9, 1.0])),
    }
    if rng.random() < 0.3:
        plan["requirements"].append({"privacy": "l-diversity", "l": 2, "knowing": "one record"})
    if rng.random() < 0.3:
        plan["steps"] = [{"mask": "profiles", "k": required["k"]}]
    if rng.random() < 0.25:
        diverse = {"mask": "profiles", "k": required["k"], "l": int(rng.integers(2, 4))}
        plan["steps"] = [diverse]
        plan["requirements"].append({"privacy": "l-diversity", "l": diverse["l"], "knowing": "all records"})
    if rng.random() < 0.25:
        plan["steps"] = [{"mask": "profiles", "k": required["k"], "unit": "household"}]
        plan["requirements"].append({**required, "unit": "household"})
    return plan


class Joiner:
    """Whoever holds the released files: joins them, and counts among how many persons anybody hides."""

    def __init__(self, folder: Path, plan: Mapping[str, Any]) -> None:
        self.tables = {name: _read(folder / f"{name}.csv") for name in plan["tables"]}
        self.parents = {name: table.get("parent") for name, table in plan["tables"].items()}
        self.keys = {name: table.get("key") for name, table in plan["tables"].items()}
        self.links = {
            name: table.get("link") or self.keys.get(str(table.get("parent"))) for name, table in plan["tables"].items()
        }
        self.known = {name: sorted(_known(table)) for name, table in plan["tables"].items()}
        self.root = next(name for name, parent in self.parents.items() if parent is None)
        self.rows = {
            name: {row[self.keys[name]]: row for row in rows} for name, rows in self.tables.items() if self.keys[name]
        }
        self.hanging: dict[tuple[str, str], Rows] = defaultdict(list)
        for name, parent in self.parents.items():
            for row in self.tables[name] if parent is not None else ():
                self.hanging[name, row[self.links[name]]].append(row)

    def dangling(self) -> int:
        """Rows whose row above is not there."""
        return sum(
            row[self.links[name]] not in self.rows[parent]
            for name, parent in self.parents.items()
            if parent is not None
            for row in self.tables[name]
        )

    def cells(self, name: str, row: Mapping[str, str]) -> tuple[str, ...]:
        return (name, *(row[column] for column in self.known[name] if column in row))

    def path(self, name: str, row: Mapping[str, str]) -> tuple[Any, ...]:
        parent = self.parents[name]
        own = (self.cells(name, row),)
        return own if parent is None else own + self.path(parent, self.above(name, row))

    def above(self, name: str, row: Mapping[str, str]) -> dict[str, str]:
        return self.rows[self.parents[name]][row[self.links[name]]]

    def person(self, name: str, row: Mapping[str, str]) -> str:
        return (
            row[self.keys[name]]
            if self.parents[name] is None
            else self.person(self.parents[name], self.above(name, row))
        )

    def branch(self, name: str, row: Mapping[str, str]) -> tuple[Any, ...]:
        """A row with all that hangs on it."""
        lower = [
            self.branch(other, hanging)
            for other, parent in self.parents.items()
            if parent == name
            for hanging in self.hanging[other, row[self.keys[name]]]
        ]
        return (self.cells(name, row), *sorted(lower))

    def all_records(self) -> int:
        return min(Counter(self.branch(self.root, row) for row in self.tables[self.root]).values())

    def one_record(self) -> int:
        persons = defaultdict(set)
        for name, rows in self.tables.items():
            for row in rows:
                persons[self.path(name, row)].add(self.person(name, row))
        return min(map(len, persons.values()))

    def some_records(self, m: int) -> int:
        """Any m records: a person's own, and those right below, each with all that hangs on it."""
        own = defaultdict(list)
        for row in self.tables[self.root]:
            own[row[self.keys[self.root]]].append((self.cells(self.root, row),))
        for name, parent in self.parents.items():
            if parent == self.root:
                for row in self.tables[name]:
                    mine = self.cells(self.root, self.above(name, row))
                    own[self.person(name, row)].append((mine, self.branch(name, row)))
        candidates: Counter[Any] = Counter()
        for records in own.values():
            records.sort()
            sizes = range(1, min(m, len(records)) + 1)
            candidates.update({some for size in sizes for some in combinations(records, size)})
        return min(candidates.values())

    def households(self) -> int:
        """Among how many homes anybody's is, by the records of all who live there."""
        homes = defaultdict(list)
        for row in self.tables[self.root]:
            homes[row["home"]].append(self.branch(self.root, row))
        return min(Counter(tuple(sorted(own)) for own in homes.values()).values())

    def represented(self) -> int:
        """The fewest values of an illness that persons of one profile can stand for, one each, in any table."""
        profile = {row[self.keys[self.root]]: self.branch(self.root, row) for row in self.tables[self.root]}
        fewest = []
        for name, rows in self.tables.items():
            classes: dict[Any, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
            for row in rows:
                person = self.person(name, row)
                classes[profile[person]][person].add(row["ill"])
            fewest += [_matched(list(persons.values())) for persons in classes.values()]
        return min(fewest)

    def fewest(self, knowing: Any) -> int:
        if knowing in (None, "all records"):
            return self.all_records()
        return self.one_record() if knowing in ("one record", 1) else self.some_records(knowing)


def _matched(sets: list[set[str]]) -> int:
    """The largest number of values that sets can stand for, one each; tried in all ways that matter."""
    values = sorted(set().union(*sets))
    for size in range(len(values), 0, -1):
        for chosen in combinations(values, size):
            if all(  # Hall: any of them are in at least as many sets
                sum(bool(own & set(some)) for own in sets) >= len(some)
                for number in range(1, size + 1)
                for some in combinations(chosen, number)
            ):
                return size
    return 0


def _known(table: Mapping[str, Any]) -> Iterator[str]:
    for name, column in table["columns"].items():
        if (column if isinstance(column, str) else column["role"]) == "quasi-identifier":
            yield name


def _read(path: Path) -> Rows:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def attack(
    parents: Mapping[str, str | None], tables: Mapping[str, pl.DataFrame], plan: dict[str, Any], out: Path
) -> None:
    """Recount a release from its files, and look for what must not be in them."""
    joiner, required = Joiner(out / "release", plan), plan["requirements"][0]
    assert joiner.dangling() == 0
    assert joiner.fewest(required.get("knowing")) >= required["k"], "somebody stands among fewer"
    for further in plan["requirements"][1:]:
        if further.get("unit") == "household" and further.get("knowing") in (None, "all records"):
            assert joiner.households() >= further["k"], "a home stands among fewer"
        if further["privacy"] == "l-diversity" and further["knowing"] == "all records":
            assert joiner.represented() >= further["l"], "some persons stand for fewer values"
    for name, rows in joiner.tables.items():
        assert set(joiner.rows[name]) == {str(n + 1) for n in range(len(rows))}, "keys from 1, of what is released"
    text = "".join(p.read_text() for p in (out / "release").rglob("*") if p.is_file())
    assert "KEY" not in text
    shifts = _shifts(joiner, tables, out)
    assert all(len(days) == 1 for days in shifts.values()), "one shift a person, in all tables"


def _shifts(joiner: Joiner, tables: Mapping[str, pl.DataFrame], out: Path) -> dict[str, set[int]]:
    """The days by which the dates of each person moved, by the rows that the private folder has."""
    shifts = defaultdict(set)
    for name, rows in joiner.tables.items():
        places = pl.read_parquet(out / "private" / name / "partition.parquet")["row"].to_list()
        for row, place in zip(rows, places, strict=True):
            moved = date.fromisoformat(row["day"]) - tables[name]["day"][place]
            shifts[joiner.person(name, row)].add(moved.days)
    return shifts


def tried(seed: int, folder: Path) -> str:
    """The outcome of one random case: proved, or refused with nothing written."""
    rng = np.random.default_rng(seed)
    parents, tables = random_tables(rng)
    plan = random_plan(parents, tables, rng)
    out = folder / f"out-{seed}"
    try:
        shoal.protect(tables, plan, out, seed=seed)
    except Refused:
        assert not list(folder.glob(f"*out-{seed}*")), "a refused release writes nothing"
        return "refused"
    attack(parents, tables, plan, out)
    further = "".join(sorted(f", {one.get('unit', one['privacy'])}" for one in plan["requirements"][1:]))
    return f"proved, {plan['requirements'][0].get('knowing', 'all records by default')}{further}"


@pytest.fixture
def without_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are drawn elsewhere; a page a table would be most of the time."""
    monkeypatch.setattr(publish, "page", lambda content: "")


@pytest.mark.usefixtures("without_pages")
def test_nobody_is_among_fewer_than_k(tmp_path: Path) -> None:
    cases = by_night(6, 300)
    outcomes = Counter(tried(seed, tmp_path) for seed in range(cases))
    assert sum(count for outcome, count in outcomes.items() if outcome != "refused") >= cases / 2, outcomes
    assert sum(count for outcome, count in outcomes.items() if "household" in outcome or "l-div" in outcome), outcomes


def made_up(seed: int, folder: Path) -> float:
    """Persons made up in two copies, recounted from the files: who stands in any of them as in the original."""
    rng = np.random.default_rng(seed)
    parents, tables = random_tables(rng)
    described = random_plan(parents, tables, rng)["tables"]
    of_tables = {name: {**table, "steps": [], "accept": []} for name, table in described.items()}
    for table in of_tables.values():
        table["columns"] = {name: "identifier" if name == "home" else of for name, of in table["columns"].items()}
    plan = {
        "tables": of_tables,
        "synthesis": {"replace": "cart"},
        "requirements": [{"risk": "unique-exact-matches", "at most": 1}],
        "output": {"copies": 2},
    }
    before, out = folder / f"before-{seed}", folder / f"made-{seed}"
    before.mkdir()
    for name, table in tables.items():
        table.write_csv(before / f"{name}.csv")
    release = shoal.protect(before, plan, out, seed=seed, unproved=True)
    original, *copies = (Joiner(place, plan) for place in (before, *sorted((out / "release/copies").iterdir())))
    for joiner in (original, *copies):
        joiner.known = {name: [*columns, "ill"] for name, columns in joiner.known.items()}
    people = [Counter(j.branch(j.root, row) for row in j.tables[j.root]) for j in (original, *copies)]
    alone = {person for person, count in people[0].items() if count == 1}
    given = {person for copy in people[1:] for person in copy} & alone
    assert [joiner.dangling() for joiner in copies] == [0, 0]
    assert "KEY" not in "".join(p.read_text() for p in (out / "release").rglob("*") if p.is_file())
    assert release.evidence.verdicts[1].achieved == pytest.approx(len(given) / max(len(alone), 1))
    return len(given) / max(len(alone), 1)


@pytest.mark.usefixtures("without_pages")
def test_whom_copies_give_back_is_recounted(tmp_path: Path) -> None:
    assert max(made_up(seed, tmp_path) for seed in range(by_night(1, 60))) > 0


def hospital_plan() -> dict[str, Any]:
    """Birth in groups, diagnoses by chapter, the first two stays with one value each, all dates by one shift."""
    shift = {"mask": "shift-dates", "most": 60, "weeks": True}
    diagnosis = {"role": "quasi-identifier", "hierarchy": {"nested": DIAGNOSES}}
    first_two = {"mask": "truncate-records", "most": 2, "keep": "first", "order": "admission"}
    return {
        "tables": {
            "patients": {
                "key": "patient",
                "columns": {
                    "household": "identifier",
                    "sex": "quasi-identifier",
                    "area": "identifier",
                    "born": {"role": "quasi-identifier", "decimals": 0},
                    "died": {"role": "other", "missing": "keep"},
                },
                "steps": [
                    {**shift, "columns": ["died"]},
                    {"partition": "mdav", "k": 120, "columns": ["born"], "replace": "centroid"},
                ],
                "accept": ["died"],
            },
            "stays": {
                "key": "stay",
                "parent": "patients",
                "columns": {"admission": "other", "discharge": "other", "diagnosis": diagnosis},
                "steps": [
                    {**shift, "columns": ["admission", "discharge"]},
                    first_two,
                    {"mask": "generalise", "columns": ["diagnosis"], "k": 100},
                ],
                "accept": ["admission", "discharge"],
            },
            "labs": {
                "parent": "stays",
                "columns": {"taken": "other", "test": "other", "value": "confidential"},
                "steps": [{**shift, "columns": ["taken"]}, {"mask": "truncate-records", "most": 1}],
                "accept": ["taken"],
            },
        },
        "requirements": [{"privacy": "k-anonymity", "k": 5}],
    }


@pytest.mark.usefixtures("without_pages")
def test_a_hospital_whose_patients_come_again(tmp_path: Path) -> None:
    tables, plan = shoal.example_tables(n=600, seed=1), hospital_plan()
    with pytest.raises(Refused, match=r"of 600 persons in 1,\d\d\d records are alike with fewer than 4 others"):
        shoal.protect(tables, plan, seed=1)
    out = shoal.protect(tables, {**plan, "suppress_persons": 0.25}, seed=1).write(tmp_path / "out")
    joiner = Joiner(out / "release", plan)
    assert joiner.dangling() == 0
    assert joiner.all_records() >= 5
    assert len(joiner.tables["patients"]) >= 450
    original = {
        stay: (admission, discharge, patient)
        for stay, patient, admission, discharge in tables["stays"]
        .select("stay", "patient", "admission", "discharge")
        .rows()
    }
    rows = pl.read_parquet(out / "private/stays/partition.parquet")["row"].to_list()
    died = dict(tables["patients"].select("patient", "died").rows())
    for row, place in zip(joiner.tables["stays"], rows, strict=True):
        admission, discharge, patient = original[tables["stays"]["stay"][place]]
        shift = date.fromisoformat(row["admission"]) - admission
        assert date.fromisoformat(row["discharge"]) - discharge == shift
        if died[patient] is not None:
            assert date.fromisoformat(joiner.above("stays", row)["died"]) - died[patient] == shift, "in every table"


@pytest.mark.usefixtures("without_pages")
def test_profiles_made_alike_in_the_example(tmp_path: Path) -> None:
    """The plan that goes with the invented hospital: nobody is left out, and nobody found."""
    out = shoal.protect(shoal.example_tables(n=600, seed=1), TABLES_PLAN, seed=1).write(tmp_path / "out")
    joiner = Joiner(out / "release", TABLES_PLAN)
    assert joiner.dangling() == 0
    assert len(joiner.tables["patients"]) == 600
    assert min(joiner.all_records(), joiner.one_record(), joiner.some_records(2)) >= 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=int)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    publish.page = lambda content: ""  # type: ignore[assignment]
    outcomes: Counter[str] = Counter()
    for case in range(asked.cases):
        with tempfile.TemporaryDirectory() as folder:
            try:
                outcomes[tried(asked.seed + case, Path(folder))] += 1
            except Exception:
                sys.stderr.write(f"seed {asked.seed + case}\n")
                raise
    sys.stdout.write("".join(f"{count:6,} {outcome}\n" for outcome, count in sorted(outcomes.items())))


if __name__ == "__main__":
    main()
