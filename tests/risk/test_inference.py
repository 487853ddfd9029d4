"""Inference of secrets, against people who are not in the data."""

import polars as pl

import shoal
from risk.test_singling_out import FRESH, HOLDOUT, ORIGINAL, people, table


def test_what_the_population_tells_is_not_counted():
    """Age tells income: guesses from strangers' records are right often, and no risk is left."""
    guess = shoal.Inference(secrets=["income"], columns=["age"], tolerance=0.4, holdout=HOLDOUT).measure(
        ORIGINAL, FRESH
    )
    assert guess.details["right on people of the original"] > 0.55
    assert guess.details["right by guessing at random"] < 0.5
    assert guess.interval.low == 0
    alone = shoal.Inference(secrets=["income"], columns=["age"], tolerance=0.4).measure(ORIGINAL, FRESH)
    assert alone.value == alone.details["right on people of the original"] > 0.55
    assert "right on strangers" not in alone.details


def test_the_worst_secret_is_the_figure():
    blurred = people(1_500, 1).with_columns(illness=pl.lit("0"))
    guessed = shoal.Inference(attacks=300, holdout=HOLDOUT).measure(ORIGINAL, table(blurred))
    assert guessed.details["secret"] == "income"
    risks = {name: part["risk"] for name, part in guessed.by_column.private().items()}
    assert guessed.value == max(risks.values()) == risks["income"]
    assert risks["illness"] < 0.1
