"""Columns of categories: one feature each, whatever its levels are called."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from torch import nn

from riata import (
    KnockoffSelector,
    LassoNetAutoencoder,
    LassoNetClassifier,
    LassoNetClassifierCV,
    LassoNetRegressor,
    LassoNetRegressorCV,
    StabilitySelector,
    holdout_p_values,
    permutation_importance,
)
from riata.preprocess import categories, expansion
from riata.preprocess.marginal import measure
from riata.preprocess.penalty import penalty_weights
from tests.conftest import with_training

N = 240
tables = np.random.default_rng(0)
QUICK = {"hidden_dims": (8,), "path_multiplier": 1.3, "n_iters": (200, 20), "random_state": 0}
COLOURS = np.array(["red", "green", "blue", "white", "black"])
codes = tables.integers(0, 5, size=N)
FRAME = pd.DataFrame(
    {
        "size": tables.normal(size=N),
        "colour": COLOURS[codes],
        "noise": tables.choice(list("abcdefghij"), size=N),
        "left": tables.choice(["no", "yes"], size=N),
        "weight": tables.normal(size=N),
    }
)
EFFECT = np.array([2.0, -1.0, 0.5, -2.0, 1.0])
y = EFFECT[codes] + FRAME["size"].to_numpy() + 0.3 * tables.normal(size=N)
BOTH = pytest.mark.parametrize(("Estimator", "target"), [(LassoNetRegressor, y), (LassoNetClassifier, y > 0)])


def same_path(one, two):
    return len(one) == len(two) and all(
        np.array_equal(a.selected, b.selected) and np.isclose(a.loss, b.loss, rtol=1e-6)
        for a, b in zip(one, two, strict=True)
    )


@BOTH
def test_a_column_of_categories_is_one_feature(Estimator, target):
    model = Estimator(**with_training(**QUICK, n_features_to_select=2)).fit(FRAME, target)
    assert model.n_features_in_ == len(model.feature_importances_) == FRAME.shape[1]
    assert model.get_feature_names_out().tolist() == ["size", "colour"]
    assert set(np.argsort(-model.feature_importances_)[:2]) == {0, 1}
    assert model.score(FRAME, target) > 0.7


@BOTH
def test_levels_of_a_column_enter_and_leave_together(Estimator, target):
    model = Estimator(**with_training(**QUICK, preprocessing="standard")).fit(FRAME, target)
    sizes = np.array([1, 5, 10, 1, 1])
    for point in model.path_:
        assert (np.bincount(point.weights.features, minlength=5) == sizes * point.selected).all()


@BOTH
@pytest.mark.parametrize("val_size", [0, 0.2])
def test_names_and_order_of_levels_do_not_matter(Estimator, target, val_size):
    renamed = FRAME.copy()
    swap = dict(zip(COLOURS, np.roll(COLOURS, 2), strict=True))
    renamed["colour"] = pd.Categorical(FRAME["colour"].map(swap), categories=sorted(COLOURS, reverse=True))
    renamed["left"] = FRAME["left"].map({"no": 7, "yes": -1}).astype("category")
    settings = {**QUICK, "val_size": val_size, "n_features_to_select": 1}
    one, two = (Estimator(**with_training(**settings)).fit(table, target) for table in (FRAME, renamed))
    assert same_path(one.path_, two.path_)
    np.testing.assert_allclose(one.predict(FRAME), two.predict(renamed), rtol=1e-6)


@BOTH
def test_two_levels_are_a_column_of_zeros_and_ones(Estimator, target):
    rarer = FRAME["left"].value_counts().index[-1]
    numeric = FRAME.assign(left=(FRAME["left"] == rarer).astype(float))
    one, two = (Estimator(**with_training(**QUICK)).fit(table, target) for table in (FRAME, numeric))
    assert same_path(one.path_, two.path_)


def test_an_array_of_codes_is_a_frame_of_words():
    table = FRAME.copy()
    for name in ("colour", "noise", "left"):
        table[name] = pd.factorize(FRAME[name])[0].astype(float)
    which = [1, 2, 3], ["colour", "noise", "left"], [False, True, True, True, False]
    words = LassoNetRegressor(**with_training(**QUICK)).fit(FRAME, y)
    for given, X in zip(which, (table.to_numpy(), table, table), strict=True):
        model = LassoNetRegressor(**with_training(**QUICK, categorical_features=given)).fit(X, y)
        np.testing.assert_array_equal(model.feature_importances_, words.feature_importances_)
        np.testing.assert_array_equal(model.predict(X), words.predict(FRAME))


def test_without_text_nothing_changes(rng):
    X = rng.normal(size=(N, 4))
    frame = pd.DataFrame(X, columns=list("abcd")).assign(flag=X[:, 0] > 0)
    one, two = (
        LassoNetRegressor(**with_training(**QUICK, categorical_features=c)).fit(frame, X[:, 1])
        for c in ("from_dtype", None)
    )
    assert one._categories is None
    np.testing.assert_array_equal(one.feature_importances_, two.feature_importances_)
    one.module_  # noqa: B018


@BOTH
def test_a_level_unknown_to_fit_counts_as_an_average_sample(Estimator, target):
    model = Estimator(**with_training(**QUICK)).fit(FRAME, target).at(lambda_=0)
    unknown = FRAME.assign(colour="violet", left=None)
    assert model.predict(unknown).shape == (N,)
    output = model._output(unknown)
    learnt = model._solved.preprocessing
    inputs = learnt.inputs(model._numbers(unknown), np.float64)
    assert np.abs(inputs[:, np.isin(learnt.expansion.source, [1, 3])]).max() < 1e-12  # the mean of the training samples
    assert (np.ptp(output, axis=0) > 0).all()  # by the other columns


def test_a_missing_value_is_a_level_if_fit_had_some():
    gaps = FRAME.assign(colour=FRAME["colour"].where(codes > 0))
    model = LassoNetRegressor(**with_training(**QUICK, n_features_to_select=2, refit="warm")).fit(gaps, y)
    filled = LassoNetRegressor(**with_training(**QUICK, n_features_to_select=2, refit="warm")).fit(
        gaps.fillna("nothing"), y
    )
    np.testing.assert_allclose(model.predict(gaps), filled.predict(gaps.fillna("nothing")), atol=0.1)
    assert model.score(gaps, y) > 0.9
    for missing in (None, np.nan, pd.NA):
        table = gaps.assign(colour=pd.Series([missing] * N, dtype=object))
        np.testing.assert_array_equal(model.predict(table), model.predict(gaps.assign(colour=None)))
    few = model.transform(gaps)
    assert few.shape == (N, 2) and pd.isna(few[:, 1]).sum() == (codes == 0).sum()


def test_gaps_in_numbers_are_refused_if_they_are_an_error():
    settings = {**QUICK, "missing": "error"}
    with pytest.raises(ValueError, match="NaN"):
        LassoNetRegressor(**with_training(**settings)).fit(FRAME.assign(size=np.nan), y)
    model = LassoNetRegressor(**with_training(**settings)).fit(FRAME, y)
    for method in (model.predict, model.transform):
        with pytest.raises(ValueError, match="NaN"):
            method(FRAME.assign(size=np.nan))


def test_a_single_level_is_a_constant():
    model = LassoNetRegressor(**with_training(**QUICK)).fit(FRAME.assign(noise="always"), y)
    assert not model.path_.selected[:, 2].any()
    assert model.predict(FRAME).shape == (N,)


def test_a_level_that_only_validation_samples_hold_counts_as_an_average_sample():
    model = LassoNetRegressor(**with_training(**QUICK)).fit(
        FRAME[:200], y[:200], X_val=FRAME[200:].assign(noise="new"), y_val=y[200:]
    )
    assert np.isfinite([point.val_loss for point in model.path_]).all()


def test_a_sample_of_weight_zero_is_ignored():
    more = pd.concat([FRAME, FRAME[:30].assign(colour="violet")], ignore_index=True)
    weights = np.repeat([1.0, 0.0], [N, 30])
    one = LassoNetRegressor(**with_training(**QUICK)).fit(more, np.append(y, y[:30]), sample_weight=weights)
    two = LassoNetRegressor(**with_training(**QUICK)).fit(FRAME, y)
    np.testing.assert_array_equal(one.feature_importances_, two.feature_importances_)


def test_levels_of_a_single_sample_share_a_code():
    column = pd.Series(["a"] * 6 + ["b"] * 5 + ["c", "d", "e"])
    learnt = categories.learn(column.to_frame("x"), "from_dtype")
    assert learnt.encode(column.to_frame("x"))["x"].tolist() == [0] * 6 + [1] * 5 + [2] * 3
    assert learnt.encode(pd.DataFrame({"x": ["e", "b", "z", None]}))["x"].tolist() == [2, 1, -1, -1]


@pytest.mark.parametrize("factor", [1, 1000, 0.7])
def test_a_factor_common_to_all_weights_leaves_the_levels_as_they_are(factor):
    """A level of one sample of weight two has two samples; weights of a survey do not make many of one."""
    column = pd.DataFrame({"x": ["a"] * 6 + ["b"] * 5 + ["c", "d", "e"]})
    counted = categories.learn(column, "from_dtype", factor * np.array([1.0] * 12 + [2.0, 1.0]))
    assert counted.encode(column)["x"].tolist() == [0] * 6 + [1] * 5 + [3, 2, 3]
    survey = categories.learn(column, "from_dtype", factor * np.linspace(500, 9000, 14).round())
    assert survey.encode(column)["x"].tolist() == [0] * 6 + [1] * 5 + [2] * 3


def test_a_column_that_identifies_samples_is_refused():
    named = FRAME.assign(noise=[f"row {i}" for i in range(N)])
    with pytest.raises(ValueError, match=r"'noise' .* 240 rows.*drop it"):
        LassoNetRegressor(**with_training(**QUICK)).fit(named, y)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (["shade"], "categorical_features: unknown column 'shade'"),
        ([7], "categorical_features: there is no column 7"),
        ([True, False], "mask needs one entry for each of the 5 columns; got 2"),
        ("colour", "categorical_features must be a sequence"),
        (3, "categorical_features must be a sequence"),
    ],
)
def test_a_column_that_is_not_there_is_refused(wrong, match):
    with pytest.raises(ValueError, match=re.escape(match)):
        LassoNetRegressor(**with_training(**QUICK, categorical_features=wrong)).fit(FRAME, y)


def test_text_that_is_not_declared_is_refused():
    with pytest.raises(ValueError, match="text in 'noise', 'left'"):
        LassoNetRegressor(**with_training(**QUICK, categorical_features=["colour"])).fit(FRAME, y)


def test_objects_that_are_numbers_stay_numbers(rng):
    numbers = pd.DataFrame({"a": rng.normal(size=N), "b": rng.normal(size=N)})
    one, two = (
        LassoNetRegressor(**with_training(**QUICK)).fit(X, numbers["a"]) for X in (numbers, numbers.astype(object))
    )
    np.testing.assert_array_equal(one.feature_importances_, two.feature_importances_)


@BOTH
def test_clones_and_pickles_predict_the_same(Estimator, target):
    model = Estimator(**with_training(**QUICK)).fit(FRAME, target)
    for other in (pickle.loads(pickle.dumps(model)), clone(model).fit(FRAME, target)):
        np.testing.assert_array_equal(model.predict(FRAME), other.predict(FRAME))


@pytest.mark.parametrize(("Estimator", "target"), [(LassoNetRegressorCV, y), (LassoNetClassifierCV, y > 0)])
def test_cross_validation_takes_categories(Estimator, target):
    model = Estimator(**with_training(**{**QUICK, "cv": 3})).fit(FRAME, target)
    assert {"colour"} <= set(model.get_feature_names_out())
    assert model.predict(FRAME.assign(colour="violet")).shape == (N,)


def test_stability_selection_takes_categories():
    gaps = FRAME.assign(colour=FRAME["colour"].where(codes > 0))
    selector = StabilitySelector(
        LassoNetRegressor(**with_training(**QUICK)),
        n_features=2,
        threshold=0.9,
        max_false=5,
        n_resamples=4,
        random_state=0,
    ).fit(gaps, y)
    assert selector.get_feature_names_out().tolist() == ["size", "colour"]
    assert selector.transform(gaps).shape == (N, 2)


def test_transform_returns_the_columns_as_they_are():
    model = LassoNetRegressor(**with_training(**QUICK, n_features_to_select=2)).fit(FRAME, y)
    few = model.transform(FRAME)
    assert isinstance(few, np.ndarray)
    np.testing.assert_array_equal(few[:, 1], FRAME["colour"].to_numpy())
    pd.testing.assert_frame_equal(model.set_output(transform="pandas").transform(FRAME), FRAME[["size", "colour"]])


def test_frames_of_polars_are_frames():
    table = pl.from_pandas(FRAME).with_columns(pl.col("colour").cast(pl.Categorical))
    one, two = (LassoNetRegressor(**with_training(**QUICK, n_features_to_select=2)).fit(X, y) for X in (FRAME, table))
    np.testing.assert_array_equal(one.predict(FRAME), two.predict(table))
    np.testing.assert_array_equal(one.transform(FRAME), two.transform(table))
    few = two.set_output(transform="polars").transform(table)
    assert isinstance(few, pl.DataFrame) and few.columns == ["size", "colour"]


def test_groups_and_costs_are_those_of_the_columns_given():
    model = LassoNetRegressor(
        **with_training(
            **QUICK, feature_groups=[["colour", "size"], ["noise"], ["left", "weight"]], feature_costs={"noise": 0}
        )
    ).fit(FRAME, y)
    for point in model.path_:
        assert point.selected[2]
        assert point.selected[0] == point.selected[1]


def test_the_lasso_takes_categories():
    model = LassoNetRegressor(**with_training(**QUICK, M=0, n_features_to_select=2)).fit(FRAME, y)
    assert model.get_feature_names_out().tolist() == ["size", "colour"]
    assert np.isnan(model.coef_[1]) and np.isfinite(model.coef_[0])


def test_a_module_of_the_fit_needs_numbers():
    with pytest.raises(AttributeError, match="categories: encode them"):
        LassoNetRegressor(**with_training(**QUICK)).fit(FRAME, y).module_  # noqa: B018


def test_knockoffs_of_categories_are_compared_as_groups(rng):
    """Six categories of three levels and six numbers are relevant, four and eight are not; by name or by type."""
    n, levels = 1000, np.array(["red", "green", "blue"])
    codes, numbers = rng.integers(3, size=(n, 10)), rng.normal(size=(n, 14))
    target = np.array([2.0, -1.0, -1.0])[codes[:, :6]].sum(axis=1) + 2 * numbers[:, :6].sum(axis=1) + rng.normal(size=n)
    columns = {f"c{j}": levels[codes[:, j]] for j in range(10)} | {f"n{j}": numbers[:, j] for j in range(14)}
    for frame, estimator in (
        (pd.DataFrame(columns), LassoNetRegressor(**with_training(hidden_dims=(10,), path_multiplier=1.1))),
        (
            np.hstack([codes, numbers]),
            LassoNetRegressor((10,), **with_training(path_multiplier=1.1, categorical_features=range(10))),
        ),
    ):
        with pytest.warns(UserWarning, match="10 of 24 columns have at most"):
            selector = KnockoffSelector(estimator, fdr=0.1, n_fits=1, random_state=0).fit(frame, target)
        assert selector.selected_.shape == (24,)
        assert selector.selected_[[*range(6), *range(10, 16)]].all()
        assert selector.n_selected_ <= 14


def table_of_categories(seed, n=150):
    """``kind`` is correlated with ``size``, which is relevant, as is ``colour``; ``noise`` is not."""
    draw = np.random.default_rng(seed)
    size, colour = draw.normal(size=n), draw.integers(3, size=n)
    frame = pd.DataFrame(
        {
            "size": size,
            "kind": pd.Categorical(np.where(size + draw.normal(size=n) > 0, "a", "b")),
            "colour": np.array(["red", "green", "blue"])[colour],
            "noise": draw.choice(["x", "y", "z", "w"], n),
        }
    )
    return frame, size + colour + 0.5 * draw.normal(size=n)


def one_hot_regression(frame, target):
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["kind", "colour", "noise"]), remainder="passthrough"
    )
    return make_pipeline(encode, Ridge(1e-3)).fit(frame, target)


def test_categories_are_permuted_as_they_are():
    (frame, target), (other, other_target) = table_of_categories(0), table_of_categories(1)
    for model in (one_hot_regression(frame, target), LassoNetRegressor(**with_training(**QUICK)).fit(frame, target)):
        found = permutation_importance(model, other, other_target, random_state=0).set_index("feature")
        assert (found.loc[["size", "colour"], "low"] > 0).all()
        assert (found.loc[["kind", "noise"], "importance"] < 0.1).all()


def test_levels_are_drawn_given_the_other_columns():
    """Of 30 tables, about three have p ≤ 0.1 for a category that adds nothing to the others; 1 % have nine or more."""
    small = {"kind": 0, "noise": 0, "colour": 0}
    for seed in range(30):
        (frame, target), (other, other_target) = table_of_categories(seed), table_of_categories(1000 + seed)
        model = one_hot_regression(frame, target)
        found = holdout_p_values(model, other, other_target, X_fit=frame, n_draws=49, random_state=seed)
        for name in small:
            small[name] += float(found.set_index("feature")["p_value"][name]) <= 0.1
    assert small["colour"] == 30
    assert small["kind"] <= 8 and small["noise"] <= 8


def test_a_group_with_categories_has_no_common_draw():
    frame, target = table_of_categories(0)
    with pytest.raises(ValueError, match="drawn one by one"):
        holdout_p_values(one_hot_regression(frame, target), frame, target, feature_groups=[0, 0, 1, 2])


def test_a_user_supplied_network_has_an_input_for_each_level():
    widths = []

    def network(n_inputs, n_outputs):
        widths.append(n_inputs)
        return nn.Sequential(nn.Linear(n_inputs, 6), nn.Tanh(), nn.Linear(6, n_outputs))

    model = LassoNetRegressor(
        **with_training(**{**QUICK, "hidden_dims": network}, preprocessing="standard", n_features_to_select=2)
    ).fit(FRAME, y)
    assert set(widths) == {1 + 5 + 10 + 1 + 1}
    assert model.get_feature_names_out().tolist() == ["size", "colour"]
    with pytest.raises(ValueError, match="18"):
        LassoNetRegressor(**with_training(**{**QUICK, "hidden_dims": network(5, 1)})).fit(FRAME, y)


def test_an_auto_encoder_needs_numbers():
    with pytest.raises(ValueError, match="'colour'"):
        LassoNetAutoencoder(hidden_dims=(4,)).fit(FRAME)


def test_noise_of_many_levels_has_no_association_and_effects_of_levels_in_any_order_have_one(rng):
    table = np.column_stack([rng.integers(0, 60, N), codes]).astype(float)
    found = measure(table, y[:, None], np.ones(N), np.array([60, 5]))
    assert found.p_values[0] > 0.01
    assert found.p_values[1] < 1e-6
    assert not found.nonlinear.any()
    table[:, 1] = np.roll(np.arange(5), 2)[codes]
    reordered = measure(table, y[:, None], np.ones(N), np.array([60, 5]))
    np.testing.assert_allclose(reordered.p_values, found.p_values)


def test_rare_levels_hardly_add_to_the_size_of_a_feature():
    even = (np.arange(N) % 5)[:, None].astype(float)
    rare = np.where(np.arange(N) < 10, np.arange(N) % 5, np.arange(N) % 2)[:, None].astype(float)
    counted = [expansion.learn(x, np.ones(N), 1, np.array([5])).size[0] for x in (even, rare)]
    assert counted[0] == pytest.approx(5)
    assert 1 < counted[1] < 2.5


def test_noise_of_many_levels_has_a_larger_penalty_weight_than_an_effect_of_many_levels(rng):
    table = np.column_stack([np.arange(N) % 2, np.arange(N) % 40, codes, rng.normal(size=N)]).astype(float)
    n_levels = np.array([2, 40, 5, 0])
    size = expansion.learn(table, np.ones(N), 1, n_levels).size
    np.testing.assert_allclose(size[[0, 1, 3]], [1, 40, 1], rtol=1e-12)
    weights = penalty_weights(size, measure(table, y[:, None], np.ones(N), n_levels))
    assert weights[2] == np.sqrt(size[2])  # a clear association
    assert 40 < weights[1] <= 2 * 40 * (1 + 1e-9)


@BOTH
def test_noise_of_many_levels_does_not_rank_above_an_effect(Estimator, target, rng):
    noise = {f"noise {j}": rng.integers(0, 60, size=N).astype(str) for j in range(3)}
    model = Estimator(**with_training(**{**QUICK, "hidden_dims": (20,)})).fit(FRAME.assign(**noise), target)
    assert set(np.argsort(-model.feature_importances_)[:2]) == {0, 1}


def test_text_of_which_most_cells_occur_once_is_a_category_with_a_warning(rng):
    dose = [f"{value:.2f} mg" for value in rng.normal(100, 10, N)]
    frame = FRAME.assign(dose=dose)
    with pytest.warns(UserWarning, match="'dose'.*to_numeric.*read_table"):
        categories.learn(frame, "from_dtype")
    for silent in (FRAME, frame.astype({"dose": "category"}), frame.assign(dose=["a", "b"] * (N // 2))):
        assert categories.learn(silent, "from_dtype") is not None  # a warning would be an error
