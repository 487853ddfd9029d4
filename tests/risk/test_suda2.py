import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal.risk.suda2 import SUDA2, dis_score
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import ParameterError

FRAME = pd.DataFrame({"sex": ["f", "f", "m", "m", "f"], "area": [1, 2, 1, -999, 2]})
ROLES = {name: {"role": "quasi-identifier", "level": "nominal", "missing": "keep"} for name in FRAME}


def measure(frame, **parameters):
    table = Microdata.of(frame, ROLES).records
    return SUDA2(**parameters).measure(table, table)


def test_by_hand():
    # (f, 1) and (m, 1) are unique by both columns only, score 0! = 1; (m, -999) by its area alone, score 1! = 1:
    # -999 is an area like others.
    finding = measure(FRAME)
    assert finding.by_record["score"].tolist() == [1, 0, 1, 1, 0]
    assert finding.value == 3 / 5
    assert finding.details["minimal sample uniques by size"] == {"1": 1, "2": 2}
    assert finding.details["contribution of columns in percent"] == pytest.approx({"sex": 200 / 3, "area": 100})
    categories = finding.details["contribution of categories in percent"]
    assert dict(categories["area"]) == pytest.approx({1: 200 / 3, -999: 100 / 3})


def test_supersets_by_hand():
    # d = 2: a set of one column has one larger set, and there are two sets of one column: 1/2; the full set scores 0.
    finding = measure(FRAME, weight="supersets")
    assert finding.by_record["score"].tolist() == [0, 0, 0, 1 / 2, 0]
    assert finding.value == 3 / 5
    assert finding.details["contribution of columns in percent"] == {"sex": 0, "area": 100}
    assert finding.details["contribution of categories in percent"] == {"sex": [], "area": [(-999, 100)]}


def test_dis():
    finding = measure(FRAME, sampling_fraction=0.1)
    # d = 2: Q = 1.3; three scores of 1, so A = 3; one pair of records (f, 2), so P = 2.
    expected = 1 / (1 + 2 * 0.9 / (0.1 * 3))
    np.testing.assert_allclose(finding.record_risk, [expected, 0, expected, expected, 0])
    assert measure(FRAME).details["highest DIS"] is None
    assert "sampling fraction" in measure(FRAME).details["no DIS"]


def test_dis_from_weights():
    table = Microdata.of(FRAME.assign(w=10.0), {**ROLES, "w": "weight"}).records
    np.testing.assert_allclose(
        SUDA2().measure(table, table).record_risk, measure(FRAME, sampling_fraction=0.1).record_risk
    )


def test_dis_without_pairs_is_sure():
    assert dis_score(np.array([6.0, 0]), 0, 0.01, 3).tolist() == [1, 0]


def test_missing_is_a_value_of_its_own():
    finding = measure(FRAME.assign(sex=["f", None, "m", "m", "f"]))
    assert (
        finding.by_record["score"].tolist()
        == measure(FRAME.assign(sex=["f", "x", "m", "m", "f"])).by_record["score"].tolist()
    )


def test_kinds_of_frame_and_character_keys():
    text = FRAME.astype(str)
    for kind in (text, pl.from_pandas(text), pa.Table.from_pandas(text), text.sample(frac=1, random_state=2)):
        assert sorted(measure(kind).by_record["score"]) == [0, 0, 1, 1, 1]


def test_size_limit():
    assert measure(FRAME, max_size=1).by_record["score"].tolist() == [0, 0, 0, 1, 0]
    with pytest.raises(ParameterError, match="suda2: max_size must be"):
        SUDA2(max_size=0)
    with pytest.raises(ParameterError, match="suda2: sampling_fraction must be"):
        SUDA2(sampling_fraction=1.0)


def test_nothing_to_judge():
    table = Microdata.of(FRAME, ROLES).records
    assert SUDA2().measure(table, table.without(["sex", "area"])).value is None
    assert SUDA2().measure(table, table.take(np.arange(0))).value is None
    assert "single record" in SUDA2().measure(table, table.take(np.arange(1))).reason
