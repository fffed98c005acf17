"""What the ranks of the tests do, and what one process does on all rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.sparse import csr_array
from sklearn.datasets import make_classification, make_regression

from riata import LassoNetClassifier, LassoNetRegressor, Training
from riata.losses import SquaredError
from riata.network.stacked import Network, Weights
from riata.prox import Groups
from riata.ranks import SharedRows, join
from riata.solver.descent import Descent
from riata.solver.problem import Problem
from riata.solver.solve import Solver

FULL = {"batch_size": None, "dtype": "float64", "path_multiplier": 1.1, "device": "cpu"}


def numbers() -> dict[str, Any]:
    """A regression with a category, gaps and a nonlinear column."""
    X, y = make_regression(300, 8, n_informative=3, noise=5, random_state=0)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    frame["town"] = rng.choice(["Oslo", "Rome", "Bern"], 300, p=[0.6, 0.3, 0.1])
    y = y + 30 * (frame["town"] == "Rome").to_numpy() + 20 * frame["g"].abs().to_numpy()
    frame.loc[rng.random(300) < 0.1, "h"] = np.nan
    return {"X": frame, "y": y}


def classes() -> dict[str, Any]:
    """Three classes under names, and weights, some of them zero."""
    X, y = make_classification(240, 10, n_informative=4, n_classes=3, random_state=1)
    weights = np.random.default_rng(1).integers(0, 3, 240).astype(float)
    return {"X": X, "y": np.array(["low", "middle", "high"])[y], "sample_weight": weights}


def held_out() -> dict[str, Any]:
    """Samples to validate on that are given."""
    X, y = make_regression(260, 6, n_informative=3, noise=5, random_state=2)
    return {"X": X[:200], "y": y[:200], "X_val": X[200:], "y_val": y[200:]}


SOLVED = {"n_iters": 100, "patience": None, "tol": 1e-7}
CASES: dict[str, tuple[Any, Any, dict[str, Any], dict[str, Any]]] = {
    # name: estimator, data, parameters, training
    "numbers": (LassoNetRegressor, numbers, {}, {}),
    "classes": (LassoNetClassifier, classes, {"class_weight": "balanced", "select": "best"}, {}),
    "given validation": (LassoNetRegressor, held_out, {}, {}),
    "without validation": (LassoNetRegressor, numbers, {"val_size": 0.0, "n_features_to_select": 3}, {}),
    # Solved far enough for features that are out to be checked.
    "lasso of groups": (
        LassoNetRegressor,
        held_out,
        {"M": 0.0, "feature_groups": [0, 0, 1, 2, 3, 3], "lambda_seq": (0.1, 0.3, 0.6)},
        SOLVED,
    ),
    # One batch of all samples: the updates of mini-batches, in the order of which nothing depends.
    "one batch": (
        LassoNetRegressor,
        held_out,
        {"lambda_seq": (0.01, 0.1, 1.0)},
        {"batch_size": 1000, "n_iters": (50, 5)},
    ),
}


def part(rank: int, data: dict[str, Any], share: float) -> dict[str, Any]:
    """Return the rows of a rank: the first ``share`` of them, or the rest."""
    cut = {name: round(share * len(value)) for name, value in data.items()}
    return {name: value[: cut[name]] if rank == 0 else value[cut[name] :] for name, value in data.items()}


def model_of(case: str, **training: Any) -> Any:
    estimator, _, parameters, given = CASES[case]
    return estimator(hidden_dims=(6,), random_state=0, training=Training(**FULL | given | training), **parameters)


def fit(rank: int, case: str, share: float, device: str = "cpu") -> dict[str, Any]:
    """Fit with a rank's own rows; return what the path is, and how many rows the rank held."""
    data = CASES[case][1]()
    model = model_of(case, distributed=True, device=device)
    model.fit(**part(rank, data, share))
    return described(model)


def described(model: Any) -> dict[str, Any]:
    path, refit = model.path_, model._solved.refit
    return {
        "noise": None if refit.all_weights is None else refit._on_all_samples(path[0]).noise.cpu().numpy(),
        "n_rows": len(refit.solver.problem.X),
        "lambdas": path.lambdas,
        "selected": path.selected,
        "loss": np.array([point.loss for point in path]),
        "val_losses": [point.val_losses for point in path],
        "weights": [np.concatenate([p.weights.skip.ravel(), p.weights.first.ravel(), p.weights.upper]) for p in path],
        "point": (model.lambda_, model.n_selected_),
        "at": np.concatenate(
            [part.ravel() for part in vars(model.at(lambda_=path.lambdas[-2]).point_.weights).values()]
        ),
        "importances": model.feature_importances_,
        "alternatives": model.alternatives_,
        "categories": repr(model._categories and {j: c.codes for j, c in model._categories.columns.items()}),
    }


def in_batches(rank: int) -> dict[str, Any]:
    """Fit with mini-batches, more rows on one rank than on the other."""
    X, y = make_regression(1000, 8, n_informative=3, noise=5, random_state=0)
    training = Training(batch_size=128, distributed=True, device="cpu", n_iters=(30, 3), dropout=0.1)
    model = LassoNetRegressor((8,), lambda_seq=(0.01, 0.1, 1.0, 10.0), random_state=0, training=training, refit=False)
    return described(model.fit(**part(rank, {"X": X, "y": y}, 0.7)))


def problems(rank: int) -> tuple[Problem, Problem]:
    """Return a small problem whose samples two ranks share, and the same problem with all of them here."""
    rng = np.random.default_rng(0)
    X, target = torch.from_numpy(rng.normal(size=(60, 4))), torch.from_numpy(rng.normal(size=(60, 1)))
    mine, weights, ones = slice(0, 40) if rank == 0 else slice(40, 60), X.new_full((1, 60), 1 / 60), X.new_ones(4)
    whole = Problem(Network(1, (3,)), SquaredError(), X, target, weights, None, ones[:1], ones, Groups(None, 4))
    own = replace(whole, X=X[mine], target=target[mine], weights=weights[:, mine].contiguous(), ranks=join())
    return own, whole


def started(problem: Problem, batch_size: int | None = None) -> Descent:
    """Return a descent at weights that are always the same."""
    descent = Descent(problem, 1e-3, batch_size, torch.Generator().manual_seed(0))
    state, weights = descent.state, problem.network.init(4, [0], torch.float64, torch.device("cpu"))
    zeros = Weights(*(torch.zeros_like(part) for part in state.moments))
    descent.start(weights, zeros, state.scale, torch.ones_like(state.active), torch.zeros_like(state.lambdas))
    return descent


def gradients_of_an_iteration(rank: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the gradients of the mini-batches of one iteration at fixed weights, and that of all samples."""
    gradients = []
    for problem, size in zip(problems(rank), (6, None), strict=True):
        descent, seen = started(problem, size), []
        descent._update = lambda of=descent.state.gradient, seen=seen: seen.append(
            np.concatenate([part.numpy().ravel() for part in of])
        )
        descent.run(1)
        gradients.append(seen)
    return gradients[0], gradients[1][0]


def violations(rank: int) -> list[np.ndarray]:
    """Return which features that are out violate their bound, at λ below and above that of all samples."""
    own, whole = problems(rank)
    outside = torch.zeros(1, 4, dtype=torch.bool)
    ((_, product_gradient),) = started(whole).product_gradients()
    gradient = whole.X.mT @ product_gradient
    bound = whole.skip(gradient).norm(dim=-1) + whole.first(gradient).abs().sum(-1)
    return [Solver(own)._violations(started(own), outside, share * bound).numpy() for share in (0.9, 1.1)]


def shared_rows(rank: int) -> list[np.ndarray]:
    """Return columns of tables of shared rows, in several orders."""
    table = np.arange(60).reshape(20, 3).astype(float)
    rows = SharedRows(table[:7] if rank == 0 else table[7:], join())
    order = np.random.default_rng(0).permutation(20)
    more = SharedRows(table[:2] if rank == 0 else table[2:5], join())
    return [
        rows[:, :],
        rows[order][:, [2, 0]],
        rows[order][:12][:, 1:],
        rows[order > 9][:, 0],
        rows[order].above(more)[:, :],
        rows[order].above(more)[::2][:, np.array([True, False, True])],
    ]


# ---- what is refused -------------------------------------------------------------------------------------------------


OTHER: dict[str, Callable[[pd.DataFrame], Any]] = {  # what the second rank has in place of its table
    "columns": lambda table: table[["a", "b", "c"]],
    "names": lambda table: table.rename(columns={"c": "z"}),
    "dtype": lambda table: table.astype(np.float32),
    "sparse": lambda table: csr_array(table.to_numpy()),
    "read block by block": lambda table: Memory(table.to_numpy(), 2**28),
}


def refused(rank: int, case: str) -> None:
    X, y = make_regression(60, 4, random_state=0)
    given: dict[str, Any] = {}
    frame = pd.DataFrame(X, columns=list("abcd"))
    here, other = slice(0, 30), slice(30, 60)
    rows, second = (here if rank == 0 else other), rank == 1
    M, fitted = 10.0, frame.iloc[rows]
    weights = None
    y = y[rows].copy()
    if case == "parameters" and second:
        M = 5.0
    if second:
        fitted = OTHER.get(case, lambda table: table)(fitted)
    if case == "weights" and second:
        weights = np.ones(30)
    if case == "rows" and second:
        fitted, y = fitted.iloc[:0], y[:0]
    if case == "target" and second:
        y[3] = np.nan
    if case == "both":
        y = y * np.nan
    batch = 2 if case == "batches" else None
    if case == "batches":
        fitted, y = (frame.iloc[:55], np.arange(55.0)) if rank == 0 else (frame.iloc[55:], np.arange(5.0))
    training = Training(distributed=True, device="cpu", batch_size=batch)
    if case == "sparse validation":
        given = {"X_val": csr_array(frame.to_numpy()), "y_val": y}
    LassoNetRegressor((4,), M=M, training=training, random_state=0).fit(fitted, y, weights, **given)


class Memory:
    """A table of which rows can be read, and nothing else."""

    def __init__(self, table: np.ndarray, n_rows: int | None = None):
        self._table, self.shape, self.dtype = table, (n_rows or len(table), table.shape[1]), table.dtype

    def __getitem__(self, rows: Any) -> np.ndarray:
        return self._table[rows]


def held_in_memory(rank: int) -> list[np.ndarray]:
    """Fit with an array, and with the same rows from a table that is small enough to be read at once."""
    data = part(rank, held_out(), 0.5)
    tables = data["X"], Memory(data["X"])
    return [described(model_of("one batch", distributed=True).fit(**data | {"X": X}))["at"] for X in tables]


# ---- faults ----------------------------------------------------------------------------------------------------------


def steep(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """A loss that overflows a few units from its minimum."""
    return torch.exp((output - target).abs() * 8)


def diverging(rank: int) -> tuple[list[str], list[np.ndarray]]:
    """Fit with steps that are too long; return what is said, and the weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    y = X[:, 0] - X[:, 1] + np.abs(X[:, 2])
    training = Training(
        batch_size=30, learning_rate=10, n_iters=(10, 3), path_multiplier=1.5, device="cpu", distributed=True
    )
    model = LassoNetRegressor((5,), loss=steep, training=training, select="best", random_state=0)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        weights = described(model.fit(**part(rank, {"X": X, "y": y}, 0.7)))["weights"]
    return [str(each.message) for each in found], weights


def in_memory_of(rank: int, enough: bool) -> list[np.ndarray]:
    """Fit where the memory of the second rank is enough, or too small; return the weights."""
    passes = Network.passes

    def limited(self: Any, *arguments: Any, **more: Any) -> Any:
        if rank == 1 and not enough:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
        return passes(self, *arguments, **more)

    Network.passes = limited
    try:
        return described(model_of("one batch", distributed=2.0).fit(**part(rank, held_out(), 0.5)))["weights"]
    finally:
        Network.passes = passes


def long(rank: int, seconds: float | bool, n_iters: int) -> None:
    """Fit for so many iterations at each λ, and leave nothing behind where that fails."""
    X, y = make_regression(400, 30, noise=10, random_state=rank)
    training = Training(distributed=seconds, n_iters=n_iters, patience=None, tol=0.0, **FULL)
    model = LassoNetRegressor((20,), training=training, lambda_seq=(0.1,), random_state=0)
    try:
        model.fit(X, y)
    except Exception:
        assert not hasattr(model, "point_") and not hasattr(model, "path_")
        raise
