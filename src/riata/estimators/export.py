"""Fitted models in the formats of others: torch modules, torch.export, ONNX."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from riata import storage
from riata.network.export import FittedModule, PredictionModule
from riata.network.head import Head
from riata.network.tables import CodeTable, code_tables
from riata.storage import ModelFileError

if TYPE_CHECKING:
    from torch.export import ExportedProgram

__all__ = ["Exports"]


class Exports:
    """Exports of a model at its point, with the preparation of columns in them."""

    @property
    def module_(self: Any) -> FittedModule:
        """The model at its point as a torch module, from samples of X to outputs on the scale of the target, in float64.

        Outputs are what ``predict`` begins with: logits of classes, logarithms where a loss predicts exp(output). Columns of
        categories must have numbers as levels.
        """
        return _module(self, AttributeError)

    def to_torch(self: Any) -> PredictionModule:
        """Return the model at its point as a torch module that predicts, in float64.

        It maps a tensor with all columns of X, (n, n_features), to what ``predict`` returns; of a classifier, to what
        ``predict_proba`` returns. Missing numbers are NaN. Unlike ``predict`` it does not check its input. ``module_`` stops
        before the last step, at logits and logarithms.

        Returns
        -------
        Module
            With the weights as parameters, and what was learnt from columns as buffers.
        """
        return PredictionModule(_module(self, ValueError), self._head()).eval()

    def exported_program(self: Any) -> ExportedProgram:
        """Return :meth:`to_torch` as ``torch.export`` captures it: a graph without Python code, for any number of samples.

        ``torch.export.save`` writes it to a file, which can be run without riata.

        Returns
        -------
        torch.export.ExportedProgram
            From a tensor of float64, (n, n_features), to predictions.
        """
        import torch

        module = self.to_torch()
        example = torch.zeros(3, self.n_features_in_, dtype=torch.float64)
        try:
            return torch.export.export(module, (example,), dynamic_shapes=({0: torch.export.Dim("n")},))
        except Exception as error:
            if not callable(self.hidden_dims):
                raise
            raise ValueError(
                f"torch.export cannot capture the network of your own: {error}. Its forward must be a fixed sequence of tensor "
                "operations for any number of samples; to_torch() does without"
            ) from error

    def to_onnx(self: Any, path: str | os.PathLike[str]) -> None:
        """Write the model at its point as an ONNX file, with which onnxruntime and others predict; needs the extra ``onnx``.

        The input is ``X``, (n, n_features), of float64, with NaN for missing numbers. If columns hold text, each selected
        column is an input instead, (n, 1), of text or of float64, with the name of the column; a missing text is the empty one.
        The output is ``prediction`` (of Cox's model ``log_hazard``, of the auto-encoder ``reconstruction``), which is that of
        ``predict``, or of a classifier ``label`` and ``probability``. Calculations are in float64. Unlike ``predict`` they do
        not check the input. A network of your own, and a loss or a coding of classes of your own, are refused.

        Parameters
        ----------
        path : str or path
            The file; one that was there before is replaced.
        """
        check_is_fitted(self, "point_")
        try:
            import onnx  # noqa: F401
        except ImportError:
            raise ImportError("to_onnx needs the package onnx: pip install 'riata[onnx]'") from None
        from riata.network.onnx import Fitted, onnx_model

        solved, names = self._solved, [_name(self, j) for j in range(self.n_features_in_)]
        model = onnx_model(
            Fitted(
                self.point_.weights,
                solved.network,
                solved.preprocessing,
                solved.target_scaling,
                self._head(),
                _tables(self),
                names,
            )
        )
        file = Path(path)
        try:
            storage.write_whole(file.parent, {file.name: model.SerializeToString(deterministic=True)})
        except OSError as error:
            raise ModelFileError(f"cannot write {file}: {error.strerror}") from None

    def _head(self) -> Head:
        """Return what turns outputs into predictions."""
        raise NotImplementedError


def _module(model: Any, refusal: type[Exception]) -> FittedModule:
    check_is_fitted(model, "point_")
    tables = _tables(model)
    text = [table.name for table in tables if table.is_text]
    if text:
        raise refusal(
            f"a torch module takes tensors of numbers, and columns of X hold text, {text[0]!r} among them, as categories: "
            "encode them as numbers before fit, with categorical_features, or use to_onnx or predict"
        )
    solved = model._solved
    return FittedModule(model.point_.weights, solved.network, solved.preprocessing, solved.target_scaling, tables)


def _tables(model: Any) -> list[CodeTable]:
    return code_tables(model._categories, lambda j: _name(model, j))


def _name(model: Any, j: int) -> str:
    names = getattr(model, "feature_names_in_", None)
    return f"x{j}" if names is None else str(names[j])
