import numpy as np
import pytest

from shoal.table.records import Records
from shoal.utility.il1s import IL1s
from utility.test_first_set import X


def test_il1s_by_hand():
    # |changes| 1 and 2 in a column with s = sqrt(2): (1 + 2) / (sqrt(2) sqrt(2)).
    finding = IL1s().measure([0.0, 2.0], [1.0, 0.0])
    assert finding.value == pytest.approx(0.75)
    assert IL1s(figure="sum").measure([0.0, 2.0], [1.0, 0.0]).value == pytest.approx(1.5)


def test_files_of_any_length_compare():
    y = X + 0.1
    whole, half = IL1s().measure(X, y), IL1s().measure(X[:100], y[:100])
    assert half.value == pytest.approx(whole.value, rel=0.2)
    assert IL1s(figure="sum").measure(X, y).value > 1.6 * IL1s(figure="sum").measure(X[:100], y[:100]).value


def test_il1s_says_what_it_could_not_compare():
    original = Records.from_array(X)
    holes = X.copy()
    holes[:20, 0] = np.nan
    released = original.with_variables(original["x0"].with_values(holes[:, 0]))
    assert IL1s().measure(original, released).details["cells not compared"] == 20
    blank = original.with_variables(*(original[n].with_values(np.full(200, np.nan)) for n in ("x0", "x1", "x2")))
    assert IL1s().measure(original, blank).value is None
