"""Steps shared by top and bottom coding: finding a tail and replacing its values.

Everything is written for the upper tail; bottom coding is top coding of the negated column.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Lt

from shoal.mask.base import Mask
from shoal.table.hierarchy_builders import number_label
from shoal.table.prelude import Bools, Floats, Generator, Progress, Records, StepResult, Variable
from shoal.vocabulary.errors import DataError, ParameterError, Refused, quoted
from shoal.vocabulary.prelude import Count, Facts, Ge, Gt, HoldsCells, Setting, family

Quantile = Annotated[float, Gt(0), Lt(1)]
TailSize = Annotated[int, Ge(1)]


@family
class TailCode(Mask):
    """Parameters and steps of coding a tail; `sign` is 1 for the upper tail and -1 for the lower.

    Parameters
    ----------
    value
        The bound itself, in the column's units; for several columns a bound each: `{age: 90, income: 1e5}`.
    quantile
        The bound as a quantile of the column, in (0, 1), or one each; a value that occurs.
    k
        Alone: the tail is the smallest that holds k records, or so many in each column. With a value or a
        quantile: a tail of fewer than k records (but not none) is refused.
    replace
        What tail values become: the bound, the tail's mean (which keeps the column's mean and total), or a
        label, which makes the column ordinal.
    label
        The label; by default "at least" or "at most" and the bound.
    together
        Several columns at once: a record beyond the bound of any column is coded in all of them, so that the
        records of the tail cannot be told apart by any of them. With k alone, bounds move inwards in step,
        rank by rank, until the tail holds k records.
    weighted
        Sampling weights enter quantiles and means.
    """

    reads_others = False
    sign: ClassVar[float]
    side: ClassVar[str]

    value: Annotated[float | dict[str, float] | None, HoldsCells()] = None
    quantile: Annotated[Quantile | dict[str, Quantile] | None, Setting()] = None
    k: Annotated[TailSize | dict[str, TailSize] | None, Setting()] = None
    replace: Literal["bound", "mean", "label"] = "bound"
    label: Annotated[str | None, HoldsCells()] = None
    together: bool = False
    weighted: bool = False

    def __post_init__(self) -> None:
        if self.value is not None and self.quantile is not None:
            raise ParameterError(f"{self.method_name}: give only one of the parameters 'value' and 'quantile'.")
        if self.value is None and self.quantile is None and self.k is None:
            raise ParameterError(f"{self.method_name} needs one of the parameters 'value', 'quantile' and 'k'.")
        if self.together and isinstance(self.k, dict):
            raise ParameterError(f"{self.method_name}: with together, k must be one number, for there is one tail.")
        if self.label is not None and self.replace != "label":
            raise ParameterError(f"{self.method_name}: a label is given, so replace must be 'label'.")
        if self.together and self.replace == "bound":
            raise ParameterError(
                f"{self.method_name}: with together, replace must be 'mean' or 'label', because a record's cells "
                f"need not all lie beyond their bounds."
            )

    @property
    def whole_needed(self) -> str:
        if self.value is None or self.k is not None:
            return "the ranks of all values; give the bound itself as value, and no k"
        return "all values of the tail; leave out replace" if self.replace != "bound" else ""

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        variables = self.continuous(records, columns)
        self._check_names(columns)
        weights = self.weights(records, self.weighted)
        tails = [self._tail(v, weights) for v in variables]
        if self.together and variables:
            tails = [self._joint(variables, tails)] * len(variables)
        return StepResult.by_column(records, (self._coded(v, tail, weights) for v, tail in zip(variables, tails)))

    def _check_names(self, columns: Sequence[str]) -> None:
        for parameter in ("value", "quantile", "k"):
            given = getattr(self, parameter)
            if isinstance(given, dict) and set(given) != set(columns):
                absent = [name for name in columns if name not in given]
                stray = [name for name in given if name not in columns]
                wrong = f"names {quoted(stray)}, not among" if stray else f"leaves out {quoted(absent)} of"
                raise ParameterError(
                    f"{self.method_name}: {parameter} must name each of the step's columns and no "
                    f"other; it {wrong} the columns {quoted(columns)}."
                )

    def _tail(self, variable: Variable, weights: Floats | None) -> Bools:
        """Shape (n,); the records at or beyond the bound."""
        ranked = self.sign * variable.values
        present = ~np.isnan(ranked)
        value, quantile = of_column(self.value, variable.name), of_column(self.quantile, variable.name)
        if value is not None:
            bound = self.sign * value
        elif quantile is not None:
            bound = self.sign * _quantile(
                variable.values[present], quantile, None if weights is None else weights[present]
            )
        else:
            k = int(of_column(self.k, variable.name) or 1)
            if k > present.sum():
                raise ParameterError(
                    f"{self.method_name}: k must be at most {int(present.sum())}, the number of values of column "
                    f"'{variable.name}'; got {k}."
                )
            bound = np.partition(ranked[present], len(ranked[present]) - k)[-k]
        return np.asarray(present & (ranked >= bound))

    def _joint(self, variables: tuple[Variable, ...], tails: list[Bools]) -> Bools:
        """The records beyond the bound of any column; where only k is given, the smallest such tail of k."""
        for variable in variables:
            if variable.missing.any():
                raise DataError(f"{self.method_name}: with together, column '{variable.name}' must be complete.")
        if self.value is not None or self.quantile is not None:
            return np.asarray(np.logical_or.reduce(tails))
        ranked = [self.sign * variable.values for variable in variables]
        at_or_above = [len(x) - np.searchsorted(np.sort(x), x, "left") for x in ranked]
        above = np.min(at_or_above, axis=0)
        k = int(of_column(self.k, variables[0].name) or 1)
        return np.asarray(above <= np.sort(above)[k - 1])

    def _coded(self, variable: Variable, tail: Bools, weights: Floats | None) -> tuple[Variable, Facts]:
        """One column with its tail coded; a tail that is too small is refused."""
        size, k = int(tail.sum()), of_column(self.k, variable.name)
        if k is not None and 0 < size < k:
            raise Refused(
                f"{self.method_name}: the tail of column '{variable.name}' must hold at least {k} records; "
                f"it holds {size}. Move the bound inwards, or give k alone."
            )
        count = Count(n=size, influence=None if self.value is None else 1)  # a quantile moves the tail of ties
        facts: Facts = {"records in the tail": count}
        if not size:
            return variable, facts
        inside = variable.values[tail]
        edge = of_column(self.value, variable.name)
        edge = edge if edge is not None else float(self.sign * (self.sign * inside).min())
        if self.replace == "label":
            label = self.label or f"{self.side} {number_label(edge)}"
            return _labelled(variable, tail, label, self.sign), facts
        if self.replace == "mean":
            edge = float(np.average(inside, weights=None if weights is None else weights[tail]))
        return variable.with_values(np.where(tail, edge, variable.values)), facts


def of_column(given: float | Mapping[str, float] | None, name: str) -> float | None:
    """A parameter that is the same for all columns, or has a value for each."""
    return given[name] if isinstance(given, Mapping) else given


def _quantile(values: Floats, share: float, weights: Floats | None) -> float:
    """The smallest value at or below which at least `share` of the (weighted) records lie."""
    if not len(values):
        return np.nan
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(np.ones(len(values)) if weights is None else weights[order])
    place = np.searchsorted(mass, share * mass[-1] * (1 - 1e-12), "left")
    return float(values[order[min(place, len(values) - 1)]])


def _labelled(variable: Variable, tail: Bools, label: str, sign: float) -> Variable:
    """The column as an ordinal one whose first or last category is the tail."""
    body = ~tail & ~variable.missing
    numbers, codes = np.unique(variable.values[body], return_inverse=True)
    texts: list[Any] = [number_label(v) for v in numbers.tolist()]
    new = np.full(len(tail), -1, dtype=np.int32)
    if sign > 0:
        new[body], new[tail], categories = codes, len(texts), [*texts, label]
    else:
        new[body], new[tail], categories = codes + 1, 0, [label, *texts]
    return replace(variable, level="ordinal", values=new, categories=tuple(categories), scale="sd", unit=None)
