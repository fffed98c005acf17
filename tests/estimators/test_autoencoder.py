"""Selection without a target."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_diabetes
from sklearn.linear_model import MultiTaskLasso
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from riata import LassoNetAutoencoder
from riata.losses import ReconstructionError
from tests.conftest import with_training

FAST = {"hidden_dims": (10,), "n_iters": (300, 20), "random_state": 0}


def copies(n: int = 150, noise: float = 0.05) -> np.ndarray:
    """Three columns, and two noisy sums of each pair of them."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((n, 3))
    sums = [Z[:, i] + Z[:, j] + noise * rng.standard_normal(n) for i in range(3) for j in range(i) for _ in range(2)]
    return np.column_stack([Z, *sums])


@pytest.fixture(scope="module")
def fitted() -> tuple[LassoNetAutoencoder, np.ndarray]:
    X = copies()
    return LassoNetAutoencoder(**with_training(**FAST)).fit(X), X


def test_a_table_of_rank_three_is_reconstructed_from_three_columns_but_not_from_one(fitted):
    model, X = fitted
    three = LassoNetAutoencoder(**with_training(**FAST, n_features_to_select=3)).fit(X)
    assert three.n_selected_ == 3
    assert three.score(X) > 0.97
    assert model.at(n_features=1).score(X) < 0.9


def test_the_inverse_keeps_what_was_measured_and_fills_in_the_rest_as_reconstruct_does(fitted):
    model, X = fitted
    model = model.at(n_features=4)
    back = model.inverse_transform(model.transform(X))
    np.testing.assert_array_equal(back[:, model.selected_], X[:, model.selected_])
    np.testing.assert_allclose(back[:, ~model.selected_], model.reconstruct(X)[:, ~model.selected_], rtol=1e-12)


def test_only_the_selected_columns_are_used(fitted):
    model, X = fitted
    model = model.at(n_features=4)
    other = np.where(model.selected_, X, 1e3)
    np.testing.assert_array_equal(model.reconstruct(X), model.reconstruct(other))


def test_a_refit_reconstructs_better_than_the_point_it_comes_from():
    X = copies()
    biased, warm, scratch = (
        LassoNetAutoencoder(**with_training(**FAST, n_features_to_select=3, refit=refit)).fit(X)
        for refit in (False, "warm", "scratch")
    )
    assert (biased.selected_ == warm.selected_).all()
    assert biased.score(X) < min(warm.score(X), scratch.score(X)) - 0.01


def test_with_m_zero_it_is_the_group_lasso_of_the_table_on_itself():
    X = load_diabetes().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    lambda_ = 0.02
    model = LassoNetAutoencoder(
        **with_training(M=0, lambda_seq=[lambda_], val_size=0, preprocessing=None, select=lambda_, refit=False,
        n_iters=20000, patience=None, tol=1e-13, dtype="float64", random_state=0,
    )).fit(X)  # fmt: skip
    d = X.shape[1]
    # ‖XB − X‖² / (n d) + λ Σ ‖B_j‖ is d times ‖XB − X‖² / 2n + (λ d / 2) Σ ‖B_j‖, over 2 / d.
    reference = MultiTaskLasso(alpha=lambda_ * d / 2, tol=1e-12, max_iter=100000).fit(X, X)
    np.testing.assert_allclose(model._coefficients(), reference.coef_, atol=1e-5)


def test_score_is_one_less_the_share_of_squares_that_is_not_explained(fitted):
    model, X = fitted
    scale, mean = model._solved.target_scaling.scale, model._solved.target_scaling.means
    residual = (((X - model.reconstruct(X)) / scale) ** 2).sum()
    assert model.score(X) == pytest.approx(1 - residual / (((X - mean) / scale) ** 2).sum())
    twice = model.score(np.vstack([X, X[:10]]))
    assert model.score(X, sample_weight=np.r_[np.full(10, 2.0), np.ones(len(X) - 10)]) == pytest.approx(twice)


def test_groups_leave_together_and_columns_without_a_penalty_never_leave(fitted):
    _, X = fitted
    groups = [[0, 1, 2], [3, 4], [5, 6], [7, 8]]
    model = LassoNetAutoencoder(**with_training(**FAST, feature_groups=groups)).fit(X)
    for point in model.path_:
        assert all(len(set(point.selected[group])) == 1 for group in groups)
    free = LassoNetAutoencoder(**with_training(**FAST, feature_costs={5: 0})).fit(X)
    assert all(point.selected[5] for point in free.path_)


def test_a_bottleneck_among_the_hidden_layers_works():
    X = copies(60)
    model = LassoNetAutoencoder(
        (12, 2, 12), **with_training(n_iters=(100, 5), n_features_to_select=3, random_state=0)
    ).fit(X)
    assert model.reconstruct(X).shape == X.shape


def test_validation_samples_can_be_given_and_names_are_kept():
    frame = pd.DataFrame(copies(), columns=[f"c{j}" for j in range(9)])
    model = LassoNetAutoencoder(**with_training(**FAST, n_features_to_select=3)).fit(frame[:100], X_val=frame[100:])
    assert len(model.path_.val_weights) == 50
    assert set(model.get_feature_names_out()) < set(frame.columns)
    assert list(model.set_output(transform="pandas").transform(frame).columns) == list(model.get_feature_names_out())


def test_it_is_a_step_of_a_pipeline():
    pipe = make_pipeline(StandardScaler(), LassoNetAutoencoder(**with_training(**FAST, n_features_to_select=3)))
    assert pipe.fit_transform(copies()).shape == (150, 3)


def test_a_constant_column_is_reconstructed_but_never_selected():
    X = np.column_stack([copies(80), np.full(80, 7.0)])
    model = LassoNetAutoencoder(**with_training(**FAST, n_features_to_select=4)).fit(X)
    assert not any(point.selected[-1] for point in model.path_)
    np.testing.assert_array_equal(model.reconstruct(X)[:, -1], 7)
    assert model.score(np.column_stack([X[:, :-1], np.arange(80.0)])) == pytest.approx(model.score(X))


def test_the_same_seed_gives_the_same_model():
    X = copies(60)
    one, two = (
        LassoNetAutoencoder((5,), **with_training(n_iters=(50, 5), n_features_to_select=3, random_state=3)).fit(X)
        for _ in "ab"
    )
    np.testing.assert_array_equal(one.reconstruct(X), two.reconstruct(X))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_gaps_and_infinite_values_are_refused(bad):
    X = copies(30)
    X[3, 2] = bad
    with pytest.raises(ValueError, match=r"NaN: .* LassoNetImputer|infinity"):
        LassoNetAutoencoder(**with_training(**FAST)).fit(X)


def test_text_is_refused_by_name():
    with pytest.raises(ValueError, match="text in 'town'"):
        LassoNetAutoencoder(**with_training(**FAST)).fit(pd.DataFrame({"a": [1.0, 2.0], "town": ["Rome", "Oslo"]}))


def test_the_warning_of_a_selection_points_to_the_line_of_the_user():
    with pytest.warns(UserWarning, match="without validation rows") as caught:
        LassoNetAutoencoder(**with_training(**FAST, val_size=0)).fit(copies(40))
    assert caught[0].filename == __file__


def test_the_inverse_of_the_wrong_number_of_columns_is_refused(fitted):
    model, X = fitted
    with pytest.raises(ValueError, match="selected columns; got 9 columns"):
        model.at(n_features=3).inverse_transform(X)


def test_entries_without_a_target_do_not_count():
    draw = torch.Generator().manual_seed(0)
    output = torch.randn((2, 6, 4), generator=draw, dtype=torch.float64, requires_grad=True)
    target = torch.randn((6, 4), generator=draw, dtype=torch.float64)
    target[torch.rand((6, 4), generator=draw) < 0.3] = torch.nan
    known = ~target.isnan()
    losses, slope = ReconstructionError(2.5).evaluate(output, target)
    expected = torch.where(known, output - target.nan_to_num(), 0.0).square().sum(-1) / 2.5
    torch.testing.assert_close(losses, expected)
    torch.testing.assert_close(slope, torch.autograd.grad(expected.sum(), output)[0])
    assert losses.isfinite().all()
    assert (slope[:, ~known] == 0).all()


def test_an_output_that_is_not_finite_is_not_mistaken_for_one_that_does_not_count():
    output = torch.full((1, 1, 2), torch.nan)
    losses, _ = ReconstructionError(2).evaluate(output, torch.tensor([[0.0, torch.nan]]))
    assert losses.isnan().all()
