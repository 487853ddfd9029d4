"""A guess at the role of each column, from its words and its values; in doubt the stricter role is taken.

People run a guessed plan unchanged because they trust it, so a wrong guess must cost information and never a person's
privacy. A column in which most records are alone with their value is never guessed to be one that leaves unchanged.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from shoal.table.column_words import Meaning, meaning
from shoal.table.files.table import Table
from shoal.table.identifiers import outright
from shoal.vocabulary.errors import plural

FEW_CODES = 20
"""A number with no more different values than these looks like a code."""

K = 5
"""Smallest group of a drafted plan."""

OWN = 0.5
"""A column singles out people if at least this share of its records are alone with their value."""

LARGE_GROUPS = 20
"""Households, and clusters of a sample, have fewer members than this on average."""

KEPT = {
    "nominal": ("category", "are a category of their own"),
    **dict.fromkeys(("ordinal", "continuous"), ("impute", "are filled by the median")),
}
"""Policy for missing values of quasi-identifiers in a drafted plan, by level."""

ANEW = {
    "household": ("identifier", "whoever is made up has no household"),
    "weight": ("other", "drawn anew like all others"),
    "stratum": ("other", "drawn anew like all others"),
}
"""Roles that mean nothing where every record is synthetic: the role that a column has instead, and why."""

UNCOVERED = ("other", "weight", "stratum")
"""Roles of columns that no requirement covers; if they single people out, the plan has to answer for them."""

NO_OTHER = "no column stands out as known to others, so this measurement may be; make it confidential if not"

BODY = ((40, 110, 400), (110, 250, 800), (2000, 4500, 8000))
"""Ranges of the median, and maxima, of people's weights: in kilograms, in pounds, and in grams at birth."""

SIZE_WORDS = ("height", "heights", "korpergrosse", "estatura", "statura", "altezza", "how tall")
"""Words for a person's height; a table that has such a column tells how heavy people are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """A column's role and level, its policy for missing values (empty where it has none), and the reason."""

    name: str
    role: str
    level: str
    reason: str
    missing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """Features of a column from which its role is guessed.

    Parameters
    ----------
    series
        Its cells, missing ones included.
    codes
        True if labels stand for its cells, so that its numbers are names of categories.
    ordered
        True if the file declares its numbers ordinal.
    spoken_of
        The meaning of its label and name.
    present, distinct, alone
        Numbers of known cells, of their distinct values, and of records that are alone with their value.
    """

    series: pl.Series
    codes: bool
    ordered: bool
    spoken_of: Meaning | None
    present: int
    distinct: int
    alone: int
    outright: str = field(repr=False)

    @classmethod
    def of(cls, series: pl.Series, labels: Iterable[object], label: str, measure: str = "") -> "Looks":
        """The features of a column, given the codes with labels, its description, and its measure in SPSS."""
        cells = series.drop_nulls()
        counts = cells.unique_counts() if len(cells) else pl.Series([], dtype=pl.UInt32)
        coded = set(map(str, labels))
        named = sum(_code(value) in coded for value in cells.unique().head(10 * len(coded)).to_list()) if coded else 0
        text_or_whole = series.dtype.is_integer() or series.dtype == pl.String
        return cls(
            series=series,
            codes=2 * named >= len(counts) > 0,
            ordered=measure == "ordinal" and series.dtype.is_numeric(),
            spoken_of=meaning(series.name, label),
            present=len(cells),
            distinct=len(counts),
            alone=int((counts == 1).sum()),
            outright=outright(cells.unique(maintain_order=True)) if text_or_whole else "",
        )

    @property
    def role(self) -> str | None:
        """The role that its words suggest; None if they say nothing, empty if they name no trait of a person."""
        return None if self.spoken_of is None else self.spoken_of.role

    @property
    def number(self) -> bool:
        return self.series.dtype.is_numeric() and not self.codes

    @property
    def temporal(self) -> bool:
        return self.series.dtype.is_temporal()

    @property
    def numbers_name(self) -> bool:
        """True if, by its words, its numbers are names and measure nothing."""
        meaning = self.spoken_of
        return meaning is not None and (
            meaning.role in ("identifier", "unit", "stratum") or meaning.words.endswith("code")
        )

    @property
    def measured(self) -> bool:
        return self.temporal or (self.number and self.distinct > FEW_CODES)

    @property
    def own(self) -> bool:
        """True if most records are alone with their value, in a table of more than a handful."""
        return self.distinct > FEW_CODES and self.alone >= OWN * self.present

    @property
    def repeats(self) -> bool:
        """True if only a few records share a value, as with numbers of households or clusters."""
        return self.distinct * LARGE_GROUPS > self.present


def known_by(table: Table, name: str) -> str:
    """The reason why a column identifies people whatever its role, from its words and the form of its values.

    It is empty if there is none, as where only the spread of its values would decide: most incomes are unique, too.
    """
    role = _by_content(_looks(table, name), body=False)
    return "" if role is None else role[1]


def _looks(table: Table, name: str) -> Looks:
    labels, codes = table.labels.get(name, ""), table.value_labels.get(name, ())
    return Looks.of(table.frame[name], codes, labels, table.measures.get(name, ""))


def _code(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def guess(table: Table, *, synthetic: bool = False) -> list[Guess]:
    """A guess for each column, in order.

    Parameters
    ----------
    table
        With the labels of its columns and of their codes, where the file has such.
    synthetic
        True if every record is to be synthetic, so that none is a person's with some cells changed.
    """
    looks = [_looks(table, name) for name in table.frame.columns]
    body = any(look.spoken_of is not None and look.spoken_of.words in SIZE_WORDS for look in looks)
    guesses = _one_of_a_kind([_guess(look, body=body, leaves=not synthetic) for look in looks], looks)
    if synthetic:
        return [_synthesised(guessed, table.frame[guessed.name]) for guessed in guesses]
    household = next((g.name for g in guesses if g.role == "household"), None)
    if household is not None:
        guesses = [_unless_divided(g, table.frame, household) if g.role == "stratum" else g for g in guesses]
    if any(g.role == "quasi-identifier" for g in guesses):
        return guesses
    return [replace(g, role="quasi-identifier", reason=NO_OTHER) if g.role == "confidential" else g for g in guesses]


def stricter(guessed: Guess, role: str) -> bool:
    """True if a guess contradicts a role by calling the column an identifier or known to others."""
    order = ("confidential", "other", "weight", "stratum", "quasi-identifier", "household", "person", "identifier")
    return guessed.role in ("identifier", "quasi-identifier") and order.index(guessed.role) > order.index(role)


def _one_of_a_kind(guesses: Sequence[Guess], looks: Sequence[Looks]) -> list[Guess]:
    """Keep at most one weight and one household number, since a table has no more."""
    seen: set[str] = set()
    kept = []
    for guessed, look in zip(guesses, looks):
        if guessed.role in seen:
            reason = f"{guessed.reason}; a {guessed.role} already stands before it, and a table has one"
            left_out = guessed.role == "household" or look.own
            guessed = replace(guessed, role="identifier" if left_out else "other", reason=reason)
        seen |= {guessed.role} & {"weight", "household"}
        kept.append(guessed)
    return kept


def _unless_divided(stratum: Guess, frame: pl.DataFrame, household: str) -> Guess:
    """The stratum, if it holds whole households and enough of them for a group; else the role `other`."""
    members = frame.select(household, stratum.name).unique()
    fewest = int(members.group_by(stratum.name).len()["len"].to_numpy().min())
    if len(members) == frame[household].n_unique() and fewest >= K:
        return stratum
    return replace(stratum, role="other", reason="named like a stratum, but households lie in several, or are few")


def _guess(look: Looks, *, body: bool, leaves: bool) -> Guess:
    """The guess for one column.

    Parameters
    ----------
    body
        True if another column tells how tall people are.
    leaves
        True if a column that no step changes is released as it is.
    """
    column, missing = look.series, look.series.null_count()
    if len(column) and not look.distinct:
        return Guess(name=column.name, role="other", level="nominal", reason="no value at all; leave the column out")
    role, reason = _role(look, body=body, leaves=leaves)
    level = "continuous" if look.measured and role != "stratum" else "nominal"
    if role == "quasi-identifier" and look.numbers_name:
        level = "nominal"
    elif look.ordered and role in ("quasi-identifier", "confidential", "other"):
        level = "ordinal"
        reason += "; ordinal in the file"
    if look.codes:
        reason += "; its codes have labels"
    if role in ("identifier", "household"):
        level = "nominal"
        if role == "identifier" and look.distinct < look.present and not look.codes:
            reason += f"; {look.distinct:,} different values in {plural(look.present, 'record')}"
    if role == "weight":
        level = "continuous"
    elif level == "nominal" and look.number and look.distinct <= FEW_CODES and role not in ("identifier", "household"):
        reason += f"; a number with only {plural(look.distinct, 'different value')} looks like a code"
    if not missing or role in ("identifier", "other"):
        return Guess(name=column.name, role=role, level=level, reason=reason)
    policy, what = ("keep", "stay missing") if role == "confidential" else KEPT[level]
    reason += f"; missing values ({missing:,}) {what}"
    return Guess(name=column.name, role=role, level=level, reason=reason, missing=policy)


def _role(look: Looks, *, body: bool, leaves: bool) -> tuple[str, str]:
    """The role and why: by the form of the values, by the words, and by how the values are spread."""
    return _by_content(look, body=body) or _by_spread(look, leaves=leaves)


def _by_content(look: Looks, *, body: bool) -> tuple[str, str] | None:
    """The role that the words or the form of the values show, and why; None if they show none."""
    if look.outright and not look.codes and look.role not in ("weight", "household"):
        return "identifier", f"its values look like {look.outright}"
    by_words = _by_words(look, body=body)
    if by_words is not None:
        return by_words
    text = not look.number and not look.temporal
    if look.own and text:
        return "identifier", "text in which nearly every record has a value of its own"
    if look.temporal:
        return "quasi-identifier", "an intruder may know this about a person"
    if look.role != "" and look.series.dtype.is_integer() and not look.codes and (what := _numbered(look)):
        return "identifier", f"{what}; doubtful, confidential if it is a measurement that nobody knows"
    return None


def _by_spread(look: Looks, *, leaves: bool) -> tuple[str, str]:
    """The role and why, as far as the spread of the values tells."""
    if not look.measured:
        return "quasi-identifier", (
            f"{plural(look.distinct, 'different value')} that others may know; make it confidential if not"
        )
    if look.own and leaves:
        return "quasi-identifier", (
            "a measurement, but most records are alone with theirs; make it confidential if nobody can know it"
        )
    return "confidential", "a measurement that an intruder wants to learn"


def _by_words(look: Looks, *, body: bool) -> tuple[str, str] | None:
    """The role that the words suggest, as far as the values agree."""
    meaning = look.spoken_of
    if meaning is None or not meaning.role:
        return None
    doubt = "; doubtful" if meaning.term.doubtful else ""
    if meaning.role == "weight":
        return _weight(look, meaning, body=body)
    if meaning.role == "household":
        if look.repeats or look.own:
            return "household", f"{meaning.reason}: a household number"
        return "quasi-identifier", f"{meaning.reason}, with few values; doubtful"
    if meaning.role == "unit":
        if look.repeats or look.own:
            return "identifier", f"{meaning.reason}: whose neighbours share it"
        return "quasi-identifier", f"{meaning.reason}: whose neighbours share it; confidential if nobody can know it"
    if meaning.role == "stratum":
        if _may_be_stratum(look.series):
            return "stratum", f"{meaning.reason}, and every stratum has enough records"
        if look.own:
            return "identifier", f"{meaning.reason}, but most have one record"
        return "quasi-identifier", f"{meaning.reason}, but some have few records"
    if meaning.role == "identifier":
        if look.distinct <= FEW_CODES and 2 * look.distinct <= look.present:
            return "quasi-identifier", f"{meaning.reason}, with few values; doubtful"
        return "identifier", meaning.reason + doubt
    if look.own and not look.temporal and (not look.number or meaning.term.doubtful):
        return "identifier", f"{meaning.reason}, and nearly every record has a value of its own"
    return "quasi-identifier", f"{meaning.reason}: an intruder may know this about a person{doubt}"


def _weight(look: Looks, meaning: Meaning, *, body: bool) -> tuple[str, str] | None:
    """A sampling weight, or a person's body weight where the word means both; None unless all are positive numbers."""
    if not look.number or look.series.null_count() or not float(np.nanmin(look.series.to_numpy())) > 0:
        return None
    if meaning.term.doubtful and (body or _as_people_weigh(look.series)):
        return (
            "quasi-identifier",
            f"{meaning.reason}: of a person, by its values; doubtful, weight if it is the sample's",
        )
    return "weight", f"{meaning.reason}: a sampling weight"


def _as_people_weigh(series: pl.Series) -> bool:
    values = series.to_numpy()
    middle, most = float(np.nanmedian(values)), float(np.nanmax(values))
    return any(low <= middle <= high and most <= end for low, high, end in BODY)


def _may_be_stratum(column: pl.Series) -> bool:
    counts = column.unique_counts().to_list()
    return column.null_count() == 0 and min(counts, default=0) >= 2 * K


def _numbered(look: Looks) -> str:
    """Kind of numbering, if the whole numbers count records or groups of records; empty if they measure something."""
    numbers = look.series.drop_nulls().to_numpy()
    if look.distinct <= FEW_CODES:
        return ""
    dense = look.distinct > int(numbers.max()) - int(numbers.min())
    rising = bool((np.diff(numbers) >= 0).all())
    if look.alone == look.present and (dense or rising):
        return "whole numbers that count the records"
    runs = 1 + int((np.diff(numbers) != 0).sum())
    if runs == look.distinct < look.present and look.repeats and (dense or rising):
        return "whole numbers that a few records in a row share"
    return ""


def _synthesised(guessed: Guess, column: pl.Series) -> Guess:
    """The guess for a table in which every column is drawn anew, missing cells included."""
    if column.null_count() == len(column):
        return replace(guessed, role="identifier", missing="")  # nothing to draw: it is left out
    role, why = ANEW.get(guessed.role, (guessed.role, ""))
    reason = "; ".join(part for part in (guessed.reason.partition("; missing values")[0], why) if part)
    if role == "identifier" or not column.null_count():
        return replace(guessed, role=role, missing="", reason=reason)
    reason += f"; missing values ({column.null_count():,}) are made up like others"
    return replace(guessed, role=role, missing="keep", reason=reason)


def columns_of(table: Table) -> dict[str, dict[str, str]]:
    """The guesses as the section `columns` of a plan."""
    described: Mapping[str, Guess] = {g.name: g for g in guess(table)}
    return {
        name: {"role": g.role, "level": g.level, **({"missing": g.missing} if g.missing else {})}
        for name, g in described.items()
    }
