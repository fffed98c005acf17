"""Threads: small work runs on one, so that results do not depend on their number, and the caller's number is restored."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from torch import nn

from riata import LassoNetAutoencoder, LassoNetClassifier, LassoNetImputer, LassoNetRegressor, threads
from riata.network.stacked import Network, Pass
from riata.preprocess import marginal
from tests.conftest import with_training

tables = np.random.default_rng(0)
X = tables.normal(size=(1500, 10))
y = X[:, 0] + X[:, 1] * X[:, 2] + tables.normal(size=1500)
QUICK = {"hidden_dims": (100,), "n_iters": (30, 5), "lambda_seq": (0.1, 1.0), "random_state": 0}


@pytest.fixture(autouse=True, params=[1, 2])
def given(request):
    """Let the caller have one thread or two."""
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.fixture
def used(monkeypatch) -> set[int]:
    """Numbers of threads that passes through networks run on from now on."""
    numbers, forward = set(), Pass.forward

    def noted(self, *given, **named):
        numbers.add(torch.get_num_threads())
        return forward(self, *given, **named)

    monkeypatch.setattr(Pass, "forward", noted)
    return numbers


CLASSES = np.digitize(y, [-1, 1])
FITS = {
    "regressor": lambda: LassoNetRegressor(**with_training(**QUICK, select="best")).fit(X, y),
    "refitted": lambda: LassoNetRegressor(**with_training(**QUICK, refit="warm", select=0.1)).fit(X, y),
    "classifier": lambda: LassoNetClassifier(**with_training(**QUICK, select="best")).fit(X, CLASSES),
    "batches": lambda: LassoNetClassifier(**with_training(**QUICK, select="best", batch_size=100)).fit(X, CLASSES),
    "autoencoder": lambda: LassoNetAutoencoder(**with_training(**QUICK, select="best")).fit(X),
    "imputer": lambda: LassoNetImputer(**with_training(**QUICK)).fit(np.where(X > 1.5, np.nan, X)),
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_a_small_fit_is_on_one_thread_and_restores_their_number(fit, given, used):
    fit()
    assert used == {1}
    assert torch.get_num_threads() == given


def test_a_point_is_refitted_on_one_thread_whoever_asks_for_it(given, used):
    model = LassoNetRegressor(**with_training(**QUICK, select=0.0)).fit(X, y)
    used.clear()
    model.at(lambda_=0.1)
    assert used == {1}
    assert torch.get_num_threads() == given


def test_a_small_prediction_is_on_one_thread_and_restores_their_number(given, used):
    models = (
        LassoNetRegressor(**with_training(**QUICK, select="best")).fit(X, y),
        LassoNetImputer(**with_training(**QUICK)).fit(X),
    )
    used.clear()
    models[0].predict(X)
    models[1].transform(np.where(X > 1.5, np.nan, X))
    assert used == {1}
    assert torch.get_num_threads() == given


def test_a_large_fit_has_all_threads(given, used, monkeypatch):
    monkeypatch.setattr(threads, "_PAYING", 1500 * 0.8 * 10 * 101)
    plain = {**QUICK, "select": 0.0, "preprocessing": "standard"}
    LassoNetRegressor(**with_training(**plain)).fit(X, y)
    assert used == {given}
    used.clear()
    LassoNetRegressor(**with_training(**plain, batch_size=600)).fit(X, y)
    assert used == {1}


def test_columns_are_screened_on_one_thread(monkeypatch):
    numbers, measure = set(), marginal.measure

    def noted(*given):
        numbers.add(torch.get_num_threads())
        return measure(*given)

    monkeypatch.setattr(marginal, "measure", noted)
    LassoNetRegressor(**with_training(**QUICK, select="best")).fit(X, y)
    assert numbers == {1}


def test_importances_are_the_same_to_the_last_bit_for_any_number_of_threads(given):
    """Of a network of two layers, whose sums are long enough to be shared."""
    fitted = LassoNetRegressor((100, 100), **with_training(path_multiplier=1.3, n_iters=(60, 10), random_state=0))
    found = fitted.fit(X, y).feature_importances_
    torch.set_num_threads(3 - given)
    np.testing.assert_array_equal(found, fitted.fit(X, y).feature_importances_)


class Failing(nn.Module):
    def __init__(self, n_inputs, n_outputs):
        super().__init__()
        self.first, self.last, self.n_calls = nn.Linear(n_inputs, 4), nn.Linear(4, n_outputs), 0

    def forward(self, x):
        self.n_calls += 1
        if self.n_calls > 40:
            raise ArithmeticError("no more")
        return self.last(self.first(x).relu())


def test_a_fit_that_fails_restores_the_number_of_threads(given):
    with pytest.raises(ArithmeticError, match="no more"):
        LassoNetRegressor(hidden_dims=Failing, random_state=0).fit(X, y)
    assert torch.get_num_threads() == given


def test_fits_in_several_threads_of_python_leave_each_other_alone(given):
    """The one that ends first must not give the other more than one thread, nor the other leave one for good."""
    inside, leave, numbers = threading.Event(), threading.Event(), []

    def other():
        with threads.one_thread():
            inside.set()
            leave.wait()
            numbers.append(torch.get_num_threads())
        numbers.append(torch.get_num_threads())

    thread = threading.Thread(target=other)
    with threads.one_thread():
        thread.start()
        inside.wait()
    assert torch.get_num_threads() == given
    leave.set()
    thread.join()
    assert numbers == [1, given]
    later = threading.Thread(target=lambda: numbers.append(torch.get_num_threads()))
    later.start()
    later.join()
    assert numbers[-1] == torch.get_num_threads() == given


def test_one_inside_another_changes_nothing(given):
    with threads.one_thread():
        with threads.one_thread():
            pass
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == given


def test_passes_have_several_threads_from_a_number_of_products_on():
    network = Network(2, (98, 10))
    paying = threads._PAYING / (30 * 100 + network.n_upper)
    for n, number in ((int(paying) - 1, 1), (int(paying) + 1, torch.get_num_threads())):
        with threads.worth(n, 30, network):
            assert torch.get_num_threads() == number
