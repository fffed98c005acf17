"""
How many units does the bottleneck of an auto-encoder need?
===========================================================

Solve the path from many units to none. Some pixels, or entries, are hidden from the input, and the loss is computed on these
only: the error of an auto-encoder that has its target as its input falls with every further unit.

Fashion-MNIST comes from the folder that ``RIATA_DATA`` names or from OpenML, so this script is not run with the site::

    python examples/latent_units.py --out latent_units.png    # Fashion-MNIST, 10,000 images
    python examples/latent_units.py --factors 5 --seeds 10    # tables made from five factors: the answer should be five
"""

# sphinx_gallery_thumbnail_path = "latent_units.png"

import argparse

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import nn

from riata import Path, datasets
from riata.nn import HiddenEntries, SparseUnits, hidden_error, path, select


class Autoencoder(nn.Module):
    def __init__(self, d: int, hidden: int, width: int):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, hidden), nn.ReLU(), nn.Linear(hidden, width))
        self.decoder = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, d))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def simulated(n_factors: int, seed: int, n: int = 1200, d: int = 20) -> torch.Tensor:
    """Return a table whose columns are linear and saturating functions of a few factors, with noise."""
    draw = np.random.default_rng(seed)
    factors = draw.standard_normal((n, n_factors))
    linear, saturating = draw.standard_normal((2, n_factors, d)) / n_factors**0.5
    X = factors @ linear + 0.5 * np.tanh(2 * factors @ saturating)
    X = X / X.std(0) + 0.3 * draw.standard_normal((n, d))
    return torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)


def images(device: str) -> torch.Tensor:
    X = torch.tensor(datasets.load("fashion_mnist_10k").X / 255, dtype=torch.float32, device=device)
    return X - X.mean(0)


def solve(
    X: torch.Tensor, hidden: int, width: int, seed: int, *, verbose: int = 0, **settings
) -> tuple[SparseUnits, Path]:
    """Solve the path with three quarters of the samples for training and the others for validation."""
    torch.manual_seed(seed)
    model = SparseUnits(
        Autoencoder(X.shape[1], hidden, width).to(X.device), units="encoder.2", into="decoder.0", example=X[:2]
    )
    n = len(X) * 3 // 4
    data = HiddenEntries(X[:n], 100, random_state=seed)
    val = HiddenEntries(X[n:], 500, fixed=True, random_state=seed + 1)
    return model, path(model, hidden_error, data, val=val, verbose=verbose, **settings)


def draw(model: SparseUnits, found: Path, X: torch.Tensor) -> Figure:
    """Plot the loss against the number of units, and reconstructions of a few images for some numbers of units."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.3])
    axes = left.subplots()
    axes.plot(found.n_selected, [p.val_loss for p in found], "o-", ms=3)
    for rule, colour in (("elbow", "tab:orange"), ("1se", "tab:green")):
        k = select(found, rule).n_selected
        axes.axvline(k, color=colour, ls=":", label=f"{rule}: {k} units")
    axes.set(xlabel="units", ylabel="error of hidden pixels, validation images")
    axes.legend()
    counts = [k for k in (1, 2, 4, 8, select(found).n_selected) if k >= found.n_selected[found.n_selected > 0].min()]
    some = X[-8:]
    rows = [("input", some)]
    for k in counts:
        point = select(found, n_units=k)
        model.load_state_dict(point.state)
        with torch.no_grad():
            rows.append((f"{point.n_selected}", model.eval()(some)))
    for line, (title, shown) in zip(right.subplots(len(rows), 8), rows, strict=True):
        for axes, image in zip(line, shown, strict=True):
            axes.imshow(image.cpu().reshape(28, 28), cmap="Greys")
            axes.set_xticks([])
            axes.set_yticks([])
        line[0].set_ylabel(title, rotation=0, ha="right", va="center")
    right.suptitle("the last images, and their reconstructions from so many units", fontsize="medium")
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--factors", type=int, help="simulate tables from so many factors instead")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", default="latent_units.png")
    given = parser.parse_args()
    for seed in range(given.seeds):
        if given.factors:
            settings = {"path_multiplier": 1.15, "epochs": (60, 8), "refit": 25}
            model, found = solve(simulated(given.factors, seed), 32, 2 * given.factors, seed, **settings)
        else:
            X = images("cuda" if torch.cuda.is_available() else "cpu")
            model, found = solve(X, 128, 24, seed, verbose=1, path_multiplier=1.1, epochs=(60, 3), refit=10)
        elbow, selected = select(found, "elbow"), select(found, "1se")
        losses = {int(k): min(p.val_loss for p in found if p.n_selected == k) for k in np.unique(found.n_selected)}
        print(f"seed {seed}: elbow {elbow.n_selected}, one standard error {selected.n_selected}", flush=True)
        print(" ", ", ".join(f"{k}: {loss:.3f}" for k, loss in losses.items()), flush=True)
        if not given.factors and not seed:
            draw(model, found, X).savefig(given.out, dpi=150)
            model.load_state_dict(selected.state)
            small = model.export()
            print(f"  exported: {sum(p.numel() for p in small.parameters()):,} weights")


if __name__ == "__main__":
    main()
