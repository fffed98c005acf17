"""Small problems shared by the tests."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_diabetes

from riata import Training
from riata.losses import Loss, SquaredError
from riata.network.stacked import Network, Weights
from riata.prox import Groups
from riata.solver.descent import Descent
from riata.solver.kernels import bind, plain
from riata.solver.problem import Problem

FORMS = [pytest.param(bind, id="compiled"), pytest.param(lambda state: partial(plain.update, state), id="plain")]


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator for each test: what others draw, and in which order they run, changes nothing."""
    return np.random.default_rng(1)


def with_training(**given: Any) -> dict[str, Any]:
    """Return parameters of an estimator, with those of its training where they belong."""
    inside = {name: given.pop(name) for name in Training().get_params() if name in given}
    return given | ({"training": Training(**inside)} if inside else {})


def given_to(session: Any, frame: Any) -> dict[str, np.ndarray]:
    """Return what a session of onnxruntime takes of a data frame: X, or each column, of float64 or of text."""
    given = {}
    for each in session.get_inputs():
        if each.name == "X":
            return {"X": frame.to_numpy(float)}
        column = frame[each.name]
        text = each.type == "tensor(string)"
        values = column.astype(object).where(column.notna(), "") if text else column.astype(float)
        given[each.name] = values.to_numpy(object if text else float)[:, None]
    return given


def standardised(array: np.ndarray) -> np.ndarray:
    return (array - array.mean(axis=0)) / array.std(axis=0)


def output_of(network: Network, weights: Weights, X: torch.Tensor) -> torch.Tensor:
    """Output (R, n, o) of the networks, layer by layer in operations that autograd knows."""
    o, widths = network.n_outputs, [*network.hidden_dims, network.n_outputs]
    replicas = []
    for rows, upper in zip(*weights, strict=True):
        bias, rest = upper[: widths[0]], upper[widths[0] :]
        h = X @ rows[:, o:] + bias
        for a, b in pairwise(widths):
            matrix, bias, rest = rest[: a * b].reshape(a, b), rest[a * b : (a + 1) * b], rest[(a + 1) * b :]
            h = h.relu() @ matrix + bias
        replicas.append(X @ rows[:, :o] + h)
    return torch.stack(replicas)


def matrices_of(network: Network, upper: torch.Tensor) -> torch.Tensor:
    """Return the entries (R, ·) of the matrices above the first layer, without the biases in between."""
    widths, start, entries = [*network.hidden_dims, network.n_outputs], network.hidden_dims[0], []
    for a, b in pairwise(widths):
        entries.append(upper[:, start : start + a * b])
        start += (a + 1) * b
    return torch.cat(entries, -1)


def start_descent(
    descent: Descent, weights: Weights, lambda_: float | list[float], active: torch.Tensor | None = None
) -> None:
    """Start a new descent, with all features active unless told otherwise."""
    state, R = descent.state, descent.problem.n_replicas
    moments = Weights(*(torch.zeros_like(m) for m in state.moments))
    lambda_ = torch.as_tensor(lambda_, dtype=weights.rows.dtype, device=weights.rows.device).expand(R)
    active = torch.ones_like(state.active) if active is None else active
    lambdas = descent.problem.lambdas(lambda_, weights.rows)
    descent.start(weights, moments, torch.ones_like(state.scale), active, lambdas)


def gradient_of(problem: Problem, weights: Weights) -> Weights:
    """Gradient of the loss by all parameters, as the updates of a descent use it."""
    descent, seen = Descent(problem, 1e-3), []
    start_descent(descent, weights, 0.0)
    descent._update = lambda: seen.append(Weights(*(g.clone() for g in descent.state.gradient)))
    descent.run(1)
    return seen[0]


@pytest.fixture(scope="session")
def diabetes() -> tuple[np.ndarray, np.ndarray]:
    """Diabetes with columns and target of mean 0 and variance 1."""
    X, y = load_diabetes(return_X_y=True)
    return standardised(X), standardised(y)


@pytest.fixture(scope="session")
def make_problem():
    """Build a problem from arrays, in float64 unless told otherwise; weights default to one replica with equal weights."""

    def make(
        X: np.ndarray,
        target: np.ndarray,
        loss: Loss | None = None,
        *,
        M: float | list[float] = 10.0,
        hidden: tuple[int, ...] = (5,),
        weights: np.ndarray | None = None,
        val_weights: np.ndarray | None = None,
        groups: np.ndarray | None = None,
        costs: np.ndarray | None = None,
        dtype: torch.dtype = torch.float64,
        **kwargs: float,
    ) -> Problem:
        target = target.reshape(len(target), -1)
        weights = np.ones((1, len(X))) if weights is None else np.atleast_2d(weights).astype(float)
        return Problem(
            network=Network(target.shape[1], hidden),
            loss=loss or SquaredError(),
            X=torch.tensor(X, dtype=dtype),
            target=torch.tensor(target, dtype=dtype),
            weights=torch.tensor(weights / weights.sum(axis=1, keepdims=True), dtype=dtype),
            val_weights=None if val_weights is None else torch.tensor(val_weights, dtype=dtype),
            M=torch.as_tensor(M, dtype=dtype).expand(len(weights)),
            costs=torch.ones(X.shape[1], dtype=dtype) if costs is None else torch.tensor(costs, dtype=dtype),
            groups=Groups(None if groups is None else torch.tensor(groups), X.shape[1]),
            **kwargs,
        )

    return make
