import pandas as pd
import pytest

import shoal


def test_losses_are_free_under_beta_likeness():
    # A tenth of 400 records are a; of the class of 20 one is: a loses half of its share, b gains .05 on .9.
    frame = pd.DataFrame({"q": [0] * 20 + [1] * 380, "c": ["a"] + ["b"] * 19 + ["a"] * 39 + ["b"] * 341})
    verdict = shoal.BetaLikeness(beta=1, enhanced=False).check(frame, confidential="c")
    assert verdict.achieved == pytest.approx(0.05 / 0.9)
