"""Retypes the cases of ARX's test suite on adult.csv: given ARX's git directory it writes arx_*.csv beside itself.

    python tests/conformance/retype_arx.py arx/.git

Of each Java source all that is read is text: the test cases, the names and numbers in them, and the line they stand on.
A model or a quality metric is written as ARX names it, with its numbers and choices alone.
"""

import csv
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

TESTS = "src/test/org/deidentifier/arx/test/"
HERE = Path(__file__).parent
CLOSING = {"(": ")", "{": "}", "[": "]"}


def main(git: str) -> None:
    optima, nodes = [], []
    for name in of_git(git, "ls-tree", "--name-only", "HEAD", TESTS).decode().split():
        source = of_git(git, "show", f"HEAD:{name}").decode()
        for line, kind, weighted, words in cases(source):
            if "./data/adult.csv" not in [word.strip('"') for word in words]:
                continue
            case = [Path(name).name, line, *configuration(words[0], Path(name).name)]
            if kind == "UtilityMetrics" and "Precomputation" not in name:
                nodes.append([*case, "|".join(numbers(w) for w in words[3::2]), "|".join(map(numbers, words[4::2]))])
            elif kind == "Anonymization":
                confidential = "occupation" if '"occupation"' in words else ""
                optima.append([*case, confidential, weighted, *expected(words)])
    head = ["file", "line", "models", "quality", "limit"]
    write("arx_optima.csv", [*head, "confidential", "weighted", "loss", "levels", "practical"], optima)
    write("arx_nodes.csv", [*head, "levels", "losses"], nodes)
    write("arx_subset.csv", ["row"], [[row] for row in subset(git)])


def of_git(git: str, *words: str) -> bytes:
    return subprocess.run(["git", "--git-dir", git, *words], capture_output=True, check=True).stdout


def write(name: str, head: list[str], rows: list[list[object]]) -> None:
    with (HERE / name).open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])


def cases(source: str) -> Iterator[tuple[int, str, str, list[str]]]:
    """Line, kind, `yes` where the columns are weighted, and arguments of every test case."""
    plain = re.sub(r"/\*.*?\*/", lambda case: "\n" * case.group().count("\n"), source, flags=re.S)
    plain = re.sub(r"(?m)^\s*//.*$", "", plain)
    for case in re.finditer(r"(weight\()?new ARX(\w*)TestCase\s*\(", plain):
        words = arguments(plain, case.end())
        yield plain.count("\n", 0, case.start()) + 1, case.group(2), "yes" if case.group(1) else "", words


def arguments(text: str, start: int) -> list[str]:
    """What stands between commas from `start` to the bracket that closes."""
    words, waiting, quoted = [""], [")"], False
    for letter in text[start:]:
        if letter == '"':
            quoted = not quoted
        elif not quoted and letter in CLOSING:
            waiting.append(CLOSING[letter])
        elif not quoted and letter == waiting[-1]:
            waiting.pop()
            if not waiting:
                return [re.sub(r"\s+", " ", word).strip() for word in words]
        if letter == "," and not quoted and len(waiting) == 1:
            words.append("")
        else:
            words[-1] += letter
    raise ValueError("a bracket is not closed")


def configuration(text: str, name: str) -> list[str]:
    """Models, quality metric and suppression limit."""
    if text.startswith("createDataDependentConfiguration("):
        quality, *rest = arguments(text, text.index("(") + 1)
        return [f"DataDependentDifferentialPrivacy({', '.join(map(short, rest))})", metric(quality), ""]
    limit, *quality = arguments(text, text.index("(") + 1)
    models = [short(arguments(text, at.end())[0]) for at in re.finditer(r"\.addPrivacyModel\(", text)]
    if name == "TestAnonymizationTCloseness.java" and not any("TCloseness" in model for model in models):
        models.append("HierarchicalDistanceTCloseness(0.2)")  # The test adds it to every case without one
    return [" & ".join(sorted(models)), *map(metric, quality), limit.rstrip("d")]


def metric(text: str) -> str:
    return re.sub(r"^Metric\.create(\w+?)Metric\(", r"\1(", short(text))


def short(text: str) -> str:
    """A model or metric without `new`, column, files and the ways they are read."""
    text = re.sub(r"DataSubset\.create\(Data\.create\(.*?\), Data\.create\(.*?\)\)", "subset", text)
    text = re.sub(r'"occupation", |, Hierarchy\.create\([^)]*\)|\bnew ', "", text)
    text = re.sub(r"\w+\.create\(Region\.|AggregateFunction\.", "", text)
    text = re.sub(r"DataGeneralizationScheme\.create\(GeneralizationDegree\.(\w+)\)", r"\1", text)
    text = re.sub(r"(USA)\)", r"\1", text)
    text = re.sub(r"(?:CellSizeEstimator|EntropyEstimator|PopulationUniquenessModel)\.", "", text)
    text = re.sub(r"Inclusion\(getSubset\((\d+)\)\)", r"Inclusion(\1)", text).replace("getPopulation", "Population")
    return re.sub(r"(?<=\d)d\b", "", text)


def expected(words: list[str]) -> list[str]:
    """Loss, levels, and whether ARX takes the models for monotone."""
    levels = next((numbers(word) for word in words if word.startswith("new int")), "")
    switch = next((word for word in words if word in ("true", "false")), "")
    place = words.index(switch) - 2 if switch else -1
    return [numbers(words[place]), levels, "yes" if switch == "true" else ""]


def numbers(word: str) -> str:
    return " ".join(re.findall(r"-?\d+(?:\.\d+)?(?:E-?\d+)?", word))


def subset(git: str) -> list[int]:
    """Rows of adult.csv, from 0, with the values of the rows of adult_subset.csv; of equal ones the first not taken."""
    whole, part = (
        of_git(git, "show", f"HEAD:data/{name}").decode().split() for name in ("adult.csv", "adult_subset.csv")
    )
    rows: dict[str, list[int]] = {}
    for number, row in enumerate(whole[1:]):
        rows.setdefault(row, []).append(number)
    return sorted(rows[row].pop(0) for row in part[1:])


if __name__ == "__main__":
    main(sys.argv[1])
