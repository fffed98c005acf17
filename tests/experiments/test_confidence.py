"""Experiments on selections that make promises: what is drawn is what is said, and what is counted is counted rightly."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from experiments import crossvalidation, data, designs, discoveries, page, runner, stability
from experiments.baselines import knockoffs
from experiments.cells import Cell, Options, Store
from experiments.designs import false_share, jaccard, power

MANY = 100_000  # rows, with which an average is off by 5 / √100,000 = 0.016 at most, in standard deviations


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path)


def mask(*places: int, size: int = 8) -> np.ndarray:
    return np.isin(np.arange(size), places)


def written(store: Store, experiment) -> str:
    """Return the text of the page on what is stored."""
    page.write([experiment.page(store)], store, "test")
    return (store.folder / "pages" / "results.md").read_text()


def lines(text: str, *words: str) -> list[list[str]]:
    """Return the rows of tables that begin with these words, as texts."""
    rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|"))
    return [row for row in rows if row[: len(words)] == list(words)]


# What is drawn.


@pytest.mark.parametrize("name", designs.FULL)
def test_a_design_has_twenty_true_columns_of_a_hundred_in_different_places_for_different_seeds(name):
    one, other = (designs.draw(name, seed) for seed in (100, 101))
    assert one.X.shape == (500, 100) and one.truth.sum() == 20
    assert (one.truth != other.truth).any()
    np.testing.assert_array_equal(one.y, designs.draw(name, 100).y)


@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_columns_have_variance_one_and_correlate_as_a_chain_does(correlation):
    X = designs.chain(np.random.default_rng(0).standard_normal((MANY, 6)), correlation)
    distance = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    expected = np.where(distance == 0, 1.0, correlation**distance)
    np.testing.assert_allclose(np.cov(X.T), expected, atol=0.025)  # a variance is off by √2 times as much as a mean


def test_the_linear_signal_gives_every_true_column_the_same_slope_but_for_its_sign():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((500, 20))
    slopes = np.linalg.lstsq(x, designs.linear(rng, x), rcond=None)[0]
    np.testing.assert_allclose(np.abs(slopes), 4.5 / np.sqrt(500))
    assert -20 < np.sign(slopes).sum() < 20


def test_a_gate_shows_no_effect_by_itself_and_decides_whether_the_other_column_has_one():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((MANY, 4))
    y = designs.gated(rng, x)
    np.testing.assert_array_equal(y, x[:, 0] * (x[:, 1] > 0) + x[:, 2] * (x[:, 3] > 0))
    for gate in (1, 3):
        open_ = x[:, gate] > 0
        assert abs(y[open_].mean() - y[~open_].mean()) < 5 * y.std() * 2 / MANY**0.5
        assert abs(np.corrcoef(x[:, gate], y)[0, 1]) < 5 / MANY**0.5
        slopes = [np.cov(x[rows, gate - 1], y[rows])[0, 1] for rows in (open_, ~open_)]
        np.testing.assert_allclose(slopes, [1, 0], atol=0.04)


# What is counted.


def test_the_false_share_of_nothing_is_zero():
    truth = mask(0, 1, 2, 3)
    assert false_share(mask(), truth) == 0 and power(mask(), truth) == 0
    assert false_share(mask(0, 1, 6), truth) == pytest.approx(1 / 3)
    assert power(mask(0, 1, 6), truth) == 0.5
    assert false_share(mask(7), truth) == 1 and power(truth, truth) == 1


def test_two_empty_selections_are_the_same_and_one_shares_nothing_with_another():
    assert jaccard(set(), set()) == 1
    assert jaccard({1}, set()) == 0
    assert jaccard({1, 2, 3}, {2, 3, 4}) == 0.5


def test_a_rate_is_kept_if_it_is_above_what_was_asked_for_by_chance_only():
    assert discoveries.kept([0.0, 0.2]) and discoveries.kept([0.05] * 10)
    assert discoveries.kept([0.0, 0.25])  # 0.125, with a standard error as large
    assert not discoveries.kept([0.2, 0.21, 0.19]) and not discoveries.kept([0.11])
    assert stability.within([0, 1, 2], 0.5) and not stability.within([2, 2], 1.0)


# Pages, of results made by hand.


def result(cell: Cell, scores: dict, **more) -> dict:
    return {"config": cell.config, "scores": scores, "error": None, "seconds": 1.0, **more}


def test_the_page_on_discoveries_has_means_and_says_who_keeps_the_rate(store, monkeypatch):
    for method, shares in (("riata", (0.0, 0.1)), ("lasso_riata", (0.3, 0.32))):
        for seed, share in enumerate(shares):
            cell = Cell("discoveries", "ar_gated", method, seed)
            scores = {"false_share": share, "power": 0.5, "n_selected": 10 * (share > 0), "seconds": 2.0}
            store.write(cell, result(cell, scores))
    monkeypatch.setattr(discoveries, "installed", lambda package: package is None)
    text = written(store, discoveries)
    (row,) = lines(text, "AR(0.5), gated", "riata")
    assert row[2:] == ["0.050 ± 0.050", "yes", "0.500 ± 0.000", "5.0", "1", "2", "2"]
    (row,) = lines(text, "AR(0.5), gated", "lasso_riata")
    assert row[2:4] == ["0.310 ± 0.010", "**no**"]
    assert "Not run: lasso and deeppink, for want of the package knockpy" in text
    assert (store.folder / "pages" / "discoveries.png").exists()


def test_the_page_on_stability_counts_the_first_seed_and_compares_it_with_the_second(store):
    drawn = {(0, 0): [1, 2], (0, 1): [1, 2, 3], (1, 0): [], (1, 1): [], (2, 0): [5]}  # (sample, seed): features
    for (seed, draw), features in drawn.items():
        cell = Cell("stability", "independent_linear", "riata", seed, (("draw", draw), ("halves", 50)))
        way = {"features": features, "true": len(features), "false": seed}
        scores = {"stable": way, "single": way, "top": way, "bound": 0.9, "seconds": 3.0}
        store.write(cell, result(cell, scores))
    counts, alike = lines(written(store, stability), "independent, linear")
    assert counts[1:5] == ["1.00 ± 0.58", "0.90", "yes", "1.0 ± 0.6"] and counts[-1] == "3"
    assert alike[1:] == ["0.833 ± 0.167"] * 3 + ["1", "2"]
    assert (store.folder / "pages" / "stability.png").exists()


def test_the_page_on_cross_validation_compares_seconds_within_one_machine(store):
    accuracy = {"accuracy": 0.95, "se": 0.01, "best_accuracy": 0.96, "best_se": 0.008}
    path = {"counts": [60.0, 8.0, 0.0], "accuracies": [0.96, 0.95, 0.6], "errors": [0.01] * 3}
    for method, seed, machine, seconds in (
        ("riata", 0, "here", 2.0),
        ("riata", 1, "there", 1.0),
        ("lassonet", 0, "here", 30.0),
        ("lassonet", 1, "here", 90.0),
    ):
        cell = Cell("crossvalidation", "breast_cancer_noise", method, seed, (("folds", 5), ("units", 100), ("jobs", 2)))
        counts = {"n_selected": 8 + seed, "n_features": 60, "noise": seed, "seconds": seconds}
        own = {"chosen": 7.5, "path": path} if method == "riata" else {}
        store.write(cell, result(cell, {**counts, **accuracy, **own}, hardware=machine, threads=1))
    text = written(store, crossvalidation)
    (own,), (peer,) = (lines(text, "breast_cancer_noise", method) for method in ("riata", "lassonet"))
    assert own[2:] == ["8.5 (8–9)", "60", "0.5", "0.9500 ± 0.0100", "0.9600 ± 0.0100", "1.5", "2", "2", "15.0"]
    assert peer[-1] == ""
    assert (store.folder / "pages" / "crossvalidation.png").exists()


def test_there_are_no_pages_without_results(store):
    assert all(experiment.page(store) is None for experiment in (discoveries, stability, crossvalidation))


# What is run.


@pytest.mark.skipif(not data.here("isolet"), reason="ISOLET is not here")
def test_no_speaker_is_trained_on_and_scored():
    X, y, _ = crossvalidation.rows("isolet_speakers", 0)
    (cell,) = crossvalidation.cells(Options(data=("isolet_speakers",), methods=("riata",), n_seeds=1))
    folds = crossvalidation._folds(cell, X, y)
    part = np.load(data.folder() / "isolet.npz")["part"]
    assert [sorted(set(part[test])) for _, test in folds] == [[1], [2], [3, 4], [5]]
    assert all(len(np.union1d(fit, test)) == len(fit) + len(test) == len(X) for fit, test in folds)


@pytest.mark.parametrize("experiment", [discoveries, stability, crossvalidation])
def test_a_quick_run_writes_cells_and_a_page(experiment, store):
    cells = experiment.cells(Options(quick=True, methods=("riata",), n_seeds=1))
    assert runner.run(cells, store) == []
    assert len({cell.data for cell in cells}) == 1 and all(store.done(cell) for cell in cells)
    assert lines(written(store, experiment))


def test_runs_can_be_split_by_design_method_and_seed():
    options = Options(data=("ar_gated", "independent_gated"), methods=("riata",), n_seeds=3, first_seed=18)
    cells = discoveries.cells(options)
    assert {(c.data, c.method) for c in cells} == {("ar_gated", "riata"), ("independent_gated", "riata")}
    assert {cell.seed for cell in cells} == {18, 19, 20}
    twice = {cell.seed for cell in stability.cells(options) if cell["draw"] == 1}
    assert twice == {18, 19}


def test_methods_of_a_package_that_is_not_there_are_left_out_unless_they_are_asked_for(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "knockpy", None)
    monkeypatch.setattr(knockoffs, "find_spec", lambda name: None)
    peers = {name for name, method in knockoffs.METHODS.items() if method.package}
    assert peers == {"lasso", "deeppink"}
    assert not peers & {cell.method for cell in discoveries.cells(Options())}
    (cell,) = discoveries.cells(Options(data=("small",), methods=("deeppink",), n_seeds=1))
    assert runner.run([cell], store) == [cell]
    assert "pip install 'riata[peers]'" in store.read(cell)["error"]


@pytest.mark.parametrize("name", ["lasso", "deeppink"])
def test_the_peers_select_the_same_again_with_the_same_seed(name):
    pytest.importorskip("knockpy")
    X, y, truth = designs.draw("small", 100)
    one, other = (knockoffs.select(name, X, 5 * y, 0.3, seed=3) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert name != "lasso" or power(one, truth) > 0.5


class Peer:
    """Stands in for the class of the package lassonet, which would take minutes; it knows two points of a path."""

    def __init__(self, *, cv, hidden_dims, M, random_state, torch_seed, device, verbose):
        self.cv = cv

    def fit(self, X, y):
        tests = [test for _, test in self.cv]
        self.best_cv_scores_ = np.array([np.mean(y[test]) for test in tests])
        self.best_selected_ = torch.arange(X.shape[1]) % 10 == 0
        return self


def test_lassonet_is_given_stratified_folds_and_its_own_choice_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, "lassonet", SimpleNamespace(LassoNetClassifierCV=Peer))
    settings = (("folds", 5), ("units", 3), ("jobs", 1))
    found = crossvalidation.run(Cell("crossvalidation", "breast_cancer_noise", "lassonet", 0, settings), [])
    assert found["features"] == [0, 10, 20, 30, 40, 50] and found["n_selected"] == 6 and found["noise"] == 3
    share = np.mean(crossvalidation.rows("breast_cancer_noise", 0)[1])
    assert found["accuracy"] == found["best_accuracy"] == pytest.approx(share, abs=0.005)
    assert found["se"] < 0.002  # shares of a class hardly differ between stratified folds
