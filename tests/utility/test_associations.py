import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shoal.utility.associations import Associations, cramers_v, eta, spearman
from utility.test_second_set import FRAME, N, records


def test_associations_equal_scipy():
    table = records()
    crossed = pd.crosstab(FRAME["sex"], FRAME["job"])
    assert cramers_v(table["sex"], table["job"]) == pytest.approx(stats.contingency.association(crossed.to_numpy()))
    assert spearman(table["wage"], table["tax"]) == pytest.approx(stats.spearmanr(FRAME["wage"], FRAME["tax"])[0])
    groups = [FRAME["wage"][FRAME["job"] == job] for job in "abc"]
    f = stats.f_oneway(*groups)[0]
    assert eta(table["job"], table["wage"]) == pytest.approx(np.sqrt(f * 2 / (f * 2 + N - 3)))


def test_associations_by_hand():
    # Cramer's V 1 becomes 0.
    x = pd.DataFrame({"sex": list("ffmm"), "job": list("aabb")})
    y = x.assign(job=list("abab"))
    finding = Associations().measure(records(x), records(y))
    assert finding.value == pytest.approx(1)
    assert finding.details["by kind"]["Cramer's V"]["largest"] == pytest.approx(1)
    constant = Associations().measure(records(x), records(x.assign(job="a")))
    assert constant.value == pytest.approx(1)  # an association that the release lost counts as 0 there
    assert Associations().measure(records(x.assign(job="a")), records(x)).value is None


def test_the_order_of_the_records_changes_no_association():
    """Sums in another order differ in their last digits, which are no change."""
    rng = np.random.default_rng(1)
    x = pd.DataFrame({"sex": list("fm") * 200, "job": list("abcd") * 100, "wage": rng.lognormal(7, 1, 400)})
    finding = Associations().measure(records(x), records(x.iloc[rng.permutation(400)].reset_index(drop=True)))
    assert finding.value == 0
    assert finding.sentence == "No association of two columns changes."
