"""Warnings about text columns of a table that may have been meant as numbers or dates.

Nothing is guessed: a column becomes numbers or dates only if every cell is one. A text column that looks like something
else gets a warning of one sentence, which names no cell.
"""

import polars as pl

from shoal.vocabulary.errors import plural

NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?[Ii]nf(inity)?$"
DECIMAL_COMMA = r"^[+-]?[0-9]*,?[0-9]+$"
THOUSANDS = (
    r"^[+-]?\d{1,3}(,\d{3})+(\.\d*)?$|^[+-]?\d{1,3}(\.\d{3})+(,\d*)?$|^[+-]?\d{1,3}([ '’\u00a0\u202f]\d{3})+([.,]\d*)?$"
)
"""Patterns of numbers with a thousands separator: a comma, a point, a blank or an apostrophe."""

PERCENT = r"^[+-]?\d*[.,]?\d+ ?%$"
DATE = r"^(\d{1,2}|\d{4})[./-]\d{1,2}[./-](\d{1,2}|\d{4})([ T]\d{1,2}:\d{2}.*)?$"
OFFSET = r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)? ?(Z|[+-]\d{2}(:?\d{2})?)$"
"""Times with their distance from Coordinated Universal Time."""

FORMULA_STARTS = r"^[=+\-@\t\r]"
CONTROLS = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
"""Control characters, which no screen shows."""


def doubts(frame: pl.DataFrame) -> dict[str, str]:
    """A sentence for each text column that may have been meant otherwise: the problem and the remedy."""
    by_column = {column.name: _doubt(column) for column in frame if column.dtype == pl.String}
    return {name: f"Column '{name}' {doubt}" for name, doubt in by_column.items() if doubt}


def _doubt(column: pl.Series) -> str:
    present = column.drop_nulls()
    if not len(present):
        return ""
    numbers = present.str.contains(NUMBER)
    others = len(present) - int(numbers.sum())
    if 0 < others < len(present) / 2 and not _all_numbers(present, THOUSANDS):
        first = int((~column.str.contains(NUMBER).fill_null(True)).arg_true()[0]) + 1
        return (
            f"is read as text, because {others:,} of {plural(len(present), 'cell')} "
            f"{'is no number' if others == 1 else 'are no numbers'} (the first in record {first:,}). Mend what is "
            f"wrong, leave missing values empty, or say level: nominal in the plan if these are codes."
        )
    if others:
        return _of_numbers_written_otherwise(present) or _of_characters(column, present)
    return ""


def _all_numbers(present: pl.Series, form: str) -> bool:
    """True if all cells are numbers or match the pattern, and at least one matches it."""
    of_form = present.str.contains(form)
    return bool(of_form.any() and (of_form | present.str.contains(NUMBER)).all())


def _of_numbers_written_otherwise(present: pl.Series) -> str:
    """Warning about a column in which a person would read every cell as a number or date; or ''."""
    if present.str.contains(",", literal=True).any() and present.str.contains(DECIMAL_COMMA).all():
        thousands = " Take the commas out if they set thousands apart." if _all_numbers(present, THOUSANDS) else ""
        return (
            "holds numbers with a comma and is read as text. Read the file with decimal ',' if that is what it is."
            f"{thousands}"
        )
    if _all_numbers(present, THOUSANDS):
        return "holds numbers whose thousands are set apart and is read as text. Take out what sets them apart."
    if _all_numbers(present, PERCENT):
        return "holds numbers with a percent sign and is read as text. Take the signs out if it is to be a number."
    if present.str.contains(OFFSET).all():
        return (
            "holds times with an offset from UTC and is read as text, so that no hour shifts. Write them in UTC, as in "
            "2024-01-31T12:30:00Z, or as local times without an offset."
        )
    if present.str.contains(DATE).all():
        return (
            "looks like dates and is read as text, because only dates written YYYY-MM-DD, and date-times "
            "YYYY-MM-DD hh:mm:ss, YYYY-MM-DDThh:mm:ss or, in UTC, YYYY-MM-DDThh:mm:ssZ, are read as such."
        )
    return ""


def _of_characters(column: pl.Series, present: pl.Series) -> str:
    """Warning about invisible characters, or text that a spreadsheet would run; or ''."""
    hidden = column.str.contains(CONTROLS).fill_null(False)
    if hidden.any():
        return (
            f"has control characters in {plural(int(hidden.sum()), 'cell')} (the first in record "
            f"{int(hidden.arg_true()[0]) + 1:,}). Take them out, for cells that look the same differ by them."
        )
    if present.str.contains("^=").any():
        return (
            "has text that a spreadsheet would run as a formula. Set output: {guard_formulas: true} if the release "
            "is opened in one."
        )
    return ""
