import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.utility.principal_components import PrincipalComponents

FOUR = np.array([[1.0, 1], [-1, -1], [1, -1], [-1, 1]])


def correlated(r):
    """Four records of two columns with the correlation r."""
    return FOUR @ np.linalg.cholesky(np.array([[1, r], [r, 1]])).T


def changes(x, y, **parameters):
    return PrincipalComponents(**parameters).measure(x, y).details["mean absolute change"]


def test_by_hand():
    # Correlations .6 and .28: the first eigenvalues are 1.6 and 1.28, of the vector (1, 1) / sqrt(2). Communalities
    # .8 and .64; loadings sqrt(.8) and .8; coefficients (1 / sqrt(2)) / sqrt(1.6) and (1 / sqrt(2)) / sqrt(1.28).
    moved = changes(correlated(0.6), correlated(0.28))
    assert moved["communalities"] == pytest.approx(0.16)
    assert moved["loadings"] == pytest.approx(np.sqrt(0.8) - 0.8)
    assert moved["scores"] == pytest.approx(1 / 1.6 - 1 / np.sqrt(3.2))
    finding = PrincipalComponents(figure="loadings").measure(correlated(0.6), correlated(0.28))
    assert finding.value == moved["loadings"]
    assert finding.by_column.private() == pytest.approx({"x0": 0.16, "x1": 0.16})
    # The second components, (1, -1) / sqrt(2), have 0.4 and 0.72; they count a quarter of the first, 0.4 : 1.6.
    two = changes(correlated(0.6), correlated(0.28), components=2)
    assert two["communalities"] == pytest.approx(0)  # all of the variance, in both
    second = 0.6 - np.sqrt(0.2)
    assert two["loadings"] == pytest.approx(0.8 * (np.sqrt(0.8) - 0.8) + 0.2 * second)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), columns=st.integers(2, 5), many=st.integers(1, 6))
def test_same_as_correlating_scores_with_columns(seed, columns, many):
    """Loadings are correlations of columns with components, coefficients regress scores of variance 1 on columns."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(40, columns)) @ rng.normal(size=(columns, columns))
    y = x + rng.normal(size=x.shape)
    many = min(many, columns)
    sides = []
    for table in (x, y):
        z = (table - table.mean(axis=0)) / table.std(axis=0)
        _, values, axes = np.linalg.svd(z, full_matrices=False)
        scores = (z @ axes.T)[:, :many] / (values[:many] / np.sqrt(len(z)))
        sides.append((z.T @ scores / len(z), np.linalg.lstsq(z, scores, rcond=None)[0], values**2))
    (one, own, values), (two, other, _) = sides
    turn = np.where((one * two).sum(axis=0) < 0, -1, 1)
    share = values[:many] / values[:many].sum()
    moved = changes(x, y, components=many)
    assert moved["communalities"] == pytest.approx(np.abs((one**2).sum(axis=1) - (two**2).sum(axis=1)).mean())
    assert moved["loadings"] == pytest.approx((np.abs(one - turn * two).mean(axis=0) * share).sum())
    assert moved["scores"] == pytest.approx((np.abs(own - turn * other).mean(axis=0) * share).sum())


def test_what_does_not_change_them(rng):
    x = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3))
    for figure in ("communalities", "loadings", "scores"):
        assert PrincipalComponents(figure=figure, components=9).measure(x, x).value == 0
        assert PrincipalComponents(figure=figure).measure(x, 3 - 2 * x).value == pytest.approx(0, abs=1e-9)
    noise = [changes(x, x + s * rng.normal(size=x.shape))["communalities"] for s in (0.05, 0.5, 5)]
    assert noise == sorted(noise)


def test_no_figure(rng):
    x = rng.normal(size=(30, 2))
    assert "not two continuous columns" in PrincipalComponents().measure(x[:, :1], x[:, :1]).reason
    flat = np.column_stack([x[:, 0], np.ones(30)])
    assert "'x1'" in PrincipalComponents().measure(x, flat).reason
    twice = np.column_stack([x[:, 0], x[:, 0]])
    assert "no variance" in PrincipalComponents(figure="scores", components=2).measure(twice, x).reason
    assert PrincipalComponents(components=2).measure(twice, x).value == pytest.approx(0)
