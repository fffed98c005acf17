"""Ordinary tables with added columns: which methods tell the table's own columns from those that add nothing.

The benchmark of Cherepanova et al., "A Performance-Driven Benchmark for Feature Selection in Tabular Deep Learning" (NeurIPS
2023), on tables of mixed kinds. riata runs by default on the columns as they are.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from experiments import added, protocol
from experiments.baselines import trees
from experiments.baselines.tables import METHODS, N_TREES, PREDICT, REFERENCE_ROWS, Fitted, fit, lassonet, normal_scores
from experiments.baselines.task import Task, by
from experiments.cells import Cell, Options, Result, Store
from experiments.data import TABLES, here, path
from experiments.page import Section, Table, columns, names, number, spread
from experiments.protocol import Part, Split

N_ROWS = 10_000  # most rows of a table, those to test on included
COUNTS = (5, 10)  # of columns that models with few of them have
_SEEDS = 3
_WIDTHS = (32, 128)  # of the learner's hidden layer
_QUICK_ROWS, _QUICK_DATA, _QUICK_ADDED = 1_000, ("churn", "fried"), ((added.NONE, 0), ("corrupted", 75))
_SLOW = ("lassonet", "stg", "deep_lasso")  # left out of quick runs
_AT = 75  # per cent of added columns in the tables of single data sets


def cells(options: Options) -> list[Cell]:
    """One cell per table, kind and share of added columns, method and split."""
    settings = [(added.NONE, 0), *((kind, share) for kind in added.KINDS for share in added.SHARES)]
    n_rows = _QUICK_ROWS if options.quick else N_ROWS
    return [
        Cell("tables", data, method, seed, (("added", kind), ("share", share), ("rows", n_rows)))
        for data in _data(options)
        for kind, share in (_QUICK_ADDED if options.quick else settings)
        for method in options.among(METHODS, _SLOW)
        if kind != added.NONE or method in PREDICT  # a ranking says nothing where all columns are the table's own
        for seed in options.seeds(_SEEDS)
    ]


def _data(options: Options) -> list[str]:
    """Return the tables asked for, or those whose files are here; say which are not."""
    if options.data is not None:
        return [name for name in TABLES if name in options.data]
    wanted = _QUICK_DATA if options.quick else TABLES
    for name in wanted:
        if not here(name):
            print(f"tables: {name} is left out, there is no {path(name)}")
    return [name for name in wanted if here(name)]


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Fit a method, score its importances, its first columns and its model."""
    table = added.draw(cell.data, cell["added"], cell["share"], cell["rows"], cell.seed)
    X, y = table.training
    task = Task(X, y, int(table.original.sum()), cell.seed)
    start = time.perf_counter()
    fitted = fit(cell.method, task)
    seconds = round(time.perf_counter() - start, 3)
    found: dict[str, Any] = {"n_columns": task.d, "n_original": task.k, "n_training": len(y)}
    if fitted.importances is None:
        scores = learners(table.parts, np.arange(task.d), cell.seed)
        return {**found, **scores, "score": scores["network"], "n_kept": task.d}
    found["seconds"] = seconds
    found["importances"] = [float(f"{value:.6g}") for value in fitted.importances]
    if cell["added"] != added.NONE:
        found["original"] = np.flatnonzero(table.original).tolist()
        found["auc"] = auc(fitted.importances, table.original)
        found |= learners(table.parts, by(fitted.importances)[: task.k], cell.seed)
    if fitted.model is not None:
        found |= {"score": _score(fitted.model, table.parts.test), "n_kept": fitted.n_kept}
    if cell["added"] == added.NONE and cell.method in _FEW:
        found["few"] = {str(k): _FEW[cell.method](fitted, task, k, table.parts.test) for k in COUNTS}
    return found


def auc(importances: NDArray, original: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve of importances for telling a table's own columns from added ones."""
    return float(roc_auc_score(original, importances))


def learners(parts: Split, features: NDArray[np.integer], seed: int) -> dict[str, float]:
    """Return the test score of a network and of boosted trees on some columns."""
    parts = parts.only(features)
    scores = normal_scores(len(parts.fit.X)).fit(parts.fit.X)
    scaled = Split(*(Part(scores.transform(part.X).astype(np.float32), part.y) for part in parts))
    training = (np.concatenate(pair) for pair in zip(parts.fit, parts.val, strict=True))
    boosted = trees.boosted(Task(*training, len(features), seed))
    return {"network": protocol.network(scaled, seed, _WIDTHS), "trees": _score(boosted, parts.test)}


def _score(model: Any, test: Part) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LightGBM names columns where none have names, and misses the names it gave
        return protocol.quality(test.y, model.predict(test.X))


def _few_riata(fitted: Fitted, task: Task, k: int, test: Part) -> dict[str, Any]:
    """Score the path's densest model of at most k columns, and the same network trained on these columns alone."""
    few = fitted.model.at(n_features=min(k, fitted.model.n_features_in_))
    chosen = np.flatnonzero(few.selected_)
    found = {"score": _score(few, test), "n_kept": len(chosen), "scratch": None}
    if len(chosen):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alone = lassonet(task, n_features_to_select=len(chosen)).fit(task.X[:, chosen], task.y)
        found["scratch"] = _score(alone.at(lambda_=0), Part(test.X[:, chosen], test.y))
    return found


def _few_forest(fitted: Fitted, task: Task, k: int, test: Part) -> dict[str, Any]:
    """Score a forest of the forest's k best columns."""
    assert fitted.importances is not None
    chosen = by(fitted.importances)[:k]
    alone = trees.fit_forest(task._replace(X=task.X[:, chosen]), N_TREES)
    return {"score": _score(alone, Part(test.X[:, chosen], test.y)), "n_kept": len(chosen)}


_FEW = {"riata": _few_riata, "forest": _few_forest}


# The page.


def page(store: Store) -> Section | None:
    """Tables of means over data sets, of single data sets, and of the tables as they are."""
    found = store.all("tables")
    if not found:
        return None
    more = [result for result in found if result["config"]["added"] != added.NONE]
    kinds = [kind for kind in added.KINDS if columns(more, added=kind)]
    blocks = []
    if more:
        blocks.append(_means(more, "all kinds"))
        if common(more)[1]:
            blocks.append(_means(_shared(more), "all kinds, on the cells that all methods have"))
        blocks += [_means(columns(more, added=kind), kind) for kind in kinds]
        blocks += [_by_data(columns(more, added=kind, share=_AT), kind) for kind in kinds]
    blocks += [_as_they_are(columns(found, added=added.NONE))] if columns(found, added=added.NONE) else []
    return Section("Ordinary tables with added columns", _text(found), blocks)


def _text(found: Sequence[Result]) -> str:
    missing = [name for name in TABLES if name not in names(found, "data")]
    n_rows = " or ".join(f"{n:,}" for n in names(found, "rows"))
    return (
        "The benchmark of Cherepanova et al. (NeurIPS 2023) on tables of mixed kinds: columns are added that make up 50 or 75 "
        "per cent of all. `random` ones are N(0, 1); `corrupted` ones are copies, 0.5 x + 0.5 noise of the column's standard "
        "deviation; `second_order` ones are products of two standardised columns. ROC-AUC is that of the importances, for "
        f"telling the table's own columns from added ones. At most {n_rows} rows are drawn, a fifth of them to test on. "
        "Scores are accuracy, or R² for regression; means are over both. The first k columns, as many as the table has of its "
        "own, go to a network (one hidden layer of 32 or 128 units, normal scores) and to boosted trees; the chosen model is "
        "the method's own. `riata` has default settings and gets the columns as they are. `lassonet` (standardised columns, "
        f"its defaults, at most {REFERENCE_ROWS:,} training rows to bound its time) is at its point of lowest validation loss. "
        f"`lasso` is scikit-learn's, cross-validated; `forest` has {N_TREES} trees; `boosting` is LightGBM "
        "with its gains; `all` is the network with all columns. ± is the standard error over seeds."
        + (f" Without results: {', '.join(missing)}." if missing else "")
    )


def _methods(found: Sequence[Result]) -> list[str]:
    return [method for method in METHODS if columns(found, method=method)]


def _place(result: Result) -> tuple[Any, ...]:
    """Return what was the same for all methods."""
    return tuple(result["config"][key] for key in ("data", "added", "share", "rows", "seed"))


def common(found: Sequence[Result]) -> tuple[dict[str, dict[tuple[Any, ...], Result]], list[str]]:
    """Return each method's results by place, and which methods have fewer than others."""
    placed = {method: {_place(r): r for r in columns(found, method=method)} for method in _methods(found)}
    most = max(map(len, placed.values()), default=0)
    return placed, [method for method, results in placed.items() if len(results) < most]


def _shared(found: Sequence[Result]) -> list[Result]:
    """Return the results at places that all methods have."""
    placed, _ = common(found)
    places = set.intersection(*map(set, placed.values()))
    return [result for result in found if _place(result) in places]


def mean_ranks(placed: dict[str, dict[tuple[Any, ...], Result]], lacking: Iterable[str]) -> dict[str, float]:
    """Return the mean rank of each method's ROC-AUC, 1 for the largest; equal ones share their ranks."""
    ranked = {
        method: results
        for method, results in placed.items()
        if method not in lacking and results and all("auc" in r["scores"] for r in results.values())
    }
    if not ranked:
        return {}
    places = sorted(next(iter(ranked.values())))
    values = np.array([[results[place]["scores"]["auc"] for place in places] for results in ranked.values()])
    return dict(zip(ranked, rankdata(-values, axis=0).mean(axis=1).tolist(), strict=True))


def _per_seed(results: Iterable[Result], value: Callable[[dict[str, Any]], float | None]) -> list[float]:
    """Average over data sets, kinds and shares, seed by seed."""
    seeds: dict[int, list[float]] = {}
    for result in results:
        if (entry := value(result["scores"])) is not None:
            seeds.setdefault(result["config"]["seed"], []).append(entry)
    return [float(np.mean(values)) for _, values in sorted(seeds.items())]


def _means(found: Sequence[Result], kind: str) -> Table:
    placed, lacking = common(found)
    ranks = mean_ranks(placed, lacking)
    rows = []
    for method, results in placed.items():
        spreads = [spread(_per_seed(results.values(), _entry(key))) for key in ("auc", "network", "trees", "score")]
        kept, seconds = (_per_seed(results.values(), _entry(key)) for key in ("n_kept", "seconds"))
        rank = f"{ranks[method]:.2f}" if method in ranks else "–"
        name = f"({method})" if method in lacking else method
        rows.append([name, str(len(results)), spreads[0], rank, *spreads[1:], spread(kept, 1), _seconds(seconds)])
    header = ["method", "cells", "ROC-AUC", "mean rank", "first k: network", "first k: trees"]
    header += ["chosen model", "columns it keeps", "seconds to fit"]
    own = list({result["config"]["data"]: result["scores"]["n_original"] for result in found}.values())
    note = "; in brackets, and without a rank: fewer cells" if lacking else ""
    caption = (
        f"Added columns: {kind}; {len(names(found, 'data'))} data sets, {np.mean(own):.1f} own columns on average{note}"
    )
    return Table(header, rows, caption)


def _entry(key: str) -> Callable[[dict[str, Any]], float | None]:
    return lambda scores: scores.get(key)


def _seconds(values: Sequence[float]) -> str:
    return number(float(np.mean(values))) if values else "–"


def _by_data(found: Sequence[Result], kind: str) -> Table:
    data = [name for name in TABLES if columns(found, data=name)]
    rows = []
    for method in _methods(found):
        values = [[r["scores"].get("auc") for r in columns(found, method=method, data=name)] for name in data]
        if any(v is not None for line in values for v in line):
            rows.append([method, *(spread([v for v in line if v is not None]) for line in values)])
    return Table(["method", *data], rows, f"ROC-AUC, {_AT} % of the columns added: {kind}")


def _as_they_are(found: Sequence[Result]) -> Table:
    """Compare models on the tables without added columns."""
    shown = [
        *((f"{m}", m, _entry("score"), 3) for m in PREDICT if columns(found, method=m)),
        ("columns", "riata", _entry("n_columns"), 0),
        ("riata keeps", "riata", _entry("n_kept"), 1),
    ]
    for k in COUNTS:
        shown += [(f"riata at {k}", "riata", _few(k, "score"), 3), ("from scratch", "riata", _few(k, "scratch"), 3)]
        shown.append((f"forest at {k}", "forest", _few(k, "score"), 3))
    shown += [(f"seconds, {m}", m, _entry("seconds"), 1) for m in ("riata", "forest")]
    data = [name for name in TABLES if columns(found, data=name)]
    rows = []
    for name in data:
        lines = [_per_seed(columns(found, data=name, method=m), value) for _, m, value, _ in shown]
        digits = [places for *_, places in shown]
        texts = [spread(v, n) if n == 3 else _plain(v, n) for v, n in zip(lines, digits, strict=True)]
        rows.append([name, *texts])
    caption = (
        "Tables as they are: test score of the chosen model; of riata's path at k columns, of the same network trained "
    )
    caption += "from scratch on these, of a forest on its own best k"
    return Table(["data set", *(header for header, *_ in shown)], rows, caption)


def _few(k: int, key: str) -> Callable[[dict[str, Any]], float | None]:
    return lambda scores: scores.get("few", {}).get(str(k), {}).get(key)


def _plain(values: Sequence[float], digits: int) -> str:
    return f"{np.mean(values):.{digits}f}" if values else "–"
