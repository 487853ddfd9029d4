"""Records of a large release that are alone with their values, counted on all of it and not on a sample."""

from collections.abc import Mapping, Sequence

from shoal.proof.in_parts import Judged

Columns = tuple[str, ...]


def counts_alone(judged: Judged, sets: Sequence[Columns]) -> Mapping[Columns, tuple[int, int]]:
    """For each set of columns the records that are alone by it, and by it and the quasi-identifiers together."""
    keys = judged.whole.schema.names("quasi-identifier")
    alone = judged.table.alone
    return {names: (alone(names), alone(tuple(dict.fromkeys((*keys, *names))))) for names in sets}
