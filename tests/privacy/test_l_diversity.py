import pandas as pd
import pytest

import shoal


@pytest.mark.parametrize("values", ["abc", "abcdef", "abcdefghijklmnopqrst", range(100)])
def test_equal_shares_of_m_values_have_entropy_diversity_m(values):
    frame = pd.DataFrame({"q": 1, "c": list(values)})  # exp(entropy) is 3 - 4e-16 for three values
    assert shoal.LDiversity(l=len(values), kind="entropy").check(frame, confidential="c").holds


def test_what_is_proved_is_in_its_name():
    frame = pd.DataFrame({"q": 1, "c": list("abc")})
    proved = {
        "distinct 1.5-diversity": shoal.LDiversity(l=1.5),
        "entropy 1.5-diversity": shoal.LDiversity(l=1.5, kind="entropy"),
        "recursive (2, 2)-diversity": shoal.LDiversity(l=1.5, kind="recursive"),
    }
    for name, model in proved.items():
        verdict = model.check(frame, confidential="c")
        assert (verdict.requirement, verdict.required) == (name, 2 if model.kind == "recursive" else 1.5)
