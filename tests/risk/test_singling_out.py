"""Singling out, linkability and inference on releases of which the truth is known."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import DataError, ParameterError

ROLES = {
    "age": "quasi-identifier",
    "size": "quasi-identifier",
    "town": {"role": "quasi-identifier", "level": "nominal"},
    "income": "confidential",
    "illness": {"role": "confidential", "level": "nominal"},
}


def people(n, seed):
    """Incomes rise with age; illnesses and towns are drawn freely."""
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 15, n)
    return pl.DataFrame(
        {
            "age": age,
            "size": rng.normal(170, 10, n),
            "town": rng.integers(0, 30, n).astype(str),
            "income": 20 * age + rng.normal(0, 300, n),
            "illness": rng.integers(0, 8, n).astype(str),
        }
    )


def table(frame):
    return Microdata.of(frame, ROLES).records


ORIGINAL, HOLDOUT, FRESH = (table(people(1_500, seed)) for seed in (1, 2, 3))
ATTACKS = [
    shoal.SinglingOut(attacks=300, holdout=HOLDOUT),
    shoal.SinglingOut(attacks=300, mode="univariate", holdout=HOLDOUT),
    shoal.Linkability(attacks=300, holdout=HOLDOUT),
    shoal.Inference(attacks=300, holdout=HOLDOUT),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.heading)
def test_a_copy_gives_all_away_and_strangers_nobody(attack):
    copy = attack.measure(ORIGINAL, ORIGINAL)
    assert copy.value > 0.9
    assert copy.interval.high > 0.99
    assert copy.details["right on people of the original"] == 1
    innocent = attack.measure(ORIGINAL, FRESH)  # of the same population, without a look at the original
    assert innocent.interval.low < 0.02
    assert innocent.value < 0.1


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_a_release_that_holds_a_share_of_the_people(share):
    """Of a known share of the people the release has the records as they are, the others are strangers."""
    rows = np.arange(1_500) < 1_500 * share
    mixed = table(
        people(1_500, 1)
        .with_row_index()
        .filter(rows)
        .drop("index")
        .vstack(people(1_500, 3).head(int(1_500 * (1 - share))))
    )
    linked = shoal.Linkability(attacks=1_500, holdout=HOLDOUT).measure(ORIGINAL, mixed)
    assert linked.interval.low < share < linked.interval.high
    guessed = shoal.Inference(attacks=1_500, holdout=HOLDOUT, secrets=["illness"]).measure(ORIGINAL, mixed)
    assert guessed.interval.low < share < guessed.interval.high


def test_k_anonymous_quasi_identifiers_single_nobody_out():
    fifties = 1.0 * ((pl.col("age").rank("ordinal") - 1) // 50)
    grouped = people(1_500, 1).with_columns(age=fifties, size=0.0, town=pl.lit("0"))
    nothing = shoal.SinglingOut(columns=["age", "size", "town"]).measure(ORIGINAL, table(grouped))
    assert nothing.value is None
    assert "there is nothing to guess" in nothing.reason


def test_a_holdout_of_another_size_is_put_on_the_originals():
    large = shoal.SinglingOut(attacks=1_000, holdout=HOLDOUT).measure(ORIGINAL, FRESH)
    small = shoal.SinglingOut(attacks=1_000, holdout=HOLDOUT.take(np.arange(500))).measure(ORIGINAL, FRESH)
    assert small.details["right on strangers"] == pytest.approx(large.details["right on strangers"], abs=0.06)


def test_readings_of_a_missing_cell():
    """Half of the records lack their town. As written they are farther from their people than others with the town."""
    blank = Microdata.of(
        people(1_500, 1).with_columns(town=pl.when(pl.int_range(1_500) % 2 == 0).then("town")),
        {**ROLES, "town": {"role": "quasi-identifier", "missing": "keep"}},
    ).records
    rates = {
        missing: shoal.Linkability(first=["town", "size"], second=["income"], missing=missing).measure(ORIGINAL, blank)
        for missing in ("equal", "wildcard", "nothing")
    }
    assert rates["wildcard"].value > 0.9  # the size alone finds everybody
    assert rates["equal"].value == rates["nothing"].value == pytest.approx(0.5, abs=0.08)
    for missing in ("equal", "wildcard", "nothing"):
        assert shoal.SinglingOut(attacks=50, missing=missing).measure(ORIGINAL, blank).value is not None


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.heading)
def test_repeats_with_a_seed_and_takes_every_kind_of_frame(attack):
    kinds = [type(attack)(attacks=100, holdout=kind(people(400, 5).to_pandas())) for kind in (
        lambda frame: frame, pl.from_pandas, pa.Table.from_pandas,
    )]  # fmt: skip
    values = [kind.measure(ORIGINAL, ORIGINAL, seed=4).value for kind in kinds]
    assert values[0] == values[1] == values[2]


def test_what_cannot_be_attacked_says_why():
    alone = ORIGINAL.select(["town"])
    assert "3 columns" in shoal.SinglingOut().measure(alone, alone).reason
    assert "two files" in shoal.Linkability().measure(alone, alone).reason
    assert "a known column and a secret one" in shoal.Inference().measure(alone, alone).reason
    for attack in (shoal.SinglingOut(), shoal.Linkability(), shoal.Inference()):
        assert attack.measure(ORIGINAL, FRESH.take(np.arange(0))).value is None
        assert type(attack)(holdout=HOLDOUT.take(np.arange(0))).measure(ORIGINAL, FRESH).value is None


def test_bad_input_is_refused():
    with pytest.raises(ParameterError, match="singling-out: size must be"):
        shoal.SinglingOut(size=1)
    with pytest.raises(ParameterError, match="linkability: neighbours must be"):
        shoal.Linkability(neighbours=0)
    with pytest.raises(ParameterError, match="inference: tolerance must be"):
        shoal.Inference(tolerance=-0.1)
    with pytest.raises(DataError, match="must be a data frame or an array"):
        shoal.Inference(holdout="others.csv").measure(ORIGINAL, FRESH)
    with pytest.raises(DataError, match="'weight' is not"):
        shoal.Inference(secrets=["weight"]).measure(ORIGINAL, FRESH)
