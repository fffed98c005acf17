"""
How many filters does a network for images need?
================================================

Select the filters of the first layer of a convolutional network for MNIST, plot them, and export the smaller network.

The data are the 10,000 digits of the test part of MNIST (7,000 to train on, 1,000 to validate on, 2,000 to test on), from the
folder that ``RIATA_DATA`` names or from OpenML, so this script is not run with the site. It takes a few minutes on a GPU, and
some more on a CPU; ``--quick`` takes a few digits and few epochs::

    python examples/mnist_filters.py --out mnist_filters.png
"""

# sphinx_gallery_thumbnail_path = "mnist_filters.png"

import argparse
import time

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler, TensorDataset

from riata import datasets
from riata.nn import SparseUnits, path, select

N_FILTERS = 32


def network() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, N_FILTERS, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(N_FILTERS, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 5 * 5, 10),
    )


def loaders(seed: int, quick: bool, device: str) -> list[DataLoader]:
    """Split the digits into training, validation and test."""
    digits = datasets.load("mnist_10k")
    order = np.random.default_rng(seed).permutation(len(digits.X))[: 500 if quick else None]
    X = torch.tensor(digits.X[order].reshape(-1, 1, 28, 28) / 255, dtype=torch.float32, device=device)
    y = torch.tensor(digits.y[order].astype(np.int64), device=device)
    parts = np.split(np.arange(len(order)), [int(0.7 * len(order)), int(0.8 * len(order))])
    found = []
    for part, kind in zip(parts, (RandomSampler, SequentialSampler, SequentialSampler), strict=True):
        data = TensorDataset(X[part], y[part])
        found.append(DataLoader(data, sampler=BatchSampler(kind(data), 128, False), batch_size=None))
    return found


@torch.no_grad()
def accuracy(model: nn.Module, loader: DataLoader) -> float:
    correct = [(model.eval()(X).argmax(1) == y).float() for X, y in loader]
    return float(torch.cat(correct).mean())


def seconds(model: nn.Module, X: torch.Tensor) -> float:
    """Return the least time of ten forward passes, on the CPU."""
    model.eval()
    times = []
    with torch.no_grad():
        for _ in range(10):
            start = time.perf_counter()
            model(X)
            times.append(time.perf_counter() - start)
    return min(times)


def run(seed: int, quick: bool) -> tuple[SparseUnits, list[tuple[int, float]], int]:
    """Solve the path of one network; return it at the selected point, and test accuracy by number of filters."""
    torch.manual_seed(seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train, val, test = loaders(seed, quick, device)
    example = next(iter(val))[0]
    model = SparseUnits(network().to(device), units="0", through=["1"], into="3", example=example)
    settings = {"epochs": (3, 1), "refit": 1, "path_multiplier": 1.3} if quick else {"epochs": (40, 3), "refit": 15}
    found = path(model, nn.CrossEntropyLoss(reduction="none"), train, val=val, verbose=1, **settings)
    curve = []
    for point in found:
        model.load_state_dict(point.state)
        curve.append((point.n_selected, accuracy(model, test)))
    selected = select(found, n_units=N_FILTERS // 2)
    model.load_state_dict(selected.state)
    small = model.export().cpu()
    model.cpu()
    X = example.cpu()
    with torch.no_grad():
        gap = float((model.eval()(X) - small.eval()(X)).abs().max())
    sizes = [sum(p.numel() for p in m.parameters()) for m in (model, small)]
    times = [seconds(m, X) for m in (model, small)]
    test_accuracy = curve[[point is selected for point in found].index(True)][1]
    print(
        f"seed {seed}: dense {curve[0][1]:.4f}; {selected.n_selected} of {N_FILTERS} filters {test_accuracy:.4f}; "
        f"exported: outputs differ by {gap:.1e}, "
        f"{sizes[1]:,} of {sizes[0]:,} weights, {times[0] / times[1]:.2f} times as fast on the CPU",
        flush=True,
    )
    return model, curve, selected.n_selected


def draw(model: SparseUnits, curve: list[tuple[int, float]], n_selected: int) -> Figure:
    """Plot all filters, the selected ones in colour, beside accuracy against their number."""
    figure = Figure(figsize=(10, 4.4), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1.5, 1])
    filters = model.model[0].weight.detach()[:, 0].numpy()
    norms = model.hierarchy.skip_by_unit().norm(dim=-1).numpy()
    for axes, i in zip(left.subplots(4, 8).flat, np.argsort(-norms, kind="stable"), strict=True):
        limit = np.abs(filters[i]).max()
        axes.imshow(
            filters[i],
            cmap="RdBu_r" if norms[i] > 0 else "Greys",
            vmin=-limit,
            vmax=limit,
            alpha=1 if norms[i] else 0.35,
        )
        axes.set_axis_off()
    left.suptitle(f"{n_selected} filters in use (colour), {N_FILTERS - n_selected} out (grey)", fontsize="medium")
    axes = right.subplots()
    counts, accuracies = np.array(curve).T
    axes.plot(counts, accuracies, "o-", ms=3)
    axes.axhline(accuracies[0], color="grey", lw=0.8, ls=":")
    axes.axvline(n_selected, color="grey", lw=0.8, ls=":")
    axes.set(xlabel="filters", ylabel="accuracy on test digits", ylim=(max(0, accuracies[0] - 0.12), 1))
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a few digits and few epochs")
    parser.add_argument("--out", default="mnist_filters.png")
    given = parser.parse_args()
    drawn = None
    for seed in range(given.seeds):
        model, curve, n_selected = run(seed, given.quick)
        drawn = drawn or draw(model, curve, n_selected)
        print(" ", ", ".join(f"{k}: {a:.3f}" for k, a in curve), flush=True)
    drawn.savefig(given.out, dpi=150)


if __name__ == "__main__":
    main()
