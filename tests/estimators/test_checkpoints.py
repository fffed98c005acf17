"""A fit that is stopped at any moment and continued ends as if it had not been stopped, for every estimator."""

from __future__ import annotations

import hashlib
import itertools
import logging
import signal
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.linear_model import LassoCV
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

import riata
from riata import CheckpointError
from riata.estimators.saving import described
from riata.network import sparse
from riata.storage import store
from tests.conftest import with_training

N = 160
rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(N, 6)), columns=list("abcdef"))
X.loc[::9, "b"] = np.nan
X["town"] = np.array(["Ulm", "Bonn", "Kiel"])[rng.integers(0, 3, N)]
NOISY = X["a"].to_numpy() - np.abs(X["c"].to_numpy()) + (X["town"] == "Ulm").to_numpy() + 0.1 * rng.normal(size=N)
NUMBERS = X[["a", "c", "d", "e", "f"]].to_numpy()
WIDE = rng.normal(size=(N, 14))
FEW = csr_array(np.where(np.abs(NUMBERS) > 0.8, NUMBERS, 0))
TIMES = np.column_stack([np.exp(-NOISY), rng.random(N) < 0.8])
INTERVALS = np.column_stack([np.exp(NOISY) * 0.9, np.where(rng.random(N) < 0.2, np.inf, np.exp(NOISY) * 1.1)])


def network(n_inputs: int, n_outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(n_inputs, 6), nn.GELU(), nn.Dropout(0.2), nn.Linear(6, n_outputs))


def quick(**given: Any) -> dict[str, Any]:
    return {
        "hidden_dims": (5,),
        "random_state": 0,
        **with_training(**{"path_multiplier": 1.3, "n_iters": (60, 5), **given}),
    }


LINEAR = riata.LassoNetRegressor(**quick(), M=0)
# What is fitted, its arguments, and after how many files the fit is stopped, again and again.
CASES: dict[str, tuple[Any, tuple[Any, ...], int]] = {
    "numbers": (riata.LassoNetRegressor(**quick()), (X, NOISY), 1),
    "classes": (riata.LassoNetClassifier(**quick(), refit="scratch", adaptive=0), (X, NOISY > 0), 1),
    "mini-batches": (riata.LassoNetRegressor(**quick(batch_size=32)), (X, NOISY), 1),
    "sparse": (riata.LassoNetRegressor(**quick()), (FEW, NOISY), 1),
    "dropout": (riata.LassoNetRegressor(**quick(dropout=0.2)), (NUMBERS, NOISY), 2),
    "given λ": (riata.LassoNetRegressor(**quick(), lambda_seq=(0.01, 0.1, 0.3, 1.0)), (X, NOISY), 1),
    "a network": (riata.LassoNetRegressor(**{**quick(), "hidden_dims": network}), (NUMBERS, NOISY), 2),
    "no seed": (riata.LassoNetRegressor(**{**quick(), "random_state": None}), (NUMBERS, NOISY), 1),
    "times": (riata.LassoNetCoxRegressor(**quick()), (NUMBERS, TIMES), 2),
    "intervals": (riata.LassoNetIntervalRegressor(**quick(batch_size=50)), (NUMBERS, INTERVALS), 2),
    "no target": (riata.LassoNetAutoencoder(**quick()), (NUMBERS,), 1),
    "gaps": (riata.LassoNetImputer(**quick(), refit="warm"), (X[list("abcd")],), 1),
    "folds": (riata.LassoNetRegressorCV(**quick(), cv=2, M=[0, 10]), (X, NOISY), 9),
    "folds, times": (riata.LassoNetCoxRegressorCV(**quick(), cv=2), (NUMBERS, TIMES), 9),
    "halves": (riata.StabilitySelector(LINEAR, n_resamples=4, max_false=2, random_state=0), (X, NOISY), 7),
    "halves, another estimator": (
        riata.StabilitySelector(make_pipeline(StandardScaler(), LassoCV()), n_resamples=4, max_false=2, random_state=0),
        (NUMBERS, NOISY),
        1,
    ),
    "knockoffs": (
        riata.KnockoffSelector(riata.LassoNetRegressor(**quick()), fdr=0.5, n_fits=2, random_state=0),
        (WIDE, WIDE @ np.arange(14) / 14),
        9,
    ),
}


def arrays(value: Any) -> Any:
    """All numbers that a fit returned, one after another."""
    if isinstance(value, pd.DataFrame):
        value = value.to_numpy()
    if isinstance(value, np.ndarray):
        yield value if value.dtype != object else repr(value.tolist())
    elif isinstance(value, riata.Path):
        yield from (value.visited, np.array(value.val_weights))
        for point in value:
            yield from arrays(point)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from arrays(getattr(value, name))
    else:
        yield repr(value)


def digest(model: Any) -> str:
    names = (
        "path_",
        "point_",
        "cv_results_",
        "cv_score_",
        "path_frequencies_",
        "statistics_",
        "e_values_",
        "selected_",
    )
    found = hashlib.sha256()
    for name in names:
        for each in arrays(getattr(model, name, None)):
            found.update(each.encode() if isinstance(each, str) else np.ascontiguousarray(each).tobytes())
    return found.hexdigest()


def fit(model: Any, folder: Path | None, data: tuple[Any, ...], *, resume: bool = False) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).set_params(checkpoint=folder).fit(*data, **({"resume": True} if resume else {}))


class Stop(BaseException):
    """What ends a fit; like an interrupt, but no other part of Python waits for it."""


def stopping(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Stop when so many writes are complete."""
    counter, write = itertools.count(1), store.Store.write

    def stopped(self: store.Store, values: Any) -> None:
        write(self, values)
        if next(counter) == after:
            raise Stop

    monkeypatch.setattr(store.Store, "write", stopped)


def stopped(model: Any, folder: Path, data: tuple[Any, ...], every: int, limit: int = 10_000) -> tuple[Any, int]:
    """Fit, stop after so many writes, and continue, until the fit ends; return it and the number of stops."""
    for n_stops in range(limit):
        with pytest.MonkeyPatch.context() as patch:
            stopping(patch, every)
            try:
                return fit(model, folder, data, resume=True), n_stops
            except Stop:
                pass
    return None, limit


@pytest.mark.parametrize("name", CASES)
def test_a_fit_that_is_stopped_again_and_again_ends_as_if_it_had_not_been(name, tmp_path, monkeypatch):
    model, data, every = CASES[name]
    if name == "sparse":
        monkeypatch.setattr(sparse, "LARGEST", 0)
    found, n_stops = stopped(model, tmp_path / "stopped", data, every)
    assert n_stops >= 5
    again = tmp_path / "whole"
    if name == "no seed":  # the seed is drawn once, and is part of the checkpoint
        assert digest(found) == digest(fit(model, tmp_path / "stopped", data, resume=True))
        assert digest(found) != digest(fit(model, again, data))
        return
    whole = fit(model, again, data)
    assert digest(found) == digest(whole) == digest(fit(model, None, data))
    assert digest(fit(model, again, data, resume=True)) == digest(whole)  # of what is finished


def test_a_changed_sparse_table_is_refused(tmp_path):
    model, data, _ = CASES["sparse"]
    stopped(model, tmp_path, data, 4, limit=1)
    other = FEW.copy()
    other.data[3] += 1e-9
    with pytest.raises(CheckpointError, match=r"another fit: .*X has changed"):
        fit(model, tmp_path, (other, NOISY), resume=True)


def test_an_interrupt_reaches_the_caller_and_leaves_what_was_complete(tmp_path, monkeypatch):
    model, data, _ = CASES["folds"]
    counter, write = itertools.count(1), store.Store.write

    def interrupting(self: store.Store, values: Any) -> None:
        write(self, values)
        if next(counter) == 12:
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
    try:
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(store.Store, "write", interrupting)
            fit(model, tmp_path, data)
    finally:
        signal.signal(signal.SIGINT, before)
    assert digest(fit(model, tmp_path, data, resume=True)) == digest(fit(model, None, data))


def test_values_that_mean_the_same_are_described_alike_and_others_are_not():
    def network(width: int) -> Any:
        return lambda n_inputs, n_outputs: nn.Linear(n_inputs, width)

    alike = [(10, 10.0), (np.float64(2.5), 2.5), ((1, 2), [1, 2]), (KFold(3), KFold(3)), (network(3), network(3))]
    for one, other in [*alike, ({"b", "a"}, {"a", "b"}), (nn.ReLU(), nn.ReLU())]:
        assert described(one) == described(other)
    different = [(True, "True"), (KFold(3), KFold(4)), (network(3), network(4)), (np.mean, np.median), (None, 0)]
    losses = riata.losses
    for one, other in [*different, (losses.Quantile(0.1), losses.Quantile(0.2)), (nn.Linear(2, 2), nn.Linear(2, 2))]:
        assert described(one) != described(other)
    looped: list[Any] = []
    looped.append(looped)
    assert described(looped) and described(logging.getLogger("riata"))  # which hold themselves, or much of Python


def test_predictions_and_refits_after_a_continued_fit_are_those_of_an_unbroken_one(tmp_path):
    model, data, _ = CASES["numbers"]
    found, _ = stopped(model, tmp_path / "run", data, 5)
    whole, files = fit(model, None, data), sorted(tmp_path.rglob("*"))
    for n in (1, 2, 4):
        np.testing.assert_array_equal(found.at(n_features=n).predict(X), whole.at(n_features=n).predict(X))
    assert sorted(tmp_path.rglob("*")) == files  # a model writes nothing once it is fitted


def test_the_folder_holds_each_point_once_and_two_states(tmp_path):
    model, data, _ = CASES["numbers"]
    found = fit(model, tmp_path, data)
    names = {file.name.partition("-")[0] for file in tmp_path.iterdir()}
    assert names <= {"about.checkpoint", "lock", "point", "state", "refit", "finish", "start"}
    assert len(list(tmp_path.glob("state-*"))) == 2
    points = len(list(tmp_path.glob("point-*")))
    assert len(found.path_) <= points <= len(found.path_) + 1  # one that only the state before the last has


def test_what_jobs_kept_while_they_ran_is_removed_with_them(tmp_path):
    model, data, _ = CASES["halves"]
    fit(model, tmp_path, data)
    assert {file.name for file in tmp_path.iterdir()} == {"about.checkpoint", "lock"} | {
        f"half-{i:04d}.checkpoint" for i in range(1, 5)
    }


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"M": 3.0}, "M was 10 and is 3"),
        ({"random_state": 1}, r"random_state was 0 and is 1"),
        ({"lambda_seq": (0.1, 1)}, r"lambda_seq was null and is \[0\.1, 1\]"),
        ({"hidden_dims": network}, "hidden_dims has changed"),
        ({"loss": riata.losses.Quantile(0.7)}, "loss was null and is"),
        (with_training(path_multiplier=1.3, n_iters=(60, 6)), r"training__n_iters was \[60, 5\] and is \[60, 6\]"),
    ],
)
def test_a_changed_parameter_is_refused_by_its_name(tmp_path, changed, match):
    model, data, _ = CASES["numbers"]
    stopped(model, tmp_path, data, 4, limit=1)
    with pytest.raises(CheckpointError, match=f"is of another fit: {match}"):
        fit(clone(model).set_params(**changed), tmp_path, data, resume=True)


def test_changed_data_are_refused_by_their_name(tmp_path):
    model, data, _ = CASES["numbers"]
    weights = np.ones(len(X))
    stopped(model, tmp_path, (*data, weights), 4, limit=1)
    other = X.copy()
    other.loc[7, "d"] += 1e-12
    town = X.assign(town=X["town"].replace("Ulm", "Rom"))
    for changed, name in [
        ((other, NOISY, weights), "X has changed"),
        ((town, NOISY, weights), "categories has changed"),
        ((X, NOISY + 1e-9, weights), "y has changed"),
        ((X, NOISY, weights * np.arange(1, N + 1)), "sample_weight has changed"),
    ]:
        with pytest.raises(CheckpointError, match=f"another fit: .*{name}"):
            fit(model, tmp_path, changed, resume=True)
    assert fit(model, tmp_path, (*data, weights), resume=True).n_selected_  # which a refusal does not spoil


def test_what_changes_nothing_is_not_compared(tmp_path):
    model, data, _ = CASES["folds"]
    stopped(model, tmp_path, data, 8, limit=1)
    fit(clone(model).set_params(n_jobs=1, verbose=0, training__device="cpu"), tmp_path, data, resume=True)


def test_an_unfinished_fit_is_not_begun_anew_and_a_finished_one_is(tmp_path):
    model, data, _ = CASES["given λ"]
    stopped(model, tmp_path, data, 3, limit=1)
    with pytest.raises(CheckpointError, match=r"not finished: fit\(..., resume=True\) continues it; delete the folder"):
        fit(model, tmp_path, data)
    fit(model, tmp_path, data, resume=True)
    other = fit(clone(model).set_params(M=0.5), tmp_path, data)
    assert digest(other) == digest(fit(clone(model).set_params(M=0.5), None, data))


def test_the_last_good_state_is_used_where_the_newest_is_damaged(tmp_path):
    model, data, _ = CASES["numbers"]
    stopped(model, tmp_path, data, 9, limit=1)
    newest = max(tmp_path.glob("state-*"), key=lambda file: file.stat().st_mtime_ns)
    contents = bytearray(newest.read_bytes())
    contents[len(contents) // 2] ^= 1
    newest.write_bytes(contents)
    with pytest.warns(
        UserWarning,
        match=r"cannot use .*state-\d.checkpoint: .*CRC.*: the checkpoint continues from the last good state",
    ):
        found = clone(model).set_params(checkpoint=tmp_path).fit(*data, resume=True)
    assert digest(found) == digest(fit(model, None, data))


def test_where_no_state_is_good_the_reason_is_given(tmp_path):
    model, data, _ = CASES["numbers"]
    stopped(model, tmp_path, data, 9, limit=1)
    for file in tmp_path.glob("state-*"):
        file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(CheckpointError, match=r"state-0.*incomplete.*state-1.*incomplete.*delete .* to begin anew"):
        fit(model, tmp_path, data, resume=True)


@pytest.mark.parametrize("what", ["refit", "finish", "point"])
def test_files_of_another_fit_and_files_that_are_lost_are_made_again_or_refused(tmp_path, what):
    model, data, _ = CASES["numbers"]
    one, other = tmp_path / "one", tmp_path / "other"
    expected = digest(fit(model, one, data))
    fit(clone(model).set_params(random_state=1), other, data)
    file, foreign = sorted(one.glob(f"{what}-*"))[-1], sorted(other.glob(f"{what}-*"))[-1]
    file.write_bytes(foreign.read_bytes())
    again = clone(model).set_params(checkpoint=one)
    with pytest.warns(UserWarning, match="belongs to another fit"):
        assert digest(again.fit(*data, resume=True)) == expected
    if what != "point":
        file.unlink()
        assert digest(fit(model, one, data, resume=True)) == expected


def test_folders_that_hold_something_else_are_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("all of it")
    model, data, _ = CASES["numbers"]
    for resume in (False, True):
        with pytest.raises(CheckpointError, match="holds files and no checkpoint: give a new or an empty folder"):
            fit(model, tmp_path, data, resume=resume)
    with pytest.raises(CheckpointError, match="is a file: give a folder"):
        fit(model, tmp_path / "thesis.tex", data)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_one_folder_is_for_one_fit_at_a_time(tmp_path):
    model, data, _ = CASES["given λ"]
    with pytest.MonkeyPatch.context() as patch:
        write = store.Store.write

        def meanwhile(self: store.Store, values: Any) -> None:
            patch.setattr(store.Store, "write", write)
            with pytest.raises(CheckpointError, match="is in use: give each fit a folder of its own"):
                fit(model, tmp_path, data, resume=True)
            write(self, values)

        patch.setattr(store.Store, "write", meanwhile)
        fit(model, tmp_path, data)


def test_resume_needs_a_folder_and_selectors_have_their_own():
    with pytest.raises(ValueError, match='resume=True continues a checkpoint: also set checkpoint="folder/"'):
        fit(CASES["numbers"][0], None, (X, NOISY), resume=True)
    with pytest.raises(ValueError, match="checkpoint must be the path of a folder, or None; got 7"):
        riata.LassoNetRegressor(checkpoint=7).fit(X, NOISY)
    inside = riata.LassoNetRegressor(checkpoint="run")
    for Selector in (riata.StabilitySelector, riata.KnockoffSelector):
        with pytest.raises(ValueError, match="give checkpoint to the selector instead"):
            Selector(inside).fit(WIDE, NOISY)


def test_a_model_file_is_no_checkpoint_and_does_not_name_one(tmp_path):
    model, data, _ = CASES["numbers"]
    fitted = fit(model, tmp_path / "run", data)
    fitted.save(tmp_path / "model.riata")
    assert riata.load(tmp_path / "model.riata").checkpoint is None
    with pytest.raises(riata.ModelFileError, match="it is no model of riata"):
        riata.load(tmp_path / "run" / "state-0.checkpoint")
    (tmp_path / "run" / "about.checkpoint").write_bytes((tmp_path / "model.riata").read_bytes())
    with pytest.raises(CheckpointError, match=r"it is no checkpoint of riata.*delete it to begin anew"):
        fit(model, tmp_path / "run", data, resume=True)


def test_another_number_of_threads_is_a_warning(tmp_path, monkeypatch):
    monkeypatch.setattr("riata.threads._PAYING", 0)  # as if the products were large
    model, data, _ = CASES["numbers"]
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        stopped(model, tmp_path, data, 5, limit=1)
        torch.set_num_threads(2)
        with pytest.warns(UserWarning, match="begun on 1 threads and continues on 2: the last bits may differ"):
            clone(model).set_params(checkpoint=tmp_path).fit(*data, resume=True)
    finally:
        torch.set_num_threads(before)
