"""A fit on any data frame either works, with finite predictions, or raises a ValueError that says something."""

from __future__ import annotations

import os
import re
import warnings
from datetime import date

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from riata import LassoNetAutoencoder, LassoNetClassifier, LassoNetImputer, LassoNetRegressor
from tests.conftest import with_training

EXAMPLES = int(os.environ.get("RIATA_EXAMPLES", "60"))  # thousands take minutes
BRIEF = with_training(hidden_dims=(2,), n_iters=(3, 2), path_multiplier=8.0, select=0.0, random_state=0)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
CELLS = {
    "numbers": FINITE,
    "plain numbers": st.floats(-10, 10),
    "numbers and gaps": FINITE | st.just(np.nan),
    "any floats": st.floats(),
    "few numbers": st.sampled_from([0.0, 1.0, -0.0, 1e300, 5e-324]),
    "integers": st.integers(-(2**63), 2**63 - 1),
    "large integers": st.integers(-(2**80), 2**80),
    "flags": st.booleans(),
    "flags and gaps": st.sampled_from([True, False, None]),
    "text": st.text(max_size=4),
    "levels": st.sampled_from(["x", "y", "ü", "", None]),
    "dates": st.dates(date(1700, 1, 1), date(2200, 1, 1)),
    "times": st.datetimes(pd.Timestamp("1700").to_pydatetime(), pd.Timestamp("2200").to_pydatetime()),
    "anything": st.one_of(st.none(), st.integers(-3, 3), FINITE, st.text(max_size=2), st.booleans(), st.just(1 + 2j)),
    "containers": st.one_of(st.lists(st.integers(), max_size=2), st.tuples(st.integers()), st.none()),
    "bytes": st.binary(max_size=3),
}
NAMES = st.text(max_size=5) | st.sampled_from(["a", "a", "ü", "x0", " a", "target", "0", "\n", "\x00"])


@st.composite
def columns(draw, n):
    kind = draw(st.sampled_from(list(CELLS)))
    cells = draw(st.lists(CELLS[kind], min_size=n, max_size=n))
    column = pd.Series(cells, dtype=object)
    if draw(st.booleans()):
        column = column.infer_objects()
    if kind in ("levels", "flags and gaps", "integers", "text") and draw(st.booleans()):
        column = pd.Series(pd.Categorical(column)) if draw(st.booleans()) else column.convert_dtypes()
    return column


@st.composite
def frames(draw):
    n, d = draw(st.integers(0, 14)), draw(st.integers(0, 4))
    made = pd.concat([draw(columns(n)) for _ in range(d)], axis=1) if d else pd.DataFrame(index=range(n))
    names = draw(st.lists(NAMES, min_size=d, max_size=d, unique=draw(st.booleans())))
    if draw(st.integers(0, 9)) == 0:
        names = draw(st.lists(st.integers(0, 3) | NAMES | st.none(), min_size=d, max_size=d))
    return made.set_axis(pd.Index(names, dtype=object), axis=1) if d else made


def outcome(model, frame, *target):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(frame, *target)
            predict = getattr(model, "predict_proba", None) or getattr(model, "predict", None)
            return (predict or getattr(model, "reconstruct", None) or model.transform)(frame)
        except ValueError as error:
            assert len(str(error)) > 20, error
        except TypeError as error:
            assert re.search("Feature names are only supported|labels represented as bytes", str(error)), error
    return None


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(frames(), st.integers(0, 3))
def test_a_fit_on_any_frame_works_or_is_refused(frame, which):
    n = len(frame)
    numbers = np.linspace(-1, 1, n) if n else np.empty(0)
    model, target = [
        (LassoNetRegressor(**BRIEF), (numbers,)),
        (LassoNetClassifier(**BRIEF), (np.arange(n) % 2,)),
        (LassoNetAutoencoder(**BRIEF), ()),
        (LassoNetImputer(**BRIEF), ()),
    ][which]
    found = outcome(model, frame, *target)
    event("refused" if found is None else "fitted")
    assert found is None or np.isfinite(np.asarray(found, dtype=float)).all(), frame.to_numpy().tolist()


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.one_of(*CELLS.values()), min_size=8, max_size=8) | columns(8))
def test_a_fit_on_any_target_works_or_is_refused(target):
    X = np.arange(16.0).reshape(8, 2) % 5
    for model in (LassoNetRegressor(**BRIEF), LassoNetClassifier(**BRIEF)):
        found = outcome(model, X, target)
        assert found is None or np.isfinite(np.asarray(found, dtype=float)).all()
