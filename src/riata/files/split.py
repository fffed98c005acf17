"""Rows to fit on, and rows to hold out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from riata.files.messages import TableError

__all__ = ["split"]

Rows = NDArray[np.int64]


def split(y: Any, task: str, random_state: int) -> tuple[Rows, Rows]:
    """Hold out a fifth of the rows, and at least one of every class; events are kept in proportion, and subjects together."""
    if task == "survival":
        return _split_survival(y, random_state)
    classes = y if task == "classification" else None
    size = math.ceil(len(y) / 5) if classes is None else max(math.ceil(len(y) / 5), len(np.unique(classes)))
    fit, held_out = train_test_split(np.arange(len(y)), test_size=size, stratify=classes, random_state=random_state)
    return np.sort(fit), np.sort(held_out)


def _split_survival(y: pd.DataFrame, random_state: int) -> tuple[Rows, Rows]:
    """Hold out a fifth of the subjects; without subjects every row is one."""
    subject = pd.factorize(y["id"])[0] if "id" in y else np.arange(len(y))
    events = np.bincount(subject, y["event"]) > 0
    in_proportion = events if min(events.sum(), (~events).sum()) > 1 else None
    size = math.ceil(len(events) / 5)
    if size == len(events):
        raise TableError("--id has one subject only: a fifth of the subjects is held out, so that there must be more")
    _, drawn = train_test_split(
        np.arange(len(events)), test_size=size, stratify=in_proportion, random_state=random_state
    )
    out = np.isin(subject, drawn)
    return np.flatnonzero(~out), np.flatnonzero(out)
