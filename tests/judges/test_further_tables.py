"""Further tables: read with the roles of the known one, whatever further values they have."""

import numpy as np
import polars as pl
import pytest

from shoal.judges.further_tables import like, numbers_of
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import DataError

KNOWN = Microdata.of(
    pl.DataFrame({"grade": ["low", "high"], "age": [1.0, 2.0]}),
    {"grade": {"role": "quasi-identifier", "level": "ordinal", "order": ["low", "high"]}, "age": "quasi-identifier"},
).records


def test_an_ordinal_column_with_further_values() -> None:
    further = like(KNOWN, pl.DataFrame({"grade": ["top", "low", None, "best"], "more": [1, 2, 3, 4]}))
    assert further.names() == ("grade",)
    assert further["grade"].categories == ("low", "high", "best", "top")
    assert further["grade"].values.tolist() == [3, 0, -1, 2]


@pytest.mark.parametrize("values", [[1.0, -1.0], [1.0, None], [1.0, np.nan]])
def test_counts_are_finite_numbers(values: list) -> None:
    with pytest.raises(DataError, match="Column 'people' of a further table must hold finite numbers of at least 0"):
        numbers_of(pl.DataFrame({"people": values}), "people")


@pytest.mark.parametrize("values", [[1.0, np.inf], ["1", "two"]])
def test_counts_that_are_no_numbers(values: list) -> None:
    with pytest.raises(DataError, match="Column 'people'"):
        numbers_of(pl.DataFrame({"people": values}), "people")


def test_counts_of_records_are_numbers_too() -> None:
    with pytest.raises(DataError, match="Column 'grade' of a further table must hold finite numbers"):
        numbers_of(KNOWN, "grade")
    assert numbers_of(KNOWN, "age").tolist() == [1, 2]
