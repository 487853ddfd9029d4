"""V-MDAV on the reference data: losses recomputed independently before this was written, to the printed digits."""

import polars as pl
import pytest

from published.reference import reference
from shoal.partition.vmdav import VMDAV


@pytest.mark.parametrize(("name", "gamma", "loss"), [("census", 0.2, 5.662), ("tarragona", 0.6, 15.849)])
def test_loss(name, gamma, loss):
    x = pl.read_csv(reference(f"{name}.csv")).to_numpy().astype(float)
    z = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    assert VMDAV(k=3, gamma=gamma).partition(x).information_loss(z) == pytest.approx(loss, abs=5e-4)
