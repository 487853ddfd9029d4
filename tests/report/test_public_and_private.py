"""A public and a private report of one release contradict each other in no figure."""

import json
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.report.decision import decision

N = 200
RNG = np.random.default_rng(3)
FRAME = pl.DataFrame(
    {
        "sex": RNG.choice(["f", "m"], N),
        "age": RNG.integers(18, 60, N),
        "area": RNG.choice(list("abcd"), N),
        "income": RNG.lognormal(9, 1, N).round(1),
        "day": [date(2020, 1, 1) + timedelta(days=int(days)) for days in RNG.integers(0, 300, N)],
        "grade": RNG.choice(["low", "mid", "high"], N),
        "crp": [None if lacks else 1.5 for lacks in RNG.random(N) < 0.2],
        "same": ["x"] * N,
    }
)
COLUMNS: dict[str, Any] = dict.fromkeys(("sex", "age", "area"), "quasi-identifier") | {
    "income": "confidential",
    "day": "confidential",
    "grade": {"role": "confidential", "level": "ordinal", "order": ["low", "mid", "high"]},
    "crp": {"role": "confidential", "missing": "keep"},
    "same": "other",
}
MDAV = {"partition": "mdav", "k": 5}
PLANS: dict[str, dict[str, Any]] = {
    "averaged for research": {"for": "research", "steps": [MDAV]},
    "blanked": {
        "steps": [{"mask": "suppress", "k": 4}],
        "requirements": [{"privacy": "k-anonymity", "k": 4, "missing": "wildcard"}],
    },
    "noise, all figures public": {
        "steps": [MDAV, {"mask": "noise", "columns": ["income"], "variance": 0.3}],
        "requirements": [{"privacy": "k-anonymity", "k": 5}, {"risk": "interval-disclosure", "at most": 0.9}],
        "publish": "exact",
    },
    "a sample": {
        "steps": [MDAV, {"mask": "sample", "fraction": 0.5}],
        "requirements": [{"risk": "marketer", "at most": 0.99}],
    },
    "made anew": {
        "steps": [{"partition": "whole", "columns": list(COLUMNS), "replace": "cart"}],
        "requirements": [{"risk": "replicated-uniques", "at most": 0.5}],
    },
}


@pytest.fixture(scope="module", params=PLANS)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    measures = [{"utility": "information-kept"}, {"risk": "interval-disclosure"}, {"risk": "prosecutor"}]
    plan = {"columns": COLUMNS, "accept": ["day"], "measures": measures, **PLANS[request.param]}
    out = shoal.protect(FRAME, plan, seed=1).write(tmp_path_factory.mktemp("both") / "out")
    return [json.loads((out / folder / "evidence.json").read_text()) for folder in ("release", "private")]


def pairs(public: Any, private: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Each figure or band of the public evidence, with its place, and what stands there in the private one."""
    if isinstance(public, dict) and isinstance(private, dict):
        for key in public.keys() & private.keys():
            yield from pairs(public[key], private[key], f"{path}/{key}")
    elif isinstance(public, list) and isinstance(private, list):
        by_name = dict(zip(map(identity, private), private))
        for number, one in enumerate(public):
            name = identity(one) or number
            if isinstance(one, dict) and "low" in one:
                continue  # ranges of a picture, cut by what it shows
            yield from pairs(one, by_name[name] if identity(one) else private[number], f"{path}/{name}")
    elif private is not None and not isinstance(private, (str, dict, list)):
        yield path, public, private


def identity(item: Any) -> Any:
    """The part of an entry that says what it is a figure of."""
    if not isinstance(item, dict):
        return ""
    if "columns" in item:
        return tuple(item["columns"])
    if "share" in item:  # of a distribution: the private one has the original beside the release
        return tuple((key, str(value)) for key, value in sorted(item.items()) if key not in ("share", "coarse"))
    return item.get("name", "")


def test_all_figures_of_both_agree(both: list[dict[str, Any]]) -> None:
    compared = 0
    for path, public, private in pairs(*both):
        if isinstance(public, dict):
            if not path.endswith("/value"):  # the band of a measure may be of another unit, which it names
                assert public.get("at least", private) <= private <= public.get("at most", private), path
            continue
        if isinstance(public, (int, float)):
            compared += 1
            assert public == pytest.approx(private, rel=5e-4, abs=1e-9), path
    assert compared > 50


def test_heads_do_not_contradict_each_other(both: list[dict[str, Any]]) -> None:
    """No loss is a gain, a constant column is not gone, and the highest risk is the highest."""
    public, private = map(decision, both)
    assert public.points[0] == private.points[0]
    for ours, theirs in zip(public.headlines, private.headlines):
        if (ours.label, ours.note) == (theirs.label, theirs.note):
            assert (ours.value, ours.limit, ours.kept) == (theirs.value, theirs.limit, theirs.kept)
        assert not (ours.label == "Loss" and ours.value.startswith("at least"))
    for head in (public, private):
        assert not any("same: gone" in sentence for sentence in head.sentences)
        assert len(set(head.sentences)) == len(head.sentences)
    highest = [s for s in public.sentences if s.startswith("The highest measured risk")]
    assert all("public" in sentence or sentence in private.sentences for sentence in highest)
