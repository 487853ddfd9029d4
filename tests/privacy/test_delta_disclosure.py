import math

import numpy as np
import pandas as pd
import pytest

import shoal


def test_delta_itself_is_not_allowed():
    # a is three of four in one class, one of four in the other, half of the table: ln(1/2) to one side.
    frame = pd.DataFrame({"q": [0] * 4 + [1] * 4, "c": list("aaabbbba")})
    assert not shoal.DeltaDisclosure(delta=math.log(2)).check(frame, confidential="c").holds
    assert shoal.DeltaDisclosure(delta=np.nextafter(math.log(2), 1)).check(frame, confidential="c").holds


def test_a_figure_without_bound_is_refused_in_words():
    frame = pd.DataFrame({"q": [0, 1], "c": list("ab")})
    with pytest.raises(shoal.Refused, match=r"does not hold \(required 3, achieved infinite\): 2 classes"):
        shoal.protect(
            frame,
            {
                "columns": {"q": "quasi-identifier", "c": "confidential"},
                "requirements": [{"privacy": "delta-disclosure", "delta": 3}],
            },
        )
