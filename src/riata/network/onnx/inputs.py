"""From the inputs of the graph to those of the network: the preparation of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riata.network.onnx.fitted import Fitted
from riata.network.onnx.graph import Graph
from riata.network.tables import CodeTable
from riata.preprocess.expansion import FARTHEST

__all__ = ["by_column", "distinct", "network_inputs"]

_ML = "ai.onnx.ml"


def distinct(names: Sequence[str]) -> list[str]:
    """Return names for inputs: not empty, and each once."""
    found: list[str] = []
    for i, name in enumerate(names):
        new = name or f"x{i}"
        while new in found:
            new += "_"
        found.append(new)
    return found


def by_column(graph: Graph, tables: dict[int, CodeTable]) -> str:
    """Return the columns side by side, with codes in the place of text."""
    columns = list(graph.inputs)
    for i, table in tables.items():
        if table.is_text:
            codes = dict(zip(map(str, table.levels), table.codes.tolist(), strict=True))
            codes.setdefault("", table.missing)  # there is no missing text in ONNX
            found = graph(
                "LabelEncoder",
                columns[i],
                domain=_ML,
                keys_strings=list(codes),
                values_int64s=list(codes.values()),
                default_int64=-1,
            )
            columns[i] = graph.numbers(found)
    return graph("Concat", *columns, axis=1)


def network_inputs(graph: Graph, columns: str, features: NDArray[np.int64], fitted: Fitted) -> str:
    """Return the inputs of the network, as :meth:`riata.preprocess.scaling.Scaling.apply` does."""
    for i, table in enumerate(features.tolist()):
        found = next((each for each in fitted.tables if each.position == table and not each.is_text), None)
        if found is not None:
            columns = graph("Where", np.arange(len(features)) == i, _codes(graph, columns, i, found), columns)
    here, learnt, scaling = fitted.weights.columns, fitted.preprocessing.expansion, fitted.preprocessing.scaling
    given = graph("Gather", columns, np.searchsorted(features, learnt.source[here]), axis=1)
    missing = graph("IsNaN", given)
    Z = graph("Where", missing, 0.0, given)
    if not learnt.trivial:
        Z = _expanded(graph, Z, missing, fitted)
    scale = np.where(scaling.scale[here] > 0, scaling.scale[here], np.inf)
    Z = graph("Div", graph("Sub", Z, scaling.center[here]), scale)
    if np.isfinite(scaling.limit):
        Z = graph("Clip", Z, -scaling.limit, scaling.limit)
    return graph("Where", graph("And", missing, ~learnt.marks[here]), 0.0, Z)


def _codes(graph: Graph, columns: str, i: int, table: CodeTable) -> str:
    """Return the codes of a column of numbers that are levels, (n, 1)."""
    column = graph("Gather", columns, np.array([i]), axis=1)
    code: Any = np.full((1, 1), -1.0)
    if table.levels:
        same = graph.numbers(graph("Equal", column, table.numbers))
        code = graph("Sub", graph("MatMul", same, (table.codes + 1.0)[:, None]), 1.0)
    return graph("Where", graph("IsNaN", column), float(table.missing), code)


def _expanded(graph: Graph, Z: str, missing: str, fitted: Fitted) -> str:
    """Return columns as :class:`riata.preprocess.expansion.Expansion` does; those that are missing hold any number."""
    learnt, here = fitted.preprocessing.expansion, fitted.weights.columns
    source = learnt.source[here]
    median, unit, level = learnt.median[source], learnt.unit[source], learnt.level[here]
    if np.isfinite(unit).any():
        far = graph("Clip", graph("Sub", graph("Div", Z, unit), median / unit), -FARTHEST, FARTHEST)
        Z = graph("Where", np.isfinite(unit), _arcsinh(graph, far), Z)
    if not np.isnan(level).all():
        known = graph("Where", graph("Less", Z, 0.0), learnt.share[here], graph.numbers(graph("Equal", Z, level)))
        marked = graph("Where", np.isinf(level), graph.numbers(missing), known)
        Z = graph("Where", ~np.isnan(level), marked, Z)
    Z = graph("Div", graph("Sub", Z, learnt.low[here]), learnt.width[here])
    return graph("Max", graph("Min", Z, learnt.ceiling[here]), learnt.floor[here])


def _arcsinh(graph: Graph, x: str) -> str:
    """Return sign(x) log(|x| + √(x² + 1)), without squares that overflow: onnxruntime has no Asinh of float64."""
    size = graph("Abs", x)
    m = graph("Max", size, 1.0)
    ratio, rest = graph("Div", size, m), graph("Div", 1.0, m)
    root = graph("Mul", m, graph("Sqrt", graph("Add", graph("Mul", ratio, ratio), graph("Mul", rest, rest))))
    return graph("Mul", graph("Sign", x), graph("Log", graph("Add", size, root)))
