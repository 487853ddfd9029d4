"""delta-presence: how sure one may be that a person is in the table."""

import polars as pl
import pytest

from shoal.judges.table_pair import TablePair
from shoal.privacy.delta_presence import DeltaPresence
from shoal.table.microdata import Microdata

ROLES = {"zip": {"role": "quasi-identifier", "level": "nominal", "missing": "keep"}}
POPULATION = pl.DataFrame({"zip": ["a", "a", "a", "b", "b", "c"]})


def verdict(zips: list, **parameters):
    released = Microdata.of(pl.DataFrame({"zip": zips}, schema={"zip": pl.String}), ROLES).records
    return DeltaPresence(population=POPULATION, **parameters).judge(TablePair.of(released, released))


def test_by_hand() -> None:
    # Two of three people of a, one of two of b, nobody of c: 2/3, 1/2 and 0.
    present = verdict(["a", "a", "b"], largest=0.7)
    assert present.holds
    assert present.achieved == pytest.approx(2 / 3)
    assert present.details == {"least probability": 0, "largest probability": pytest.approx(2 / 3)}
    assert not verdict(["a", "a", "b"], largest=0.6).holds
    assert not verdict(["a", "a", "b"], largest=0.7, least=0.1).holds  # nobody of c is there, and that is known
    assert verdict(["a", "b", "c"], largest=1, least=1 / 3).holds


def test_a_blanked_cell_may_be_of_anybody() -> None:
    # A blank record may be of any of six: 1/6 for everybody, and 1/3 more for those of a.
    blanked = verdict(["a", None], largest=0.5, least=0.16, missing="wildcard")
    assert blanked.holds
    assert blanked.achieved == pytest.approx(1 / 3 + 1 / 6)
    assert not verdict(["a", None], largest=0.5).holds  # as a value of its own it is of nobody


def test_what_proves_nothing() -> None:
    table = pl.DataFrame({"zip": ["a", "b"]})
    assert "no table of the population" in DeltaPresence(largest=1).check(table).sentence
    assert "the population lacks people of the table" in verdict(["c", "c"], largest=1).sentence
    other = DeltaPresence(largest=1, population=POPULATION.rename({"zip": "area"}))
    assert "no column 'zip'" in other.check(table, original=table).sentence
