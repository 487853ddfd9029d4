"""Spellings: differences in how a file writes equal values.

A reader who sees 34 in one line of a file and 34.0 in another can tell the two records apart; so can one who sees two
codes for a missing answer. A table that is to be judged must therefore keep them apart. The cells themselves stay as
they are, since 34.0 is the same age as 34; beside them, each column has the number of the spelling of each cell.
"""

import polars as pl


def spelling(cells: pl.Series, written: pl.Series) -> pl.Series | None:
    """Number of the spelling of each cell among those of its value, from 0 in the order of the written texts.

    `cells`, shape (n,). `written`, shape (n,): text; equal for cells that the file writes alike, and null where it
    writes nothing, which sorts first. Returns shape (n,), or None if every value (and missing) has one spelling.
    """
    values = cells.fill_nan(None) if cells.dtype.is_float() else cells
    both = pl.DataFrame({"value": values, "written": written})
    if both.n_unique() == both["value"].n_unique():
        return None
    ranks = pl.col("written").rank("dense").fill_null(0).over("value").cast(pl.Int32)
    ranked = both.with_columns(place=ranks)  # a step of its own: old versions of polars have no window in a window
    return ranked.select((pl.col("place") - pl.col("place").min().over("value")).alias(cells.name)).to_series()


def spellings(frame: pl.DataFrame, written: pl.DataFrame) -> dict[str, pl.Series]:
    """The spellings of the columns that have several; both frames have the same columns."""
    by_column = {name: spelling(frame[name], written[name]) for name in written.columns}
    return {name: ways for name, ways in by_column.items() if ways is not None}
