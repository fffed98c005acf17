"""Small maps of the clearest interactions of a model."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from riata.evidence.surface import Surface, effect_surface
from riata.report.features import ranked
from riata.report.numbers import each, shorter

__all__ = ["maps"]

_MAPS = 4  # of a report
_AMONG, _AMONG_WIDE, _WIDE = (
    6,
    4,
    2000,
)  # selected features of which all pairs are tried; fewer where X has many columns
_LEAST = 0.02  # share of the variance of a map that an interaction explains


def maps(model: Any, X: Any, random_state: Any) -> list[dict[str, Any]]:
    """Return the clearest interactions in the predictions, those that screening found first.

    Tried are the pairs of ``interactions_`` whose features are selected, and all pairs of the most important features.
    """
    known = _screened(model)
    top = ranked(model)[: _AMONG if model.n_features_in_ <= _WIDE else _AMONG_WIDE]
    pairs = dict.fromkeys([*known, *combinations(map(int, top), 2)])
    found = [(pair in known, effect_surface(model, X, *pair, random_state=random_state)) for pair in pairs]
    clear = [each for each in found if each[1].share.max() >= _LEAST]
    clear.sort(key=lambda one: (not one[0], -_largest(one[1])))
    return [_as_dict(surface, tested) for tested, surface in clear[:_MAPS]]


def _screened(model: Any) -> list[tuple[int, int]]:
    """Return the pairs that screening found among the selected features, each pair in the order of the columns."""
    found = model.interactions_
    pairs = found[found["selected"].to_numpy(dtype=bool) & found["feature_3"].isna().to_numpy()].head(_AMONG)
    places = {name: j for j, name in enumerate(getattr(model, "feature_names_in_", range(model.n_features_in_)))}
    return [(places[row.feature_1], places[row.feature_2]) for row in pairs.itertuples(index=False)]


def _output(surface: Surface) -> int:
    """Return the output that shows most of the interaction; of two classes the second."""
    two_classes = len(surface.outputs) == 2 and surface.outputs != ["target 1", "target 2"]
    return 1 if two_classes else int(np.argmax(surface.interaction))


def _largest(surface: Surface) -> float:
    return float(surface.interaction[_output(surface)])


def _as_dict(surface: Surface, tested: bool) -> dict[str, Any]:
    k = _output(surface)
    values = [[str(v) for v in part] if part.dtype.kind not in "iuf" else each(part) for part in surface.values]
    return {
        "features": list(surface.features),
        "values": values,
        "prediction": each(surface.prediction[:, :, k]),
        "output": surface.outputs[k],
        "share": shorter(surface.share[k]),
        "tested": tested,
    }
