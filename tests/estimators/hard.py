"""Tables, targets and weights that are hard to fit on, by name: some are refused, and the others give a result."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

N = 40
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 4))
signal = X[:, 0] + np.abs(X[:, 1])
NAMES = ["a", "b", "c", "d"]


def changed(value: Any, at: tuple[Any, ...] = (3, 1), of: Any = X, dtype: Any = float) -> Any:
    array = np.array(of, dtype=dtype)
    array[at] = value
    return array


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(X, columns=NAMES).assign(**columns)


def named(names: list[Any]) -> pd.DataFrame:
    return pd.DataFrame(X).set_axis(names, axis=1)


column = slice(None), 1
TABLES: dict[str, Any] = {
    "a gap": changed(np.nan),
    "a column of gaps": changed(np.nan, column),
    "only gaps": np.full((N, 4), np.nan),
    "an infinity": changed(np.inf),
    "a constant column": changed(3.0, column),
    "only constant columns": np.ones((N, 4)),
    "a column that is almost constant": changed(1 + 1e-15 * np.arange(N), column),
    "a huge number": changed(1e300),
    "huge numbers": X * 1e300,
    "huge numbers of both signs": changed(np.where(np.arange(N) % 2, 1.7e308, -1.7e308), column),
    "tiny numbers": X * 1e-300,
    "denormal numbers": X * 1e-315,
    "huge and tiny columns": X * [1e300, 1e-300, 1.0, 0.0],
    "far from zero": X + 1e12,
    "one sample": X[:1],
    "two samples": X[:2],
    "no sample": X[:0],
    "no column": X[:, :0],
    "one column": X[:, :1],
    "a vector": X[:, 0],
    "three dimensions": X[:, :, None],
    "a number": 3.0,
    "nothing": None,
    "a word": "table.csv",
    "a dict": {"a": [1, 2]},
    "lists": X.tolist(),
    "ragged lists": [[1.0, 2.0], [3.0]] * (N // 2),
    "empty list": [],
    "text": X.astype(str),
    "bytes": X.astype("S"),
    "objects that are numbers": X.astype(object),
    "an object among numbers": changed({}, dtype=object),
    "a word among numbers": changed("high", dtype=object),
    "None among numbers": changed(None, dtype=object),
    "fractions": np.array([[Fraction(1, 3), Fraction(i)] for i in range(N)], dtype=object),
    "decimals": frame(b=[Decimal(i) / 3 for i in range(N)]),
    "complex numbers": X + 1j,
    "a complex column": frame(b=X[:, 1] + 1j),
    "flags": X > 0,
    "small integers": (10 * X).astype(np.int8),
    "large unsigned integers": np.full((N, 2), 2**64 - 1, dtype=np.uint64)
    - rng.integers(2**60, size=(N, 2), dtype=np.uint64),
    "half precision": X.astype(np.float16),
    "long precision": X.astype(np.longdouble),
    "masked": np.ma.masked_array(X, X > 2),
    "dates in an array": np.full((N, 2), "2026-01-01", dtype="datetime64[D]") + np.arange(N)[:, None],
    "dates": frame(b=pd.date_range("2026-01-01", periods=N)),
    "dates with zones": frame(b=pd.date_range("2026-01-01", periods=N, tz="Asia/Tokyo")),
    "dates with gaps": frame(b=pd.Series(pd.date_range("2026-01-01", periods=N)).where(X[:, 0] > 0)),
    "durations": frame(b=pd.to_timedelta(np.arange(N), unit="h")),
    "periods": frame(b=pd.period_range("2026-01", periods=N, freq="M")),
    "intervals": frame(b=pd.interval_range(0, N)),
    "nullable integers": frame(b=pd.array([1, None] * (N // 2), dtype="Int64")),
    "nullable flags": frame(b=pd.array([True, None] * (N // 2), dtype="boolean")),
    "categories": frame(b=pd.Categorical(["x", "y"] * (N // 2))),
    "categories with one level": frame(b=pd.Categorical(["x"] * N)),
    "categories without a cell": frame(b=pd.Categorical([None] * N, categories=["x", "y"])),
    "text in each cell another": frame(b=[f"word {i}" for i in range(N)]),
    "text with gaps": frame(b=["x", None, "y", ""] * (N // 4)),
    "text and numbers": frame(b=["x", 1] * (N // 2)),
    "lists in cells": frame(b=[[1, 2]] * N),
    "arrays in cells": frame(b=[np.ones(2)] * N),
    "names that are equal": named(["a", "b", "b", "d"]),
    "names that are numbers": named([1, 2, 3, 4]),
    "names of several types": named(["a", 2, 3.0, None]),
    "names of two levels": named(pd.MultiIndex.from_product([["a", "b"], ["c", "d"]])),
    "names that are odd": named(["", " ", "a\nb", "größe 🙂"]),
    "an index that repeats": frame().set_axis([0] * N),
    "no columns in a frame": pd.DataFrame(index=range(N)),
    "no rows in a frame": frame().head(0),
    "a series": frame()["a"],
    "a sparse column": frame(b=pd.arrays.SparseArray(X[:, 1])),
}
TARGETS: dict[str, Any] = {  # of numbers
    "a gap": changed(np.nan, (3,), signal),
    "an infinity": changed(np.inf, (3,), signal),
    "constant": np.ones(N),
    "huge": signal * 1e300,
    "tiny": signal * 1e-300,
    "huge and tiny": signal * np.where(np.arange(N) % 2, 1e300, 1e-300),
    "text": np.array(["x"] * N),
    "numbers as text": signal.astype(str),
    "objects": signal.astype(object),
    "None": changed(None, (3,), signal, object),
    "complex": signal + 1j,
    "flags": signal > 1,
    "dates": np.arange(N).astype("datetime64[D]"),
    "too short": signal[:-1],
    "empty": signal[:0],
    "a number": 1.0,
    "nothing": None,
    "a list": signal.tolist(),
    "ragged": [[1.0], [1.0, 2.0]] * (N // 2),
    "no column": signal[:, None][:, :0],
    "three dimensions": signal[:, None, None],
    "two columns": np.column_stack([signal, signal]),
    "two columns, one constant": np.column_stack([signal, np.ones(N)]),
    "a frame": pd.DataFrame({"y": signal}),
    "categories": pd.Series(pd.Categorical(["x", "y"] * (N // 2))),
    "nullable": pd.Series(pd.array([1, 0] * (N // 2), dtype="Int64")),
    "nullable with a gap": pd.Series(pd.array([1, 0, None, 1] * (N // 4), dtype="Int64")),
}
WEIGHTS: dict[str, Any] = {
    "one negative": changed(-1.0, (3,), np.ones(N)),
    "a gap": changed(np.nan, (3,), np.ones(N)),
    "an infinity": changed(np.inf, (3,), np.ones(N)),
    "all zero": np.zeros(N),
    "one positive": np.eye(N)[0],
    "two positive": np.eye(N)[0] + np.eye(N)[1],
    "huge": np.full(N, 1e300),
    "huge and tiny": np.where(np.arange(N) % 2, 1e300, 1e-300),
    "tiny": np.full(N, 1e-300),
    "text": ["heavy"] * N,
    "numbers as text": ["1"] * N,
    "too short": np.ones(N - 1),
    "two columns": np.ones((N, 2)),
    "a number": 2.0,
    "flags": np.arange(N) % 2 > 0,
    "complex": np.ones(N) + 1j,
    "None among numbers": changed(None, (3,), np.ones(N), object),
    "ragged": [[1.0], [1.0, 2.0]] * (N // 2),
}
