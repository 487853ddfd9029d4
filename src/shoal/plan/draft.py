"""Guess a plan for a table, with a reason for each guess; a person corrects it."""

import json
import re
from dataclasses import dataclass, replace

import polars as pl

from shoal.errors import plural, printable

DIRECT = re.compile(r"(^|_)(id|name|ssn|nhs|email|e_mail|phone|tel|passport|iban|address|patient)($|_|no|number)", re.I)
QUASI = re.compile(
    r"age|birth|dob|sex|gender|zip|post(al)?_?code|area|region|county|municip|city|date|admission|"
    r"marit|educ|occup|nation|race|ethni|relat",
    re.I,
)
WEIGHT = re.compile(r"(^|_)(weight|wgt|wt)s?($|_)|sampling_weight", re.I)
HOUSEHOLD = re.compile(r"household|(^|_)hh?id|hhld", re.I)
FEW_CODES = 20
CATEGORY = {"nominal": ", category", "continuous": ""}
"""Missing values can be a category of their own where there are categories."""
NO_OTHER = "no column stands out as known to others, so this measurement may be; make it confidential if not"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """A column's role and level, and why."""

    name: str
    role: str
    level: str
    reason: str


def guess(frame: pl.DataFrame) -> list[Guess]:
    """A guess for each column, in order."""
    guesses = [_guess(column) for column in frame]
    if any(g.role == "quasi-identifier" for g in guesses):
        return guesses
    return [replace(g, role="quasi-identifier", reason=NO_OTHER) if g.role == "confidential" else g for g in guesses]


def _guess(column: pl.Series) -> Guess:
    n, missing = len(column), column.null_count()
    distinct = column.n_unique() - (missing > 0)
    if n and not distinct:
        return Guess(name=column.name, role="other", level="nominal", reason="no value at all; leave the column out")
    numeric = column.dtype.is_numeric()
    level = "continuous" if column.dtype.is_temporal() or (numeric and distinct > FEW_CODES) else "nominal"
    role, reason = _role(column.name, n, distinct, numeric, column.dtype.is_temporal())
    if role in ("identifier", "household"):
        level = "nominal"
    if role == "weight":
        level = "continuous"
    if level == "nominal" and numeric and role not in ("identifier", "household"):
        reason += f"; a number with only {plural(distinct, 'different value')} looks like a code"
    if missing and role not in ("identifier", "other"):
        reason += f"; {plural(missing, 'missing value')}: say missing: drop, impute{CATEGORY[level]} or keep"
    return Guess(name=column.name, role=role, level=level, reason=reason)


def _role(name: str, n: int, distinct: int, numeric: bool, temporal: bool) -> tuple[str, str]:
    if WEIGHT.search(name) and numeric:
        return "weight", "named like a sampling weight"
    if HOUSEHOLD.search(name) and distinct > n / 20:
        return "household", "named like a household number"
    if DIRECT.search(name) and distinct > 0.9 * n:
        return "identifier", "named like an identifier, and almost every value is different"
    if not numeric and not temporal and distinct > 0.9 * n and n > FEW_CODES:
        return "identifier", "text in which almost every value is different"
    if QUASI.search(name) or temporal:
        return "quasi-identifier", "an intruder may know this about a person"
    if numeric and distinct > FEW_CODES:
        return "confidential", "a measurement that an intruder wants to learn"
    return "quasi-identifier", (
        f"{plural(distinct, 'different value')} that others may know; make it confidential if not"
    )


def plan_text(frame: pl.DataFrame, source: str) -> str:
    """A plan file with the guesses, the reason for each as a comment."""
    guesses = guess(frame)
    wide = max((len(_key(g.name)) for g in guesses), default=0)
    lines = [
        f"# Guessed from {printable(source)} ({len(frame):,} records). Correct the roles before you trust a release:",
        "# identifier, quasi-identifier, confidential, other, weight, household or stratum.",
        "columns:",
    ]
    for g in guesses:
        body = f"{_key(g.name) + ':':<{wide + 1}} {{role: {g.role}, level: {g.level}}}"
        lines.append(f"  {body:<{wide + 52}} # {g.reason}")
    return "\n".join(
        [
            *lines,
            "steps:",
            "  - {partition: mdav, k: 5, replace: centroid}",
            "requirements:",
            "  - {privacy: k-anonymity, k: 5}",
            "output: {format: csv}",
            "",
        ]
    )


def _key(name: str) -> str:
    plain = re.fullmatch(r"[A-Za-z_][\w-]*", name) and name.lower() not in ("null", "true", "false", "yes", "no")
    return name if plain else json.dumps(name, ensure_ascii=not name.isprintable())  # what JSON quotes YAML reads
