"""Small maps of the clearest interactions of a model."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from riata.evidence.surface import Surface, effect_surface
from riata.report.features import names_of, ranked
from riata.report.numbers import each, shorter

__all__ = ["maps"]

_MAPS = 4  # of a report
_AMONG = 6  # selected features of which all pairs are tried
_AMONG_WIDE, _WIDE = 4, 2000  # the same where X has many columns
_LEAST = 0.05  # share of the variance of a map that an interaction explains

Pair = tuple[int, int]


def maps(model: Any, X: Any, random_state: Any) -> list[dict[str, Any]]:
    """Return the clearest interactions in the predictions, those that screening found first.

    Tried are the pairs of ``interactions_`` whose features are selected, and all pairs of the most important features.
    """
    known = _screened(model)
    top = ranked(model)[: _AMONG if model.n_features_in_ <= _WIDE else _AMONG_WIDE]
    pairs = dict.fromkeys([*known, *(_in_order(int(a), int(b)) for a, b in combinations(top, 2))])
    found = [(pair, effect_surface(model, X, *pair, random_state=random_state)) for pair in pairs]
    clear = [(pair, surface) for pair, surface in found if surface.share[_output(surface)] >= _LEAST]
    clear.sort(key=lambda one: (one[0] not in known, -float(one[1].interaction[_output(one[1])])))
    names = names_of(model)
    return [_as_dict(surface, [names[j] for j in pair], pair in known) for pair, surface in clear[:_MAPS]]


def _screened(model: Any) -> list[Pair]:
    """Return the pairs that screening found among the selected features."""
    found = model.interactions_
    pairs = found[found["selected"].to_numpy(dtype=bool) & found["feature_3"].isna().to_numpy()].head(_AMONG)
    places = {name: j for j, name in enumerate(getattr(model, "feature_names_in_", range(model.n_features_in_)))}
    return [_in_order(places[row.feature_1], places[row.feature_2]) for row in pairs.itertuples(index=False)]


def _in_order(a: int, b: int) -> Pair:
    return (a, b) if a < b else (b, a)


def _output(surface: Surface) -> int:
    """Return the output that shows most of the interaction; of two classes the second."""
    two_classes = len(surface.outputs) == 2 and surface.outputs != ["target 1", "target 2"]
    return 1 if two_classes else int(np.argmax(surface.interaction))


def _as_dict(surface: Surface, names: list[str], tested: bool) -> dict[str, Any]:
    k = _output(surface)
    values = [[str(v) for v in part] if part.dtype.kind not in "iuf" else each(part) for part in surface.values]
    return {
        "features": names,
        "values": values,
        "prediction": each(surface.prediction[:, :, k]),
        "output": surface.outputs[k],
        "share": shorter(surface.share[k]),
        "tested": tested,
    }
