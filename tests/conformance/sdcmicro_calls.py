"""Our calls for sdcMicro's expectations: what the column `call` of sdcmicro.csv names, followed by its arguments."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

import shoal
from conformance.sdcmicro_tables import DWELLING, drawn, fifths_of_age, frequencies, keys, numbers, people, survey
from shoal.kernels.arrays import Floats
from shoal.kernels.partition import mdav
from shoal.privacy.confidential import Occurrences
from shoal.privacy.l_diversity import diversity
from shoal.risk.log_linear import _counts, _fitted, _sampling
from shoal.risk.population import lookalikes
from shoal.table.confidential_bins import confidential_bins
from shoal.table.microdata import Microdata, as_records
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.vocabulary.errors import ShoalError
from shoal.vocabulary.registry import build

CALLS: dict[str, Callable[..., Any]] = {}

SEED = 3


def call(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add a function to `CALLS` under its name, words parted by hyphens."""
    CALLS[function.__name__.replace("_", "-")] = function
    return function


def rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


def refused(asked: Callable[[], object]) -> str:
    try:
        asked()
    except ShoalError:
        return "error"
    return "runs"


# Frequencies and risks


@call
def fk(table: str, weighted: str) -> list[int]:
    return lookalikes(frequencies(table, weighted), "wildcard").sizes.tolist()


@call
def population(table: str, weighted: str) -> list[float]:
    return lookalikes(frequencies(table, weighted), "wildcard").population.tolist()


@call
def records_of_class_size(table: str, weighted: str, size: str) -> int:
    return fk(table, weighted).count(int(size))


@call
def individual_risk(table: str, weighted: str) -> list[float]:
    records = frequencies(table, weighted)
    risk = shoal.IndividualRisk(missing="wildcard").measure(records, records).record_risk
    assert risk is not None
    return risk.tolist()


def key_table(name: str) -> Records:
    columns = drawn(name)
    chosen = list(columns)[3:] if name.startswith("three") else list(columns)[5:] if name == "six-keys" else columns
    return keys({column: columns[column] for column in chosen})


@call
def drawn_risk(table: str, figure: str) -> Any:
    records = key_table(table)
    alike = lookalikes(records, "wildcard")
    finding = shoal.IndividualRisk(missing="wildcard").measure(records, records)
    assert finding.record_risk is not None
    return {
        "mean": finding.value,
        "expected": finding.details["expected re-identifications"],
        "percent": 100 * (finding.value or 0),
        "records": finding.record_risk.tolist(),
        "fk": alike.sizes.tolist(),
        "Fk": alike.population.tolist(),
    }[figure]


@call
def interval_disclosure(table: str) -> float | None:
    x = numbers(np.column_stack(list(drawn(table).values())[: 3 if table.startswith("three") else 5]))
    return shoal.IntervalDisclosure(unit="record", widths=(0.05,)).measure(x, x).value


@call
def strata(table: str, *names: str) -> list[int]:
    """Number of each record's stratum, counted by first record."""
    numbers_of: dict[int, int] = {}
    ids = keys(drawn(table)).classes(names).ids
    return [numbers_of.setdefault(stratum, len(numbers_of)) for stratum in ids.tolist()]


@call
def risky_cells(*names: str) -> int:
    """Cells of the table of some columns of testdata2 with fewer records than the first word."""
    least, columns = int(names[0]), names[1:]
    frame = survey("testdata2")
    sizes = keys({name: frame[name].to_list() for name in columns}).classes(columns).sizes
    return int((sizes < least).sum())


# SUDA2

TYPED: dict[str, dict[str, Sequence[object]]] = {
    "abc": {"a": [2, 1, 1], "b": [0, 3, 0], "c": [0, 6, 0]},
    "acb": {"a": [2, 1, 1], "c": [0, 6, 0], "b": [0, 3, 0]},
    "cab": {"c": [0, 6, 0], "a": [2, 1, 1], "b": [0, 3, 0]},
    "cba": {"c": [0, 6, 0], "b": [0, 3, 0], "a": [2, 1, 1]},
    "book": {
        "age": ["20s"] * 7 + ["60s"],
        "gender": ["male"] * 4 + ["female"] * 3 + ["male"],
        "income": ["50k+"] * 2 + ["50k-"] * 6,
        "education": ["highschool"] * 4 + ["university", "highschool", "middleschool", "university"],
    },
    "guideline": {
        "Residence": ["Urban"] * 4 + ["Rural"] + ["Urban"] * 5,
        "Gender": ["Female"] * 3 + ["Male", "Female", "Male", "Female", "Male", "Female", "Female"],
        "Education": [1, 1, 2, 3, 3, 3, 4, 5, 1, 1],
        "Labor": ["Employed", "Employed", "Non-LF", "Employed", "Unemployed"]
        + ["Employed", "Non-LF", "Unemployed", "Non-LF", "Non-LF"],
    },
}


@call
def suda_scores(table: str, weight: str = "factorial", first: str = "", last: str = "") -> Any:
    if table == "testdata2":
        names = DWELLING if weight != "five" else ("urbrur", "roof", "walls", "water", "sex")
        records = keys({name: survey("testdata2")[name].to_list() for name in names})
    else:
        records = keys(TYPED[table]) if table in TYPED else key_table(table)
    d = len(records.quasi_identifiers)
    weights = {"weight": weight} if weight == "supersets" else {}
    finding = shoal.SUDA2(max_size=d, **weights).measure(records, records)
    scores = finding.by_record["score"].tolist()
    return scores[int(first or 1) - 1 : int(last or len(scores))]


@call
def suda_contributions(table: str) -> list[float]:
    records = keys(TYPED[table])
    details = shoal.SUDA2(max_size=3).measure(records, records).details
    return list(details["contribution of columns in percent"].values())


@call
def suda_leaves_the_table(table: str) -> list[float]:
    columns = drawn(table)
    before = columns["Var3"].copy()
    suda_scores(table)
    assert (columns["Var3"] == before).all()
    return before.tolist()


# Log-linear models


def model_table(gaps: str) -> tuple[Records, Any]:
    """The complete records of the table of test_modRisks.R and their codes."""
    columns = drawn("model")
    rows = [0, 3, 5] if gaps == "gaps" else list(range(10))
    chosen = {name: cells[rows] for name, cells in columns.items()}
    levels = [np.unique(columns[name]).tolist() for name in columns]
    if gaps == "gaps":
        missing = {"Var1": [1, 6, 8], "Var2": [2, 4, 9], "Var3": [1, 7]}
        levels = [np.unique(np.delete(columns[name], missing[name])).tolist() for name in columns]
    codes = np.column_stack([[level.index(v) for v in cells] for level, cells in zip(levels, chosen.values())])
    return keys(chosen, [100.0] * len(rows)), (codes, tuple(map(len, levels)))


@call
def model_risk(gaps: str, weighting: str, figure: str, bound: str = "") -> float:
    """Expected population uniques (gr1) or right matches (gr2), divided by the classes that theirs divides by."""
    records, _ = model_table(gaps)
    measure = shoal.LogLinearRisk(mean="sample", weighting=weighting)  # type: ignore[arg-type]
    details = measure.measure(records, records).details
    tau = details["expected unique in the population" if figure == "gr1" else "expected right matches"]
    return float(tau / details["unique in the table" if bound else "classes"])


@call
def model_fit(gaps: str, order: str = "C") -> list[float]:
    """Fitted means of all cells; `F`: the first column's categories change fastest."""
    _, (codes, shape) = model_table(gaps)
    counts = _counts(codes, np.ones(len(codes)), shape)
    return _fitted(counts, 1, np.ones(shape)).ravel(order=order).tolist()  # type: ignore[arg-type]


@call
def model_fit_with_offset(gaps: str) -> list[float]:
    _, (codes, shape) = model_table(gaps)
    start = _sampling(codes, np.full(len(codes), 100.0), shape)
    return _fitted(_counts(codes, np.ones(len(codes)), shape), 1, start).ravel().tolist()


@call
def inclusion(bound: str = "") -> list[float]:
    """Sums of the sampling fractions of the classes, in the order of the columns' values."""
    columns = np.column_stack(list(drawn("model").values()))
    records, _ = model_table("whole")
    sizes = records.classes(records.quasi_identifiers).of_record
    order = np.unique(columns, axis=0, return_index=True)[1]
    return [size / 100 for size in sizes[order].tolist() if not bound or size <= 1]


@call
def weights_missing() -> str:
    """A model of records of which some have no weight."""

    def ask() -> None:
        columns = {name: cells[:4].astype(int).astype(str) for name, cells in drawn("model").items()}
        frame = pl.DataFrame(columns).with_columns(w=pl.Series([100.0, None, 100.0, 100.0]))
        records = Microdata.of(frame, {**dict.fromkeys(columns, "quasi-identifier"), "w": "weight"}).records
        finding = shoal.LogLinearRisk().measure(records, records)
        assert finding.value is None
        raise ShoalError(finding.reason)

    return refused(ask)


# l-diversity

DIVERSE: dict[str, tuple[dict[str, list[Any]], tuple[str, ...]]] = {
    "gaps": (
        {
            "sex": ["female"] * 3 + ["male"] * 2 + ["female"] * 2,
            "occupation": [None] * 3 + ["teacher"] * 2 + ["nurse"] * 2,
            "ethnicity": ["other"] * 5 + ["majority"] * 2,
            "sensitive": list("1021001"),
        },
        ("sensitive",),
    ),
    "order": ({"id": list("312"), "sens": ["10", "20", "10"]}, ("sens",)),
    "two": ({"key": list("111"), "sens1": list("ABA"), "sens2": list("XYZ")}, ("sens1", "sens2")),
}


@call
def distinct_values(table: str, column: str, record: str = "") -> Any:
    columns, confidential = DIVERSE[table]
    roles = {name: {"role": "quasi-identifier", "missing": "keep"} for name in columns}
    records = as_records(Microdata.of(pl.DataFrame(columns), roles | dict.fromkeys(confidential, "confidential")))
    classes = records.classes(tuple(name for name in columns if name not in confidential))
    bins = confidential_bins(records, "equal")[confidential.index(column)]
    values = diversity(Occurrences.of(bins, classes), len(classes.sizes), "distinct", 2.0)[classes.ids]
    return values[int(record) - 1] if record else values.tolist()


# Local suppression


def least_alike(records: Records, names: Sequence[str], inside: Sequence[object] | None = None) -> int:
    """Fewest records that share a record's keys, where missing matches everything: by looking at every pair."""
    x = np.column_stack([records[name].values for name in names])
    block = np.zeros(len(x), dtype=np.int64) if inside is None else np.unique(inside, return_inverse=True)[1]
    alike = ((x[:, None] == x) | (x[:, None] < 0) | (x < 0)).all(axis=2) & (block[:, None] == block)
    return int(alike.sum(axis=1).min())


@call
def suppressed(table: str, k: str, *options: str) -> int:
    """Cells blanked until each record shares its keys with k, which is then counted again."""
    stratum = None
    if table == "testdata2":
        frame = survey("testdata2")
        names: Sequence[str] = DWELLING[:3] if "three" in options else DWELLING
        stratum = fifths_of_age(frame) if "strata" in options else None
        columns: dict[str, Any] = {name: frame[name].to_list() for name in names}
    else:
        names = ("Var4", "Var5") if "two" in options else ("Var3", "Var4", "Var5")
        columns = {name: drawn("three-keys-3-2-4")[name] for name in names}
    records = keys(columns, None, **({} if stratum is None else {"stratum": stratum}))
    sizes = [int(option[1:]) for option in options if option[0] == "c"]
    ks = [int(part) for part in k.split("+")]
    if sizes:
        subsets = [(c, least) for size, least in zip(sizes, ks * len(sizes)) for c in combinations(names, size)]
        step = shoal.Suppress(subsets=tuple({"columns": list(c), "k": least} for c, least in subsets))  # type: ignore[misc]
    else:
        subsets, step = [(tuple(names), ks[0])], shoal.Suppress(k=ks[0])
    change = step.apply(records, names, rng())
    for chosen, least in subsets:
        assert least_alike(change.records, chosen, stratum) >= least
    return int(change.details["cells suppressed"])


@call
def suppresses(table: str, k: str, *options: str) -> bool:
    return suppressed(table, k, *options) > 0


@call
def suppression_refused(table: str, k: str, *options: str) -> str:
    return refused(lambda: suppressed(table, k, *options))


@call
def subset_of_a_stray_column() -> str:
    columns = {name: drawn("three-keys-3-2-4")[name] for name in ("Var4", "Var5")}
    step = shoal.Suppress(subsets=({"columns": ["Var4", "Var5", "Var6"], "k": 2},))
    return refused(lambda: step.apply(keys(columns), ["Var4", "Var5"], rng()))


@call
def suppression_raises_no_risk() -> bool:
    """Individual risks of francdat do not grow where cells are blanked."""
    frame = survey("francdat")
    names = [f"Key{j}" for j in range(1, 5)]
    records = keys({name: frame[name].to_list() for name in names}, frame["w"].to_list())
    change = shoal.Suppress(k=2).apply(records, names, rng())
    assert change.details["cells suppressed"] > 0
    measure = shoal.IndividualRisk(missing="wildcard")
    before, after = (measure.measure(r, r).record_risk for r in (records, change.records))
    assert before is not None and after is not None
    return bool((before - after >= -1e-12).all())


# Masking of numbers

SETTINGS = {
    "uncorrelated": (2.25, 0.04),
    "correlated": (1.5, 0.2),
    "kim": (1.5, 0.2),
    "restricted": (2.25, 0.04),
    "orthogonal": (1.5, 0.2),
}
"""Variances of noise for sdcMicro's default, 150 (per cent), and for 20."""


def noisy(table: str, kind: str, variance: float) -> Floats:
    """How far each cell moves."""
    x = np.column_stack(list(drawn(table).values()))
    records = numbers(x)
    names = [f"V{j + 1}" for j in range(x.shape[1])]
    step = shoal.Noise(kind=kind, variance=variance)  # type: ignore[arg-type]
    return np.abs(step.apply(records, names, rng()).records.raw(names) - x)


@call
def noise_moves(table: str, kind: str) -> bool:
    """Every column moves, but for one without values."""
    moved = noisy(table, kind, SETTINGS[kind][0])
    known = ~np.isnan(moved).all(axis=0)
    return bool((np.nanmean(moved[:, known], axis=0) > 0).all())


@call
def noise_grows(table: str, kind: str) -> bool:
    large, small = (float(np.nanmean(noisy(table, kind, variance))) for variance in SETTINGS[kind])
    return large > small


@call
def noise_refuses(table: str, kind: str) -> str:
    return refused(lambda: noisy(table, kind, 0.2))


@call
def coded_tail(side: str, *gaps: str) -> list[float | None]:
    x = drawn("three-keys-3-2-4")["Var1"].copy()
    if gaps:
        x[[0, 1, 6]] = np.nan
    step = shoal.TopCode(value=35) if side == "top" else shoal.BottomCode(value=35)
    coded = step.apply(numbers(x[:, None]), ["V1"], rng()).records["V1"].values
    return [None if v != v else v for v in coded.tolist()]


def tarragona() -> Floats:
    return survey("tarragona").to_numpy().astype(float)


@call
def correlations_unchanged() -> float | None:
    x = numbers(tarragona())
    return shoal.CorrelationChange().measure(x, x).value


@call
def correlations_change_with_noise() -> bool:
    x = numbers(tarragona())
    names = [f"V{j + 1}" for j in range(13)]
    by_variance = [shoal.Noise(kind="uncorrelated", variance=v).apply(x, names, rng()).records for v in (1.0, 0.0625)]
    large, small = (shoal.CorrelationChange().measure(x, masked).value for masked in by_variance)
    assert large is not None and small is not None
    return large > small > 0


@call
def columns_unchanged(changed: str) -> float | bool | None:
    """Change of univariate distributions of a table of categories and numbers."""
    generator = rng()
    frame = pl.DataFrame(
        {
            "v1": generator.choice(list("abcde"), 150),
            "v2": generator.normal(size=150),
            "v4": generator.choice(["bad", "mediocre", "good"], 150),
        }
    )
    roles = {"v1": "confidential", "v2": "confidential", "v4": {"role": "confidential", "level": "nominal"}}
    before = Microdata.of(frame, roles).records
    if changed == "no":
        return shoal.UnivariateChange().measure(before, before).value
    moved = frame.with_columns(
        v2=pl.Series(generator.normal(5, size=150)), v1=pl.Series(["a"] * 5 + frame["v1"].to_list()[5:])
    )
    value = shoal.UnivariateChange().measure(before, Microdata.of(moved, roles).records).value
    return value is not None and value > 0


@call
def microaggregation(columns: str, asked: str) -> bool:
    """The original is left as it is, and the result has its shape."""
    x = rng().normal(size=(100, int(columns)))
    before = x.copy()
    part = Partition(labels=mdav(x, 3))
    masked = part.means(x)[part.labels]
    return masked.shape == before.shape if asked == "shape" else bool((x == before).all() and (masked != x).any())


@call
def synthetic(asked: str, column: str) -> Any:
    """`IPSO` of the three numbers: whether cells differ, or the column's mean, deviation and correlations."""
    x = np.column_stack(list(drawn("three-keys-4-6-3").values())[:3])
    names = ["V1", "V2", "V3"]
    whole = Partition(labels=np.zeros(10, dtype=np.int64))
    y = shoal.IPSO(given=()).apply(numbers(x), names, whole, rng()).records.raw(names)
    j = int(column) - 1
    if asked == "differs":
        return not (y[:, j] == x[:, j]).all()
    moments = [y[:, j].mean(), y[:, j].std(ddof=1), *np.corrcoef(y.T)[j]]
    return [round(float(value), 4) for value in moments]


@call
def shuffled() -> bool:
    """Each column keeps its values, in another order, and some may stay where they are."""
    x = np.exp(rng().normal(size=(100, 4)))
    change = shoal.Shuffle(given=("V3", "V4")).apply(numbers(x), ["V1", "V2"], rng()).records
    assert (change.raw(["V3", "V4"]) == x[:, 2:]).all()
    y = change.raw(["V1", "V2"])
    return bool((np.sort(y, axis=0) == np.sort(x[:, :2], axis=0)).all() and (y != x[:, :2]).any())


@call
def rank_swap_of_width_0() -> str:
    return refused(lambda: shoal.RankSwap(p=0))


# Categories


@call
def pram(asked: str) -> bool:
    frame = survey("testdata")
    roles = dict.fromkeys(("roof", "walls"), "confidential") | {"urbrur": "stratum"}
    texts = frame.select(pl.col("roof", "walls", "urbrur").cast(pl.String))
    records = Microdata.of(texts, roles).records
    identity = tuple(tuple(float(i == j) for j in range(5)) for i in range(5))

    def after(step: shoal.Pram, table: Records = records, names: Sequence[str] = ("roof",)) -> list[list[int]]:
        released = step.apply(table, names, rng()).records
        return [released[name].values.tolist() for name in names]

    before = [records[name].values.tolist() for name in ("roof", "walls")]
    match asked:
        case "changes":
            return after(shoal.Pram()) != before[:1]
        case "frames":
            other = Microdata.of(texts.to_pandas(), roles).records
            return after(shoal.Pram()) == after(shoal.Pram(), other)
        case "diagonal":
            return after(shoal.Pram()) != after(shoal.Pram(diagonal=0.1))
        case "identity":
            return after(shoal.Pram(matrix={"roof": identity})) == before[:1]
        case "one":
            roof, walls = after(shoal.Pram(matrix={"roof": identity}, diagonal=0.5), names=("roof", "walls"))
            return roof == before[0] and walls != before[1]
    raise KeyError(asked)


def intervals(spacing: str, count: int) -> shoal.Recode:
    return shoal.Recode(cuts=(30, 60)) if spacing == "cuts" else shoal.Recode(bins=count, spacing=spacing)  # type: ignore[arg-type]


@call
def recode_in_one_interval() -> str:
    return refused(lambda: intervals("equal-width", 1))


@call
def recoded(asked: str, spacing: str, count: str) -> Any:
    """Var1 in intervals, numbered from 0, or the risk by Var2 and Var1 then; `one`: Var1 is left out."""
    columns = {name: drawn("recoding")[name] for name in (("Var2",) if spacing == "one" else ("Var2", "Var1"))}
    if spacing != "one":
        x = numbers(columns["Var1"][:, None], "quasi-identifier")
        columns["Var1"] = intervals(spacing, int(count)).apply(x, ["V1"], rng()).records["V1"].values
    if asked == "codes":
        return columns["Var1"].tolist()
    records = keys(columns)
    share = shoal.IndividualRisk().measure(records, records).value or 0.0
    return {"mean": share, "expected": share * len(records), "percent": 100 * share}[asked]


@call
def recode_of_categories(way: str) -> str:
    records = keys({"Var2": drawn("recoding")["Var2"]})
    return refused(lambda: intervals(way, 3).apply(records, ["Var2"], rng()))


@call
def grouped_categories() -> bool:
    """Whether a category that was grouped with another is there still."""
    frame = survey("testdata2").select(pl.col("roof").cast(pl.String))
    records = Microdata.of(frame, {"roof": "quasi-identifier"}).records
    return "6" in shoal.Recode(groups={"5": ["5", "6"]}).apply(records, ["roof"], rng()).records["roof"].categories


@call
def step_refuses(what: str) -> str:
    match what:
        case "column":
            frame = survey("testdata2").select("roof")
            steps = [{"mask": "suppress", "columns": ["NONE"], "k": 2}]
            plan = {"columns": {"roof": {"role": "quasi-identifier", "level": "nominal"}}, "steps": steps}
            return refused(lambda: shoal.protect(frame, plan))
        case "method":
            return refused(lambda: build("mask", {"mask": "drop-table"}))
    raise KeyError(what)


@call
def unmodified(measure: str) -> float | None:
    frame = survey("testdata2").select(pl.col(DWELLING).cast(pl.String), "expend", "income", "savings")
    roles: dict[str, Any] = dict.fromkeys(DWELLING, "quasi-identifier")
    records = Microdata.of(frame, roles | dict.fromkeys(("expend", "income", "savings"), "confidential")).records
    measures = {"contingency": shoal.Contingency(order=1), "labels": shoal.LabelLoss(), "il1s": shoal.IL1s()}
    return measures[measure].measure(records, records).value


# Linkage

PAIRS: dict[str, tuple[Any, Any]] = {
    "example-1": ([[1, 0], [0, 1], [-1, 0], [0, -1]], [[0, 0], [0, 2.1], [-2.1, 0], [0, -2.1]]),
    "example-2": ([[1], [2], [3], [4]], [[2], [3], [4], [-0.1]]),
    "far": ([[0], [2], [100]], [[0], [100], [101]]),
    "same": ([[0], [1], [2]], [[0], [1], [2]]),
    "shared": ([[0], [1]], [[0], [0]]),
    "nearly": ([[0], [2]], [[0], [1e-7]]),
}

MIXED: dict[str, tuple[dict[str, list[Any]], dict[str, list[Any]]]] = {
    "mixed": (
        {"age": [20, 40], "sex": ["f", "m"], "region": ["A", "B"]},
        {"age": [20, 30], "sex": ["f", "m"], "region": ["B", "B"]},
    ),
    "by-order": ({"a": [1, 2], "b": ["x", "y"]}, {"a": [1, 2], "b": ["x", "y"]}),
    "gaps": ({"a": [1, None], "b": ["x", "y"]}, {"a": [1, None], "b": ["x", "y"]}),
    "flags": ({"a": [0, 1, 2], "b": ["y", "n", "y"]}, {"a": [0, 1, 2], "b": ["y", "n", "y"]}),
}


def tables_to_link(name: str) -> tuple[Any, Any]:
    if name in PAIRS:
        return tuple(numbers(np.array(x, dtype=np.float64), "quasi-identifier") for x in PAIRS[name])
    roles = {name: {"role": "quasi-identifier", "missing": "keep"} for name in MIXED[name][0]}
    return tuple(Microdata.of(pl.DataFrame(side), roles).records for side in MIXED[name])


@call
def linked(name: str, figure: str) -> Any:
    before, after = tables_to_link(name)
    ties = {"matching": "nearest", "direction": "original to released"} if "tie" in figure else {}
    finding = shoal.DistanceLinkage(**({"matching": "one-to-one"} | ties)).measure(before, after)  # type: ignore[arg-type]
    assert finding.record_risk is not None
    risks = finding.record_risk
    match figure:
        case "rate":
            return finding.value
        case "matches":
            return float(risks.sum())
        case "all":
            return bool((risks == 1).all())
        case "ties":
            return [round(1 / risk) for risk in risks.tolist()]
        case "tie":
            return round(1 / risks[0])
    raise KeyError(figure)


@call
def linkage_of_stray_columns() -> str:
    before, after = tables_to_link("same")
    return refused(lambda: shoal.DistanceLinkage(columns=("none",)).measure(before, after))


# Targeted swapping


def swap(*geography: str, **settings: Any) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The households after swapping, and the facts."""
    frame = people()
    roles = {name: {"role": "quasi-identifier", "level": "nominal"} for name in frame.columns if name != "hid"}
    records = Microdata.of(frame, roles | {"hid": "household"}).records
    places = geography or ("nuts1", "nuts2", "nuts3")
    settings = {"by": ("gender",), "similar": (), "k": 2} | settings
    change = shoal.TargetedSwap(**settings).apply(records, places, rng())
    cells = {name: [change.records[name].categories[v] for v in change.records[name].values.tolist()] for name in roles}
    return pl.DataFrame({"hid": frame["hid"], **cells}), dict(change.details)


@call
def swapped_share(share: str) -> float:
    return float(swap(share=float(share))[1]["swapped"] / 2_000)


@call
def swap_keeps(what: str, *geography: str) -> bool:
    places = list(geography or ("nuts1", "nuts2", "nuts3"))
    before, (after, _) = people(), swap(*places)
    first = [frame.group_by("hid", maintain_order=True).first() for frame in (before, after)]
    match what:
        case "households":
            return bool((after.group_by("hid").agg(pl.col(places).n_unique()).select(places) == 1).to_numpy().all())
        case "places":  # each household that moved took another's place, and that one its own
            moved = (first[0].select(places) != first[1].select(places)).to_numpy().any(axis=1)
            old, new = (sorted(f.filter(moved).select(places).rows()) for f in first)
            return bool(moved.any()) and old == new
        case "rest":
            rest = [name for name in before.columns if name not in places]
            return before.select(rest).equals(after.select(rest))
    raise KeyError(what)


@call
def swap_of_those_at_risk(asked: str) -> bool:
    by = ("ageGroup", "national", "hsize")
    facts = {k: swap("nuts1", "nuts2", by=by, k=k)[1] for k in (2, 3)}
    match asked:
        case "enough":
            return all(f["swapped"] >= 0.05 * 2_000 for f in facts.values())
        case "all":
            return all(f["at risk"] > 0 and f["at risk without a partner"] == 0 for f in facts.values())
        case "more":
            return bool(facts[3]["swapped"] >= facts[2]["swapped"])
        case "highest":  # whoever is rare in the coarsest area goes to another one
            before, (after, _) = people(), swap("nuts1", "nuts2", by=by, k=3)
            rare = before.select(pl.len().over("nuts1", *by) < 3).to_series()
            homes = before.filter(rare)["hid"].unique()
            there = before["hid"].is_in(homes.to_list())
            return bool(rare.any()) and bool((before["nuts1"] != after["nuts1"]).filter(there).all())
    raise KeyError(asked)


@call
def swap_of_alike(asked: str) -> bool:
    """Partners agree in size and type of the household: tables by place, size and type stay what they were."""
    before, (after, facts) = people(), swap("nuts1", "nuts2", similar=("hsize", "htype"))
    if asked == "share":
        return bool(facts["swapped"] >= 0.05 * 2_000)
    counts = [f.group_by("nuts1", "nuts2", "hsize", "htype").len().sort(pl.all()) for f in (before, after)]
    return counts[0].equals(counts[1])


@call
def swap_answers(what: str) -> str:
    bad: dict[str, Callable[[], object]] = {
        "geography": lambda: swap("GEM", "BDL"),
        "similar": lambda: swap(similar=("hsize", "hstatus")),
        "similar-alone": lambda: swap(similar=("hstatus",)),
        "by": lambda: swap(by=("risk1", "risk2")),
        "carried": lambda: swap("nuts1", "nuts2", "nuts3", "carry_along"),
        "share-text": lambda: swap(share="0.1"),
        "share-two": lambda: swap(share=(0.1, 0.5)),
        "k-negative": lambda: swap(k=-1),
        "k-two": lambda: swap(k=(1, 6)),
        "good": lambda: swap(),
        "good-similar": lambda: swap(similar=("hsize", "htype")),
        "good-carried": lambda: swap("nuts1", "nuts2", "nuts3", "lau2"),
        "households": lambda: Microdata.of(people(), {"hhids": "household"}),
    }
    return refused(bad[what])
