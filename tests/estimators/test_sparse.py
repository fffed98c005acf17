"""A sparse X gives the models of the same X as an array, and is never written out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.sparse import csc_array, csc_matrix, csr_array, csr_matrix

from riata import (
    KnockoffSelector,
    LassoNetAutoencoder,
    LassoNetClassifier,
    LassoNetClassifierCV,
    LassoNetCoxRegressor,
    LassoNetImputer,
    LassoNetRegressor,
    StabilitySelector,
    effect_curve,
    holdout_p_values,
    permutation_importance,
)
from riata.network import sparse
from tests.conftest import with_training

N, D = 160, 30


@pytest.fixture
def X(rng):
    """Return rare counts, two of which matter, and a column far from zero, which matters too."""
    table = rng.poisson(0.15, size=(N, D)) * rng.exponential(size=(N, D))
    table[:, 2] = rng.normal(size=N) + 30
    return table


@pytest.fixture
def y(X, rng):
    return 2 * (X[:, 0] - X[:, 1]) + X[:, 2] - 30 + 0.1 * rng.normal(size=N)


@pytest.fixture
def always_sparse(monkeypatch):
    """Leave no table small enough for a tensor."""
    monkeypatch.setattr(sparse, "LARGEST", 0)


def settings(**given):
    short = {"hidden_dims": (8,), "dtype": "float64", "n_iters": (60, 10), "path_multiplier": 1.1, "random_state": 0}
    return with_training(**{**short, "preprocessing": "standard", **given})


def assert_same(one, other):
    """Compare paths and importances."""
    assert one.path_.n_selected.tolist() == other.path_.n_selected.tolist()
    np.testing.assert_allclose(one.path_.lambdas, other.path_.lambdas, rtol=1e-9)
    losses = (model.path_.to_frame().drop(columns=["n_iters", "n_selected"]) for model in (one, other))
    np.testing.assert_allclose(*losses, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(one.feature_importances_, other.feature_importances_, rtol=1e-6)
    np.testing.assert_allclose(one.point_.weights.first, other.point_.weights.first, atol=1e-6)


CASES = {
    "full batch": {},
    "mini-batches": {"batch_size": 32},
    "the lasso": {"M": 0},
    "groups": {"feature_groups": np.arange(D) // 2},
    "no validation": {"val_size": 0, "batch_size": 32, "n_features_to_select": 3},
    "no scaling": {"preprocessing": None},
    "solved points": {"M": 0, "n_iters": (60, 100), "path_multiplier": 1.5},
}


@pytest.mark.parametrize("n_entries", [0, 10 * N, 2**24], ids=["always sparse", "few columns dense", "dense"])
@pytest.mark.parametrize("case", CASES)
def test_the_path_is_that_of_the_array(X, y, case, n_entries, monkeypatch):
    given = settings(refit=False, **CASES[case])
    dense = LassoNetRegressor(**given).fit(X, y)
    monkeypatch.setattr(sparse, "LARGEST", n_entries)
    model = LassoNetRegressor(**given).fit(csr_array(X), y)
    assert_same(dense, model)
    np.testing.assert_allclose(model.predict(csr_array(X)), dense.predict(X), atol=1e-6)
    np.testing.assert_allclose(model.predict(X), dense.predict(X), atol=1e-6)


def test_weights_validation_samples_and_refits_are_those_of_the_array(X, y, rng, monkeypatch):
    weights, given = rng.integers(0, 4, size=N), settings()
    fit, val = slice(40, None), slice(None, 40)
    dense = LassoNetRegressor(**given).fit(X[fit], y[fit], weights[fit], X_val=X[val], y_val=y[val])
    monkeypatch.setattr(sparse, "LARGEST", 10 * N)
    table = csr_array(X)
    model = LassoNetRegressor(**given).fit(table[fit], y[fit], weights[fit], X_val=table[val], y_val=y[val])
    assert_same(dense, model)
    np.testing.assert_allclose(model.predict(table), dense.predict(X), atol=1e-6)
    mixed = LassoNetRegressor(**given).fit(table[fit], y[fit], weights[fit], X_val=X[val], y_val=y[val])
    assert_same(model, mixed)
    few, dense_few = model.at(n_features=2), dense.at(n_features=2)
    np.testing.assert_allclose(few.predict(table), dense_few.predict(X), atol=1e-6)


def test_single_precision_gives_the_path_of_the_array(X, y, always_sparse):
    given = settings(dtype="float32", refit=False, n_iters=(20, 5))
    dense, model = LassoNetRegressor(**given).fit(X, y), LassoNetRegressor(**given).fit(csr_array(X), y)
    assert abs(len(dense.path_) - len(model.path_)) <= 2
    np.testing.assert_allclose(model.path_[0].loss, dense.path_[0].loss, rtol=1e-4)
    assert model.selected_.tolist() == dense.selected_.tolist()


def test_classes_and_survival_times_are_those_of_the_array(X, y, always_sparse):
    given, table = settings(refit=False), csr_array(X)
    labels = np.digitize(y, [-1, 1])
    dense, model = (LassoNetClassifier(**given).fit(each, labels) for each in (X, table))
    assert_same(dense, model)
    np.testing.assert_allclose(model.predict_proba(table), dense.predict_proba(X), atol=1e-6)
    assert model.score(table, labels) == dense.score(X, labels)
    times = np.column_stack([np.exp(-y / 4), np.ones(N)])
    dense, model = (LassoNetCoxRegressor(**given).fit(each, times) for each in (X, table))
    assert_same(dense, model)
    survival = [each.predict_survival_function(part, return_array=True) for each, part in ((dense, X), (model, table))]
    np.testing.assert_allclose(*survival, atol=1e-6)


def test_a_module_of_your_own_takes_a_sparse_table(X, y, always_sparse):
    from torch import nn

    def network(n_inputs, n_outputs):
        return nn.Sequential(nn.Linear(n_inputs, 6), nn.Tanh(), nn.Linear(6, n_outputs))

    given = settings(hidden_dims=network, refit=False, n_iters=(20, 5), path_multiplier=1.5)
    assert_same(*(LassoNetRegressor(**given).fit(each, y) for each in (X, csr_array(X))))


@pytest.mark.parametrize("kind", [csr_matrix, csc_matrix, csc_array, sp.coo_array, sp.lil_matrix])
def test_every_format_gives_the_same_model_and_stays_as_it_is(X, y, kind):
    given, table = settings(n_features_to_select=3, n_iters=(20, 5)), kind(X)
    before = table.copy()
    model, same = LassoNetRegressor(**given).fit(table, y), LassoNetRegressor(**given).fit(csr_array(X), y)
    np.testing.assert_array_equal(model.predict(table), same.predict(csr_array(X)))
    assert (abs(table - before)).nnz == 0
    few = model.transform(table)
    assert sp.issparse(few)
    np.testing.assert_array_equal(few.toarray(), X[:, model.selected_])


def test_entries_in_the_same_place_are_added_up_and_those_of_the_caller_kept(y, X):
    twice = csr_array((np.ones(2 * N), np.tile([0, 0], N), np.arange(0, 2 * N + 1, 2)), shape=(N, D))
    twice.data = np.repeat(X[:, 2], 2)
    given = settings(n_features_to_select=1, n_iters=(5, 5))
    model, same = (LassoNetRegressor(**given).fit(each, y) for each in (twice, csr_array(twice.toarray())))
    np.testing.assert_array_equal(model.predict(twice), same.predict(twice.toarray()))
    assert twice.nnz == 2 * N


def test_no_more_entries_are_written_out_than_a_bound(X, y, monkeypatch):
    bound = 8 * N  # of 30 columns

    def watched(toarray):
        def written(self, *arguments, **keywords):
            assert self.shape[0] * self.shape[1] <= bound
            return toarray(self, *arguments, **keywords)

        return written

    monkeypatch.setattr(sparse, "LARGEST", bound)
    monkeypatch.setattr("riata.estimators.solving._ENTRIES", bound)
    monkeypatch.setattr("riata.preprocess.redundancy._AT_ONCE", 4)
    for kind in (csr_array, csc_array):
        monkeypatch.setattr(kind, "toarray", watched(kind.toarray))
    only = sparse.SparseTable.dense

    def few(self, columns):
        assert self.shape[0] * len(columns) <= bound
        return only(self, columns)

    monkeypatch.setattr(sparse.SparseTable, "dense", few)
    table = csr_array(X)
    model = LassoNetRegressor(**settings(screening="marginal")).fit(table, y)
    model.load(model.path_[0]).predict(table)
    assert model.alternatives_ is not None and model.path_[0].n_selected == D


def test_the_dense_model_is_refitted_on_all_samples_with_noise(X, y, always_sparse):
    model = LassoNetRegressor(**settings(select=0.0)).fit(csr_array(X), y)
    assert model.score(csr_array(X), y) > 0.9
    model = LassoNetRegressor(**settings(n_features_to_select=6)).fit(csr_array(X), y)
    assert model.score(csr_array(X), y) > 0.9


def test_models_of_arrays_predict_from_sparse_tables(X, y):
    model = LassoNetRegressor(**settings(preprocessing="auto", n_iters=(20, 5), path_multiplier=1.5)).fit(X, y)
    assert not model._solved.preprocessing.expansion.trivial
    model.load(model.path_[0])
    np.testing.assert_array_equal(model.predict(csr_array(X)), model.predict(X))
    frame = pd.DataFrame(X).assign(word=np.where(X[:, 0] > 0, "some", "none"))
    model = LassoNetRegressor(**settings(n_iters=(5, 5), path_multiplier=1.5)).fit(
        frame.set_axis(frame.columns.map(str), axis=1), y
    )
    with pytest.raises(TypeError, match="Sparse data was passed, but a model with columns of categories"):
        model.predict(csr_array(np.hstack([X, X[:, :1]])))


def test_auto_is_standard_for_a_sparse_table(X, y):
    auto, standard = (
        LassoNetRegressor(**settings(preprocessing=how, n_iters=(20, 5))).fit(csr_array(X), y)
        for how in ("auto", "standard")
    )
    np.testing.assert_array_equal(auto.predict(X), standard.predict(X))


def test_a_sparse_data_frame_keeps_its_names(X, y):
    names = [f"word {j}" for j in range(D)]
    frame = pd.DataFrame.sparse.from_spmatrix(csr_array(X), columns=names)
    given = settings(n_features_to_select=3, n_iters=(20, 5))
    model = LassoNetRegressor(**given).fit(frame, y)
    assert set(model.get_feature_names_out()) <= set(names)
    np.testing.assert_array_equal(model.predict(frame), LassoNetRegressor(**given).fit(csr_array(X), y).predict(X))


def test_cross_validation_and_stability_selection_are_those_of_the_array(X, y):
    labels = (y > 0).astype(int)
    given = settings(cv=2, n_iters=(20, 5), path_multiplier=1.5)
    models = [LassoNetClassifierCV(**given).fit(each, labels) for each in (X, csr_array(X))]
    pd.testing.assert_frame_equal(*(model.cv_results_ for model in models))
    estimator = LassoNetRegressor(**settings(n_iters=(20, 5), path_multiplier=1.5))
    frame = pd.DataFrame.sparse.from_spmatrix(csr_array(X), columns=[f"x{j}" for j in range(D)])
    selectors = [
        StabilitySelector(estimator, n_resamples=4, n_features=3, threshold=0.7, random_state=0).fit(each, y)
        for each in (X, csr_array(X), frame)
    ]
    for selector in selectors[1:]:
        np.testing.assert_array_equal(selector.frequencies_, selectors[0].frequencies_)
    assert sp.issparse(selectors[1].transform(csr_array(X)))


@pytest.mark.parametrize("kind", ["numbers", "classes", "own"])
def test_permutation_importances_are_those_of_the_array(X, y, kind):
    Estimator = LassoNetClassifier if kind == "classes" else LassoNetRegressor
    target = (y > 0).astype(int) if kind == "classes" else y
    given = settings(n_iters=(20, 5), path_multiplier=1.5, loss="absolute_error" if kind == "own" else None)
    model = Estimator(**given).fit(csr_array(X), target)
    tables = X, csr_array(X), csc_matrix(X)
    found = [permutation_importance(model, each, target, n_repeats=3, random_state=0) for each in tables]
    pd.testing.assert_frame_equal(found[0], found[1], rtol=1e-9)
    pd.testing.assert_frame_equal(found[0], found[2], rtol=1e-9)
    pairs = {"first": [0, 1], "others": list(range(2, D))}
    one, other = (
        permutation_importance(model, each, target, n_repeats=3, feature_groups=pairs, random_state=0)
        for each in tables[:2]
    )
    pd.testing.assert_frame_equal(one, other, rtol=1e-9)
    with pytest.raises(TypeError, match=r"Sparse data was passed.*toarray"):
        holdout_p_values(model, tables[1], target)


def test_what_a_sparse_table_cannot_have_is_refused(X, y):
    table = csr_array(X)
    gaps = table.copy()
    gaps.data[3] = np.nan
    with pytest.raises(ValueError, match=r"Input X contains NaN, and is sparse.*toarray"):
        LassoNetRegressor().fit(gaps, y)
    with pytest.raises(ValueError, match=r"piecewise.*sparse X.*toarray"):
        LassoNetRegressor(preprocessing="piecewise").fit(table, y)
    with pytest.raises(ValueError, match="categorical_features: a sparse X holds numbers only"):
        LassoNetRegressor(categorical_features=[0]).fit(table, y)
    model = LassoNetRegressor(**settings(n_iters=(5, 5), path_multiplier=1.5)).fit(table, y)
    with pytest.raises(ValueError, match="Input X contains NaN, and is sparse"):
        model.predict(gaps)


@pytest.mark.parametrize("estimator", [LassoNetAutoencoder(), LassoNetImputer(), KnockoffSelector(LassoNetRegressor())])
def test_estimators_that_need_all_entries_refuse_a_sparse_table(estimator, X, y):
    with pytest.raises(TypeError, match=r"Sparse data was passed.*toarray"):
        estimator.fit(csr_array(X), y)


def test_curves_and_reports_ask_for_some_samples_with_all_entries(X, y):
    model = LassoNetRegressor(**settings(n_iters=(5, 5), path_multiplier=1.5)).fit(csr_array(X), y)
    for function in (lambda table: effect_curve(model, table, 2), lambda table: model.report(table, y)):
        with pytest.raises(TypeError, match=r"Sparse data was passed.*X\[:500\].toarray"):
            function(csr_array(X))
    assert effect_curve(model, X, 2).prediction.shape[1] == 1
