"""Variants: values of a column that differ only in how they are typed.

`flu`, `Flu`, `flu ` and `ﬂu` are four values to a computer and one disease to a reader. A class that holds all four
looks diverse and is not. Only a person can tell whether two values mean the same, but values that differ only in
blanks, case or Unicode form can be counted.
"""

import unicodedata
from collections import Counter

import numpy as np

from shoal.table.variable import Variable


def variants(variable: Variable) -> int:
    """Number of values of a column that differ from another value only in blanks, case or Unicode form.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> frame = pl.DataFrame({"illness": ["flu", "Flu ", "gout", "cough"]})
    >>> variants(shoal.Microdata.of(frame, {"illness": "confidential"}).records["illness"])
    2
    """
    if variable.continuous:
        return 0
    whole = None if variable.whole is None else variable.whole.values
    present = np.unique(variable.values[~variable.missing]) if whole is None else whole
    forms = Counter(typed_alike(str(variable.categories[code])) for code in present.tolist())
    return sum(count for count in forms.values() if count > 1)


def typed_alike(text: str) -> str:
    """The text without what typing may add: compatible Unicode forms, case, accents composed or not, blanks."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split())
