"""Records that nobody else in the table is like."""

from risk.test_population_uniques import table
from shoal.risk.sample_uniques import SampleUniques


def test_sample_uniques_by_hand():
    records = table(["a", "a", "b", "c"])
    assert SampleUniques().measure(records, records).value == 0.5
