"""Survival times: how well few columns tell who has the event first, and how likely it is by when.

Four sets with few columns and eight of gene expressions with thousands, split 80-20. Every method selects in its usual way.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from numpy.typing import NDArray

from experiments.baselines.survival import (
    COUNTS,
    METHODS,
    OWN_SCALING,
    Floats,
    Model,
    Task,
    concordance,
    fit,
)
from experiments.cells import Cell, Options, Result, Store
from experiments.page import Picture, Section, Table, columns, error, mean, number, spread, style
from experiments.survival_data import FEW_COLUMNS, WIDE, Split, here, load, split

DATA = (*FEW_COLUMNS, *WIDE)
GROUPS = {"few columns": FEW_COLUMNS, "gene expressions": WIDE}
_SEEDS = 10
_QUICK_DATA = ("hnscc", "NSBCD")
_SLOW = ("riata_cv", "lassonet")  # left out of quick runs
_LAST = 0.8  # quantile of the training times up to which concordance with weights counts
_GRID, _QUANTILES = 50, (0.1, 0.8)  # times of Brier scores, between these quantiles of the training events' times


def cells(options: Options) -> list[Cell]:
    """One cell per data set, method and split; of lassonet's on thousands of columns only the first."""
    return [
        Cell("survival", name, method, seed)
        for name in _data(options)
        for method in options.among(METHODS, _SLOW)
        for seed in options.seeds(_SEEDS)
        if seed == 0 or not (method == "lassonet" and name in WIDE)
    ]


def _data(options: Options) -> tuple[str, ...]:
    """Return the sets asked for, or those that are here."""
    if options.data is not None:
        return tuple(name for name in DATA if name in options.data)
    return tuple(name for name in (_QUICK_DATA if options.quick else DATA) if here(name))


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Fit a method, score its model and those of few columns."""
    cohort = load(cell.data)
    parts = split(cohort, cell.seed)
    if cell.method not in OWN_SCALING:
        parts = parts.standardised()
    start = time.perf_counter()
    model = fit(cell.method, Task(parts.X, parts.y, cell.seed))
    seconds = round(time.perf_counter() - start, 3)
    few = {} if model.few is None else {k: model.few(k) for k in COUNTS if k < cohort.X.shape[1]}
    return {
        "n": len(cohort.y),
        "n_events": cohort.n_events,
        "n_features": cohort.X.shape[1],
        **scores(model, parts),
        "complete": model.complete,
        "seconds": seconds,
        "features": model.features.tolist(),
        "few": {str(k): scores(one, parts) for k, one in few.items() if one is not None},
    }


def scores(model: Model, parts: Split) -> dict[str, Any]:
    """Score a model on the test samples."""
    risk = model.risk(parts.X_test)
    times = grid(parts.y, parts.y_test)
    brier = None if model.survival is None else integrated_brier(parts, model.survival(parts.X_test, times), times)
    return {
        "n_selected": len(model.features),
        "concordance": concordance(parts.y_test, risk),
        "ipcw": weighted_concordance(parts, risk),
        "brier": brier,
    }


def weighted_concordance(parts: Split, risk: NDArray) -> float | None:
    """Return the concordance with weights for censoring, up to a quantile of the training times; None without pairs."""
    from sksurv.exceptions import NoComparablePairException
    from sksurv.metrics import concordance_index_ipcw

    last = float(np.quantile(parts.y["time"], _LAST))
    try:
        return float(concordance_index_ipcw(parts.y, parts.y_test, risk, tau=last)[0])
    except NoComparablePairException:
        return None


def grid(y: NDArray, y_test: NDArray) -> Floats:
    """Return the times of Brier scores, within the follow-up of the test samples and of the training samples."""
    first, last = np.quantile(y["time"][y["event"]], _QUANTILES)
    end = min(y_test["time"].max(), y["time"].max())
    return np.linspace(max(first, y_test["time"].min()), min(last, np.nextafter(end, -np.inf)), _GRID)


def integrated_brier(parts: Split, survival: Floats, times: Floats) -> float:
    """Return the mean Brier score over the times, with weights for censoring.

    Test samples are followed no longer than the training samples, as weights are unknown later; all times are earlier.
    """
    from sksurv.metrics import integrated_brier_score

    y_test, end = parts.y_test.copy(), parts.y["time"].max()
    late = y_test["time"] > end
    y_test["event"][late], y_test["time"][late] = False, end
    return float(integrated_brier_score(parts.y, y_test, survival, times))


# The page.


def page(store: Store) -> Section | None:
    """Tables for both groups of data sets, and a picture for each data set."""
    found = store.all("survival")
    if not found:
        return None
    blocks: list[Table | Picture] = []
    for group, members in GROUPS.items():
        here_ = [result for result in found if result["config"]["data"] in members]
        if here_:
            blocks += [_scores(here_, group), _brier(here_, group)]
    blocks += [_picture(columns(found, data=name), name) for name in _names(found)]
    return Section("Survival times", _text(), blocks)


def _text() -> str:
    return (
        "Samples are split 80-20 with events in proportion; concordance is Harrell's on the test samples, `IPCW` the one with "
        f"weights for censoring (Uno's) up to the {_LAST:.0%} quantile of the training times, and the Brier score is the mean "
        "over times between the 10 % and 80 % quantiles of the training events' times (lower is better; `kaplan_meier` "
        "predicts the same for all). Gaps are filled with the median of the training samples, categories are a column per "
        "level. `riata` is `LassoNetCoxRegressor()`, `riata_cv` `LassoNetCoxRegressorCV(cv=5)`; both get the columns as they "
        "are, the others standardised ones. `coxnet` is scikit-survival's lasso with the α of highest concordance over five "
        "folds; `forest` its random survival forest and `boosting` its boosted Cox model, 100 trees each; `lassonet` is the "
        "package's Cox model at the point of highest concordance on a fifth of the training samples, on gene expressions for "
        "one split of two sets only. Gene expressions are those of the package SurvSet. Forests and boosted models with few "
        "columns were not fitted. ± is the standard error over splits, seconds are those of one core; on gene expressions "
        "those of riata's models are of another machine."
    )


def _names(found: Sequence[Result]) -> list[str]:
    return [name for name in DATA if columns(found, data=name)]


def _methods(found: Sequence[Result]) -> list[str]:
    return [name for name in METHODS if columns(found, method=name)]


def _values(found: Sequence[Result], key: str) -> list[float]:
    return [result["scores"][key] for result in found if result["scores"][key] is not None]


def _scores(found: Sequence[Result], group: str) -> Table:
    rows = []
    for name in _names(found):
        for method in _methods(columns(found, data=name)):
            one = columns(found, data=name, method=method)
            whole = all(result["scores"]["complete"] for result in one)
            first = one[0]["scores"]
            rows.append(
                [
                    name,
                    f"{first['n']:,} ({first['n_events']:,})",
                    method,
                    spread(_values(one, "concordance")),
                    spread(_values(one, "ipcw")),
                    f"{spread(_values(one, 'n_selected'), 1)} of {first['n_features']:,}",
                    number(mean(_values(one, "seconds"))) + ("" if whole else ", stopped"),
                    str(len(one)),
                ]
            )
    header = ["data", "samples (events)", "method", "concordance", "IPCW", "columns", "seconds", "splits"]
    return Table(header, rows, f"Concordance: {group}")


def _brier(found: Sequence[Result], group: str) -> Table:
    names = _names(found)
    rows = [
        [method, *(spread(_values(columns(found, data=name, method=method), "brier")) for name in names)]
        for method in _methods(found)
        if _values(columns(found, method=method), "brier")
    ]
    return Table(["method", *names], rows, f"Integrated Brier score: {group}")


def _picture(found: Sequence[Result], name: str) -> Picture:
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, key in zip(panels, ("concordance", "brier"), strict=True):
        for method in _methods(found):
            one = columns(found, method=method)
            if not _values(one, key):
                continue
            look = {**style(method), "color": f"C{list(METHODS).index(method)}"}
            _line(axes, one, key, look)
            kept, value = np.mean(_values(one, "n_selected")), np.mean(_values(one, key))
            axes.plot(max(kept, 0.7), value, "o", color=look["color"], label=f"{method}, its choice", markersize=6)
        axes.set_xscale("log")
        axes.set_xticks([k for k in (*COUNTS, 100, 1000, 10_000) if k < 1.5 * axes.get_xlim()[1]], minor=False)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set(xlabel="columns, at most")
    panels[0].set_ylabel("concordance")
    panels[1].set_ylabel("integrated Brier score")
    panels[0].legend(fontsize="x-small", ncols=2)
    return Picture(f"survival_{name}", figure, name)


def _line(axes: Any, found: Sequence[Result], key: str, look: dict[str, Any]) -> None:
    counts = sorted({int(k) for result in found for k in result["scores"]["few"]})
    values = [[v for r in found if (v := r["scores"]["few"].get(str(k), {}).get(key)) is not None] for k in counts]
    drawn = [(k, v) for k, v in zip(counts, values, strict=True) if v]
    if drawn:
        axes.errorbar([k for k, _ in drawn], [np.mean(v) for _, v in drawn], [error(v) for _, v in drawn], **look)
