"""Features that matter only together: whether the model that `fit` leaves holds exactly these, and how well it predicts.

Three kinds of tables. Uniform columns with an xor, or a ring or xor (``synthetic``). Genotypes 0, 1, 2 of 1,000 loci, of which
two decide on a disease with a probability that depends on both and on neither alone; as many cases as controls. And a parity
of three columns.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments import synthetic
from experiments.cells import Cell, Options, Result, Store
from experiments.page import Section, Table, columns, mean, spread
from riata import LassoNetClassifier

_SEEDS, _QUICK_SEEDS = 10, 1
_N_TEST = 4_000
_N_LOCI, _N_PEOPLE = 1_000, 1_600
_HERITABILITIES = (0.1, 0.2, 0.4)
_RAREST = 0.05  # frequency of the rarer allele of a locus that plays no part; the others have up to 0.5
# Probability of the disease by the genotypes of two loci, up to a factor; alleles are equally frequent. Neither locus has an
# effect by itself: all rows and columns have the same mean, with weights 1/4, 1/2, 1/4.
_PENETRANCE = {
    "checkerboard": ((0.0, 1.0, 0.0), (1.0, 0.0, 1.0), (0.0, 1.0, 0.0)),  # Li and Reich (2000)
    "diagonal": ((0.0, 0.0, 1.0), (0.0, 0.5, 0.0), (1.0, 0.0, 0.0)),  # Frankel and Schork (1996)
}
_GENOTYPES = np.array([0.25, 0.5, 0.25])
_SETTINGS: dict[str, tuple[tuple[str, Any], ...]] = {
    "xor": (("p", 1024), ("p", 4096)),
    "both": (("p", 1024), ("p", 4096)),
    **{name: tuple(("heritability", h) for h in _HERITABILITIES) for name in _PENETRANCE},
    "parity": (("p", 20), ("p", 50)),
}
_QUICK = {"xor": (("p", 64),), "parity": (("p", 10),)}
_TITLES = {
    "xor": "an xor",
    "both": "ring or xor",
    "checkerboard": "genotypes, checkerboard",
    "diagonal": "genotypes, diagonal",
    "parity": "parity of three",
}


class _Sample(NamedTuple):
    """A table, rows to test on, and the columns that matter."""

    X: NDArray[np.floating]
    y: NDArray[np.int64]
    X_test: NDArray[np.floating]
    y_test: NDArray[np.int64]
    truth: NDArray[np.int64]


def scale(table: str, heritability: float) -> float:
    """Return the factor of a table of penetrances for a heritability h² = Var(f) / (K (1 − K)), K the mean of f."""
    f, weights = np.array(_PENETRANCE[table]), np.outer(_GENOTYPES, _GENOTYPES)
    K = float((weights * f).sum())
    variance = float((weights * np.square(f - K)).sum())
    return heritability * K / (variance + heritability * K**2)


def _genotypes(rng: np.random.Generator, table: str, heritability: float, n: int) -> tuple[NDArray, NDArray[np.int64]]:
    """Draw the two loci of as many cases as controls."""
    f = scale(table, heritability) * np.array(_PENETRANCE[table])
    y = np.arange(n) % 2
    pairs = np.empty(n, dtype=np.int64)
    for case in (0, 1):
        chance = np.outer(_GENOTYPES, _GENOTYPES) * (f if case else 1 - f)
        pairs[y == case] = rng.choice(9, int((y == case).sum()), p=(chance / chance.sum()).ravel())
    return np.stack(np.divmod(pairs, 3), axis=1), y


def _genetic(table: str, heritability: float, seed: int) -> _Sample:
    rng = np.random.default_rng([seed, *table.encode(), round(100 * heritability)])
    frequency = rng.uniform(_RAREST, 0.5, _N_LOCI)
    truth = np.sort(rng.choice(_N_LOCI, 2, replace=False))
    tables = []
    for n in (_N_PEOPLE, _N_TEST):
        X = rng.binomial(2, frequency, (n, _N_LOCI)).astype(np.float32)
        X[:, truth], y = _genotypes(rng, table, heritability, n)
        tables += [X, y]
    return _Sample(*tables, truth)


def _uniform(name: str, p: int, seed: int) -> _Sample:
    """Draw columns, and for the test other rows of the same columns."""
    drawn = synthetic.sample(name, p, seed)
    truth = np.array([column[0] for column in drawn.truth])
    x, y = synthetic.SIGNALS[name].draw(np.random.default_rng([seed, p, 1]), _N_TEST)
    X_test = np.random.default_rng([seed, p, 2]).random((_N_TEST, p), dtype=np.float32)
    X_test[:, truth] = x
    return _Sample(drawn.X, drawn.y, X_test, y, truth)


def _parity(p: int, seed: int) -> _Sample:
    rng = np.random.default_rng([seed, p, 3])
    truth = rng.choice(p, 3, replace=False)
    tables = []
    for n in (synthetic.N_ROWS, _N_TEST):
        X = rng.uniform(-1, 1, (n, p)).astype(np.float32)
        tables += [X, (np.prod(X[:, truth], axis=1) > 0).astype(np.int64)]
    return _Sample(*tables, truth)


def draw(cell: Cell) -> _Sample:
    """Draw the table of a cell."""
    if cell.data in _PENETRANCE:
        return _genetic(cell.data, cell["heritability"], cell.seed)
    return _parity(cell["p"], cell.seed) if cell.data == "parity" else _uniform(cell.data, cell["p"], cell.seed)


def cells(options: Options) -> list[Cell]:
    """One cell per kind of table, size or strength, and sample."""
    return [
        Cell("interactions", data, method, seed, (setting,))
        for data, settings in (_QUICK if options.quick else _SETTINGS).items()
        if options.data is None or data in options.data
        for setting in settings
        for method in options.among(["riata"])
        for seed in options.seeds(_SEEDS, _QUICK_SEEDS)
    ]


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Fit, and fit the same network on the true columns alone."""
    sample = draw(cell)
    start = time.perf_counter()
    model = LassoNetClassifier(random_state=cell.seed).fit(sample.X, sample.y)
    seconds = round(time.perf_counter() - start, 3)
    told = LassoNetClassifier(random_state=cell.seed, n_features_to_select=len(sample.truth), screening=None)
    told.fit(sample.X[:, sample.truth], sample.y)
    chosen, truth = set(np.flatnonzero(model.selected_).tolist()), set(sample.truth.tolist())
    found = model.interactions_.iloc[:, :3].to_numpy()
    return {
        "exact": chosen == truth,
        "n_found": len(chosen & truth),
        "n_true": len(truth),
        "n_selected": len(chosen),
        "accuracy": model.score(sample.X_test, sample.y_test),
        "accuracy_told": told.score(sample.X_test[:, sample.truth], sample.y_test),
        "interactions": [[int(j) for j in row if j is not None] for row in found],
        "seconds": seconds,
    }


def page(store: Store) -> Section | None:
    """A row per kind of table and setting."""
    found = store.all("interactions")
    if not found:
        return None
    rows = []
    for data in _TITLES:
        here = columns(found, data=data)
        for setting in sorted(
            {(key, r["config"][key]) for r in here for key in ("p", "heritability") if key in r["config"]}
        ):
            rows.append(_row(data, setting, [r["scores"] for r in columns(here, **dict([setting]))]))
    header = [
        "table",
        "",
        "exactly the true columns",
        "all true columns",
        "selected",
        "accuracy",
        "told the columns",
        "seconds",
    ]
    text = (
        f"The model that `LassoNetClassifier()` leaves. Xor, ring and parity: {synthetic.N_ROWS:,} rows of p uniform columns. "
        f"Genotypes: {_N_PEOPLE:,} people, half of them cases, {_N_LOCI:,} loci; two of them, without an effect of their own, "
        "decide with the heritability given (Li and Reich, 2000; Frankel and Schork, 1996). Beside it the accuracy of the same "
        f"network that is given the true columns only, on {_N_TEST:,} other rows."
    )
    return Section(
        "Features that matter only together", text, [Table(header, rows, "Mean over samples ± standard error")]
    )


def _row(data: str, setting: tuple[str, Any], scores: Sequence[dict[str, Any]]) -> list[str]:
    n = len(scores)
    return [
        _TITLES[data],
        f"{setting[0]} = {setting[1]:,}",
        f"{sum(s['exact'] for s in scores)} of {n}",
        f"{sum(s['n_found'] == s['n_true'] for s in scores)} of {n}",
        f"{np.mean([s['n_selected'] for s in scores]):.1f}",
        spread([s["accuracy"] for s in scores]),
        spread([s["accuracy_told"] for s in scores]),
        f"{mean([s['seconds'] for s in scores]):.1f}",
    ]
