"""The prosecutor: who knows that somebody is in the table."""

import numpy as np
import pytest

from risk.test_attackers import FRAME, records
from shoal.risk.prosecutor import Prosecutor


def test_prosecutor_by_hand():
    finding = Prosecutor(threshold=0.4).measure(records(), records())
    assert finding.value == 1
    assert finding.details["mean"] == pytest.approx(3 / 6)  # classes over records
    assert finding.details["share above threshold"] == pytest.approx(3 / 6)
    assert finding.details["share unique"] == pytest.approx(1 / 6)
    np.testing.assert_allclose(finding.record_risk, [1 / 2, 1 / 2, 1, 1 / 3, 1 / 3, 1 / 3])


def test_a_suppressed_cell_protects_nobody_else():
    frame = FRAME.assign(area=["1", None, "1", "2", "2", "2"])
    table = records(frame, area={"role": "quasi-identifier", "missing": "keep"})
    assert Prosecutor().measure(table, table).record_risk.tolist()[:2] == [1, 1]
