"""Experiments without a target: baselines solve what they say they do, and splits leak nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from experiments import completion, data, decoder, fewer_columns, matrices, one_digit, page, runner, unsupervised
from experiments.baselines import completion as completers
from experiments.baselines import unsupervised as rankers
from experiments.baselines.task import Task
from experiments.cells import Cell, Options, Store
from riata import Training

CHEAP = ("soft_impute", "neighbours", "iterative_ridge", "column_mean", "row_mean")


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path)


def low_rank(n: int = 80, d: int = 10, noise: float = 0.05, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + noise * rng.standard_normal((n, d))


def task(X: np.ndarray, k: int = 3) -> Task:
    return Task(X, X, k, 0)


# Completion.


@pytest.mark.parametrize("lambda_", [0.05, 0.5, 2.0])
def test_soft_impute_solves_its_problem(lambda_):
    rng = np.random.default_rng(1)
    X = np.where(rng.random((9, 6)) < 0.3, np.nan, rng.standard_normal((9, 6)))
    there = ~np.isnan(X)
    Z = completers.nuclear(X, lambda_, np.zeros(X.shape))

    def objective(Z):
        return 0.5 * np.sum((X - Z)[there] ** 2) + lambda_ * np.linalg.norm(Z, "nuc")

    def factored(flat):  # the same minimum, reached in another way: the sum of singular values by products A Bᵀ
        A, B = flat[:54].reshape(9, 6), flat[54:].reshape(6, 6)
        residual = np.where(there, A @ B.T - X, 0)
        gradient = np.concatenate([(residual @ B + lambda_ * A).ravel(), (residual.T @ A + lambda_ * B).ravel()])
        return 0.5 * np.sum(residual**2) + lambda_ / 2 * np.sum(flat**2), gradient

    other = minimize(
        factored, rng.standard_normal(90), jac=True, method="L-BFGS-B", options={"maxiter": 5_000, "ftol": 1e-14}
    )
    assert objective(Z) == pytest.approx(other.fun, rel=1e-5)
    assert np.linalg.norm(np.where(there, X - Z, 0), 2) == pytest.approx(
        lambda_, rel=1e-3
    )  # it is no subgradient otherwise


def test_soft_impute_takes_the_penalty_that_validation_entries_ask_for():
    gaps = matrices.split(low_rank(40, noise=0.5), (0.4, 0.3), np.random.default_rng(0))
    seen, val, test = gaps
    X = seen - np.nanmean(seen, axis=0)
    largest = np.linalg.norm(np.nan_to_num(X), 2)
    ends = [
        completers.nuclear(X, share * largest, np.zeros(X.shape)) + np.nanmean(seen, axis=0) for share in (0.95, 1e-3)
    ]
    chosen = completers.complete("soft_impute", seen, val)
    assert matrices.error(chosen, val) < 0.95 * min(matrices.error(end, val) for end in ends)
    assert matrices.error(chosen, test) < min(matrices.error(end, test) for end in ends)


@pytest.mark.parametrize("name", CHEAP)
def test_a_completed_matrix_has_no_gaps_and_what_was_known(name):
    seen, val, test = matrices.split(low_rank(), (0.7, 0.15), np.random.default_rng(0))
    completed = completers.complete(name, seen, val)
    there = ~np.isnan(seen)
    assert np.isfinite(completed).all() and not there.all()
    np.testing.assert_array_equal(completed[there], seen[there])
    if name not in ("column_mean", "row_mean"):
        assert matrices.error(completed, test) < 0.5 * matrices.error(
            completers.complete("column_mean", seen, val), test
        )


@pytest.mark.parametrize("name", CHEAP)
def test_no_method_learns_from_the_entries_to_validate_on(name):
    """A shift too small to make another setting the best one would still show in whatever is learnt from them."""
    seen, val, _ = matrices.split(low_rank(), (0.7, 0.15), np.random.default_rng(0))
    one, other = (completers.complete(name, seen, val + shift) for shift in (0.0, 1e-9))
    np.testing.assert_array_equal(one, other)


def test_splits_are_disjoint_and_cover_what_is_known():
    X = low_rank()
    X[::5, 3] = np.nan
    parts = matrices.split(X, (0.8, 0.1), np.random.default_rng(0))
    known = [~np.isnan(part) for part in parts]
    np.testing.assert_array_equal(np.sum(known, axis=0), ~np.isnan(X))
    assert [round(10 * part.sum() / (~np.isnan(X)).sum()) for part in known] == [8, 1, 1]
    for part, there in zip(parts, known, strict=True):
        np.testing.assert_array_equal(part[there], X[there])


@pytest.mark.parametrize("name", [name for name in matrices.NAMES if name != "mice_protein"])
def test_drawn_matrices_are_scaled_and_no_better_than_their_noise(name):
    one, other = (matrices.load(name, seed) for seed in (0, 1))
    whole = np.nansum([one.seen, one.val, one.test], axis=0)
    np.testing.assert_allclose([whole.mean(axis=0), whole.std(axis=0) - 1], 0, atol=1e-9)
    assert one.noise is not None and 0 < one.noise < 0.15
    assert not np.array_equal(one.seen, other.seen, equal_nan=True)
    again = matrices.load(name, 0)
    np.testing.assert_array_equal(one.test, again.test)


def test_waves_have_no_low_rank_and_a_linear_roll_has_three():
    def explained(name):
        gaps = matrices.load(name, 0)
        s = np.linalg.svd(np.nansum(gaps[:3], axis=0), compute_uv=False) ** 2
        return s[:3].sum() / s.sum()

    assert explained("roll_linear") > 0.99 and explained("roll_waves") < 0.5


def test_ratios_are_over_trials_that_both_were_run_in():
    def result(method, seed, mse):
        return {"config": {"data": "roll_waves", "method": method, "seed": seed}, "scores": {"mse": mse}}

    found = [result("soft_impute", 0, 2.0), result("soft_impute", 1, 4.0), result("soft_impute", 2, 1.0)]
    found += [result("neighbours", 1, 1.0), result("neighbours", 0, 1.0), result("neighbours", 7, 9.0)]
    assert completion.ratios(found, "roll_waves", "neighbours") == [0.5, 0.25]


# Columns without a target.


def test_a_smooth_column_has_a_better_laplacian_score_than_noise_and_a_constant_the_worst():
    rng = np.random.default_rng(0)
    angle = rng.random(400) * 2 * np.pi
    circle = 3 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    X = np.hstack([np.ones((400, 1)), 0.1 * rng.standard_normal((400, 3)), circle])
    order = rankers.laplacian(task(X))
    assert set(order[:2].tolist()) == {4, 5} and order[-1] == 0


def test_the_laplacian_score_is_that_of_its_definition():
    X = np.random.default_rng(0).standard_normal((40, 6)) * [1, 2, 3, 1, 2, 0.02] + 1
    X[:, 5] += 0.1 * X[:, 2]  # small, but as smooth as the largest
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    nearest = np.argsort(squares, axis=1)[:, 1:6]
    W = np.zeros((40, 40))
    for i, others in enumerate(nearest):
        W[i, others] = W[others, i] = 1
    W *= np.exp(-squares / np.mean(np.take_along_axis(squares, nearest, axis=1)))
    D, one = np.diag(W.sum(axis=1)), np.ones(40)
    centred = X - (X.T @ D @ one / (one @ D @ one))
    scores = [f @ (D - W) @ f / (f @ D @ f) for f in centred.T]
    assert rankers.laplacian(task(X)).tolist() == np.argsort(scores).tolist()


def test_greedy_selection_takes_one_of_each_group_of_copies_the_largest_first():
    rng = np.random.default_rng(0)
    sources = rng.standard_normal((300, 3)) * [1, 3, 2]
    X = np.repeat(sources, 4, axis=1) + 0.01 * rng.standard_normal((300, 12))
    order = rankers.greedy(task(X))
    assert (order[:3] // 4).tolist() == [1, 2, 0] and sorted(order) == list(range(12))


def test_greedy_selection_ends_where_columns_are_constant():
    X = np.hstack([np.zeros((50, 2)), low_rank(50, 4)])
    assert set(rankers.greedy(task(X))[-2:].tolist()) == {0, 1}


def test_the_decoder_learns_a_bent_map_and_looks_at_its_columns_only(monkeypatch):
    monkeypatch.setattr(decoder, "UPDATES", 1_000)
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (900, 1))
    X = np.hstack([x, np.abs(x), np.sin(2 * x), rng.standard_normal((900, 1))]).astype(np.float32)
    model = decoder.Decoder(np.array([0]), 0).fit(X[:600], X[600:700])
    errors = np.mean((model.reconstruct(X[700:]) - X[700:]) ** 2, axis=0)
    assert errors[:3].max() < 0.02 and errors[3] > 0.5
    changed = X[700:].copy()
    changed[:, 1:] = 0
    np.testing.assert_array_equal(model.reconstruct(changed), model.reconstruct(X[700:]))


# On the pages.


def shown(experiment, store: Store, cells: list[Cell]) -> str:
    """Run cells, and return the text of the page on them."""
    assert cells and runner.run(cells, store) == []
    page.write([experiment.page(store)], store, "test")
    return (store.folder / "pages" / "results.md").read_text()


@pytest.fixture
def little_training(monkeypatch):
    """Hardly train what the scores are not looked at of."""
    monkeypatch.setattr(decoder, "UPDATES", 100)
    for module in (completers, fewer_columns):
        monkeypatch.setattr(module, "LassoNetImputer", _small(module.LassoNetImputer))


def _small(imputer):
    training = Training(n_iters=(9, 2), path_multiplier=1.5)
    return lambda **settings: imputer((8, 8), training=training, **settings)


def test_experiments_have_nothing_to_show_without_results(store):
    assert all(experiment.page(store) is None for experiment in (completion, fewer_columns, unsupervised, one_digit))


def test_completion_is_on_the_page_with_noise_and_ratios(store, little_training):
    cells = completion.cells(Options(quick=True))
    text = shown(completion, store, cells)
    assert {cell.method for cell in cells} == {"riata", *CHEAP}
    assert "(noise alone)" in text and "| soft_impute |" in text
    assert store.read(cells[0])["scores"]["seconds"] > 0


def test_slow_methods_run_in_few_trials_unless_asked(monkeypatch):
    monkeypatch.setattr(matrices.data, "here", lambda name: True)
    count = {}
    for cell in completion.cells(Options(data=("mice_protein",))):
        count[cell.method] = count.get(cell.method, 0) + 1
    assert count["soft_impute"] == 25 and count["iterative_forest"] == 3
    assert len(completion.cells(Options(data=("mice_protein",), methods=("iterative_forest",), n_seeds=5))) == 5


def test_fewer_columns_are_compared_with_soft_impute_on_all(store, little_training):
    cells = fewer_columns.cells(Options(quick=True))
    text = shown(fewer_columns, store, cells)
    found = {cell.method: store.read(cell)["scores"] for cell in cells}
    assert [len(columns) for columns in found["riata"]["columns"]] == found["riata"]["counts"] == [4]
    assert {"riata", "riata_at", "random"} <= found.keys()
    soft = store.read(cells[0].needs[0])["scores"]["mse"]
    assert found["random"]["reference"] == soft and f"{soft:.3f}" in text
    assert "The smallest k whose mean error is at or below" in text


def test_all_columns_are_tried_once_whoever_chooses(monkeypatch):
    asked = []
    monkeypatch.setattr(fewer_columns, "_path", lambda gaps, seed: None)
    monkeypatch.setattr(fewer_columns, "_error", lambda gaps, chosen, seed: asked.append(len(chosen)) or 1.0)
    monkeypatch.setitem(fewer_columns._COUNTS, "roll_small", (3, 8))
    cell = Cell("fewer_columns", "roll_small", "random", 0)
    assert fewer_columns.run(cell, [{"scores": {"mse": 1.0}}])["counts"] == asked == [3]


def test_the_smallest_number_of_columns_is_that_at_or_below_soft_impute():
    def result(seed, errors, reference):
        scores = {"counts": [5, 10, 77], "errors": errors, "reference": reference}
        return {"config": {"method": "riata", "seed": seed}, "scores": scores}

    found = [result(0, [0.5, 0.2, 0.1], 0.2), result(1, [0.3, 0.1, 0.1], 0.1)]
    assert "**10 for riata**" in fewer_columns._meets(found)
    found[0]["scores"]["errors"][1] = 0.3
    assert "**77 for riata**" in fewer_columns._meets(found)


def test_reconstructed_digits_are_on_the_page(store, little_training):
    cells = unsupervised.cells(Options(quick=True, methods=("riata", "variance")))
    text = shown(unsupervised, store, cells)
    found = {cell.method: store.read(cell)["scores"] for cell in cells}
    images = found["riata"]["images"]
    assert len(images["decoder_pixels"]) == 10 >= len(images["pixels"]) > 0 and "images" not in found["variance"]
    for shades in images["shades"].values():
        assert np.shape(shades) == (30, 64) and 0 <= np.min(shades) <= np.max(shades) <= 255
    assert found["riata"]["own"][0] < found["riata"]["constant"]
    assert "riata, own model" in text and (store.folder / "pages" / "unsupervised_digits.png").exists()


def test_pixels_of_one_digit_become_fewer(store):
    cells = one_digit.cells(Options(quick=True))
    assert "one digit alone" in shown(one_digit, store, cells)
    scores = store.read(cells[0])["scores"]
    counts = [len(pixels) for pixels in scores["pixels"]]
    assert 24 >= counts[0] > counts[1] > counts[2] > 0 and scores["lambdas"] == sorted(scores["lambdas"])
    always_off = {i for i, shade in enumerate(scores["mean"]) if shade == 0}
    assert not always_off & {pixel for pixels in scores["pixels"] for pixel in pixels}


def test_rows_of_mnist_are_learnt_from_validated_on_and_tested_apart(monkeypatch):
    X = np.arange(40, dtype=np.float32)[:, None] * np.ones((1, 4), dtype=np.float32)
    sets = {
        "mnist": data.Data("mnist", X, np.arange(40) % 10),
        "mnist_10k": data.Data("mnist_10k", X + 100, np.arange(40) % 10),
    }
    monkeypatch.setattr(unsupervised, "load", sets.__getitem__)
    parts = unsupervised.parts(Cell("unsupervised", "mnist", "riata", 0, (("rows", 20),)))
    fit, val, test = (set((255 * part[:, 0]).round().astype(int).tolist()) for part in parts[:3])
    assert (len(fit), len(val), len(test)) == (18, 2, 40) and not fit & val and min(test) >= 100
