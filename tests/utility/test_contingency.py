import numpy as np
import pandas as pd
import pytest

from shoal.table.records import Records
from shoal.utility.contingency import Contingency
from shoal.vocabulary.errors import ParameterError
from utility.test_second_set import records


def test_contingency_by_hand():
    # sex: 2 of 4 f becomes 1 of 4: distance 1/4. job: unchanged. sex x job: one record changes cells: 1/4.
    x = pd.DataFrame({"sex": list("ffmm"), "job": list("abab")})
    finding = Contingency().measure(records(x), records(x.assign(sex=list("fmmm"))))
    assert finding.details["mean by number of columns"] == {"1": 1 / 8, "2": 1 / 4}
    assert finding.value == pytest.approx((1 / 4 + 0 + 1 / 4) / 3)
    joined = records(x.assign(sex=list("zzzz")))  # f and m in one word: nobody changed cells
    assert Contingency(columns=("sex",)).measure(records(x), joined).value == 0
    strangers = records(x.assign(sex=list("zzzz")).head(3))  # of whom nobody knows who is who
    assert Contingency(columns=("sex",)).measure(records(x), strangers).value == 1


def test_contingency_cuts_numbers_at_the_originals_quantiles():
    x = np.arange(100.0)[:, None]
    assert Contingency(bins=4).measure(x, x + 25).value == pytest.approx(0.25)
    # The median of 0, 0, 0, 1 is 0, which belongs to the lower half: one of four records changes halves.
    assert Contingency(bins=2).measure([0.0, 0, 0, 1], [0.0, 0, 1, 1]).value == 0.25
    assert Contingency(bins=0).measure(x, x).value is None
    holes = Records.from_array(x)
    emptied = holes.with_variables(holes["x0"].with_values(np.where(x[:, 0] < 10, np.nan, x[:, 0])))
    assert Contingency(bins=4).measure(holes, emptied).value == pytest.approx(0.1)
    with pytest.raises(ParameterError, match="contingency: order must be"):
        Contingency(order=4)
