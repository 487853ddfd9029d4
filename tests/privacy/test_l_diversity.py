import pandas as pd
import pytest

import shoal


@pytest.mark.parametrize("values", ["abc", "abcdef", "abcdefghijklmnopqrst"])
def test_equal_shares_of_m_values_have_entropy_diversity_m(values):
    frame = pd.DataFrame({"q": 1, "c": list(values)})  # exp(entropy) is 3 - 4e-16 for three values
    assert shoal.LDiversity(l=len(values), kind="entropy").check(frame, confidential="c").holds
