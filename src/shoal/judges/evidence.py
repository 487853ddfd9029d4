"""Results of judges: frozen values for proofs and measurements.

A `Verdict` answers a requirement: it holds on the finished table or it does not. A `Finding` is a figure
of risk or of information loss, with its range, its direction and, where it is an estimate, its interval.
A figure that cannot be computed is `None`, with a reason; it is never replaced by a reassuring one.

Both have two forms. The private one holds everything. The public one is built only of public forms of facts: functions
of the released table as they are, figures that depend on the original in bands that no single record moves them out
of, and nothing else.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import polars as pl

from shoal.judges.units import KnownLess, RepeatedIdentifier
from shoal.kernels.arrays import Bools, Floats
from shoal.report.evidence import Estimate, Judged, MeasuredFigure, MeasureKind, OfRecords, Requirement
from shoal.report.forms import is_share, of_range, share
from shoal.table.files.json_text import as_json
from shoal.vocabulary.errors import NoFigure, quoted
from shoal.vocabulary.facts import (
    RANGE,
    SQUARED_RANGE,
    Band,
    Better,
    ByColumn,
    ByLabel,
    Facts,
    Figure,
    Interval,
    OfPlan,
    as_known,
    private_form,
    public_form,
)

RECORD_VERSION: Literal[2] = 2
"""Version of the layout of record.json and evidence.json."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict on a requirement: whether it holds on a finished table.

    Parameters
    ----------
    requirement
        The requirement in words, with its parameters ("5-anonymity").
    holds
        True only where it was proved on the table.
    required, achieved
        The limit and what the table reaches, on the requirement's own scale.
    sentence
        One sentence for a reader: what was proved, or what fails and by how much.
    facts
        Further figures, as facts with a private and a public form.
    influence
        0 if the verdict is a function of the released table alone, so that it is shown as it is; None otherwise.
    protects
        True if the requirement protects anyone's privacy; an edit rule protects nobody.
    failing
        Shape (n',); the released records on which it fails, if it is judged record by record. Private.
    model
        Registered name of the privacy model or measure; empty for an edit rule.
    limited
        Title of the measure, with its parameters, whose figure is limited; empty for a privacy model.
    counts_classes
        True for a limit on the smallest equivalence class.
    advice
        Remedy for an edit rule that does not hold.
    of_records
        Identifiers that repeat in the release, if the requirement counts records. Private.
    """

    requirement: str
    holds: bool
    required: float
    achieved: float | None
    sentence: str
    facts: Facts = field(default_factory=dict)
    influence: float | None = None
    protects: bool = True
    failing: Bools | None = field(default=None, repr=False, compare=False)
    model: str = ""
    limited: str = ""
    counts_classes: bool = False
    advice: str = ""
    of_records: tuple[str, ...] = ()

    @property
    def details(self) -> ByLabel:
        """The facts as they are; private."""
        return private_form(self.facts)

    @property
    def private_sentence(self) -> str:
        """The sentence, with a caution if it counts records and not persons."""
        if not self.of_records:
            return self.sentence
        return f"{self.sentence} This is of records, not of values of {quoted(self.of_records)}."

    @property
    def public_sentence(self) -> str:
        """The sentence for the public."""
        if self.influence == 0:
            return self.sentence
        return "It was proved on the released table." if self.holds else "It was not proved on the released table."

    def public_form(self) -> Requirement:
        """The public form; JSON-able but for a `Band` among the facts."""
        return {
            "requirement": self.requirement,
            "holds": self.holds,
            "required": self.required,
            "achieved": self.achieved if self.influence == 0 else None,
            "sentence": self.public_sentence,
            "facts": public_form(self.facts),
            "protects": self.protects,
            "model": self.model,
            "limited": self.limited,
            "counts_classes": self.counts_classes,
        }

    def private_form(self) -> Requirement:
        """The private form, without figures by record, for record.json and the private report."""
        return {
            **self.public_form(),
            "achieved": self.achieved,
            "sentence": self.private_sentence,
            "facts": self.details,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One measured figure of disclosure risk or information loss.

    Parameters
    ----------
    measure
        Registered name of the measure.
    kind
        "risk" or "utility".
    title
        Name of the measure for readers.
    value
        The figure, or None if it cannot be computed, for the reason in `reason`.
    unit
        Unit of the figure; empty for a share or a pure number.
    limits
        Smallest and largest value the figure can take.
    better
        The better direction, `lower` or `higher`.
    sentence
        Meaning of the figure, in one sentence without formulas; private unless the influence is 0.
    interval
        Confidence interval, if the figure is an estimate.
    influence
        Largest change of the value by one record of the original (see `shoal.vocabulary.facts`); 0 for a function of
        the released table alone, None where nobody has bounded it.
    clipped
        Public substitute for a loss without bounded influence: the same loss of the original clipped to the released
        range of each column, whose influence is bounded.
    by_column
        The figure, or its parts, for each column.
    facts
        Further figures, as facts with a private and a public form.
    record_risk
        Shape (n',); risk of each released record, NaN if it was not attacked. Private.
    by_record
        Further figures by released record, each of shape (n',). Private.
    """

    measure: str
    kind: MeasureKind
    title: str
    value: float | None
    unit: str = ""
    limits: tuple[float, float] = (0.0, math.inf)
    better: Better = "lower"
    sentence: str = ""
    reason: str = ""
    interval: Interval | None = None
    influence: float | None = None
    clipped: Figure | None = None
    by_column: ByColumn | None = None
    facts: Facts = field(default_factory=dict)
    record_risk: Floats | None = field(default=None, repr=False)
    by_record: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def details(self) -> ByLabel:
        """The facts as they are; private."""
        return private_form(self.facts)

    @property
    def figure(self) -> Figure | None:
        """The value as a fact."""
        if self.value is None:
            return None
        return Figure(
            value=self.value, unit=self.unit, interval=self.interval, influence=self.influence, better=self.better
        )

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.title}: no figure"
        if is_share(self.private_form()):
            ends = f" [{share(self.interval.low)}, {share(self.interval.high)}]" if self.interval else ""
            return f"{self.title}: {share(self.value)}{ends}"
        return f"{self.title}: {as_known(self.value, self.interval)}{self.interval or ''}"

    @property
    def public_value(self) -> float | Band | None:
        """The value for the public: as it is, in a band, or None."""
        shown = self.clipped or self.figure
        form = None if shown is None else shown.public()
        largest = 1.0 if self.clipped else self.limits[1]
        if isinstance(form, Band) and form.at_most is not None and form.at_most >= largest:
            return None  # it would say nothing
        return form

    @property
    def public_sentence(self) -> str:
        """The sentence for the public: its own only if it is a function of the released table alone."""
        if self.influence == 0:
            return self.sentence
        form = self.public_value
        if isinstance(form, Band) and form.unit in (RANGE, SQUARED_RANGE):
            return f"{self.title}: {of_range(form)}."
        if isinstance(form, Band) and is_share(self.private_form()):
            ends = (("most", form.at_most), ("least", form.at_least))
            return (
                f"{self.title}: "
                + " and ".join(f"at {word} {share(end)}" for word, end in ends if end is not None)
                + "."
            )
        return "" if form is None else f"{self.title}: {form}."

    def public_form(self) -> ByLabel:
        """The public form; JSON-able but for a `Band`.

        Whether a figure could be computed depends on the original, too: if nothing is shown of it, its settings are not
        either.
        """
        exact, value = self.influence == 0, self.public_value
        shown = exact or value is not None
        facts = {label: fact for label, fact in self.facts.items() if shown or not isinstance(fact, OfPlan)}
        return {
            "measure": self.measure,
            "kind": self.kind,
            "title": self.title,
            "value": value,
            "unit": self.unit,
            "limits": self.limits,
            "better": self.better,
            "interval": self.interval if exact else None,
            "sentence": self.public_sentence,
            "reason": self.reason if exact else "",
            "by_column": None if self.by_column is None else self.by_column.public(),
            "facts": public_form(facts),
        }

    def private_form(self) -> MeasuredFigure:
        """The private form, without figures by record, for record.json and the private report."""
        return {
            "measure": self.measure,
            "kind": self.kind,
            "title": self.title,
            "value": self.value,
            "unit": self.unit,
            "limits": self.limits,
            "better": self.better,
            "interval": None if self.interval is None else _estimate(self.interval),
            "sentence": self.sentence,
            "reason": self.reason,
            "by_column": None if self.by_column is None else self.by_column.private(),
            "facts": self.details,
        }


def _estimate(interval: Interval) -> Estimate:
    return {"low": interval.low, "high": interval.high, "confidence": interval.confidence}


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """Verdicts and findings on the finished table.

    Parameters
    ----------
    of_records
        Identifiers that repeat in the release, so that figures which count records do not count persons.
    """

    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...]
    of_records: tuple[RepeatedIdentifier | KnownLess, ...] = ()

    @property
    def holds(self) -> bool:
        """True only where something was required, and all of it was proved."""
        return bool(self.verdicts) and all(verdict.holds for verdict in self.verdicts)

    @property
    def promises_of_records(self) -> list[str]:
        """The requirements that count records where identifiers repeat."""
        return [verdict.requirement for verdict in self.verdicts if verdict.of_records]

    def lines(self) -> list[str]:
        """Lines for a reader: cautions on repeated identifiers, verdicts, figures, and reasons for missing ones."""
        lines = [f"records   {repeated.sentence(self.promises_of_records)}" for repeated in self.of_records]
        lines += [
            f"{'proved' if v.holds else 'REFUTED':9} {v.requirement}: {v.private_sentence}" for v in self.verdicts
        ]
        lines += [f"measured  {finding}" for finding in self.findings if finding.value is not None]
        return lines + [f"no figure {f.title}: {f.reason}" for f in self.findings if f.value is None]

    def __repr__(self) -> str:
        return "\n".join(self.lines()) or "nothing required, nothing measured"

    def to_frame(self) -> pl.DataFrame:
        """One row a requirement, and one a measure, as they are; private."""
        number, text = pl.Float64, pl.String
        schema = {"kind": text, "name": text, "title": text, "value": number, "low": number, "high": number}
        schema |= {"required": number, "holds": pl.Boolean, "better": text, "sentence": text}
        verdicts = [
            ("requirement", v.model, v.requirement, v.achieved, None, None, v.required, v.holds, None, v.sentence)
            for v in self.verdicts
        ]
        findings = [
            (f.kind, f.measure, f.title, f.value)
            + ((f.interval.low, f.interval.high) if f.interval else (None, None))
            + (None, None, f.better, f.sentence or f.reason)
            for f in self.findings
        ]
        return pl.DataFrame([*verdicts, *findings], schema=schema, orient="row", strict=False)

    def plot(self) -> Any:
        """The measured risks that are parts of a whole, with their intervals, as a chart; private.

        Raises NoFigure if none was measured.
        """
        from shoal.report.charts import risks_chart
        from shoal.report.display import Picture

        risks = [f.private_form() for f in self.findings if f.kind == "risk" and f.value is not None]
        shares = [risk for risk in risks if risk["limits"] == (0.0, 1.0)]
        if not shares:
            raise NoFigure("No risk that is a part of a whole was measured, so there is nothing to draw.")
        return Picture(risks_chart(shares))

    def _repr_html_(self) -> str:
        from shoal.report.page import evidence_shown

        content = self.as_mapping()
        return evidence_shown(content["requirements"], content["measures"])

    def as_mapping(self) -> Judged:
        """Everything but figures by record, for record.json, which is private."""
        content: Judged = {
            "version": RECORD_VERSION,
            "of records": self.private_of_records(),
            "requirements": [verdict.private_form() for verdict in self.verdicts],
            "measures": [finding.private_form() for finding in self.findings],
        }
        if not self.of_records:
            del content["of records"]
        return cast(Judged, as_json(content))

    def private_of_records(self) -> list[OfRecords]:
        """The meaning, for each identifier that repeats, of requirements that count records."""
        return [repeated.private_form(self.promises_of_records) for repeated in self.of_records]

    def public_of_records(self) -> list[OfRecords]:
        """The same for the public."""
        promises = self.promises_of_records
        sentences = {repeated.identifier: repeated.public_sentence(promises) for repeated in self.of_records}
        return [
            {"identifier": name, "sentence": sentence, "promises": promises}
            for name, sentence in sentences.items()
            if sentence
        ]


PUBLISHED_DIGITS = 4
"""Significant digits of a measured figure in a report."""


def rounded(value: Any) -> Any:
    """Figures rounded for publication: all digits of an exact sum over few records can reveal one of them."""
    if isinstance(value, Mapping):
        return {key: rounded(below) for key, below in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(below) for below in value]
    return float(f"{value:.{PUBLISHED_DIGITS}g}") if isinstance(value, float) and math.isfinite(value) else value
