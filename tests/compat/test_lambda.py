"""λ is that of lassonet: its momentum of 0.9 makes it ten times the λ of the problem that is solved."""

from __future__ import annotations

from functools import partial

import lassonet
import numpy as np
import pytest
import torch

from riata.compat import lassonet as compat
from tests.compat.test_estimators import cases

LINEAR = {"M": 0, "val_size": 0, "hidden_dims": (2,), "patience": None, "tol": 1.0}
ADAM = partial(torch.optim.Adam, lr=1e-3)

pytestmark = pytest.mark.filterwarnings("ignore::riata.compat.lassonet.LassoNetDifference")


@pytest.mark.parametrize("case", cases().values(), ids=cases().keys())
def test_at_m_0_the_gradient_of_the_criterion_at_a_selected_feature_or_group_is_a_tenth_of_lambda(case):
    model, X, y = case
    model.set_params(**LINEAR, n_iters=(200, 1000), batch_size=None, dropout=0, path_multiplier=2)
    path = model.path(X, y)
    item = path[2 * len(path) // 3]
    model.load(item)
    model.criterion(model.model(torch.tensor(X, dtype=torch.float32)), model._convert_y(y)).backward()
    gradient = model.model.skip.weight.grad
    for group in model.groups or [[j] for j in range(X.shape[1])]:
        norm = float(gradient[:, group].norm())
        if item.selected[group[0]]:
            assert norm == pytest.approx(item.lambda_ / 10, rel=0.01)  # 1,000 iterations in float32
        else:
            assert norm < item.lambda_ / 10


@pytest.mark.parametrize(
    ("optim", "lambda_"), [(None, 2.0), ((ADAM, partial(torch.optim.SGD, lr=1e-2)), 0.2)], ids=["momentum", "none"]
)
def test_where_lassonet_solves_its_problem_the_weights_are_the_same(optim, lambda_):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5))
    y = X[:, 0] + X[:, 1] ** 2
    weights = []
    for package in (lassonet, compat):
        model = package.LassoNetRegressor(
            **LINEAR, n_iters=(200, 1500), lambda_seq=[lambda_], optim=optim, verbose=0, torch_seed=0
        )
        item = model.path(X, y, return_state_dicts=True, disable_lambda_warning=True)[-1]
        assert item.lambda_ == lambda_
        weights.append(item.state_dict["skip.weight"])
    assert 0 < int((weights[0] != 0).sum()) < 5
    torch.testing.assert_close(*weights, atol=1e-3, rtol=0)  # lassonet takes steps of a fixed size
