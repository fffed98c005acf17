"""Data sets by name: those of ``riata.datasets``, ordinary tables, and two that ship with scikit-learn and need no files."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits

from riata import datasets

PAPER = ("mice_protein", "mnist_10k", "fashion_mnist_10k", "isolet", "coil20")
STAND_IN = "activity_hapt_subset"
OTHER_ACTIVITY = "har"  # files in the same form that hold another version of it
# Ordinary tables (mixed, skewed, long), files in the folder "tables" of the data.
TABLES = (
    "house_16h",
    "eye_movements",
    "fried",
    "mv",
    "letter",
    "satimage",
    "spambase",
    "churn",
    "adult",
    "dna",
    "clean2",
)
_ACTIVITIES = 6  # classes of the stand-in that are activities; the others are transitions between them
_FILES = {"mnist": "mnist_60k"}  # where they are not called like the data set
_SHIPPED = {"digits": load_digits, "breast_cancer": load_breast_cancer}


class Data(NamedTuple):
    """A problem as it comes: gaps are NaN, nothing is scaled."""

    name: str
    X: NDArray[np.float32]
    y: NDArray  # classes 0, 1, … or numbers

    @property
    def regression(self) -> bool:
        """Say whether the target is a number."""
        return self.y.dtype.kind == "f"


def folder() -> Path:
    """Return the folder of the data files: RIATA_DATA, or the one beside the repository."""
    return Path(os.environ.get("RIATA_DATA") or Path(__file__).parents[2] / "shared" / "data")


def here(name: str) -> bool:
    """Say whether a data set can be had without a network."""
    return name in _SHIPPED or path(name).exists()


def path(name: str) -> Path:
    """Return where the file of a data set is, or should be."""
    return (folder() / "tables" if name in TABLES else folder()) / f"{_FILES.get(name, name)}.npz"


def wanted(name: str, asked: tuple[str, ...] | None) -> bool:
    """Say whether an experiment on one data set is to be run: if it was asked for or, where nothing was, if it is here."""
    return here(name) if asked is None else name in asked


@lru_cache(maxsize=2)
def load(name: str) -> Data:
    """Find a data set."""
    if name in _SHIPPED:
        X, y = _SHIPPED[name](return_X_y=True)
    elif name in TABLES:
        with np.load(path(name)) as file:
            X, y = file["X"], file["y"]
    else:
        n_classes = _ACTIVITIES if name == STAND_IN else None
        source = "activity" if name == OTHER_ACTIVITY else name
        X, y = datasets.load(source, folder=folder(), n_classes=n_classes, return_X_y=True)
    expected = datasets.N_PAPER_ACTIVITY
    if name == "activity" and len(X) != expected:  # never beside the paper's numbers
        raise ValueError(f"activity has {expected:,} rows in the paper, {len(X):,} here: use --data {OTHER_ACTIVITY}")
    return Data(name, X.astype(np.float32), y)
