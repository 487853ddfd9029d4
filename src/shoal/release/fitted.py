"""A fitted model as a value that may be published, and its file.

It holds the law of whole records that `private-marginals` found and the stated domain, no record and no count without
noise. The file is JSON: a head that says what was proved, the columns, and the probabilities of each clique.
"""

import hashlib
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite, prod
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import polars as pl
from pydantic import ValidationError
from typing_extensions import TypedDict

from shoal.kernels.draws import keyed_generator
from shoal.mask._marginals.domain import Domain
from shoal.mask._marginals.fitted import FittedMarginals
from shoal.mask._marginals.junction_tree import JunctionTree
from shoal.mask._marginals.model import JointLaw
from shoal.mask.secret_stream import SecretStream
from shoal.table.files.atomic import atomic_file
from shoal.table.files.json_text import LARGEST_RECORD, form_of
from shoal.table.records import Records
from shoal.table.schema import Level
from shoal.table.text_files import read_text
from shoal.table.variable import Variable
from shoal.vocabulary.errors import FileError, ParameterError

FORMAT = 1
"""Version of the file's layout."""

Cells = Literal["text", "integer", "number", "truth"]
TYPES: dict[str, Any] = {"text": pl.String, "integer": pl.Int64, "number": pl.Float64, "truth": pl.Boolean}


class ColumnOfFile(TypedDict):
    """A column: the ends of the intervals of a number, or categories."""

    name: str
    cells: Cells
    level: Level
    edges: list[float]
    categories: list[str | int | float | bool]
    gaps: bool


class CliqueOfFile(TypedDict):
    """Probabilities of the combinations of some columns, by their places; the last one's categories change fastest."""

    columns: list[int]
    parent: int
    probabilities: list[float]


ContentOfFile = TypedDict(
    "ContentOfFile",
    {
        "shoal model": int,
        "proved": str,
        "epsilon": float,
        "delta": float,
        "records": int,
        "columns": list[ColumnOfFile],
        "cliques": list[CliqueOfFile],
    },
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """A fitted model that may be published: whoever has it draws as many records as wanted, at no further cost.

    Parameters
    ----------
    marginals
        The law of whole records.
    cells
        By column, the type of its cells.
    epsilon, delta
        Privacy loss of a person, or of a record where nothing says whose it is.
    proved
        What was proved, in a sentence.
    """

    marginals: FittedMarginals
    cells: tuple[Cells, ...]
    epsilon: float
    delta: float
    proved: str

    def __repr__(self) -> str:
        names = ", ".join(self.columns)
        return f"Fitted model of {names}; epsilon {self.epsilon:.4g}, delta {self.delta:g}"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(domain.like.name for domain in self.marginals.domains)

    @property
    def total(self) -> int:
        """Number of records of the table, as far as noise tells."""
        return self.marginals.total

    def draw(self, n: int | None = None, *, where: str | Sequence[str] = (), seed: int | None = None) -> pl.DataFrame:
        """New records.

        Parameters
        ----------
        n
            Number of records; by default as many as the table had, as far as noise tells.
        where
            Conditions that all records meet, in the language of constraints: `"age > 65"`, or several. Each record then
            is drawn independently from the exact law of those that meet them; without one, how often categories come
            together is rounded to whole records.
        seed
            Makes the draw repeatable; by default drawn from the operating system. It need not be kept secret.

        Raises
        ------
        ConstraintError
            If a condition cannot be read, or names a column or category that the model does not have.
        ParameterError
            If next to no record meets the conditions.
        """
        size = self.total if n is None else n
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ParameterError(f"n must be a whole number of at least 1; got {n!r}.")
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
            raise ParameterError(f"seed must be an integer of at least 0; got {seed!r}.")
        stream = SecretStream(keyed_generator(secrets.randbits(128) if seed is None else seed, 0))
        conditions = (where,) if isinstance(where, str) else tuple(where)
        drawn = self.marginals.records_where(size, conditions, stream) if conditions else None
        return self._frame(self.marginals.records(size, stream) if drawn is None else drawn)

    def _frame(self, records: Records) -> pl.DataFrame:
        return pl.DataFrame([_series(variable, cells) for variable, cells in zip(records.variables, self.cells)])

    def write(self, path: str | Path) -> Path:
        """Write it as one JSON file."""
        with atomic_file(Path(path)) as temporary:
            temporary.write_text(self.text, encoding="utf-8")
        return Path(path)

    @property
    def text(self) -> str:
        """The content of the file."""
        content = self._content()
        return json.dumps({**content, "sha256": _digest(content)}, ensure_ascii=False, allow_nan=False) + "\n"

    def _content(self) -> ContentOfFile:
        law = self.marginals.law
        columns: list[ColumnOfFile] = [
            {
                "name": domain.like.name,
                "cells": cells,
                "level": domain.like.level,
                "edges": domain.edges.tolist(),
                "categories": [category for category in domain.categories if category is not None],
                "gaps": domain.gaps,
            }
            for domain, cells in zip(self.marginals.domains, self.cells)
        ]
        cliques: list[CliqueOfFile] = [
            {"columns": list(clique), "parent": parent, "probabilities": table.ravel().tolist()}
            for clique, parent, table in zip(law.tree.cliques, law.tree.parents, law.tables)
        ]
        return {
            "shoal model": FORMAT,
            "proved": self.proved,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "records": self.total,
            "columns": columns,
            "cliques": cliques,
        }

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a model from a file. Raises FileError if it is none, is damaged, or is of a newer version."""
        name = Path(path).name
        content = _read(read_text(path, "Model", largest=LARGEST_RECORD), name)
        try:
            domains = tuple(map(_domain, content["columns"]))
            law = _law(content["cliques"], tuple(domain.size for domain in domains))
        except ValueError:
            raise _damaged(name) from None
        return cls(
            marginals=FittedMarginals(domains=domains, law=law, total=content["records"]),
            cells=tuple(column["cells"] for column in content["columns"]),
            epsilon=content["epsilon"],
            delta=content["delta"],
            proved=content["proved"],
        )


def _series(variable: Variable, cells: Cells) -> pl.Series:
    if variable.continuous:
        column = pl.Series(variable.name, variable.values, nan_to_null=True)
        return column.cast(TYPES[cells])
    categories = [str(c) if cells == "text" else c for c in variable.categories if c is not None]
    listed = pl.Series(variable.name, [*categories, None], dtype=TYPES[cells])
    return listed.gather(np.where(variable.missing, len(categories), variable.values))


def _digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _read(text: str, name: str) -> ContentOfFile:
    try:
        content = json.loads(text)
        version = content["shoal model"]
        if not isinstance(version, int):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FileError(f"'{name}' is not a model that shoal fit wrote, or is cut off. Name another file.") from None
    if version > FORMAT:
        raise FileError(
            f"'{name}' was written by a newer version of shoal, in format {version}; this one reads up to {FORMAT}. "
            f"Install the newer one."
        )
    try:
        digest = content.pop("sha256")
        if digest != _digest(content):
            raise ValueError
        form_of(ContentOfFile).validate_python(content)
    except (ValueError, KeyError, RecursionError, ValidationError):
        raise _damaged(name) from None
    read: ContentOfFile = content
    return read


def _damaged(name: str) -> FileError:
    return FileError(f"'{name}' is damaged: it is not as shoal fit wrote it. Copy it anew, or fit again.")


def _domain(column: ColumnOfFile) -> Domain:
    like = Variable(name=column["name"], role="other", level=column["level"], values=np.zeros(0), categories=())
    if not like.continuous:
        like = replace(like, values=np.zeros(0, dtype=np.int32))
    edges = np.array(column["edges"], dtype=np.float64)
    if like.continuous != (len(edges) > 1) or like.continuous == bool(column["categories"]):
        raise ValueError
    return Domain(like=like, edges=edges, categories=tuple(column["categories"]), gaps=column["gaps"])


def _law(cliques: Sequence[CliqueOfFile], shape: tuple[int, ...]) -> JointLaw:
    """The law of a file. Raises ValueError for what is none."""
    columns = tuple(tuple(clique["columns"]) for clique in cliques)
    parents = tuple(clique["parent"] for clique in cliques)
    tables = []
    for place, clique in enumerate(cliques):
        probabilities, own = clique["probabilities"], columns[place]
        lengths = [shape[column] for column in own if 0 <= column < len(shape)]
        if len(lengths) < len(own) or len(probabilities) != prod(lengths):
            raise ValueError
        if not (all(isfinite(p) and p >= 0 for p in probabilities) and sum(probabilities) > 0):
            raise ValueError
        tables.append(np.array(probabilities, dtype=np.float64).reshape(lengths))
    if not columns or {c for own in columns for c in own} != set(range(len(shape))) or parents[0] != -1:
        raise ValueError
    if any(not 0 <= parent < place for place, parent in enumerate(parents) if place):
        raise ValueError
    between = [tuple(c for c in own if c in columns[parent]) for own, parent in zip(columns, parents)]
    tree = JunctionTree(cliques=columns, parents=parents, separators=((), *between[1:]))
    return JointLaw(shape=shape, tree=tree, tables=tuple(tables))
