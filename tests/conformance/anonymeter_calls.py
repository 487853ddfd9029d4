"""Our calls for anonymeter's expectations: what the column `call` of anonymeter.csv names, then its arguments."""

from collections.abc import Callable
from typing import Any

import polars as pl

import shoal
from shoal.judges.predicates import _integral
from shoal.judges.prelude import Finding
from shoal.judges.success import AttackResult, SuccessRate
from shoal.kernels.elementary import normal_quantile
from shoal.table.microdata import Microdata
from shoal.table.records import Records

CALLS: dict[str, Callable[..., Any]] = {}

ADULTS = [
    [35, "Private", "Some-college", 10, "Never-married", "White", 0, 0, 50],
    [27, "Private", "Assoc-voc", 11, "Divorced", "Amer-Indian-Eskimo", 0, 0, 40],
    [28, "Private", "Doctorate", 16, "Never-married", "White", 0, 0, 60],
    [30, "Local-gov", "HS-grad", 9, "Married-civ-spouse", "White", 0, 0, 40],
    [20, "Private", "Some-college", 10, "Never-married", "White", 0, 0, 35],
    [47, "Private", "Bachelors", 13, "Married-civ-spouse", "White", 0, 0, 60],
    [23, "Private", "10th", 6, "Never-married", "White", 0, 0, 40],
    [45, "Private", "Some-college", 10, "Separated", "White", 0, 0, 27],
    [30, "Private", "HS-grad", 9, "Married-civ-spouse", "White", 0, 0, 40],
    [27, "Private", "HS-grad", 9, "Separated", "White", 0, 1594, 25],
]
"""Ten records of UCI's Adult, as tests/datasets/adults_ori.csv has them."""

ADULT_COLUMNS = ("age", "type_employer", "education", "education_num", "marital", "race", "capital_gain")
ADULT_COLUMNS += ("capital_loss", "hr_per_week")

MISSING = "-"
"""A missing cell in a call."""


def call(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add a function to `CALLS` under its name, words parted by hyphens."""
    CALLS[function.__name__.replace("_", "-")] = function
    return function


def table(columns: dict[str, list[Any]], *secret: str) -> Records:
    roles = {n: {"role": "confidential" if n in secret else "quasi-identifier", "missing": "keep"} for n in columns}
    return Microdata.of(pl.DataFrame(columns, strict=False), roles).records


def adults() -> Records:
    return table(dict(zip(ADULT_COLUMNS, map(list, zip(*ADULTS)))))


def rates(finding: Finding) -> list[float]:
    assert finding.value is not None
    assert finding.interval is not None
    return [finding.value, finding.interval.low, finding.interval.high]


@call
def probit(level: str) -> float:
    return float(normal_quantile(0.5 + float(level) / 2))


@call
def success(hits: str, guesses: str) -> list[float]:
    """Middle and half of the interval."""
    rate = SuccessRate(hits=float(hits), guesses=int(guesses))
    return [rate.centre, rate.half]


@call
def share(hits: str, guesses: str) -> float:
    return SuccessRate(hits=float(hits), guesses=int(guesses)).share


def rate_of(centre: float, half: float) -> SuccessRate:
    """A rate whose interval has about this middle and this half."""
    z = probit("0.95")
    guesses = round(centre * (1 - centre) * (z / half) ** 2) if half else 10**12
    return SuccessRate(hits=centre * (guesses + z * z) - z * z / 2, guesses=guesses)


@call
def residual(attack: str, error: str, control: str, control_error: str) -> list[float]:
    """Risk beyond a control and half of its interval."""
    rates = rate_of(float(attack), float(error)), rate_of(float(control), float(control_error))
    result = AttackResult(attack=rates[0], control=rates[1], baseline=0.0)
    return [result.value, (result.interval.high - result.interval.low) / 2]


@call
def risk_is_kept_in_bounds(attack: str, control: str) -> bool:
    rates = (SuccessRate(hits=float(hits), guesses=100) for hits in (attack, control))
    result = AttackResult(attack=next(rates), control=next(rates), baseline=0.0)
    return 0 == result.interval.low <= result.value <= result.interval.high <= 1


@call
def better_than_guessing(hits: str, guesses: str, baseline: str) -> bool:
    rate = SuccessRate(hits=float(hits), guesses=int(guesses))
    return bool(AttackResult(attack=rate, control=None, baseline=float(baseline)).facts["better than guessing"])


@call
def linkability(neighbours: str, asked: str = "rates") -> Any:
    """Risk and interval of the two files of four people; the share by chance; or that there is a figure."""
    original = table({"col0": [0, 0, 4, 0], "col1": [0, 1, 9, 4]})
    released = table({"col0": [0, 1, 4, 9], "col1": [0, 1, 4, 9]})
    measure = shoal.Linkability(first=("col0",), second=("col1",), neighbours=int(neighbours))
    finding = measure.measure(original, released)
    if asked in ("runs", "share"):
        return finding.value if asked == "share" else finding.value is not None
    return finding.details["right by guessing at random"] if asked == "baseline" else rates(finding)


@call
def linkability_of_adults() -> float:
    measure = shoal.Linkability(first=("age", "marital"), second=("education", "hr_per_week"), neighbours=5)
    return rates(measure.measure(adults(), adults()))[2]


@call
def inference(guesses: str, secrets: str, tolerance: str = "0.05") -> float:
    """Number of right guesses about two people; tolerance `none`: of categories."""
    categories = tolerance == "none"

    def people(text: str) -> Records:
        cells = [None if part == MISSING else part if categories else float(part) for part in text.split(",")]
        kind = pl.String if categories else pl.Float64
        frame = pl.DataFrame({"who": ["x", "y"], "secret": pl.Series(cells, dtype=kind)})
        level = "nominal" if categories else "continuous"
        roles = {"who": "quasi-identifier", "secret": {"role": "confidential", "level": level, "missing": "keep"}}
        return Microdata.of(frame, roles).records

    measure = shoal.Inference() if categories else shoal.Inference(tolerance=float(tolerance))
    return 2 * (measure.measure(people(secrets), people(guesses)).value or 0.0)


@call
def inference_rates(released: str) -> list[float]:
    """Shares of right guesses about people of the original and about the same people as strangers."""
    original = {"c0": ["a", "c"], "c1": ["b", "d"]}
    before, after = table(original, "c1"), table({"c0": ["a", "c"], "c1": released.split(",")}, "c1")
    details = shoal.Inference(holdout=table(original, "c1")).measure(before, after).details
    return [details["right on people of the original"], details["right on strangers"]]


@call
def inference_of_adults(secret: str, *known: str) -> list[float]:
    measure = shoal.Inference(secrets=(secret,), columns=known, holdout=adults(), tolerance=0.0)
    details = measure.measure(adults(), adults()).details
    return [details["right on people of the original"], details["right on strangers"]]


@call
def singling_out(mode: str, asked: str) -> Any:
    finding = shoal.SinglingOut(mode=mode, attacks=10).measure(adults(), adults())  # type: ignore[arg-type]
    return rates(finding)[0 if asked == "risk" else 2]


@call
def predicates_of_four_values() -> int:
    records = table({"col1": ["a", "b", "c", "d"]})
    return int(shoal.SinglingOut(mode="univariate").measure(records, records).details["guesses"])


@call
def predicates_tried(most: str) -> bool:
    finding = shoal.SinglingOut(attacks=10, tries=int(most)).measure(adults(), adults())
    return bool(finding.details["predicates tried on the release"] <= int(most))


@call
def weight_integral(n: str, low: str, high: str) -> float:
    """Integral of n w (1 - w)^(n - 1) over w, by which the success of guesses is put on another number of people."""
    return float(_integral(float(n), float(high))) - float(_integral(float(n), float(low)))
