import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from partition.test_t_close import released, tables
from shoal.vocabulary.errors import Refused


@given(records=tables(gaps=True), k=st.integers(1, 4), p=st.integers(1, 4))
def test_sensitive_or_refused(records, k, p):
    if records.strata is not None or k > len(records):
        return
    method = shoal.PSensitive(k=k, p=p, moves=1_000)
    known = [records[name].values[~records[name].missing] for name in records.confidential]
    if min(max(1, len(np.unique(values))) for values in known) < p:
        with pytest.raises(Refused, match="p-sensitive: no partition satisfies"):
            method.partition(records, seed=1)
        return
    part = method.partition(records, seed=1)
    assert part.details["p"] >= p and "l" not in part.details
    assert shoal.PSensitivity(p=p, k=k).check(released(records, part)).holds
