import numpy as np
import pandas as pd
import pytest

from shoal.utility.subgroup_means import SubgroupMeans
from utility.test_second_set import records


def test_subgroup_means_by_hand():
    # Wages 0, 2 | 4, 6: s = 2.582. Women's mean rises by 1, men's by 0; sizes 2 and 2.
    x = pd.DataFrame({"sex": list("ffmm"), "wage": [0.0, 2, 4, 6]})
    finding = SubgroupMeans(smallest=2).measure(records(x), records(x.assign(wage=[1.0, 3, 4, 6])))
    assert finding.value == pytest.approx(0.5 / np.std([0, 2, 4, 6], ddof=1))
    # Without men left, their mean is the overall released mean: 1 instead of 5.
    lost = SubgroupMeans(smallest=2).measure(records(x), records(x.iloc[:2]))
    assert lost.details["subgroups lost"] == 1
    assert lost.details["largest"] == pytest.approx(4 / np.std([0, 2, 4, 6], ddof=1))
    assert SubgroupMeans().measure(records(x), records(x)).value is None  # no subgroup of ten


def test_the_order_of_the_records_moves_no_mean():
    """Sums in another order differ in their last digits, which are no change."""
    rng = np.random.default_rng(1)
    x = pd.DataFrame({"sex": list("fm") * 200, "wage": rng.lognormal(7, 1, 400)})
    finding = SubgroupMeans().measure(records(x), records(x.iloc[rng.permutation(400)].reset_index(drop=True)))
    assert (finding.value, finding.details["largest"]) == (0, 0)
    assert finding.sentence == "No mean of a subgroup moves."
