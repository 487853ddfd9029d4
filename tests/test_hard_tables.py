"""Every measure on tables that are small, constant, empty of values, or cut down: a figure, or a reason."""

import json
from typing import Any

import numpy as np
import pytest

from by_night import by_turns
from shoal.judges.table_pair import TablePair
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.registry import Entry, registered

MEASURES = registered("risk") + registered("utility")
PARAMETERS: dict[str, dict[str, Any]] = {"train-test": {"target": "wage"}}


def table(n: int, kind: str, seed: int = 71) -> Records:
    """Two continuous and two categorical columns with a weight and households."""
    rng = np.random.default_rng(seed)
    number = {"constant": np.full(n, 3.0), "missing": np.full(n, np.nan)}.get(kind, rng.lognormal(size=n))
    wage = {"constant": np.full(n, 1e8), "missing": np.full(n, np.nan)}.get(kind, rng.lognormal(10, 1, n))
    letter = {"constant": np.zeros(n, dtype=np.int32), "missing": np.full(n, -1, dtype=np.int32)}.get(
        kind, rng.integers(0, 3, n).astype(np.int32)
    )
    return Records.of(
        [
            Variable(name="age", role="quasi-identifier", level="continuous", values=number),
            Variable(name="area", role="quasi-identifier", level="nominal", values=letter, categories=("a", "b", "c")),
            Variable(name="wage", role="confidential", level="continuous", values=wage),
            Variable(
                name="ill", role="confidential", level="nominal", values=letter[::-1].copy(), categories=("a", "b", "c")
            ),
            Variable(name="w", role="weight", level="continuous", values=np.full(n, 2.5)),
            Variable(
                name="home",
                role="household",
                level="nominal",
                values=np.arange(n, dtype=np.int32) // 2,
                categories=tuple(range(n // 2 + 1)),
            ),
        ]
    )


PAIRS = {
    "no record": (table(0, ""), table(0, "", 72)),
    "one record": (table(1, ""), table(1, "", 72)),
    "two records": (table(2, ""), table(2, "", 72)),
    "constant": (table(30, "constant"), table(30, "constant", 72)),
    "became constant": (table(30, ""), table(30, "constant", 72)),
    "was constant": (table(30, "constant"), table(30, "", 72)),
    "all missing": (table(30, "missing"), table(30, "missing", 72)),
    "became missing": (table(30, ""), table(30, "missing", 72)),
    "nobody left": (table(30, ""), table(0, "", 72)),
    "others": (table(30, ""), table(45, "", 72)),
    "one column": (table(30, "").select(["area"]), table(30, "", 72).select(["area"])),
    "no common column": (table(30, "").select(["area", "age"]), table(30, "", 72).select(["wage"])),
}


@pytest.mark.parametrize(
    ("entry", "pair"),
    [(entry, pair) for turn, entry in enumerate(MEASURES) for pair in by_turns(PAIRS, turn, 2)],
    ids=lambda it: it if isinstance(it, str) else f"{it.kind}-{it.name}",
)
def test_a_figure_or_a_reason(entry: Entry, pair: str) -> None:
    original, released = PAIRS[pair]
    if entry.name == "train-test" and ("wage" not in original or "wage" not in released):
        pytest.skip("a target that is not there is refused")
    parameters = dict(PARAMETERS.get(entry.name, entry.example))
    if "holdout" in entry.parameters:
        parameters["holdout"] = table(20, "")
    if "others" in entry.parameters:
        parameters["others"] = (released,)
    part = Partition(labels=np.arange(len(released)) // 3) if len(released) else None
    finding = entry.cls(**parameters).finding_on(TablePair.of(original, released, part), np.random.default_rng(0))
    json.dumps(dict(finding.details), allow_nan=False)
    if finding.value is None:
        assert len(finding.reason) > 20
    else:
        low, high = finding.limits
        assert np.isfinite(finding.value)
        assert low - 1e-12 <= finding.value <= high + 1e-12
        assert finding.sentence
