"""From the inputs of the network to predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from riata.losses.rates import LARGEST
from riata.network.head import Block, Head
from riata.network.onnx.fitted import Fitted
from riata.network.onnx.graph import Graph, type_of
from riata.network.stacked import Network, Weights

__all__ = ["Results", "network_outputs", "predictions"]

Results = dict[str, tuple[int, list[Any]]]  # name, type and shape of each result


def network_outputs(graph: Graph, Z: str, network: Network, fitted: Fitted) -> str:
    """Return the outputs of the network on the scale of the target."""
    weights, scaling = fitted.weights, fitted.target_scaling
    rows = np.hstack([weights.skip, weights.first]).astype(np.float64)
    upper = weights.upper[: network.n_upper].astype(np.float64)
    layers = network.layers(Weights(torch.from_numpy(rows)[None], torch.from_numpy(upper)[None]))
    skip, h = graph("MatMul", Z, rows[:, : network.n_outputs]), graph("MatMul", Z, rows[:, network.n_outputs :])
    for bias, matrix in zip(layers.biases, layers.matrices, strict=False):
        h = graph("MatMul", graph("Relu", graph("Add", h, bias[0].numpy())), matrix[0].numpy())
    h = graph("Add", h, layers.biases[-1][0].numpy())
    return graph("Add", graph("Mul", graph("Add", skip, h), scaling.scale), scaling.center)


def predictions(graph: Graph, output: str, head: Head) -> Results:
    """Add the predictions; return the results of the graph."""
    if head.classes is not None:
        return _classified(graph, output, head.blocks[0], head.classes)
    output = graph("Add", output, head.offset) if head.offset else output
    stops = np.cumsum([block.n for block in head.blocks])
    parts = [
        _numbers(graph, graph("Slice", output, np.array([stop - b.n]), np.array([stop]), np.array([1])), b)
        for b, stop in zip(head.blocks, stops, strict=True)
    ]
    name = graph.named(head.name)
    if head.flat:
        graph("Squeeze", graph("Concat", *parts, axis=1), np.array([1]), output=name)
        return {name: (type_of("DOUBLE"), ["n"])}
    graph("Concat", *parts, axis=1, output=name)
    return {name: (type_of("DOUBLE"), ["n", int(stops[-1])])}


def _numbers(graph: Graph, output: str, block: Block) -> str:
    if block.kind == "exp":
        return graph("Exp", graph("Clip", output, -LARGEST, LARGEST))
    if block.kind == "sorted" and block.width > 1:
        groups = graph("Reshape", output, np.array([-1, block.n // block.width, block.width]))
        ascending = graph("TopK", groups, np.array([block.width]), axis=2, largest=0, unused=1)
        return graph("Reshape", ascending, np.array([-1, block.n]))
    return output


def _classified(graph: Graph, logits: str, block: Block, classes: NDArray[Any]) -> Results:
    """Add the classes and their probabilities."""
    label, probability = graph.named("label"), graph.named("probability")
    values = _plain(classes)
    type_ = type_of({"O": "STRING", "b": "BOOL", "i": "INT64", "f": "DOUBLE"}[values.dtype.kind])
    found: Results = {label: (type_, ["n"]), probability: (type_of("DOUBLE"), ["n", len(classes)])}
    if block.kind == "labels":
        graph("Sigmoid", logits, output=probability)
        graph("Cast", graph("Greater", logits, 0.0), to=type_, output=label)
        return {**found, label: (type_, ["n", len(classes)])}
    if block.kind == "pair":
        positive = graph("Sigmoid", logits)
        graph("Concat", graph("Sub", 1.0, positive), positive, axis=1, output=probability)
        codes = graph("Squeeze", graph("Cast", graph("Greater", logits, 0.0), to=type_of("INT64")), np.array([1]))
    else:
        scores = _steps(graph, logits) if block.kind == "steps" else logits
        graph(*(("Exp", scores) if block.kind == "steps" else ("Softmax", scores)), output=probability)
        codes = graph("ArgMax", scores, axis=1, keepdims=0)
    graph("Gather", values, codes, output=label)
    return found


def _steps(graph: Graph, logits: str) -> str:
    """Return the logarithms of the probabilities of classes in an order."""

    def log_sigmoid(x: str) -> str:  # min(x, 0) − log(1 + exp(−|x|))
        tail = graph("Log", graph("Add", graph("Exp", graph("Neg", graph("Abs", x))), 1.0))
        return graph("Sub", graph("Min", x, 0.0), tail)

    start = graph("Mul", graph("Gather", logits, np.array([0]), axis=1), 0.0)
    reached = graph("Concat", start, graph("CumSum", log_sigmoid(logits), np.array(1)), axis=1)
    return graph("Add", reached, graph("Concat", log_sigmoid(graph("Neg", logits)), start, axis=1))


def _plain(classes: NDArray[Any]) -> NDArray[Any]:
    """Return classes in one of the types that ONNX has, or refuse them."""
    values = classes.tolist()
    if all(isinstance(value, str) for value in values):
        return np.array(values, dtype=object)
    if all(isinstance(value, bool) for value in values):
        return np.array(values)
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return np.array(values, dtype=np.int64)
    if all(isinstance(value, float) for value in values):
        return np.array(values, dtype=np.float64)
    kinds = ", ".join(sorted({type(value).__name__ for value in values}))
    raise ValueError(
        f"classes of the types {kinds} cannot be written as ONNX: convert y before fit, as with astype(str)"
    )
