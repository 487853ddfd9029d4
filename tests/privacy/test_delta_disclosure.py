import math

import numpy as np
import pandas as pd

import shoal


def test_delta_itself_is_not_allowed():
    # a is three of four in one class, one of four in the other, half of the table: ln(1/2) to one side.
    frame = pd.DataFrame({"q": [0] * 4 + [1] * 4, "c": list("aaabbbba")})
    assert not shoal.DeltaDisclosure(delta=math.log(2)).check(frame, confidential="c").holds
    assert shoal.DeltaDisclosure(delta=np.nextafter(math.log(2), 1)).check(frame, confidential="c").holds
