"""One fit by several processes: the path of one process on the rows of all, and clear words where a process is missing."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_diabetes

import riata
from riata import RankError, Training
from tests.ranks import work
from tests.ranks.processes import Pair

pytestmark = pytest.mark.xdist_group("ranks")  # one after the other: they share a pair of processes


@pytest.fixture(scope="module")
def pairs():
    found = []
    yield found
    for each in found:
        each.end()


@pytest.fixture
def pair(pairs):
    """Two processes that earlier tests have left alive, or new ones: to start them takes longer than most fits here."""
    if not pairs or not pairs[-1].alive:
        pairs.append(Pair())
    return pairs[-1]


@pytest.mark.parametrize(("case", "share"), [(case, 0.5) for case in work.CASES] + [("numbers", 0.01)])
def test_two_ranks_have_the_path_of_one_process(pair, case, share):
    check_against_one_process(pair, case, share, "cpu")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("case", ["numbers", "given validation", "one batch"])
def test_two_ranks_on_one_gpu_have_the_path_of_one_process(pair, case):
    check_against_one_process(pair, case, 0.5, "cuda")


def check_against_one_process(pair, case, share, device):
    first, second = pair.both(work.fit, case, share, device)
    expected = work.described(work.model_of(case, device=device).fit(**work.CASES[case][1]()))
    # In float64 sums in another order differ by 1e-16 of themselves, and a path of some thousand updates amplifies that.
    np.testing.assert_allclose(first["lambdas"], expected["lambdas"], rtol=1e-9)
    np.testing.assert_array_equal(first["selected"], expected["selected"])
    np.testing.assert_allclose(first["loss"], expected["loss"], rtol=1e-4)
    for mine, other in zip(first["weights"], expected["weights"], strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-6)
    for mine, other in zip(first["val_losses"], expected["val_losses"], strict=True):
        assert (mine is None) == (other is None)
        if mine is not None:
            np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(first["importances"], expected["importances"], rtol=1e-6)
    assert (first["noise"] is None) == (expected["noise"] is None)
    if first["noise"] is not None:
        np.testing.assert_allclose(first["noise"], expected["noise"], rtol=1e-9)
    assert first["categories"] == expected["categories"]
    assert first["point"] == pytest.approx(expected["point"])
    pd.testing.assert_frame_equal(first["alternatives"], expected["alternatives"], rtol=1e-4)
    for name in ("lambdas", "selected", "loss", "weights", "val_losses", "at", "importances", "noise"):
        np.testing.assert_equal(first[name], second[name], err_msg=f"{name} differ between ranks")


def test_each_rank_holds_its_own_rows_and_no_others(pair):
    first, second = pair.both(work.fit, "one batch", 0.5)
    assert first["n_rows"] == second["n_rows"] == 130
    first, second = pair.both(work.fit, "one batch", 0.25)
    assert (first["n_rows"], second["n_rows"]) == (65, 195)


def test_with_mini_batches_all_ranks_make_as_many_updates_and_have_the_same_weights(pair):
    first, second = pair.both(work.in_batches)
    assert (first["n_rows"], second["n_rows"]) == (700, 300)
    np.testing.assert_equal(first["weights"], second["weights"])
    assert first["loss"][0] < 0.1 * first["loss"][-1]  # it has learnt


def test_the_gradients_of_mini_batches_have_the_mean_of_that_of_all_samples(pair):
    first, second = pair.both(work.gradients_of_an_iteration)
    gradients, whole = first
    assert len(gradients) == 10  # of four samples on the first rank, and two on the second
    np.testing.assert_allclose(np.mean(gradients, axis=0), whole, rtol=1e-12, atol=1e-14)
    np.testing.assert_equal(gradients, second[0])


def test_features_that_are_out_are_checked_by_their_gradient_over_the_samples_of_all(pair):
    for below, above in pair.both(work.violations):
        assert below.all()
        assert not above.any()


def test_columns_of_shared_rows_are_those_of_all_ranks_in_order(pair):
    table = np.arange(60).reshape(20, 3).astype(float)
    order = np.random.default_rng(0).permutation(20)
    joint = np.vstack([table[order], table[:5]])
    expected = [
        table,
        table[order][:, [2, 0]],
        table[order][:12][:, 1:],
        table[order > 9][:, 0],
        joint,
        joint[::2][:, [0, 2]],
    ]
    for found in pair.both(work.shared_rows):
        for mine, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize(
    ("case", "says"),
    [
        ("parameters", "M must be the same on all ranks: rank 0 has '10.0', rank 1 has '5.0'"),
        ("columns", "the number of columns of X must be the same on all ranks: rank 0 has 4, rank 1 has 3"),
        ("names", "the names of columns must be the same on all ranks: rank 0 has 'c' at position 2, rank 1 has 'z'"),
        ("dtype", "the type of X must be the same on all ranks: rank 0 has 'float64', rank 1 has 'float32'"),
        ("weights", "whether sample_weight is given must be the same on all ranks: rank 0 has False, rank 1 has True"),
        ("rows", "rank 1: X has no rows: give every rank some"),
        ("target", "rank 1: Input y contains NaN"),
        ("both", "Input y contains NaN"),
        ("sparse", "rank 1: X is sparse, which a fit by several processes does not take: give X.toarray()"),
        ("sparse validation", "X is sparse"),
        ("read block by block", "rank 1: X would be read block by block, which a fit by several processes does not do"),
        ("batches", "a rank has 5 of the 48 samples to train on, fewer than the 24 updates of an iteration"),
    ],
)
def test_what_differs_or_is_missing_on_a_rank_is_an_error_on_all(pair, case, says):
    for kind, text in pair.errors(work.refused, case):
        assert kind == "ValueError"
        assert text.startswith(says), text


def test_a_table_that_is_small_enough_is_read_into_memory(pair):
    for array, table in pair.both(work.held_in_memory):
        np.testing.assert_array_equal(array, table)


def test_all_ranks_begin_again_with_the_same_shorter_steps(pair):
    (texts, weights), (others_texts, others_weights) = pair.both(work.diverging)
    assert any("did not stay finite with learning_rate=10: " in text for text in texts)
    assert texts == others_texts
    np.testing.assert_equal(weights, others_weights)
    assert all(np.isfinite(each).all() for each in weights)


def test_memory_that_is_too_small_for_a_rank_is_an_error_on_all_and_both_can_fit_again(pair):
    before = pair.both(work.in_memory_of, True)
    (kind, text), (other_kind, other_text) = pair.errors(work.in_memory_of, False)
    assert (kind, text.partition(": ")[0]) == ("RankError", "rank 1 ended or did not answer for 2 s")
    assert (other_kind, other_text[:18]) == ("OutOfMemoryError", "CUDA out of memory")
    np.testing.assert_equal(pair.both(work.in_memory_of, True), before)


def test_a_checkpoint_is_refused(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    model = riata.LassoNetRegressor(training=Training(distributed=True), checkpoint=tmp_path / "run")
    with pytest.raises(ValueError, match="a fit by several processes has no checkpoints: leave checkpoint out"):
        model.fit(X, y)
    assert not (tmp_path / "run").exists()


def test_a_rank_that_stops_ends_the_fit_of_the_other_in_the_time_given_and_both_can_fit_again(pair):
    before = pair.both(work.fit, "one batch", 0.5)
    pair.both(work.long, 2.0, 5)
    pair.start(work.long, 2.0, 10**8)
    time.sleep(0.5)
    os.kill(pair.processes[1].pid, signal.SIGSTOP)
    kind, text = pair.answer(0, seconds=20)
    os.kill(pair.processes[1].pid, signal.SIGCONT)
    assert (kind, text.partition(": ")[0]) == ("RankError", "rank 1 ended or did not answer for 2 s")
    kind, text = pair.answer(1, seconds=20)
    assert (kind, text.partition(": ")[0]) == ("RankError", "rank 0 ended or did not answer for 2 s")
    np.testing.assert_equal(pair.both(work.fit, "one batch", 0.5)[0]["weights"], before[0]["weights"])


def test_a_rank_that_is_killed_ends_the_fit_of_the_other_within_a_minute_with_clear_words(pair):
    pair.both(work.long, True, 5)
    pair.start(work.long, True, 10**8)
    time.sleep(0.5)
    assert not pair.pipes[0].poll(0)
    os.kill(pair.processes[1].pid, signal.SIGKILL)
    kind, text = pair.answer(0, seconds=60)
    assert (kind, text.partition(": ")[0]) == ("RankError", "rank 1 ended or did not answer for 30 s")
    assert "Start all ranks again" in text


@pytest.mark.parametrize(
    "name",
    [
        "LassoNetClassifierCV",
        "LassoNetRegressorCV",
        "LassoNetCoxRegressor",
        "LassoNetCoxRegressorCV",
        "LassoNetIntervalRegressor",
        "LassoNetAutoencoder",
        "LassoNetImputer",
    ],
)
def test_estimators_that_one_process_fits_say_so(name):
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match=f"{name} is not fitted by several processes"):
        getattr(riata, name)(training=Training(distributed=True)).fit(X, y)


@pytest.mark.parametrize("name", ["StabilitySelector", "KnockoffSelector"])
def test_selectors_that_make_many_fits_say_so(name):
    X, y = load_diabetes(return_X_y=True)
    inside = riata.LassoNetRegressor(training=Training(distributed=True))
    with pytest.raises(ValueError, match=f"{name} is not fitted by several processes"):
        getattr(riata, name)(inside).fit(X, y)


def test_without_a_process_group_nothing_is_fitted():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(RankError, match="torchrun"):
        riata.LassoNetRegressor(training=Training(distributed=True)).fit(X, y)


def test_a_time_to_wait_must_be_positive():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match="distributed must be a finite number"):
        riata.LassoNetRegressor(training=Training(distributed=-1.0)).fit(X, y)
