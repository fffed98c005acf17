"""ONNX graphs of fitted models."""

from riata.network.onnx.fitted import Fitted
from riata.network.onnx.model import onnx_model

__all__ = ["Fitted", "onnx_model"]
