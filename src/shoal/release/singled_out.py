"""Records that unchanged columns single out, and the refusal of a release in which nobody has answered for them.

A column is *open* if it leaves unchanged, or nearly so, and no requirement covers it. A requirement covers the columns
on which its classes agree, and a bound on a figure those of its measure; the quasi-identifiers, unless others are
named. A confidential column is taken to be unknown outside, so it is open only if its words or its values say otherwise
(`shoal.plan.guess.known_by`): numbers of persons, dates, places, a sampling weight. Columns with the roles other,
weight and stratum are open. Household numbers are replaced, so they are never unchanged.

A release stops if an open column, or two or three together, single out more than `TOLERATED` of its records. The plan
answers for columns by naming them under `accept`, alone and with each other. A set that is accepted in part stops the
release if it singles out more than `TOLERATED` beyond its accepted part.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from math import comb, prod

from shoal.plan import Plan
from shoal.plan.guess import UNCOVERED
from shoal.privacy.base import ClassModel, PrivacyModel
from shoal.privacy.gate import Gate
from shoal.release.refusal import Unanswered
from shoal.report.unchanged import TOLERATED
from shoal.vocabulary.errors import quoted

LARGEST_SET = 3
MOST_COLUMNS = 24
"""Most columns of which sets are counted, those with the most values."""

MOST_VISITS = 200_000_000
"""Most records times sets of three columns; in large tables sets of fewer columns are counted."""

NAMED = 6
"""Most sets that a refusal names; it names all columns of all sets in what it tells to do."""

Columns = tuple[str, ...]
Uniques = Callable[[Columns], tuple[int, int]]
"""Counts the records that are unique on some columns, and their classes."""


def open_columns(
    plan: Plan, unchanged: Iterable[str], known_by: Callable[[str], str], further: Sequence[PrivacyModel] = ()
) -> dict[str, str]:
    """The unchanged columns that no requirement covers, each with the reason if its role is confidential.

    Parameters
    ----------
    known_by
        The reason why a confidential column identifies people; empty if there is none.
    further
        Requirements on the table in addition to those of the plan.
    """
    covered, reasons = covered_columns(plan, further), {}
    for name in dict.fromkeys(unchanged):
        role = plan.schema.columns[name].role
        reason = known_by(name) if role == "confidential" and name not in covered else ""
        if name not in covered and (reason or role in UNCOVERED or role == "quasi-identifier"):
            reasons[name] = reason
    return reasons


def covered_columns(plan: Plan, further: Sequence[PrivacyModel] = ()) -> set[str]:
    """The columns on which the requirements that protect people, of the plan and further ones, look for them."""
    keys = plan.schema.names("quasi-identifier")
    protecting = [model for model in (*plan.requirements, *further) if model.protects]
    return {name for model in protecting for name in _covered(model, plan, keys)}


def _covered(model: PrivacyModel, plan: Plan, keys: Sequence[str]) -> Sequence[str]:
    """The columns on which a requirement looks for people: of a bound on a figure, those of its measure."""
    if isinstance(model, ClassModel):
        return model.class_columns(keys)
    if not isinstance(model, Gate):
        return keys
    return getattr(model.measure, "columns", None) or plan.schema.names(*model.measure.roles)


def singling_out(names: Iterable[str], accepted: Iterable[str], records: int, counted: Uniques) -> dict[Columns, int]:
    """Smallest sets of up to three columns that single out too many records, and the number of these.

    Parameters
    ----------
    names
        The open columns.
    accepted
        Columns for which the plan answers.
    records
        Number of released records.
    """
    tolerated, answered = TOLERATED * records, set(accepted)
    classes = {name: counted((name,))[1] for name in names}
    most = max(m for m in range(MOST_COLUMNS + 1) if comb(m, LARGEST_SET) * records <= MOST_VISITS)
    widest = sorted(classes, key=lambda name: -classes[name])[:most]
    candidates = [name for name in classes if name in widest]
    sets: dict[Columns, int] = {}
    for size in range(1, LARGEST_SET + 1):
        for some in combinations(classes if size == 1 else candidates, size):
            if answered.issuperset(some) or any(set(smaller) <= set(some) for smaller in sets):
                continue
            if prod(classes[name] for name in some) <= tolerated:
                continue  # no more records are unique than there are classes
            known = tuple(name for name in some if name in answered)
            alone = counted(some)[0]
            if alone - (counted(known)[0] if known else 0) > tolerated:
                sets[some] = alone
    return sets


def refuse_singled_out(
    plan: Plan,
    unchanged: Iterable[str],
    nearly: Sequence[str],
    known_by: Callable[[str], str],
    records: int,
    counted: Uniques,
    further: Sequence[PrivacyModel] = (),
) -> None:
    """Refuse a release whose open columns single out too many records; further parameters as above.

    Parameters
    ----------
    nearly
        Columns that changed, though most of their cells still tell the original ones.

    Raises
    ------
    Unanswered
        Naming the columns, the shares and the ways out. It is not raised where no requirement protects anybody, since
        such a release needs consent of its own.
    """
    if not any(model.protects for model in (*plan.requirements, *further)):
        return
    reasons = open_columns(plan, (*unchanged, *nearly), known_by, further)
    counted, sets, answered = cache(counted), dict[Columns, int](), plan.accept
    while more := singling_out(reasons, answered, records, counted):
        sets |= more
        answered = tuple(dict.fromkeys((*answered, *(name for some in more for name in some))))
    if sets:  # all that would stop it, one answer after the other
        columns = [name for name in reasons if any(name in some for some in sets)]
        sentence = _sentence(sets, columns, reasons, nearly, plan.accept, records)
        raise Unanswered(sentence, {name: _clause(name, sets, records) for name in columns})


def _sentence(
    sets: Mapping[Columns, int],
    columns: Sequence[str],
    reasons: Mapping[str, str],
    nearly: Sequence[str],
    accepted: Sequence[str],
    records: int,
) -> str:
    clauses = list(_clauses(sets, records))
    doubts = [f"'{name}' is confidential in the plan, but {reasons[name]}." for name in columns if reasons[name]]
    doubts += [
        f"'{name}' changed, but most of its cells still tell the original ones." for name in columns if name in nearly
    ]
    more = f"; and {len(sets) - NAMED} further sets" if len(sets) > NAMED else ""
    return " ".join(
        [
            "Nothing was released. Columns leave unchanged that no requirement covers, and people can be found by "
            f"them: {'; '.join(clauses)}{more}.",
            *doubts,
            "Make them quasi-identifiers if others may know them, change them in a step, or take them out (role "
            "identifier). If nobody outside can know them, answer for it in the plan: "
            f"accept: [{', '.join(dict.fromkeys((*accepted, *columns)))}].",
        ]
    )


def _ordered(sets: Mapping[Columns, int]) -> list[tuple[Columns, int]]:
    return sorted(sets.items(), key=lambda entry: (len(entry[0]), -entry[1]))


def _clause(name: str, sets: Mapping[Columns, int], records: int) -> str:
    """A clause on one column: the records it singles out, by itself if it does so, else with others."""
    some, alone = next(entry for entry in _ordered(sets) if name in entry[0])
    others = [other for other in some if other != name]
    return f"singles out {100 * alone / records:.1f} % of the records" + (f", with {quoted(others)}" if others else "")


def _clauses(sets: Mapping[Columns, int], records: int) -> Iterator[str]:
    for place, (some, alone) in enumerate(_ordered(sets)[:NAMED]):
        together, verb = (" together", "single") if len(some) > 1 else ("", "singles")
        of = f"{alone:,}" if place else f"{alone:,} of {records:,} records"
        yield f"{quoted(some)}{together} {verb} out {of} ({100 * alone / records:.1f} %)"
