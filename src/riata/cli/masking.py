"""How accurate filled entries are, measured on known entries that were hidden from the fit."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from riata.files import counted, first_few

FEW = 10  # known entries of a column of which none is hidden


def hide(X: pd.DataFrame, seed: int) -> NDArray[np.bool_]:
    """Return a random tenth of the known entries of every column that has more than ten."""
    draw = np.random.default_rng(seed)
    hidden = np.zeros(X.shape, dtype=bool)
    for j, known in enumerate(X.notna().to_numpy().T):
        rows = np.flatnonzero(known)
        if len(rows) > FEW:
            hidden[draw.choice(rows, int(0.1 * len(rows)), replace=False), j] = True
    return hidden


def measure(
    X: pd.DataFrame, hidden: NDArray[np.bool_], estimates: NDArray[np.float64], selected: NDArray[np.bool_]
) -> pd.DataFrame:
    """Compare estimates of the hidden entries with their values, and with the means of the visible entries.

    Parameters
    ----------
    X : DataFrame
        The table, hidden entries included.
    hidden : array of bool with the shape of X
        Which entries were hidden.
    estimates : array with the shape of X
        Estimates of all entries.
    selected : array of bool of shape (n_columns,)
        Which columns are inputs of the network.

    Returns
    -------
    DataFrame
        One row per column, those with most gaps first: ``column``, ``gaps``, ``hidden`` (number of entries), ``std``
        (standard deviation of the visible entries), ``error`` and ``error_of_mean`` (root mean squares), ``explained`` (1
        minus the ratio of their squares) and ``input`` (whether it is an input of the network).
    """
    visible = X.mask(hidden)
    squares = ((X - estimates) ** 2).where(hidden).mean()
    of_mean = ((X - visible.mean()) ** 2).where(hidden).mean()
    constant = visible.min() == visible.max()  # rounding would make its deviation positive
    frame = pd.DataFrame(
        {
            "gaps": X.isna().sum(),
            "hidden": hidden.sum(axis=0),
            "std": visible.std(ddof=0).mask(constant, 0.0),
            "error": np.sqrt(squares),
            "error_of_mean": np.sqrt(of_mean),
            "explained": 1 - squares / of_mean.where((of_mean > 0) & ~constant),
            "input": selected,
        }
    )
    return frame.rename_axis("column").reset_index().sort_values("gaps", ascending=False, kind="stable")


def overall(errors: pd.DataFrame) -> tuple[int, float]:
    """Return how many entries were hidden, and the share of their variance explained, columns scaled to variance 1."""
    errors = errors[(errors["hidden"] > 0) & (errors["std"] > 0)]
    weights = errors["hidden"] / errors["std"] ** 2
    total = float((weights * errors["error_of_mean"] ** 2).sum())
    explained = 1 - float((weights * errors["error"] ** 2).sum()) / total if total > 0 else math.nan
    return int(errors["hidden"].sum()), explained


def accuracy_notes(X: pd.DataFrame, errors: pd.DataFrame, *, every: bool) -> list[str]:
    """Return where filled entries are unreliable; of columns without gaps only if ``every`` column is to be reconstructed."""
    relevant = errors[(errors["gaps"] > 0) | every]
    no_better = relevant.loc[relevant["explained"] <= 0, "column"]
    unchecked = relevant.loc[relevant["hidden"] == 0, "column"]
    blank = X.isna()[errors.loc[errors["input"], "column"]].all(axis=1) & X.isna().any(axis=1)
    notes = []
    if len(no_better):
        notes.append(f"no better than the mean of the column: {first_few([repr(name) for name in no_better])}")
    if len(unchecked):
        names = first_few([repr(name) for name in unchecked])
        notes.append(f"not checked, as {FEW} entries or fewer are known: {names}")
    if blank.any():
        rows = counted(int(blank.sum()), "row")
        notes.append(f"{rows} without any known input: filled with typical values of the columns")
    return notes
