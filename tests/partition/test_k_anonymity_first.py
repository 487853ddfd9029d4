from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from by_night import by_night
from naive import tcloseness as twins
from partition.test_t_close import tables
from shoal.kernels.arrays import Partner
from shoal.kernels.requirement import emd, k_anonymity_first, merge_groups
from shoal.partition._requirement.requirement import GroupRequirement
from shoal.table.confidential_bins import confidential_bins
from shoal.table.records import Records
from shoal.table.variable import Variable


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


@pytest.mark.parametrize("seed", range(4))
def test_groups_whose_candidates_lie_far_away_equal_the_twin(seed):
    rng = np.random.default_rng(seed)
    n, k = 60, 3
    x = np.round(rng.normal(size=(n, 2)))
    ill = np.digitize(x[:, 0] + 0.3 * rng.normal(size=n), [-0.8, -0.2, 0.4, 1.2]).astype(np.int32) - (seed == 1)
    columns = [Variable(name="ill", role="confidential", level="nominal", categories=(*"abcde",), values=ill)]
    if seed > 1:
        columns.append(Variable(name="pay", role="confidential", level="continuous", values=rng.normal(size=n)))
    if seed == 3:
        job = rng.integers(0, 3, n).astype(np.int32)
        columns.append(Variable(name="job", role="confidential", level="ordinal", categories=(*"xyz",), values=job))
    bins = confidential_bins(Records.of(columns))
    required = GroupRequirement.of(bins, [emd.Close(c.table(), 0.25) for c in bins])

    def excess(members):
        return required.take(np.array(members)).excess(np.zeros(len(members), np.int64))[0]

    groups = k_anonymity_first(x, required.check, k)
    formed = [np.flatnonzero(groups == g).tolist() for g in range(groups.max() + 1)]
    assert formed == twins.k_anonymity_first(x, excess, k)
