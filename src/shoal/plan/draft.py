"""Guess a plan for a table, with a reason for each guess; a person corrects it."""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import polars as pl

from shoal.data.identifiers import outright
from shoal.errors import plural, printable

DIRECT = re.compile(r"(^|_)(id|name|ssn|nhs|email|e_mail|phone|tel|passport|iban|address|patient)($|_|no|number)", re.I)
QUASI = re.compile(
    r"age|birth|dob|sex|gender|zip|post(al)?_?code|area|region|county|municip|city|date|admission|"
    r"marit|educ|occup|nation|race|ethni|relat",
    re.I,
)
WEIGHT = re.compile(r"(^|_)(weight|wgt|wt)s?($|_)|sampling_weight", re.I)
HOUSEHOLD = re.compile(r"household|(^|_)hh?id|hhld", re.I)
STRATUM = re.compile(r"^strat(um|a|e|ification)?s?($|_)|_strat(um|a)$", re.I)
FEW_CODES = 20
K = 5
"""Smallest group of a drafted plan."""
MANY_KEYS = 12
"""With more quasi-identifiers, suppression would leave little: the records are averaged instead."""
KEPT = {"nominal": ("category", "are a category of their own"), "continuous": ("impute", "are filled by the median")}
"""What a drafted plan does with missing values of quasi-identifiers, by level."""
FORMATS = {
    "parquet": "parquet",
    "xlsx": "xlsx",
    "xls": "xlsx",
    **dict.fromkeys(("sav", "zsav", "por"), "sav"),
    "dta": "dta",
    **dict.fromkeys(("xpt", "sas7bdat"), "xpt"),
}
"""What is written for what was read; csv for all else."""
ANEW = {
    "household": ("identifier", "whoever is made up has no household"),
    "weight": ("other", "drawn anew like all others"),
    "stratum": ("other", "drawn anew like all others"),
}
"""Roles that mean nothing where every record is made up, what a column has instead, and why."""
NO_OTHER = "no column stands out as known to others, so this measurement may be; make it confidential if not"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """A column's role and level, what becomes of its missing values (empty where it has none), and why."""

    name: str
    role: str
    level: str
    reason: str
    missing: str = ""


def guess(frame: pl.DataFrame, labelled: Collection[str] = (), *, synthetic: bool = False) -> list[Guess]:
    """A guess for each column, in order.

    Parameters
    ----------
    labelled
        Columns whose codes have labels in the file: categories, whatever their numbers look like.
    synthetic
        Whether every record is to be made up, and not one person's with some cells changed.
    """
    if synthetic:
        return [_made_up(one, frame[one.name]) for one in guess(frame, labelled)]
    guesses = _one_of_a_kind([_guess(column, column.name in labelled) for column in frame])
    household = next((g.name for g in guesses if g.role == "household"), None)
    if household is not None:
        guesses = [_unless_divided(one, frame, household) if one.role == "stratum" else one for one in guesses]
    if any(g.role == "quasi-identifier" for g in guesses):
        return guesses
    return [replace(g, role="quasi-identifier", reason=NO_OTHER) if g.role == "confidential" else g for g in guesses]


def _one_of_a_kind(guesses: Sequence[Guess]) -> list[Guess]:
    """At most one weight and one household number: a table has no more."""
    seen: set[str] = set()
    kept = []
    for one in guesses:
        if one.role in seen:
            reason = f"{one.reason}; a {one.role} already stands before it, and a table has one"
            one = replace(one, role="identifier" if one.role == "household" else "other", reason=reason)
        seen |= {one.role} & {"weight", "household"}
        kept.append(one)
    return kept


def _unless_divided(stratum: Guess, frame: pl.DataFrame, household: str) -> Guess:
    """A stratum holds whole households, and enough of them for a group."""
    members = frame.select(household, stratum.name).unique()
    fewest = int(members.group_by(stratum.name).len()["len"].to_numpy().min())
    if len(members) == frame[household].n_unique() and fewest >= K:
        return stratum
    return replace(stratum, role="other", reason="named like a stratum, but households lie in several, or are few")


def _guess(column: pl.Series, labelled: bool) -> Guess:
    n, missing = len(column), column.null_count()
    distinct = column.n_unique() - (missing > 0)
    if n and not distinct:
        return Guess(name=column.name, role="other", level="nominal", reason="no value at all; leave the column out")
    numeric = column.dtype.is_numeric()
    measured = column.dtype.is_temporal() or (numeric and distinct > FEW_CODES)
    level = "continuous" if measured and not labelled else "nominal"
    role, reason = _role(column.name, n, distinct, numeric and not labelled, column.dtype.is_temporal())
    if role == "other" and STRATUM.search(column.name) and _may_be_stratum(column):
        role, reason = "stratum", "named like a stratum, and every stratum has enough records"
    if role in ("quasi-identifier", "confidential") and not labelled and (what := _outright(column)):
        role, reason = "identifier", f"its values look like {what}"
    if labelled:
        reason += "; its codes have labels"
    if role in ("identifier", "household"):
        level = "nominal"
    if role == "weight":
        level = "continuous"
    if level == "nominal" and numeric and not labelled and role not in ("identifier", "household"):
        reason += f"; a number with only {plural(distinct, 'different value')} looks like a code"
    if not missing or role in ("identifier", "other"):
        return Guess(name=column.name, role=role, level=level, reason=reason)
    if role == "confidential":
        policy, what = "keep", "stay missing"
    else:
        policy, what = KEPT[level]
    reason += f"; missing values ({missing:,}) {what}"
    return Guess(name=column.name, role=role, level=level, reason=reason, missing=policy)


def _outright(column: pl.Series) -> str:
    """What the values are that name a person by themselves; empty where they do not. Fractions and dates never do."""
    if not (column.dtype.is_integer() or column.dtype == pl.String):
        return ""
    return outright(column.drop_nulls().unique(maintain_order=True))


def _may_be_stratum(column: pl.Series) -> bool:
    counts = column.value_counts()["count"].to_list()
    return column.null_count() == 0 and min(counts, default=0) >= 2 * K


def _role(name: str, n: int, distinct: int, numeric: bool, temporal: bool) -> tuple[str, str]:
    if WEIGHT.search(name) and numeric:
        return "weight", "named like a sampling weight"
    if STRATUM.search(name):
        return "other", "named like a stratum"
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


def columns_of(frame: pl.DataFrame, labelled: Collection[str] = ()) -> dict[str, dict[str, str]]:
    """The guesses as the section `columns` of a plan."""
    return {
        g.name: {"role": g.role, "level": g.level, **({"missing": g.missing} if g.missing else {})}
        for g in guess(frame, labelled)
    }


def plan_text(frame: pl.DataFrame, source: str, labelled: Collection[str] = (), *, synthetic: bool = False) -> str:
    """A plan file that runs as it stands, the reason for each guess as a comment.

    Parameters
    ----------
    source
        Name of the file that was read; what is released is written in the same format.
    labelled, synthetic
        As in `guess`.
    """
    guesses = guess(frame, labelled, synthetic=synthetic)
    wide = max((len(_key(g.name)) for g in guesses), default=0)
    lines = [
        f"# Guessed from {printable(source)} ({len(frame):,} records). Correct the roles before you trust a release:",
        "# identifier, quasi-identifier, confidential, other, weight, household or stratum.",
        "columns:",
    ]
    for g in guesses:
        more = f", missing: {g.missing}" if g.missing else ""
        body = f"{_key(g.name) + ':':<{wide + 1}} {{role: {g.role}, level: {g.level}{more}}}"
        lines.append(f"  {body:<{wide + 52}} # {g.reason}")
    ending = source.lower().removesuffix(".gz").rpartition(".")[2]
    done = _synthesised(frame, guesses) if synthetic else _done(frame, guesses)
    return "\n".join([*lines, *done, f"output: {{format: {FORMATS.get(ending, 'csv')}}}", ""])


def _done(frame: pl.DataFrame, guesses: Sequence[Guess]) -> list[str]:
    """Steps and requirements that suit the quasi-identifiers."""
    keys = [g for g in guesses if g.role == "quasi-identifier"]
    k = min(K, len(frame))
    if not keys or k < 2:
        return ["# Nothing here can be protected: no column that others may know, or too few records.", "steps: []"]
    if len(keys) > MANY_KEYS or any(g.level == "continuous" for g in keys):
        return [
            "steps: # groups of similar records, in which everyone has the group's average",
            f"  - {{partition: mdav, k: {k}, replace: centroid}}",
            "requirements:",
            f"  - {{privacy: k-anonymity, k: {k}}}",
        ]
    rare = max(2 * K, len(frame) // 100)
    wide = [g.name for g in keys if frame[g.name].dtype == pl.String and frame[g.name].n_unique() > FEW_CODES]
    recoded = [f"  - {{mask: recode, columns: [{_key(name)}], rare: {rare}, other: other}}" for name in wide]
    return [
        "steps: # rare categories put together, then as few cells taken out as will do",
        *recoded,
        f"  - {{mask: suppress, k: {k}}}",
        "requirements:",
        f"  - {{privacy: k-anonymity, k: {k}, missing: wildcard}}",
    ]


def _made_up(one: Guess, column: pl.Series) -> Guess:
    """The guess for a table in which every column is drawn anew, what is missing too."""
    if column.null_count() == len(column):
        return replace(one, role="identifier", missing="")  # nothing to draw: it is left out
    role, why = ANEW.get(one.role, (one.role, ""))
    reason = "; ".join(part for part in (one.reason.partition("; missing values")[0], why) if part)
    if role == "identifier" or not column.null_count():
        return replace(one, role=role, missing="", reason=reason)
    reason += f"; missing values ({column.null_count():,}) are made up like others"
    return replace(one, role=role, missing="keep", reason=reason)


def _synthesised(frame: pl.DataFrame, guesses: Sequence[Guess]) -> list[str]:
    """The step that makes records up, and what is asked of them."""
    drawn = [g.name for g in guesses if g.role != "identifier"]
    if not any(g.role == "quasi-identifier" for g in guesses) or len(frame) < 2:
        return ["# Nothing here can be made up: no column that others may know, or too few records.", "steps: []"]
    measures = ["{utility: k-marginal}"]
    if secrets := [_key(g.name) for g in guesses if g.role == "confidential" and not g.missing]:
        named = f", columns: [{', '.join(secrets)}]" if any(g.missing for g in guesses) else ""
        better = "better with a holdout: people of the same kind who are not in this file"
        measures.append(f"{{risk: attribute-inference{named}}} # {better}")
    return [
        "steps: # all records are one group, in which every column is drawn anew; no record is anybody's",
        f"  - {{partition: whole, columns: [{', '.join(map(_key, drawn))}], replace: cart}}",
        "requirements: # of 100 people, at most 5 who are alone with what others know may turn up among those made up",
        "  - {risk: replicated-uniques, at most: 0.05}",
        "# Once you know what it comes to, limit the loss here too, as in - {utility: k-marginal, at least: 800}",
        "measures:",
        *(f"  - {measure}" for measure in measures),
    ]


def _key(name: str) -> str:
    plain = re.fullmatch(r"[A-Za-z_][\w-]*", name) and name.lower() not in ("null", "true", "false", "yes", "no")
    return name if plain else json.dumps(name, ensure_ascii=not name.isprintable())  # what JSON quotes YAML reads
