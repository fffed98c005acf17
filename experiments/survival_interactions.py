"""Survival times of which the hazard is no sum of straight lines: whether the true columns are found.

The logarithm of the hazard is a product of two columns, a sum of two parabolas, or a product, a parabola and a straight line
together. Times are exponential, and so are the times of censoring, which come first for three tenths of the samples.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from experiments.baselines.survival import OWN_SCALING, Floats, Task, concordance, fit
from experiments.cells import Cell, Options, Result, Store
from experiments.page import Section, Table, columns, mean, spread
from experiments.survival_data import Split, target

METHODS = ("riata", "coxnet")
_SEEDS, _QUICK_SEEDS = 10, 1
_N, _D, _QUICK_D = 600, 500, 20
_N_TEST = 2_000
_CENSORED = 0.3
_N_CALIBRATION = 50_000


class Design(NamedTuple):
    """The logarithm of the hazard, of the true columns alone, (n, k), which are N(0, 1)."""

    title: str
    k: int
    log_hazard: Callable[[Floats], Floats]


# Strengths are such that the true log hazard has a concordance of 0.75 to 0.8.
DESIGNS = {
    "interaction": Design("a product, 2 x₀ x₁", 2, lambda x: 2 * x[:, 0] * x[:, 1]),
    "u_shaped": Design("two parabolas, 0.8 (x₀² + x₁²)", 2, lambda x: 0.8 * (x[:, 0] ** 2 + x[:, 1] ** 2 - 2)),
    "mixed": Design(
        "x₀ x₁ + 0.6 x₂² + 0.7 x₃",
        4,
        lambda x: x[:, 0] * x[:, 1] + 0.6 * (x[:, 2] ** 2 - 1) + 0.7 * x[:, 3],
    ),
}


class Sample(NamedTuple):
    """A table, other samples to test on, the true columns, and the test samples' true log hazards."""

    parts: Split
    truth: NDArray[np.int64]
    log_hazard: Floats


def draw(name: str, d: int, seed: int) -> Sample:
    """Draw a table of 600 samples, and 2,000 samples to test on."""
    design = DESIGNS[name]
    rng = np.random.default_rng([seed, d, *name.encode()])
    truth = np.sort(rng.choice(d, design.k, replace=False))
    tables, log_hazard = [], np.empty(0)
    for n in (_N, _N_TEST):
        X = rng.standard_normal((n, d)).astype(np.float32)
        log_hazard = design.log_hazard(X[:, truth].astype(np.float64))
        event_time = rng.exponential(np.exp(-log_hazard))
        censored = rng.exponential(1 / censoring_rate(name), n)
        tables += [X, target(event_time <= censored, np.minimum(event_time, censored))]
    return Sample(Split(*tables), truth, log_hazard)


@cache
def censoring_rate(name: str) -> float:
    """Return the rate of censoring at which it comes before the event for three tenths of the samples.

    Of two exponential times with rates c and h the first is the earlier one with probability c / (c + h).
    """
    design = DESIGNS[name]
    hazard = np.exp(design.log_hazard(np.random.default_rng(0).standard_normal((_N_CALIBRATION, design.k))))
    log_rate = brentq(lambda log_c: np.mean(np.exp(log_c) / (np.exp(log_c) + hazard)) - _CENSORED, -20, 20)
    return float(np.exp(log_rate))


def cells(options: Options) -> list[Cell]:
    """One cell per design, method and table."""
    return [
        Cell("survival_interactions", name, method, seed, (("p", _QUICK_D if options.quick else _D),))
        for name in DESIGNS
        if options.data is None or name in options.data
        for method in options.among(METHODS)
        for seed in options.seeds(_SEEDS, _QUICK_SEEDS)
    ]


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Fit, and compare the columns of the model with the true ones."""
    sample = draw(cell.data, cell["p"], cell.seed)
    parts = sample.parts if cell.method in OWN_SCALING else sample.parts.standardised()
    start = time.perf_counter()
    model = fit(cell.method, Task(parts.X, parts.y, cell.seed))
    seconds = round(time.perf_counter() - start, 3)
    chosen, truth = set(model.features.tolist()), set(sample.truth.tolist())
    return {
        "exact": chosen == truth,
        "n_found": len(chosen & truth),
        "n_true": len(truth),
        "n_selected": len(chosen),
        "concordance": concordance(parts.y_test, model.risk(parts.X_test)),
        "concordance_true": concordance(parts.y_test, sample.log_hazard),
        "censored": float(1 - parts.y["event"].mean()),
        "features": sorted(chosen),
        "truth": sorted(truth),
        "seconds": seconds,
    }


def page(store: Store) -> Section | None:
    """A row per design and method."""
    found = store.all("survival_interactions")
    if not found:
        return None
    rows = [
        _row(name, method, [result["scores"] for result in one])
        for name in DESIGNS
        for method in METHODS
        if (one := columns(found, data=name, method=method))
    ]
    header = ["log hazard", "method", "exactly the true columns", "all true columns", "true columns found", "selected"]
    header += ["concordance", "of the true hazard", "seconds"]
    sizes = " or ".join(f"{p:,}" for p in sorted({result["config"]["p"] for result in found}))
    text = (
        f"Tables of {_N} samples and {sizes} Gaussian columns, of which two or four decide on the hazard; {_CENSORED:.0%} of "
        f"the times are censored. Concordance is on {_N_TEST:,} other samples, beside that of the true hazard. `riata` is "
        "`LassoNetCoxRegressor()`; `coxnet` is the lasso of scikit-survival, with the α of highest concordance over five folds."
    )
    return Section(
        "Survival times without straight lines", text, [Table(header, rows, "Mean over tables ± standard error")]
    )


def _row(name: str, method: str, scores: Sequence[dict[str, Any]]) -> list[str]:
    n = len(scores)
    return [
        DESIGNS[name].title,
        method,
        f"{sum(s['exact'] for s in scores)} of {n}",
        f"{sum(s['n_found'] == s['n_true'] for s in scores)} of {n}",
        f"{np.mean([s['n_found'] for s in scores]):.1f} of {scores[0]['n_true']}",
        f"{np.mean([s['n_selected'] for s in scores]):.1f}",
        spread([s["concordance"] for s in scores]),
        spread([s["concordance_true"] for s in scores]),
        f"{mean([s['seconds'] for s in scores]):.1f}",
    ]
