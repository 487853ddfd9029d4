"""k-anonymity by generalisation over hierarchies (Samarati 2001; Sweeney 2002)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Le

from shoal.data.partition import Progress
from shoal.data.records import Records
from shoal.data.variable import Variable
from shoal.errors import DataError, ParameterError, Refused
from shoal.kernels.arrays import Bools, Ints, ints
from shoal.mask._generalisation.lattice import Ladder, Node, Table, best_node
from shoal.mask._generalisation.local_recoding import Class, specialise
from shoal.mask._suppression.task import distinct_rows
from shoal.mask.base import Mask
from shoal.methods import method
from shoal.parameters import Setting
from shoal.step_result import StepResult


@method("generalise", title="Generalisation to k-anonymity", source="Samarati (2001); Kohlmayer et al. (2012)")
class Generalise(Mask):
    """Replaces values by ancestors in their hierarchies until every record shares the columns with k - 1 others.

    `full-domain` gives each column one level for the whole table and finds the combination of levels with
    the least loss, exactly. `local` lets every class go down on its own from there, or from the top of all
    hierarchies, whichever ends with less loss; its loss is never above that of `full-domain`.

    Parameters
    ----------
    k
        Records that must share the step's columns.
    suppression
        Largest share of the records that may be dropped instead of generalised further.
    recoding
        `full-domain` or `local`.
    loss
        `ncp`, the normalised certainty penalty: a cell whose label stands for u of the column's v leaves
        loses (u - 1) / (v - 1) (Xu et al. 2006). `precision`: a cell at level l of h loses l / h
        (Sweeney 2002). Every cell of a dropped record loses 1.

    Notes
    -----
    Every column must have a hierarchy and no missing cells. The loss is the mean over all cells, 0 for the
    table as it came and 1 for nothing left. With strata, records are compared inside their stratum.
    """

    k: Annotated[int, Ge(1)]
    suppression: Annotated[float, Ge(0), Le(1), Setting()] = 0.0
    recoding: Literal["full-domain", "local"] = "full-domain"
    loss: Literal["ncp", "precision"] = "ncp"

    def apply(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
    ) -> StepResult:
        if not columns:
            raise ParameterError("generalise needs at least one column.")
        if self.k > len(records):
            raise ParameterError(
                f"generalise: k must be at most {len(records):,}, the number of records; got {self.k:,}."
            )
        variables = self.categorical(records, columns)
        records.complete(columns, "generalise")
        fixed = [name for name in records.names("stratum") if name not in columns]
        table, ids = self._table(variables, [records[name].codes() for name in fixed])
        node: Node | None = None
        facts: dict[str, Any] = {}
        try:
            node, looked, total = best_node(table, self.k, self.suppression, progress)
            facts = {
                "levels": dict(zip(columns, node.levels)),
                "full-domain loss": node.loss,
                "nodes looked at": looked,
                "nodes": total,
            }
        except (Refused, ParameterError):
            if self.recoding == "full-domain" or fixed:
                raise
        levels, kept, loss = self._levels(table, node, len(variables), bool(fixed), progress)
        changed = [self._column(v, levels[ids, j]) for j, v in enumerate(variables)]
        out = records.with_variables(*changed).take(kept[ids])
        facts |= {"loss": loss, "measure of loss": self.loss, "records dropped": len(records) - len(out)}
        return StepResult(records=out, facts=facts)

    def _table(self, variables: tuple[Variable, ...], fixed: list[Ints]) -> tuple[Table, Ints]:
        columns, ladders = [], []
        for v in variables:
            if v.hierarchy is None or None in v.categories:
                raise DataError(
                    f"Column '{v.name}' needs a hierarchy that holds all of its values; generalise cannot "
                    f"do without. Name one in the plan, or leave the column out."
                )
            columns.append(v.hierarchy.codes([str(c) for c in v.categories])[v.values])
            ladders.append(Ladder.of(v.hierarchy, self.loss))
        for codes in fixed:  # a column that cannot go up: a hierarchy of one level, without loss
            one = np.arange(int(codes.max(initial=0)) + 1, dtype=np.int32)[None, :]
            columns.append(codes)
            ladders.append(Ladder(codes=one, loss=np.zeros(one.shape)))
        rows, ids, counts = distinct_rows(np.column_stack(columns))
        return Table(leaves=rows, counts=counts, ladders=ladders, counted=len(variables)), ints(ids)

    def _levels(
        self, table: Table, node: Node | None, q: int, in_strata: bool, progress: Progress
    ) -> tuple[Ints, Bools, float]:
        """Level of every cell, the rows that are kept, and the mean loss of a cell."""
        outcomes = []
        if node is not None:
            levels = np.tile(ints(node.levels), (len(table.counts), 1))
            outcomes.append((self._loss(table, levels, node.kept, q), levels, node.kept))
        if self.recoding == "local":
            starts: list[list[Class]] = []
            if node is not None:
                classes = table.at(node.levels)
                order = np.argsort(classes, kind="stable")
                parts = np.split(order, np.flatnonzero(np.diff(classes[order])) + 1)
                starts.append([Class(p, node.levels, frozenset()) for p in parts if node.kept[p[0]]])
            if not in_strata:
                top = tuple(ladder.height for ladder in table.ladders)
                starts.append([Class(np.arange(len(table.counts)), top, frozenset())])
            for start in starts:
                levels = specialise(table, start, self.k, progress)
                kept = levels[:, 0] >= 0
                outcomes.append((self._loss(table, levels, kept, q), levels, kept))
        loss, levels, kept = min(outcomes, key=lambda outcome: outcome[0])
        return levels, kept, loss

    def _loss(self, table: Table, levels: Ints, kept: Bools, q: int) -> float:
        cells = np.ones((len(levels), q))
        for j in range(q):
            cells[kept, j] = table.ladders[j].loss[levels[kept, j], table.leaves[kept, j]]
        return float((cells.sum(axis=1) * table.counts).sum()) / (table.records * q)

    def _column(self, variable: Variable, levels: Ints) -> Variable:
        hierarchy = variable.hierarchy
        if hierarchy is None or not (levels > 0).any():
            return variable
        leaf = hierarchy.codes([str(c) for c in variable.categories])
        pairs, place = np.unique(np.column_stack([variable.values, levels]), axis=0, return_inverse=True)
        labels = [
            variable.categories[code] if level <= 0 else hierarchy.paths[leaf[code]][level]
            for code, level in pairs.tolist()
        ]
        categories = tuple(dict.fromkeys(labels))
        code_of = {label: i for i, label in enumerate(categories)}
        return replace(
            variable,
            values=ints([code_of[label] for label in labels])[place.ravel()],
            level="nominal",
            categories=categories,
            hierarchy=None,
        )
