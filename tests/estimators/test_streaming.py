"""Estimators on tables that are read block by block; small limits make small tables such."""

from __future__ import annotations

import pickle
import threading
import time
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1

import riata
from riata import (
    KnockoffSelector,
    LassoNetAutoencoder,
    LassoNetClassifier,
    LassoNetClassifierCV,
    LassoNetCoxRegressor,
    LassoNetImputer,
    LassoNetRegressor,
    Rows,
    StabilitySelector,
    Training,
)
from riata.estimators.streaming import draw
from riata.sources import limits
from tests.sources.tables import FORMS, OnlySlices, Recorded, as_memmap, as_parquet

HELD = 600
FAST = Training(path_multiplier=1.2, n_iters=(15, 2))


@pytest.fixture
def small(monkeypatch):
    """Tables of ten columns have at most 600 rows in memory."""
    monkeypatch.setattr(limits, "MOST_ROWS", HELD)
    monkeypatch.setattr(limits, "MOST_INPUTS", HELD * 10 * 6)


@pytest.fixture(scope="module")
def friedman():
    """Five features matter, five do not."""
    X, y = make_friedman1(4000, noise=0.5, random_state=0)
    return X.astype(np.float32), y


def regressor(**given):
    return LassoNetRegressor(**({"hidden_dims": (16,), "training": FAST, "random_state": 0} | given))


def feed_of(model):
    """Return the feed that a fitted model was trained with."""
    return model._solved.refit.solver.problem.feed


def equal_paths(one, other):
    return len(one) == len(other) and all(
        np.array_equal(getattr(a.weights, part), getattr(b.weights, part))
        for a, b in zip(one, other, strict=True)
        for part in ("columns", "skip", "first", "upper")
    )


@pytest.mark.parametrize("form", FORMS)
def test_a_table_that_fits_gives_the_model_of_the_array(form, friedman, tmp_path):
    X, y = friedman[0][:300], friedman[1][:300]
    rows = FORMS[form](X, tmp_path)
    model, plain = (regressor(n_features_to_select=5).fit(given, y) for given in (rows, X))
    assert equal_paths(model.path_, plain.path_)
    np.testing.assert_array_equal(model.transform(rows), X[:, plain.selected_])


@pytest.mark.parametrize("form", ["memmap", "zarr", "hdf", "parquet", "slices"])
def test_a_larger_table_is_streamed_from_every_form_to_the_same_model(form, friedman, tmp_path, small):
    X, y = friedman
    rows = FORMS[form](X, tmp_path)
    model = regressor(n_features_to_select=5).fit(rows, y)
    assert feed_of(model) is not None
    assert np.flatnonzero(model.selected_).tolist() == [0, 1, 2, 3, 4]
    assert model.score(rows, y) > 0.8
    if form not in ("zarr", "parquet"):  # their blocks are others, and so is the order
        own = regressor(n_features_to_select=5).fit(Recorded(X), y)
        assert equal_paths(model.path_, own.path_)


def test_the_selection_and_the_score_are_those_of_all_rows_in_memory(friedman, small):
    X, y = friedman
    training = Training(path_multiplier=1.1)  # as many updates, of as many rows
    streamed, plain = (regressor(training=training).fit(given, y[:3000]) for given in (Recorded(X[:3000]), X[:3000]))
    assert streamed.selected_.tolist() == plain.selected_.tolist() == [True] * 5 + [False] * 5
    assert streamed.score(X[3000:], y[3000:]) > plain.score(X[3000:], y[3000:]) - 0.03


def test_training_goes_beyond_the_rows_that_were_drawn(friedman, small):
    """A network that has seen many rows with noise is better than one that has seen few."""
    X, y = friedman
    noisy = y + np.random.default_rng(0).normal(0, 5, len(y))
    rows, target = Recorded(X[:3000]), noisy[:3000]
    how = {"training": Training(n_iters=(60, 5), patience=None, batch_size=256), "n_features_to_select": 5}
    model = regressor(**how).fit(rows, target)
    drawn = draw(rows, target, None, False, 0)
    assert np.isin(feed_of(model).held_out, drawn.positions).all()
    alone = regressor(**how).fit(X[drawn.positions], target[drawn.positions])
    assert model.score(X[3000:], y[3000:]) > alone.score(X[3000:], y[3000:]) + 0.02


def test_a_seed_determines_the_path_however_long_reading_takes(friedman, small):
    X, y = friedman

    class Slow(Recorded):
        def rows(self, start, stop, columns=None):
            time.sleep(0.002 * (start % 50 == 0))
            return super().rows(start, stop, columns)

    one, again, slow = (regressor(n_features_to_select=5).fit(kind(X), y) for kind in (Recorded, Recorded, Slow))
    assert equal_paths(one.path_, again.path_) and equal_paths(one.path_, slow.path_)
    assert equal_paths([one.point_], [slow.point_])
    assert not equal_paths(one.path_, regressor(random_state=1, n_features_to_select=5).fit(Recorded(X), y).path_)
    assert not [thread for thread in threading.enumerate() if thread.name == "riata-feed" and thread.join(5)]


def test_refits_do_not_depend_on_what_was_refitted_before(friedman, small):
    X, y = friedman
    one, other = (regressor(n_features_to_select=2).fit(Recorded(X), y) for _ in range(2))
    one.at(n_features=8), one.at(n_features=3)
    assert equal_paths([one.at(n_features=5).point_], [other.at(n_features=5).point_])


def test_every_row_is_served_once_in_a_round_but_those_that_validate(friedman, small):
    X, y = friedman
    table = np.column_stack([np.arange(len(X)), X[:, 1:]]).astype(np.float64)
    feed = feed_of(regressor(preprocessing=None).fit(Recorded(table), y))
    assert len(feed.held_out) == 0.2 * HELD
    served = [feed.serving(k) for k in range(-(-len(X) // feed.size))]
    rows = np.concatenate([each.X[:, 0] for each in served]).astype(int)
    once = rows[: len(X) - HELD // 5]
    assert sorted(once) == np.setdiff1d(np.arange(len(X)), feed.held_out).tolist()
    assert not np.isin(rows, feed.held_out).any()
    assert np.abs(np.diff(once)).max() > 100  # blocks are not in their order


def test_served_rows_are_prepared_as_those_drawn_were(friedman, small):
    X, y = friedman[0].copy(), friedman[1]
    X[::7, 2] = np.nan
    X[:, 3] = np.exp(5 * X[:, 3])  # heavy-tailed
    X[:, 9] = np.random.default_rng(0).integers(0, 4, len(X))
    model = regressor(categorical_features=[9]).fit(Recorded(X), y)
    feed, learnt = feed_of(model), model._solved.preprocessing
    rows = np.concatenate([np.arange(*here) for here in feed.order.ranges(0, feed.size)])
    rows = rows[~np.isin(rows, feed.held_out)]
    served = feed.serving(0)
    np.testing.assert_array_equal(served.X, learnt.inputs(np.asarray(learnt.encode(X[rows])), "float32"))
    scaled = model._solved.target_scaling.apply(y[rows, None], np.float64)
    np.testing.assert_allclose(served.target, scaled, rtol=1e-6)
    few = np.flatnonzero(np.isin(learnt.expansion.source, [2, 9]))
    np.testing.assert_array_equal(feed.only(few).serving(0).X, served.X[:, few])


def test_columns_that_are_out_are_no_longer_read(friedman, small):
    X, y = friedman
    rows = Recorded(X)
    model = regressor(n_features_to_select=5).fit(rows, y)
    n_read = [len(columns) for _, _, columns in rows.asked]
    assert n_read[0] == 10 and min(n_read) <= 5
    assert rows.asked[-1][2].tolist() == np.flatnonzero(model.selected_).tolist()  # for the refit
    rows.asked.clear()
    model.predict(rows), model.transform(rows)
    assert {tuple(columns) for _, _, columns in rows.asked} == {tuple(np.flatnonzero(model.selected_))}


@pytest.mark.parametrize("names", [None, [f"x{j}" for j in range(10)]])
def test_predictions_in_blocks_are_those_of_the_array(names, friedman, small, monkeypatch):
    monkeypatch.setattr("riata.sources.one_pass._ENTRIES", 3000)
    X, y = friedman
    rows, array = Recorded(X, names=names), X if names is None else pd.DataFrame(X, columns=names)
    model = regressor().fit(rows, y)
    np.testing.assert_allclose(model.predict(rows), model.predict(array), rtol=1e-10)
    assert model.score(rows, y) == pytest.approx(model.score(array, y), rel=1e-10)
    np.testing.assert_array_equal(model.transform(rows), np.asarray(model.transform(array)))
    if names is not None:
        assert model.get_feature_names_out().tolist() == list(np.array(names)[model.selected_])
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(Recorded(X, names=names[::-1]))


def test_classes_with_their_weights_and_probabilities(friedman, small):
    X, y = friedman
    labels = np.where(y > np.quantile(y, 0.9), "high", "low")
    how = {"hidden_dims": (16,), "training": FAST, "random_state": 0, "class_weight": "balanced"}
    model = LassoNetClassifier(**how).fit(Recorded(X), labels)
    feed = feed_of(model)
    served = [feed.serving(k) for k in range(3000 // feed.size)]
    weights, high = (np.concatenate([getattr(each, name).ravel() for each in served]) for name in ("weights", "target"))
    assert weights.mean() == pytest.approx(1, abs=0.05)
    assert weights[high == 0].mean() / weights[high == 1].mean() == pytest.approx(9, rel=0.3)  # 0 is "high"
    assert model.score(Recorded(X), labels) > 0.85
    np.testing.assert_allclose(model.predict_proba(Recorded(X)), model.predict_proba(X), rtol=1e-10)


def test_several_columns_and_labels_of_a_target(friedman, small):
    X, y = friedman
    both = np.column_stack([y, -y])
    model = regressor().fit(Recorded(X), both)
    assert model.predict(Recorded(X)).shape == both.shape
    labels = (both > both.mean(axis=0)).astype(int)
    model = LassoNetClassifier((16,), training=FAST, random_state=0).fit(Recorded(X), labels)
    assert model.score(Recorded(X), labels) > 0.7


def test_rows_of_weight_zero_are_never_trained_on(friedman, small):
    X, y = friedman[0], friedman[1].copy()
    weights = np.where(np.arange(len(y)) % 3, 2.0, 0.0)
    y[weights == 0] = 1e6
    model = regressor().fit(Recorded(X), y, weights)
    used = weights > 0
    assert model.score(X[used], y[used]) > 0.7
    assert all((feed_of(model).serving(k).weights == 1).all() for k in range(5))


def test_weights_count_as_they_do_in_memory(friedman, small):
    """With weights that follow a feature, the mean prediction is that of the heavy rows."""
    X, y = friedman
    weights = np.where(X[:, 9] > 0.5, 9.0, 1.0)
    y = y + 5 * (X[:, 9] > 0.5)
    kept = np.delete(X, 9, axis=1)
    means = [regressor().fit(Recorded(kept), y, w).predict(kept).mean() for w in (None, weights)]
    assert means[1] - means[0] == pytest.approx(5 * (0.9 - 0.5), abs=0.4)


def test_validation_rows_of_ones_own(friedman, small):
    X, y = friedman
    model = regressor().fit(Recorded(X[:3000]), y[:3000], X_val=X[3000:], y_val=y[3000:])
    assert len(feed_of(model).held_out) == 0 and model.score(X[3000:], y[3000:]) > 0.8
    with pytest.warns(UserWarning, match="without validation rows"):
        model = regressor(val_size=0).fit(Recorded(X), y)
    assert len(feed_of(model).held_out) == 0


def test_a_model_is_stored_pickled_and_reported_as_others_are(friedman, small, tmp_path):
    X, y = friedman
    model = regressor().fit(Recorded(X), y)
    model.save(tmp_path / "m.riata")
    for copy in (riata.load(tmp_path / "m.riata"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    assert len(model.path_.to_frame()) == len(model.path_)
    model.report(X[:200], y[:200]).save(tmp_path / "report.html")
    assert len(model.alternatives_.columns) and len(model.feature_importances_) == 10


def test_parquet_with_its_target_by_name(friedman, small, tmp_path):
    X, y = friedman
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(10)]).assign(y=y)
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=500)
    rows = riata.open_rows(tmp_path / "t.parquet", target="y")
    model = regressor(n_features_to_select=5).fit(rows, rows.target)
    assert model.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3", "x4"]


def test_what_is_learnt_from_the_rows_drawn_is_near_what_all_rows_say(small, rng):
    """Ranks of knots are off by no more than √(ln(2/δ) / 2m), Dvoretzky, Kiefer and Wolfowitz; δ = 1e-6 for 30 of them."""
    X = rng.gamma(2.0, size=(20_000, 10))
    model = regressor().fit(Recorded(X), X[:, 0] + rng.normal(size=len(X)))
    learnt, m = model._solved.preprocessing, 0.8 * HELD
    bound = np.sqrt(np.log(2 / 1e-6) / (2 * m))
    expansion = learnt.expansion
    for j in range(10):
        low = expansion.low[expansion.source == j]
        inner = low[1:]
        ranks = np.mean(X[:, j, None] < inner, axis=0)
        expected = np.arange(1, len(low)) / len(low)
        assert len(inner) and (np.abs(ranks - expected) < bound).all()


class Endless(Rows):
    """Numbers that are nowhere until they are asked for, of one byte each."""

    def rows(self, start, stop, columns=None):
        block = (np.arange(start, stop, dtype=np.uint32)[:, None] * np.arange(7, 27, 2, dtype=np.uint32)) >> 3
        block = (block % 97).astype(np.uint8)
        return block if columns is None else block[:, columns]


def test_nothing_of_the_size_of_the_table_is_ever_in_memory(small, monkeypatch):
    monkeypatch.setattr("riata.sources.one_pass._ENTRIES", 2**14)
    monkeypatch.setattr("riata.estimators.streaming._BLOCKS", 2)  # those of larger tables are not of one row either
    rows = Endless((400_000, 10))  # 16 MB in single precision
    y = np.concatenate([rows.rows(a, a + 1000)[:, 3] for a in range(0, 400_000, 1000)]).astype(np.float32)
    regressor().fit(Endless((2000, 10)), y[:2000])  # compiles
    tracemalloc.start()
    model = regressor().fit(rows, y)
    predicted = model.predict(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert model.selected_[3] and np.corrcoef(predicted, y)[0, 1] > 0.9
    assert peak < 12e6  # the prediction and the parts that it is joined from take 6.4 MB


# ---- refusals, each with what to do


def test_bad_numbers_in_rows_that_were_not_drawn_are_refused(friedman, small):
    X, y = friedman[0].copy(), friedman[1].copy()
    X[1234, 4] = np.inf
    with pytest.raises(ValueError, match="contains infinity: between rows 0 and 4,000, in column 4"):
        regressor().fit(Recorded(X), y)
    X[1234, 4] = np.nan
    with pytest.raises(ValueError, match=r"contains NaN.*in column 4"):
        regressor(missing="error").fit(Recorded(X), y)
    regressor().fit(Recorded(X), y)
    for bad in (np.nan, np.inf):
        y[1234] = bad
        with pytest.raises(ValueError, match=r"y contains (NaN|infinity)"):
            regressor().fit(Recorded(friedman[0]), y)


def test_what_the_rows_drawn_do_not_show_of_the_target_is_refused(friedman, small):
    X, y = friedman
    labels = np.where(y > y.mean(), "a", "b")
    drawn = draw(Recorded(X), labels, None, False, 0).positions
    labels[np.setdiff1d(np.arange(len(y)), drawn)[0]] = "c"
    with pytest.raises(
        ValueError, match=r"class 'c' is in none of the 600 rows.*out of 4,000: drop or merge rare classes"
    ):
        LassoNetClassifier((16,), training=FAST, random_state=0).fit(Recorded(X), labels)
    counts = np.ones(len(y))
    counts[np.setdiff1d(np.arange(len(y)), drawn)[0]] = -1
    with pytest.raises(ValueError, match="-1"):
        regressor(loss="poisson").fit(Recorded(X), counts)


def test_what_cannot_be_streamed_is_refused_before_anything_is_trained(friedman, small, tmp_path):
    X, y = friedman
    rows, times = OnlySlices(X), np.column_stack([np.abs(y) + 1, np.ones(len(y))])
    named = (
        (LassoNetClassifierCV(), y > 14),
        (LassoNetCoxRegressor(), times),
        (LassoNetAutoencoder(), None),
        (LassoNetImputer(), None),
        (StabilitySelector(regressor()), y),
        (KnockoffSelector(regressor()), y),
    )
    for model, target in named:
        with pytest.raises(ValueError, match=f"{type(model).__name__} needs all rows in memory, and X has 4,000 of 10"):
            model.fit(rows, target)
    with pytest.raises(ValueError, match=r"batch_size=None takes all rows.*give a number"):
        regressor(training=Training(batch_size=None)).fit(rows, y)
    with pytest.raises(ValueError, match="y is needed to fit"):
        regressor().fit(rows, None)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        regressor().fit(rows, y[:-1])
    with pytest.raises(ValueError, match="must hold real numbers"):
        regressor().fit(OnlySlices(X.astype(str)), y)


def test_an_error_while_reading_leaves_an_estimator_that_is_not_fitted(friedman, small):
    X, y = friedman

    class Broken(Recorded):
        def rows(self, start, stop, columns=None):
            if len(self.asked) > 50:
                raise OSError("the disk is gone")
            return super().rows(start, stop, columns)

    model = regressor()
    with pytest.raises(OSError, match="the disk is gone"):
        model.fit(Broken(X), y)
    assert not hasattr(model, "path_")


def test_mapped_files_stay_arrays_for_estimators_that_do_not_stream(friedman, small, tmp_path):
    X = friedman[0][:800]
    how = {"hidden_dims": (4,), "training": FAST, "random_state": 0}
    mapped, plain = (LassoNetAutoencoder(**how).fit(given) for given in (as_memmap(X, tmp_path), X))
    assert equal_paths(mapped.path_, plain.path_)


def test_importances_of_a_table_that_fits_and_refusal_of_a_larger_one(friedman, small, tmp_path):
    X, y = friedman
    model = regressor().fit(Recorded(X), y)
    (tmp_path / "few").mkdir()
    found = riata.permutation_importance(regressor().fit(X[:500], y[:500]), OnlySlices(X[500:900]), y[500:900])
    assert len(found) == 10
    with pytest.raises(ValueError, match="permutation_importance needs all rows in memory"):
        riata.permutation_importance(model, as_parquet(X, tmp_path / "few"), y)
