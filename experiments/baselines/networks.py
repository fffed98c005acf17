"""Networks: riata, its special case the lasso, the reference package, and Deep Lasso."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from experiments.baselines.task import Task, by
from experiments.protocol import widths
from riata import LassoNetClassifier, LassoNetRegressor, Training
from riata.path import selection

# The lasso, each point of its path solved.
LASSO: dict[str, Any] = {
    "M": 0.0,
    "training": Training(path_multiplier=1.05, n_iters=(1000, 200), patience=(50, None)),
}

_WIDEST = 300  # hidden units; the paper's data sets have up to 784 features

_Batch = tuple[Tensor, Tensor]  # inputs and targets
_DEEP_PENALTIES = (0.5, 0.1, 0.02)  # μ of Deep Lasso; the authors try 0.01 to 0.5
_DEEP_WIDTH = 100
_DEEP_UPDATES, _DEEP_BATCH, _DEEP_EVALUATE = 2_000, 256, 100
_DEEP_EPSILON = 1e-8


def riata(task: Task) -> NDArray[np.int64]:
    """Rank by when features leave the path of a network with d/3 hidden units, at most 300; all else by default."""
    return by(_fit(task, min(widths(task.d)[0], _WIDEST)).path_.importances())


def riata_widths(task: Task) -> NDArray[np.int64]:
    """Choose among d/3, 2d/3, d and 4d/3 hidden units by the validation loss with at most k features."""
    models = [_fit(task, width) for width in widths(task.d)]
    best = min(models, key=lambda model: model.path_[selection.at_most(model.path_, task.k)].val_loss)
    return by(best.path_.importances())


def lasso(task: Task) -> NDArray[np.int64]:
    """Rank by when features leave the path of the (multinomial, grouped by feature) lasso."""
    return by(_fit(task, 1, **LASSO).path_.importances())


def reference(task: Task) -> NDArray[np.int64]:
    """Rank by the package lassonet with d/3 hidden units, full batches and its defaults."""
    model = reference_path(task, (widths(task.d)[0],))
    return by(np.asarray(model.feature_importances_, dtype=np.float64))


def reference_path(task: Task, hidden_dims: tuple[int, ...], *, keep: bool = False) -> Any:
    """Return the package's model with its path, and the weights of every point where they are to be kept."""
    from lassonet import LassoNetClassifier as Classifier
    from lassonet import LassoNetRegressor as Regressor

    model = (Regressor if task.regression else Classifier)(
        hidden_dims=hidden_dims,
        path_multiplier=1.02,
        random_state=task.seed,
        torch_seed=task.seed,
        device=device(),
        verbose=0,
    )
    dtype = np.float32 if task.regression else np.int64
    y, y_val = (None if y is None else y.astype(dtype) for y in (task.y, task.y_val))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.path(task.X, y, X_val=task.X_val, y_val=y_val, disable_lambda_warning=True, return_state_dicts=keep)
    return model


def deep_lasso(task: Task) -> NDArray[np.float64]:
    """Return the norm of the loss's gradient by each feature, in a network trained to keep these small.

    Deep Lasso (Cherepanova et al., 2023) minimises L(θ) + μ Σ_j ‖∂L / ∂X_j‖₂ over batches, where X_j is the batch's column j.
    A feature's importance is ‖∂L / ∂X_j‖₂ over the training samples. The authors tune μ and the network in 100 trials; here
    the network has two hidden layers of 100 units, and μ is the one of three with the lowest loss on held-out samples.
    """
    fit, held_out = _parts(task)
    trained = [_deep_lasso(fit, held_out, penalty, task.seed) for penalty in _DEEP_PENALTIES]
    _, network = min(trained, key=lambda pair: pair[0])
    _, gradient = _loss_and_gradient(network, *fit)
    return gradient.detach().norm(dim=0).numpy().astype(np.float64)  # (d,)


def _parts(task: Task) -> tuple[_Batch, _Batch]:
    """Return the samples to train and to validate on; a tenth is held out where none are given."""
    X, y = torch.from_numpy(np.ascontiguousarray(task.X, dtype=np.float32)), torch.from_numpy(_target(task.y, task.y))
    if task.X_val is not None and task.y_val is not None:
        X_val = torch.from_numpy(np.ascontiguousarray(task.X_val, dtype=np.float32))
        return (X, y), (X_val, torch.from_numpy(_target(task.y_val, task.y)))
    order = torch.from_numpy(np.random.default_rng(task.seed).permutation(len(X)))
    val, fit = order[: len(X) // 10], order[len(X) // 10 :]
    return (X[fit], y[fit]), (X[val], y[val])


def _target(y: NDArray, training: NDArray) -> NDArray:
    """Return numbers on the scale of the training samples, or codes of their classes."""
    if training.dtype.kind == "f":
        return ((y - training.mean()) / training.std()).astype(np.float32)
    return np.searchsorted(np.unique(training), y)


def _deep_lasso(fit: _Batch, held_out: _Batch, penalty: float, seed: int) -> tuple[float, torch.nn.Module]:
    """Train with one μ; return the lowest loss on held-out samples, and the network that had it."""
    X, y = fit
    n_outputs = 1 if y.is_floating_point() else int(y.max()) + 1
    torch.manual_seed(seed)
    layers = torch.nn.Linear(X.shape[1], _DEEP_WIDTH), torch.nn.Linear(_DEEP_WIDTH, _DEEP_WIDTH)
    relu = torch.nn.ReLU
    network = torch.nn.Sequential(layers[0], relu(), layers[1], relu(), torch.nn.Linear(_DEEP_WIDTH, n_outputs))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    lowest, best = float("inf"), copy.deepcopy(network)
    for update in range(1, _DEEP_UPDATES + 1):
        batch = torch.randint(len(X), (_DEEP_BATCH,))
        loss, gradient = _loss_and_gradient(network, X[batch], y[batch])
        # The small number keeps the norm differentiable where a gradient is 0.
        norms = (gradient.square().sum(dim=0) + _DEEP_EPSILON).sqrt()  # (d,)
        optimizer.zero_grad()
        (loss + penalty * norms.sum()).backward()
        optimizer.step()
        if update % _DEEP_EVALUATE == 0:
            with torch.no_grad():
                value = float(_loss(network, *held_out))
            if value < lowest:
                lowest, best = value, copy.deepcopy(network)
    return lowest, best


def _loss_and_gradient(network: torch.nn.Module, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean loss and its gradient by the inputs, (n, d), both differentiable."""
    inputs = X.clone().requires_grad_()
    loss = _loss(network, inputs, y)
    (gradient,) = torch.autograd.grad(loss, inputs, create_graph=True)
    return loss, gradient


def _loss(network: torch.nn.Module, X: Tensor, y: Tensor) -> Tensor:
    output = network(X)
    if y.is_floating_point():
        return torch.nn.functional.mse_loss(output[:, 0], y)
    return torch.nn.functional.cross_entropy(output, y)


def device() -> str:
    """Name what packages built on torch train on: the GPU if there is one."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def _fit(task: Task, width: int, **settings: Any) -> LassoNetClassifier | LassoNetRegressor:
    estimator = LassoNetRegressor if task.regression else LassoNetClassifier
    model = estimator((width,), random_state=task.seed, **settings)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="only .* validation rows", category=UserWarning)
        return model.fit(task.X, task.y, X_val=task.X_val, y_val=task.y_val)
