"""Accuracy with 50 features: the paper's table for networks, and its appendix's for trees."""

from __future__ import annotations

from collections.abc import Sequence

from experiments import accuracy, published
from experiments.cells import Cell, Options, Result, Store
from experiments.page import Section, Table, columns, mean, names, spread
from experiments.protocol import LEARNERS, N_FEATURES

_TITLES = {"network": "One-hidden-layer network", "trees": "50 extremely randomised trees"}


def cells(options: Options) -> list[Cell]:
    """One cell per data set, method and split."""
    return [
        accuracy.cell(data, method, seed, N_FEATURES)
        for data in accuracy.data(options)
        for method in accuracy.methods(options)
        for seed in accuracy.seeds(options, data)
    ]


def page(store: Store) -> Section | None:
    """One table per learner."""
    found = store.all("accuracy", lambda config: config.get("k", N_FEATURES) == N_FEATURES)
    if not found:
        return None
    return Section(
        f"Accuracy with {N_FEATURES} features",
        "Mean over splits ± standard error, on test rows. Rows in brackets are the paper's numbers for the same method, "
        "on splits of its own; the best method of a column is bold. A data set with fewer features than "
        f"{N_FEATURES} is used whole.",
        [_table(found, learner) for learner in LEARNERS],
    )


def _table(found: Sequence[Result], learner: str) -> Table:
    data = names(found, "data")
    rows = []
    best = {column: _best(found, learner, column) for column in data}
    for method in names(found, "method"):
        line = []
        for column in data:
            text = spread(_values(found, learner, column, method))
            line.append(f"**{text}**" if best[column] == method else text)
        rows.append([method, *line])
        paper = [published.accuracy(learner, column, method) for column in data]
        if any(value is not None for value in paper):
            rows.append([f"({method}, published)", *("–" if value is None else f"{value:.3f}" for value in paper)])
    rows.append(["splits", *(str(len({r["config"]["seed"] for r in columns(found, data=c)})) for c in data)])
    return Table(["method", *data], rows, _TITLES[learner])


def _values(found: Sequence[Result], learner: str, data: str, method: str) -> list[float]:
    return [result["scores"][learner] for result in columns(found, data=data, method=method)]


def _best(found: Sequence[Result], learner: str, data: str) -> str | None:
    means = {m: mean(_values(found, learner, data, m)) for m in names(found, "method") if m != "all"}
    known = {method: value for method, value in means.items() if value is not None}
    return max(known, key=known.__getitem__) if known else None
