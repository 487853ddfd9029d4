"""What a run publishes of its steps: bounds hold for the table that came in, and for none that others shaped."""

from typing import Any

import polars as pl
import pytest

import shoal
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
