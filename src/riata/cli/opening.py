"""A model file, and new tables that are read as the one was that the model was fitted on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from riata.estimators import (
    LassoNetClassifier,
    LassoNetCoxRegressor,
    LassoNetImputer,
    LassoNetIntervalRegressor,
    stored,
)
from riata.estimators.supervised import Supervised
from riata.files import Reading, ReadOptions, Source, TableError, read
from riata.storage import ModelFileError

__all__ = ["NewTable", "OpenModel", "names_of", "open_model"]


@dataclass(frozen=True, eq=False)
class OpenModel:
    """A stored model.

    Attributes
    ----------
    model : estimator
        Fitted.
    about : dict
        What the file tells of the run that wrote it; empty for a model that was saved in Python.
    """

    model: Any
    about: dict[str, Any]

    @property
    def task(self) -> str:
        """What kind of target it predicts."""
        if isinstance(self.model, LassoNetClassifier):
            return "classification"
        return "survival" if isinstance(self.model, LassoNetCoxRegressor | LassoNetIntervalRegressor) else "regression"

    def reading(self) -> Reading:
        """Return how tables for it are read."""
        if not isinstance(self.model, Supervised):
            doing = "riata impute" if isinstance(self.model, LassoNetImputer) else "transform in Python"
            raise TableError(f"a {type(self.model).__name__} has no target to predict: use {doing}")
        if "reading" in self.about:
            try:
                return Reading.from_json(self.about["reading"])
            except ValueError as error:
                raise ModelFileError(str(error)) from None
        if not hasattr(self.model, "feature_names_in_"):
            raise TableError(
                "the model was fitted on an array, so its columns have no names: use riata.load and predict in Python"
            )
        known = self.model._categories
        levels = {} if known is None else {j: column.levels for j, column in known.columns.items()}
        return Reading.of_model(self.model.feature_names_in_.tolist(), levels, self.task)


def open_model(path: Path) -> OpenModel:
    """Open a model file; whatever is wrong with it is a ModelFileError."""
    found = stored.read(path)
    return OpenModel(found.model, found.about)


def names_of(model: Any) -> list[str]:
    """Return names of a model's features; those of arrays are called by their positions."""
    given = getattr(model, "feature_names_in_", range(model.n_features_in_))
    return [str(name) for name in given]


@dataclass(frozen=True, eq=False)
class NewTable:
    """The features of a new table, and what else it holds.

    Attributes
    ----------
    X : DataFrame
        The features.
    source : Source
        The table as it was read.
    reading : Reading
        How it was read.
    notes : tuple of str
        What could not be read.
    """

    X: pd.DataFrame
    source: Source
    reading: Reading
    notes: tuple[str, ...]

    @classmethod
    def read(cls, file: Path, opened: OpenModel, how: ReadOptions, *, all_features: bool) -> NewTable:
        """Read a table for a model, with all of its features or at least the selected ones."""
        reading = opened.reading()
        how = replace(how, na=(*reading.na, *how.na), text=reading.as_text, usual_decimal=reading.decimal)
        source = read(file, how)
        needed = None if all_features else opened.model.get_feature_names_out().tolist()
        X, notes = reading.read(source, needed)
        if not len(X):
            raise TableError(f"{file} has no rows")
        return cls(X, source, reading, tuple(notes))

    def target(self, opened: OpenModel, name: str | None) -> tuple[pd.DataFrame, Any, tuple[str, ...]] | None:
        """Return the rows whose target is known, that target, and notes; None if the table has none.

        Parameters
        ----------
        opened : OpenModel
            The model.
        name : str, optional
            The column, where it is given; then it must be there.
        """
        if name is None and not self._has_target(self.source.frame.columns):
            return None
        if opened.task == "survival" and self.reading.survival is None:
            raise TableError(
                "the model was saved in Python, and does not tell which columns hold times: score it there"
            )
        y, rows, notes = self.reading.read_target(self.source, name, getattr(opened.model, "classes_", None))
        return self.X.iloc[rows], y, tuple(notes)

    def _has_target(self, columns: pd.Index) -> bool:
        survival = self.reading.survival
        if survival is None:
            return self.reading.target in columns
        event = survival.event if survival.event in columns else survival.event.rpartition("=")[0]
        given = [survival.time, event, survival.entry, survival.strata, survival.id]
        return all(each in columns for each in given if each is not None)

    def identifiers(self) -> pd.DataFrame:
        """Return columns that name the rows."""
        frame: pd.DataFrame = self.source.frame.reset_index(drop=True)
        return frame[[name for name in self.reading.identifiers if name in frame]]

    def strata(self) -> NDArray[Any] | None:
        """Return the strata of survival times; None without."""
        return self.reading.read_strata(self.source)
