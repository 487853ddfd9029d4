"""ARX's test cases on Adult: what they ask for in this package's words, and ARX's measures of a table that was recoded.

The figures and where they stand lie in arx_*.csv (`retype_arx.py` wrote them). A case names privacy models, a quality
metric and a suppression limit, and states the loss of the best node or the losses of some nodes. A node has one level
for each quasi-identifier, in the order of `COLUMNS`.
"""

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import shoal
from published.reference import reference

HERE = Path(__file__).parent
COLUMNS = (
    *("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"),
    "salary-class",
)
PEOPLE_OF_THE_USA = 317_238_626
"""ARXPopulationModel.java, line 45."""

Levels = tuple[int, ...]


def rows_of(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(newline="") as file:
        return list(csv.DictReader(file))


def levels_of(text: str) -> Levels:
    return tuple(map(int, text.split()))


def losses_of(text: str) -> tuple[float, ...]:
    """One loss, or those of the columns."""
    return tuple(map(float, text.split()))


def called(text: str) -> tuple[str, list[str]]:
    """Name and arguments of `Loss(0.33, RANK)`."""
    name, inside = re.fullmatch(r"(\w+)\((.*)\)", text).groups()
    return name, inside.split(", ") if inside else []


# -- The mapping of ARX's models and metrics to ours ------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """What a case's models ask for."""

    k: int = 1
    requirements: tuple[dict[str, Any], ...] = ()
    rows: str = ""  # of Adult that are the table: all, those of ARX's subset, or so many drawn
    reason: str = ""  # why it cannot be asked for


def asked(models: str) -> Asked:
    k, requirements, rows, reasons = 1, [], "", []
    for model in models.split(" & "):
        name, words = called(model)
        if name == "KAnonymity":
            k = max(k, int(words[0]))
        elif name == "KMap" and "USA" in words:
            k = max(k, poisson_k(int(words[0]), float(words[1])))
        elif name == "Inclusion":
            rows = words[0]
        elif name in NOT_ASKED:
            reasons.append(NOT_ASKED[name])
        else:
            if words[-1] == "subset":
                rows = "subset"
            requirements.append(MODELS[name](words))
    return Asked(k, tuple(requirements), rows, "; ".join(reasons))


MODELS = {
    "HierarchicalDistanceTCloseness": lambda w: {"method": "t-closeness", "t": float(w[0]), "distance": "hierarchical"},
    "EqualDistanceTCloseness": lambda w: {"method": "t-closeness", "t": float(w[0]), "distance": "equal"},
    "OrderedDistanceTCloseness": lambda w: {"method": "t-closeness", "t": float(w[0]), "distance": "distinct"},
    "RecursiveCLDiversity": lambda w: {"method": "l-diversity", "kind": "recursive", "c": float(w[0]), "l": int(w[1])},
    "EntropyLDiversity": lambda w: {"method": "l-diversity", "kind": "entropy", "l": float(w[0])},
    "BasicBLikeness": lambda w: {"method": "beta-likeness", "beta": float(w[0]), "enhanced": False},
    "EnhancedBLikeness": lambda w: {"method": "beta-likeness", "beta": float(w[0])},
    "DPresence": lambda w: {"method": "delta-presence", "least": float(w[0]), "largest": float(w[1])},
    "KMap": lambda w: {"method": "k-map", "k": int(w[0])},
    "AverageReidentificationRisk": lambda w: {"method": "average-risk", "average": float(w[0])},
    "SampleUniqueness": lambda w: {"risk": "sample-uniques", "at most": float(w[0])},
    "PopulationUniqueness": lambda w: {
        "risk": "population-uniques",
        "at most": float(w[0]),
        "population": PEOPLE_OF_THE_USA,
    },
}

NOT_ASKED = {
    "EDDifferentialPrivacy": "records are drawn by ARX's own generator, so no other program can meet the figure",
    "DataDependentDifferentialPrivacy": "levels and records are drawn by ARX's own generator",
    "ProfitabilityProsecutor": "a game of publisher and attacker with prices (Wan et al. 2015), no model here",
    "ProfitabilityJournalist": "a game of publisher and attacker with prices (Wan et al. 2015), no model here",
    "ProfitabilityJournalistNoAttack": "a game of publisher and attacker with prices (Wan et al. 2015), no model here",
}


def poisson_k(k: int, significance: float) -> int:
    """The size from which on a class of a sample of the USA is taken for one of k people (zero-truncated Poisson)."""
    mean = 30162 / PEOPLE_OF_THE_USA * k
    size, chance, below = 1, mean * math.exp(-mean) / -math.expm1(-mean), 0.0
    while below < 1 - significance and size < k:
        below += chance
        size += 1
        chance *= mean / size
    return size


@dataclass(frozen=True)
class Aim:
    """A quality metric in ARX's words and in ours."""

    loss: str
    aggregate: str = "mean"
    gs_factor: float = 0.5
    weights: tuple[float, ...] = ()


def aim(quality: str, weighted: bool) -> Aim | None:
    """The objective of ours for one of ARX's quality metrics, if there is one."""
    name, words = called(quality)
    weights = tuple(number / len(COLUMNS) for number in range(1, len(COLUMNS) + 1)) if weighted else ()
    if name in ("Entropy", "PrecomputedEntropy"):
        return Aim("entropy", gs_factor=0.0) if "true" in words else Aim("chained-entropy")
    if name in ("Loss", "PrecomputedLoss"):
        factor = 0.5 if name == "PrecomputedLoss" or not words or words[0] == "RANK" else float(words[0])
        return Aim("ncp", "rank" if "RANK" in words else "geometric-mean", factor, weights)
    if name == "Precision":
        return Aim("precision", gs_factor=0.0 if "true" in words else 0.5)
    if name == "Height":
        return Aim("precision", gs_factor=0.0, weights=HEIGHTS)
    if name == "Discernability":
        return Aim("discernibility", gs_factor=0.0 if "true" in words else 0.5)
    if name == "AECS":
        return Aim("average-class-size")
    return None


HEIGHTS = (1.0, 4.0, 1.0, 2.0, 3.0, 2.0, 2.0, 2.0, 1.0)

# -- Adult -----------------------------------------------------------------------------------------------------------


@cache
def adult() -> pl.DataFrame:
    return pl.read_csv(reference("adult/adult.csv"), separator=";", infer_schema=False)


@cache
def hierarchy(name: str) -> tuple[tuple[str, ...], ...]:
    with reference(f"adult/adult_hierarchy_{name}.csv").open(newline="") as file:
        return tuple(map(tuple, csv.reader(file, delimiter=";")))


@cache
def chosen(rows: str) -> np.ndarray:
    """Rows of Adult that make the table."""
    if not rows:
        return np.arange(adult().height)
    if rows == "subset":
        return np.array([int(row["row"]) for row in rows_of("arx_subset.csv")])
    return np.array(sorted(drawn(int(rows))))


def drawn(size: int) -> set[int]:
    """Rows that `size` draws below `size` of java.util.Random, seed 0xDEADBEEF as a 32-bit number, meet."""
    state = (0xDEADBEEF - 2**32 ^ 0x5DEECE66D) % 2**48
    rows = set()
    for _ in range(size):
        while True:
            state = (state * 0x5DEECE66D + 0xB) % 2**48
            bits = state >> 17
            if size & (size - 1) == 0:
                value = size * bits >> 31
                break
            value = bits % size
            if bits - value + size - 1 < 2**31:
                break
        rows.add(value)
    return rows


@cache
def microdata(rows: str, confidential: str, weights: tuple[float, ...], ordered: bool) -> shoal.Microdata:
    spec: dict[str, dict[str, Any]] = {}
    for name, weight in zip(COLUMNS, weights or [1.0] * len(COLUMNS)):
        spec[name] = {"role": "quasi-identifier", "hierarchy": shoal.Hierarchy(hierarchy(name)), "weight": weight}
    if confidential:
        spec[confidential] |= {"role": "confidential"}
        if ordered:
            spec[confidential] = {
                "role": "confidential",
                "level": "ordinal",
                "order": sorted(adult()[confidential].unique()),
            }
    return shoal.Microdata.of(adult()[chosen(rows)].select(COLUMNS), spec)


@cache
def codes(rows: str) -> tuple[tuple[np.ndarray, ...], ...]:
    """For each column and level, the number of every record's label."""
    out = []
    for name in COLUMNS:
        paths = {path[0]: path for path in hierarchy(name)}
        cells = adult()[name].to_numpy()[chosen(rows)]
        levels = []
        for level in range(len(hierarchy(name)[0])):
            numbers: dict[str, int] = {}
            of_leaf = {leaf: numbers.setdefault(path[level], len(numbers)) for leaf, path in paths.items()}
            levels.append(np.array([of_leaf[cell] for cell in cells]))
        out.append(tuple(levels))
    return tuple(out)


# -- A case that is run -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Recoded:
    """A table at one node, and which records of it are kept."""

    rows: str
    quasi: tuple[str, ...]
    levels: Levels
    kept: np.ndarray
    details: Mapping[str, Any]

    def labels(self, level_of: Sequence[int] | None = None) -> list[np.ndarray]:
        whole = codes(self.rows)
        levels = self.levels if level_of is None else level_of
        return [whole[COLUMNS.index(name)][level] for name, level in zip(self.quasi, levels)]

    @cached_property
    def classes(self) -> np.ndarray:
        """Number of each record's class at the node, dropped or not."""
        key = np.zeros(len(chosen(self.rows)), dtype=np.int64)
        for labels in self.labels():
            key = key * (labels.max() + 1) + labels
        return np.unique(key, return_inverse=True)[1].ravel()

    @property
    def sizes(self) -> np.ndarray:
        """Records of each record's class at the node, dropped or not."""
        of = self.classes
        return np.bincount(of)[of]

    @property
    def groups(self) -> int:
        return len(np.unique(self.classes[self.kept]))


def quasi_identifiers(confidential: str) -> tuple[str, ...]:
    return tuple(name for name in COLUMNS if name != confidential)


def run(models: str, aimed: Aim, limit: float, confidential: str, levels: Levels | None = None) -> Recoded:
    """Generalise Adult as a case asks for; with `levels`, at one node. Refused where that is impossible."""
    wanted = asked(models)
    quasi = quasi_identifiers(confidential)
    population = adult().select(quasi)
    requirements = [
        {**r, "population": population} if r.get("method") in ("k-map", "delta-presence") else r
        for r in wanted.requirements
    ]
    table = microdata(wanted.rows, confidential, aimed.weights, "Ordered" in models)
    fixed = None if levels is None else {name: [level, level] for name, level in zip(quasi, levels)}
    mask = shoal.Generalise(
        k=wanted.k,
        requirements=requirements,
        suppression=limit,
        loss=aimed.loss,
        aggregate=aimed.aggregate,
        gs_factor=aimed.gs_factor,
        levels=fixed,
    )
    change = mask.apply(table.records, quasi, np.random.default_rng(0))
    best = tuple(change.details["levels"][name] for name in quasi)
    recoded = Recoded(wanted.rows, quasi, best, np.empty(0), change.details)
    return Recoded(wanted.rows, quasi, best, kept_of(recoded, change.records), change.details)


def kept_of(recoded: Recoded, released: Any) -> np.ndarray:
    """Which records are kept: those whose labels at the node the release has."""
    own = np.zeros(len(chosen(recoded.rows)), dtype=np.int64)
    theirs = np.zeros(len(released), dtype=np.int64)
    for name, level, labels in zip(recoded.quasi, recoded.levels, recoded.labels()):
        variable = released[name]
        numbers: dict[str, int] = {}
        for path in hierarchy(name):
            numbers.setdefault(path[level], len(numbers))
        place = np.array([numbers[str(c)] for c in variable.categories] or [0])
        own, theirs = own * len(numbers) + labels, theirs * len(numbers) + place[variable.values]
    kept = np.isin(own, theirs)
    assert kept.sum() == len(released)
    return kept


# -- ARX's measures, from their definitions ---------------------------------------------------------------------------


def figure(quality: str, weighted: bool, recoded: Recoded) -> tuple[float, ...]:
    """A table's loss by one of ARX's metrics: one number, or for RANK those of the columns in falling order."""
    name, words = called(quality)
    n, kept = len(recoded.kept), recoded.kept
    if name in ("Entropy", "PrecomputedEntropy"):
        return (sum(entropies(recoded, monotone="true" in words)),)
    if name in ("Loss", "PrecomputedLoss"):
        factor = 0.5 if name == "PrecomputedLoss" or not words or words[0] == "RANK" else float(words[0])
        columns = domain_shares(recoded, factor)
        if "RANK" not in words:
            return (math.prod(1 + loss for loss in columns) ** (1 / len(columns)) - 1,)
        weights = [(COLUMNS.index(c) + 1) / len(COLUMNS) if weighted else 1.0 for c in recoded.quasi]
        return tuple(sorted((loss * weight for loss, weight in zip(columns, weights)), reverse=True))
    if name in ("Precision", "Height"):
        heights = [len(hierarchy(c)[0]) - 1 for c in recoded.quasi]
        if name == "Height":
            return (float(sum(recoded.levels)),)
        steps = np.array(recoded.levels) / heights
        left = 1.0 if "true" in words else kept.mean()
        return (float(steps.mean() * left + 1 - left),)
    if name == "Discernability":
        sizes = recoded.sizes.astype(float)
        return (float(sizes.sum() if "true" in words else np.where(kept, sizes, n).sum()),)
    if name == "AECS":
        return (n / (recoded.groups + (not kept.all())),)
    raise ValueError(quality)


def entropies(recoded: Recoded, monotone: bool) -> list[float]:
    out = []
    for leaves, labels in zip(recoded.labels([0] * len(recoded.quasi)), recoded.labels()):
        loss = np.log2(np.bincount(labels)[labels] / np.bincount(leaves)[leaves]).sum()
        if not monotone and not recoded.kept.all():
            removed = labels[~recoded.kept]
            loss += np.log2(len(removed) / np.bincount(removed)[removed]).sum()
        out.append(float(loss))
    return out


def domain_shares(recoded: Recoded, factor: float) -> list[float]:
    """Mean share of the domain that a cell's label stands for, over what it could be; a dropped one's is the whole."""
    released, dropped = min(1.0, 2 - 2 * factor), min(1.0, 2 * factor)
    out = []
    for name, level, labels in zip(recoded.quasi, recoded.levels, recoded.labels()):
        numbers: dict[str, int] = {}
        under = np.bincount([numbers.setdefault(path[level], len(numbers)) for path in hierarchy(name)])
        share = under[labels] / len(hierarchy(name))
        mean = np.where(recoded.kept, released * share, share + dropped * (1 - share)).mean()
        least = released / len(hierarchy(name))
        out.append(max(float((mean - least) / (1 - least)), 0.0))
    return out


def reported(quality: str, recoded: Recoded) -> tuple[float, ...]:
    """The same from what the mask itself says that it lost."""
    name, words = called(quality)
    n, q, details = len(recoded.kept), len(recoded.quasi), recoded.details
    if "RANK" in words:
        return tuple(sorted(details["losses of the columns"].values(), reverse=True))
    heights = sum(HEIGHTS[COLUMNS.index(c)] for c in recoded.quasi)
    cells = n * q * math.log2(n)
    scale = {"Entropy": cells, "PrecomputedEntropy": cells, "Height": heights, "Discernability": n * n, "AECS": n}
    chained = 2 if "Entropy" in name and "true" not in words else 1
    return (details["loss"] * scale.get(name, 1) * chained,)


def differs(ours: Sequence[float], theirs: Sequence[float], slack: float = 2e-9) -> int:
    """-1 where the first number that differs is less, 1 where it is more, 0 where none does."""
    for a, b in zip(ours, theirs):
        if abs(a - b) > slack * max(1.0, abs(b)):
            return -1 if a < b else 1
    return 0


# -- What ARX drops at a node, by its own rule ------------------------------------------------------------------------


def at_node(models: str, levels: Levels, confidential: str = "occupation") -> Recoded:
    """A node with ARX's classes dropped: each that breaks a model by itself, beside the table as it came."""
    wanted, quasi = asked(models), quasi_identifiers(confidential)
    node = Recoded(wanted.rows, quasi, levels, np.empty(0), {})
    whole = Recoded("", quasi, levels, np.empty(0), {})
    people, mine = np.bincount(whole.classes), whole.classes[chosen(wanted.rows)]
    sizes = np.bincount(mine, minlength=len(people))
    holds = sizes >= wanted.k
    values = codes(wanted.rows)[COLUMNS.index(confidential)]
    for model in models.split(" & "):
        name, words = called(model)
        if name == "HierarchicalDistanceTCloseness":
            distances = [equal_distances(mine, level, len(people)) for level in values[:-1]]
            holds &= np.mean(distances, axis=0) <= float(words[0]) + 1e-12
        elif name == "RecursiveCLDiversity":
            counts = np.zeros((len(people), values[0].max() + 1))
            np.add.at(counts, (mine, values[0]), 1)
            counts = -np.sort(-counts, axis=1)
            holds &= counts[:, 0] < float(words[0]) * counts[:, int(words[1]) - 1 :].sum(axis=1)
        elif name == "DPresence":
            presence = sizes / people
            holds &= (presence >= float(words[0])) & (presence <= float(words[1]))
    return Recoded(wanted.rows, quasi, levels, holds[mine], node.details)


def equal_distances(classes: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """Half the sum over the values of how far their share of each class is from that of the table."""
    shares = np.zeros((count, values.max() + 1))
    np.add.at(shares, (classes, values), 1)
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1)
    return np.abs(shares - np.bincount(values) / len(values)).sum(axis=1) / 2


# -- What a case is to us ---------------------------------------------------------------------------------------------

BESIDE_THE_REST = "distances hold beside the records that are left, too; ARX looks at the table as it came"
PRESENCE = "nobody's presence is below the least, not of dropped classes either; ARX lets people of dropped classes go"
SHANNON = "Grassberger's estimate lets classes pass that are less diverse as they stand; here their own entropy counts"
HIGHEST_OF_THREE = "the highest of three estimates of population uniques must be low enough, not one that is chosen"


def why_different(models: str, limit: float) -> str:
    """Why a case may end otherwise here; nothing where it may not."""
    if "DPresence(0.05" in models:
        return PRESENCE
    if re.search("TCloseness|Likeness", models) and limit > 0:
        return BESIDE_THE_REST
    if "GRASSBERGER" in models:
        return SHANNON
    return HIGHEST_OF_THREE if "PopulationUniqueness" in models else ""


def not_applicable(case: Mapping[str, str]) -> str:
    """Why a case with a stated optimum cannot be run; nothing where it can."""
    if "LocalRecoding" in case["file"]:
        return "the figure is a hash of the table that ARX's own order of steps makes"
    reason = asked(case["models"]).reason
    if not reason and aim(case["quality"], weighted=False) is None:
        return f"{called(case['quality'])[0]} belongs to ARX's games of publisher and attacker"
    return reason
