"""What M and training again do to riata's own accuracy with 50 features."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments import accuracy, ranking
from experiments.cells import Cell, Options, Result, Store
from experiments.page import Section, Table, columns, names, spread
from experiments.protocol import LEARNERS, N_FEATURES, score, widths
from riata import LassoNetClassifier

_M = 10.0
_VALUES = (0.0, 0.1, 1.0, 10.0, 100.0, 1e4)
_REFITS = ("no", "warm", "scratch")
_SEEDS = 3


def cells(options: Options) -> list[Cell]:
    """Every M without training again, and every way to train again at the default M."""
    values, refits = ((0.0, _M), ("no", "warm")) if options.quick else (_VALUES, _REFITS)
    variants = [*((M, "no") for M in values), *((_M, refit) for refit in refits if refit != "no")]
    return [
        Cell("ablation", data, "riata", seed, (("M", M), ("refit", refit)))
        for data in accuracy.some(options)
        for seed in options.seeds(_SEEDS)
        for M, refit in variants
    ]


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Fit to 50 features (half of them where there are fewer), and test the model and both learners on its features."""
    parts = ranking.parts(cell)
    d = parts.fit.X.shape[1]
    model = LassoNetClassifier(
        (widths(d)[0],),
        M=cell["M"],
        n_features_to_select=N_FEATURES if d > N_FEATURES else d // 2,
        refit=False if cell["refit"] == "no" else cell["refit"],
        random_state=cell.seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(*parts.fit, X_val=parts.val.X, y_val=parts.val.y)
    learners = score(parts.only(np.flatnonzero(model.selected_)), cell.seed)
    return {"riata": float(model.score(*parts.test)), **learners, "n_features": model.n_selected_}


def page(store: Store) -> Section | None:
    """One table over M and one over training again."""
    by_M = store.all("ablation", lambda config: config["refit"] == "no")
    by_refit = store.all("ablation", lambda config: config["M"] == _M)
    if not by_M:
        return None
    text = (
        f"Test accuracy with at most {N_FEATURES} features: of riata's own model, and of the two learners on its features. "
        "Mean over splits ± standard error."
    )
    tables = [
        _table(by_M, "M", "The hierarchy coefficient M, without training again"),
        _table(by_refit, "refit", f"Training again on the chosen features, at M = {_M:g}"),
    ]
    return Section("Ablation", text, tables)


def _table(found: Sequence[Result], key: str, caption: str) -> Table:
    data = names(found, "data")
    rows = []
    for value in names(found, key):
        for model in ("riata", *LEARNERS):
            seen = [[r["scores"][model] for r in columns(found, data=name, **{key: value})] for name in data]
            rows.append([f"{value:g}" if key == "M" else value, model, *map(spread, seen)])
    return Table([key, "model", *data], rows, caption)
