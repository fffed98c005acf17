"""Selection without a target: how well all columns can be reconstructed from a few, and what digits then look like."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

from experiments.baselines.task import Task, by
from experiments.baselines.unsupervised import METHODS, autoencoder
from experiments.cells import Cell, Options, Result, Store
from experiments.data import here, load
from experiments.decoder import WIDTH, Decoder
from experiments.page import Picture, Section, Table, columns, error, names, number, spread, style
from experiments.protocol import rows

_TEST = {"mnist": "mnist_10k"}  # data sets with test rows of their own
_BRIGHTEST = {"mnist": 255, "coil20": 255, "digits": 16, "isolet": 1}
_IMAGES = ("mnist", "digits")
_ROWS = 60_000 if torch.cuda.is_available() else 10_000  # of MNIST: without a GPU, all would take hours
_SEEDS = 3
_COUNTS, _QUICK = (10, 25, 50, 75, 100), (10,)
_AT = {"mnist": 50, "digits": 10}  # pixels of the pictures
_PER_CLASS = 3
_SHADES = 255


class Parts(NamedTuple):
    """Rows to learn from, to validate on and to test on, and the classes of the last."""

    fit: NDArray[np.float32]
    val: NDArray[np.float32]
    test: NDArray[np.float32]
    y: NDArray


def data(options: Options) -> tuple[str, ...]:
    """Return the data sets to run on: MNIST, one of sounds and one of photographs, or one that needs no files."""
    if options.data is not None:
        return tuple(name for name in _BRIGHTEST if name in options.data)
    full = ("mnist", "isolet", "coil20")
    return ("digits",) if options.quick else tuple(name for name in full if here(name) and here(_TEST.get(name, name)))


def cells(options: Options) -> list[Cell]:
    """One cell per data set, method and split."""
    return [
        Cell("unsupervised", name, method, seed, size(name))
        for name in data(options)
        for method in options.among(METHODS, slow=("greedy", "pfa", "laplacian", "variance"))
        for seed in options.seeds(_SEEDS)
    ]


def size(name: str) -> tuple[tuple[str, int], ...]:
    """Say how many rows are learnt from, where not all are."""
    return (("rows", _ROWS),) if name == "mnist" else ()


def parts(cell: Cell) -> Parts:
    """Return the rows of a cell, with values between 0 and 1 where they are pixels."""
    data, scale = load(cell.data), _BRIGHTEST[cell.data]
    if cell.data not in _TEST:
        fit, val, test = rows(data.y, cell.seed)
        return Parts(*(data.X[part] / scale for part in (fit, val, test)), data.y[test])
    which = np.random.default_rng(cell.seed).permutation(len(data.X))[: cell["rows"]]
    n_val = len(which) // 10
    test = load(_TEST[cell.data])
    return Parts(*(X / scale for X in (data.X[which[n_val:]], data.X[which[:n_val]], test.X)), test.y)


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Rank columns, and train a decoder on the k best for every k."""
    found = parts(cell)
    counts = _QUICK if cell.data == "digits" else _COUNTS
    task = partial(Task, found.fit, found.fit, seed=cell.seed, X_val=found.val)
    start = time.perf_counter()
    model = autoencoder(task(k=counts[-1])) if cell.method == "riata" else None
    chosen = {k: order[:k] for k, order in _orders(cell, counts, task, model).items()}
    seconds = time.perf_counter() - start
    decoders = {k: Decoder(np.sort(chosen[k]), cell.seed).fit(found.fit, found.val) for k in counts}
    scores = {
        "counts": counts,
        "chosen": {k: chosen[k].tolist() for k in counts},
        "errors": [_mean_square(decoders[k].reconstruct(found.test) - found.test) for k in counts],
        "constant": _mean_square(found.fit.mean(axis=0) - found.test),
        "seconds": round(seconds, 3),
        "classes": len(np.unique(found.y)),
    }
    if model is not None:
        points = {k: model.at(n_features=k) for k in counts}
        scores["own"] = [_mean_square(points[k].reconstruct(found.test) - found.test) for k in counts]
        if cell.data in _IMAGES and cell.seed == 0:
            at = _AT[cell.data]
            scores["images"] = _images(found, points[at], decoders[at])
    return scores


def _orders(cell: Cell, counts: Sequence[int], task: partial, model: Any) -> dict[int, NDArray[np.int64]]:
    """Rank once, or for every k where that is another run."""
    method = METHODS[cell.method]
    if method.per_k:
        return {k: method.rank(task(k=k)) for k in counts}
    order = method.rank(task(k=counts[-1])) if model is None else by(model.feature_importances_)
    return dict.fromkeys(counts, order)


def _mean_square(difference: NDArray) -> float:
    return float(np.mean(np.square(difference, dtype=np.float64)))


def _images(found: Parts, own: Any, decoder: Decoder) -> dict[str, Any]:
    """Keep some test images of each class and what becomes of them, in shades from 0 to 255."""
    rng = np.random.default_rng(0)
    picked = [rng.choice(np.flatnonzero(found.y == label), _PER_CLASS, replace=False) for label in np.unique(found.y)]
    X = found.test[np.concatenate(picked)]
    shown = {"test images": X, "riata, own model": own.reconstruct(X), "decoder": decoder.reconstruct(X)}
    return {
        "pixels": np.flatnonzero(own.selected_).tolist(),
        "decoder_pixels": decoder.columns.tolist(),
        "shades": {
            name: np.clip(_SHADES * image, 0, _SHADES).round().astype(int).tolist() for name, image in shown.items()
        },
    }


def page(store: Store) -> Section | None:
    """Tables of reconstruction errors, their curves, and reconstructed digits."""
    found = store.all("unsupervised")
    if not found:
        return None
    found = [r for r in found if r["config"].get("rows") == _most(columns(found, data=r["config"]["data"]))]
    text = (
        f"Mean squared error per column on test rows, of a decoder with {WIDTH} hidden units that is trained on the k columns "
        "that a method ranks first: the same network for every method, stopped on validation rows. Pixels lie between 0 and 1, "
        "the values of ISOLET between −1 and 1; no column is scaled. `riata, own model` is the network of the path at k "
        "columns, without training again. `greedy` adds the column that explains most by a linear map, and `pfa` is the "
        "principal feature analysis. MNIST has its own test rows; "
        f"{_learnt(found)}other data sets are split 70-10-20. Mean over splits ± standard error. The concrete autoencoder is "
        "not among the methods: the only release of its package, of 2019, calls functions that Keras no longer has."
    )
    blocks: list[Table | Picture] = []
    for name in names(found, "data"):
        one = columns(found, data=name)
        blocks += [_table(one, name), *(_reconstructions(r, name) for r in one if "images" in r["scores"])]
    return Section("Selection without a target", text, [_curves(found), *blocks])


def _most(found: Sequence[Result]) -> int | None:
    return max((r["config"].get("rows") for r in found), key=lambda n: n or 0)


def _learnt(found: Sequence[Result]) -> str:
    most = _most(found)
    return "" if most is None else f"{most:,} of its training rows are learnt from and validated on; "


def _at(found: Sequence[Result], k: int, key: str = "errors") -> list[float]:
    scores = [r["scores"] for r in found]
    return [s[key][s["counts"].index(k)] for s in scores if key in s and k in s["counts"]]


def _table(found: Sequence[Result], name: str) -> Table:
    counts = found[0]["scores"]["counts"]
    lines = []
    best = {
        k: min(names(found, "method"), key=lambda m, k=k: np.mean(_at(columns(found, method=m), k))) for k in counts
    }
    for method in names(found, "method"):
        one = columns(found, method=method)
        texts = {k: spread(_at(one, k), 4) for k in counts}
        seconds = number(float(np.mean([r["scores"]["seconds"] for r in one])))
        lines.append([method, *(f"**{t}**" if best[k] == method else t for k, t in texts.items()), seconds])
        if method == "riata":
            lines.append(["riata, own model", *(spread(_at(one, k, "own"), 4) for k in counts), ""])
    constant = np.mean([r["scores"]["constant"] for r in found])
    lines.append(["(mean of the training rows)", *(f"{constant:.4f}" for _ in counts), ""])
    return Table(["method", *(f"k = {k}" for k in counts), "seconds to rank"], lines, f"{name}: reconstruction error")


def _curves(found: Sequence[Result]) -> Picture:
    data = names(found, "data")
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    panels = figure.subplots(1, len(data), squeeze=False)[0]
    for axes, name in zip(panels, data, strict=True):
        for method in names(found, "method"):
            one = columns(found, data=name, method=method)
            counts = one[0]["scores"]["counts"] if one else []
            values = [_at(one, k) for k in counts]
            axes.errorbar(counts, [np.mean(v) for v in values], [error(v) for v in values], marker=".", **style(method))
        axes.set(title=name, xlabel="columns", yscale="log")
    panels[0].set_ylabel("mean squared error, test rows")
    panels[-1].legend(fontsize="small")
    return Picture("unsupervised", figure, "Reconstruction error against the number of columns")


def _reconstructions(result: Result, name: str) -> Picture:
    """Draw images in three rows, a column per class, beside the pixels that they are reconstructed from."""
    images = result["scores"]["images"]
    shades = {title: np.array(image) for title, image in images["shades"].items()}
    side = round(next(iter(shades.values())).shape[1] ** 0.5)
    figure = Figure(figsize=(11, 8.4), layout="constrained")
    grid = figure.add_gridspec(len(shades), 2, width_ratios=(3, 1))
    for i, (title, image) in enumerate(shades.items()):
        axes = figure.add_subplot(grid[i, 0])
        tiles = np.pad(
            image.reshape(-1, _PER_CLASS, side, side), ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=_SHADES
        )
        tiles = tiles.transpose(1, 2, 0, 3)  # (per class, side, classes, side)
        axes.imshow(tiles.reshape(_PER_CLASS * (side + 1), -1), cmap="gray", vmin=0, vmax=_SHADES)
        pixels = {"riata, own model": "pixels", "decoder": "decoder_pixels"}.get(title)
        axes.set_title(title if pixels is None else f"{title}, {len(images[pixels])} pixels", fontsize="medium")
        axes.set_axis_off()
        if pixels is not None:
            mask = figure.add_subplot(grid[i, 1])
            mask.imshow(np.isin(np.arange(side**2), images[pixels]).reshape(side, side), cmap="gray")
            mask.set_axis_off()
    return Picture(
        f"unsupervised_{name}", figure, f"{name}: test images, and what is reconstructed of them from few pixels"
    )
