"""Tables in which nothing interacts: how often the screening of interactions reports a pair all the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from experiments.cells import Cell, Options, Result, Store
from experiments.page import Section, Table, columns
from riata.preprocess import interactions, marginal

Draw = np.random.Generator
Floats = NDArray[np.float64]
N_SAMPLES, N_FEATURES, N_TABLES = 500, 50, 200
_STRENGTH = 1.5  # of each of the two features with a marginal effect, in standard deviations of the noise


def _copies(rng: Draw, shape: tuple[int, int]) -> Floats:
    source = rng.standard_normal((shape[0], -(-shape[1] // 2)))
    return np.hstack([source, source])[:, : shape[1]]


FEATURES: dict[str, Callable[[Draw, tuple[int, int]], Floats]] = {
    "normal": Draw.standard_normal,
    "lognormal": lambda rng, shape: rng.lognormal(size=shape),
    "t2": lambda rng, shape: rng.standard_t(2, shape),
    "binary": lambda rng, shape: (rng.random(shape) < 0.05).astype(np.float64),
    "codes": lambda rng, shape: rng.binomial(2, 0.3, shape).astype(np.float64),
    "copies": _copies,
}
TARGETS: dict[str, Callable[[Draw, Floats], Floats]] = {
    "normal": lambda rng, signal: (signal[:, 0] + rng.standard_normal(len(signal)))[:, None],
    "t2": lambda rng, signal: (signal[:, 0] + rng.standard_t(2, len(signal)))[:, None],
    "positives": lambda rng, signal: (signal[:, 0] + rng.logistic(size=len(signal)) > norm.isf(0.1) * 1.9)[:, None],
    "classes": lambda rng, signal: _three(rng, signal),
}


def _three(rng: Draw, signal: Floats) -> Floats:
    scores = np.column_stack([signal, np.zeros(len(signal))]) + rng.gumbel(size=(len(signal), 3))
    return (scores.argmax(axis=1)[:, None] == np.arange(3)).astype(np.float64)


def draw(features: str, target: str, *, marginal: bool, seed: int) -> tuple[Floats, Floats]:
    """Draw a table without an interaction; with ``marginal``, its first two features have strong effects, which add up."""
    rng = np.random.default_rng([seed, *features.encode(), *target.encode(), marginal])
    X = FEATURES[features](rng, (N_SAMPLES, N_FEATURES))
    scores = norm.ppf((rankdata(X[:, :2], axis=0) - 0.5) / N_SAMPLES)
    effects_ = _STRENGTH * scores * marginal
    signal = effects_ if target == "classes" else effects_.sum(axis=1, keepdims=True)
    return X, TARGETS[target](rng, signal).astype(np.float64)


def reports(X: Floats, y: Floats) -> bool:
    """Say whether the screening reports any pair."""
    weights = np.ones(len(X))
    chance = marginal.measure(X, y, weights).p_values
    return bool(len(interactions.screen(X, y, weights, chance).features))


def cells(options: Options) -> list[Cell]:
    """One cell per kind of features and target, with and without marginal effects; a few in a quick run."""
    kinds = options.data or (("normal",) if options.quick else tuple(FEATURES))
    targets = ("normal",) if options.quick else tuple(TARGETS)
    return [
        Cell("nulls", features, "riata", 0, (("marginal", marginal), ("target", target)))
        for features in FEATURES
        if features in kinds
        for target in targets
        for marginal in (False, True)
    ]


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Count the tables of which a pair is reported."""
    drawn = (draw(cell.data, cell["target"], marginal=cell["marginal"], seed=seed) for seed in range(N_TABLES))
    return {"reported": sum(reports(X, y) for X, y in drawn), "tables": N_TABLES}


def page(store: Store) -> Section | None:
    """The share of tables with a report."""
    found = store.all("nulls")
    if not found:
        return None
    heads = [(target, marginal) for marginal in (False, True) for target in TARGETS]
    rows = []
    for features in FEATURES:
        cells_ = [columns(found, data=features, target=target, marginal=marginal) for target, marginal in heads]
        rows.append([features, *(_share(here) for here in cells_)])
    text = (
        f"Share of {N_TABLES} tables, each of {N_SAMPLES} samples and {N_FEATURES} features that do not interact, of which the "
        f"screening reports a pair at a corrected p-value below {interactions.ALPHA}. Binary features have 5 % ones, codes are "
        "0, 1, 2; targets are normal, heavy-tailed, 10 % positives, or three classes. In the last four columns two features "
        "have strong effects that add up."
    )
    labels = [f"{target}, marginal effects" if marginal else target for target, marginal in heads]
    return Section("Interactions where there are none", text, [Table(["features", *labels], rows, "")])


def _share(found: Sequence[Result]) -> str:
    return "–" if not found else f"{found[0]['scores']['reported'] / found[0]['scores']['tables']:.3f}"
