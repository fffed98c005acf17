"""The stated λ is the λ solved for: at M = 0 the model is the lasso, and at M > 0 every point is stationary."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
import torch
from packaging.version import Version
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import Lasso, LogisticRegression, MultiTaskLasso

from riata import LassoNetClassifier, LassoNetRegressor
from riata.network.stacked import Weights
from riata.path.grid import Grid
from riata.path.solve import solve_path
from riata.solver.solve import Solver
from riata.solver.stopping import Stopping
from tests.conftest import gradient_of, standardised, with_training

L1 = {"l1_ratio": 1.0} if Version(sklearn.__version__) >= Version("1.8") else {"penalty": "l1"}
LAMBDAS = (0.01, 0.05, 0.2, 0.5, 0.9)
EXACT = with_training(
    **{
        "random_state": 0,
        "M": 0,
        "hidden_dims": (3,),
        "val_size": 0,
        "dtype": "float64",
        "patience": None,
        "tol": 1e-12,
        "n_iters": (100, 6000),
        "refit": False,
    }
)


def points(model, X, y, lambdas):
    """Coefficients (o, d) of a path that visits the given λ, on the standardised scale."""
    path = model.set_params(lambda_seq=lambdas, select=lambdas[-1], **EXACT).path(X, y)
    assert [p.lambda_ for p in path[1:]] == list(lambdas)[: len(path) - 1]
    for point in path[1:]:
        coef = np.zeros((point.weights.skip.shape[1], X.shape[1]))
        coef[:, point.weights.features] = point.weights.skip.T
        yield point.lambda_, coef


def test_without_hierarchy_one_target_gives_the_lasso(diabetes):
    X, y = diabetes
    for lambda_, coef in points(LassoNetRegressor(), X, y, LAMBDAS):
        lasso = Lasso(alpha=lambda_ / 2, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, y)
        np.testing.assert_allclose(coef[0], lasso.coef_, atol=1e-3)
        assert ((coef[0] != 0) == (lasso.coef_ != 0)).all()


def test_without_hierarchy_two_targets_give_the_multitask_lasso(diabetes):
    X, y = diabetes
    Y = standardised(np.column_stack([y, X[:, 2] * y]))
    for lambda_, coef in points(LassoNetRegressor(), X, Y, LAMBDAS):
        lasso = MultiTaskLasso(alpha=lambda_ / 2, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, Y)
        np.testing.assert_allclose(coef, lasso.coef_, atol=1e-3)


def test_without_hierarchy_two_classes_give_l1_logistic_regression():
    X, y = load_breast_cancer(return_X_y=True)
    X = standardised(X[:, [0, 1, 4, 8, 9, 11, 14, 18]])  # without near copies of one another
    for lambda_, coef in points(LassoNetClassifier(preprocessing=None), X, y, (0.01, 0.03, 0.1, 0.2, 0.3)):
        logistic = LogisticRegression(**L1, C=1 / (len(y) * lambda_), solver="saga", tol=1e-10, max_iter=100_000)
        np.testing.assert_allclose(coef, logistic.fit(X, y).coef_, atol=1e-3)


def test_without_hierarchy_many_classes_meet_the_optimality_conditions_of_the_group_lasso():
    X, y = load_iris(return_X_y=True)
    X = standardised(X)
    model = LassoNetClassifier(preprocessing=None)
    for lambda_, coef in points(model, X, y, (0.01, 0.05, 0.1, 0.2, 0.3)):
        probability = model.at(lambda_=lambda_, refit=False).predict_proba(X)
        gradient = (probability - np.eye(3)[y]).T @ X / len(y)  # (3, d)
        for g, b in zip(gradient.T, coef.T, strict=True):
            if b.any():
                np.testing.assert_allclose(g + lambda_ * b / np.linalg.norm(b), 0, atol=1e-3)
            else:
                assert np.linalg.norm(g) <= lambda_ + 1e-3


@pytest.fixture(scope="module")
def exact_path(diabetes, make_problem):
    """A path at M = 10 in float64, solved until it converged."""
    X, y = diabetes
    problem = make_problem(X[:150, :6], y[:150], M=10.0, hidden=(3,), gamma=0.02)
    solver = Solver(problem)
    start = problem.network.init(6, [1], torch.float64, torch.device("cpu"))
    stopping = Stopping(100_000, None, 1e-8)
    path = solve_path(solver, start, Grid(seq=(0.1, 0.5, 2.0, 4.0)), stopping, stopping)[0]
    return solver, path


def as_weights(solver, point):
    rows = torch.zeros(1, solver.problem.X.shape[1], point.weights.skip.shape[1] + point.weights.first.shape[1])
    rows = rows.to(torch.float64)
    rows[0, point.weights.features] = torch.from_numpy(np.hstack([point.weights.skip, point.weights.first]))
    return Weights(rows, torch.from_numpy(point.weights.upper)[None])


def test_with_hierarchy_the_objective_has_stopped_falling_at_every_point(exact_path):
    solver, path = exact_path
    for point in path:
        further = solver.minimise(
            as_weights(solver, point), torch.tensor([point.lambda_], dtype=torch.float64), Stopping(1000, None, 0.0)
        )
        fall = point.objective - float(further.evaluation.objective[0])
        assert -1e-12 <= fall <= 1e-5 * point.objective


def test_with_hierarchy_dropped_features_satisfy_their_subgradient_bound(exact_path):
    solver, path = exact_path
    problem = solver.problem
    assert path[-1].n_selected < path[0].n_selected
    for point in path[1:]:
        weights = as_weights(solver, point)
        gradient = gradient_of(problem, weights).rows[0]
        bound = problem.skip(gradient).norm(dim=-1) + 10 * problem.first(gradient).abs().sum(-1)
        assert (bound.numpy()[~point.selected] <= point.lambda_ * (1 + 1e-6)).all()
        slack = (problem.first(weights.rows).abs().amax(-1) - 10 * problem.skip(weights.rows).norm(dim=-1))[0]
        assert (slack.numpy()[point.selected] <= 1e-12).all()


@pytest.mark.parametrize(("M", "tolerance"), [(0.0, 1e-5), (10.0, 0.01)])
def test_leaving_dropped_features_out_of_the_arithmetic_changes_nothing(diabetes, make_problem, M, tolerance):
    X, y = diabetes
    problem = make_problem(X, y, M=M, hidden=(4,), gamma=0.01)
    start = problem.network.init(10, [0], torch.float64, torch.device("cpu"))
    stopping = Stopping(4000, None, 1e-9)
    with_it, without = (
        solve_path(Solver(problem, active_set=active), start, Grid(seq=(0.05, 0.2, 0.5, 0.9)), stopping, stopping)[0]
        for active in (True, False)
    )
    for a, b in zip(with_it, without, strict=True):
        assert a.objective == pytest.approx(b.objective, rel=tolerance)
        if M == 0:
            np.testing.assert_array_equal(a.selected, b.selected)


def test_a_dropped_feature_comes_back_when_it_should(make_problem):
    """The signal starts outside the model, where only the check of dropped features can find it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    problem = make_problem(X, 3 * X[:, 0], M=0.0)
    start = problem.network.init(3, [0], torch.float64, torch.device("cpu"))
    start.rows[:, 0] = 0
    solver = Solver(problem)
    lambda_ = torch.tensor([0.1], dtype=torch.float64)
    solution = solver.minimise(solver.feasible(start), lambda_, Stopping(5000, None, 0.0))
    assert problem.selected(solution.weights.rows)[0, 0]
    assert float(solution.weights.rows[0, 0, 0]) == pytest.approx(3.0, abs=0.1)
