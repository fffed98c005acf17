"""Survival models on CUDA. Skipped where there is none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from riata import LassoNetCoxRegressor, LassoNetIntervalRegressor
from riata.losses.cox import PartialLikelihood
from tests.conftest import with_training

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def survival_times(n: int = 400) -> tuple[np.ndarray, pd.DataFrame]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 12))
    time, censored = rng.exponential(np.exp(X[:, 1] - X[:, 0])), rng.exponential(2.0, size=n)
    y = pd.DataFrame({"time": np.minimum(time, censored).round(1) + 0.1, "event": time <= censored})
    late = np.where(rng.random(n) < 0.3, y["time"] / 2, -1.0)
    return X, y.assign(entry=late, strata=rng.integers(0, 3, n))


@pytest.mark.parametrize("ties", ["breslow", "efron"])
@pytest.mark.parametrize("entries", [False, True])
@pytest.mark.parametrize("strata", [False, True])
def test_the_partial_likelihood_is_the_same_on_both_devices(ties, entries, strata):
    rng = np.random.default_rng(0)
    time = rng.integers(1, 40, 300)
    entry = np.where(rng.random(300) < 0.5, 0, time // 2) if entries else np.zeros(300)
    columns = [entry, time, rng.random(300) < 0.6, rng.integers(0, 3, 300) if strata else np.zeros(300)]
    target = torch.from_numpy(np.column_stack(columns).astype(np.float64))
    weights, output = torch.from_numpy(rng.random((4, 300))), torch.from_numpy(rng.normal(size=(4, 300, 1)))
    loss = PartialLikelihood(ties, entries=entries, strata=strata)
    here = loss.on(target, weights)(output)
    there = loss.on(target.cuda(), weights.cuda())(output.cuda())
    for a, b in zip(here, there, strict=True):
        torch.testing.assert_close(b.cpu(), a, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("ties", ["breslow", "efron"])
@pytest.mark.parametrize("batch_size", [None, 64], ids=["full batch", "mini-batches"])
def test_cox_finds_the_same_columns_on_the_device(ties, batch_size):
    X, y = survival_times()
    model = LassoNetCoxRegressor(
        **with_training(
            hidden_dims=(10,), n_features_to_select=2, ties=ties, batch_size=batch_size, device="cuda", random_state=0
        )
    ).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(model.selected_), [0, 1])
    survival = model.predict_survival_function(X[:5], y["strata"][:5], return_array=True)
    assert (np.diff(survival, axis=1) <= 0).all()


def test_the_first_points_of_a_path_are_those_of_the_other_device():
    X, y = survival_times()
    losses = [
        LassoNetCoxRegressor(**with_training(hidden_dims=(10,), dtype="float64", device=device, random_state=0))
        .fit(X, y)
        .path_[0]
        .loss
        for device in ("cpu", "cuda")
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


@pytest.mark.parametrize("batch_size", [None, 64], ids=["full batch", "mini-batches"])
def test_intervals_find_the_same_columns_on_the_device(batch_size):
    X, y = survival_times()
    bounds = np.column_stack([y["time"], np.where(y["event"], y["time"] + 0.1, np.inf)])
    settings = {"hidden_dims": (10,), "n_features_to_select": 2, "random_state": 0}
    here, there = (
        LassoNetIntervalRegressor(**with_training(batch_size=batch_size, device=device, **settings)).fit(X, bounds)
        for device in ("cpu", "cuda")
    )
    np.testing.assert_array_equal(here.selected_, there.selected_)
    assert there.scale_ == pytest.approx(here.scale_, rel=0.2)  # mini-batches differ
