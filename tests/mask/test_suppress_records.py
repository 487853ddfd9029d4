import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from mask.test_suppress import records, tables
from naive.suppression import matching
from shoal.errors import Refused


@given(rows=tables, k=st.integers(1, 4), missing=st.sampled_from(["wildcard", "nothing", "equal"]))
def test_records_are_dropped_until_k_or_refused(rows, k, missing):
    before = records(rows)
    change = shoal.SuppressRecords(k=k, limit=1, missing=missing).apply(
        before, before.quasi_identifiers, np.random.default_rng(0)
    )
    left = [rows[i] for i in change.records.rows]
    assert not left or min(matching(left, missing)) >= k
    if missing == "equal":
        assert len(left) == sum(m >= k for m in matching(rows, "equal"))
    if dropped := len(rows) - len(left):
        with pytest.raises(Refused, match=f"would have to drop {dropped} of {len(rows)} records"):
            shoal.SuppressRecords(k=k, limit=(dropped - 0.5) / len(rows), missing=missing).apply(
                before, before.quasi_identifiers, np.random.default_rng(0)
            )
