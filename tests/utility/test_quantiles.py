import numpy as np
import pytest

from shoal.utility.quantiles import Quantiles


def test_quantiles_by_hand():
    # 0, 1, 2, 3, 4 doubled: the median moves by 2, s = sqrt(2.5).
    finding = Quantiles(probabilities=(0.5,)).measure(np.arange(5.0), 2 * np.arange(5.0))
    assert finding.value == pytest.approx(2 / np.sqrt(2.5))
    assert "'x0'" in Quantiles().measure(np.ones(5), np.zeros(5)).reason
    assert Quantiles().measure(np.ones(5), np.ones(5)).value == 0
