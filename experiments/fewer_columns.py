"""Completion from fewer columns: how many proteins must be measured to know all 77 as well as Soft-Impute does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from experiments import baselines, completion, matrices
from experiments.baselines.task import by
from experiments.cells import Cell, Options, Result, Store
from experiments.data import wanted
from experiments.matrices import Gaps
from experiments.page import Picture, Section, Table, columns, error, names, spread, style
from riata import LassoNetImputer

METHODS = ("riata", "riata_at", "pfa", "random")
_DATA, _QUICK = "mice_protein", "roll_small"
_TRIALS = 5
_COUNTS = {_DATA: (5, 10, 15, 20, 25, 30, 35, 40, 50, 60, 77), _QUICK: (4,)}


def cells(options: Options) -> list[Cell]:
    """One cell per way to choose columns and trial; what Soft-Impute does with all of them is known first."""
    data = _QUICK if options.quick and options.data is None else _DATA
    if data == _DATA and not wanted(data, options.data):
        return []
    return [
        Cell("fewer_columns", data, method, seed, needs=(completion.cell(data, completion.REFERENCE, seed),))
        for method in options.among(METHODS, slow=("pfa",))
        for seed in options.seeds(_TRIALS)
    ]


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Choose k columns for every k, and train a network from scratch that sees these and fills all."""
    gaps = matrices.load(cell.data, cell.seed)
    path = _path(gaps, cell.seed) if cell.method in ("riata", "riata_at") else None
    # All columns are the same ones whoever chooses them.
    counts = [k for k in _COUNTS[cell.data] if path is not None or k < gaps.seen.shape[1]]
    reference = {"counts": counts, "reference": needed[0]["scores"]["mse"]}
    if path is not None and cell.method == "riata_at":
        models = [path.at(n_features=k) for k in counts]
        errors = [matrices.error(model.transform(gaps.seen), gaps.test) for model in models]
        return {**reference, "columns": [np.flatnonzero(m.selected_).tolist() for m in models], "errors": errors}
    chosen = {
        k: _chosen(cell.method, gaps, k, cell.seed) if path is None else by(path.feature_importances_)[:k]
        for k in counts
    }
    return {
        **reference,
        "columns": [np.sort(chosen[k]).tolist() for k in counts],
        "errors": [_error(gaps, chosen[k], cell.seed) for k in counts],
    }


def _path(gaps: Gaps, seed: int) -> LassoNetImputer:
    return LassoNetImputer(refit=False, random_state=seed).fit(gaps.seen, X_val=gaps.val)


def _chosen(method: str, gaps: Gaps, k: int, seed: int) -> NDArray[np.int64]:
    """Choose among columns whose gaps are filled with their mean, which is about 0."""
    filled = np.nan_to_num(gaps.seen)
    return baselines.rank(method, filled, np.zeros(len(filled)), k, seed)[:k]


def _error(gaps: Gaps, chosen: NDArray[np.int64], seed: int) -> float:
    """Train on some columns; where these are all, no others are left to choose from a path."""
    model = LassoNetImputer(columns=np.sort(chosen).tolist(), n_features_to_select=len(chosen), random_state=seed)
    return matrices.error(model.fit_transform(gaps.seen, X_val=gaps.val), gaps.test)


def page(store: Store) -> Section | None:
    """The paper's curve, the same as a table, and where it meets Soft-Impute."""
    found = store.all("fewer_columns")
    if not found:
        return None
    (data, *_) = names(found, "data")
    found = columns(found, data=data)
    text = (
        f"Error on test entries of {data} with k columns as inputs, from which all columns are filled; the split is that of "
        "the section on completion. The network is trained from scratch on the k columns that riata's path ranks best, that "
        "principal feature analysis (`pfa`) chooses among columns whose gaps are filled with their means, or that are drawn. "
        "An entry of a chosen column that is missing is filled from the others. `riata_at` is `at(n_features=k)`, without "
        "training again: the network for all columns, to which all others are gaps. The line is Soft-Impute on all columns. "
        f"{_meets(found)} In the paper, "
        "LassoNet is as good as Soft-Impute with about 40 of the 77 proteins."
    )
    return Section("Completion from fewer columns", text, [_picture(found), _table(found)])


def _reference(found: Sequence[Result]) -> float:
    """Mean error of Soft-Impute over the trials."""
    return float(np.mean(list({r["config"]["seed"]: r["scores"]["reference"] for r in found}.values())))


def _at(found: Sequence[Result], k: int) -> list[float]:
    """Return the errors with k columns, one per trial."""
    scores = [r["scores"] for r in found]
    return [s["errors"][s["counts"].index(k)] for s in scores if k in s["counts"]]


def _counts(found: Sequence[Result]) -> list[int]:
    return sorted({k for result in found for k in result["scores"]["counts"]})


def _meets(found: Sequence[Result]) -> str:
    """Say how few columns are enough, for each method."""
    parts = []
    for method in names(found, "method"):
        one = columns(found, method=method)
        enough = [k for k in _counts(one) if np.mean(_at(one, k)) <= _reference(one)]
        parts.append(f"{enough[0]} for {method}" if enough else f"none of those tried for {method}")
    return f"The smallest k whose mean error is at or below that of Soft-Impute: **{'; '.join(parts)}**."


def _picture(found: Sequence[Result]) -> Picture:
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for method in names(found, "method"):
        one = columns(found, method=method)
        values = [_at(one, k) for k in _counts(one)]
        axes.errorbar(
            _counts(one), [np.mean(v) for v in values], [error(v) for v in values], marker=".", **style(method)
        )
    axes.axhline(_reference(found), color="black", linestyle=":", label="soft_impute, all columns")
    axes.set_ylim(0)
    axes.set(xlabel="columns that are measured", ylabel="mean squared error, test entries")
    axes.legend()
    return Picture("fewer_columns", figure, "Error against the number of columns")


def _table(found: Sequence[Result]) -> Table:
    counts = _counts(found)
    rows = []
    for method in names(found, "method"):
        one = columns(found, method=method)
        rows.append([method, *(spread(_at(one, k)) for k in counts)])
    trials = {r["config"]["seed"] for r in found}
    rows.append(["(soft_impute, all columns)", *("" for _ in counts[1:]), f"{_reference(found):.3f}"])
    caption = f"Mean squared error on test entries with k columns, mean over {len(trials)} trials ± standard error"
    return Table(["method", *map(str, counts)], rows, caption)
