import numpy as np

import shoal
from mask.people_with_roles import ROLES, table


def test_identifiers_leave_the_table():
    micro = shoal.Microdata.of(table(), ROLES)
    change = shoal.RemoveIdentifiers().apply(micro.records, micro.records.quasi_identifiers, np.random.default_rng(0))
    assert list(micro.rebuild(change.records).native.columns) == ["region", "hid", "x", "y", "w"]
    assert change.details == {"columns removed": ["name"]}
