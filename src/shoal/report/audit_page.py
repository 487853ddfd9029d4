"""An audit as a page, and as the XML that build servers show."""

from typing import Any
from xml.etree import ElementTree

from shoal.report.page import render
from shoal.vocabulary.errors import plural, printable


def audit_page(evidence: Any, name: str) -> str:
    """One self-contained page: each requirement proved or refuted, and every measured figure.

    Parameters
    ----------
    evidence
        The result of `shoal.audit`.
    name
        Name of the file that was judged.
    """
    return render("audit.html", name=name, evidence=evidence, count=plural(len(evidence.verdicts), "requirement"))


def junit(evidence: Any, name: str) -> str:
    """The verdicts as a test suite in JUnit's XML: a requirement that does not hold is a failed test.

    An audit of a plan without requirements proves nothing; it is a suite with one failed test.

    Parameters
    ----------
    evidence
        The result of `shoal.audit`.
    name
        Name of the file that was judged.
    """
    outcomes = [(v.requirement, v.holds, v.sentence) for v in evidence.verdicts]
    outcomes = outcomes or [("requirements", False, "The plan names no requirement, so nothing was proved.")]
    failures = sum(not holds for _, holds, _ in outcomes)
    counts = {"tests": str(len(outcomes)), "failures": str(failures), "errors": "0", "skipped": "0"}
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": printable(name), **counts})
    for requirement, holds, sentence in outcomes:
        test = ElementTree.SubElement(
            suite, "testcase", {"classname": "shoal.audit", "name": printable(requirement), "time": "0"}
        )
        if not holds:
            ElementTree.SubElement(test, "failure", {"message": printable(sentence), "type": "refuted"})
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"
