"""The command that writes a stored model as ONNX."""

from __future__ import annotations

from pathlib import Path

from riata.cli import options
from riata.cli.opening import open_model
from riata.cli.options import Job
from riata.cli.output import as_json, make_folder, print_json, print_text, reporting_errors
from riata.estimators.export import Exports
from riata.files import TableError, counted

__all__ = ["export"]

_TYPES = {11: "number", 8: "text"}  # of TensorProto: DOUBLE and STRING


def export(
    model: options.ModelFile, out: options.OutModel, json: options.AsJson = False, quiet: options.Quiet = False
) -> None:
    """Write MODEL as ONNX, with which other programs predict.

    It needs the extra onnx (pip install 'riata[onnx]'). The preparation of columns is part of the file: its inputs are numbers
    as they are in the table (dates as days since 1970, true as 1), and text. What riata reads from a csv file (units, decimal
    commas, marks of gaps) is not: give NaN for missing numbers and empty text for missing text.
    """
    with reporting_errors():
        if out.suffix.lower() != ".onnx":
            raise TableError(f"the name of an ONNX file ends in .onnx; got {out}")
        job, opened = Job(out, 0, quiet=quiet, json=json), open_model(model).model
        if not isinstance(opened, Exports):
            raise TableError(f"a {type(opened).__name__} cannot be exported: it predicts in several rounds")
        make_folder(out.parent)
        try:
            opened.to_onnx(out)
        except ImportError as error:
            raise TableError(str(error)) from None
        inputs = _inputs(out)
        print_text(job.console, f"Wrote {out}, with {counted(len(inputs), 'input')}")
        for name, kind, width in inputs:
            print_text(job.console, f"  {name}: {kind}, {counted(width, 'column')}")
        if json:
            described = [{"name": name, "kind": kind, "columns": width} for name, kind, width in inputs]
            print_json(as_json({"file": str(out), "inputs": described}))


def _inputs(path: Path) -> list[tuple[str, str, int]]:
    """Return the name, the kind and the number of columns of each input of a file."""
    import onnx

    graph = onnx.load(path).graph
    types = [(each.name, each.type.tensor_type) for each in graph.input]
    return [(name, _TYPES[found.elem_type], found.shape.dim[1].dim_value) for name, found in types]
