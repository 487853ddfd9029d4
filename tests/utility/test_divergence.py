import numpy as np
import pytest

from utility.test_generalised import BEFORE, measured


def test_divergence_by_hand():
    """Each of four rows has 1/4; the labels give each class of two half, over two rows each: nothing is lost. If all
    towns become one label, each row has 1/2 x 1/4 for f and m together: log(1/4 x 8)."""
    assert measured("divergence").value == pytest.approx(0, abs=1e-12)
    coarse = BEFORE.assign(town="*", sex="*")
    assert measured("divergence", after=coarse).value == pytest.approx(np.log(8 / 4))
