"""MDAV's published losses and the groups that sdcMicro 5.8.1 forms (calls in the folder's README)."""

import numpy as np
import polars as pl
import pytest

from published.reference import reference
from shoal.kernels.partition import mdav
from shoal.table.partition import Partition

# IL = 100 SSE / SST of `microaggregation(as.data.frame(scale(X)), method = "mdav", aggr = k)`.
LOSS = {
    ("census", 3): 5.692186,
    ("census", 5): 9.088435,
    ("census", 10): 14.155930,
    ("tarragona", 3): 16.932588,
    ("tarragona", 5): 22.461860,
    ("tarragona", 10): 33.192885,
}


@pytest.mark.parametrize(("name", "k"), LOSS)
@pytest.mark.parametrize("engine", ["brute", "tree"])
def test_loss_and_groups(name, k, engine):
    x = pl.read_csv(reference(f"{name}.csv")).to_numpy().astype(float)
    z = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    part = Partition(labels=mdav(z, k, engine=engine))
    assert part.information_loss(z) == pytest.approx(LOSS[name, k], abs=5e-7)
    theirs = pl.read_csv(reference(f"sdcmicro/mdav_groups_{name}.csv"))[f"k{k}"].to_numpy()
    _, ours = np.unique(np.round(part.means(z), 9)[part.labels], axis=0, return_inverse=True)
    assert contents(theirs, z) == contents(ours, z)


def contents(labels, z):
    """What each group holds. Equal records count as the same: which of them is taken first is a tie.

    sdcMicro's label marks equal centroids, so groups that share a centroid count as one on both sides.
    """
    _, kind = np.unique(z, axis=0, return_inverse=True)
    return sorted(sorted(kind[labels == label].tolist()) for label in np.unique(labels))
