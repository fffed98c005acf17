"""A model file, and new tables that are read as the one was that the model was fitted on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
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
from riata.files import (
    Reading,
    ReadOptions,
    Seen,
    Source,
    TableError,
    counted,
    did_you_mean,
    ending_of,
    read,
    split,
    unlike_training,
)
from riata.storage import ModelFileError

__all__ = ["MODEL_FILE", "NewTable", "OpenModel", "few_notes", "levels_of", "names_of", "open_model", "rows_of"]

MODEL_FILE = "model.riata"


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
        return Reading.of_model(self.model.feature_names_in_.tolist(), levels_of(self.model), self.task)

    def seen(self) -> list[Seen]:
        """Return what the training rows held in the selected columns, as far as the file tells."""
        selected = set(self.model.get_feature_names_out())
        if "training" not in self.about:
            return [Seen(name, gaps=True) for name in levels_of(self.model) if name in selected]
        try:
            return [Seen.from_json(each) for each in self.about["training"]]
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"it does not say what the training rows held: {error}") from None

    def rows_of(self, table: NewTable, y: Any, target: str | None) -> ScoredRows:
        """Return which rows of a table, of those whose target is known, the model was not fitted on.

        Parameters
        ----------
        table : NewTable
            The table.
        y : array or DataFrame
            The target, where it is known.
        target : str, optional
            The column it comes from, where that was given.
        """
        same_target = target in (None, table.reading.target)  # rows are held out by target
        fitted_on = same_target and table.source.sha256 == self.about.get("sha256")
        if not fitted_on:
            return ScoredRows(np.arange(len(y)), f"scored on the {counted(len(y), 'row')} given")
        if len(y) != self.about["rows"]["used"]:
            how = "in another way than before, so that it is not known on which of its rows"
            return ScoredRows(
                np.arange(len(y)),
                f"scored on the {counted(len(y), 'row')} given; the table was read {how} the model was fitted",
            )
        fit, held_out = split(y, self.about["task"], self.about["seed"])
        others = f"the model was fitted on the other {len(fit):,}"
        return ScoredRows(
            held_out, f"scored on the {counted(len(held_out), 'row')} that were held out; {others}", held_out=True
        )


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows to score a model on.

    Attributes
    ----------
    rows : array of int
        Positions among the rows whose target is known.
    text : str
        Which these are.
    held_out : bool
        Whether it is known that the model was not fitted on them.
    """

    rows: NDArray[np.int64]
    text: str
    held_out: bool = False


def open_model(path: Path) -> OpenModel:
    """Open a model file, or that in a folder of results; whatever is wrong with it is a ModelFileError."""
    path = path / MODEL_FILE if path.is_dir() else path
    if ending_of(path):
        raise TableError(f"{path} is a table: give a model file first, such as result/{MODEL_FILE}")
    found = stored.read(path)
    return OpenModel(found.model, found.about)


def rows_of(y: Any, rows: NDArray[np.int64]) -> Any:
    """Return the target of some rows."""
    return y.iloc[rows] if isinstance(y, pd.DataFrame) else y[rows]


def levels_of(model: Any) -> dict[str, pd.Index]:
    """Return the levels of the features that are categories, by their names."""
    known, names = model._categories, names_of(model)
    return {} if known is None else {names[j]: column.levels for j, column in known.columns.items()}


def few_notes(notes: list[str]) -> list[str]:
    """Return up to six notes about columns, and how many more there are."""
    more = len(notes) - 6
    return notes if more <= 0 else [*notes[:6], f"and {more} more such columns"]


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
        What could not be read, and what is unlike the training rows.
    unread : tuple of str
        Features that are missing in X, as the table has them not or they cannot be read, or are not needed.
    """

    X: pd.DataFrame
    source: Source
    reading: Reading
    notes: tuple[str, ...]
    unread: tuple[str, ...]

    @classmethod
    def read(cls, file: Path, opened: OpenModel, how: ReadOptions, *, all_features: bool) -> NewTable:
        """Read a table for a model, with the selected features and, where they can be read, all others."""
        reading = opened.reading()
        how = replace(how, na=(*reading.na, *how.na), text=reading.as_text, usual_decimal=reading.decimal)
        source = read(file, how)
        X, notes, unread = reading.read(source, opened.model.get_feature_names_out().tolist(), others=all_features)
        if not len(X):
            raise TableError(f"{file} has no rows")
        unlike = unlike_training(X, opened.seen(), levels_of(opened.model), np.arange(len(X)), held_out=False)
        return cls(X, source, reading, (*notes, *few_notes(unlike)), tuple(unread))

    def target(self, opened: OpenModel, name: str | None) -> tuple[pd.DataFrame, Any, tuple[str, ...]] | None:
        """Return the rows whose target is known, that target, and notes; None if the table has none.

        Parameters
        ----------
        opened : OpenModel
            The model.
        name : str, optional
            The column, where it is given; then it must be there.
        """
        if name is None and self.lacks_target:
            return None
        if opened.task == "survival" and self.reading.survival is None:
            raise TableError(
                "the model was saved in Python, and does not tell which columns hold times: score it there"
            )
        y, rows, notes = self.reading.read_target(self.source, name, getattr(opened.model, "classes_", None))
        return self.X.iloc[rows], y, tuple(notes)

    @property
    def lacks_target(self) -> str:
        """Why there is no target; ``""`` where there is one."""
        columns, survival = self.source.frame.columns, self.reading.survival
        if survival is None and not self.reading.target:
            return "the model file does not name its target: give it with --target"
        given: list[str | None] = [self.reading.target]
        if survival is not None:
            event = survival.event if survival.event in columns else survival.event.rpartition("=")[0]
            given = [survival.time, event, survival.entry, survival.strata, survival.id]
        absent = [name for name in given if name is not None and name not in columns]
        hint = did_you_mean(absent[0], [name for name in columns if name not in self.reading.names]) if absent else ""
        return f"the table has no column {absent[0]!r}{hint and f' ({hint})'}" if absent else ""

    def identifiers(self) -> pd.DataFrame:
        """Return columns that name the rows."""
        frame: pd.DataFrame = self.source.frame.reset_index(drop=True)
        return frame[[name for name in self.reading.identifiers if name in frame]]

    def strata(self) -> NDArray[Any] | None:
        """Return the strata of survival times; None without."""
        return self.reading.read_strata(self.source)
