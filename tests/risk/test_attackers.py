"""Prosecutor, journalist and marketer."""

import numpy as np
import pandas as pd
import pytest

from shoal.data.microdata import Microdata
from shoal.errors import DataError
from shoal.risk.journalist import Journalist
from shoal.risk.marketer import Marketer
from shoal.risk.prosecutor import Prosecutor

# Classes: (f, 1) twice with weights 3 and 5; (m, 1) once, weight 2; (m, 2) three times, weights 1, 1, 0.5.
FRAME = pd.DataFrame(
    {"sex": ["f", "f", "m", "m", "m", "m"], "area": ["1", "1", "1", "2", "2", "2"], "w": [3.0, 5, 2, 1, 1, 0.5]}
)
ROLES = {"sex": "quasi-identifier", "area": "quasi-identifier", "w": "weight"}


def records(frame=FRAME, **roles):
    return Microdata.of(frame, {**ROLES, **roles}).records


def test_prosecutor_by_hand():
    found = Prosecutor(threshold=0.4).measure(records(), records())
    assert found.value == 1
    assert found.details["mean"] == pytest.approx(3 / 6)  # classes over records
    assert found.details["share above threshold"] == pytest.approx(3 / 6)
    assert found.details["share unique"] == pytest.approx(1 / 6)
    np.testing.assert_allclose(found.record_risk, [1 / 2, 1 / 2, 1, 1 / 3, 1 / 3, 1 / 3])


def test_journalist_by_hand():
    # Population classes 8, 2 and max(2.5, 3) = 3: weights may not make a class smaller than it is.
    found = Journalist().measure(records(), records())
    assert found.value == pytest.approx(1 / 2)
    assert found.details["mean"] == pytest.approx((2 / 8 + 1 / 2 + 3 / 3) / 6)


def test_marketer_by_hand():
    assert Marketer().measure(records(), records()).value == pytest.approx((2 / 8 + 1 / 2 + 3 / 3) / 6)
    unweighted = records(w="other")
    assert Marketer().measure(unweighted, unweighted).value == pytest.approx(3 / 6)


def test_no_weights_no_journalist_risk():
    unweighted = records(w="other")
    found = Journalist().measure(unweighted, unweighted)
    assert found.value is None
    assert "no sampling weight" in found.reason


def test_a_weight_of_nothing_is_refused():
    with pytest.raises(DataError, match="1 weight of zero or less"):
        records(FRAME.assign(w=[3.0, 5, 0, 1, 1, 1]))


@pytest.mark.parametrize("measure", [Prosecutor(), Journalist(), Marketer()])
def test_index_and_order_of_records_do_not_matter(measure):
    shuffled = FRAME.sample(frac=1, random_state=1)
    assert measure.measure(records(shuffled), records(shuffled)).value == measure.measure(records(), records()).value


def test_a_suppressed_cell_protects_nobody_else():
    frame = FRAME.assign(area=["1", None, "1", "2", "2", "2"])
    table = records(frame, area={"role": "quasi-identifier", "missing": "keep"})
    assert Prosecutor().measure(table, table).record_risk.tolist()[:2] == [1, 1]


@pytest.mark.parametrize("measure", [Prosecutor(), Journalist(), Marketer()])
def test_without_records_or_quasi_identifiers_there_is_no_figure(measure):
    nobody = records().take(np.arange(0))
    assert measure.measure(nobody, nobody).value is None
    bare = records().without(["sex", "area"])
    assert "no quasi-identifier" in measure.measure(bare, bare).reason
