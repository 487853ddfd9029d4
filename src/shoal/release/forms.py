"""Forms of facts in evidence.json."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from shoal.vocabulary.facts import Band, ByLabel, Interval


def jsonable(value: Any) -> Any:
    """Bands as mappings, as in `{"at most": 0.2}`; everything else as it is."""
    if isinstance(value, Band):
        bound = {"at most": value.at_most} if value.at_least is None else {"at least": value.at_least}
        return {**bound, "unit": value.unit} if value.unit else bound
    if isinstance(value, Interval):
        return asdict(value)
    if isinstance(value, Mapping):
        return {key: jsonable(below) for key, below in value.items()}
    return [jsonable(below) for below in value] if isinstance(value, (list, tuple)) else value


def without_bands(facts: Mapping[str, Any]) -> ByLabel:
    """The facts that do not depend on the original at all; the others are left out with their names.

    Even the presence of a band depends on the original.
    """
    shown: ByLabel = {}
    for label, value in facts.items():
        below = without_bands(value) if isinstance(value, Mapping) else value
        if not isinstance(below, Band) and (below != {} or value == {}):
            shown[label] = below
    return shown
