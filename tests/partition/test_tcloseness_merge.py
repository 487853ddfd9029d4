from typing import get_args

import numpy as np
import pytest

import shoal
from shoal.kernels.arrays import Partner
from shoal.kernels.requirement import RequirementCheck, emd, merge_groups
from shoal.partition._requirement.requirement import GroupRequirement
from shoal.table.confidential_bins import confidential_bins
from shoal.table.records import Records
from shoal.table.variable import Variable


def test_groups_that_are_only_too_small_join_the_nearest_whatever_the_partner():
    x, pay = np.array([0.0, 0.1, 5.0, 5.1, 9.0, 9.1]), np.zeros(6)
    for partner in get_args(Partner):
        method = shoal.TClosenessMerge(k=2, t=0.1, start=shoal.MDAV(k=1), partner=partner)
        assert method.partition(x, confidential=pay).labels.tolist() == [0, 0, 1, 1, 2, 2]


def test_the_cheapest_partner_settles_more_for_less():
    """Pay 1 and 4 are worst, at 1/2. The neighbour of 1 is 2: together they are at 1/3, which is over t, and in the
    end all are in one group. With 4, only a little farther, 1 is at 1/6, and so are 2 and 3."""
    columns = confidential_bins(
        Records.of(
            [Variable(name="pay", role="confidential", level="continuous", values=np.array([1.0, 2.0, 4.0, 3.0]))]
        )
    )
    required = GroupRequirement.of(columns, [emd.Close(columns[0].table(), 0.2)])
    x, single = np.array([[0.0], [-1.0], [1.1], [-2.0]]), np.arange(4, dtype=np.int32)
    assert len(set(merge_groups(x, required.check, single, 1)[0])) == 1
    assert merge_groups(x, required.check, single, 1, partner="cheapest")[0].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("step", [0.25, 1e-9])
def test_many_groups_are_merged_as_by_a_look_at_all(step):
    """More groups than a look at all takes: on a coarse grid many are equally near, on a fine one none."""
    x = np.round(np.random.default_rng(3).normal(size=(2500, 2)) / step) * step
    free = RequirementCheck(np.empty((0, 2500), dtype=np.int32), [])
    labels, merges = merge_groups(x, free, np.arange(2500, dtype=np.int32), 2)
    centres, group = x.copy(), np.arange(2500)
    for g in range(2500):  # in the order of their names, alone or gone
        if group[g] == g and (group == g).sum() == 1:
            apart = (centres[:, 0] - centres[g, 0]) ** 2 + (centres[:, 1] - centres[g, 1]) ** 2
            apart[(group != np.arange(2500)) | (np.arange(2500) == g)] = np.inf
            h = int(np.argmin(apart))
            centres[g] += (group == h).sum() / (1 + (group == h).sum()) * (centres[h] - centres[g])
            group[group == h] = g
    assert merges == 2500 - len(set(group))
    assert len(set(zip(labels.tolist(), group.tolist()))) == len(set(group)) == len(set(labels.tolist()))


def test_of_groups_equally_near_the_lowest_is_the_partner():
    """Pay 1 is the only one over 0.4 (at 2/3), and lies in the middle between the two others."""
    pay = Variable(name="pay", role="confidential", level="continuous", values=np.array([2.0, 1.0, 2.0]))
    columns = confidential_bins(Records.of([pay]))
    check = GroupRequirement.of(columns, [emd.Close(columns[0].table(), 0.4)]).check
    merged, merges = merge_groups(np.array([[1.0], [0.0], [-1.0]]), check, np.arange(3, dtype=np.int32), 1)
    assert merges == 1 and merged[0] == merged[1] != merged[2]
