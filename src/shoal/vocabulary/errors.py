"""Every error shoal raises on purpose, in one tree, and the wording they share.

A message names the thing, the rule, the value found and the remedy. It may hold column names, counts and row numbers,
but never a value of a cell.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

INTERRUPTED = 130
"""Exit status after Ctrl-C; the other statuses are attributes of the errors."""

MEMORY_EXHAUSTED = "memory is exhausted; nothing was changed. Use a machine with more of it, or fewer columns."
"""Message of a run that could not get enough memory, in whichever process that happened."""


NEXT_TO_NOTHING = 1e-9
"""Below this a number is written with a power of ten, for nobody counts so many zeros."""

Mistake = tuple[tuple[str | int, ...], str]
"""The keys that lead to a mistake from outside, and a sentence."""


class ShoalError(Exception):
    """Anything shoal refuses to do, told in one sentence."""

    exit_status = 1


class InputError(ShoalError, ValueError):
    """Input that cannot be used; the command line ends with status 2.

    Parameters
    ----------
    mistakes
        Each mistake by itself, where the message tells of several: the keys that lead to it, and a sentence.
    """

    exit_status = 2

    def __init__(self, message: str, mistakes: Iterable["Mistake"] = ()) -> None:
        super().__init__(message)
        self.mistakes = tuple(mistakes)


class DataError(InputError):
    """The table does not satisfy what a step needs of it."""


class WidthError(DataError):
    """Distances between records would need more coordinates than are allowed."""


class NoFigure(ShoalError):  # noqa: N818 - it is a reason, not a fault
    """A measure has no figure on these tables; the message says why. Caught in one place (`judges.base`)."""


class SchemaError(InputError):
    """The columns are not described, or not described consistently."""


class ParameterError(InputError):
    """A method got a parameter outside its limits."""


class PlanError(InputError):
    """A plan file does not say what a plan must say."""


class ConstraintError(InputError):
    """A constraint cannot be read, does not fit the table, or clashes with others."""


class FileError(InputError):
    """A file cannot be read or written."""


class MissingDependency(InputError):  # noqa: N818 - named for what is wrong, like the standard library's
    """An optional package is needed for this and is not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs the package {package!r}; install it with: pip install 'shoal[{extra}]'")


class Refused(ShoalError):  # noqa: N818 - the word the house uses for a release that is not made
    """A guarantee does not hold on the finished table, so nothing is released: status 3.

    Parameters
    ----------
    verdicts
        Verdicts on the requirements (`shoal.judges.evidence.Verdict`); none where a step refused. `advice` holds
        changes that would help, where they were searched for (`shoal.release.NotProved`).
    """

    exit_status = 3
    advice: tuple[Any, ...] = ()

    def __init__(self, message: str, verdicts: Iterable[Any] = ()) -> None:
        super().__init__(message)
        self.verdicts = tuple(verdicts)


class Interrupted(ShoalError):  # noqa: N818 - somebody asked for it
    """The run was interrupted; the message says what is kept of it. Its exit status is 130."""

    exit_status = INTERRUPTED


LONGEST_NAME = 60
"""A longer name of a column is cut in a message: it may be cells that were read as a name."""


def quoted(names: Iterable[object]) -> str:
    """Names as they stand in a sentence: 'a', 'b'."""
    return ", ".join(f"'{_cut(printable(name))}'" for name in names)


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."


def printable(text: object, keep: str = "") -> str:
    """A text without line breaks and signs that a terminal would obey; a name of a column could hold them."""
    return "".join(sign if sign.isprintable() or sign in keep else " " for sign in str(text))


SYNONYMS = {
    "localsuppression": ("suppress",),
    "localsupp": ("suppress",),
    "kanon": ("suppress", "k-anonymity"),
    "microaggregation": ("mdav", "microaggregate-columns"),
    "addnoise": ("noise",),
    "globalrecode": ("recode",),
    "grouping": ("recode",),
    "topbotcoding": ("top-code",),
    "topcoding": ("top-code",),
    "mvtopcoding": ("multivariate-top-code",),
    "compoundpram": ("pram",),
    "weightedlinkage": ("distance-linkage",),
    "kmanonymity": ("k-anonymity", "known-records"),
    "dril": ("distance-linkage", "probabilistic-linkage", "interval-disclosure", "pil"),
    "bottomcoding": ("bottom-code",),
    "postrandomization": ("pram",),
    "postrandomisation": ("pram",),
    "rankswapping": ("rank-swap",),
    "swapping": ("rank-swap", "data-swap"),
    "recordswap": ("targeted-swap",),
    "shuffling": ("shuffle",),
    "datashuffling": ("shuffle",),
    "cgadp": ("shuffle",),
    "gadp": ("ipso",),
    "egadp": ("ipso",),
    "generalization": ("generalise",),
    "generalisation": ("generalise",),
    "hierarchy": ("generalise",),
    "kanonymity": ("k-anonymity",),
    "ldiversity": ("l-diversity",),
    "tcloseness": ("t-closeness",),
    "reidentification": ("prosecutor",),
    "indivrisk": ("individual-risk",),
    "measurerisk": ("individual-risk",),
    "drisk": ("interval-disclosure",),
    "dutility": ("il1s",),
    "modrisk": ("population-uniques",),
    "suda": ("suda2",),
    "mean": ("centroid",),
    "key": ("quasi-identifier",),
    "keyvar": ("quasi-identifier",),
    "keyvars": ("quasi-identifier",),
    "quasi": ("quasi-identifier",),
    "qi": ("quasi-identifier",),
    "identifying": ("identifier",),
    "direct": ("identifier",),
    "sensitive": ("confidential",),
    "insensitive": ("other",),
    "hhid": ("household",),
    "cluster": ("household",),
    "strata": ("stratum",),
    "weightvar": ("weight",),
    "numeric": ("continuous",),
    "categorical": ("nominal",),
}
"""Words of sdcMicro, ARX and the literature, without their case and signs, and what they are called here."""


def unknown(kind: str, name: object, possible: Iterable[str]) -> str:
    """The sentence for a name that does not exist, with the nearest one that does."""
    from difflib import get_close_matches

    names = sorted(possible)
    meant = [synonym for synonym in synonyms_of(str(name)) if synonym in names]
    close = meant or get_close_matches(str(name), names, n=1)
    hint = f" did you mean '{close[0]}'?" if close else ""
    end = ";" if hint else "."
    return f"Unknown {kind} '{printable(name)}'{end}{hint} Known: {', '.join(names) or 'none'}."


def synonyms_of(name: str) -> tuple[str, ...]:
    """Names here of what other tools or the literature call so."""
    return SYNONYMS.get("".join(sign for sign in name.lower() if sign.isalnum()), ())


def not_unique(names: Iterable[object]) -> str:
    """The sentence for column names that occur more than once."""
    repeated = list(names)
    return (
        f"Column names must differ; {quoted(repeated)} occur{'s' * (len(repeated) == 1)} more than once. Rename them."
    )


def refuse_repeated(names: Iterable[object]) -> None:
    """Raise a DataError that names the columns whose names occur more than once, if there are any."""
    if repeated := sorted(name for name, times in Counter(map(str, names)).items() if times > 1):
        raise DataError(not_unique(repeated))


def in_digits(value: float, digits: int = 4) -> str:
    """A number for readers, with so many significant digits; only tiny numbers are written with a power of ten."""
    from decimal import Decimal

    text = f"{value:.{digits}g}"
    return f"{Decimal(text):,f}" if "e" in text and abs(value) >= NEXT_TO_NOTHING else text


def plural(count: int, noun: str) -> str:
    """'1 record', '3 records', '2 classes'."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2] not in "aeou":
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}{'es' if noun.endswith('s') else 's'}"
