import pandas as pd

import shoal


def test_sensitive_anonymity_needs_both():
    frame = pd.DataFrame({"q": [1, 1, 2], "c": ["a", "b", "a"]})
    assert not shoal.PSensitivity(p=1, k=2).check(frame, confidential="c").holds
    assert shoal.PSensitivity(p=1, k=1).check(frame, confidential="c").holds


def test_records_of_small_classes_are_among_those_it_fails_on():
    frame = pd.DataFrame({"q": [1, 1, 2, 3, 3], "c": ["a", "b", "a", "a", "a"]})
    assert shoal.PSensitivity(p=1, k=2).check(frame, confidential="c").failing.tolist() == [
        False,
        False,
        True,
        False,
        False,
    ]
    assert shoal.PSensitivity(p=2, k=2).check(frame, confidential="c").failing.tolist() == [
        False,
        False,
        True,
        True,
        True,
    ]
