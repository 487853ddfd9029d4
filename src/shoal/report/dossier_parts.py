"""The dossier: the evidence of a release in the order of a regulator's questions, and fields for a person to fill in.

Every statement names the figures of evidence.json that it rests on (by JSON pointers, RFC 6901). Facts that no
program can know (who receives the data, what else they have, who answers for it) are left as fields. Whether a release
counts as personal data is a finding of law: no statement here makes it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from shoal.report.decision import decision
from shoal.report.evidence import EvidenceFile, Question, ReportedFigure, ReportedStep
from shoal.report.forms import READINGS, figure, in_unit, share
from shoal.report.unchanged import left_unchanged, unchanged_sentence

UNTIL = "To be used until"
"""Word for the last day on which a release may be used."""

QUESTIONS: dict[Question, str] = {
    "singling out": "whether records that stand for one individual can be isolated",
    "linkability": "whether records of one individual, in this or in several data sets, can be linked",
    "inference": "whether the value of an attribute can be deduced with significant probability from those of others",
}
"""The three questions of WP216, section 2.2.2; measures and privacy models declare which one they answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement that the evidence supports.

    Parameters
    ----------
    sources
        JSON pointers to the figures in evidence.json.
    """

    text: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DossierQuestion:
    """A regulator's question, the statements of the evidence on it, and fields for a person to fill in.

    Parameters
    ----------
    title
        The question, with the place where it is asked.
    fields
        Labels of the fields.
    """

    title: str
    statements: tuple[Statement, ...] = ()
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DossierPart:
    """One regulator's, or one standard's, questions."""

    title: str
    source: str
    questions: tuple[DossierQuestion, ...]


def dossier_parts(content: EvidenceFile) -> tuple[DossierPart, ...]:
    """The parts of the dossier on an evidence.json."""
    return (
        DossierPart(
            title="The release",
            source="What is described, and by whom",
            questions=(_summary(content), _identity(content), _what_was_done(content), _limits(content)),
        ),
        DossierPart(
            title="The three questions of the Article 29 Working Party",
            source="Opinion 05/2014 (WP216), section 2.2.2",
            questions=(*(_criterion(content, question) for question in QUESTIONS), _other_risks(content)),
        ),
        DossierPart(
            title="De-identification framework",
            source="ISO/IEC 27559:2022, clauses 6 to 9",
            questions=tuple(_framework(content)),
        ),
        DossierPart(
            title="Expert determination",
            source="HIPAA Privacy Rule, 45 CFR 164.514(b)(1)",
            questions=tuple(_expert(content)),
        ),
        DossierPart(
            title="Secondary use of health data",
            source="European Health Data Space, Regulation (EU) 2025/327, chapter IV",
            questions=tuple(_health_data_space(content)),
        ),
    )


def _summary(content: EvidenceFile) -> DossierQuestion:
    """The head of the report: may the release go, and what is left to decide."""
    head = decision(content)
    every = ("/requirements", "/measures", "/left as they came")
    points = [Statement(text=f"{point.label}: {' '.join(point.sentences)}", sources=every) for point in head.points]
    return DossierQuestion(
        title="Summary", statements=(Statement(text=f"{head.word}. {head.heading}.", sources=every), *points)
    )


def _identity(content: EvidenceFile) -> DossierQuestion:
    words = {"owner": "Owner", "date": "Date", "audience": "Audience", "purpose": "Purpose", "valid_until": UNTIL}
    size = f"{figure(content['records'])} records in {len(content['columns'])} columns are released"
    copies = f", in {content['copies']} tables made by the same plan" if content["copies"] > 1 else ""
    files = [
        Statement(text=f"{name}: SHA-256 {digest}.", sources=(f"/sha256/{_escaped(name)}",))
        for name, digest in content["sha256"].items()
    ]
    return DossierQuestion(
        title="Identity",
        statements=(
            *(statement for key, word in words.items() for statement in _stated(content, key, word)),
            Statement(text=f"{size}{copies}.", sources=("/records", "/columns", "/copies")),
            *files,
        ),
        fields=tuple(word for key, word in words.items() if key not in content["release"]),
    )


def _stated(content: EvidenceFile, key: str, word: str) -> Iterator[Statement]:
    """A statement from the plan's description of the release, if it has this key."""
    if key in content["release"]:
        yield Statement(text=f"{word}: {content['release'][key]}.", sources=(f"/release/{key}",))


def _what_was_done(content: EvidenceFile) -> DossierQuestion:
    statements = []
    for place, step in enumerate(content["steps"]):
        settings = "; ".join(f"{key.replace('_', ' ')} {value}" for key, value in _settings(step).items())
        columns = f" on {', '.join(step['columns'])}" if step["columns"] else ""
        text = f"Step {place + 1}: {step['step']}{columns}{f' ({settings})' if settings else ''}."
        statements.append(Statement(text=text, sources=(f"/steps/{place}",)))
    if content["not released"]:
        statements.append(
            Statement(text=f"Not released: {', '.join(content['not released'])}.", sources=("/not released",))
        )
    if content["left as they came"]:
        text = unchanged_sentence(left_unchanged(content))
        statements.append(Statement(text=text, sources=("/left as they came", "/singled out")))
    return DossierQuestion(title="What was done to the data", statements=tuple(statements))


def _settings(step: ReportedStep) -> dict[str, str]:
    """The parameters and facts of a step; a method's name before its settings is left out."""
    names = [f"{name}: " for name in step["step"].split(" + ")]
    stated = {key: figure(value) for key, value in step["parameters"].items()} | step["facts"]
    return {
        next((key.removeprefix(name) for name in names if key.startswith(name)), key): value
        for key, value in stated.items()
    }


def _limits(content: EvidenceFile) -> DossierQuestion:
    statements = [
        Statement(
            text=f"{verdict['requirement']}: {'proved' if verdict['holds'] else 'refuted'} on the table as it is "
            f"written. {verdict['sentence'] if verdict['achieved'] is not None else 'The figure is private.'}",
            sources=(f"/requirements/{place}",),
        )
        for place, verdict in enumerate(content["requirements"])
        if verdict["model"]
    ]
    if not statements:
        statements = [Statement(text="The plan states no limit, so nothing was proved.", sources=("/requirements",))]
    return DossierQuestion(title="Limits that were stated, and their proofs", statements=tuple(statements))


def _criterion(content: EvidenceFile, question: Question) -> DossierQuestion:
    statements = [*_levels(content, question), *_figures(content, question)]
    if question == "singling out":
        statements = [*_alone(content), *statements]
    reasons = [
        f"{measure['title']}: {measure['reason']}"
        for measure in content["measures"]
        if measure["question"] == question and measure["value"] is None and measure["reason"]
    ]
    fields = ["Reasons why the figures are acceptable, or what else was weighed"]
    if not statements:
        fields.insert(0, "No figure answers this question here. What else shows the risk?")
    if reasons:
        statements.append(Statement(text=f"Not measured. {' '.join(reasons)}", sources=("/measures",)))
    title = f"{question.capitalize()}: {QUESTIONS[question]}"
    return DossierQuestion(title=title, statements=tuple(statements), fields=tuple(fields))


def _alone(content: EvidenceFile) -> Iterator[Statement]:
    for place, profile in enumerate(content["classes"]):
        alone, records = profile["fewer than"]["2"], profile["records"]
        reading = f" ({READINGS[profile['missing']]})" if len(content["classes"]) > 1 else ""
        text = (
            f"{figure(alone)} of {figure(records)} released records ({share(alone / records)}) have quasi-identifiers "
            f"that no other record matches; the smallest class holds {figure(profile['smallest'])}"
            f"{reading}."
        )
        yield Statement(text=text, sources=(f"/classes/{place}/fewer than/2", f"/classes/{place}/smallest"))


def _levels(content: EvidenceFile, *questions: Question) -> Iterator[Statement]:
    """Levels of privacy models that answer one of the questions."""
    for place, level in enumerate(content["reached"]):
        if level["question"] in questions:
            text = f"{level['title']} reached: {figure(level['value'])} ({level['better']} is better)."
            yield Statement(text=text, sources=(f"/reached/{place}/value",))


def _figures(content: EvidenceFile, *questions: Question | None) -> Iterator[Statement]:
    """Risks that answer one of the questions; None stands for risks that answer none."""
    for place, measure in enumerate(content["measures"]):
        if measure["kind"] == "risk" and measure["question"] in questions and measure["value"] is not None:
            yield _of_measure(place, measure)


def _of_measure(place: int, measure: ReportedFigure) -> Statement:
    interval = measure["interval"]
    sure = (
        ""
        if interval is None
        else (
            f" ({share(interval['confidence'])} confidence: {in_unit(interval['low'], measure)} to "
            f"{in_unit(interval['high'], measure)})"
        )
    )
    titled = f"{measure['title']}: "
    text = f"{titled}{in_unit(measure['value'], measure)}{sure}. {measure['sentence']}".rstrip()
    if measure["sentence"].startswith(titled):  # a bound in the place of a private figure
        text = measure["sentence"]
    return Statement(text=text, sources=(f"/measures/{place}/value",))


def _other_risks(content: EvidenceFile) -> DossierQuestion:
    hidden = [
        measure["title"]
        for measure in content["measures"]
        if measure["kind"] == "risk" and measure["value"] is None and not measure["reason"]
    ]
    statements = list(_figures(content, None))
    if hidden:
        text = f"Measured, and not shown where this evidence is public: {', '.join(hidden)}."
        statements.append(Statement(text=text, sources=("/measures",)))
    return DossierQuestion(title="Further measures of risk", statements=tuple(statements))


def _framework(content: EvidenceFile) -> Iterator[DossierQuestion]:
    yield DossierQuestion(
        title="Context assessment (clause 6): threats, transparency and harms",
        statements=tuple(_stated(content, "audience", "Audience")),
        fields=(
            "Recipients, and the contract or law under which they receive the data",
            "Security and privacy practices of the recipients (6.2.2)",
            "Motives and capacity to re-identify, and other data within their reach (6.2.3)",
            "Transparency towards the persons concerned (6.3.2)",
            "Harm that a disclosure would do (6.3.3)",
        ),
    )
    roles: dict[str, list[str]] = {}
    for column in content["columns"]:
        label = f" ({column['label']})" if column["label"] else ""
        roles.setdefault(column["role"], []).append(f"{column['name']}{label}")
    yield DossierQuestion(
        title="Data assessment (clause 7): features of the data and attacks",
        statements=(
            *(
                Statement(text=f"Columns with the role {role}: {', '.join(names)}.", sources=("/columns",))
                for role, names in roles.items()
            ),
            Statement(text=f"Records: {figure(content['records'])}.", sources=("/records",)),
        ),
        fields=(
            "Why each column has its role: who may know it of a person (7.2.4)",
            "Whether an intruder may know that a person is in the table (7.3.3)",
        ),
    )
    yield DossierQuestion(
        title="Identifiability assessment and mitigation (clause 8)",
        statements=(*_limits(content).statements, *_figures(content, *QUESTIONS), *_losses(content)),
        fields=("Threshold of tolerable risk, and why it is right for this context (8.2.2)",),
    )
    yield _governance(content)


def _governance(content: EvidenceFile) -> DossierQuestion:
    return DossierQuestion(
        title="De-identification governance (clause 9)",
        statements=(
            *_stated(content, "valid_until", UNTIL),
            Statement(
                text="Made with " + ", ".join(f"{name} {number}" for name, number in content["versions"].items()) + ".",
                sources=("/versions",),
            ),
        ),
        fields=(
            "Roles and responsibilities (9.2.2)",
            "Policies and procedures that were followed (9.2.3)",
            "How the environment is monitored after release, and how often this is reviewed (9.3.2)",
            "What is done in case of an incident (9.4)",
        ),
    )


def _losses(content: EvidenceFile) -> Iterator[Statement]:
    for place, measure in enumerate(content["measures"]):
        if measure["kind"] == "utility" and measure["value"] is not None:
            yield _of_measure(place, measure)


def _expert(content: EvidenceFile) -> Iterator[DossierQuestion]:
    yield DossierQuestion(
        title="The expert",
        fields=("Name", "Knowledge of and experience with statistical and scientific principles and methods"),
    )
    yield DossierQuestion(
        title="Methods and results that the determination rests on",
        statements=(*_limits(content).statements, *_alone(content), *_figures(content, *QUESTIONS)),
        fields=(
            "Anticipated recipients, and information reasonably available to them",
            "Determination: whether the risk is very small that the information could be used, alone or in combination "
            "with other reasonably available information, to identify an individual",
        ),
    )
    yield DossierQuestion(
        title="Period of validity",
        statements=tuple(_stated(content, "valid_until", UNTIL)),
        fields=("Until when the determination holds, and what would call for a new one", "Date and signature"),
    )


def _health_data_space(content: EvidenceFile) -> Iterator[DossierQuestion]:
    yield DossierQuestion(
        title="Data minimisation and purpose limitation (Article 66(1))",
        statements=(*_stated(content, "purpose", "Purpose"), *_what_was_done(content).statements),
        fields=("Why each column is needed for the purpose of the application",),
    )
    yield DossierQuestion(
        title="Format of the data (Article 66(2) and (3))",
        statements=(*_alone(content), *_levels(content, *QUESTIONS)),
        fields=(
            "Format in which the data are provided under paragraph 2 or 3, as found by the health data access body",
        ),
    )
    yield DossierQuestion(
        title="Data permit and environment (Articles 68 and 73)",
        fields=(
            "Data permit: number, holder and end",
            "Secure processing environment, and what may be taken out of it",
        ),
    )


def _escaped(key: str) -> str:
    """A key as part of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")
