import numpy as np
import pytest

from shoal.table.partition import Partition
from shoal.utility.univariate_change import UnivariateChange
from utility.test_first_set import ALL, X


def test_univariate_change_by_hand():
    # 0, 2, 4 has mean 2, variance 4; 2, 4, 6 the same variance; 0, 1, 2 a quarter of it and a mean 1/2 s lower.
    moved = UnivariateChange().measure([0.0, 2, 4], [2.0, 4, 6])
    assert moved.by_column.private()["x0"] == pytest.approx({"mean": 1.0, "variance": 0.0})
    narrowed = UnivariateChange().measure([0.0, 2, 4], [0.0, 1, 2])
    assert narrowed.value == pytest.approx(0.75)
    assert narrowed.by_column.private()["x0"] == pytest.approx({"mean": -0.5, "variance": -0.75})


def test_univariate_change_of_tables_of_other_length():
    assert UnivariateChange().measure([0.0, 2, 4], [0.0, 0, 2, 2, 4, 4]).by_column.private()["x0"]["mean"] == 0


def test_the_mean_of_a_constant_column_is_no_change():
    constant = np.column_stack([X[:, 0], np.full(200, 0.1)])
    part = Partition(labels=np.arange(200) // 7)
    grouped = part.means(constant)[part.labels]
    grouped[:, 1] = np.nextafter(0.1, 1)
    for measure in ALL[:3]:
        assert measure.measure(constant, grouped).value > 0
