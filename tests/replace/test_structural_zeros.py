"""What never occurs together, though chance would have it."""

import numpy as np

from shoal.replace.structural_zeros import CHANCE, MANY, Exclusions, Feature


def test_pairs_by_hand() -> None:
    """Twenty of each sex, six women pregnant: three men would be by chance, and none is. Three lefties tell nothing."""
    sex = Feature(values=np.repeat([0.0, 1.0], 20), levels=2)
    pregnant = Feature(values=np.array([1.0] * 6 + [0.0] * 34), levels=2)
    lefty = Feature(values=np.array([1.0] * 3 + [0.0] * 37), levels=2)
    rules = Exclusions.of(pregnant, [sex])
    assert rules.pairs[0].tolist() == [[False, False], [False, True]]
    assert rules.broken([np.array([0.0, 1.0, 1.0])], np.array([1.0, 1.0, 0.0])).tolist() == [False, True, False]
    assert rules.allowed([np.array([0.0, 1.0])], np.arange(2)).tolist() == [[True, True], [True, False]]
    assert not Exclusions.of(lefty, [sex])
    assert 6 * 20 / 40 >= CHANCE > 3 * 20 / 40


def test_ranges_by_hand() -> None:
    """Children are under 15, adults are not; both are many: an end is a rule where the other group is beyond it."""
    age = Feature(values=np.concatenate([np.arange(MANY) % 15, 15 + np.arange(MANY) % 60]).astype(float), levels=0)
    adult = Feature(values=np.repeat([0.0, 1.0], MANY), levels=2)
    rules = Exclusions.of(age, [adult])
    assert rules.ranges[0].tolist() == [[-np.inf, 14.0], [15.0, np.inf]]
    assert rules.broken([np.array([0.0, 0.0, 1.0, 1.0])], np.array([14.0, 15.0, 15.0, 14.0])).tolist() == [
        False,
        True,
        False,
        True,
    ]
    low, high = rules.bounds([np.array([0.0, 1.0])], np.arange(2))
    assert (low.tolist(), high.tolist()) == ([-np.inf, 15.0], [14.0, np.inf])
    the_other_way = Exclusions.of(adult, [age])
    assert the_other_way.allowed([np.array([3.0, 30.0])], np.arange(2)).tolist() == [[True, False], [False, True]]


def test_few_records_and_no_number_make_no_range() -> None:
    numbers = Feature(values=np.arange(60.0), levels=0)
    category = Feature(values=np.repeat([0.0, 1.0], 30), levels=2)
    assert np.isinf(Exclusions.of(numbers, [category]).ranges[0]).all()
    none = Feature(values=np.full(60, np.nan), levels=0)
    assert np.isinf(Exclusions.of(none, [category]).ranges[0]).all()
