"""The order of the examples in the gallery: first a selection, then kinds of data and targets, then tools around riata."""

from __future__ import annotations

from pathlib import Path

ORDER = (
    "first_selection",
    "clinical_and_expression",
    "anndata_selection",
    "image_pixels",
    "survival",
    "interactions",
    "quantile_regression",
    "pipeline_and_grid_search",
    "torch_loop",
    "skorch_selection",
    "mnist_filters",
    "latent_units",
)


class InOrder:
    """Key to sort files of examples with; what the list does not name comes last."""

    def __init__(self, folder: str):
        self.folder = folder

    def __call__(self, file: str) -> int:
        """Return the place of a file."""
        name = Path(file).stem
        return ORDER.index(name) if name in ORDER else len(ORDER)
