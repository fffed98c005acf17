"""A report as one HTML file that needs nothing else."""

from __future__ import annotations

import html
import os
from pathlib import Path
from typing import Any

from riata.report.render import render
from riata.storage import write_whole

__all__ = ["Report"]

_HEIGHT = 800  # pixels, in a notebook


class Report:
    """What a fitted model selected and how good it is on held-out samples, as one HTML file; made by ``model.report``.

    Attributes
    ----------
    summary : dict
        Everything that the file shows, in types of JSON.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from riata import LassoNetClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = LassoNetClassifier((10,), n_features_to_select=3, random_state=0).fit(X[:400], y[:400])
    >>> report = model.report(X[400:], y[400:])
    >>> report.save(pathlib.Path(tempfile.mkdtemp()) / "report.html")
    >>> report.summary["n_held_out"]
    169
    """

    def __init__(self, summary: dict[str, Any]):
        self.summary = summary

    def __repr__(self) -> str:
        return f"Report: {' '.join(self.summary['answer'])}"

    def to_html(self) -> str:
        """Return the document. It loads nothing, and the same model, samples and seed give the same text."""
        return render(self.summary)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the document to a file; one that was there before is replaced when the new one is complete.

        Parameters
        ----------
        path : str or path
            The file, by custom ``report.html``.
        """
        file = Path(path)
        write_whole(file.parent, {file.name: self.to_html().encode()})

    def _repr_html_(self) -> str:
        """Show the report in a notebook, in a frame of its own."""
        content = html.escape(self.to_html(), quote=True)
        style = f"width: 100%; height: {_HEIGHT}px; border: 1px solid #8888"
        allowed = "allow-scripts allow-downloads allow-modals"
        return f'<iframe title="Report" sandbox="{allowed}" style="{style}" srcdoc="{content}"></iframe>'
