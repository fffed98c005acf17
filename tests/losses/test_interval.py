"""The likelihood of intervals equals plain formulas of many digits, in the tails too, and so do its derivatives."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from riata.losses.censoring import Intervals, learn_intervals
from riata.losses.interval import BETWEEN, EXACT, LEFT, RIGHT, IntervalLikelihood
from riata.survival.curve import SurvivalCurve
from riata.survival.distributions import DISTRIBUTIONS

NAMES = list(DISTRIBUTIONS)
KINDS = [EXACT, RIGHT, LEFT, BETWEEN]
DIGITS = 60


def above(name, z):
    """P(error > z)."""
    if name == "normal":
        return mpmath.erfc(z / mpmath.sqrt(2)) / 2
    return mpmath.exp(-mpmath.exp(z)) if name == "extreme_value" else 1 / (1 + mpmath.exp(z))


def below(name, z):
    """P(error < z)."""
    return -mpmath.expm1(-mpmath.exp(z)) if name == "extreme_value" else above(name, -z)


def between(name, low, high):
    if low + high > 0:
        return above(name, low) - above(name, high)
    return below(name, high) - below(name, low)


def density(name, z):
    if name == "normal":
        return mpmath.npdf(z)
    if name == "logistic":
        return above(name, z) * below(name, z)
    return mpmath.exp(z - mpmath.exp(z))


def loss_of(name, kind, lower, upper, f, s):
    """Return −log likelihood of one sample."""
    low, high = (lower - f) / mpmath.exp(s), (upper - f) / mpmath.exp(s)
    if kind == EXACT:
        return s - mpmath.log(density(name, low)) - mpmath.log(mpmath.mpf(0.01))
    one = {RIGHT: lambda: above(name, low), LEFT: lambda: below(name, high), BETWEEN: lambda: between(name, low, high)}
    return -mpmath.log(one[kind]())


def reference(name, kind, lower, upper, f, s):
    """Return loss and derivatives by f and s."""
    with mpmath.workdps(DIGITS):
        lower, upper, f, s = (mpmath.mpf(float(each)) for each in (lower, upper, f, s))
        loss = loss_of(name, kind, lower, upper, f, s)
        by_f = mpmath.diff(lambda x: loss_of(name, kind, lower, upper, x, s), f)
        by_s = mpmath.diff(lambda x: loss_of(name, kind, lower, upper, f, x), s)
        return float(loss), float(by_f), float(by_s)


def evaluated(name, kind, lower, upper, f, s, dtype, kinds=(EXACT, RIGHT, LEFT, BETWEEN)):
    target = torch.tensor([[lower, upper, kind]], dtype=dtype)
    loss, slope = IntervalLikelihood(name, kinds).evaluate(torch.tensor([[[f, s]]], dtype=dtype), target)
    assert loss.dtype == slope.dtype == dtype
    return float(loss[0, 0]), *map(float, slope[0, 0])


@pytest.mark.parametrize("kind", KINDS, ids=["exact", "right", "left", "between"])
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(
    z=st.floats(-300, 300),
    s=st.floats(-3, 3, width=32),
    lower=st.floats(-3, 3, width=32),
    width=st.floats(1e-6, 1e3),
    single=st.booleans(),
)
def test_loss_and_derivatives_equal_those_of_many_digits(name, kind, z, s, lower, width, single):
    if name == "extreme_value":  # from 30 on its exponential goes on in a straight line
        z, width = min(z, 12.0), min(width, 12.0) if kind == LEFT else width
    dtype, number = (torch.float32, np.float32) if single else (torch.float64, np.float64)
    f = float(number(lower - z * np.exp(s)))
    upper = lower if kind in (EXACT, RIGHT) else float(number(lower + width * np.exp(s)))
    if kind == LEFT:
        lower = upper
    assume(kind != BETWEEN or upper > lower)
    found, wanted = evaluated(name, kind, lower, upper, f, s, dtype), reference(name, kind, lower, upper, f, s)
    # What is summed to a derivative, of the order of the largest |z| and 1/σ, is rounded to the type.
    size = 1 + max(abs((lower - f) * np.exp(-s)), 1) * (1 + np.exp(-s))
    eps = 1e-6 if single else 1e-9
    np.testing.assert_allclose(found, wanted, rtol=eps, atol=eps * size)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_far_from_all_samples_losses_are_finite_and_their_derivatives_point_back(name, dtype):
    for kind in KINDS:
        for far in (1e3, 1e6):
            above_all, *_ = evaluated(name, kind, 0.0, 0.5 if kind == BETWEEN else 0.0, far, 0.0, dtype)
            loss, by_f, by_s = evaluated(name, kind, 0.0, 0.5 if kind == BETWEEN else 0.0, -far, 0.0, dtype)
            assert np.isfinite([above_all, loss, by_f, by_s]).all()
            assert by_f <= 0 if kind != LEFT else by_f >= 0


@pytest.mark.parametrize("name", NAMES)
def test_kinds_that_do_not_occur_change_nothing(name):
    for kind in KINDS:
        given_one = evaluated(name, kind, 0.25, 0.75, 0.1, -0.5, torch.float64, kinds=(kind,))
        assert given_one == evaluated(name, kind, 0.25, 0.75, 0.1, -0.5, torch.float64)


@pytest.mark.parametrize("name", NAMES)
def test_a_narrow_interval_has_the_probability_of_its_density_times_its_width(name):
    """Across the width at which a series takes over."""
    for width in (1e-7, 9e-4, 1.1e-3):
        for middle in (-6.0, 0.0, 0.3, 4.0):
            lower, upper = middle - width / 2, middle + width / 2
            found = evaluated(name, BETWEEN, lower, upper, 0.0, 0.0, torch.float64)
            exact = evaluated(name, EXACT, middle, middle, 0.0, 0.0, torch.float64)
            size = 1 + np.exp(2 * middle) * (name == "extreme_value") + middle**2
            assert found[0] == pytest.approx(exact[0] + np.log(0.01) - np.log(width), abs=size * width**2 + 1e-7)
            np.testing.assert_allclose(found[1:], exact[1:], atol=5 * size**1.5 * width**2 + 1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_the_model_without_features_has_no_slope_at_the_origin_of_the_scale(name):
    rng = np.random.default_rng(0)
    time = rng.gamma(2, 50, size=200)
    visits = np.array([0, 20, 60, 100, 200, np.inf])
    after = np.searchsorted(visits, time)
    y = np.column_stack([visits[after - 1], visits[after]])
    y[:50] = time[:50, None]
    learnt, target = learn_intervals(y, name)
    weights = rng.uniform(0.5, 2, size=200)
    assert set(learnt.strata(target)) == {EXACT, RIGHT, LEFT, BETWEEN}
    scaled = torch.from_numpy(learnt._null(target, weights).apply(target, np.float64))
    _, slopes = IntervalLikelihood(name).evaluate(torch.zeros(1, 200, 2, dtype=torch.float64), scaled)
    np.testing.assert_allclose(weights @ slopes[0].numpy() / weights.sum(), 0, atol=1e-5)
    np.testing.assert_allclose(weights @ learnt.screened(target, weights) / weights.sum(), 0, atol=1e-5)


def test_the_model_without_features_stays_near_the_times_where_its_likelihood_grows_without_end():
    y = np.array([[0, 5.0], [3, np.inf]] * 10)  # 4 lies in all intervals
    learnt, target = learn_intervals(y, "normal")
    null = learnt._null(target, np.ones(20))
    assert np.log(3) < null.center[0] < np.log(5)
    assert null.scale[0] > 0.01


@pytest.mark.parametrize("name", NAMES)
def test_the_likelihood_of_times_is_the_density_of_the_survival_curve(name):
    curve = SurvivalCurve(np.array([1.0, 2.0]), 0.7, 0.4, name)
    t, h = np.array([0.5, 1.5, 3.0]), 1e-6
    learnt = Intervals(name)
    exact = learnt.log_likelihood(learnt.encode(np.column_stack([t, t])), np.full(3, 0.7), 0.4)
    np.testing.assert_allclose(np.exp(exact), (curve(t - h) - curve(t + h)) / (2 * h), rtol=1e-6)
    wide = learnt.log_likelihood(learnt.encode(np.column_stack([t, t + 1])), np.full(3, 0.7), 0.4)
    np.testing.assert_allclose(np.exp(wide), curve(t) - curve(t + 1), rtol=1e-9)
    right = learnt.log_likelihood(learnt.encode(np.column_stack([t, np.full(3, np.inf)])), np.full(3, 0.7), 0.4)
    np.testing.assert_allclose(np.exp(right), curve(t), rtol=1e-12)
    assert curve(0.0) == 1
    assert curve(-1.0) == 1
    np.testing.assert_array_equal(curve.y, curve(curve.x))
