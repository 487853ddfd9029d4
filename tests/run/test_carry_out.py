"""What a run publishes of its steps: bounds hold for the table that came in, and for none that others shaped."""

from typing import Any

import polars as pl
import pytest

import shoal
from shoal.vocabulary.errors import Refused
from shoal.vocabulary.facts import Band, public_form

DROP = {"mask": "suppress-records", "k": 2, "limit": 0.5, "columns": ["town"]}
FRAME = pl.DataFrame({"town": ["a"] * 60 + ["b"] * 39 + ["c"], "pay": [float(i % 7) for i in range(100)]})
ROLES: dict[str, Any] = {"town": "quasi-identifier", "pay": "confidential"}


def banded(frame: pl.DataFrame, roles: dict[str, Any], *steps: dict[str, Any], **sections: Any) -> set[str]:
    """The labels of all that is published in bands of the last step."""
    release = shoal.protect(frame, {"columns": roles, "steps": list(steps), **sections}, seed=1)
    account = next(a for a in release.account.steps if a.place == len(steps) - 1)
    assert account.facts
    return {label for label, form in public_form(account.facts).items() if isinstance(form, Band)}


def test_the_first_step_of_a_complete_table_bounds_its_facts() -> None:
    assert banded(FRAME, ROLES, DROP) == {"records dropped", "share"}


@pytest.mark.parametrize(
    "before", [{"mask": "noise", "columns": ["pay"], "variance": 0.1}, {"mask": "pram", "columns": ["town"]}]
)
def test_a_later_step_bounds_nothing(before: dict[str, Any]) -> None:
    """One record more may have changed any number of those that come in."""
    assert banded(FRAME, ROLES, before, DROP) == set()


def test_nor_does_a_step_after_cells_were_filled_in_from_other_records() -> None:
    lacking = FRAME.with_columns(pay=pl.when(pl.int_range(pl.len()) > 3).then("pay"))
    roles = ROLES | {"pay": {"role": "confidential", "missing": "impute"}}
    assert banded(lacking, roles, DROP) == set()


def test_nor_does_a_step_after_records_were_repaired() -> None:
    assert banded(FRAME, ROLES, DROP, constraints={"rules": ["pay <= 5"], "broken_rules": "repair"}) == set()


KEEP = {"role": "quasi-identifier", "missing": "keep"}
TOWNS = {"Spain": ["Madrid", "Vigo"], "France": ["Lyon", "Nice"]}


def test_a_run_is_judged_on_what_its_own_rules_fill_in() -> None:
    """No gross is released; net and tax, which stay, add up to it, and to another one for everybody."""
    frame = pl.DataFrame({"net": [10.0, 20, 30, 40], "tax": [1.0, 2, 3, 4], "gross": [None] * 4})
    plan = {
        "columns": {"net": "other", "tax": "other", "gross": {**KEEP, "level": "continuous"}},
        "accept": ["net", "tax"],
        "requirements": [{"privacy": "k-anonymity", "k": 4}],
    }
    assert shoal.protect(frame.cast(pl.Float64), plan, seed=1).evidence.holds
    with pytest.raises(Refused, match=r"gives away 4 missing .* of 'gross', by the rules"):
        shoal.protect(frame.cast(pl.Float64), {**plan, "constraints": ["net + tax == gross"]}, seed=1)


def test_a_run_is_judged_on_what_its_hierarchies_narrow_down() -> None:
    """Ten homes in `Madrid | Lyon` and Spain, one in `Madrid | Lyon` and France: that one alone lives in Lyon."""
    towns = ["Madrid", "Vigo"] * 10 + ["Madrid", "Lyon"] + ["Nice", "Lyon"] * 10
    groups = {"Madrid | Lyon": ["Madrid"], "Spain": ["Vigo"], "France": ["Lyon"]}
    frame = pl.DataFrame({"home": [i // 2 for i in range(42)], "town": towns})
    town = {**KEEP, "level": "nominal"}
    plan = {
        "columns": {"home": "household", "town": town},
        "steps": [{"mask": "recode", "columns": ["town"], "groups": groups}],
        "requirements": [{"privacy": "k-anonymity", "k": 10}],
    }
    assert shoal.protect(frame, plan, seed=1).evidence.holds
    with pytest.raises(Refused, match="gives away 32 missing or generalised cells of 'town'"):
        shoal.protect(
            frame, {**plan, "columns": {"home": "household", "town": {**town, "hierarchy": {"nested": TOWNS}}}}, seed=1
        )
