"""A graph of ONNX that grows node by node."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Graph", "type_of"]


class Graph:
    """Nodes and constants, in the order in which they are added.

    Parameters
    ----------
    inputs : list of str
        Names of the inputs.
    """

    def __init__(self, inputs: list[str]):
        self.inputs = inputs
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._taken = set(inputs)

    def named(self, name: str) -> str:
        """Return a name that no other value has."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def constant(self, values: Any) -> str:
        """Add an array; text becomes objects, as ONNX has no lengths of text."""
        from onnx import numpy_helper

        array = np.asarray(values)
        name = self.named(f"constant {len(self.constants)}")
        self.constants.append(numpy_helper.from_array(array.astype(object) if array.dtype.kind == "U" else array, name))
        return name

    def __call__(
        self, op: str, *inputs: Any, output: str = "", unused: int = 0, domain: str = "", **attributes: Any
    ) -> str:
        """Add a node; inputs that are not names are constants. Return the name of its output, the first of several."""
        from onnx import helper

        given = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        output = output or self.named(f"{op} {len(self.nodes)}")
        others = [self.named(f"{output} {k}") for k in range(1, unused + 1)]
        self.nodes.append(helper.make_node(op, given, [output, *others], domain=domain, **attributes))
        return output

    def numbers(self, flags: str) -> str:
        """Return 1 for true, 0 for false."""
        return self("Cast", flags, to=type_of("DOUBLE"))


def type_of(name: str) -> int:
    """Return the number that ONNX has for a type."""
    from onnx import TensorProto

    return int(getattr(TensorProto, name))
