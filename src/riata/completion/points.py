"""Points of a path of networks that fill gaps, and their errors on the validation entries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from riata.completion.hiding import MAX_FILLS, Gaps, fill
from riata.network.stacked import Network, Pass, SparseWeights, Weights
from riata.path.points import Path, Point, mean_and_error

__all__ = ["FilledPoint", "as_tensors", "complete", "evaluate_path", "evaluate_point", "val_weights"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FilledPoint(Point):
    """A point of a path, and how gaps are filled from its columns.

    Attributes
    ----------
    n_fills : int
        How many times gaps are filled with the network's output.
    filler : SparseWeights or None
        The weights of the network that fills gaps, if it is not the network of the point: the dense network, which gets all
        but the selected columns as gaps.

    Examples
    --------
    >>> import numpy as np
    >>> from riata import LassoNetImputer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1)) * [1, 2, 3, -1] + 0.1 * rng.normal(size=(200, 4))
    >>> X[rng.random(X.shape) < 0.1] = np.nan
    >>> model = LassoNetImputer((5,), random_state=0).fit(X)
    >>> model.point_.n_fills >= 1 and model.point_.n_selected <= 4
    True
    """

    n_fills: int = MAX_FILLS
    filler: SparseWeights | None = None


@torch.inference_mode()
def complete(
    network: Network,
    point: FilledPoint,
    gaps: Gaps,
    limits: tuple[Tensor, Tensor],
    on_fill: Callable[[int, Tensor], None] | None = None,
) -> Tensor:
    """Return the network's output for every entry of a table, (n, d), on the table's device and in its precision.

    Only the columns of the point are used; ``on_fill`` is called as in :func:`fill`.
    """
    values, weights = gaps.values, point.weights if point.filler is None else point.filler
    layers = network.layers(as_tensors(weights, values))
    forward = Pass(network, 1, len(values), values)
    shown = gaps.observed & torch.from_numpy(point.selected).to(values.device)
    columns = torch.from_numpy(weights.features).to(values.device)
    return fill(lambda X: forward.forward(layers, X)[0], values, shown, columns, limits, point.n_fills, on_fill)


def evaluate_path(path: Path, network: Network, gaps: Gaps, dense: FilledPoint) -> Path:
    """Return the path with the dense network in place of each point's network, and its error on the validation entries.

    The penalty that selects the columns also shrinks the predictions. The dense network was trained with gaps anywhere, and its
    error is much lower with the same columns.
    """
    by_selection: dict[bytes, FilledPoint] = {}
    points = []
    for point in path:
        key = point.selected.tobytes()
        if key not in by_selection:
            filled = FilledPoint(**vars(point), n_fills=dense.n_fills, filler=dense.weights)
            by_selection[key] = evaluate_point(filled, network, gaps, (4, 8, 16))
        same = by_selection[key]
        names = ("val_loss", "val_loss_se", "val_losses", "n_fills", "filler")
        points.append(FilledPoint(**{**vars(point), **{name: getattr(same, name) for name in names}}))
    return Path(points, multiplier=path.multiplier, val_weights=val_weights(gaps))


def evaluate_point(point: FilledPoint, network: Network, gaps: Gaps, fill_counts: tuple[int, ...]) -> FilledPoint:
    """Return the point with the number of fills of lowest validation error among ``fill_counts``, and with this error.

    It is the mean over validation entries, with its standard error over samples.
    """
    counts, weights = _count_validation(gaps)
    if not len(weights):
        return point
    validation, losses = ~gaps.validation.isnan(), {}

    def on_fill(i: int, output: Tensor) -> None:
        if i in fill_counts:
            sums = torch.where(validation, output - gaps.validation, 0.0).square().sum(1).cpu().double().numpy()
            losses[i] = sums[counts > 0] / counts[counts > 0]

    complete(network, replace(point, n_fills=max(fill_counts)), gaps, gaps.limits, on_fill)
    n_fills = min(losses, key=lambda i: float(losses[i] @ weights))
    mean, error = mean_and_error(losses[n_fills], weights)
    return replace(point, n_fills=n_fills, val_loss=mean, val_loss_se=error, val_losses=losses[n_fills])


def val_weights(gaps: Gaps) -> Floats | None:
    """Return, for the samples with validation entries, their shares of these entries; None if there are none."""
    _, weights = _count_validation(gaps)
    return weights if len(weights) else None


def _count_validation(gaps: Gaps) -> tuple[Floats, Floats]:
    """Return the number of validation entries of each sample and, for the samples that have any, their shares."""
    counts = (~gaps.validation.isnan()).sum(1).cpu().double().numpy()
    return counts, counts[counts > 0] / max(counts.sum(), 1)


def as_tensors(weights: SparseWeights, like: Tensor) -> Weights:
    """Return the weights of one network as tensors, with the device and dtype of another tensor."""
    rows = np.concatenate([weights.skip, weights.first], axis=1)
    return Weights(*(torch.from_numpy(array)[None].to(like) for array in (rows, weights.upper)))
