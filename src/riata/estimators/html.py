"""How a notebook shows a fitted model: scikit-learn's diagram, and below it what was selected."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils import estimator_html_repr

from riata.estimators.plots import feature_names

__all__ = ["SelectionHtml"]

_MOST_NAMES, _LONGEST = 20, 60
# Colours and fonts are those of the page, so that it fits light and dark ones.
_FRAME = "margin: 0.5em 0; padding-left: 0.7em; border-left: 3px solid #0072b2; max-width: 60em; line-height: 1.6"
_NAME = "font-family: monospace; overflow-wrap: anywhere"


class SelectionHtml:
    """A model whose display in a notebook says what it selected."""

    def _repr_html_inner(self) -> str:
        return f"{estimator_html_repr(self)}{_summary(self)}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return what kernels of Jupyter display."""
        text = {"text/plain": repr(self)}
        return text | {"text/html": self._repr_html_inner()} if get_config()["display"] == "diagram" else text


def _summary(model: Any) -> str:
    """Return the selection and its scores as HTML; nothing before a fit."""
    if not hasattr(model, "point_"):
        return ""
    lines = [_selection(model), " · ".join(_numbers(model))]
    return f'<div style="{_FRAME}">{"".join(f"<div>{line}</div>" for line in lines)}</div>'


def _selection(model: Any) -> str:
    """Say how many features are in the model, and their names, the most important first."""
    count = f"<strong>{model.n_selected_:,} of {model.n_features_in_:,} features</strong> selected"
    if not model.n_selected_:
        return count
    names, importances = feature_names(model), model.feature_importances_
    order = np.argsort(-np.where(model.selected_, importances, -np.inf), kind="stable")[: model.n_selected_]
    shown = ", ".join(_name(names[j]) for j in order[:_MOST_NAMES])
    more = model.n_selected_ - _MOST_NAMES
    return f"{count}: {shown}{f' and {more:,} more' if more > 0 else ''}"


def _name(name: str) -> str:
    """Return a name as text of its own direction, cut where it is long."""
    cut = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    return f'<bdi style="{_NAME}">{escape(cut)}</bdi>'


def _numbers(model: Any) -> list[str]:
    """Return λ, the loss and, of a cross-validated model, its score."""
    point = model.point_
    if np.isfinite(point.val_loss):
        loss = f"validation loss {_with_error(point.val_loss, point.val_loss_se)}"
    else:
        loss = f"training loss {point.loss:.3g}"
    found = [f"λ = {point.lambda_:.3g}", loss]
    if hasattr(model, "cv_score_"):
        score = _with_error(model.cv_score_, model.cv_score_se_)
        count = f"{model.cv_n_selected_:.1f}".removesuffix(".0")  # the model may be at another point now
        found.append(f"cross-validated {escape(model.cv_score_name)} {score} with {count} features")
    return found


def _with_error(value: float, error: float) -> str:
    return f"{value:.3g} ± {error:.2g}" if np.isfinite(error) else f"{value:.3g}"
