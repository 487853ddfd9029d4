"""Measures over linked tables: taken on what an intruder, or a user, gets who joins them.

Measures of exact matches compare persons: two are the same if all cells of all of their rows are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from shoal.judges.base import Measure
from shoal.judges.closure import Closure
from shoal.judges.evidence import Finding, Verdict
from shoal.judges.joined import Joined, common_profiles
from shoal.judges.table_pair import NO_ORIGINAL, TablePair
from shoal.kernels.arrays import Longs, ints
from shoal.kernels.draws import keyed_generator
from shoal.privacy.gate import Gate
from shoal.run.judging import MEASURES
from shoal.table.laws import Laws
from shoal.table.links import below, root_of
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import in_digits, plural, quoted

Pairs = Mapping[str, TablePair]

NOT_JOINED = "No released table, joined with all above it, has the columns that it is taken on."


def measured_over_tables(
    measures: Sequence[Measure], released: Joined, original: Joined | None, pairs: Pairs, entropy: int
) -> list[Finding]:
    """Figures of measures over linked tables, each with random numbers of its own.

    `pairs`: by table, the original and the release.
    """
    return [
        _finding(measure, released, original, pairs, keyed_generator(entropy, MEASURES, number))
        for number, measure in enumerate(measures)
    ]


def bounded_over_tables(
    bounds: Sequence[Gate], stages: Sequence[tuple[Joined, Mapping[str, Laws]]], original: Joined | None, pairs: Pairs
) -> list[Verdict]:
    """Verdicts on bounds over linked tables: of risks, on the stage on which they fail, if they do.

    `stages`: as for `judged_over_tables`; `pairs`: as for `measured_over_tables`.
    """
    verdicts = []
    for gate in bounds:
        filled = [stage for joined, laws in stages for stage in joined.stages(laws)]
        some = filled if gate.measure.method_kind == "risk" else filled[:1]
        findings = [_finding(gate.measure, stage, original, pairs, np.random.default_rng(0)) for stage in some]
        judged = [gate.verdict_of(finding) for finding in findings]
        failed = [verdict for verdict in judged if not verdict.holds]
        verdicts.append(failed[0] if failed else judged[0])
    return verdicts


def _finding(
    measure: Measure, released: Joined, original: Joined | None, pairs: Pairs, rng: np.random.Generator
) -> Finding:
    """The figure over all tables: of several joins, the worst."""
    if measure.over_tables == "profiles":
        findings = [_matches(measure, released, original, rng)]
    elif measure.over_tables == "classes":
        findings = [_of_classes(measure, released, rng)]
    elif measure.over_tables == "tables":
        findings = [_of_columns(measure, pairs, rng)]
    else:
        findings = [measure.finding_on(pair, rng) for pair in _pairs(measure, released, original)]
    figures = [finding for finding in findings if finding.value is not None]
    if figures:
        worst = max if measure.better == "lower" else min
        finding = worst(figures, key=lambda figure: figure.value or 0.0)
    else:
        finding = findings[0] if findings else measure.without(NOT_JOINED)
    over = f"{finding.title}, over {quoted(released.links.keys)}"
    return replace(finding, title=over, record_risk=None, by_record={}, clipped=None, influence=None)


def _matches(measure: Measure, released: Joined, original: Joined | None, rng: np.random.Generator) -> Finding:
    """A measure of exact matches, taken on persons with all of their rows."""
    of_persons = f"{measure.title}, of persons"
    if original is None:
        return replace(measure.without(NO_ORIGINAL), title=of_persons)
    x, y = common_profiles(original, released, measure.roles)
    finding = measure.finding_on(TablePair.of(_persons(x), _persons(y)), rng)
    alone = np.bincount(x, minlength=int(y.max(initial=-1)) + 1) == 1
    shown = len(np.unique(y[alone[y]]))
    sentence = (
        f"Of {plural(int(alone.sum()), 'person')} whom nobody else resembles in all cells of all rows, {shown:,} "
        f"{'stands' if shown == 1 else 'stand'} in the release with the same rows."
    )
    return replace(finding, title=of_persons, sentence=sentence, facts={})


def _of_classes(measure: Measure, released: Joined, rng: np.random.Generator) -> Finding:
    """A measure of classes, taken on persons: those are alike who have the same profile."""
    finding = measure.finding_on(_pair(None, _persons(released.branches(None)[root_of(released.links.keys)])), rng)
    finding = replace(finding, title=f"{measure.title}, of persons", facts={})
    if finding.value is None:
        return finding
    return replace(finding, sentence=measure.of_persons.format(in_digits(100 * finding.value, 3)))


def _of_columns(measure: Measure, pairs: Pairs, rng: np.random.Generator) -> Finding:
    """A measure that is a mean over columns, taken on those of all tables."""
    if any(pair.original is None for pair in pairs.values()):
        return measure.without(NO_ORIGINAL)
    findings = {name: measure.finding_on(pair, rng) for name, pair in pairs.items()}
    sizes = {name: len(pair.before.names(*measure.roles)) for name, pair in pairs.items()}
    figures = {name: finding.value for name, finding in findings.items() if finding.value is not None}
    if not figures:
        return next(iter(findings.values()))
    columns = sum(sizes[name] for name in figures)
    mean = sum(value * sizes[name] for name, value in figures.items()) / columns
    by_table = ", ".join(f"{in_digits(100 * value, 3)} % in '{name}'" for name, value in figures.items())
    over = plural(columns, "column")
    sentence = f"{measure.title}, over {over} of all tables: {in_digits(100 * mean, 3)} %; {by_table}."
    return replace(findings[next(iter(figures))], value=mean, sentence=sentence, by_column=None, facts={})


def in_any_copy(measure: Measure, copies: Sequence[Joined], original: Joined) -> Finding:
    """A measure of exact matches, taken on several copies together: a person whom any gives back counts, and once."""
    given, x = np.zeros(original.people, dtype=bool), np.zeros(0, dtype=np.int64)
    for released in copies:
        x, y = common_profiles(original, released, measure.roles)
        risk = measure.finding_on(TablePair.of(_persons(x), _persons(y)), np.random.default_rng(0)).record_risk
        given |= False if risk is None else np.isin(x, y[np.asarray(risk) > 0])
    nobody = x.max(initial=-1) + 1
    together = TablePair.of(_persons(x), _persons(np.append(x[given], nobody)))
    finding = measure.finding_on(together, np.random.default_rng(0))
    count = int(given.sum())
    return replace(
        finding,
        title=f"{measure.title}, of persons, in any copy, over {quoted(original.links.keys)}",
        sentence=f"{plural(count, 'person')} whom nobody else resembles {'is' if count == 1 else 'are'} given back by "
        f"one copy or several.",
        facts={},
        record_risk=None,
        by_record={},
        clipped=None,
        influence=None,
    )


def _persons(profiles: Longs) -> Records:
    """A record for each person, with the number of its profile."""
    categories = tuple(range(int(profiles.max(initial=-1)) + 1))
    column = Variable(
        name="profile", role="quasi-identifier", level="nominal", values=ints(profiles), categories=categories
    )
    return Records(variables=(column,), rows=np.arange(len(profiles)))


def _pairs(measure: Measure, released: Joined, original: Joined | None) -> Iterator[TablePair]:
    if measure.over_tables == "persons":
        yield _pair(None, released.of_branches())
        return
    columns = getattr(measure, "columns", None) or ()
    for name, records in released.joins.items():
        lowest = not below(released.links.keys, name)
        if (lowest and not columns) or (columns and set(columns) <= set(records.names()) and _first(columns, name)):
            yield _pair(None if original is None else original.joins[name], records)


def _first(columns: Sequence[str], name: str) -> bool:
    """True if a table is the lowest of which some columns are."""
    return any(column.startswith(f"{name}.") for column in columns)


def _pair(original: Records | None, released: Records) -> TablePair:
    return TablePair.of(original, released, known=Closure(records=released, filled={}))
