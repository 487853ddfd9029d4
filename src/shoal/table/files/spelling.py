"""Ways of writing: what a file tells apart although the cells are equal.

Whoever reads 34 in one line of a file and 34.0 in another can tell the two records apart, as well as two codes for a
missing answer; a table that is to be judged must therefore keep them apart. The cells themselves stay what they are,
for 34.0 is no other age than 34: beside them stands, for each column, which way of writing its value a cell has.
"""

import polars as pl


def spelling(cells: pl.Series, written: pl.Series) -> pl.Series | None:
    """Number of the way in which each cell writes its value, from 0 in the order of the written texts.

    `cells`, shape (n,). `written`, shape (n,): of text; equal where the file writes cells alike, and null where it
    writes nothing, which comes first. Returns shape (n,), or None where every value (and missing) is written in one
    way.
    """
    values = cells.fill_nan(None) if cells.dtype.is_float() else cells
    both = pl.DataFrame({"value": values, "written": written})
    if both.n_unique() == both["value"].n_unique():
        return None
    ranks = pl.col("written").rank("dense").fill_null(0).over("value").cast(pl.Int32)
    ranked = both.with_columns(place=ranks)  # a step of its own: old versions of polars have no window in a window
    return ranked.select((pl.col("place") - pl.col("place").min().over("value")).alias(cells.name)).to_series()


def spellings(frame: pl.DataFrame, written: pl.DataFrame) -> dict[str, pl.Series]:
    """The ways of writing of those columns that have several; both frames have the same columns."""
    by_column = {name: spelling(frame[name], written[name]) for name in written.columns}
    return {name: ways for name, ways in by_column.items() if ways is not None}
