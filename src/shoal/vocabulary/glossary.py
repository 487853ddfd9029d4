"""The terms of the field in a sentence each, for reports, the studio and the documentation."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A term and its meaning.

    Parameters
    ----------
    name
        The term, as a heading.
    meaning
        One or two sentences.
    spelled
        Regular expression of the words by which running text calls it, with word boundaries left out.
    in_reports
        True if every report explains it.
    """

    name: str
    meaning: str
    spelled: str
    in_reports: bool = False


TERMS = (
    Term(
        name="quasi-identifier",
        meaning="A column that others may know about a person, so that it can be used to find the record.",
        spelled="quasi-identifiers?",
        in_reports=True,
    ),
    Term(
        name="confidential column",
        meaning="A column that an intruder wants to learn about a person.",
        spelled="confidential columns?|confidential",
        in_reports=True,
    ),
    Term(
        name="equivalence class",
        meaning="All records that agree on every quasi-identifier; nobody inside can be told from the others.",
        spelled="equivalence class(?:es)?|smallest class|classes|class by class",
        in_reports=True,
    ),
    Term(
        name="k-anonymity",
        meaning="Every equivalence class holds at least k records (Samarati & Sweeney 1998).",
        spelled=r"(?:k|\d+)-anonym(?:ity|ous)",
        in_reports=True,
    ),
    Term(
        name="t-closeness",
        meaning="In every class the confidential values are spread almost as in the whole table "
        "(Li, Li & Venkatasubramanian 2007).",
        spelled="t-closeness",
        in_reports=True,
    ),
    Term(
        name="l-diversity",
        meaning="Every class holds at least l well represented confidential values (Machanavajjhala et al. 2007).",
        spelled="l-divers(?:ity|e)",
        in_reports=True,
    ),
    Term(
        name="record linkage",
        meaning="An attack that matches released records with known people by likeness.",
        spelled="(?:record )?linkage",
        in_reports=True,
    ),
    Term(
        name="information loss",
        meaning="How much the released table differs from the original; 100 SSE/SST is the share of the spread "
        "that was smoothed away (Domingo-Ferrer & Mateo-Sanz 2002).",
        spelled="information loss|loss(?:es)?",
        in_reports=True,
    ),
    Term(
        name="confidence interval",
        meaning="The range in which an estimated figure lies with the stated confidence.",
        spelled="confidence intervals?",
        in_reports=True,
    ),
    Term(
        name="identifier",
        meaning="A column that names a person by itself, such as a name or an insurance number. It is never released.",
        spelled="identifiers?",
    ),
    Term(
        name="disclosure risk",
        meaning="How likely somebody finds a person's record in the release, or learns something about the person "
        "from it. Each measure says what its intruder is assumed to know.",
        spelled="disclosure risks?|risks?",
    ),
    Term(
        name="unique record",
        meaning="A record whose quasi-identifiers nobody else in the table has: who knows them has found the person.",
        spelled="uniques?|singles? (?:people )?out",
    ),
    Term(
        name="generalisation",
        meaning="Values are replaced by coarser ones of a hierarchy, as a town by its region.",
        spelled="generalis(?:ation|ed|e)",
    ),
    Term(
        name="recoding",
        meaning="Values are put into bands or merged categories, as ages into 20 to 39.",
        spelled="recod(?:ing|ed|e)",
    ),
    Term(
        name="suppression",
        meaning="Cells are blanked, or records left out, because they single somebody out.",
        spelled="suppress(?:ion|ed|es)?",
    ),
    Term(
        name="hierarchy",
        meaning="How the values of a column become coarser, level by level: street, town, region, and * for all.",
        spelled="hierarch(?:y|ies)",
    ),
    Term(
        name="microaggregation",
        meaning="Similar records are put into groups of at least k, and each gets the average of its group "
        "(Domingo-Ferrer & Mateo-Sanz 2002).",
        spelled="microaggregat(?:ion|ed)",
    ),
    Term(
        name="synthetic data",
        meaning="Records drawn from a model of the table. None of them stands for a person, but a model that fits "
        "too closely may repeat people.",
        spelled="synthetic",
    ),
    Term(
        name="differential privacy",
        meaning="What is released would be almost equally likely if any one person were left out. Epsilon bounds the "
        "difference: the smaller, the safer (Dwork et al. 2006).",
        spelled="differential(?:ly)? priva(?:cy|te)|epsilon",
    ),
    Term(
        name="requirement",
        meaning="What must be proved on the finished table. If it does not hold, nothing is written.",
        spelled="requirements?",
    ),
    Term(name="frontier", meaning="The plans that no other plan beats in both risk and loss.", spelled="frontier"),
    Term(
        name="level of measurement",
        meaning="Nominal: names without an order. Ordinal: an order without distances. Continuous: numbers to "
        "count with.",
        spelled="nominal|ordinal|continuous",
    ),
    Term(
        name="sampling weight",
        meaning="How many people of the population a record of a survey stands for.",
        spelled="sampling weights?",
    ),
    Term(
        name="ledger",
        meaning="What all releases of the same people have given away, so that a further one is judged beside them.",
        spelled="ledgers?",
    ),
    Term(
        name="evidence",
        meaning="Everything that was proved and measured of a release, in a file that goes out with it.",
        spelled="evidence",
    ),
    Term(
        name="seed",
        meaning="The number from which all chance is drawn; with it the release can be made again. It is private.",
        spelled="seed",
    ),
)
