"""Tables of AnnData: a matrix of samples by variables, with columns that describe the samples."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from riata.files.messages import TableError, first_few

__all__ = ["ANNDATA", "read_annotated"]

ANNDATA = (".h5ad",)


def read_annotated(path: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read a file of AnnData; return the columns of ``obs`` and then those of ``X``, and the names of the former."""
    from anndata import read_h5ad

    data = read_h5ad(path)
    if data.X is None:
        raise TableError("it has no X: copy the layer to use there, such as adata.X = adata.layers['counts']")
    matrix = data.to_df()
    samples = data.obs.copy(deep=False)
    samples.insert(0, str(data.obs_names.name or "obs_names"), data.obs_names.astype(str), allow_duplicates=True)
    samples.columns, matrix.columns = samples.columns.map(str).str.strip(), matrix.columns.map(str).str.strip()
    twice = [repr(name) for name in samples.columns if name in set(matrix.columns)]
    if twice:
        raise TableError(f"names in obs and in var must differ; in both are {first_few(twice)}: rename these in obs")
    frame = pd.concat([samples.reset_index(drop=True), matrix.reset_index(drop=True)], axis=1)
    return frame, tuple(samples.columns)
