"""Runs side by side: no figure is best among runs that released different things."""

from typing import Any

from shoal.studio.comparing import side_by_side
from shoal.studio.session import StudioRun


def run(number: int, released: bool = True, **roles: str) -> StudioRun:
    columns = [{"name": name, "role": role, "original": None} for name, role in roles.items()]
    result: Any = {"requirements": [], "measures": [], "reached": [], "columns": columns, "records": 9}
    return StudioRun(number=number, text=f"k: {number}\n", released=released, result=result)


def test_runs_that_release_other_columns_or_roles_are_not_alike() -> None:
    same = [run(1, age="quasi-identifier"), run(2, age="quasi-identifier")]
    assert side_by_side(same)["alike"]
    assert not side_by_side([*same, run(3, age="other")])["alike"]
    assert not side_by_side([*same, run(3, age="quasi-identifier", sex="other")])["alike"]
    assert side_by_side([*same, run(3, released=False)])["alike"]
    assert side_by_side(same)["differences"] == [{"from": 1, "to": 2, "lines": ["-k: 1", "+k: 2"]}]
