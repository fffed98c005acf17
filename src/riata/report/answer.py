"""The answer of a report in two sentences: which features, how good, how sure."""

from __future__ import annotations

import math
from typing import Any

from riata.evidence.curves import brief
from riata.report.text import isolated, listed

__all__ = ["answer", "interval"]

_Z = 1.96  # standard deviations of a normal distribution, of which 95 % lie within
_HIGHEST = {"concordance": 1.0, "R²": 1.0}


def answer(summary: dict[str, Any]) -> list[str]:
    """Return the sentences."""
    return [_which(summary), _how_good(summary) + _how_sure(summary)]


def _which(summary: dict[str, Any]) -> str:
    columns, n = summary["features"], summary["n_features"]
    names = [name for name, is_in in zip(columns["name"], columns["selected"], strict=True) if is_in]
    target = f" to predict {isolated(summary['target'])}" if summary["target"] else ""
    if not names:
        return f"None of the {n:,} features was selected{target}: none clearly lowers the validation loss."
    if len(names) == n:
        return f"The model uses all {n:,} features{target}: {listed(names)}."
    return f"The model uses {len(names):,} of {n:,} features{target}: {listed(names)}."


def _how_good(summary: dict[str, Any]) -> str:
    points, score = summary["points"], summary["score_name"]
    model = points[summary["at"]]
    beside = [
        f"{name} {_number(point['score'])}"
        for name, point in (("with all features", points[-1]), ("without features", points[0]))
        if point is not model and point["n"] in (0, summary["n_features"])
    ]
    if model["score"] is not None and model["score_se"] is not None:
        low, high = interval(score, model["score"], model["score_se"], summary["n_held_out"])
        beside.insert(0, f"95 % interval {_number(low)} to {_number(high)}")
    inside = f" ({'; '.join(beside)})" if beside else ""
    samples = (
        f"{summary['n_held_out']:,} held-out samples"
        if summary["held_out"]
        else f"the {summary['n_held_out']:,} samples given"
    )
    return f"On {samples} its {score} is {_number(model['score'])}{inside}; "


def interval(name: str, score: float, error: float, n: int) -> tuple[float, float]:
    """Return a 95 % interval of a score: Wilson's for an accuracy, a share of n samples, else ±1.96 standard errors."""
    if name != "accuracy":
        return score - _Z * error, min(score + _Z * error, _HIGHEST.get(name, math.inf))
    weight = _Z**2 / n
    middle = (score + weight / 2) / (1 + weight)
    margin = _Z * math.sqrt(score * (1 - score) / n + weight / (4 * n)) / (1 + weight)
    return middle - margin, middle + margin


def _number(value: float | None) -> str:
    if value is None:
        return "unknown"
    text = f"{value:.3f}" if abs(value) < 10 else brief(value, 4)
    return "0.000" if text == "-0.000" else text.replace("-", "−")


def _how_sure(summary: dict[str, Any]) -> str:
    columns, found = summary["features"], []
    n = sum(columns["selected"])
    stable, knockoffs = summary["stability"], summary["knockoffs"]
    if stable is not None:
        common = sum(a and b for a, b in zip(columns["selected"], columns["stable"], strict=True))
        found.append(
            f"{common} of the {n} are stable: at least {100 * stable['threshold']:g} % of {stable['n_resamples']} half-samples "
            f"select them, and at most {brief(stable['false_bound'])} false ones are expected among {stable['n_selected']} "
            "stable features"
        )
    if knockoffs is not None:
        common = sum(a and b for a, b in zip(columns["selected"], columns["knockoff"], strict=True))
        rate = f"at a false discovery rate of {knockoffs['fdr']:g}"
        found.append(
            f"{common} of the {n} are selected by knockoffs {rate}"
            if knockoffs["n_selected"]
            else f"knockoffs select no feature at all {rate}, at which fewer than {knockoffs['fewest']} cannot be selected"
        )
    if not found:
        return "whether other samples would give the same features was not tested."
    return "; ".join(found) + "."
