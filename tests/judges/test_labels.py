"""What released labels stand for."""

import numpy as np
import polars as pl
import pytest

from shoal.judges.labels import Labels
from shoal.judges.recoded import as_labels
from shoal.judges.table_pair import TablePair
from shoal.mask.bottom_code import BottomCode
from shoal.mask.recode import Recode
from shoal.mask.top_code import TopCode
from shoal.privacy.k_map import KMap
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.table.variable import Variable

AGES = [15.0, 20, 20.5, 39, 40, 61]


def column(values: list) -> Variable:
    return as_labels(Microdata.of(pl.DataFrame({"age": values}), {"age": "quasi-identifier"}).records["age"])


def leaves(label: str) -> list[float] | None:
    """The ages that a label stands for; None where nothing explains it."""
    labels = Labels.of(column(AGES), column([label]))
    return None if labels.unexplained[0] else np.array(AGES)[labels.covers[0, :-1]].tolist()


@pytest.mark.parametrize(
    ("label", "ages"),
    [
        ("[20, 40]", [20, 20.5, 39, 40]),
        ("[20, 40)", [20, 20.5, 39]),
        ("(20, 40]", [20.5, 39, 40]),
        ("< 20", [15]),
        ("<= 20", [15, 20]),
        (">= 40", [40, 61]),
        ("> 40", [61]),
        ("at most 20", [15, 20]),
        ("at least 40", [40, 61]),
        ("[21, 30)", []),
        ("20.5", [20.5]),
        ("15 | 61", [15, 61]),
    ],
)
def test_intervals_by_hand(label: str, ages: list[float]) -> None:
    assert leaves(label) == ages


@pytest.mark.parametrize("label", ["20 to 40", "[20, 40", "< x", "under 20", "[20; 40]", "old", "15 | 62", "<20 40"])
def test_what_nothing_explains(label: str) -> None:
    assert leaves(label) is None


def test_no_interval_is_read_where_a_value_is_no_number() -> None:
    labels = Labels.of(column(["15", "20", "unknown"]), column(["< 20"]))
    assert labels.unexplained[0]


def test_a_value_of_the_original_stands_for_itself_though_it_looks_like_an_interval() -> None:
    labels = Labels.of(column(["< 20", "20", "10"]), column(["< 20"]))
    assert labels.covers[0].sum() == 1


MASKS = [
    Recode(width=10),
    Recode(bins=4, spacing="equal-count"),
    Recode(cuts=(20.25, 40.0)),
    TopCode(value=60, replace="label"),
    BottomCode(quantile=0.2, replace="label"),
]


@pytest.mark.parametrize("mask", MASKS, ids=lambda mask: type(mask).__name__)
def test_every_record_is_among_those_its_recoded_label_stands_for(mask) -> None:
    """The people of the table are the population: each class may be of its own records, and of no others."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"age": np.round(rng.uniform(0, 80, 200), 1)})
    before: Records = Microdata.of(frame, {"age": "quasi-identifier"}).records
    after = mask.apply(before, ("age",), rng).records
    labels = Labels.of(as_labels(before["age"]), after["age"])
    assert not labels.unexplained[np.unique(labels.after)].any()
    assert labels.covers[labels.after, labels.before].all()
    smallest = np.bincount(after["age"].values).min()
    assert KMap(k=1, population=before).judge(TablePair.of(before, after)).achieved == smallest
