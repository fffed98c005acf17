"""Matrix completion."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.impute import KNNImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from riata import LassoNetImputer, completion
from riata.completion import Completer
from riata.network.stacked import Network, Weights
from riata.path import selection
from riata.solver.stopping import Stopping
from tests.conftest import with_training

FAST = {"hidden_dims": (16, 16), "n_iters": (90, 5), "random_state": 0}


def plane(n: int = 120, d: int = 8, noise: float = 0.1, seed: int = 0) -> np.ndarray:
    """Columns that are functions of two latent numbers, half of them nonlinear."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d))
    Z[:, ::2] = np.tanh(2 * Z[:, ::2])
    return Z + noise * rng.standard_normal((n, d))


def with_gaps(X: np.ndarray, share: float = 0.2, seed: int = 1) -> np.ndarray:
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def error(filled: np.ndarray, X: np.ndarray, gaps: np.ndarray) -> float:
    """Mean squared error where there were gaps, in variances of the columns."""
    return float((((filled - X) / X.std(axis=0)) ** 2)[np.isnan(gaps)].mean())


@pytest.fixture(scope="module")
def fitted() -> tuple[LassoNetImputer, np.ndarray, np.ndarray]:
    X = plane()
    gaps = with_gaps(X)
    return LassoNetImputer(**with_training(**FAST)).fit(gaps), X, gaps


# ---- laws ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_known_entries_come_back_to_the_bit_and_gaps_are_filled(fitted, dtype):
    model, _, gaps = fitted
    gaps = gaps.astype(dtype)
    filled = model.transform(gaps)
    assert filled.dtype == dtype
    np.testing.assert_array_equal(filled[~np.isnan(gaps)], gaps[~np.isnan(gaps)])
    assert np.isfinite(filled).all()


def test_without_gaps_a_table_comes_back_as_it_is():
    X = plane(40)
    np.testing.assert_array_equal(LassoNetImputer(**with_training(**FAST)).fit_transform(X), X)


def test_gaps_are_filled_better_than_by_means_and_by_neighbours(fitted):
    model, X, gaps = fitted
    ours = error(model.transform(gaps), X, gaps)
    assert ours < error(KNNImputer().fit_transform(gaps), X, gaps)
    assert ours < 0.3 * error(np.where(np.isnan(gaps), np.nanmean(gaps, axis=0), gaps), X, gaps)


def test_new_samples_with_gaps_where_there_were_none_are_filled():
    X = plane(160)
    train, new = X[:120].copy(), with_gaps(X[120:], 0.3)
    train[:, 1:] = with_gaps(train[:, 1:])  # the first column has no gaps in training
    new[:20, 0] = np.nan
    filled = LassoNetImputer(**with_training(**FAST)).fit(train).transform(new)
    assert error(filled, X[120:], new) < 0.4
    assert np.isfinite(filled).all()


def test_what_was_held_out_never_influences_what_is_learnt():
    X = plane(60)
    gaps = with_gaps(X)
    val = np.where(np.random.default_rng(5).random(X.shape) < 0.1, X, np.nan)
    changed = np.where(np.isnan(val), gaps, 1e3)  # an entry to validate on is not read from X
    one, two = (
        LassoNetImputer(**with_training(**FAST, n_features_to_select=8)).fit(table, X_val=val)
        for table in (gaps, changed)
    )
    new = with_gaps(plane(20, seed=3))
    np.testing.assert_array_equal(one.transform(new), two.transform(new))


def test_an_entry_that_is_hidden_is_a_target_and_not_an_input(fitted):
    _, X, _ = fitted
    completer, weights = some_completer(X)
    completer._hide(weights)
    n, target = len(X), completer.problem.target.numpy()
    hidden = ~np.isnan(target)
    assert 0.15 < hidden.mean() < 0.25
    np.testing.assert_array_equal(target[hidden], np.tile(X, (len(target) // n, 1))[hidden])
    # The same draw on a table in which the entries that the first copy hides are others.
    inside = (X.min(axis=0) != X) & (X.max(axis=0) != X)  # the limits stay
    changed, _ = some_completer(np.where(hidden[:n] & inside, X.mean(axis=0), X))
    changed._hide(weights)
    np.testing.assert_array_equal(changed.problem.X[:n], completer.problem.X[:n])
    assert (changed.problem.target[:n].numpy() != target[:n])[hidden[:n] & inside].all()
    assert not np.array_equal(changed.problem.X[n:], completer.problem.X[n:])  # other copies show these entries


def some_completer(X: np.ndarray) -> tuple[Completer, Weights]:
    """Pose the problem of all columns of X from all, and draw weights."""
    d = X.shape[1]
    values, known = torch.tensor(X), torch.ones(X.shape, dtype=torch.bool)
    gaps = completion.Gaps(values, known, torch.full_like(values, torch.nan))
    network = Network(d, (4,))
    trainer = completion.Trainer(
        network, gaps, np.eye(d), M=10.0, costs=np.ones(d), ids=None, gamma=0.0, adaptive=0.0,
        hide=0.2, learning_rate=1e-3, stopping=Stopping(9, None, 0.0), seeds=(1, 2),
    )  # fmt: skip
    completer = trainer._completer(np.arange(d))
    return completer, completer.feasible(network.init(d, [0], torch.float64, torch.device("cpu")))


def test_without_hiding_gaps_keep_their_initial_fill():
    X = plane(100, noise=0.5)
    gaps = with_gaps(X)
    model = LassoNetImputer(
        (16, 16), **with_training(hide=0, n_iters=(3000, 5), val_size=0, tol=0, n_features_to_select=8, random_state=0)
    )
    filled = model.fit_transform(gaps)
    Z = (gaps - model._known.scaling.center) / model._known.scaling.scale
    initial = (
        np.where(np.isnan(Z), np.nanmean(Z, axis=1, keepdims=True), Z) * model._known.scaling.scale
        + model._known.scaling.center
    )
    there = np.isnan(gaps)
    off = ((filled - initial) / model._known.scaling.scale)[there]
    assert np.mean(off**2) < 0.1
    hidden = LassoNetImputer(**with_training(**FAST, n_features_to_select=8)).fit_transform(gaps)
    assert error(hidden, X, gaps) < 0.7 * error(filled, X, gaps)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_order_of_samples_and_columns_changes_the_error_by_less_than_its_standard_error(axis):
    X = plane(100)
    order = np.random.default_rng(4).permutation(X.shape[axis])
    straight, permuted = [], []
    for seed in range(5):
        gaps = with_gaps(X, seed=seed)
        settings = {**FAST, "random_state": seed, "n_features_to_select": 8}
        straight.append(error(LassoNetImputer(**with_training(**settings)).fit_transform(gaps), X, gaps))
        moved = np.take(gaps, order, axis)
        filled = LassoNetImputer(**with_training(**settings)).fit_transform(moved)
        permuted.append(error(filled, np.take(X, order, axis), moved))
    assert abs(np.mean(straight) - np.mean(permuted)) <= np.std(straight, ddof=1) / 5**0.5


def test_linear_data_of_low_rank_are_filled_as_well_as_by_soft_impute():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3)) @ rng.standard_normal((3, 12)) + 0.2 * rng.standard_normal((150, 12))
    gaps, val = with_gaps(X, 0.3), np.full(X.shape, np.nan)
    held_out = rng.random(X.shape) < 0.1
    val[held_out], gaps[held_out] = X[held_out], np.nan
    model = LassoNetImputer((32, 32), n_features_to_select=12, random_state=0).fit(gaps, X_val=val)
    test = np.where(np.isnan(val), gaps, 0.0)  # gaps that were not validated on
    start = model.history_.val_error[0]
    assert model.history_.val_error.min() <= start
    assert error(model.transform(gaps), X, test) < 1.1 * error(soft_impute(gaps, val), X, test)


def test_a_nonlinear_function_of_another_column_is_learnt():
    rng = np.random.default_rng(0)
    a = rng.uniform(-1, 1, 300)
    X = np.column_stack([a, a**2, rng.standard_normal(300)])
    gaps = X.copy()
    gaps[::4, 1] = np.nan
    model = LassoNetImputer((32, 32), n_features_to_select=3, random_state=0).fit(gaps)
    off = (model.transform(gaps) - X)[::4, 1]
    assert np.mean(off**2) < 0.2 * X[:, 1].var()


def test_very_wide_tables_start_at_random(monkeypatch):
    monkeypatch.setattr("riata.completion.training._WIDEST", 4)
    X = plane()
    gaps = with_gaps(X)
    model = LassoNetImputer(**with_training(**{**FAST, "n_iters": (600, 5)}, n_features_to_select=8)).fit(gaps)
    assert error(model.transform(gaps), X, gaps) < 0.5


def soft_impute(gaps: np.ndarray, val: np.ndarray) -> np.ndarray:
    """Soft-Impute by its definition, with the λ of the lowest error on ``val``."""
    known, there = ~np.isnan(gaps), ~np.isnan(val)
    center, scale = np.nanmean(gaps, axis=0), np.nanstd(gaps, axis=0)
    Y = np.where(known, (gaps - center) / scale, 0)
    best, lowest, Z = None, np.inf, np.zeros_like(Y)
    for lambda_ in np.geomspace(1, 1e-3, 30) * np.linalg.norm(Y, 2):
        for _ in range(500):
            U, s, Vt = np.linalg.svd(np.where(known, Y, Z), full_matrices=False)
            Z = (U * np.maximum(s - lambda_, 0)) @ Vt
        filled = Z * scale + center
        val_error = float(np.square((filled - val)[there]).mean())
        if val_error < lowest:
            best, lowest = filled, val_error
    return best


# ---- fewer columns ---------------------------------------------------------------------------------------------------


def test_a_point_needs_only_its_columns_and_fills_them_all(fitted):
    model, _, gaps = fitted
    few = model.at(n_features=4)
    assert few.n_selected_ <= 4 < model.n_selected_
    other = np.where(few.selected_, gaps, 1e3)
    estimate = few.predict_entries(gaps)
    np.testing.assert_array_equal(estimate, few.predict_entries(other))
    assert np.isfinite(estimate).all()
    assert model.path_[0].val_loss < few.point_.val_loss


def test_the_path_holds_the_error_on_the_entries_held_out():
    X = plane()
    gaps = with_gaps(X)
    val = np.where(np.isnan(gaps), X, np.nan)
    model = LassoNetImputer(**with_training(**FAST)).fit(gaps, X_val=val)
    for point in model.path_[:: max(1, len(model.path_) // 4)]:
        at = model.load(point)
        off = ((at.predict_entries(gaps) - X) / model._known.scaling.scale)[np.isnan(gaps)]
        assert point.val_loss == pytest.approx(np.mean(off**2), rel=1e-3)


def test_the_dense_network_does_better_with_few_columns_than_the_penalised_one_that_found_them(fitted):
    model, X, gaps = fitted
    few = model.at(n_features=3)
    penalised = model.at(n_features=3).load(replace(few.point_, filler=None))
    assert (few.selected_ == penalised.selected_).all()
    assert error(few.transform(gaps), X, gaps) < 0.9 * error(penalised.transform(gaps), X, gaps)


def test_a_refit_keeps_the_columns_and_fills_about_as_well():
    """Points are used with the dense network, trained on gaps: on a small table there is little left to gain."""
    X = plane(400)
    gaps = with_gaps(X)
    errors = []
    for seed in range(2):
        settings = {**FAST, "n_iters": (600, 5), "n_features_to_select": 3, "random_state": seed}
        biased, warm, scratch = (
            LassoNetImputer(**with_training(**settings, refit=refit)).fit(gaps) for refit in (False, "warm", "scratch")
        )
        assert (warm.selected_ == biased.selected_).all()
        assert (scratch.selected_ == biased.selected_).all()
        errors.append([error(model.transform(gaps), X, gaps) for model in (biased, warm, scratch)])
    biased, warm, scratch = np.mean(errors, axis=0)  # over eight seeds 0.44, 0.44 and 0.42; a column's mean has 1
    assert max(warm, scratch) < min(1.25 * biased, 0.8)


def test_columns_restrict_the_inputs():
    frame = pd.DataFrame(plane(60), columns=list("abcdefgh"))
    model = LassoNetImputer(**with_training(**FAST, columns=["b", "f"])).fit(frame)
    assert list(frame.columns[model.selected_]) == ["b", "f"]
    assert len(model.path_) == 1
    lost = frame.assign(a=np.nan, c=np.nan)
    assert np.isfinite(model.transform(lost)).all()


def test_groups_leave_together_and_columns_without_a_penalty_never_leave():
    gaps = with_gaps(plane(60))
    groups = [[0, 1], [2, 3, 4], [5], [6, 7]]
    for point in LassoNetImputer(**with_training(**FAST, feature_groups=groups)).fit(gaps).path_:
        assert all(len(set(point.selected[group])) == 1 for group in groups)
    assert all(
        point.selected[2] for point in LassoNetImputer(**with_training(**FAST, feature_costs={2: 0})).fit(gaps).path_
    )


@pytest.mark.parametrize("select", ["best", "1se"])
def test_a_rule_selects_a_point_where_no_number_is_given(select):
    model = LassoNetImputer(**with_training(**FAST, select=select, refit=False)).fit(with_gaps(plane()))
    rule = selection.best if select == "best" else selection.one_standard_error
    assert model.point_ is model.path_[rule(model.path_)]


# ---- conventions of scikit-learn -------------------------------------------------------------------------------------


def test_indicators_and_names_follow_scikit_learn():
    frame = pd.DataFrame(plane(60), columns=list("abcdefgh"))
    frame.iloc[::5, 1] = np.nan
    frame["e"] = np.nan
    ours = LassoNetImputer(**with_training(**FAST, add_indicator=True)).fit(frame)
    theirs = KNNImputer(add_indicator=True).fit(frame)
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
    np.testing.assert_array_equal(ours.transform(frame)[:, 7:], theirs.transform(frame)[:, 7:])
    assert list(ours.set_output(transform="pandas").transform(frame).columns) == list(ours.get_feature_names_out())


def test_empty_columns_are_left_out_or_kept_as_zeros():
    X = plane(60)
    X[:, 3] = np.nan
    assert LassoNetImputer(**with_training(**FAST)).fit_transform(X).shape == (60, 7)
    kept = LassoNetImputer(**with_training(**FAST, keep_empty_features=True)).fit(X)
    np.testing.assert_array_equal(kept.transform(X)[:, 3], 0)
    assert not kept.selected_[3]


@pytest.mark.parametrize("mark", [-999.0, 0])
def test_gaps_may_be_marked_by_a_number(mark):
    gaps = with_gaps(plane(60))
    expected = LassoNetImputer(**with_training(**FAST)).fit_transform(gaps)
    marked = LassoNetImputer(**with_training(**FAST, missing_values=mark)).fit_transform(
        np.where(np.isnan(gaps), mark, gaps)
    )
    np.testing.assert_array_equal(marked, expected)
    with pytest.raises(ValueError, match="NaN"):
        LassoNetImputer(**with_training(**FAST, missing_values=mark)).fit(gaps)


@pytest.mark.parametrize("dtype", ["Float64", "object"])
def test_data_frames_with_pd_na_are_understood(dtype):
    gaps = with_gaps(plane(60))
    frame = pd.DataFrame(gaps).astype("Float64").astype(dtype)
    assert frame.iloc[:, 0].isna().any()
    expected = LassoNetImputer(**with_training(**FAST)).fit_transform(gaps)
    np.testing.assert_array_equal(LassoNetImputer(**with_training(**FAST)).fit_transform(frame), expected)


def test_it_works_in_a_pipeline_and_under_a_grid_search():
    X, y = load_iris(return_X_y=True)
    gaps = with_gaps(X)
    pipe = make_pipeline(LassoNetImputer(**with_training(**FAST)), LogisticRegression(max_iter=1000)).fit(gaps, y)
    assert pipe.score(gaps, y) > 0.8
    search = GridSearchCV(LassoNetImputer(**with_training(**FAST)), {"hide": [0.2, 0.4]}, cv=2).fit(gaps)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_the_same_seed_gives_the_same_table_and_a_copy_is_the_same_model(fitted):
    model, _, gaps = fitted
    expected = model.transform(gaps)
    np.testing.assert_array_equal(clone(model).fit(gaps).transform(gaps), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(gaps), expected)


def test_the_history_records_training(fitted):
    model, _, _ = fitted
    history = model.history_
    assert list(history.columns) == ["n_iters", "loss", "val_error", "n_fills", "change"]
    assert history.n_iters.is_monotonic_increasing
    assert history.n_iters.iloc[-1] <= 99
    assert model.path_[0].val_loss == pytest.approx(history.val_error.min(), rel=1e-4)


def test_a_score_is_the_share_of_variance_explained_of_entries_hidden_for_it(fitted):
    model, _, gaps = fitted
    assert 0.6 < model.score(gaps) < 1
    assert model.at(n_features=1).score(gaps) < model.score(gaps)


# ---- odd tables ------------------------------------------------------------------------------------------------------


def test_an_empty_sample_is_filled_with_typical_values(fitted):
    model, X, _ = fitted
    filled = model.transform(np.full((2, 8), np.nan))
    assert (np.abs(filled - X.mean(axis=0)) < 2 * X.std(axis=0)).all()
    gaps = with_gaps(plane(60))
    gaps[7] = np.nan
    assert np.isfinite(LassoNetImputer(**with_training(**FAST)).fit_transform(gaps)).all()


def test_a_column_with_one_value_is_filled_with_it():
    gaps = with_gaps(plane(60))
    gaps[:, 2] = np.where(np.isnan(gaps[:, 2]), np.nan, 5.0)
    model = LassoNetImputer(**with_training(**FAST)).fit(gaps)
    np.testing.assert_allclose(model.transform(gaps)[:, 2], 5)
    assert not any(point.selected[2] for point in model.path_)


def test_fills_stay_within_the_range_of_known_values_to_the_last_bit(fitted):
    model, _, gaps = fitted
    wild = np.where(np.isnan(gaps), np.nan, 100 * gaps)
    estimate = model.predict_entries(wild)
    assert (estimate >= np.nanmin(gaps, axis=0)).all()
    assert (estimate <= np.nanmax(gaps, axis=0)).all()


def test_of_a_column_with_few_entries_some_are_always_learnt_from():
    X = plane(40)
    X[6:, 0] = np.nan
    X[:6, 0] = np.arange(100, 106)
    for seed in range(5):
        model = LassoNetImputer(
            (5,), **with_training(n_iters=(9, 2), val_size=0.7, random_state=seed, n_features_to_select=8)
        ).fit(X)
        assert (model.transform(X)[:, 0] >= 100).all()
    with pytest.raises(ValueError, match="all that is known of column 0"):
        LassoNetImputer(**with_training(**FAST)).fit(X, X_val=np.where(np.arange(8) == 0, X, np.nan))


def test_columns_with_one_known_value_do_not_count_in_the_validation_error():
    X = plane(60)
    gaps, val = X.copy(), np.full(X.shape, np.nan)
    gaps[1:, 4], val[1:, 4] = np.nan, X[1:, 4]  # one value to learn from
    val[::7, 1] = X[::7, 1]
    model = LassoNetImputer(**with_training(**FAST, n_features_to_select=8)).fit(gaps, X_val=val)
    only = LassoNetImputer(**with_training(**FAST, n_features_to_select=8)).fit(
        gaps, X_val=np.where(np.arange(8) == 1, val, np.nan)
    )
    assert model.path_[0].val_loss == pytest.approx(only.path_[0].val_loss)


def test_a_complete_table_is_trained_on_without_validation_entries_too():
    model = LassoNetImputer(**with_training(**FAST, val_size=0)).fit(plane(60))
    assert model.history_.n_iters.iloc[-1] == 90
    assert model.n_selected_ == 8  # without validation entries all columns are kept
    assert model.path_[0].n_iters == 90


def test_training_takes_no_more_iterations_than_allowed():
    model = LassoNetImputer((5,), **with_training(n_iters=(10, 2), random_state=0)).fit(plane(40))
    assert model.history_.n_iters.iloc[-1] == 10


def test_many_samples_are_filled_as_each_of_them_alone(fitted, monkeypatch):
    model, _, gaps = fitted
    expected = model.transform(gaps)
    monkeypatch.setattr("riata.completion.table._BLOCK", 7)
    np.testing.assert_allclose(model.transform(gaps), expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.array([[1.0, np.nan, 2.0]]), "minimum of 2 is required"),
        (np.full((5, 3), np.nan), "nothing but gaps"),
        (np.where(np.arange(30).reshape(10, 3) == 4, np.inf, 1.0), "infinity"),
        (pd.DataFrame({"a": [1.0, 2.0], "town": ["Rome", None]}), "text in 'town'"),
        (pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-02"])}), "dates in 'day'"),
    ],
)
def test_tables_that_cannot_be_filled_are_refused(table, message):
    with pytest.raises(ValueError, match=message):
        LassoNetImputer(**with_training(**FAST)).fit(table)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hide": 1.5}, "hide must be"),
        ({"missing_values": "gap"}, "missing_values must be"),
        ({"columns": []}, "at least one column"),
        ({"n_features_to_select": 9}, "exceeds the 8 features"),
        ({"columns": [12]}, "there is no column 12"),
        ({"columns": 3}, "columns must be a sequence"),
        ({"tol": 0.9}, "tol"),
        ({"hidden_dims": ()}, "hidden"),
    ],
)
def test_invalid_parameters_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        LassoNetImputer(**with_training(**{**FAST, **settings})).fit(plane(20))


def test_entries_to_validate_on_must_fit_the_table():
    with pytest.raises(ValueError, match="X_val must have the shape of X"):
        LassoNetImputer(**with_training(**FAST)).fit(plane(20), X_val=plane(10))


@pytest.mark.filterwarnings("ignore:without validation rows")
def test_tiny_tables_and_single_columns_are_filled_with_something():
    for table in (np.array([[1.0, np.nan], [2.0, 3.0]]), np.array([[1.0], [np.nan], [3.0]]), np.ones((4, 2))):
        assert np.isfinite(LassoNetImputer(**with_training(**FAST)).fit_transform(table)).all()
    assert (
        len(LassoNetImputer(**with_training(**FAST)).fit(np.ones((4, 2))).path_) == 1
    )  # constant columns: there is nothing to select


def test_the_warning_of_a_selection_points_to_the_line_of_the_user():
    with pytest.warns(UserWarning, match="ends before n_features_to_select=1") as caught:
        LassoNetImputer(**with_training(**FAST, n_features_to_select=1, lambda_seq=[1e-6])).fit(plane(40))
    assert caught[0].filename == __file__


@pytest.mark.parametrize("n_calls", [0, 4, 32], ids=["at once", "in training", "on the path"])
def test_an_interrupt_is_raised_and_leaves_an_imputer_that_is_not_fitted(monkeypatch, n_calls):
    gaps, minimise, calls = with_gaps(plane(60)), Completer.minimise, []
    model = LassoNetImputer(**with_training(**FAST)).fit(gaps)

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) == n_calls + 1:
            raise KeyboardInterrupt
        return minimise(*args, **kwargs)

    monkeypatch.setattr(Completer, "minimise", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(gaps)
    assert not hasattr(model, "path_") and not hasattr(model, "point_")
    with pytest.raises(NotFittedError):
        model.transform(gaps)
