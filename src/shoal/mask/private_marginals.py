"""Differential privacy by a table made anew from noisy marginals (McKenna et al. 2022)."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from hashlib import sha256
from math import inf, nextafter, prod
from typing import Annotated, Any

import numpy as np

from shoal.constraints import Constraints
from shoal.judges.further_tables import like
from shoal.mask._marginals.account import rho_of
from shoal.mask._marginals.conditions import MOST_COMBINATIONS, combinations, outlines, places_of
from shoal.mask._marginals.domain import Cell, Domain
from shoal.mask._marginals.fitted import FittedMarginals
from shoal.mask._marginals.generation import shuffled
from shoal.mask._marginals.junction_tree import Columns
from shoal.mask._marginals.margins import Margins
from shoal.mask._marginals.prior import prior_of
from shoal.mask._marginals.selection import Mechanism, OfTable, SelectionCourse
from shoal.mask.base import Mask
from shoal.mask.secret_stream import SecretStream
from shoal.mask.truncate_records import places_in_units
from shoal.table.prelude import Bools, Floats, Generator, Longs, Progress, Records, StepResult
from shoal.vocabulary.errors import DataError, ParameterError
from shoal.vocabulary.facts import Facts, PrivacyLoss
from shoal.vocabulary.prelude import (
    ColumnName,
    Count,
    Fact,
    Ge,
    Gt,
    HoldsCells,
    Le,
    OfOriginal,
    OfPlan,
    Setting,
    TablePath,
    method,
)

LARGEST_EPSILON = 20.0


@method(
    "private-marginals",
    title="Synthesis from private marginals (differential privacy)",
    source="McKenna et al. (2022)",
    example={"epsilon": 1.0, "delta": 1e-9, "domain": {"age": [0, 40, 80, 120, None], "size": [0, 2, 5, 100, None]}},
)
class PrivateMarginals(Mask):
    """Makes a new table from noisy marginals: private for whole records, and for the number of them.

    Counts of single columns and of pairs are taken with discrete Gaussian noise. Which pairs, a private choice says
    each time anew: those whose counts are farthest from what the model has. The model is the law of whole records
    nearest to all counts so far. New records are drawn from it. Whether a person is in the table at all changes the
    odds of any release by a factor of at most exp(epsilon), but for a probability of delta.

    Parameters
    ----------
    epsilon
        Privacy loss of a person.
    delta
        Probability that the odds change by more. It must be far below 1 over the number of records.
    domain
        By column, all its categories, or the ends of the intervals of a number, in ascending order; `null` among them
        where cells may be missing. State it from a codebook, not from the table. Numbers outside count as the nearest.
    by
        A column that every table of interest has, such as the area: its pairs with others are chosen before others.
    pairs
        Pairs of columns to measure, at most; by default the more, the less the noise among so many records is.
    rules
        Rules that no new record breaks, as in `age < 15 -> married == 'no'`, in the language of constraints. They are
        never compared with the table. A rule between numbers is kept as far as the ends of intervals tell.
    records_per_person
        Records that one person may have. In a table with a person column, this many of each are drawn at random.
    prior
        A public table of some of the columns, such as another survey's: the model begins with what goes together there,
        which costs no privacy. It must not come from the table, or from persons who are in it.
    margins
        Public tables of counts, such as a census's: columns of the step, and `count`, how many records have these
        categories; of a number, any value of an interval. New records match all of them exactly, and are as many as
        they say. They must not come from the table.
    most_cells
        Most cells of the model: with more, pairs fit in that need larger cliques, and time and memory grow. Where rules
        say which category follows from a column's, as a group from a code, both take no more cells than that column.

    Notes
    -----
    All columns of the release must be among the step's, and it must be the plan's only step. New records are nobody's:
    their number is that of the table as far as the noise tells, or that of the margins. Noise and choices are drawn
    exactly with whole numbers (Canonne, Kamath & Steinke 2020) and accounted for by zero-concentrated differential
    privacy. Random numbers are cryptographic: keep the seed as secret as the data.
    """

    scales = "memory"
    default_roles = ("quasi-identifier", "confidential", "other", "weight", "stratum")
    own_cells = True
    whole_records = True
    makes_records = True

    epsilon: Annotated[float, Gt(0), Le(LARGEST_EPSILON), Setting()]
    delta: Annotated[float, Gt(0), Le(0.5), Setting()]
    domain: Annotated[dict[str, tuple[Cell, ...]], HoldsCells()]
    by: Annotated[str | None, ColumnName()] = None
    pairs: Annotated[int, Ge(1)] | None = None
    rules: Annotated[tuple[str, ...], HoldsCells()] = ()
    records_per_person: Annotated[int, Ge(1)] = 1
    prior: Annotated[Any, TablePath()] = None
    margins: Annotated[tuple[Any, ...], TablePath()] = ()
    most_cells: Annotated[int, Ge(1)] = 100_000

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        stream = SecretStream(rng)
        return self.drawn(records, *self.fit(records, columns, stream, progress), stream)

    def fit(
        self, records: Records, columns: Sequence[str], stream: SecretStream, progress: Progress = None
    ) -> tuple[FittedMarginals, Facts]:
        """The law of whole records, and the facts; what it costs is paid, and any number of records may be drawn."""
        if len(columns) < 2:
            raise ParameterError("private-marginals needs at least two columns.")
        if self.by is not None and self.by not in columns:
            raise ParameterError(f"private-marginals: by must be one of the step's columns; '{self.by}' is not.")
        domains = tuple(Domain.of(records[name], self.domain) for name in columns)
        shape = tuple(domain.size for domain in domains)
        rho = rho_of(Fraction(self.epsilon), Decimal(self.delta))
        possible = self._possible(domains)
        margins = self._margins(domains)
        if margins is not None:
            free = margins.possible(shape)
            possible[margins.columns] = free & possible.get(margins.columns, True)
        prior, digest = self._prior(domains, shape, possible)
        search = SelectionCourse(
            shape=shape,
            rho=rho,
            by=None if self.by is None else list(columns).index(self.by),
            pairs=self.pairs,
            most_cells=self.most_cells,
            possible=possible,
            sensitivity=self.records_per_person,
            prior=prior,
        )
        counted = records.take(self._kept(records, stream))
        codes = np.column_stack([domain.codes(counted[name]) for domain, name in zip(domains, columns)])
        law, total, chosen = search.fitted(self.mechanism(codes, shape, stream), progress)
        if margins is not None:
            law, total = margins.raked(law), margins.total
        facts: dict[str, Fact] = {
            "privacy loss": PrivacyLoss(
                epsilon=self.epsilon, delta=self.delta, columns=tuple(columns), rho=nextafter(float(rho), inf)
            ),
            "records per person": OfPlan(self.records_per_person),
            "zero-concentrated loss": OfPlan(float(rho)),
            "records counted": Count(n=len(counted), of=len(records)),
            "pairs measured": OfOriginal([[columns[c] for c in pair] for pair in chosen]),
            **digest,
            **({} if margins is None else {"margins (SHA-256)": OfPlan(margins.digest)}),
        }
        return FittedMarginals(domains=domains, law=law, total=total), facts

    def _prior(
        self, domains: Sequence[Domain], shape: tuple[int, ...], possible: dict[Columns, Bools]
    ) -> tuple[dict[Columns, Floats], Facts]:
        """The law that the public table gives, as far as there is one, and which table it was."""
        if self.prior is None:
            return {}, {}
        public = like(outlines(domains), self.prior)
        places = [place for place, domain in enumerate(domains) if domain.like.name in public]
        if len(places) < 2 or not len(public):
            raise DataError(
                "private-marginals: prior must be a table with records and at least two columns of the step."
            )
        try:
            codes = np.column_stack([domains[place].codes(public[domains[place].like.name]) for place in places])
        except DataError as error:
            raise DataError(f"private-marginals: in the table that prior names, {error}") from None
        theta = prior_of(codes, places, shape, possible, (self.pairs or len(shape), self.most_cells // 2))
        return theta, {"categories of the prior (SHA-256)": OfPlan(sha256(codes.tobytes()).hexdigest())}

    def _margins(self, domains: Sequence[Domain]) -> Margins | None:
        return Margins.of(self.margins, domains) if self.margins else None

    def drawn(self, records: Records, fitted: FittedMarginals, facts: Facts, stream: SecretStream) -> StepResult:
        """As many new records as the law was fitted to, by the noisy counts or by margins, which they match.

        They are numbered after those of the table, so that none stands in the place of anybody's.
        """
        margins = self._margins(fitted.domains)
        given = None if margins is None else margins.drawn(fitted.law, stream)
        new = fitted.records(fitted.total, stream, given)
        first = int(records.rows.max(initial=-1)) + 1
        variables = tuple(new[name] for name in records.names() if name in new)
        made = Records(variables=variables, rows=np.arange(first, first + fitted.total))
        return StepResult(records=made, facts=facts)

    def mechanism(self, codes: Longs, shape: tuple[int, ...], stream: SecretStream) -> Mechanism:
        """All that is learnt of a table: `codes`, shape (n, d)."""
        return OfTable(codes=codes, shape=shape, sensitivity=self.records_per_person, stream=stream)

    def _kept(self, records: Records, stream: SecretStream) -> Longs:
        """The positions of the records that are counted: as many of each person as one may have."""
        persons = records.unit_numbers("person")
        if persons is None:
            return np.arange(len(records))
        kept = (places_in_units(persons, shuffled(len(records), stream)) < self.records_per_person) & (persons >= 0)
        return np.flatnonzero(kept)

    def _possible(self, domains: Sequence[Domain]) -> dict[Columns, Bools]:
        """By columns, false for the combinations of their categories in which every value breaks a rule."""
        corners = [domain.corners() for domain in domains]
        table = outlines(domains)
        possible: dict[Columns, Bools] = {}
        for rule in Constraints.parse(self.rules, table).rules:
            places = places_of(rule, domains)
            if (joined := prod(len(corners[place][1]) for place in places)) > MOST_COMBINATIONS:
                raise ParameterError(
                    f"private-marginals: the rule {rule.text} joins {joined:,} combinations of values; a rule "
                    f"may join {MOST_COMBINATIONS:,}. Write it of fewer columns, or of columns with fewer categories."
                )
            named = table.select(domains[place].like.name for place in places)
            alone = Constraints.parse([rule.text], named)
            sizes = [domains[place].size for place in places]
            free = combinations([corners[place] for place in places], sizes, partial(_kept_by, alone))
            possible[places] = possible.get(places, np.ones(free.shape, dtype=bool)) & free
        return possible


def _kept_by(rule: Constraints, records: Records) -> Bools:
    (broken,) = rule.violations(records).values()
    return ~broken
