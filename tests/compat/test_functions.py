"""Functions and losses return what those of lassonet do, but where they are known to be mistaken."""

from __future__ import annotations

from types import SimpleNamespace

import lassonet
import numpy as np
import pytest
import torch
from lassonet.cox import CoxPHLoss, concordance_index
from lassonet.interfaces import LassoNetIntervalRegressor
from lassonet.utils import confidence_interval, selection_probability
from sklearn.datasets import load_iris

from riata.compat import lassonet as compat
from riata.compat.lassonet import cox, r, utils
from tests.compat.test_estimators import SMALL, interval_data, survival_data


@pytest.mark.parametrize("M", [0.0, 0.5, 10.0])
@pytest.mark.parametrize("lambda_bar", [0.0, 0.3])
def test_the_operator_is_that_of_lassonet(M, lambda_bar):
    v, u = torch.randn(3, 20), torch.randn(7, 20)
    v[:, 0] = 0
    how = {"lambda_": 0.7, "lambda_bar": lambda_bar, "M": M}
    for ours, theirs in zip(compat.prox(v, u, **how), lassonet.prox(v, u, **how), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("groups", [None, [[0, 3], [1], [2, 4]]])
def test_the_network_is_that_of_lassonet(groups):
    theirs, ours = lassonet.LassoNet(5, 4, 3, 2, groups=groups), compat.LassoNet(5, 4, 3, 2, groups=groups)
    ours.load_state_dict(theirs.state_dict())
    X = torch.randn(6, 5)
    for network in (ours, theirs):
        network.prox(lambda_=0.3, M=10)
    torch.testing.assert_close(ours(X), theirs(X))
    for norm in ("l2_regularization", "l1_regularization_skip", "l2_regularization_skip", "input_mask"):
        torch.testing.assert_close(getattr(ours, norm)(), getattr(theirs, norm)())
    assert ours.selected_count() == theirs.selected_count()


def test_lambda_start_is_that_of_lassonet():
    theirs, ours = lassonet.LassoNet(5, 4, 2), compat.LassoNet(5, 4, 2)
    ours.load_state_dict(theirs.state_dict())
    how = {"M": 10, "factor": 10}
    assert ours.lambda_start(**how) == pytest.approx(theirs.lambda_start(**how))


@pytest.mark.parametrize("method", ["breslow", "efron"])
def test_the_partial_likelihood_is_that_of_lassonet_where_events_are_tied(method):
    time, event = survival_data()[1].T
    time = np.ceil(5 * time) + (event == 0) / 2  # no censored time is that of an event
    y = torch.tensor(np.column_stack([time, event]), dtype=torch.float32)
    log_h = torch.randn(len(y))
    torch.testing.assert_close(cox.CoxPHLoss(method)(log_h, y), CoxPHLoss(method)(log_h, y))


@pytest.mark.parametrize("method", ["breslow", "efron"])
def test_a_sample_that_is_censored_at_the_time_of_an_event_is_at_risk_there_whatever_the_order_of_rows(method):
    y, log_h, order = torch.tensor([[1.0, 1.0], [1.0, 0.0], [2.0, 1.0]]), torch.tensor([0.0, 1.0, 2.0]), [1, 0, 2]
    loss = cox.CoxPHLoss(method)(log_h, y)
    assert loss == pytest.approx((torch.logsumexp(log_h, 0) / 2).item())
    assert cox.CoxPHLoss(method)(log_h[order], y[order]) == pytest.approx(loss.item())
    theirs = CoxPHLoss(method)
    assert theirs(log_h, y) != pytest.approx(theirs(log_h[order], y[order]).item())


def test_the_likelihood_of_intervals_is_that_of_lassonet():
    _, y = interval_data()
    y = torch.tensor(y, dtype=torch.float32)
    output = torch.randn(len(y), 1), torch.tensor(0.7)
    ours = compat.LassoNetIntervalRegressor.criterion(output, y)
    torch.testing.assert_close(ours, LassoNetIntervalRegressor.criterion(output, y))


def test_concordance_is_that_of_lassonet_without_ties_and_counts_equal_risks_half():
    rng = np.random.default_rng(0)
    risk, time, event = rng.normal(size=50), rng.exponential(size=50), rng.integers(2, size=50)
    assert cox.concordance_index(risk, time, event) == pytest.approx(concordance_index(risk, time, event))
    constant = np.zeros(50)
    assert cox.concordance_index(constant, time, event) == 0.5 and concordance_index(constant, time, event) == 0


def test_utilities_return_what_those_of_lassonet_do():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4, 5))
    np.testing.assert_allclose(utils.confidence_interval(scores), confidence_interval(scores))
    masks = torch.tensor(np.sort(rng.random((6, 8, 4)), axis=1)[:, ::-1].copy() > 0.3)
    paths = [[SimpleNamespace(selected=step) for step in path[:n]] for n, path in zip(range(3, 9), masks, strict=True)]
    ours, theirs = utils.selection_probability(paths), selection_probability(paths)
    torch.testing.assert_close(ours[0], theirs[0])
    torch.testing.assert_close(ours[1][0], theirs[1].values)


def test_importances_are_those_of_lassonet_for_the_same_path():
    X, y = load_iris(return_X_y=True)
    path = compat.LassoNetClassifier(**SMALL).path(X, y)
    model = compat.LassoNetClassifier(**SMALL)
    model.path(X, y)
    theirs = lassonet.LassoNetClassifier._compute_feature_importances(path)
    torch.testing.assert_close(model.feature_importances_, theirs)


def test_paths_for_r_hold_no_tensors_and_their_items_predict():
    X, y = load_iris(return_X_y=True)
    X.setflags(write=False)  # as arrays from R are
    path = r.lassonet_path(X, y, "classification", **SMALL)
    for item in path:
        values = [*item.values(), *item["state_dict"].values()]
        assert not any(isinstance(value, torch.Tensor) for value in values)
    probability = r.lassonet_eval(X, "classification", path[0]["state_dict"], **SMALL)
    assert (
        probability.argmax(1).tolist()
        == compat.LassoNetClassifier(**SMALL)
        .load({name: torch.tensor(value) for name, value in path[0]["state_dict"].items()})
        .predict(X)
        .tolist()
    )
    with pytest.raises(ValueError, match="task must be one of 'classification', 'regression'; got 'cox'"):
        r.lassonet_eval(X, "cox", {})
