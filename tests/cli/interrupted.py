"""A script for test_interrupts: interrupts fits at random moments, and prints what each left behind."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import warnings

import numpy as np
from sklearn.datasets import make_regression
from sklearn.model_selection import cross_val_score

from riata import (
    KnockoffSelector,
    LassoNetImputer,
    LassoNetRegressor,
    LassoNetRegressorCV,
    StabilitySelector,
    Training,
)
from tests.conftest import with_training

MOMENTS = 10
LONGEST = 1.5  # seconds until an interrupt
X, y = make_regression(5000, 60, n_informative=10, noise=10, random_state=0)
GAPS = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)


class Scored(LassoNetRegressor):
    """Remembers that a score was asked for."""

    scored = False

    def score(self, *args):
        """Score, and say so."""
        type(self).scored = True
        return super().score(*args)


class Loop:
    """What a script does: one fit after another."""

    def fit(self, X, y):
        """Score folds again and again; no fold ends before it is interrupted."""
        cross_val_score(Scored(training=Training(n_iters=100_000, patience=None, tol=0.0)), X, y)


def works(n_jobs: int):
    """Return what is interrupted, by name."""
    parallel = {"n_jobs": n_jobs, "random_state": 0}
    return {
        "fit": lambda: LassoNetRegressor(random_state=0),
        "script": Loop,
        "cross-validation": lambda: LassoNetRegressorCV(**parallel),
        "stability": lambda: StabilitySelector(LassoNetRegressor(), n_resamples=50, **parallel),
        "knockoffs": lambda: KnockoffSelector(LassoNetRegressor(), n_fits=20, **parallel),
        "impute": lambda: LassoNetImputer(random_state=0),
    }


def interrupted(model, seconds: float) -> dict[str, object]:
    """Fit a model, interrupt it, and say how long it went on and what it holds."""
    sent = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(seconds, interrupt)
    try:
        timer.start()
        model.fit(*((GAPS,) if isinstance(model, LassoNetImputer) else (X, y)))
        timer.join()
        return {"ended": True}
    except KeyboardInterrupt:
        late = time.perf_counter() - sent[0]
    return {"late": late, "fitted": [name for name in ("path_", "point_", "selected_") if hasattr(model, name)]}


def main() -> None:
    """Print one line of JSON."""
    warnings.simplefilter("ignore")
    name, n_jobs, draw = sys.argv[1], int(sys.argv[2]), np.random.default_rng()
    LassoNetRegressor(**with_training(n_iters=1, lambda_seq=[1e9])).fit(X[:100], y[:100])  # what a process does once
    moments = draw.uniform(0.01, LONGEST, MOMENTS)
    found = [interrupted(works(n_jobs)[name](), seconds) for seconds in moments]
    print(json.dumps({"found": found, "scored": Scored.scored}))


if __name__ == "__main__":
    main()
