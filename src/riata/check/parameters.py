"""Numbers, choices and sequences that are given as parameters."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

from riata.check.naming import as_list


def number(name: str, value: Any, low: float = 0.0, high: float = math.inf, *, above: bool = False) -> float:
    """Check a real number in [low, high], or in (low, high] with ``above``."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    if not real or not (low < value if above else low <= value) or value > high:
        interval = f"{'(' if above else '['}{low:g}, {high:g}{']' if math.isfinite(high) else ')'}"
        raise ValueError(f"{name} must be a finite number in {interval}; got {value!r}")
    return float(value)


def whole(name: str, value: Any, low: int = 0) -> int:
    """Check an integer of at least ``low``."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < low:
        raise ValueError(f"{name} must be an integer of at least {low}; got {value!r}")
    return int(value)


def one_of(name: str, value: Any, allowed: Sequence[Any]) -> Any:
    """Check a choice."""
    if not any(value is a or (isinstance(value, type(a)) and value == a) for a in allowed):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}")
    return value


def per_stage(name: str, value: Any, low: int, *, optional: bool = False) -> tuple[Any, Any]:
    """Check an integer, or a pair of them for the dense model and for each point after it; with ``optional``, or None."""
    pair = tuple(value) if isinstance(value, Sequence) else (value, value)
    if len(pair) != 2:
        raise ValueError(f"{name} must be one number or a pair (dense model, every other point); got {value!r}")
    dense, sparse = (None if optional and v is None else whole(name, v, low) for v in pair)
    return dense, sparse


def tolerance(value: Any) -> float:
    """Check ``tol``, which other packages give another meaning."""
    if isinstance(value, numbers.Real) and float(value) >= 0.5:
        raise ValueError(
            f"tol={value!r} is not a relative tolerance: leave a point when the objective falls by less than this share "
            "(such as 1e-4); a factor on the objective, as in the lassonet package, would be 1 - tol here"
        )
    return number("tol", value)


_NETWORKS = "(100,), a torch.nn.Module, or a function network(n_inputs, n_outputs) that returns one"


def hidden_dims(value: Any) -> tuple[int, ...]:
    """Check the widths of the hidden layers."""
    widths = (value,) if isinstance(value, numbers.Integral) else as_list("hidden_dims", value, _NETWORKS)
    if not widths:
        raise ValueError("hidden_dims must name at least one hidden layer, such as (100,); for a linear model use M=0")
    return tuple(whole("hidden_dims", w, 1) for w in widths)


def lambda_seq(value: Any) -> tuple[float, ...] | None:
    """Check an explicit sequence of λ."""
    if value is None:
        return None
    seq = tuple(number("lambda_seq", v, above=True) for v in as_list("lambda_seq", value, "(0.1, 1, 10)"))
    falls = [i for i in range(1, len(seq)) if seq[i] <= seq[i - 1]]
    if not seq or falls:
        at = f"; it falls from {seq[falls[0] - 1]:g} to {seq[falls[0]]:g}" if falls else ""
        raise ValueError(
            f"lambda_seq must be a non-empty, strictly increasing sequence, as the path goes dense to sparse{at}"
        )
    return seq
