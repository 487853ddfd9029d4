"""What Oganian & Domingo-Ferrer (2017) and Domingo-Ferrer & Gonzalez-Nicolas (2010) found, on their data.

The full tables beside the printed ones: bench/published/s0.py and s3.py.
"""

import numpy as np
import polars as pl
import pytest
from scipy.spatial import cKDTree

import shoal
from by_night import by_night, only_by_night
from published.reference import reference
from published.thyroid import BINARY, CONTINUOUS, thyroid
from shoal.replace.decimals import Decimals
from shoal.table.microdata import Microdata
from shoal.table.records import Records


def continuous_thyroid():
    columns = thyroid()
    return Records.from_array(np.column_stack([columns[name] for name in CONTINUOUS]), names=CONTINUOUS)


@pytest.fixture(scope="module")
def six_groups():
    """S0, Section 5: six groups of unconstrained covariances, from the hierarchical start."""
    return shoal.GaussianMixture(k=60, groups=6, models=("VVV",), kmeans_starts=0).partition(
        continuous_thyroid(), seed=1
    )


def judged(model, before, after):
    return model.measure(before, after)


@pytest.mark.slow
def test_hybrid_is_the_hardest_to_tell_apart():
    # Table 1, THYROID: Hybrid 23.07, HybridMicro 106.70, Micro 276.11, Noise 301.11, Synthetic 565.56.
    records = continuous_thyroid()
    whole = shoal.Whole().partition(records)
    mixture = shoal.GaussianMixture(k=60, groups=6, models=("VVV",)).partition(records, seed=1)
    assert mixture.k >= 60
    rng = np.random.default_rng(1)
    made = {
        "Hybrid": shoal.Normal().apply(records, records.quasi_identifiers, mixture, rng),
        "HybridMicro": shoal.Normal().apply(
            records, records.quasi_identifiers, shoal.MDAV(k=324).partition(records), rng
        ),
        "Micro": shoal.Centroid().apply(records, records.quasi_identifiers, shoal.MDAV(k=20).partition(records), rng),
        "Noise": shoal.Noise(kind="kim", variance=0.15).apply(records, records.quasi_identifiers, rng),
        "Synthetic": shoal.SequentialRegression(support=(), exclude=False).apply(
            records, records.quasi_identifiers, whole, rng
        ),
    }
    distinguished = {
        name: judged(shoal.Propensity(order=3), records, change.records).details["2N U_p"]
        for name, change in made.items()
    }
    assert sorted(distinguished, key=distinguished.get) == ["Hybrid", "HybridMicro", "Micro", "Noise", "Synthetic"]
    assert distinguished["Hybrid"] < 40
    exact = made["Hybrid"].details["largest relative error inside a group"]
    assert max(exact.values()) < 1e-9
    assert judged(shoal.Regressions(average="mean"), records, made["Hybrid"].records).value < 1e-9
    # Table 3: order 3, Hybrid .6, HybridMicro 1.9, Noise 1.1, Synthetic 17.0, Micro 1.4. By medians: means hang on the
    # few moments with several factors TSH (30 realisations of Hybrid: 5.3, Micro 5.1).
    third = {
        name: judged(shoal.Moments(order=3, about="zero", average="median"), records, change.records).value
        for name, change in made.items()
    }
    assert min(third, key=third.get) == "Hybrid"
    assert max(third, key=third.get) == "Synthetic"


@only_by_night
def test_local_synthesis_as_it_is_by_default_is_the_hardest_to_tell_apart_by_any_model():
    # On values Noise is the rival (11.8 against 10.1 in the long run), for the tree HybridMicro (349 against 235).
    records = continuous_thyroid()
    mixture = shoal.LocalSynthesis(k=60).partition(records, seed=1)
    micro, whole = shoal.MDAV(k=324).partition(records), shoal.Whole().partition(records)
    ways = {
        "Hybrid": lambda rng: shoal.ClassConditional().apply(records, records.quasi_identifiers, mixture, rng),
        "HybridMicro": lambda rng: shoal.Normal().apply(records, records.quasi_identifiers, micro, rng),
        "Noise": lambda rng: shoal.Noise(kind="kim", variance=0.15).apply(records, records.quasi_identifiers, rng),
        "Synthetic": lambda rng: shoal.SequentialRegression(support=(), exclude=False).apply(
            records, records.quasi_identifiers, whole, rng
        ),
        "Micro": lambda rng: shoal.Centroid().apply(
            records, records.quasi_identifiers, shoal.MDAV(k=20).partition(records), rng
        ),
    }
    models = {
        "ranks": (shoal.Propensity(order=3), 6),
        "values": (shoal.Propensity(order=3, scale="raw"), 6),
        "products": (shoal.Propensity(order=3, scale="raw", powers=False), 6),
        "tree": (shoal.Propensity(model="cart", shuffles=2), 2),
    }
    plain = (np.array(-np.inf), np.array(np.inf))
    written = [Decimals.of(column) for column in records.raw().T]
    drawn = {
        way: [draw(np.random.default_rng(seed)).records for seed in range(1 if way == "Micro" else 6)]
        for way, draw in ways.items()
    }
    for name, (model, repeats) in models.items():
        distinguished = {}
        for way in ways:
            new = drawn[way][:repeats]
            if name == "tree":
                new = [
                    r.with_raw(
                        CONTINUOUS,
                        np.column_stack([w.write(x, *plain, keep_sign=False) for w, x in zip(written, r.raw().T)]),
                    )
                    for r in new
                ]
            distinguished[way] = np.mean([judged(model, records, released).details["2N U_p"] for released in new])
        assert min(distinguished, key=distinguished.get) == "Hybrid", (name, distinguished)
    change = ways["Hybrid"](np.random.default_rng(0))
    assert max(change.details["continuous"]["largest relative error inside a group"].values()) < 1e-9


@only_by_night
def test_mixed_hybrid_beats_sequential_regression_by_the_printed_factor():
    # Section 7: 121 against 690.55. On values of order 2 the baseline is hardly seen (about 152, not 690), and even an
    # independent sample of the same law is only 4 times harder to tell apart: no model to find a factor of 5.7 by.
    names = (*CONTINUOUS, *BINARY)
    table = Microdata.of(pl.DataFrame(thyroid()), dict.fromkeys(names, "quasi-identifier"))
    records = table.records
    part = shoal.LocalSynthesis(k=60, groups=6, models=("VVV",), starts=2).partition(records, seed=1)
    hybrid = shoal.ClassConditional().apply(records, records.quasi_identifiers, part, np.random.default_rng(1)).records
    whole = shoal.Whole().partition(records)
    synthetic = (
        shoal.SequentialRegression(support=(), exclude=False)
        .apply(records, records.quasi_identifiers, whole, np.random.default_rng(1))
        .records
    )
    for order, scale in ((2, "rank"), (3, "rank"), (3, "raw")):
        model = shoal.Propensity(order=order, scale=scale)
        assert judged(model, records, synthetic).value / judged(model, records, hybrid).value > 690.55 / 121
    weak = judged(shoal.Propensity(order=2, scale="raw"), records, hybrid).details["an independent sample"]
    assert weak["ratio"] < 1.5


def test_mean_variation_of_eia():
    # Table 3, EIA, k = 80: Delta(m1) .0147, Delta(m2) .0113, Delta(s1^2) .0705, Delta(s2^2) .0435.
    frame = pl.read_csv(reference("eia.csv"))
    x, y = ("INDREVENUE", "INDSALES"), ("TOTREVENUE", "TOTSALES")
    records = Records.from_array(frame[[*x, *y]].to_numpy().astype(float), names=[*x, *y])
    part = shoal.MuApprox(k=80).partition(records, columns=x)
    printed = {"mean of INDREVENUE": .0147, "mean of INDSALES": .0113, "variance of INDREVENUE": .0705,
               "variance of INDSALES": .0435}  # fmt: skip
    drawn = []
    for seed in range(6):  # each figure varies by 7 % from draw to draw, as the printed one did
        change = shoal.IPSO(given=y, small="merge").apply(records, x, part, np.random.default_rng(seed))
        assert max(change.details["largest relative error inside a group"].values()) < 1e-9
        drawn.append(judged(shoal.MeanVariation(), records, change.records).details["mean over samples"])
    for label, value in printed.items():
        assert np.mean([variation[label] for variation in drawn]) == pytest.approx(value, rel=0.15), label


def test_plain_microaggregation_of_the_census_is_linked_as_printed():
    # Table 4, in brackets: 11.11, 7.69, 5.00, 3.70 % of correct matches. The groups are therefore the paper's.
    frame = pl.read_csv(reference("census.csv"))
    x, y = (frame[list(names)].to_numpy().astype(float) for names in (("FICA", "FEDTAX"), ("INTVAL", "POTHVAL")))
    records = Records.from_array(x)
    for k, printed in {7: 11.11, 10: 7.69, 15: 5.00, 20: 3.70}.items():
        part = shoal.MuApprox(k=k).partition(records)
        centres = (
            shoal.Centroid().apply(records, records.quasi_identifiers, part, np.random.default_rng(0)).records.raw()
        )
        _, near = cKDTree(x).query(centres)
        assert 100 * (y[near] == y).all(axis=1).mean() == pytest.approx(printed, abs=0.25)


@pytest.mark.parametrize("starts", [0, 2][: by_night(1, 2)])
def test_six_groups_of_the_thyroid_data(six_groups, starts):
    """Printed sizes 708, 440, 325, 232, 179, 63."""
    mixture = shoal.GaussianMixture(k=60, groups=6, models=("VVV",), kmeans_starts=starts)
    part = mixture.partition(continuous_thyroid(), seed=1) if starts else six_groups
    assert part.details["start"] == "hierarchical"
    assert part.details["converged"]
    assert part.details["log-likelihood"] == pytest.approx(-7363.7211, abs=1e-4)
    assert part.details["BIC"] == pytest.approx(-15674.1978, abs=2e-4)
    assert sorted(part.sizes.tolist(), reverse=True) == [748, 398, 339, 228, 169, 65]
    assert part.details["assignment"]["records moved"] == 0


@pytest.mark.parametrize(
    ("starts", "groups", "best"), [(0, 7, -15663.57), pytest.param(2, 10, -15656.45, marks=only_by_night)]
)
def test_bic_takes_more_than_six_groups_of_thyroid_where_em_has_converged(starts, groups, best):
    """S0, Section 5, took six of 2 to 10, where EM had made twelve steps at most."""
    mixture = shoal.GaussianMixture(k=60, models=("VVV",), kmeans_starts=starts)
    part = mixture.partition(continuous_thyroid(), seed=1)
    by_groups = part.details["BIC by model and groups"]["VVV"]
    assert part.n_groups == groups
    assert part.details["BIC"] == pytest.approx(best, abs=0.01)
    assert by_groups["6"] == pytest.approx(-15674.198, abs=0.001)
    assert part.details["assignment"]["smallest before"] < 60


@only_by_night  # small mixtures end where plain steps do in kernels/mixture
def test_sizes_are_at_rest_where_a_mixture_ends(six_groups):
    """At a thousandth of the tolerance the sizes of THYROID are the same; after the paper's 12 steps they are not."""
    records = continuous_thyroid()
    one = {"k": 60, "groups": 6, "models": ("VVV",), "kmeans_starts": 0}
    finer, twelve = (
        shoal.GaussianMixture(**one, **limits).partition(records, seed=1)
        for limits in ({"tolerance": 1e-9}, {"most_steps": 12})
    )
    sizes, finer, twelve = (sorted(part.sizes.tolist(), reverse=True) for part in (six_groups, finer, twelve))
    assert sizes == finer
    assert sum(abs(a - b) for a, b in zip(sizes, twelve)) > 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=only_by_night)])
def test_more_starts_of_latent_classes_never_end_worse(seed):
    """The fifteen binary columns of THYROID, G = 6 as in S0, Section 7."""
    columns = thyroid()
    frame = pl.DataFrame({name: columns[name] for name in BINARY})
    reached = [
        shoal.LatentClass(k=60, groups=6, starts=starts).partition(frame, seed=seed).details["log-likelihood"]
        for starts in (1, 2, 4, 8, 16)
    ]
    assert reached == sorted(reached)
    assert reached[-1] > -4475


def test_hybrid_with_the_hierarchical_groups_is_as_hard_to_tell_apart_as_printed(six_groups):
    """Table 1: 2N U_p = 23.07 for Hybrid; ours, by polynomials of order 3 on ranks, 22.5 on average over 30."""
    records = continuous_thyroid()
    names = records.quasi_identifiers
    distinguished = [
        judged(
            shoal.Propensity(order=3, scale="rank"),
            records,
            shoal.Normal().apply(records, names, six_groups, np.random.default_rng(seed)).records,
        ).details["2N U_p"]
        for seed in range(by_night(5, 10))
    ]
    assert np.mean(distinguished) == pytest.approx(23.07, abs=2.5)
