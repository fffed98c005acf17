"""A fitted model as an ONNX graph: the columns that it takes, their preparation, the network, and the head, all in float64."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from riata.network.constant import WithConstants
from riata.network.onnx.fitted import Fitted
from riata.network.onnx.graph import Graph, type_of
from riata.network.onnx.inputs import by_column as columns_of
from riata.network.onnx.inputs import distinct, network_inputs
from riata.network.onnx.outputs import Results, network_outputs, predictions
from riata.network.stacked import Network
from riata.network.tables import CodeTable

__all__ = ["onnx_model"]

_OPSET, _ML_OPSET, _IR = 17, 2, 8  # those of onnxruntime 1.12, and every later one
_ML = "ai.onnx.ml"


def onnx_model(fitted: Fitted) -> Any:
    """Return the model as a ``ModelProto``.

    Its input is X, (n, n_features), in float64. Where columns hold text, each selected column is an input of its own, (n, 1),
    of text or of float64, with the name of the column. Its outputs are the predictions and, of a classifier, the labels.
    """
    network = fitted.network.network if isinstance(fitted.network, WithConstants) else fitted.network
    if not isinstance(network, Network):
        raise ValueError(
            "a network of your own is not written as ONNX: give to_torch() to torch.onnx.export, or use exported_program()"
        )
    features = np.unique(fitted.weights.features)
    by_column = any(table.is_text for table in fitted.tables)
    if by_column and not len(features):
        raise ValueError("the model has no features, and so no inputs: move it to another point with at(...)")
    graph = Graph(distinct([fitted.names[j] for j in features]) if by_column else ["X"])
    tables = {int(np.searchsorted(features, t.position)): t for t in fitted.tables if t.position in features}
    columns = columns_of(graph, tables) if by_column else graph("Gather", "X", graph.constant(features), axis=1)
    output = network_outputs(graph, network_inputs(graph, columns, features, fitted), network, fitted)
    found = predictions(graph, output, fitted.head)
    return _proto(graph, tables if by_column else None, found, fitted)


def _proto(graph: Graph, tables: Mapping[int, CodeTable] | None, found: Results, fitted: Fitted) -> Any:
    """Put the parts together, and check them."""
    from onnx import checker, helper

    info = helper.make_tensor_value_info
    inputs = [info("X", type_of("DOUBLE"), ["n", len(fitted.names)])]
    if tables is not None:
        text = {i for i, table in tables.items() if table.is_text}
        kinds = [type_of("STRING" if i in text else "DOUBLE") for i in range(len(graph.inputs))]
        inputs = [info(name, kind, ["n", 1]) for name, kind in zip(graph.inputs, kinds, strict=True)]
    outputs = [info(name, *result) for name, result in found.items()]
    body = helper.make_graph(graph.nodes, "riata", inputs, outputs, graph.constants)
    model = helper.make_model(
        body,
        opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(_ML, _ML_OPSET)],
        ir_version=_IR,
        producer_name="riata",
        producer_version=version("riata"),
    )
    selected = [fitted.names[j] for j in np.unique(fitted.weights.features)]
    names = {"columns": list(fitted.names), "selected": selected}
    helper.set_model_props(model, {key: json.dumps(each, ensure_ascii=False) for key, each in names.items()})
    checker.check_model(model, full_check=True)
    return model
