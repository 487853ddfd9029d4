"""How many records share their quasi-identifiers, by hand; and how far one record can move the counts."""

from itertools import product

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.judges.class_profile import SMALLEST, ClassProfile
from shoal.table.records import Records
from shoal.vocabulary.facts import Band, Count

ROLES = {"a": {"role": "quasi-identifier", "level": "nominal", "missing": "keep"}}


def records(cells: list[str | None]) -> Records:
    return shoal.Microdata.of(pl.DataFrame({"a": cells}, schema={"a": pl.String}), ROLES).records


def test_by_hand() -> None:
    profile = ClassProfile.of(records(["x"] * 12 + ["y"] * 4 + ["z", "z", "w", None]))
    assert profile is not None
    assert (profile.records, profile.smallest) == (20, 1)
    assert profile.fewer_than == {2: 2, 3: 4, 5: 8}
    assert [(one.low, one.high, one.records) for one in profile.sizes] == [
        (1, 1, 2),
        (2, 2, 2),
        (4, 4, 4),
        (10, 19, 12),
    ]
    assert sum(one.records for one in profile.sizes) == profile.records


def test_the_reading_of_missing_cells() -> None:
    """Read as any value the empty cell matches all 20, and each of them matches it."""
    profile = ClassProfile.of(records(["x"] * 12 + ["y"] * 4 + ["z", "z", "w", None]), "wildcard")
    assert profile is not None
    assert profile.fewer_than == {2: 0, 3: 1, 5: 3}
    assert profile.sizes[-1].low == 20


@pytest.mark.parametrize("frame", [pl.DataFrame({"a": []}, schema={"a": pl.String}), pl.DataFrame({"a": ["x"]})])
def test_without_records_or_quasi_identifiers_there_is_none(frame: pl.DataFrame) -> None:
    roles = ROLES if not len(frame) else {"a": "other"}
    assert ClassProfile.of(shoal.Microdata.of(frame, roles).records) is None


def test_no_record_moves_a_count_further_than_its_influence() -> None:
    """Every table of up to six records of three categories, and all that replacing or removing a record makes of it."""
    reached = dict.fromkeys(SMALLEST, 0)
    for n in range(2, 7):
        for cells in product("xyz", repeat=n):
            before = _below(cells)
            neighbours = [cells[1:], *((other, *cells[1:]) for other in "xyz")]
            for after in map(_below, neighbours):
                for k in SMALLEST:
                    reached[k] = max(reached[k], abs(before[k] - after[k]))
    violations = ClassProfile.of(records(list("xxyz"))).violations()  # type: ignore[union-attr]
    influence = {int(k): count.influence for k, count in violations.columns.items()}
    assert all(reached[k] <= influence[k] for k in SMALLEST)
    assert reached[3] == influence[3]  # and not less: it is the least that holds


def _below(cells: tuple[str, ...]) -> dict[int, int]:
    sizes = np.array([cells.count(cell) for cell in cells])
    return {k: int((sizes < k).sum()) for k in SMALLEST}


def test_the_public_form_is_a_band_and_none_where_one_record_may_stand_for_any() -> None:
    cells: list[str | None] = [str(i) for i in range(700)] + ["x"] * 300
    exact = ClassProfile.of(records(cells)).violations()  # type: ignore[union-attr]
    assert exact.private() == {"2": 700, "3": 700, "5": 700}
    assert exact.public() == {k: Band(at_most=1000.0, unit="records") for k in ("2", "3", "5")}
    wildcard = ClassProfile.of(records(cells), "wildcard").violations()  # type: ignore[union-attr]
    assert wildcard.public() is None
    assert isinstance(wildcard.columns["2"], Count)
    assert ClassProfile.of(records(cells)).violations(imputed=True).public() is None  # type: ignore[union-attr]
