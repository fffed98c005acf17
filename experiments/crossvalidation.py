"""Cross-validation: how many features the rule of one standard error keeps, at what accuracy, and what that costs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, ScalarFormatter
from numpy.typing import NDArray
from sklearn.model_selection import LeaveOneGroupOut, StratifiedKFold

from experiments import data
from experiments.cells import Cell, Options, Result, Store
from experiments.page import Picture, Section, Table, columns, error, mean, names, number
from riata import LassoNetClassifierCV, Training
from riata.preprocess import scaling

_NOISE = 30  # columns that are added to breast cancer
_NOISY = "breast_cancer_noise"
_SPEAKERS = "isolet_speakers"  # ISOLET, with all rows of a speaker in one fold
_SOURCES = {_NOISY: "breast_cancer", _SPEAKERS: "isolet"}  # of data sets that are not used as they come
DATA = (_NOISY, "mice_protein", "isolet", _SPEAKERS)
_SEEDS, _FEW_SEEDS = 10, 4
_M = 10
_SHOWN = 20  # standard errors below the best, where the picture ends
_TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
_FOLDS, _QUICK_FOLDS = 5, 3
_GROUPS = 4  # of speakers: parts 3 and 4 of ISOLET hold the same ones
_UNITS, _QUICK_UNITS = 100, 10
_WIDE = {"isolet": 205}  # units, a third of the columns as in the paper, where that is more
_JOBS = 2  # folds that riata works on at once; processes take longer to start than a quick run takes
_EARLIER = ("c88d8e98bf0f", "1d126cd4d482")  # commits of 16 November 2026 that cells of riata were measured at
_ALONE = ("isolet", _SPEAKERS)  # take so long that every method is given one core, and its seconds are counted


def cells(options: Options) -> list[Cell]:
    """One cell per data set, method and seed."""
    return [
        Cell("crossvalidation", name, method, seed, _settings(name, method, options.quick))
        for name in _data(options)
        for method in options.among(METHODS, slow=("lassonet",))
        for seed in options.seeds(_n_seeds(name, method), 2)
    ]


def _n_seeds(name: str, method: str) -> int:
    if method == "lassonet":  # takes up to an hour
        return 1
    return _FEW_SEEDS if name in _ALONE else _SEEDS


def _settings(name: str, method: str, quick: bool) -> tuple[tuple[str, int], ...]:
    if quick:
        return (("folds", _QUICK_FOLDS), ("units", _QUICK_UNITS), ("jobs", 1))
    jobs = _JOBS if method != "lassonet" and name not in _ALONE else 1
    folds = _GROUPS if name == _SPEAKERS else _FOLDS
    return (("folds", folds), ("units", _WIDE.get(name, _UNITS)), ("jobs", jobs))


def _data(options: Options) -> tuple[str, ...]:
    """Return the data sets to run on: those asked for, or those that are here; one in a quick run."""
    if options.data is not None:
        return tuple(name for name in DATA if name in options.data)
    return (_NOISY,) if options.quick else tuple(name for name in DATA if data.here(_SOURCES.get(name, name)))


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Cross-validate on all rows, with the same folds for all methods."""
    X, y, n_real = rows(cell.data, cell.seed)
    folds = _folds(cell, X, y)
    clock = time.process_time if cell.data in _ALONE else time.perf_counter
    start = clock()
    selected, scores = METHODS[cell.method](X, y, folds, cell)
    seconds = round(clock() - start, 3)
    noise = int(selected[n_real:].sum()) if n_real < X.shape[1] else None
    counts = {"n_selected": int(selected.sum()), "n_features": X.shape[1], "noise": noise}
    return {**counts, **scores, "seconds": seconds, "features": np.flatnonzero(selected).tolist()}


def rows(name: str, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64], int]:
    """Return a data set, its gaps filled and its columns scaled, and how many of these are real."""
    _, X, y = data.load(_SOURCES.get(name, name))
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    n_real = X.shape[1]
    if name == _NOISY:
        X = np.hstack([X, np.random.default_rng(seed).standard_normal((len(X), _NOISE))])
    return scaling.learn(X, np.ones(len(X))).apply(X, np.float32), y.astype(np.int64), n_real


Folds = list[tuple[NDArray[np.int64], NDArray[np.int64]]]


def _folds(cell: Cell, X: NDArray, y: NDArray) -> Folds:
    """Return the rows to train on and to score of every fold, the same for all methods."""
    if cell.data == _SPEAKERS:
        return list(LeaveOneGroupOut().split(X, y, speakers()))
    return list(StratifiedKFold(cell["folds"], shuffle=True, random_state=cell.seed).split(X, y))


def speakers() -> NDArray[np.integer]:
    """Return the group of speakers that each row of ISOLET belongs to."""
    with np.load(data.folder() / "isolet.npz") as file:
        part = file["part"]
    return np.where(part == 4, 3, part)


Found = tuple[NDArray[np.bool_], dict[str, Any]]  # the features, and what is known of their accuracy


def riata(X: NDArray, y: NDArray, folds: Folds, cell: Cell) -> Found:
    """Choose by the rule of one standard error; all else by default. Folds are worked on side by side."""
    common = {"cv": folds, "n_jobs": cell["jobs"], "random_state": cell.seed, "training": Training(device="cpu")}
    model = LassoNetClassifierCV((cell["units"],), M=_M, **common)
    results = model.fit(X, y).cv_results_
    scores = results.filter(regex=r"^split\d+_test_score$").to_numpy()  # (points, folds)
    best = scores[scores.mean(axis=1).argmax()]
    path = {
        "counts": results["n_selected"].tolist(),
        "accuracies": np.round(scores.mean(axis=1), 5).tolist(),
        "errors": np.round(results["se_test_score"], 5).tolist(),
    }
    accuracies = _accuracies(model.cv_score_, scores[model.cv_index_], best)
    return model.selected_, {**accuracies, "chosen": model.cv_n_selected_, "path": path}


def lassonet(X: NDArray, y: NDArray, folds: Folds, cell: Cell) -> Found:
    """Choose the λ of the highest accuracy, as the package does; all else is its default. Folds follow one another."""
    from lassonet import LassoNetClassifierCV as Peer

    settings = {"hidden_dims": (cell["units"],), "M": _M, "random_state": cell.seed, "torch_seed": cell.seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Peer(cv=folds, device="cpu", verbose=0, **settings).fit(X, y)
    scores = model.best_cv_scores_
    return model.best_selected_.numpy().astype(bool), _accuracies(np.mean(scores), scores, scores)


METHODS: dict[str, Callable[[NDArray, NDArray, Folds, Cell], Found]] = {
    "riata": riata,
    "lassonet": lassonet,
}


def _accuracies(accuracy: Any, chosen: NDArray, best: NDArray) -> dict[str, float]:
    """The accuracy, the standard error over folds of the point that was chosen, and both of the best point."""
    return {
        "accuracy": float(accuracy),
        "se": error(chosen),
        "best_accuracy": float(np.mean(best)),
        "best_se": error(best),
    }


def page(store: Store) -> Section | None:
    """A table, and accuracy against the number of features."""
    found = store.all("crossvalidation")
    if not found:
        return None
    text = (
        f"Whole data sets, with the same folds for all methods, M = {_M} and one hidden layer. `riata` is "
        "`LassoNetClassifierCV`, which keeps the fewest features whose mean accuracy over folds is within one standard error "
        "of the best; the standard error is that over folds, or that of a share of as many rows if it is larger. "
        "Between numbers of features that were scored, accuracy is that of a straight line. `lassonet` is the class "
        "of that name in the package lassonet, which takes the λ of the best. All are at their defaults otherwise. "
        f"{_earlier(found)}To breast cancer {_NOISE} columns of Gaussian noise are added. "
        f"Features are those of the model on all rows. "
        f"The hidden layer has {_UNITS} units, and {_WIDE['isolet']} for isolet, a third of the columns. "
        "Folds are stratified by class; in isolet_speakers they are four groups of speakers instead, so that all rows of a "
        "speaker are in one of them. Accuracies are means over seeds of means over folds, ± the mean of their standard errors "
        "over folds; that of the best point, which was looked for, is a little too high, and its standard error is the one "
        "that the rule goes by. riata works on as many folds at a time as it has cores, "
        "lassonet on one after the other; on both ISOLETs each has one core, and its seconds are counted. Seconds are compared "
        "within one machine."
    )
    curves = columns(found, method="riata")
    pictures = [_picture(curves)] if curves else []
    return Section("Cross-validation", text, [_table(found), *pictures])


def _earlier(found: Sequence[Result]) -> str:
    """Say which cells were measured before the defaults changed, if there are any."""
    if not any(result.get("commit") in _EARLIER for result in columns(found, method="riata")):
        return ""
    return (
        "Cells of `riata` were measured on 16 November 2026 (commits c88d8e9 and 1d126cd), before columns were prepared and "
        "mini-batches used by default; points were refitted for 50 passes before they were scored. "
    )


def _in_order(found: Sequence[Result]) -> list[str]:
    return [name for name in DATA if columns(found, data=name)]


def _table(found: Sequence[Result]) -> Table:
    rows = [
        [name, method, *_row(one), "" if method == "lassonet" else _ratio(found, name, method)]
        for name in _in_order(found)
        for method in names(found, "method")
        if (one := columns(found, data=name, method=method))
    ]
    header = ["data", "method", "kept", "of", "noise kept", "accuracy", "best accuracy", "seconds", "cores", "seeds"]
    return Table([*header, "times as fast as lassonet"], rows, "Features kept and cross-validated accuracy")


def _row(found: Sequence[Result]) -> list[str]:
    scores = [result["scores"] for result in found]

    def average(key: str) -> float | None:
        values = [s[key] for s in scores if s[key] is not None]
        return mean(values)

    noise = average("noise")
    cores = {max(result["config"]["jobs"], result["threads"]) for result in found}
    return [
        f"{average('n_selected'):.1f} ({_range([s['n_selected'] for s in scores])})",
        str(scores[0]["n_features"]),
        "–" if noise is None else f"{noise:.1f}",
        f"{average('accuracy'):.4f} ± {average('se'):.4f}",
        f"{average('best_accuracy'):.4f} ± {mean([_allowed(s) for s in scores]):.4f}",
        number(average("seconds")),
        ", ".join(map(str, sorted(cores))),
        str(len(scores)),
    ]


def _allowed(scores: dict[str, Any]) -> float:
    """Return the standard error that the rule goes by, of the best point."""
    if "path" not in scores:
        return scores["best_se"]
    path = scores["path"]
    return max(zip(path["accuracies"], [-count for count in path["counts"]], path["errors"], strict=True))[-1]


def _range(counts: Sequence[int]) -> str:
    return str(counts[0]) if min(counts) == max(counts) else f"{min(counts)}–{max(counts)}"


def _ratio(found: Sequence[Result], name: str, method: str) -> str:
    values = ratios(found, name, method)
    return f"{np.mean(values):.1f}" if values else "–"


def ratios(found: Sequence[Result], name: str, method: str) -> list[float]:
    """Return lassonet's seconds over a method's, for each seed that both were run with on one machine."""
    peer, own = (
        {
            (r["config"]["seed"], r.get("hardware")): r["scores"]["seconds"]
            for r in columns(found, data=name, method=one)
        }
        for one in ("lassonet", method)
    )
    return [peer[run] / own[run] for run in peer if run in own]


def _picture(found: Sequence[Result]) -> Picture:
    data_ = _in_order(found)
    figure = Figure(figsize=(3.8 * len(data_), 3.8), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(data_), squeeze=False).flat, data_, strict=True):
        lowest, highest = 1.0, 0.0
        for result in columns(found, data=name):
            scores, colour = result["scores"], f"C{result['config']['seed'] % 10}"
            counts, accuracies, errors = (np.array(scores["path"][key]) for key in ("counts", "accuracies", "errors"))
            there = counts >= 1
            axes.plot(counts[there], accuracies[there], color=colour)
            axes.fill_between(
                counts[there],
                (accuracies - errors)[there],
                (accuracies + errors)[there],
                color=colour,
                alpha=0.05,
                lw=0,
            )
            lowest = min(lowest, scores["best_accuracy"] - _SHOWN * errors[accuracies.argmax()])
            highest = max(highest, (accuracies + errors).max())
            axes.plot(scores["chosen"], scores["accuracy"], "o", color=colour, markeredgecolor="black", zorder=3)
        bottom = max(axes.get_ylim()[0], lowest)
        axes.set_ylim(bottom, highest + (highest - bottom) / 20)
        axes.set_title(name, fontsize="medium")
        axes.set_xscale("log")
        axes.set_xticks([k for k in _TICKS if k <= axes.get_xlim()[1]], minor=False)
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.xaxis.set_minor_locator(NullLocator())
    figure.supxlabel("features, mean over folds", fontsize="medium")
    figure.supylabel("accuracy, mean over folds", fontsize="medium")
    caption = (
        "Cross-validated accuracy of riata against the number of features, a colour for each seed; bands: one standard error; "
        "dots: the choice"
    )
    return Picture("crossvalidation", figure, caption)
