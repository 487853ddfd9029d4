"""Numbers of groups to try: one number or a range, as the mixture methods take them."""

import re
from typing import Annotated

from pydantic import AfterValidator

from shoal.vocabulary.prelude import ParameterError, Setting, plural


def _checked(groups: int | str) -> int | str:
    match = re.fullmatch(r"\s*(\d+)\s*\.\.\s*(\d+)\s*", groups) if isinstance(groups, str) else None
    low, high = (int(match[1]), int(match[2])) if match else (groups, groups)
    if not isinstance(low, int) or not isinstance(high, int) or not 1 <= low <= high:
        raise ValueError("a number of groups, at least 1, or a range such as '2..10'")
    return groups if isinstance(groups, int) else f"{low}..{high}"


Groups = Annotated[int | str, AfterValidator(_checked), Setting()]
"""A number of groups, or a range such as "2..10"."""


def group_counts(groups: Groups, k: int, n: int, name: str) -> list[int]:
    """The numbers of groups that `n` records can fill with `k` each.

    ParameterError if there is none: G k > n for the smallest G.
    """
    ends = [int(end) for end in str(groups).split("..")]
    if ends[0] * k > n:
        raise ParameterError(
            f"{name}: {ends[0]} groups of at least k = {k} need {plural(ends[0] * k, 'record')}; there are {n:,}. "
            f"Lower k or groups."
        )
    return list(range(ends[0], min(ends[-1], n // k) + 1))
