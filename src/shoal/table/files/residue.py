"""Residue in a file beside its cells: category names and value labels that no cell has.

A diagnosis whose only record was suppressed may still stand in its column's dictionary, in plain bytes that no reader
of cells shows; so may the value label of a code in SPSS, Stata and R files. Such a file discloses what the release
withholds. Residue has three sources:

- the categories of an Enum are part of its type and are written whatever the cells are;
- those of a Categorical belong to a pool that columns share, of which a writer should store only those in use; the
  dictionary page itself shows what it stores;
- a value label is written with its code, whether or not a cell has the code.
"""

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import polars as pl

from shoal.table.files.value_labels import NONE, WITH_LABELS, code_text
from shoal.vocabulary.errors import Refused, quoted


def refuse_residue(
    frame: pl.DataFrame,
    value_labels: Mapping[str, Mapping[Any, str]],
    ending: str,
    reasons: Mapping[str, pl.Series] = NONE,
) -> None:
    """Refuse a table whose file would hold names that none of its cells has.

    `frame`: the cells to be written. `value_labels`: for each column, the labels of its codes. `ending`: the format:
    "parquet" has dictionaries, "sav", "dta" and "rds" have value labels, the others hold cells alone. `reasons`: codes
    that say why cells are missing, which are written too (`Table.reasons`). Raises Refused naming the columns, but
    never the names that remain.
    """
    columns: list[str] = []
    if ending == "parquet":
        enums = ((c, c.dtype) for c in frame if isinstance(c.dtype, pl.Enum))
        columns = [c.name for c, kind in enums if len(kind.categories) > c.drop_nulls().n_unique()]
        columns += [c.name for c in frame if c.dtype == pl.Categorical and _stored_beside_cells(c)]
    elif ending in WITH_LABELS:
        labelled = {name: set(map(code_text, labels)) for name, labels in value_labels.items()}
        columns = [name for name, codes in labelled.items() if codes - codes_of(frame[name], reasons.get(name))]
    if columns:
        raise Refused(
            f"The file would hold names that no record has (any more) in {quoted(columns)}. "
            "Drop the unused categories and labels, or make the columns text. Nothing is released."
        )


def codes_of(column: pl.Series, reasons: pl.Series | None) -> set[str]:
    """The contents of a column in a file as text: cells, and codes that say why cells are missing."""
    columns = [column] if reasons is None else [column, reasons]
    return {code_text(code) for codes in columns for code in codes.drop_nulls().unique().to_list()}


def _stored_beside_cells(column: pl.Series) -> bool:
    """True if the dictionary written for a Categorical is longer than the names of its cells.

    A dictionary page holds every name after its length in four bytes (Apache Parquet, Encodings, PLAIN). Its header
    begins with the kind of page, 2, and the page's size, in compact Thrift: 0x15 and a number for each.
    """
    names = column.drop_nulls().unique().cast(pl.String)
    stored = BytesIO()
    column.to_frame().write_parquet(stored, compression="uncompressed", row_group_size=max(len(column), 1))
    written = stored.getvalue()
    if not written.startswith(b"PAR1\x15\x04\x15"):  # no dictionary
        return False
    return _number(written, 7) > int(names.str.len_bytes().sum()) + 4 * len(names)


def _number(written: bytes, start: int) -> int:
    """A non-negative integer in compact Thrift: doubled, with seven bits in each byte."""
    number = 0
    for place, byte in enumerate(written[start : start + 5]):
        number |= (byte & 127) << (7 * place)
        if byte < 128:
            break
    return number >> 1
