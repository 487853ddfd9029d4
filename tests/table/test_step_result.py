"""Which groups the records of a release were in, and which columns were replaced inside them."""

import numpy as np
import pytest

from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.table.step_result import Grouping, StepResult, groups_by_column, last_partition

ROWS = np.arange(6)
HALVES, PAIRS, ODD = ([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1])
ALONE = [0, 1, 2, 3, 4, 5]


def step(labels: list[int] | None = None, *columns: str, exchangeable: bool = True, masked: str = "") -> StepResult:
    grouping = labels and Grouping(
        columns=columns, partition=Partition.of(labels), rows=ROWS, exchangeable=exchangeable
    )
    return StepResult(records=Records.from_array(np.zeros(6)), grouping=grouping or None, masked=tuple(masked))


def same_groups(part: Partition | None, labels: list[int]) -> bool:
    return part is not None and part.labels.tolist() == Partition.of(labels).labels.tolist()


def test_the_groups_of_the_last_step_that_formed_any_count() -> None:
    steps = [step(HALVES, "a"), step(PAIRS, "b"), step(masked="c")]
    assert same_groups(last_partition(steps, ROWS), PAIRS)
    assert same_groups(last_partition(steps, ROWS[2:]), [0, 0, 1, 1])
    assert last_partition([step(masked="a")], ROWS) is None


def test_each_column_has_the_groups_inside_which_it_was_dealt_out() -> None:
    by_column = groups_by_column([step(HALVES, "a", "b"), step(PAIRS, "b")], ROWS)
    assert same_groups(by_column["a"], HALVES)
    assert same_groups(by_column["b"], [0, 0, 1, 2, 3, 3])  # those who stayed together in both


@pytest.mark.parametrize("result", [step(masked="a"), step(HALVES, "a", exchangeable=False)])
def test_a_column_that_was_masked_or_depends_on_what_it_was_hides_nobody_among_others(result: StepResult) -> None:
    assert same_groups(groups_by_column([result], ROWS)["a"], ALONE)
    assert same_groups(groups_by_column([result, step(HALVES, "b")], ROWS)["a"], ALONE)


def test_a_column_that_was_dealt_out_and_masked_keeps_its_groups() -> None:
    for steps in ([step(HALVES, "a"), step(masked="a")], [step(masked="a"), step(HALVES, "a")]):
        assert same_groups(groups_by_column(steps, ROWS)["a"], HALVES)
    assert groups_by_column([step(ODD, "b")], ROWS).keys() == {"b"}
