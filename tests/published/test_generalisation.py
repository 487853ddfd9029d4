"""Adult with ARX's own hierarchies, beside what ARX 3.9.2 reaches on it (`bench/peers/generalise.py` runs both).

Classes, losses, diversities and distances are counted here from the released table alone, cell by cell.
"""

import csv
import math
from collections import Counter, defaultdict
from functools import cache

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import by_night, only_by_night
from published.reference import reference

COLUMNS = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]


@pytest.fixture(scope="module")
def adult():
    return pl.read_csv(reference("adult/adult.csv"), separator=";", infer_schema=False)


@pytest.fixture(scope="module")
def paths():
    hierarchies = {}
    for name in COLUMNS:
        with reference(f"adult/adult_hierarchy_{name}.csv").open(newline="") as file:
            hierarchies[name] = list(csv.reader(file, delimiter=";"))
    return hierarchies


def generalised(adult, paths, quasi, confidential=None, **parameters):
    hierarchies = {name: shoal.Hierarchy(tuple(map(tuple, rows))) for name, rows in paths.items()}
    spec = {name: {"role": "quasi-identifier", "hierarchy": hierarchies[name]} for name in quasi}
    if confidential:
        spec[confidential] = {"role": "confidential", "hierarchy": hierarchies[confidential]}
    table = shoal.Microdata.of(adult.select(list(spec)), spec)
    change = shoal.Generalise(**parameters).apply(table.records, quasi, np.random.default_rng(0))
    return table.rebuild(change.records).native


@pytest.fixture(scope="module")
def recoded(adult, paths):
    """The table recoded locally, by k; each is made once."""
    return cache(lambda k: generalised(adult, paths, COLUMNS, k=k, recoding="local"))


def loss(released, paths, quasi, n):
    total = 0.0
    for name in quasi:
        under = Counter(label for row in paths[name] for label in set(row))
        counts = Counter(released[name].to_list())
        total += sum(count * (under[label] - 1) for label, count in counts.items()) / (len(paths[name]) - 1)
    return (total + len(quasi) * (n - released.height)) / (len(quasi) * n)


def classes(released, quasi, confidential):
    values = defaultdict(list)
    for *labels, value in released.select(*quasi, confidential).iter_rows():
        values[tuple(labels)].append(value)
    return list(values.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "most"),
    [
        pytest.param(2, 0.0210, marks=only_by_night),  # as it is at length, below
        (5, 0.0505),
        pytest.param(10, 0.0742, marks=only_by_night),
        pytest.param(50, 0.1450, marks=only_by_night),
    ],
)
def test_local_recoding_by_default(adult, paths, recoded, k, most):
    """ARX in steps of 1 % loses .0292, .0563, .0788 and .1494; in steps of .1 % .0228, .0513, .0744 and .1439."""
    released = recoded(k)
    assert released.group_by(COLUMNS).len()["len"].min() >= k
    assert released.height == adult.height
    assert loss(released, paths, COLUMNS, adult.height) <= most


@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "effort", "most"),
    [
        (2, 20, 0.0201),
        pytest.param(2, 100, 0.0195, marks=only_by_night),
        pytest.param(5, 50, 0.0492, marks=only_by_night),
        pytest.param(10, 50, 0.0733, marks=only_by_night),
    ],
)
def test_local_recoding_at_length(adult, paths, k, effort, most):
    released = generalised(adult, paths, COLUMNS, k=k, recoding="local", effort=effort)
    assert released.group_by(COLUMNS).len()["len"].min() >= k
    assert loss(released, paths, COLUMNS, adult.height) <= most


@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "limit", "optimum"),
    [
        (5, 0.0, 0.6608),
        pytest.param(50, 0.0, 0.7150, marks=only_by_night),
        (2, 1.0, 0.1604),
        pytest.param(50, 1.0, 0.3617, marks=only_by_night),
    ],
)
def test_the_full_domain_optimum_is_that_of_arx(adult, paths, k, limit, optimum):
    released = generalised(adult, paths, COLUMNS, k=k, suppression=limit)
    assert loss(released, paths, COLUMNS, adult.height) == pytest.approx(optimum, abs=5e-5)


def entropy(values):
    return math.exp(-sum(c / len(values) * math.log(c / len(values)) for c in Counter(values).values()))


def recursive(c, level):
    def holds(values):
        counts = sorted(Counter(values).values(), reverse=True)
        return counts[0] < c * sum(counts[level - 1 :])

    return holds


def equal_distance(values, table, n):
    return sum(max(c / len(values) - table[v] / n, 0) for v, c in Counter(values).items())


JOINT = [  # what is required, the lower of ARX's local loss and that of the walk alone, the proof by class
    ({"method": "l-diversity", "l": 2}, 0.0270, lambda values: len(set(values)) >= 2),
    ({"method": "l-diversity", "l": 3}, 0.0301, lambda values: len(set(values)) >= 3),
    ({"method": "l-diversity", "l": 4}, 0.0378, lambda values: len(set(values)) >= 4),
    ({"method": "l-diversity", "l": 2, "kind": "entropy"}, 0.0342, lambda values: entropy(values) >= 2 - 1e-9),
    ({"method": "l-diversity", "l": 3, "kind": "entropy"}, 0.0619, lambda values: entropy(values) >= 3 - 1e-9),
    ({"method": "l-diversity", "l": 2, "kind": "recursive", "c": 3}, 0.0398, recursive(3, 2)),
    ({"method": "l-diversity", "l": 3, "kind": "recursive", "c": 3}, 0.0646, recursive(3, 3)),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "most", "holds"),
    [*JOINT[:1], *(pytest.param(*case, marks=only_by_night) for case in JOINT[1:])],
    ids=lambda p: str(p.values()) if isinstance(p, dict) else "",
)
def test_diversity_of_the_occupation(adult, paths, model, most, holds):
    quasi = COLUMNS[:-1]
    released = generalised(adult, paths, quasi, "occupation", k=5, recoding="local", requirements=[model])
    groups = classes(released, quasi, "occupation")
    assert min(map(len, groups)) >= 5 and all(map(holds, groups))
    assert released.height == adult.height
    assert loss(released, paths, quasi, adult.height) <= most


@pytest.mark.slow
@pytest.mark.parametrize(
    ("t", "distance", "most"),
    [
        (0.3, "hierarchical", 0.173),
        pytest.param(0.2, "equal", 0.446, marks=only_by_night),
        pytest.param(0.3, "equal", 0.289, marks=only_by_night),
        pytest.param(0.2, "hierarchical", 0.320, marks=only_by_night),
    ],
)
def test_t_closeness_of_the_occupation(adult, paths, t, distance, most):
    """Reached with a small part of the usual effort already, which takes five times as long and loses less."""
    quasi = COLUMNS[:-1]
    model = {"method": "t-closeness", "t": t, "distance": distance}
    released = generalised(adult, paths, quasi, "occupation", k=5, recoding="local", effort=1, requirements=[model])
    table, n = Counter(adult["occupation"]), adult.height
    groups = classes(released, quasi, "occupation")
    assert min(map(len, groups)) >= 5 and released.height == n
    if distance == "equal":
        assert max(equal_distance(values, table, n) for values in groups) <= t + 1e-12
    else:
        parent = {row[0]: row[1] for row in paths["occupation"]}
        above = Counter({p: sum(table[v] for v in table if parent[v] == p) for p in set(parent.values())})
        for values in groups:  # one half of what moves within a parent, the rest across the root
            across = equal_distance([parent[v] for v in values], above, n)
            assert (equal_distance(values, table, n) + across) / 2 <= t + 1e-12
    assert loss(released, paths, quasi, adult.height) <= most


USEFUL = [
    pytest.param(2, 0.881, 0.884, marks=only_by_night),
    (5, 0.879, 0.879),
    pytest.param(10, 0.877, 0.877, marks=only_by_night),
    pytest.param(50, 0.862, 0.850, marks=only_by_night),
]


def shares(labels, rows, age):
    """Each cell as shares of the leaves under its label; ages as the means of low powers over these."""
    leaves = [row[0] for row in rows]
    under = defaultdict(set)
    for i, row in enumerate(rows):
        for label in row:
            under[label].add(i)
    vectors = {}
    for label, inside in under.items():
        vectors[label] = np.zeros(len(leaves))
        vectors[label][list(inside)] = 1 / len(inside)
    names, cells = np.unique(labels.to_numpy(), return_inverse=True)
    out = np.array([vectors[label] for label in names])[cells]
    years = np.array([float(leaf) / 50 for leaf in leaves]) if age else None
    return out @ np.column_stack([years, years**2]) if age else out


def features(table, paths):
    return np.hstack([shares(table[name], paths[name], name == "age") for name in COLUMNS])


@pytest.fixture(scope="module")
def untouched(adult, paths):
    return features(adult, paths)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "logistic", "boosted"), USEFUL)
def test_a_model_fitted_to_the_release_predicts_untouched_records(
    adult, paths, recoded, untouched, k, logistic, boosted
):
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold

    rich = (adult["salary-class"] == ">50K").to_numpy()
    x = features(recoded(k), paths)
    models = [
        (LogisticRegression(max_iter=1000, C=3), logistic),
        (HistGradientBoostingClassifier(random_state=0), boosted),
    ]
    for model, least in models[: by_night(1, 2)]:
        reached = []
        for fitted, test_records in StratifiedKFold(3, shuffle=True, random_state=0).split(x, rich):
            chance = model.fit(x[fitted], rich[fitted]).predict_proba(untouched[test_records])[:, 1]
            reached.append(roc_auc_score(rich[test_records], chance))
        assert np.mean(reached) >= least
