from typing import get_args

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from by_night import by_night
from naive import tcloseness as twins
from partition.test_t_close import tables
from shoal.kernels.arrays import Partner
from shoal.kernels.requirement import emd, k_anonymity_first, merge_groups
from shoal.partition._requirement.requirement import GroupRequirement
from shoal.table.confidential_bins import confidential_bins


@settings(max_examples=by_night(40, 150))
@given(records=tables(most=16), t=st.sampled_from([0.05, 0.1, 0.2, 0.3]), k=st.integers(1, 4))
def test_algorithms_1_and_2_equal_their_twins(records, t, k):
    x = np.ascontiguousarray(records.matrix() + np.random.default_rng(1).normal(size=(len(records), 2)))  # no ties
    columns = confidential_bins(records)
    required = GroupRequirement.of(columns, [emd.Close(c.table(), t) for c in columns])

    def excess(members):
        return required.take(np.array(members)).excess(np.zeros(len(members), np.int64))[0]

    first = k_anonymity_first(x, required.check, k)
    groups = twins.k_anonymity_first(x, excess, k)
    assert [np.flatnonzero(first == g).tolist() for g in range(first.max() + 1)] == groups
    for partner in get_args(Partner):
        merged, merges = merge_groups(x, required.check, first, k, partner=partner)
        expected = twins.merge(x, first, excess, k, partner)
        assert {frozenset(np.flatnonzero(merged == g)) for g in set(merged)} == {frozenset(g) for g in expected}
        assert merges == len(groups) - len(expected)
