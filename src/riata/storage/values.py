"""Values as JSON: plain ones as they are, arrays by name, and objects of classes that are known beforehand by their fields.

A file names a class, and the reader has a list of the classes that there may be. Nothing else is ever built from a file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from riata.storage.archive import ModelFileError

__all__ = ["Kind", "Reader", "Writer"]

_NUMBERS = "biuf"  # kinds of arrays that are stored as arrays


@dataclass(frozen=True)
class Kind:
    """A class whose objects may be in a file.

    Parameters
    ----------
    cls : type
        The class. Objects are built by calling it with the fields as keywords.
    names : tuple of str
        The fields; of a dataclass or a named tuple all of them if not given.
    without : tuple of str
        Fields that are not stored.
    """

    cls: type
    names: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def stored(self) -> tuple[str, ...]:
        """The fields that are stored."""
        names = self.names
        if not names and is_dataclass(self.cls):
            names = tuple(field.name for field in fields(self.cls) if field.init)
        elif not names:
            names = getattr(self.cls, "_fields", ())
        return tuple(name for name in names if name not in self.without)

    def state(self, value: Any) -> dict[str, Any]:
        """Return the fields of an object, as a pickle would hold them."""
        if isinstance(value, tuple):
            return {name: getattr(value, name) for name in self.stored}
        state = {**vars(value), **(value.__getstate__() or {})}
        return {name: state[name] if name in state else getattr(value, name) for name in self.stored}


class Writer:
    """Turns values into JSON types, and collects the arrays.

    Parameters
    ----------
    kinds : mapping of str to Kind
        The classes that are known, by the names that files have for them.
    """

    def __init__(self, kinds: Mapping[str, Kind]):
        self._kinds = kinds
        self._names = {kind.cls: name for name, kind in kinds.items()}
        self._seen: dict[
            int, tuple[int, Any]
        ] = {}  # objects that are written, by identity; kept alive, so that it is unique
        self.arrays: dict[str, NDArray[Any]] = {}

    def write(self, value: Any, where: str) -> Any:
        """Return a value as JSON types; ``where`` names it in errors."""
        if type(value) in self._names:
            return self._object(value, where)
        if value is None or (isinstance(value, bool | int | str) and not isinstance(value, np.generic)):
            return value
        if isinstance(value, float | np.generic):
            return self._scalar(value, where)
        plain = type(value) if isinstance(value, tuple | list | dict) else None  # a named tuple is no plain one
        for types, write in self._rules().items():
            if plain is types or (plain is None and isinstance(value, types)):
                return write(value, where)
        raise ModelFileError(f"{where} cannot be part of a model file: it is of the type {type(value).__name__}")

    def _rules(self) -> dict[Any, Callable[[Any, str], Any]]:
        return {
            torch.Tensor: lambda value, _: {"tensor": self._stored(value.detach().cpu().numpy())},
            np.ndarray: self._array,
            pd.DataFrame: self._frame,
            pd.Index: lambda value, where: {"index": self._each(value.tolist(), where)},
            np.dtype: lambda value, _: {"dtype": value.str},
            (datetime, date): lambda value, _: {
                "date": value.isoformat(),
                "timestamp": isinstance(value, pd.Timestamp),
            },
            tuple: lambda value, where: {"tuple": self._each(value, where)},
            list: self._each,
            dict: lambda value, where: {"dict": [self._each(pair, where) for pair in value.items()]},
        }

    def _each(self, values: Any, where: str) -> list[Any]:
        return [self.write(value, f"{where}[{i}]") for i, value in enumerate(values)]

    def _object(self, value: Any, where: str) -> Any:
        """Write an object once, and refer to it where it is met again."""
        if id(value) in self._seen:
            return {"same": self._seen[id(value)][0]}
        name = self._names[type(value)]
        state = self._kinds[name].state(value)
        written = {"is": name, "with": {field: self.write(each, f"{where}.{field}") for field, each in state.items()}}
        self._seen[id(value)] = len(self._seen), value
        return written

    def _scalar(self, value: Any, where: str) -> Any:
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, float) and not math.isfinite(plain):
            return {"float": str(plain)}
        return plain if isinstance(plain, bool | int | float | str) else self.write(plain, where)

    def _array(self, value: NDArray[Any], where: str) -> Any:
        if value.dtype.kind in _NUMBERS:
            return {"array": self._stored(value)}
        if value.dtype.kind in "Mm":
            return {"times": self._stored(value.astype(np.int64)), "dtype": value.dtype.str}
        entries = self._each(value.ravel().tolist(), where)
        return {"objects": entries, "shape": list(value.shape), "dtype": value.dtype.str}

    def _frame(self, value: pd.DataFrame, where: str) -> Any:
        columns = [value.iloc[:, j] for j in range(value.shape[1])]
        numbers = [
            column.to_numpy() if column.dtype.kind in _NUMBERS else column.to_numpy(object) for column in columns
        ]
        return {
            "frame": [
                self.write(array, f"{where}[{name!r}]") for name, array in zip(value.columns, numbers, strict=True)
            ],
            "columns": self._each(value.columns.tolist(), where),
        }

    def _stored(self, array: NDArray[Any]) -> str:
        name = f"a{len(self.arrays)}"
        self.arrays[name] = array
        return name


class Reader:
    """Turns JSON types back into values.

    Parameters
    ----------
    kinds : mapping of str to Kind
        The classes that may be built.
    arrays : mapping of str to array
        The arrays of the file.
    """

    def __init__(self, kinds: Mapping[str, Kind], arrays: Mapping[str, NDArray[Any]]):
        self._kinds = kinds
        self._arrays = arrays
        self._built: list[Any] = []

    def read(self, value: Any) -> Any:
        """Return the value that a writer was given; raise ModelFileError for what no writer writes."""
        try:
            return self._read(value)
        except ModelFileError:
            raise
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            raise ModelFileError(f"what it holds cannot be a model: {type(error).__name__}: {error}") from None

    def _read(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, list):
            return [self._read(each) for each in value]
        for tag, read in self._rules().items():
            if tag in value:
                return read(value)
        raise ModelFileError(f"it holds a value of an unknown kind: {sorted(value)[:3]}")

    def _rules(self) -> dict[str, Callable[[dict[str, Any]], Any]]:
        return {
            "is": self._object,
            "same": lambda value: self._built[value["same"]],
            "float": lambda value: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[value["float"]],
            "array": lambda value: self._arrays[value["array"]].copy(),
            "tensor": lambda value: torch.from_numpy(self._arrays[value["tensor"]].copy()),
            "times": lambda value: self._arrays[value["times"]].astype(_checked_dtype(value["dtype"], "Mm")),
            "objects": self._objects,
            "index": lambda value: pd.Index(self._each(value["index"]), dtype=object),
            "frame": self._frame,
            "date": self._date,
            "dtype": lambda value: _checked_dtype(value["dtype"], _NUMBERS),
            "tuple": lambda value: tuple(self._each(value["tuple"])),
            "dict": lambda value: {key: each for key, each in map(self._each, value["dict"])},
        }

    def _each(self, values: list[Any]) -> list[Any]:
        return [self._read(each) for each in values]

    def _object(self, value: dict[str, Any]) -> Any:
        kind = self._kinds.get(value["is"])
        if kind is None:
            raise ModelFileError(f"it holds an object of the class {value['is']!r}, which riata does not know")
        given = {name: self._read(each) for name, each in value["with"].items()}
        unknown = given.keys() - set(kind.stored)
        if unknown:
            raise ModelFileError(
                f"{value['is']} in it has fields that riata does not know: {', '.join(sorted(unknown))}"
            )
        built = kind.cls(**given)
        self._built.append(built)
        return built

    def _objects(self, value: dict[str, Any]) -> NDArray[Any]:
        dtype, entries = np.dtype(value["dtype"]), self._each(value["objects"])
        if dtype.kind == "U":
            return np.array(entries, dtype=dtype).reshape(value["shape"])
        if dtype.kind != "O":
            raise ModelFileError(f"it holds an array of the type {value['dtype']!r}")
        array = np.empty(len(entries), dtype=object)
        array[:] = entries
        return array.reshape(value["shape"])

    def _frame(self, value: dict[str, Any]) -> pd.DataFrame:
        arrays = dict(enumerate(self._each(value["frame"])))
        return pd.DataFrame(arrays).set_axis(self._each(value["columns"]), axis=1)

    def _date(self, value: dict[str, Any]) -> Any:
        return pd.Timestamp(value["date"]) if value["timestamp"] else _python_date(value["date"])


def _python_date(text: str) -> date:
    return datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text)


def _checked_dtype(text: str, kinds: str) -> np.dtype:
    dtype = np.dtype(text)
    if dtype.kind not in kinds:
        raise ModelFileError(f"it holds an array of the type {text!r}")
    return dtype
