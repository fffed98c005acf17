"""Tables that are read block by block: rows drawn to learn from, a feed of all others to train on, predictions in blocks.

One pass over the table checks every number and draws rows at random. Everything that is learnt before training (scales,
knots, categories, screening, the scale of the target) comes from these rows, as if they were the table; a part of them
validates and is never trained on. Training begins with the others, and goes on with rows from the whole table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from riata import check
from riata.estimators.fitting import Checked, Prepared, Settings
from riata.losses import JointLoss
from riata.losses.targets import Classes, Target
from riata.preprocess.prepare import Preprocessing
from riata.preprocess.scaling import Scaling
from riata.solver.feed import Serving
from riata.sources import Order, Rows, in_memory, n_held, numbers, recognised, steps, survey

__all__ = ["Drawn", "TableFeed", "columns_of", "draw", "in_batches", "in_blocks", "opened"]

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
_SERVINGS = 4  # iterations after which all rows in memory are others
_BLOCKS = 64  # of a serving: rows of a block are neighbours in the table, and may be alike
_ENTRIES = 2**21  # of the inputs that are prepared at a time, on one thread
_TARGETS = 2**20  # rows of the target that are checked at a time


def opened(X: Any) -> Any:
    """Return a table that is too large for memory as rows to read block by block, and all else in memory."""
    table = recognised(X)
    if table is None or n_held(*table.shape) < table.shape[0]:
        return X if table is None else table
    return in_memory(X, "")


def in_blocks(table: Rows, features: Ids, output: Callable[[Any], Floats]) -> Floats:
    """Return what a model returns for all rows, of which only the columns are read that it takes; others are 0."""
    needed = np.unique(features)
    return np.concatenate([output(_frame(_wide(table, *here, needed), table)) for here in steps(table)])


def columns_of(table: Rows, features: Ids) -> NDArray[Any]:
    """Return some columns of all rows, of the type that they have in the table."""
    if not len(features):
        return np.empty((table.shape[0], 0))
    return np.concatenate([table.rows(*here, features) for here in steps(table)])


def in_batches(settings: Settings) -> None:
    """Refuse updates on all rows."""
    if settings.batch_size is None:
        raise ValueError(
            "batch_size=None takes all rows for each update, and the table is larger than what is held in memory: give a "
            'number, or "auto"'
        )


def draw(table: Rows, y: Any, sample_weight: Any, allow_gaps: bool, random_state: Any) -> Drawn:
    """Check all rows of a table, and draw those to learn from.

    Parameters
    ----------
    table : Rows
        The table.
    y, sample_weight : array-like
        In memory, for all rows.
    allow_gaps : bool
        Whether numbers may be missing.
    random_state
        Of the estimator.
    """
    n_rows = table.shape[0]
    if y is None:
        raise ValueError("y is needed to fit; of a table that was opened with a target it is X.target")
    y, weights = np.asarray(y), None
    check_consistent_length(table, y)
    rng = np.random.default_rng(int(check_random_state(random_state).randint(np.iinfo(np.int32).max)))
    n_drawn = n_held(*table.shape)
    if sample_weight is None:
        positions = rng.choice(n_rows, n_drawn, replace=False, shuffle=False)
    else:
        weights = check.sample_weight(sample_weight, n_rows)
        used = np.flatnonzero(weights)
        positions = used[rng.choice(len(used), min(n_drawn, len(used)), replace=False, shuffle=False)]
    positions.sort()
    found = survey(table, positions, allow_gaps=allow_gaps)
    return Drawn(table, y, weights, positions, int(rng.integers(2**31)), found.drawn)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows drawn from a table, which everything that is not training learns from, and where the others are."""

    table: Rows
    y: NDArray[Any]
    weights: Floats | None
    positions: Ids  # increasing
    seed: int
    samples: NDArray[np.floating] | None  # None once they have been prepared

    @property
    def frame(self) -> Any:
        """The rows drawn, with the names of the columns if there are any."""
        return _frame(self.samples, self.table)

    @property
    def target(self) -> NDArray[Any]:
        """Their target."""
        found: NDArray[Any] = self.y[self.positions]
        return found

    @property
    def sample_weight(self) -> Floats | None:
        """Their weights."""
        return None if self.weights is None else self.weights[self.positions]

    def without_samples(self) -> Drawn:
        """The same without the numbers."""
        return replace(self, samples=None)

    def fed(self, checked: Checked, prepared: Prepared, settings: Settings) -> Prepared:
        """Return a problem of the rows drawn with all others to train on."""
        if isinstance(prepared.problem.loss, JointLoss):
            raise ValueError(
                "the loss of a row depends on all other rows, and the table is larger than what is held in memory: give an "
                "array of some of its rows"
            )
        samples = checked.samples
        held_out = np.empty(0, dtype=np.int64) if samples.order is None else samples.order[samples.n_fit :]
        n_fit, table = prepared.problem.n_fit, self.table
        size = max(n_fit // _SERVINGS, 1)
        feed = TableFeed(
            table,
            self.y,
            self.weights,
            prepared.target,
            prepared.target_scaling,
            prepared.preprocessing,
            settings.dtype,
            np.sort(self.positions[held_out]),
            Order(table.edges(max(size // _BLOCKS, 1)), self.seed),
            size,
            np.arange(prepared.problem.n_columns),
        )
        feed = replace(feed, mean_count=float(feed.counts(self.positions).mean()))
        return replace(prepared, problem=replace(prepared.problem, feed=feed))

    def check_target(self, target: Target) -> None:
        """Refuse what the target of the rows drawn did not show."""
        y = self.y if self.weights is None else self.y[self.weights > 0]
        if not isinstance(target, Classes):
            for start in range(0, len(y), _TARGETS):
                target.encode(y[start : start + _TARGETS])
            return
        rare = np.setdiff1d(pd.unique(y.ravel()), (0, 1) if target.coding.many else target.classes)
        if len(rare) and target.coding.many:
            check.indicator(y)
        if len(rare):
            raise ValueError(
                f"class {rare.tolist()[0]!r} is in none of the {len(self.positions):,} rows that were drawn to learn from, "
                f"out of {len(y):,}: drop or merge rare classes"
            )


@dataclass(frozen=True, eq=False)
class TableFeed:
    """All rows of a table but those that validate, prepared as the rows drawn were."""

    table: Rows
    y: NDArray[Any]
    weights: Floats | None
    target: Target
    target_scaling: Scaling
    preprocessing: Preprocessing
    dtype: str
    held_out: Ids  # increasing
    order: Order
    size: int  # rows of a serving
    columns: Ids  # of the inputs
    mean_count: float = 1.0  # of the rows drawn

    def only(self, columns: Ids) -> TableFeed:
        """Return the same with some of the inputs."""
        return replace(self, columns=self.columns[columns])

    def serving(self, k: int) -> Serving:
        """Read and prepare the next rows in order."""
        ranges = list(self.order.ranges(k * self.size, (k + 1) * self.size))
        rows = np.concatenate([np.arange(*here) for here in ranges])
        kept = np.isin(rows, self.held_out, invert=True)  # a row may be there twice, where a round ends
        if self.weights is not None:
            kept &= self.weights[rows] > 0
        raw = np.concatenate([_read(self.table, *here, self._features) for here in ranges])[kept]
        rows = rows[kept]
        target = self.target_scaling.apply(_encoded(self.target, self.y[rows]), np.float64)
        counts = self.counts(rows) / self.mean_count
        return Serving(self._inputs(raw), target.astype(self.dtype), counts.astype(self.dtype))

    def counts(self, rows: Ids) -> Floats:
        """Return how much some rows count, by their weights and by those of their classes."""
        counts = np.ones(len(rows)) if self.weights is None else self.weights[rows]
        if not isinstance(self.target, Classes) or self.target.class_weights is None:
            return counts
        codes = self.target.coding.codes(_encoded(self.target, self.y[rows]))
        weighted: Floats = counts * self.target.class_weights[codes]
        return weighted

    @cached_property
    def _features(self) -> Ids:
        """The columns of the table that the inputs come from."""
        return np.unique(self.preprocessing.expansion.source[self.columns])

    def _inputs(self, raw: NDArray[np.floating]) -> NDArray[Any]:
        out = np.empty((len(raw), len(self.columns)), dtype=self.dtype)
        size = max(_ENTRIES // max(len(self.columns), 1), 1)
        for start in range(0, len(raw), size):
            here = slice(start, start + size)
            wide = _scattered(raw[here], self._features, self.table.shape[1])
            encoded = np.asarray(self.preprocessing.encode(wide))
            out[here] = self.preprocessing.inputs(encoded, self.dtype, self.columns)
        return out


def _encoded(target: Target, y: NDArray[Any]) -> Floats:
    """Encode a target that has been checked; few rows of classes would look like numbers."""
    if not isinstance(target, Classes):
        return target.encode(y)
    return target.coding.encode(y if target.coding.many else np.searchsorted(target.classes, y.ravel()))


def _read(table: Rows, start: int, stop: int, features: Ids) -> NDArray[np.floating]:
    if not len(features):
        return np.empty((stop - start, 0), dtype=np.float32)
    return numbers(table.rows(start, stop, None if len(features) == table.shape[1] else features))


def _wide(table: Rows, start: int, stop: int, features: Ids) -> NDArray[np.floating]:
    return _scattered(_read(table, start, stop, features), features, table.shape[1])


def _scattered(block: NDArray[np.floating], features: Ids, n_columns: int) -> NDArray[np.floating]:
    """Put columns where they are in the table; others, which nothing will ask for, are 0."""
    if len(features) == n_columns:
        return block
    wide = np.zeros((len(block), n_columns), dtype=block.dtype)
    wide[:, features] = block
    return wide


def _frame(block: Any, table: Rows) -> Any:
    return block if table.names is None else pd.DataFrame(block, columns=list(table.names))
