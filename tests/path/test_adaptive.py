"""The adaptive penalty: penalty weights from where the solver starts, the solution for these, and what they improve."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Lasso

from riata import LassoNetClassifier, LassoNetRegressor
from riata.network.stacked import Weights
from riata.solver.solve import Solver
from riata.solver.stopping import Stopping
from tests.conftest import with_training


def started(problem, norms):
    """Weights whose skip parts are given and whose other parts are nothing."""
    rows = torch.zeros(1, len(norms), problem.network.width, dtype=torch.float64)
    rows[0, :, 0] = torch.tensor(norms)
    return Weights(rows, torch.zeros(1, problem.network.n_upper, dtype=torch.float64))


def test_weak_features_have_larger_penalty_weights_and_those_outside_that_of_an_average_one(make_problem):
    problem = make_problem(np.eye(4), np.ones(4), adaptive=0.5, costs=np.array([1.0, 1.0, 1.0, 3.0]))
    rows = started(problem, [1.0, -4.0, 0.0, 4.0]).rows  # the mean norm of those inside is 3
    lambdas = problem.lambdas(torch.tensor([2.0], dtype=torch.float64), rows)[0]
    np.testing.assert_allclose(lambdas, [2 * 3**0.5, 2 * (3 / 4) ** 0.5, 2, 6 * (3 / 4) ** 0.5])


def test_penalty_weights_do_not_depend_on_the_unit_of_the_weights_and_have_limits(make_problem):
    problem = make_problem(np.eye(3), np.ones(3), adaptive=2.0)
    one = torch.ones(1, dtype=torch.float64)
    found = [problem.lambdas(one, started(problem, np.array([1e-9, 1.0, 2.0]) * unit).rows) for unit in (1, 1e-6)]
    np.testing.assert_allclose(*found)
    assert 1 < float(found[0].max()) < 100


def test_pieces_of_a_feature_have_one_penalty_weight(make_problem):
    problem = make_problem(np.eye(4), np.ones(4), adaptive=0.5, groups=np.array([0, 0, 1, 1]))
    lambdas = problem.lambdas(torch.ones(1, dtype=torch.float64), started(problem, [3.0, 4.0, 0.0, 1.0]).rows)
    np.testing.assert_allclose(lambdas[0], [(3 / 5) ** 0.5, 3**0.5])


@pytest.mark.parametrize("adaptive", [0.5, 1.0])
def test_without_hierarchy_a_point_is_the_lasso_with_these_penalty_weights(diabetes, make_problem, adaptive):
    X, y = diabetes
    problem = make_problem(X, y, M=0.0, hidden=(2,), adaptive=adaptive)
    start = started(problem, np.linspace(0.05, 0.5, 10))
    lambda_ = torch.tensor([0.2], dtype=torch.float64)
    solution = Solver(problem).minimise(start, lambda_, Stopping(20_000, None, 1e-13))
    penalty_weights = problem.lambdas(lambda_, start.rows)[0].numpy() / 0.2
    lasso = Lasso(alpha=0.1, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X / penalty_weights, y)
    np.testing.assert_allclose(solution.weights.rows[0, :, 0], lasso.coef_ / penalty_weights, atol=1e-4)


def test_auto_is_the_penalty_of_the_paper_without_hierarchy_and_adaptive_with_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = X @ np.arange(5) + rng.normal(size=200)
    quick = {
        "hidden_dims": (4,),
        "n_iters": (50, 5),
        "path_multiplier": 1.5,
        "preprocessing": "standard",
        "random_state": 0,
    }
    for M, same in ((0, 0.0), (10, 0.5)):
        auto, given = (LassoNetRegressor(**with_training(M=M, adaptive=a, **quick)).fit(X, y) for a in ("auto", same))
        assert np.array_equal(auto.path_.lambdas, given.path_.lambdas)
        assert np.array_equal(auto.predict(X), given.predict(X))


@pytest.mark.parametrize("wrong", ["lasso", -0.5, 5, True, None])
def test_an_unknown_penalty_is_refused(wrong):
    with pytest.raises(ValueError, match="adaptive"):
        LassoNetRegressor(adaptive=wrong).fit(np.eye(4), np.arange(4))


def test_of_redundant_columns_fewer_are_kept():
    rng = np.random.default_rng(1)
    hidden = rng.normal(size=(600, 8))
    X = np.repeat(hidden, 4, axis=1) + 0.3 * rng.normal(size=(600, 32))  # four noisy copies of each
    y = (hidden @ rng.normal(size=8) > 0).astype(int)
    covered = []
    for adaptive in (0.5, 0.0):
        ranks = [
            np.argsort(-LassoNetClassifier(random_state=s, adaptive=adaptive, refit=False).path(X, y).importances())
            for s in range(3)
        ]
        covered.append(np.mean([len(set(rank[:8] // 4)) for rank in ranks]))
    assert covered[0] >= covered[1]
    assert covered[0] >= 6
