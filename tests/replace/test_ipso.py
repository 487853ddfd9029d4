import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp

import shoal
from naive.ipso import complement, haar, ipso
from published.reference import reference
from shoal.kernels.partition import mdav
from shoal.replace._residuals.rotation import dimensions, random_frame, split
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.table.records import Records


def synthesise(x, y, labels, seed=0, **parameters):
    records, given = table(x, y)
    new = [name for name in records.names() if name not in given]
    change = shoal.IPSO(given=given, **parameters).apply(
        records, new, Partition.of(labels), np.random.default_rng(seed)
    )
    return change.records.raw(new), change.details


def table(x, y):
    names = [f"x{j}" for j in range(x.shape[1])]
    given = tuple(f"y{j}" for j in range(y.shape[1]))
    return Records.from_array(np.column_stack([x, y]), names=[*names, *given]), given


def moments(x, y):
    both = np.column_stack([x, y])
    about = both - both.mean(axis=0)
    return both.mean(axis=0), (about.T @ about)[: x.shape[1]] / len(x)


def assert_same_moments(x, new, y, tolerance=1e-9):
    (mean, cov), (new_mean, new_cov) = moments(x, y), moments(new, y)
    spread = np.column_stack([x, y]).std(axis=0)
    scale = np.maximum(np.outer(x.std(axis=0), spread), 1e-300)
    size = np.maximum(np.abs(mean), spread)
    assert (np.abs(new_mean - mean) <= tolerance * size).all()
    # What the digits of the values themselves allow where an offset dwarfs the spread
    digits = 16 * np.finfo(float).eps * np.outer(np.abs(mean[: x.shape[1]]), np.abs(mean) + spread)
    assert (np.abs(new_cov - cov) <= tolerance * scale + digits).all()


@st.composite
def random_tables(draw):
    """Tables whose columns are collinear, constant, far from 0, tiny or huge, in groups of random sizes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    wide, kept = draw(st.integers(1, 4)), draw(st.integers(0, 3))
    sizes = [max(wide, 2) + kept + 2 + draw(st.integers(0, 6)) for _ in range(draw(st.integers(1, 6)))]
    n = sum(sizes)
    x, y = rng.normal(size=(n, wide)), rng.normal(size=(n, kept))
    for kind in draw(
        st.lists(
            st.sampled_from(["collinear", "constant", "determined", "repeated", "offset", "tiny", "huge", "integers"]),
            max_size=3,
        )
    ):
        match kind:
            case "collinear":
                x[:, -1] = x[:, :-1].sum(axis=1) * 3 if wide > 1 else x[:, -1]
            case "constant":
                x[:, 0] = 7.5
            case "determined":
                x[:, 0] = 2 * y.sum(axis=1) - 1
            case "repeated":
                y[:, -1:] = y[:, :1] * 5 + 2
            case "offset":
                x = x + 1e8
            case "tiny":
                x[:, 0] *= 1e-9
            case "huge":
                x *= 1e12
            case "integers":
                x = np.rint(x * 3)
    return x, y, rng.permutation(np.repeat(np.arange(len(sizes)), sizes))


def test_by_hand():
    # Two records with X = 0, 2 and nothing kept: mean 1, residuals -1 and 1, d = 1: O is 1 or -1, so the group comes
    # out as it is or with its two values exchanged.
    seen = {
        tuple(np.rint(synthesise(np.array([[0.0], [2.0]]), np.empty((2, 0)), [0, 0], seed, small="allow")[0][:, 0]))
        for seed in range(20)
    }
    assert seen == {(0, 2), (2, 0)}


def test_one_record_a_group_returns_the_data():
    x = np.random.default_rng(1).normal(size=(30, 3)) + 1e8
    new, facts = synthesise(x, x[:, :1] * 2, np.arange(30), small="allow")
    np.testing.assert_array_equal(new, x)
    assert facts["records unchanged"] == 30


@given(random_tables())
def test_moments_of_every_group_and_overall_are_kept(case):
    x, y, labels = case
    new, facts = synthesise(x, y, labels)
    assert np.isfinite(new).all()
    assert facts["groups merged because too small"] == 0
    for g in np.unique(labels):
        assert_same_moments(x[labels == g], new[labels == g], y[labels == g])
    assert_same_moments(x, new, y)


@given(random_tables())
def test_the_outcome_is_a_rotation_of_the_residuals(case):
    x, y, labels = case
    new, _ = synthesise(x, y, labels)
    for g in np.unique(labels):
        mine = labels == g
        u = complement(y[mine], mine.sum())
        one, other = u.T @ (x[mine] - x[mine].mean(axis=0)), u.T @ (new[mine] - x[mine].mean(axis=0))
        limit = 1e-9 * max(1e-300, np.abs(one).max()) + 1e-14 * np.abs(x).max()
        np.testing.assert_allclose(np.linalg.norm(one, axis=0), np.linalg.norm(other, axis=0), atol=limit * len(x))
        explained = (x - new)[mine] - u @ (u.T @ (x - new)[mine])  # nothing happens along [1, Y]
        assert np.abs(explained).max() <= 100 * limit


def test_same_law_as_the_definition():
    # Two records' new values, over many draws by both constructions (Kolmogorov-Smirnov, two samples).
    rng = np.random.default_rng(2)
    x, y = rng.lognormal(size=(9, 2)), rng.normal(size=(9, 2))
    fast = np.array([synthesise(x, y, np.zeros(9), seed)[0] for seed in range(400)])
    slow = np.array([ipso(x, y, rng) for _ in range(400)])
    for row, column in [(0, 0), (4, 1)]:
        assert ks_2samp(fast[:, row, column], slow[:, row, column]).pvalue > 0.01
    product = [(values[:, 0, 0] - x[0, 0]) * (values[:, 3, 1] - x[3, 1]) for values in (fast, slow)]
    assert ks_2samp(*product).pvalue > 0.01
    assert ks_2samp(fast[:, 0, 0], slow[:, 4, 0]).pvalue < 1e-6  # the test can tell laws apart


def test_frames_are_uniform():
    # The mean of W W' over uniform frames of L columns in d dimensions is (L / d) times the projection.
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(1, 7, 2)), rng.normal(size=(1, 7, 1))
    parts = split(np.repeat(x, 4000, axis=0), np.repeat(y, 4000, axis=0))
    frames = random_frame(parts, rng)
    u = complement(y[0], 7)
    np.testing.assert_allclose((frames @ frames.swapaxes(1, 2)).mean(axis=0), 2 / 5 * u @ u.T, atol=0.02)
    o = haar(5, rng)
    np.testing.assert_allclose(o @ o.T, np.eye(5), atol=1e-12)


@pytest.mark.parametrize("k", [7, 30])
def test_census_and_tarragona(k):
    for name, chosen, kept in [("census", ["FICA", "FEDTAX"], ["INTVAL", "POTHVAL"]), ("tarragona", None, None)]:
        frame = pl.read_csv(reference(f"{name}.csv"))
        chosen, kept = chosen or frame.columns[:2], kept or frame.columns[5:7]
        x, y = frame[chosen].to_numpy().astype(float), frame[kept].to_numpy().astype(float)
        z = (x - x.mean(axis=0)) / x.std(axis=0)
        labels = mdav(z, k)
        new, facts = synthesise(x, y, labels)
        for g in range(labels.max() + 1):
            assert_same_moments(x[labels == g], new[labels == g], y[labels == g])
        assert_same_moments(x, new, y)
        assert max(facts["largest relative error inside a group"].values()) < 1e-9
        assert facts["records unchanged"] == 0


def test_linear_regressions_stay():
    rng = np.random.default_rng(4)
    y = rng.normal(size=(300, 2))
    x = y @ rng.normal(size=(2, 3)) + rng.exponential(size=(300, 3))
    new, _ = synthesise(x, y, np.arange(300) % 12)
    for j in range(3):
        results = []
        for values in (x, new):
            design = np.column_stack([np.ones(300), np.delete(values, j, axis=1), y])
            coefficients, rss, *_ = np.linalg.lstsq(design, values[:, j])
            errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * rss / (300 - design.shape[1]))
            results.append(np.concatenate([coefficients, errors]))
        np.testing.assert_allclose(results[0], results[1], rtol=1e-9)


def test_an_offset_of_1e8_changes_only_the_offset():
    rng = np.random.default_rng(5)
    x, y = np.rint(rng.normal(size=(40, 2)) * 100), np.rint(rng.normal(size=(40, 1)) * 100)
    plain, _ = synthesise(x, y, np.arange(40) % 4)
    moved, _ = synthesise(x + 1e8, y - 1e8, np.arange(40) % 4)
    np.testing.assert_allclose(moved - 1e8, plain, atol=1e-6)


@pytest.mark.parametrize("power", [-900, 900])
def test_tiny_and_huge_units_change_nothing(power):
    rng = np.random.default_rng(10)
    x, y = rng.normal(size=(40, 2)), rng.normal(size=(40, 1))
    plain, facts = synthesise(x, y, np.arange(40) % 4, support=("range",))
    scaled, scaled_facts = synthesise(np.ldexp(x, power), np.ldexp(y, power), np.arange(40) % 4, support=("range",))
    np.testing.assert_array_equal(np.ldexp(scaled, -power), plain)
    assert scaled_facts == facts


def test_groups_too_small_are_refused_merged_or_allowed():
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(40, 2)), rng.normal(size=(40, 1))
    labels = np.arange(40) // 4  # d = 4 - 1 - 1 = 2 < 3
    with pytest.raises(
        shoal.ParameterError,
        match=(
            r"ipso needs groups of 5 records, with 1 column kept, so that 3 dimensions are left to draw from; "
            r"10 groups of 10 are smaller. Raise k to 5, or replace fewer columns at once, or name fewer in given, "
            r"or set small: merge."
        ),
    ):
        synthesise(x, y, labels)
    new, facts = synthesise(x, y, labels, small="merge")
    assert 5 <= facts["groups merged because too small"] <= 9
    assert_same_moments(x, new, y)
    new, facts = synthesise(x, y, labels, small="allow")
    assert facts["groups"] == 10
    for g in range(10):
        assert_same_moments(x[labels == g], new[labels == g], y[labels == g])


@settings(max_examples=25)
@given(st.lists(st.integers(1, 7), min_size=1, max_size=12), st.integers(0, 1000))
def test_merging_ends_with_groups_large_enough(sizes, seed):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    x, y = rng.normal(size=(len(labels), 2)), rng.integers(0, 2, (len(labels), 1)).astype(float)
    if dimensions(Partition.of(np.zeros(len(labels))), y)[0] < 3:
        with pytest.raises(shoal.ParameterError):
            synthesise(x, y, labels, small="merge")
        return
    new, facts = synthesise(x, y, labels, small="merge")
    assert np.isfinite(new).all()
    assert facts["groups"] <= len(sizes)
    assert_same_moments(x, new, y)


def test_a_column_that_the_kept_ones_determine_is_reported():
    y = np.random.default_rng(7).normal(size=(30, 1))
    x = np.column_stack([3 * y[:, 0] + 1, y[:, 0] ** 2])
    new, facts = synthesise(x, y, np.zeros(30))
    np.testing.assert_array_equal(new[:, 0], x[:, 0])
    assert facts["groups in which a column was released as it is"] == {"x0": 1}
    assert facts["records unchanged"] == 0


def test_records_that_the_kept_columns_single_out_are_reported():
    # In each group one record alone has another y: it fixes its own fitted value, so no residual is left to turn.
    rng = np.random.default_rng(11)
    x, labels = rng.normal(size=(60, 2)), np.arange(60) // 20
    alone = np.arange(60) % 20 == 0
    label = "records that the kept columns single out, released all but as they are"
    new, facts = synthesise(x, alone[:, None] * 5.0, labels)
    np.testing.assert_allclose(new[alone], x[alone], atol=1e-12)
    assert facts["records unchanged"] == facts[label] == 3
    new, facts = synthesise(x, alone[:, None] * 5.0 + 0.01 * rng.normal(size=(60, 1)), labels)  # nearly alone
    assert np.abs(new - x)[alone].max() < 0.1 < 1 < np.abs(new - x)[~alone].max()
    assert (facts["records unchanged"], facts[label]) == (0, 3)
    _, facts = synthesise(x, rng.normal(size=(60, 1)), labels)
    assert label not in facts


def test_the_default_keeps_the_columns_that_are_not_replaced():
    rng = np.random.default_rng(8)
    frame = pl.DataFrame({name: rng.normal(size=50) for name in "abcd"} | {"e": ["u", "v"] * 25})
    roles = {"a": "quasi-identifier", "b": "quasi-identifier", "c": "confidential", "d": "other", "e": "confidential"}
    records = Microdata.of(frame, roles).records
    change = shoal.IPSO().apply(records, ["c"], Partition.of(np.zeros(50)), rng)
    new, y = change.records.raw(["c"]), frame[["a", "b"]].to_numpy()
    assert_same_moments(frame[["c"]].to_numpy(), new, y)
    assert np.abs(np.corrcoef(new[:, 0], frame["d"])[0, 1] - np.corrcoef(frame["c"], frame["d"])[0, 1]) > 1e-6
    assert change.records["d"] is records["d"]
    with pytest.raises(shoal.ParameterError, match="stay, and not 'c', which the step replaces"):
        shoal.IPSO(given=("a", "c")).apply(records, ["c"], Partition.of(np.zeros(50)), rng)


def test_columns_that_are_not_numbers_are_refused():
    frame = pl.DataFrame({"a": ["x", "y"] * 10})
    records = Microdata.of(frame, {"a": "quasi-identifier"}).records
    with pytest.raises(shoal.DataError, match="needs continuous columns; 'a' is not"):
        shoal.IPSO().apply(records, records.quasi_identifiers, Partition.of(np.zeros(20)), np.random.default_rng(0))


def test_same_seed_same_result():
    rng = np.random.default_rng(9)
    x, y = rng.normal(size=(60, 2)), rng.normal(size=(60, 1))
    np.testing.assert_array_equal(synthesise(x, y, np.arange(60) % 5, 1)[0], synthesise(x, y, np.arange(60) % 5, 1)[0])
    assert (synthesise(x, y, np.arange(60) % 5, 1)[0] != synthesise(x, y, np.arange(60) % 5, 2)[0]).all()


def test_with_as_many_dimensions_as_columns_one_known_cell_gives_all_others_away():
    """Why d >= L + 1: three records and two columns leave d = 2, one angle, and the moments are public."""
    x = np.array([[1.0, 2.0], [4.0, 3.0], [5.0, 9.0]])
    records = Records.from_array(x)
    method = shoal.IPSO(given=(), small="allow")
    whole = Partition.of(np.zeros(3))
    new = method.apply(records, records.quasi_identifiers, whole, np.random.default_rng(1)).records.raw()
    assert not np.isclose(new, x).any()
    # The attacker has `new` and the one cell x[0, 0] = 1. In a basis of what is orthogonal to 1:
    basis = np.linalg.qr(np.column_stack([np.ones(3), np.eye(3)[:, :2]]))[0][:, 1:]
    middle, inside = new.mean(axis=0), basis.T @ (new - new.mean(axis=0))
    solutions = []
    for turned in (inside, np.diag([1.0, -1.0]) @ inside):
        # row 0 of basis R(angle) turned = a cos + b sin must be 1 - mean
        a, b = basis[0] @ turned[:, 0], basis[0] @ np.array([-turned[1, 0], turned[0, 0]])
        gap = np.arccos(np.clip((1.0 - middle[0]) / np.hypot(a, b), -1, 1))
        for angle in np.arctan2(b, a) + np.array([gap, -gap]):
            turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            solutions.append(middle + basis @ turn @ turned)
    assert len(solutions) == 4
    assert min(np.abs(solution - x).max() for solution in solutions) < 1e-8
    with pytest.raises(shoal.ParameterError, match="ipso needs groups of 4 records"):
        shoal.IPSO(given=()).apply(records, records.quasi_identifiers, whole, np.random.default_rng(1))
