import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shoal.table.equal_rows import mean_ranks
from shoal.utility.associations import Associations, CompleteCells, cramers_v, eta
from shoal.utility.correlation_change import correlations
from utility.test_second_set import FRAME, ROLES, N, records


def test_associations_equal_scipy():
    table = records()
    crossed = pd.crosstab(FRAME["sex"], FRAME["job"])
    cells = {name: CompleteCells(table[name].values, table[name].level) for name in ("sex", "job", "wage")}
    assert cramers_v(cells["sex"], cells["job"]) == pytest.approx(stats.contingency.association(crossed.to_numpy()))
    assert correlations(np.column_stack([mean_ranks(table[name].values) for name in ("wage", "tax")]))[
        0, 1
    ] == pytest.approx(stats.spearmanr(FRAME["wage"], FRAME["tax"])[0])
    groups = [FRAME["wage"][FRAME["job"] == job] for job in "abc"]
    f = stats.f_oneway(*groups)[0]
    assert eta(cells["job"], cells["wage"]) == pytest.approx(np.sqrt(f * 2 / (f * 2 + N - 3)))


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


def pairwise(frame):
    """Each association by scipy on the rows complete in two columns."""
    out = {}
    for a, b in itertools.combinations(frame.columns, 2):
        x, y = (frame[[a, b]].dropna()[name] for name in (a, b))
        order = {"low": 0, "mid": 1, "top": 2}
        if {a, b} <= {"wage", "tax"}:
            out["Pearson", a, b] = stats.pearsonr(x, y)[0]
        if {a, b} <= {"wage", "tax", "grade"}:
            out["Spearman", a, b] = stats.spearmanr(x.replace(order), y.replace(order))[0]
        elif {a, b} <= {"sex", "job"}:
            out["Cramer's V", a, b] = stats.contingency.association(pd.crosstab(x, y).to_numpy())
        else:
            group, value = (x, y) if a in ("sex", "job") else (y, x)
            value = value.map(order).rank() if value.name == "grade" else value
            means = value.groupby(group).transform("mean")
            out["eta", a, b] = np.sqrt(((means - value.mean()) ** 2).sum() / ((value - value.mean()) ** 2).sum())
    return out


@pytest.mark.parametrize("lacking", [[], ["tax", "job"]])
def test_all_pairs_together_as_pair_by_pair(lacking):
    """Complete columns are correlated and numbered once for all pairs; the others pair by pair."""
    rng = np.random.default_rng(2)
    before = FRAME.copy()
    after = before.apply(lambda column: column.where(rng.random(N) < 0.8, rng.permutation(column)))
    for name in lacking:
        before.loc[rng.random(N) < 0.1, name] = None
    x, y = pairwise(before), pairwise(after)
    kept = {
        name: {**(role if isinstance(role, dict) else {"role": role}), "missing": "keep"}
        for name, role in ROLES.items()
    }
    finding = Associations().measure(records(before, kept), records(after, kept))
    assert finding.value == pytest.approx(np.mean([abs(x[pair] - y[pair]) for pair in x]))
    assert {kind: facts["pairs"] for kind, facts in finding.details["by kind"].items()} == {
        "Pearson": 1,
        "Spearman": 3,
        "Cramer's V": 1,
        "eta": 6,
    }
