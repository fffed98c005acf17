"""Laws of the losses: derivatives, known special cases, scales, and what each of them predicts."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import PoissonRegressor, QuantileRegressor
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    mean_absolute_error,
    mean_gamma_deviance,
    mean_pinball_loss,
    mean_poisson_deviance,
    mean_tweedie_deviance,
)
from torch.nn import functional

from riata import (
    LassoNetClassifier,
    LassoNetClassifierCV,
    LassoNetRegressor,
    LassoNetRegressorCV,
    losses,
)
from riata.losses.coding import Labels, OneHot, Pair, Steps
from riata.losses.loss import slopes
from tests.conftest import with_training

QUICK = {
    "preprocessing": "standard",
    "hidden_dims": (8,),
    "M": 1.0,
    "path_multiplier": 1.5,
    "n_iters": (200, 50),
    "random_state": 0,
}
DENSE = {
    "hidden_dims": (1,),
    "M": 0,
    "gamma": 0,
    "select": 0.0,
    "val_size": 0,
    "lambda_seq": (1e-9,),
    "random_state": 0,
}
SOLVED = {**DENSE, "dtype": "float64", "patience": None, "tol": 1e-13, "n_iters": (20_000, 1)}

rng = np.random.default_rng(0)
N, D = 200, 6
X = rng.normal(size=(N, D))
y = X[:, 0] - 2 * X[:, 1] + 0.3 * rng.normal(size=N)
counts = rng.poisson(np.exp(0.5 * X[:, 0] + 0.5 * X[:, 1] + 1)).astype(float)
grades = np.digitize(y, [-2, 0, 2])
labels = np.column_stack([X[:, 0] > 0, X[:, 1] + X[:, 2] > 0]).astype(int)


def regressor(loss=None, **params) -> LassoNetRegressor:
    return LassoNetRegressor(**with_training(loss=loss, **(QUICK | params)))


def classifier(loss=None, **params) -> LassoNetClassifier:
    return LassoNetClassifier(**with_training(loss=loss, **(QUICK | params)))


# Values and derivatives.

OUT = torch.from_numpy(np.random.default_rng(1).normal(size=(2, 40, 3)) * 3)
NUMBERS = torch.from_numpy(np.random.default_rng(2).normal(size=(40, 3)) * 3)
POSITIVE = torch.from_numpy(np.random.default_rng(3).gamma(0.7, size=(40, 3)))
WHOLE = POSITIVE.round()
CODES = np.random.default_rng(4).integers(0, 3, 40)
ONE_HOT = torch.from_numpy(OneHot(3).encode(CODES))
TABLE = torch.from_numpy(np.random.default_rng(5).integers(0, 2, (40, 3)).astype(float))
STEPS = torch.from_numpy(Steps(4).encode(np.random.default_rng(6).integers(0, 4, 40)))


def pinball(levels):
    q = torch.tensor(levels, dtype=torch.float64)
    return lambda f, t: torch.maximum(q * (t - f), (q - 1) * (t - f))


def focal_of(log_probability, gamma):
    return -((1 - log_probability.exp()) ** gamma) * log_probability


def binary(f, t):
    return functional.binary_cross_entropy_with_logits(f, t.expand_as(f), reduction="none")


def huber(f, t, delta):
    return functional.huber_loss(f, t.expand_as(f), reduction="none", delta=delta)


def softmax_log(f, t):
    return (f.log_softmax(-1) * t).sum(-1, keepdim=True)


def tweedie(p):
    return lambda f, t: (
        2
        * (t ** (2 - p) / ((1 - p) * (2 - p)) - t * torch.exp((1 - p) * f) / (1 - p) + torch.exp((2 - p) * f) / (2 - p))
    )


def ordinal(f, t):
    return torch.where(t.isnan(), 0.0, binary(f, t.nan_to_num()))


PAIR, CLASSES3, MANY = Pair(), OneHot(3), Labels(np.dtype(int))
FORMULAS = {
    "squared": (losses.SquaredError(), NUMBERS, lambda f, t: (f - t) ** 2),
    "absolute": (losses.AbsoluteError(), NUMBERS, lambda f, t: (f - t).abs()),
    "rounded": (
        losses.AbsoluteError().tuned(50 * NUMBERS.numpy()),
        NUMBERS,
        lambda f, t: huber(f, t, WIDE) / WIDE + WIDE / 2,
    ),
    "huber": (losses.Huber(0.7), NUMBERS, lambda f, t: 2 * huber(f, t, 0.7)),
    "huber of columns": (
        losses.Huber(0.7).tuned(np.random.default_rng(7).normal(size=(500, 3)) * [1, 5, 0]),
        NUMBERS,
        lambda f, t: 2 * torch.stack([huber(f, t, d)[..., j] for j, d in enumerate(DELTAS)], -1),
    ),
    "quantile": (losses.Quantile((0.1, 0.5, 0.8)), NUMBERS, pinball((0.1, 0.5, 0.8))),
    "median": (losses.Quantile(), NUMBERS, pinball((0.5,))),
    "poisson": (
        losses.Poisson(),
        WHOLE,
        lambda f, t: 2 * (functional.poisson_nll_loss(f, t, reduction="none") + torch.xlogy(t, t) - t),
    ),
    "gamma": (losses.Gamma(), POSITIVE, lambda f, t: 2 * (f - t.log() + t * torch.exp(-f) - 1)),
    "tweedie": (losses.Tweedie(1.2), WHOLE, tweedie(1.2)),
    "cross-entropy": (losses.CrossEntropy(), ONE_HOT, lambda f, t: -softmax_log(f, t)),
    "labels": (losses.CrossEntropy().over(MANY, TABLE.numpy()), TABLE, binary),
    "focal": (losses.Focal(2.0), ONE_HOT, lambda f, t: focal_of(softmax_log(f, t), 2.0)),
    "focal, gentle": (losses.Focal(0.5), ONE_HOT, lambda f, t: focal_of(softmax_log(f, t), 0.5)),
    "focal labels": (
        losses.Focal(1.5).over(MANY, TABLE.numpy()),
        TABLE,
        lambda f, t: focal_of(functional.logsigmoid((2 * t - 1) * f), 1.5),
    ),
    "ordinal": (losses.Ordinal(), STEPS, ordinal),
    "heads": (
        losses.Heads((losses.Poisson(), losses.Quantile((0.2, 0.7)))),
        WHOLE,
        lambda f, t: torch.cat(
            [FORMULAS["poisson"][2](f, t)[..., :1], pinball((0.2, 0.7))(f[..., 1:], t[..., 1:])], -1
        ),
    ),
    "function": (
        losses.Function(lambda f, t: torch.cosh(f / 3) + t * f),
        NUMBERS,
        lambda f, t: torch.cosh(f / 3) + t * f,
    ),
}
DELTAS = FORMULAS["huber of columns"][0].deltas
WIDE = 0.03 * 50 * float(NUMBERS.numpy().std(axis=0).min())


@pytest.mark.parametrize("name", FORMULAS)
def test_values_and_derivatives_are_those_of_the_formula(name):
    loss, target, formula = FORMULAS[name]
    output = OUT.clone().requires_grad_()
    expected = formula(output, target).sum(-1)
    (slope,) = torch.autograd.grad(expected.sum(), output)
    with torch.inference_mode():
        found, derivative = loss.evaluate(OUT.clone(), target.clone())
    torch.testing.assert_close(found, expected.detach(), rtol=1e-11, atol=1e-11)
    torch.testing.assert_close(derivative, slope, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", FORMULAS)
def test_slopes_alone_are_those_beside_the_losses(name):
    loss, target, _ = FORMULAS[name]
    expected = loss.evaluate(OUT, target)[1]
    torch.testing.assert_close(slopes(loss, OUT, target, torch.ones(2, 40)), expected)


def test_a_subclass_with_another_loss_has_the_slopes_of_its_own():
    class Doubled(losses.CrossEntropy):
        def evaluate(self, output, target):
            loss, slope = super().evaluate(output, target)
            return 2 * loss, 2 * slope

    target = torch.nn.functional.one_hot(torch.from_numpy(CODES)).double()
    expected = 2 * losses.CrossEntropy().evaluate(OUT, target)[1]
    torch.testing.assert_close(slopes(Doubled(), OUT, target, torch.ones(2, 40)), expected)


@pytest.mark.parametrize("loss", [losses.Poisson(), losses.Gamma(), losses.Tweedie(1.5)], ids=repr)
def test_deviances_stay_finite_and_convex_where_a_step_was_far_too_long(loss):
    output = torch.linspace(-3000, 3000, 301).reshape(1, -1, 1)
    values, slope = loss.evaluate(output, torch.full((301, 1), 2.0))
    assert values.isfinite().all() and slope.isfinite().all()
    assert (slope.diff(dim=1) >= 0).all()


def mean_of(loss, output, target):
    """Mean loss per output, with output and target as arrays (n, o)."""
    return float(loss.evaluate(torch.tensor(output)[None], torch.tensor(target))[0].mean()) / target.shape[1]


def test_losses_are_the_metrics_of_scikit_learn():
    f, t = OUT[0].numpy(), NUMBERS.numpy()
    assert mean_of(losses.AbsoluteError(), f, t) == pytest.approx(mean_absolute_error(t, f))
    assert mean_of(losses.Quantile(0.3), f, t) == pytest.approx(mean_pinball_loss(t, f, alpha=0.3))
    f, t = f[:, :1], POSITIVE.numpy()[:, :1]
    mean = np.exp(f)
    assert mean_of(losses.Poisson(), f, t) == pytest.approx(mean_poisson_deviance(t, mean))
    assert mean_of(losses.Gamma(), f, t) == pytest.approx(mean_gamma_deviance(t, mean))
    assert mean_of(losses.Tweedie(1.7), f, t) == pytest.approx(mean_tweedie_deviance(t, mean, power=1.7))


@pytest.mark.parametrize("loss", [losses.CrossEntropy(), losses.Ordinal()], ids=repr)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_likelihoods_of_classes_are_the_log_loss_of_their_probabilities(loss, n_classes):
    codes = np.random.default_rng(0).integers(0, n_classes, 50)
    coding = loss.coding(np.arange(n_classes))
    target = coding.encode(codes)
    output = np.random.default_rng(1).normal(size=target.shape) * 2
    assert (coding.codes(target) == codes).all()
    probability = coding.probability(coding.scores(output))
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert (probability > 0).all()
    assert (probability.argmax(axis=1) == coding.decide(coding.scores(output))).all()
    values = loss.over(coding, target).evaluate(torch.tensor(output)[None], torch.tensor(target))[0]
    assert float(values.mean()) == pytest.approx(log_loss(codes, probability, labels=np.arange(n_classes)))


@pytest.mark.parametrize("coding", [PAIR, CLASSES3], ids=["two", "three"])
def test_focal_with_gamma_zero_is_cross_entropy(coding):
    target = torch.from_numpy(coding.encode(CODES.clip(max=1)))
    pairs = [
        loss.over(coding, target.numpy()).evaluate(OUT[..., : target.shape[1]], target)
        for loss in (losses.Focal(0.0), losses.CrossEntropy())
    ]
    for one, other in zip(*pairs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


# As parameters.

INSTANCES = [
    losses.SquaredError(),
    losses.AbsoluteError(),
    losses.Huber(0.5),
    losses.Quantile((0.1, 0.9)),
    losses.Poisson(),
    losses.Gamma(),
    losses.Tweedie(1.3),
    losses.CrossEntropy(),
    losses.Focal(1.0),
    losses.Ordinal(),
]


@pytest.mark.parametrize("loss", INSTANCES, ids=repr)
def test_losses_are_values(loss):
    assert eval(repr(loss), vars(losses)) == loss == pickle.loads(pickle.dumps(loss))
    assert hash(loss) == hash(eval(repr(loss), vars(losses)))
    copy = clone(LassoNetRegressor(loss=loss))
    assert copy.loss == loss and repr(loss) in repr(copy)


def test_losses_of_other_parameters_differ():
    assert losses.Quantile(0.5) == losses.Quantile() == losses.Quantile([0.5]) != losses.Quantile((0.1, 0.9))
    assert losses.Huber(1.0) != losses.Huber(2.0)
    assert losses.Poisson() != losses.Gamma()


@pytest.mark.parametrize("name", ["squared_error", "absolute_error", "huber", "quantile", "poisson", "tweedie"])
def test_a_name_means_the_class_of_that_name_at_its_defaults(name):
    Class = getattr(losses, "".join(word.title() for word in name.split("_")))
    cheap = {"lambda_seq": (0.5, 2.0), "n_iters": (60, 10), "select": 0.5}
    one, two = (regressor(loss, **cheap).fit(X, counts) for loss in (name, Class()))
    assert np.array_equal(one.predict(X), two.predict(X))
    assert one.predict(X).shape == (N,) and one.coef_.shape == (D,)
    assert one.score(X, counts) == two.score(X, counts) > 0.05


def test_none_means_the_usual_losses():
    for Estimator, name, target in (
        (LassoNetRegressor, "squared_error", y),
        (LassoNetClassifier, "cross_entropy", grades),
    ):
        one, two = (Estimator(**with_training(loss=loss, **QUICK)).path(X, target) for loss in (None, name))
        assert all(np.array_equal(p.weights.skip, q.weights.skip) for p, q in zip(one, two, strict=True))


def test_a_fitted_model_keeps_its_loss():
    model = regressor("poisson", lambda_seq=(1.0,)).fit(X, counts)
    before = model.predict(X)
    again = pickle.loads(pickle.dumps(model.set_params(loss="squared_error")))
    assert np.array_equal(again.predict(X), before)


def test_the_distance_of_huber_counts_in_robust_standard_deviations():
    assert pytest.approx([0.7, 3.5, 0.7], rel=0.1) == list(DELTAS)


# Counts and amounts.


def test_without_hierarchy_and_penalty_the_poisson_loss_gives_poisson_regression():
    model = LassoNetRegressor(**with_training(loss="poisson", **SOLVED)).fit(X, counts)
    reference = PoissonRegressor(alpha=0, tol=1e-10, max_iter=10_000).fit(X, counts)
    ours, theirs = model.predict(X), reference.predict(X)
    assert mean_poisson_deviance(counts, ours) == pytest.approx(mean_poisson_deviance(counts, theirs), rel=1e-9)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-5)
    assert model.score(X, counts) == pytest.approx(reference.score(X, counts), abs=1e-6)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
def test_the_unit_of_a_positive_target_does_not_matter(loss):
    settings = {"lambda_seq": (0.5,), "dtype": "float64", "select": 0.5}
    one, thousand = (regressor(loss, **settings).fit(X, factor * (counts + 1)) for factor in (1, 1000))
    np.testing.assert_allclose(thousand.predict(X), 1000 * one.predict(X), rtol=1e-6)
    np.testing.assert_allclose(thousand.coef_, one.coef_, rtol=1e-6, atol=1e-9)
    assert one.predict(X).min() > 0


def test_amounts_may_stay_as_they_are():
    settings = {**SOLVED, "n_iters": (3000, 1)}
    plain, scaled = (
        LassoNetRegressor(**with_training(loss="poisson", preprocessing=p, **settings)).fit(X, counts)
        for p in (None, "standard")
    )
    np.testing.assert_allclose(plain.predict(X), scaled.predict(X), rtol=1e-2)


# Quantiles.


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_without_hierarchy_and_penalty_quantiles_are_those_of_the_linear_program(diabetes, level):
    Z, target = diabetes
    reference = QuantileRegressor(quantile=level, alpha=0, solver="highs").fit(Z, target).predict(Z)
    solved = {**SOLVED, "tol": 1e-10, "n_iters": (5000, 1)}
    for settings, tolerance in ((DENSE, 1e-2), (solved, 1e-3)):  # the rounded kink costs half a thousandth
        ours = LassoNetRegressor(**with_training(loss=losses.Quantile(level), **settings)).fit(Z, target).predict(Z)
        lowest = mean_pinball_loss(target, reference, alpha=level)
        assert lowest <= mean_pinball_loss(target, ours, alpha=level) <= (1 + tolerance) * lowest


def test_absolute_error_gives_the_median(diabetes):
    Z, target = diabetes
    settings = {**SOLVED, "tol": 1e-10, "n_iters": (5000, 1)}
    absolute, median = (
        LassoNetRegressor(**with_training(loss=name, **settings)).fit(Z, target)
        for name in ("absolute_error", "quantile")
    )
    np.testing.assert_allclose(absolute.predict(Z), median.predict(Z), atol=0.02)
    assert absolute.score(Z, target) == pytest.approx(median.score(Z, target), abs=1e-3)


@pytest.mark.parametrize("factor", [1e-4, 1e4])
def test_quantiles_do_not_depend_on_the_unit_of_the_target_standardised_or_not(factor):
    settings = {**SOLVED, "tol": 1e-9, "n_iters": (3000, 1), "learning_rate": 1e-3}
    reference = mean_pinball_loss(y, QuantileRegressor(quantile=0.8, alpha=0).fit(X, y).predict(X), alpha=0.8)
    standardised = LassoNetRegressor(**with_training(loss=losses.Quantile(0.8), **settings)).fit(X, factor * y)
    assert mean_pinball_loss(y, standardised.predict(X) / factor, alpha=0.8) == pytest.approx(reference, rel=0.01)
    raw = LassoNetRegressor(**with_training(loss=losses.Quantile(0.8), preprocessing=None, **settings))
    if factor < 1:  # steps that begin small cannot go as far as 10,000
        assert mean_pinball_loss(y, raw.fit(X, factor * y).predict(X) / factor, alpha=0.8) == pytest.approx(
            reference, rel=0.02
        )


def heteroscedastic(seed, n):
    """Five columns of fifteen matter, the last of them for the variance only."""
    draw = np.random.default_rng(seed)
    Z = draw.normal(size=(n, 15))
    mean = 2 * np.sin(Z[:, 0]) + Z[:, 1] ** 2 / 2 - Z[:, 2] + Z[:, 3]
    return Z, mean + 0.7 * np.exp(0.4 * Z[:, 4]) * draw.normal(size=n)


@pytest.mark.parametrize("seed", [10, 11, 12])
def test_an_interval_covers_about_its_nominal_share_of_new_samples(seed):
    model = LassoNetRegressor(loss=losses.Quantile((0.1, 0.9)), random_state=seed)
    model.fit(*heteroscedastic(1000 + seed, 4000))
    assert set(range(5)) <= set(np.flatnonzero(model.selected_))
    assert model.n_selected_ <= 8
    new, target = heteroscedastic(5000 + seed, 10_000)
    low, high = model.predict(new).T
    # Chance alone moves the coverage of two quantiles of 3,200 samples by 0.7 points; a network slightly overfits these.
    assert abs(np.mean((low <= target) & (target <= high)) - 0.8) <= 0.03


def test_outliers_in_the_target_hardly_change_robust_losses():
    spoilt = y.copy()
    spoilt[::20] += 1000 * np.sign(np.arange(len(spoilt[::20])) % 3 - 0.5)
    cheap = {"lambda_seq": (1e-4,), "select": 0.0, "dtype": "float64", "n_iters": (1000, 1)}
    errors = {
        loss: np.mean(np.abs(regressor(loss, **cheap).fit(X, spoilt).predict(X) - y))
        for loss in ("squared_error", "huber", "absolute_error")
    }
    assert errors["huber"] < 1 and errors["absolute_error"] < 1 < errors["squared_error"]


def test_quantiles_have_a_column_each_and_do_not_cross():
    levels = tuple(np.arange(1, 20) / 20)
    model = regressor(losses.Quantile(levels), lambda_seq=(0.5,), select=0.5).fit(X, y)
    far = 5 * np.random.default_rng(1).normal(size=(500, D))
    predicted = model.predict(far)
    assert predicted.shape == (500, 19) and model.coef_.shape == (19, D)
    assert (np.diff(predicted, axis=1) >= 0).all()
    assert 0 < model.score(X, y) < 1


def test_levels_of_several_targets_come_target_by_target():
    pair = np.column_stack([y, 100 + y])
    model = regressor(losses.Quantile((0.2, 0.8)), lambda_seq=(0.1,), n_iters=(500, 10), select=0.0).fit(X, pair)
    predicted = model.predict(X)
    assert predicted.shape == (N, 4)
    assert (predicted[:, :2] < 50).all() and (predicted[:, 2:] > 50).all()
    assert model.score(X, pair) > 0.3


# Several losses at once.


def test_two_heads_of_squared_error_are_the_regression_of_two_columns():
    pair = np.column_stack([y, counts])
    one, two = (regressor(loss, dtype="float64").fit(X, pair) for loss in ("squared_error", ["squared_error"] * 2))
    assert len(one.path_) == len(two.path_)
    for p, q in zip(one.path_, two.path_, strict=True):
        np.testing.assert_allclose(p.weights.skip, q.weights.skip, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(one.predict(X), two.predict(X), rtol=1e-6)


def test_each_head_predicts_what_its_loss_is_for():
    targets = np.column_stack([1000 * y, counts, y])
    model = regressor(["squared_error", "poisson", losses.Quantile((0.1, 0.9))], select="best").fit(X, targets)
    predicted = model.predict(X)
    assert predicted.shape == (N, 4) and model.coef_.shape == (4, D)
    assert np.corrcoef(predicted[:, 0], 1000 * y)[0, 1] > 0.9 and predicted[:, 0].std() > 500
    assert (predicted[:, 1] > 0).all() and predicted[:, 1].mean() == pytest.approx(counts.mean(), rel=0.1)
    assert (predicted[:, 2] <= predicted[:, 3]).all()
    assert {0, 1} <= set(np.flatnonzero(model.selected_))
    scaling, loss = model._solved.target_scaling, model._solved.target.loss
    raw = (model._output(X) - scaling.center) / scaling.scale
    scaled = scaling.apply(targets[:, [0, 1, 2, 2]], np.float64)
    values = loss.evaluate(torch.from_numpy(raw)[None], torch.from_numpy(scaled))[0]
    assert model.score(X, targets) == pytest.approx(-float(values.mean()))


# Functions.


def squared(output, target):
    return (output - target) ** 2


def squared_by_sample(output, target):
    return ((output - target) ** 2).sum(dim=1)


@pytest.mark.parametrize("function", [squared, squared_by_sample, torch.nn.MSELoss(reduction="none")])
def test_a_function_equal_to_the_squared_error_gives_the_same_path(function):
    built_in, supplied = (regressor(loss, dtype="float64").fit(X, y) for loss in (None, function))
    assert len(built_in.path_) == len(supplied.path_)
    for p, q in zip(built_in.path_, supplied.path_, strict=True):
        np.testing.assert_allclose(p.weights.skip, q.weights.skip, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(supplied.predict(X), built_in.predict(X), rtol=1e-6)
    assert supplied.score(X, y) == pytest.approx(
        built_in.score(X, y) - 1, abs=0.02
    )  # minus the loss, a share of the variance


@pytest.mark.parametrize("target", [labels[:, 0], grades, labels], ids=["two classes", "four", "labels"])
def test_a_function_of_logits_gives_the_path_of_the_cross_entropy(target):
    def likelihood(output, goal):
        if target is grades:
            return -(output.log_softmax(1) * goal).sum(1)
        return binary(output, goal)

    built_in, supplied = (classifier(loss, dtype="float64").fit(X, target) for loss in (None, likelihood))
    np.testing.assert_allclose(supplied.predict_proba(X), built_in.predict_proba(X), atol=1e-6)


def test_a_function_is_called_with_batches_and_single_precision():
    called_with = set()

    def watched(output, target):
        called_with.add((output.dtype, len(output)))
        return squared(output, target)

    regressor(watched, batch_size=64, val_size=0, n_iters=(5, 2), lambda_seq=(1.0,), select=1.0).fit(X, y)
    assert {(torch.float32, 64), (torch.float32, 8)} <= called_with


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (torch.nn.MSELoss(), ValueError, "reduction='none'"),
        (lambda f, t: ((f - t) ** 2)[:-1], ValueError, "one loss per row, shape"),
        (lambda f, t: (f.detach() - t) ** 2, ValueError, "no gradient"),
        (lambda f, t: (f - t).detach().numpy(), TypeError, "must return a tensor .* got ndarray"),
        (lambda f, t: torch.sqrt(f - 10) + t, ValueError, "loss of nan for the output"),
        (lambda f, t: torch.sqrt((f - f).abs()) + f, ValueError, "derivative of nan"),
        (lambda f, t: torch.nn.Parameter(t), ValueError, "does not use the output"),
    ],
)
@pytest.mark.parametrize("Estimator", [LassoNetRegressor, LassoNetClassifier])
def test_a_function_that_cannot_be_trained_with_is_refused_before_training(
    Estimator, function, error, message, monkeypatch
):
    monkeypatch.setattr("riata.solver.solve.Solver.minimise", lambda *_: pytest.fail("training began"))
    with pytest.raises(error, match=message):
        Estimator(**with_training(loss=function, **QUICK)).fit(X, grades)


# Classes in an order, and several labels.


@pytest.mark.parametrize("seed", [0, 1])
def test_grades_are_learnt_from_the_columns_that_matter(seed):
    draw = np.random.default_rng(seed)
    Z = draw.normal(size=(800, 10))
    grade = np.digitize(
        1.5 * Z[:, 0] - 1.5 * Z[:, 1] + 1.5 * np.tanh(2 * Z[:, 2]) + draw.logistic(size=800), [-2, 0, 2]
    )
    model = LassoNetClassifier(loss="ordinal", n_features_to_select=3, random_state=seed).fit(Z, grade + 5)
    assert list(np.flatnonzero(model.selected_)) == [0, 1, 2]
    probability = model.predict_proba(Z)
    assert probability.shape == (800, 4)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert set(model.predict(Z)) <= {5, 6, 7, 8}
    assert np.array_equal(model.decision_function(Z).argmax(axis=1), model.predict(Z) - 5)
    assert model.score(Z, grade + 5) > 0.5
    assert model.coef_.shape == (3, 10)


def test_two_grades_are_two_classes():
    one, two = (classifier(loss, dtype="float64").fit(X, labels[:, 0]) for loss in ("ordinal", None))
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("loss", ["ordinal", "focal"])
def test_classes_of_any_loss_can_be_weighted(loss):
    model = classifier(loss, class_weight="balanced", lambda_seq=(0.1,), select=0.1).fit(X, grades)
    assert model.score(X, grades) > 0.5


@pytest.mark.parametrize("loss", [None, "focal"])
def test_labels_share_their_features(loss):
    draw = np.random.default_rng(1)
    Z = draw.normal(size=(600, 10))
    table = (np.column_stack([Z[:, 0], Z[:, 3] - Z[:, 0], Z[:, 7]]) + 0.3 * draw.normal(size=(600, 3)) > 0).astype(int)
    model = LassoNetClassifier(loss=loss, hidden_dims=(20,), n_features_to_select=3, random_state=0).fit(Z, table)
    assert list(np.flatnonzero(model.selected_)) == [0, 3, 7]
    predicted, probability = model.predict(Z), model.predict_proba(Z)
    assert predicted.shape == probability.shape == model.decision_function(Z).shape == (600, 3)
    assert predicted.dtype == table.dtype
    assert np.array_equal(predicted, probability > 0.5)
    assert model.score(Z, table) == accuracy_score(table, predicted) > 0.5


def test_labels_may_be_validated_on_given_samples():
    model = classifier().fit(X[:150], labels[:150], X_val=X[150:], y_val=labels[150:])
    assert model.score(X, labels) > 0.5
    with pytest.raises(ValueError, match="y_val must have the columns of y"):
        classifier().fit(X[:150], labels[:150], X_val=X[150:], y_val=np.hstack([labels, labels])[150:])
    with pytest.raises(ValueError, match="y_val must have the columns of y"):
        classifier().fit(X[:150], labels[:150], X_val=X[150:], y_val=labels[150:, 0])
    with pytest.raises(ValueError, match="y_val must have the columns of y"):
        classifier().fit(X[:150], labels[:150, 0], X_val=X[150:], y_val=labels[150:])


# Elsewhere.

FEW = {"cv": 3, "hidden_dims": (5,), "path_multiplier": 1.5, "n_iters": (100, 10), "random_state": 0}


@pytest.mark.parametrize(
    ("loss", "target", "n_columns"),
    [
        ("poisson", counts, None),
        (losses.Quantile((0.1, 0.9)), y, 2),
        (["squared_error", "poisson"], np.column_stack([y, counts]), 2),
        (squared, y, None),
    ],
    ids=["poisson", "quantiles", "heads", "function"],
)
def test_cross_validation_takes_losses_of_numbers(loss, target, n_columns):
    model = LassoNetRegressorCV(**with_training(loss=loss, **FEW)).fit(X, target)
    assert {0, 1} <= set(np.flatnonzero(model.selected_))
    assert model.predict(X).shape == ((N,) if n_columns is None else (N, n_columns))
    assert np.isfinite(model.cv_score_)
    assert model.score(X, target) == pytest.approx(model.cv_score_, abs=0.3)


@pytest.mark.parametrize(("loss", "target"), [("ordinal", grades), (None, labels)], ids=["ordinal", "labels"])
def test_cross_validation_takes_losses_of_classes(loss, target):
    model = LassoNetClassifierCV(**with_training(loss=loss, **FEW)).fit(X, target)
    assert model.predict(X).shape == target.shape
    assert model.cv_score_ > 0.5


def test_a_path_of_any_loss_goes_from_dense_to_empty():
    for path in (regressor("poisson").path(X, counts), classifier("ordinal").path(X, grades)):
        assert path[0].n_selected == D and path[-1].n_selected == 0


# What is refused.


def test_a_target_of_other_columns_is_refused():
    pair = np.column_stack([y, counts])
    with pytest.raises(ValueError, match=r"shape \(n, 2\); got \(50,\)"):
        regressor().fit(X[:150], pair[:150], X_val=X[150:], y_val=y[150:])
    with pytest.raises(ValueError, match=r"shape \(n, 2\); got \(200, 1\)"):
        regressor(lambda_seq=(1.0,), n_iters=5).fit(X, pair).score(X, y[:, None])


@pytest.mark.parametrize(
    ("Estimator", "loss", "target", "message"),
    [
        (LassoNetRegressor, "mse", y, "loss must be one of 'squared_error'.*got 'mse'"),
        (LassoNetRegressor, "ordinal", y, "got 'ordinal'"),
        (LassoNetRegressor, losses.Focal(), y, r"got Focal\(gamma=2.0\)"),
        (LassoNetRegressor, losses.Poisson, y, r"give an instance, Poisson\(\)"),
        (LassoNetRegressor, 3, y, "got 3"),
        (LassoNetClassifier, "poisson", grades, "loss must be one of 'cross_entropy', 'focal', 'ordinal'"),
        (LassoNetClassifier, losses.Huber(), grades, "got Huber"),
        (LassoNetRegressor, "poisson", y, r"Poisson\(\) is a loss for numbers that are not negative; y holds -"),
        (LassoNetRegressor, "tweedie", y, "numbers that are not negative"),
        (LassoNetRegressor, "gamma", np.maximum(y, 0), "positive numbers; y holds 0"),
        (LassoNetRegressor, "poisson", np.zeros(N), "y is 0 in every row"),
        (LassoNetRegressor, ["poisson"], np.column_stack([y, y]), "it has 1 for 2 columns"),
        (LassoNetRegressor, [], y, "it has 0 for 1 columns"),
        (LassoNetRegressor, ["squared_error", "poisson"], np.column_stack([y, y]), "column 1 of y: Poisson"),
        (LassoNetClassifier, "ordinal", labels, "one column of classes in an order"),
        (LassoNetClassifier, "ordinal", np.array(["low", "high"])[labels[:, 0]], "number the classes"),
        (LassoNetClassifier, None, np.column_stack([grades, grades]), "table of 0/1 labels"),
        (LassoNetClassifier, None, np.column_stack([labels, np.ones(N)]), "label 2 is 1 in all of them"),
    ],
)
def test_losses_and_targets_that_do_not_go_together_are_refused(Estimator, loss, target, message):
    with pytest.raises(ValueError, match=message):
        Estimator(**with_training(loss=loss, **QUICK)).fit(X, target)


def test_classes_of_labels_are_not_weighted():
    with pytest.raises(ValueError, match=r"class_weight weighs rows by their class.*sample_weight"):
        classifier(class_weight="balanced").fit(X, labels)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: losses.Quantile((0.9, 0.1)), "between 0 and 1 and increase"),
        (lambda: losses.Quantile(()), "between 0 and 1 and increase"),
        (lambda: losses.Quantile(1.0), "between 0 and 1 and increase"),
        (lambda: losses.Quantile("median"), "between 0 and 1 and increase"),
        (lambda: losses.Huber(0), "delta of Huber"),
        (lambda: losses.Tweedie(2.5), "power of Tweedie"),
        (lambda: losses.Tweedie(2), r"take Poisson\(\) or Gamma\(\)"),
        (lambda: losses.Focal(-1), "gamma of Focal"),
    ],
)
def test_parameters_of_losses_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()
