"""The refusal of a release in which unchanged columns give back a column that steps changed for a requirement.

Classes of k records with one mean of the ages hide nobody by age if the year of birth stands beside it. Laws of the
original show it (`shoal.table.laws`): a copy, within the rounding of its cells, a sum, a look-up. Blanked cells are not
looked at here, since every requirement is judged with those filled in that laws give back. The plan answers for columns
by naming them under `accept`.
"""

from collections.abc import Collection, Iterator

from shoal.judges.laws_of_table import REMEDY, ListedLaw, laws_on
from shoal.kernels.arrays import Longs
from shoal.plan import Plan
from shoal.release.refusal import Unanswered
from shoal.release.singled_out import covered_columns
from shoal.release.unchanged import differing
from shoal.table.records import Records


def refuse_given_back(
    plan: Plan, unchanged: Collection[str], original: Records, released: Records, place: Longs
) -> None:
    """Refuse a release in which unchanged columns give back one that a requirement covers and that changed.

    Parameters
    ----------
    unchanged
        Columns whose cells are those of the original.
    place
        Shape (n',); the original record of each released one.

    Raises
    ------
    Unanswered
        Naming the laws, and the ways out.
    """
    covered = covered_columns(plan)
    changed = [name for name in released.names() if name in covered and _changed(original, released, name, place)]
    if laws := list(_open_laws(plan, original, changed, unchanged, covered)):
        clauses = {name: f"gives '{law.name}' back" for law in laws for name in law.sources if name not in covered}
        raise Unanswered(_sentence(laws, plan), clauses)


def _changed(original: Records, released: Records, name: str, place: Longs) -> bool:
    """True if cells differ from those of the original, other than by being blanked."""
    if name not in original:
        return False
    return bool((differing(original[name].take(place), released[name]) & ~released[name].missing).any())


def _open_laws(
    plan: Plan, original: Records, changed: Collection[str], unchanged: Collection[str], covered: Collection[str]
) -> Iterator[ListedLaw]:
    """Laws that give back changed columns by unchanged ones that are neither all covered nor accepted.

    A look-up with exceptions, such as of a town by an illness, is a tendency, by which the column is guessed at best.
    """
    for law in laws_on(original, changed, unchanged) if changed else ():
        certain = law.arithmetic or not law.exceptions
        if certain and not set(law.sources) - set(covered) <= set(plan.accept):
            yield law


def _sentence(laws: Collection[ListedLaw], plan: Plan) -> str:
    columns = dict.fromkeys((*plan.accept, *(name for law in laws for name in law.sources)))
    return (
        f"Nothing was released. Columns leave unchanged that give back others which steps changed to hide people: "
        f"{'; '.join(map(str, laws))}. The remedy: {REMEDY}. If nobody outside can know these columns, answer for it "
        f"in the plan: accept: [{', '.join(columns)}]."
    )
