"""The refusal of a release in which unchanged columns give back a column that steps changed for a requirement.

Classes of k records with one mean of the ages hide nobody by age if the year of birth stands beside it. Laws of the
original show it (`shoal.table.laws`): a copy, within the rounding of its cells, a sum, a look-up. A column that changed
counts as well if most of its cells still tell the original ones where the other changed and it parts a class. Blanked
cells are not looked at here, since every requirement is judged with those filled in that laws give back. The plan
answers for columns by naming them under `accept`.
"""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from shoal.judges.laws_of_table import REMEDY, ListedLaw, laws_on
from shoal.kernels.arrays import Bools, Longs
from shoal.plan import Plan
from shoal.privacy.base import PrivacyModel
from shoal.release.refusal import Unanswered
from shoal.release.singled_out import covered_columns
from shoal.release.unchanged import differing, tells
from shoal.table.records import Records


def refuse_given_back(
    plan: Plan,
    unchanged: Collection[str],
    nearly: Collection[str],
    tables: tuple[Records, Records, Longs],
    further: Sequence[PrivacyModel] = (),
) -> None:
    """Refuse a release in which unchanged columns give back one that a requirement covers and that changed.

    Parameters
    ----------
    unchanged
        Columns whose cells are those of the original.
    nearly
        Columns that changed, though most of their cells still tell the original ones.
    tables
        The original and the released records, and the original record of each released one.
    further
        Requirements on the table in addition to those of the plan.

    Raises
    ------
    Unanswered
        Naming the laws, and the ways out.
    """
    original, released, place = tables
    covered = covered_columns(plan, further)
    names = [name for name in released.names() if name in covered and name in original]
    cells = {name: _changed(original, released, name, place) for name in names}
    changed = {name: np.flatnonzero(rows) for name, rows in cells.items() if rows.any()}

    def stays(source: str, rows: Longs) -> bool:
        """True if a column tells where the other changed, and more than the columns that a requirement covers do."""
        if source in unchanged:
            return True
        rows = rows[(_sizes(released, names) > _sizes(released, [*names, source]))[rows]]
        return tells(original[source].take(place[rows]), released[source].take(rows))

    laws = laws_on(original, changed, {*unchanged, *nearly}) if changed else []
    open_laws = [
        law
        for law in _unanswered(laws, {*covered, *plan.accept})
        if all(stays(s, changed[law.name]) for s in law.sources)
    ]
    if open_laws:
        clauses = {name: f"gives '{law.name}' back" for law in open_laws for name in law.sources if name not in covered}
        raise Unanswered(_sentence(open_laws, plan), clauses)


def _changed(original: Records, released: Records, name: str, place: Longs) -> Bools:
    """Shape (n',); True where a cell differs from the original one, other than by being blanked."""
    return np.asarray(differing(original[name].take(place), released[name]) & ~released[name].missing)


def _sizes(released: Records, names: Sequence[str]) -> Longs:
    """Shape (n',); the number of records that agree with each on some columns."""
    classes = released.alike(names)
    return np.bincount(classes)[classes]


def _unanswered(laws: Collection[ListedLaw], answered: Collection[str]) -> Iterator[ListedLaw]:
    """Laws with a source that is neither covered nor accepted.

    A look-up with exceptions, such as of a town by an illness, is a tendency, by which the column is guessed at best.
    """
    for law in laws:
        certain = law.arithmetic or not law.exceptions
        if certain and not set(law.sources) <= set(answered):
            yield law


def _sentence(laws: Collection[ListedLaw], plan: Plan) -> str:
    columns = dict.fromkeys((*plan.accept, *(name for law in laws for name in law.sources)))
    return (
        f"Nothing was released. Columns that leave unchanged, or nearly so, give back others that steps changed to "
        f"hide people: {'; '.join(map(str, laws))}. The remedy: {REMEDY}. If nobody outside can know these columns, "
        f"answer for it in the plan: accept: [{', '.join(columns)}]."
    )
