"""Every method and every section of a plan, on the same table from every source, and on it in parts.

A table that is held whole is released with the same bytes from a data frame, a file, a folder and DuckDB, and none of
these refuses a plan that another carries out. So is one in parts (`exact: false`), however many processes work on it,
and no plan is refused there that is carried out on the whole table, but for those of `BY_NATURE`. The plans are made of
the registry: each method by its example and with each word that a parameter may be answered with.

`python tests/contract/test_every_source.py [PART OF A NAME]` carries them all out and prints a line for each: the
outcome of the table held whole, and in parts. The tests try the bytes of a few; the nightly run tries all.
"""

import hashlib
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import by_turns
from shoal.plan import Plan
from shoal.plan.sections import Output
from shoal.plan.steps import SmallStrata
from shoal.run.parts.admission import needed_at_once, whole_needed
from shoal.table.parts import source as sources
from shoal.table.schema import Missing, Scale
from shoal.vocabulary.errors import ShoalError
from shoal.vocabulary.registry import Entry, registered

duckdb = pytest.importorskip("duckdb")

RECORDS = 160
SEED = 2**70 + 5
SMALL_CHUNK = 50
"""Records of a part."""

DIFFERENT, SAME = "DIFFERENT", "same bytes"

TREE = {"nested": {"acute": ["flu", "gout"], "chronic": ["none"]}}

COLUMNS: dict[str, Any] = {
    "name": "identifier",
    "age": "quasi-identifier",
    "size": "quasi-identifier",
    "sex": "quasi-identifier",
    "income": "confidential",
    "illness": {"role": "confidential", "hierarchy": TREE},
    "*": "identifier",
}

FURTHER: dict[str, Any] = {
    "home": "household",
    "weight": "weight",
    "region": "stratum",
    "school": {"role": "quasi-identifier", "level": "ordinal", "order": ["none", "some", "high"]},
}
"""Columns that only some plans know."""

HOLDOUT, POPULATION, EARLIER, KEY = "holdout.csv", "population.csv", "earlier.csv", "key.txt"

Spec = dict[str, Any]


def table(n: int = RECORDS, seed: int = 7) -> pl.DataFrame:
    """Persons in households, with all their digits."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 70, n)
    homes = np.sort(rng.integers(0, n // 3, n))
    return pl.DataFrame(
        {
            "name": [f"P{i}" for i in rng.permutation(n)],
            "age": age,
            "size": np.round(rng.lognormal(1, 0.5, n), 2),
            "sex": rng.choice(["f", "m"], n),
            "income": np.round(rng.lognormal(3, 1, n) + age, 2),
            "illness": rng.choice(["flu", "gout", "none"], n),
            "home": homes,
            "weight": rng.choice([10.0, 12.5, 20.0], n),
            "region": np.array(["north", "south"])[homes % 2],
            "school": rng.choice(["none", "some", "high"], n),
            "born": pl.Series(2020 - age).cast(pl.String) + "-05-01",
        }
    ).with_columns(pl.col("born").str.to_date())


GROUPS: Spec = {"partition": "mdav", "k": 30, "columns": ["age", "size", "sex"], "replace": "centroid"}
"""A step after which all requirements of the examples hold."""

MASKS: Mapping[str, list[Spec]] = {
    "top-code": [
        {"value": 60, "columns": ["age"]},
        {"value": 60, "replace": "mean", "columns": ["age"]},
        {"quantile": 0.9, "replace": "mean", "together": True},
    ],
    "bottom-code": [{"value": 25, "columns": ["age"]}],
    "recode": [
        {"cuts": [30, 50], "columns": ["age"]},
        {"cuts": [30, 50], "to": "mean", "columns": ["age"]},
        {"width": 10, "columns": ["age"]},
        {"bins": 4, "spacing": "equal-count", "columns": ["age"]},
        {"level": 1, "columns": ["illness"]},
        {"groups": {"ill": ["flu", "gout"]}, "columns": ["illness"]},
        {"rare": 60, "other": "rest", "columns": ["illness"]},
        {"prefix": 1, "columns": ["illness"]},
        {"period": "year", "columns": ["born"]},
    ],
    "noise": [
        *({"kind": kind, "variance": 0.1, "exact": True} for kind in ("uncorrelated", "correlated", "kim", "sullivan")),
        {"kind": "restricted", "variance": 0.1, "bounds": {"age": [0, 99], "size": [0, 99]}},
    ],
    "pram": [
        {"matrix": {"sex": [[0.8, 0.2], [0.3, 0.7]]}, "invariant": False, "columns": ["sex"]},
        {"matrix": {"sex": [[0.8, 0.2], [0.3, 0.7]]}, "columns": ["sex"]},
    ],
    "pseudonymise": [
        {"key": "00112233445566778899aabbccddeeff", "columns": ["name"]},
        {"key": "00112233445566778899aabbccddeeff", "length": 32, "columns": ["name"]},
        {"key_file": KEY, "length": 32, "columns": ["name"]},
    ],
    "sample": [{"size": 90}],
    "generalise": [
        {"k": 3, "recoding": recoding, "columns": ["illness"], **more}
        for recoding in ("full-domain", "local")
        for more in (
            {},
            {"suppression": 0.1},
            {"labels": "tight"},
            {"requirements": [{"privacy": "p-sensitivity", "p": 2}]},
            {"loss": "entropy"},
        )
    ]
    + [{"k": 3, "target": "income", "columns": ["illness"]}],
    "suppress": [
        {"subsets": [{"columns": ["sex"], "k": 5}, {"columns": ["age", "sex"], "k": 3}], "columns": ["age", "sex"]},
        {"k": 3, "limits": {"sex": 0.5}, "columns": ["age", "sex"]},
        {"k": 3, "keep": ["sex"], "columns": ["age", "sex"]},
        {"k": 3, "requirements": [{"privacy": "l-diversity", "l": 2}], "columns": ["sex"]},
    ],
    "suppress-records": [
        {"k": 3, "limit": 1, "requirements": [{"privacy": "l-diversity", "l": 2}], "columns": ["sex"]}
    ],
}
"""What the words of a parameter alone do not say."""

NEED: Mapping[str, Spec] = {
    "closest-record": {"holdout": HOLDOUT},
    "membership-inference": {"holdout": HOLDOUT},
    "density-ratio": {"holdout": HOLDOUT},
    "shadow-models": {"holdout": HOLDOUT, "shadows": 6},
    "intersection": {"others": [EARLIER]},
    "delta-presence": {"population": POPULATION},
    "k-map": {"population": POPULATION},
    "downcoding": {"recoding": "full-domain"},
    "gaussian-mixture": {"groups": 2, "kmeans_starts": 1},
    "latent-class": {"groups": 2, "starts": 2},
    "local-synthesis": {"groups": 2, "starts": 2, "kmeans_starts": 1},
}
"""Parameters without which a judge has no figure, and those with which a search is short."""

OF_OTHERS = {("recode", "period"), ("top-code", "together"), ("bottom-code", "together")}
"""Parameters that do not go with the example; `MASKS` has them."""

KNOWS: Mapping[str, Spec] = {
    "downcoding": {"illness": {"role": "quasi-identifier", "hierarchy": TREE}},
    **{name: {"weight": "weight"} for name in ("journalist", "log-linear-risk", "population-uniques")},
    **{name: {"home": "household"} for name in ("household-risk", "household-uniques")},
}
"""Columns without which a measure has no figure."""

ALIKE: Spec = {
    "columns": {
        "sex": {"role": "quasi-identifier", "hierarchy": {"nested": {"anyone": ["f", "m"]}}},
        "illness": {"role": "confidential", "hierarchy": TREE},
        "*": "identifier",
    },
    "steps": [{"mask": "generalise", "k": RECORDS, "columns": ["sex"]}],
}
"""Sections after which every privacy model holds."""


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A plan, and the columns that lack cells where it is about them."""

    name: str
    sections: Spec
    gaps: tuple[str, ...] = ()


def varied(entry: Entry) -> Iterator[tuple[str, Spec]]:
    """A method as its example has it, and with each word, true and false, that a parameter may be answered with."""
    example = {entry.kind: entry.name, **entry.example, **NEED.get(entry.name, {})}
    yield "", example
    for name, schema in entry.json_schema()["properties"].items():
        alternatives = [schema, *schema.get("anyOf", ())]
        if any("method" in kind.get("properties", ()) for kind in alternatives):
            continue  # the names of methods, each of which is tried by itself
        words = [word for kind in alternatives for word in kind.get("enum", ())]
        words += [True, False] * any(kind.get("type") == "boolean" for kind in alternatives)
        for word in words:
            if word != entry.parameters[name] and (entry.name, name) not in OF_OTHERS:
                yield f" {name}: {word}".lower(), {**example, name: word}


def steps() -> Iterator[tuple[str, list[Spec]]]:
    """Every partition, replacement and mask."""
    for entry in registered("partition"):
        for more, method in varied(entry):
            fuzzy = "fuzzy" in entry.name
            replace = {"replace": "fuzzy-centre" if fuzzy and not more else "centroid"}
            yield f"partition: {entry.name}{more}", [{**method, **replace, "columns": list(of(entry))}]
    for entry in registered("replace"):
        for more, method in varied(entry):
            groups = {"partition": "fuzzy-c-means" if entry.name == "fuzzy-centre" else "mdav", "k": 60}
            method = {"method" if key == "replace" else key: value for key, value in method.items()}
            yield f"replace: {entry.name}{more}", [{**groups, "replace": method, "columns": ["age", "size", "income"]}]
    for entry in registered("mask"):
        for more, method in varied(entry):
            yield f"mask: {entry.name}{more}", [{**method, "columns": list(of(entry))}]
        for number, more in enumerate(MASKS.get(entry.name, ())):
            yield (f"mask: {entry.name}, further {number + 1}", [{"mask": entry.name, "columns": [*of(entry)], **more}])


def of(entry: Entry) -> tuple[str, ...]:
    return entry.example_columns or ("age", "size")


def judged() -> Iterator[tuple[str, Spec]]:
    """Every requirement, measure and bound on one."""
    for entry in registered("privacy"):
        for more, model in varied(entry):
            homes = {"home": "household"} if "household" in more else {}
            columns = {**ALIKE["columns"], **homes}
            yield f"privacy: {entry.name}{more}", {**ALIKE, "columns": columns, "requirements": [model]}
    for kind in ("risk", "utility"):
        for entry in registered(kind):
            low, high = entry.cls.limits
            bound = {"at most": min(high, 1e300)} if entry.cls.better == "lower" else {"at least": max(low, -1e300)}
            for more, measure in varied(entry):
                sections = {"columns": {**COLUMNS, **KNOWS.get(entry.name, {})}}
                yield f"{kind} measure: {entry.name}{more}", {**sections, "measures": [measure]}
                if not more:
                    yield f"{kind} bound: {entry.name}", {**sections, "requirements": [{**measure, **bound}]}


def other_sections() -> Iterator[tuple[str, Spec]]:
    """What a plan may say beside methods."""
    for name, role in FURTHER.items():
        yield f"column: {name}", {"columns": {**COLUMNS, name: role}}
        yield (
            f"column: {name}, suppressed",
            {
                "columns": {**COLUMNS, name: role},
                "steps": [{"mask": "suppress", "k": 3}],
                "requirements": [{"privacy": "k-anonymity", "k": 3}],
            },
        )
    yield "column: hierarchy in groups", {"steps": [{**GROUPS, "columns": ["age", "illness"]}]}
    yield "column: decimals", {"columns": {**COLUMNS, "income": {"role": "confidential", "decimals": 0}}}
    yield "column: released text", {"columns": {**COLUMNS, "name": "other"}}
    yield (
        "column: days",
        {"columns": {**COLUMNS, "born": {"role": "quasi-identifier", "hierarchy": {"dates": ["year"]}}}},
    )
    for scale in get_args(Scale):
        yield f"column: scale {scale}", {"columns": {**COLUMNS, "size": {"role": "quasi-identifier", "scale": scale}}}
    for unit in ("record", "household", "name"):
        yield f"step: unit {unit}", {"columns": {**COLUMNS, "home": "household"}, "steps": [{**GROUPS, "unit": unit}]}
    for word in get_args(SmallStrata):
        columns = {**COLUMNS, "region": "stratum"}
        yield f"step: small_strata {word}", {"columns": columns, "steps": [{**GROUPS, "small_strata": word}]}
    for word in get_args(Output.model_fields["format"].annotation):
        yield f"output: {word}", {"output": {"format": word}}
    yield "output: shuffle false", {"output": {"shuffle": False}}
    yield "output: guard_formulas", {"output": {"guard_formulas": True}}
    model = {"partition": "whole", "columns": ["age", "size", "sex", "income", "illness"], "replace": "cart"}
    yield "output: copies", {"output": {"copies": 2}, "steps": [model]}
    noise = {"mask": "noise", "variance": 0.5, "columns": ["age", "income"]}
    for policy in ("refuse", "report", "repair"):
        rules = {"rules": ["age >= 0", "income - age >= 0"], "broken_rules": policy}
        yield f"constraints: {policy}", {"constraints": rules, "steps": [noise]}
    yield "publish: exact", {"publish": "exact"}
    yield "publish: named", {"publish": ["sse"], "measures": [{"utility": "sse"}]}
    yield "release: about", {"release": {"title": "Invented", "owner": "nobody"}}
    yield "steps: groups, then noise", {"steps": [GROUPS, {"mask": "noise", "variance": 0.1, "columns": ["income"]}]}
    ages = {"mask": "recode", "cuts": [30, 50], "columns": ["age"]}
    blanked = {"mask": "suppress", "k": 3, "columns": ["age", "sex"]}
    yield "steps: recode, then suppress", {"steps": [ages, blanked]}
    yield "steps: suppress, then groups", {"steps": [blanked, {**GROUPS, "columns": ["size"]}]}
    swap = {"mask": "rank-swap", "p": 0.1, "columns": ["income"]}
    yield "steps: generalise, then swap", {"steps": [{"mask": "generalise", "k": 3, "columns": ["illness"]}, swap]}


def plans() -> Iterator[Tried]:
    base = {"columns": COLUMNS, "steps": [GROUPS]}
    for name, listed in steps():
        columns = {**COLUMNS, "name": "other"} if "pseudonymise" in name else COLUMNS
        columns = {**columns, "born": "confidential"} if listed[0].get("columns") == ["born"] else columns
        if "safepub" in name:
            columns = {"illness": {**COLUMNS["illness"], "role": "quasi-identifier"}, "*": "identifier"}
        if "private-m" in name:
            columns = {"age": COLUMNS["age"], "size": COLUMNS["size"], "*": "identifier"}
        if "weighted" in name or "targeted-swap" in name:
            columns = {**columns, "weight": "weight"}
        yield Tried(name=name, sections={"columns": columns, "steps": listed})
    for name, more in (*judged(), *other_sections()):
        yield Tried(name=name, sections={**base, **more})
    for policy in get_args(Missing):
        sections = {"columns": {**COLUMNS, "sex": {"role": "quasi-identifier", "missing": policy}}}
        sections["steps"] = [{**GROUPS, "columns": ["age", "size"]}]
        yield Tried(name=f"missing: {policy}", sections=sections, gaps=("sex",) if policy != "refuse" else ())
    for reading in ("equal", "wildcard", "nothing"):
        kept = {"role": "quasi-identifier", "missing": "keep"}
        step: Spec = {"mask": "suppress", "k": 3, "missing": reading, "columns": ["age", "sex"]}
        sections = {"columns": {**COLUMNS, "age": kept, "sex": kept}, "steps": [step]}
        yield Tried(name=f"missing: keep, suppressed ({reading})", sections=sections, gaps=("age", "sex"))


# -- sources ---------------------------------------------------------------------------------------------------------


def folder_of(frame: pl.DataFrame, place: Path, parts: int) -> Path:
    place.mkdir()
    size = -(-len(frame) // parts)
    for number in range(parts):
        frame[number * size : (number + 1) * size].write_parquet(place / f"part-{number}.parquet")
    return place


def file_of(frame: pl.DataFrame, place: Path) -> Path:
    frame.write_parquet(place.with_suffix(".parquet"))
    return place.with_suffix(".parquet")


Origin = Callable[[pl.DataFrame, Path], Any]

WHOLE: Mapping[str, tuple[Origin, Spec]] = {
    "frame": (lambda frame, _: frame, {}),
    "file": (file_of, {"memory": "1GB"}),
    "folder": (lambda frame, place: folder_of(frame, place, 2), {"memory": "2GB", "workers": 1}),
    "DuckDB": (lambda frame, _: duckdb.from_arrow(frame.to_arrow()), {"memory": "8GB", "workers": 4}),
}
PARTS: Mapping[str, tuple[Origin, Spec]] = {
    "frame": (lambda frame, _: frame, {"workers": 1, "memory": "1GB"}),
    "folder": (lambda frame, place: folder_of(frame, place, 7), {"workers": 2, "memory": "4GB"}),
}


def released(data: Any, tried: Tried, folder: Path, **how: Any) -> str:
    """A hash of every file of the public folder, or why there is none."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "out"
        try:
            plan = Plan.of(tried.sections, folder)
            shoal.protect(data, plan, out, seed=SEED, unproved=True, **how)
        except ShoalError as error:
            return f"{type(error).__name__}: {error}"
        files = sorted(path for path in (out / "release").rglob("*") if path.is_file())
        digest = hashlib.sha256()
        for path in files:
            digest.update(str(path.relative_to(out)).encode() + path.read_bytes())
        return digest.hexdigest()


def from_each(
    tried: Tried, origins: Mapping[str, tuple[Origin, Spec]], frame: pl.DataFrame, folder: Path
) -> dict[str, str]:
    """What is released from each source."""
    with tempfile.TemporaryDirectory() as place:
        return {
            name: released(made(frame, Path(place) / name), tried, folder, **how)
            for name, (made, how) in origins.items()
        }


def both(tried: Tried, folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """What is released of the table held whole, and of it in parts, from each source."""
    return from_each(tried, WHOLE, gaps_in(table(), tried.gaps), folder), parts_of(tried, folder)


def parts_of(tried: Tried, folder: Path) -> dict[str, str]:
    """What is released of the table in parts, from each source."""
    in_parts = replace(tried, sections={**tried.sections, "exact": False})
    return from_each(in_parts, PARTS, gaps_in(table(), tried.gaps), folder)


def gaps_in(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """The table without some cells of some columns."""
    lost = np.random.default_rng(5).random((len(names), len(frame))) < 0.05
    return frame.with_columns(
        pl.when(pl.Series(cells)).then(None).otherwise(pl.col(name)).alias(name) for name, cells in zip(names, lost)
    )


def write_further(folder: Path) -> None:
    """Files that plans name."""
    table(80, 8).write_csv(folder / HOLDOUT)
    pl.concat([table(), table(300, 8)]).write_csv(folder / POPULATION)
    table().write_csv(folder / EARLIER)
    (folder / KEY).write_text("00112233445566778899aabbccddeeff\n")
    (folder / KEY).chmod(0o600)


PLANS = {tried.name: tried for tried in plans()}


def test_every_plan_of_the_registry_is_there() -> None:
    """At least those that the first measurement of what parts refuse was made of."""
    assert len(PLANS) > 249
    for kind in ("partition", "replace", "mask", "privacy", "risk measure", "utility measure", "risk bound"):
        for entry in registered(kind.split()[0]):
            assert f"{kind}: {entry.name}" in PLANS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("named")
    write_further(place)
    return place


WAYS = ("give ", "take ", "leave ", "Leave ", "Set ", "Recode ", "Choose ", "Name ", "name ", "require ", "Say ")
"""What a sentence begins that says what to do; or it lists methods."""


def needed(plan: Plan) -> tuple[list[str], list[str]]:
    """Why the table is held whole for a plan, and why steps gather their columns."""
    gathered = [why for step in plan.steps if (why := needed_at_once(step, plan))]
    return whole_needed(plan), gathered


def test_what_a_plan_needs_at_once_is_said_with_what_needs_less(folder: Path) -> None:
    """So that who has not the memory knows what to do; and most plans need nothing, some columns, and some all."""
    counts = {"nothing": 0, "columns": 0, "the table": 0}
    for tried in PLANS.values():
        whole, gathered = needed(Plan.of(tried.sections, folder))
        counts["the table" if whole else "columns" if gathered else "nothing"] += 1
        for sentence in (*whole, *gathered):
            assert any(way in sentence for way in WAYS) or re.search(r"(work .+|are): .+\.", sentence), sentence
    assert counts["nothing"] > counts["the table"] > counts["columns"] > 50, counts


HERE = ("column: days", "output: xlsx", "missing: category", "utility bound: sse")
"""Plans about which no other test has a table from every source."""

IN_PARTS = (
    *("mask: shuffle", "mask: laplace", "step: unit name", "step: small_strata merge", "column: scale rank"),
    *("constraints: repair", "output: copies", "privacy: delta-presence", "risk bound: linkability"),
)
"""Plans that parts alone cannot carry out."""

BY_NATURE: Mapping[str, str] = {}
"""Plans that are refused in parts and not of the whole table, each with the reason."""


@pytest.mark.parametrize("name", by_turns(HERE, 1, 2))
def test_every_source_gives_the_same_bytes(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.table.parts.source.CHUNK", SMALL_CHUNK)
    for outcomes in both(PLANS[name], folder):
        assert len({*outcomes.values()}) == 1
        assert " " not in outcomes["frame"], outcomes["frame"]


@pytest.mark.parametrize("name", by_turns(IN_PARTS, 0, 2))
def test_every_source_gives_the_same_bytes_in_parts(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.table.parts.source.CHUNK", SMALL_CHUNK)
    outcomes = parts_of(PLANS[name], folder)
    assert any(needed(Plan.of(PLANS[name].sections, folder))) or "scale" in name
    assert len({*outcomes.values()}) == 1
    assert " " not in outcomes["frame"], outcomes["frame"]


# -- by hand ---------------------------------------------------------------------------------------------------------


def main(wanted: str) -> int:
    """A line for each plan; returns whether one source, or parts, refuse one that another carries out, or differ."""
    sources.CHUNK, wrong = SMALL_CHUNK, 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_further(folder)
        for name in filter(lambda name: wanted in name, PLANS):
            whole, parts = (shown(outcomes) for outcomes in both(PLANS[name], folder))
            refused = whole == SAME != parts and BY_NATURE.get(name, "none") not in parts
            wrong += refused or any(text.startswith(DIFFERENT) for text in (whole, parts))
            print(name, whole, parts, sep=" | ", flush=True)
    return int(wrong > 0)


def shown(outcomes: Mapping[str, str]) -> str:
    if len({*outcomes.values()}) > 1:
        return f"{DIFFERENT}: {outcomes}"
    outcome = next(iter(outcomes.values()))
    return outcome if " " in outcome else SAME


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
