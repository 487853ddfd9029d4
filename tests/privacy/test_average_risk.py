import numpy as np
import pandas as pd
import pytest

import shoal

TABLE = pd.DataFrame({"town": list("aaaabbbc")})  # classes of 4, 3 and 1


def test_by_hand():
    """Three classes of eight records: 3/8. Risks above 1/3: the single record; above 0.3: it and the class of three."""
    assert shoal.AverageRisk(average=0.375).check(TABLE).holds
    verdict = shoal.AverageRisk(average=0.37).check(TABLE)
    assert not verdict.holds and verdict.achieved == 3 / 8
    assert verdict.sentence == "The average risk of a record is 0.375, where 0.37 is allowed."
    assert shoal.AverageRisk(average=1, highest=1 / 3, above=1 / 8).check(TABLE).holds
    assert not shoal.AverageRisk(average=1, highest=1 / 3, above=0.12).check(TABLE).holds
    assert not shoal.AverageRisk(average=1, highest=0.3, above=1 / 8).check(TABLE).holds


def test_it_fails_on_the_smallest_classes():
    """Without the single record it is 2/7, without the class of three too 1/4; above 0.3 lie four records."""
    failing = {
        average: shoal.AverageRisk(average=average).check(TABLE).failing for average in (0.375, 0.3, 2 / 7, 0.25, 0.2)
    }
    assert failing.pop(0.375) is None
    assert {average: int(rows.sum()) for average, rows in failing.items()} == {0.3: 1, 2 / 7: 1, 0.25: 4, 0.2: 8}
    assert failing[0.3].tolist() == [False] * 7 + [True]
    assert shoal.AverageRisk(average=1, highest=0.3).check(TABLE).failing.tolist() == [False] * 4 + [True] * 4


def test_generalisation_keeps_it_on_the_whole_table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.integers(0, 16, 200).astype(str) for name in ("x", "y", "z")})
    widths = shoal.Hierarchy.from_order(range(16), [2, 4, 8])
    spec = {name: {"role": "quasi-identifier", "level": "nominal", "hierarchy": widths} for name in frame}
    table = shoal.Microdata.of(frame, spec)
    model = shoal.AverageRisk(average=0.08, highest=0.25, above=0.05)
    for recoding in ("full-domain", "local"):
        mask = shoal.Generalise(k=1, recoding=recoding, requirements=[model])
        change = mask.apply(table.records, list(frame), np.random.default_rng(0))
        assert model.check(change.records).holds
    free = shoal.Generalise(k=1, recoding="local").apply(table.records, list(frame), np.random.default_rng(0))
    assert not model.check(free.records).holds


def test_it_holds_on_the_table_as_released_and_once_filled_in():
    """Filled in, three homes make one class of six in the town; as released, the blank cells are a class of two."""
    frame = pd.DataFrame({"home": [1, 1, 2, 2, 3, 3], "town": ["A", None, "A", None, "A", "A"]})
    roles = {"home": "household", "town": {"role": "quasi-identifier", "missing": "keep"}}
    released = shoal.Microdata.of(frame, roles)
    verdict = shoal.AverageRisk(average=0.3).check(released)
    assert not verdict.holds and verdict.achieved == 1 / 3
    assert shoal.AverageRisk(average=1 / 3).check(released).holds


def test_a_missing_cell_may_match_every_value():
    """The blank one may be of either town, so that it stands for all five, and each other record for three."""
    town = {"role": "quasi-identifier", "missing": "keep"}
    frame = shoal.Microdata.of(pd.DataFrame({"town": ["a", "a", "b", "b", None]}), {"town": town})
    risks = {"equal": (2 + 1) / 5, "wildcard": (4 / 3 + 1 / 5) / 5, "nothing": (4 / 2 + 1 / 5) / 5}
    for missing, risk in risks.items():
        model = shoal.AverageRisk(average=risk, missing=missing)
        verdict = model.check(frame)
        assert verdict.holds and verdict.achieved == pytest.approx(risk)
        less = shoal.AverageRisk(average=0.99 * risk, missing=missing).check(frame)
        assert not less.holds and less.failing.any()
    assert shoal.AverageRisk(average=1, missing="wildcard").check(frame).requirement == (
        "average risk 1, a missing cell matching every value"
    )
