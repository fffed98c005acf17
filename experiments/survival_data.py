"""Survival times by name: four sets of ``riata``'s data files, and gene expressions that the package SurvSet ships.

Of the sets of SurvSet with more columns than samples two are left out: DBCD, and gse4335, a larger table of NSBCD's patients.
"""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from experiments.data import folder

FEW_COLUMNS = ("hnscc", "metabric", "support", "gbsg")
WIDE = ("AML_Bull", "chop", "DLBCL", "gse1992", "gse3143", "MCLcleaned", "NSBCD", "vdv")
_TEST = 0.2  # share of the samples
_TARGET = [("event", bool), ("time", np.float64)]  # as scikit-survival has it


class Cohort(NamedTuple):
    """Samples as they come: gaps are NaN, nothing is scaled, categories are one column per level."""

    name: str
    X: NDArray[np.float32]
    y: NDArray  # structured: event, time

    @property
    def n_events(self) -> int:
        """Number of samples whose event was seen."""
        return int(self.y["event"].sum())


class Split(NamedTuple):
    """Samples to train on and to test on; gaps are filled."""

    X: NDArray[np.float32]
    y: NDArray
    X_test: NDArray[np.float32]
    y_test: NDArray

    def standardised(self) -> Split:
        """Give every column mean 0 and standard deviation 1 on the training samples."""
        center, scale = self.X.mean(axis=0, dtype=np.float64), self.X.std(axis=0, dtype=np.float64)
        scale[scale < 1e-6 * np.abs(center) + 1e-12] = 1  # constant up to rounding
        X, X_test = (((part - center) / scale).astype(np.float32) for part in (self.X, self.X_test))
        return self._replace(X=X, X_test=X_test)


def here(name: str) -> bool:
    """Say whether a set can be had without a network."""
    if name in WIDE:
        return importlib.util.find_spec("SurvSet") is not None
    return (folder() / f"{name}.npz").exists()


@lru_cache(maxsize=2)
def load(name: str) -> Cohort:
    """Find a set."""
    if name in WIDE:
        return _survset(name)
    with np.load(folder() / f"{name}.npz") as file:
        return Cohort(name, file["X"].astype(np.float32), target(file["event"], file["time"]))


def _survset(name: str) -> Cohort:
    from SurvSet.data import SurvLoader

    table = SurvLoader().load_dataset(name)["df"]
    columns = [table[[column for column in table if column.startswith("num_")]]]
    columns += [pd.get_dummies(table[column]) for column in table if column.startswith("fac_")]
    X = np.hstack([column.to_numpy(np.float32) for column in columns])
    return Cohort(name, X, target(table["event"], table["time"]))


def target(event: NDArray | pd.Series, time: NDArray | pd.Series) -> NDArray:
    """Return events and times as scikit-survival has them."""
    y = np.empty(len(time), dtype=_TARGET)
    y["event"], y["time"] = np.asarray(event).astype(bool), time
    return y


def split(cohort: Cohort, seed: int) -> Split:
    """Split 80-20, with events in proportion; fill gaps with the median of the column's training samples."""
    X, y = cohort.X, cohort.y
    fit, test = train_test_split(np.arange(len(y)), test_size=_TEST, stratify=y["event"], random_state=seed)
    missing = np.isnan(X)
    if missing.any():
        X = X.copy()
        for column in np.flatnonzero(missing.any(axis=0)):
            known = X[fit, column][~missing[fit, column]]
            X[missing[:, column], column] = np.median(known) if len(known) else 0.0
    return Split(X[fit], y[fit], X[test], y[test])
