"""Laws of the partial likelihood: its definition in loops, ties, entries, strata, weights, and what leaves it as it is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from riata.losses.cox import PartialLikelihood

TIES = ["breslow", "efron"]
both = pytest.mark.parametrize("ties", TIES)

# Sums over a dozen samples in float64, whose differences (entries) cost a few digits more where hazards differ by e¹⁰.
ROUNDING = 1e-9
SMALL = settings(max_examples=50, deadline=None)
MANY = settings(max_examples=200, deadline=None)


def slow(f: torch.Tensor, target: np.ndarray, weights: np.ndarray, ties: str) -> torch.Tensor:
    """Weighted sum of the losses in one stratum after the other, one time after the other."""
    entry, time, event, stratum = target.T
    w, total = torch.from_numpy(weights), torch.zeros((), dtype=torch.float64)
    for s, t in product(np.unique(stratum), np.unique(time)):
        here = stratum == s
        tied = here & (time == t) & (event > 0) & (weights > 0)
        risk = here & (entry < t) & (time >= t)
        d = int(tied.sum())
        for place, i in enumerate(np.flatnonzero(tied)):
            off, own = (place / d, w[tied].mean()) if ties == "efron" else (0.0, w[i])
            hazard = (w * f.exp())[risk].sum() - off * (w * f.exp())[tied].sum()
            null = w[risk].sum() - off * w[tied].sum()
            total = total + own * (1 + (hazard / null).log()) - w[i] * f[i]
    return total


def fast(f, target, weights, ties="breslow", dtype=torch.float64, **flags):
    """Losses and slopes, (R, n), of outputs, (n,) or (R, n), with weights, (n,) or (R, n)."""
    weights, f = np.atleast_2d(weights), np.atleast_2d(f)
    loss = PartialLikelihood(ties, **({"entries": True, "strata": True} | flags))
    evaluate = loss.on(torch.tensor(target, dtype=dtype), torch.tensor(weights, dtype=dtype))
    outputs = np.broadcast_to(f, (max(len(weights), len(f)), f.shape[1])).copy()
    losses, slopes = evaluate(torch.tensor(outputs, dtype=dtype)[..., None])
    assert losses.dtype == slopes.dtype == dtype
    assert losses.shape == (len(outputs), len(target)) and slopes.shape == (*losses.shape, 1)
    return losses.double().numpy(), slopes[..., 0].double().numpy()


def summed(f, target, weights, ties="breslow", **how):
    """The objective and its gradient, of one replica."""
    losses, slopes = fast(f, target, weights, ties, **how)
    return (weights * losses[0]).sum(), weights * slopes[0]


def survival_targets(n: int, entries: bool = True, strata: bool = True) -> st.SearchStrategy[np.ndarray]:
    """Ranks of times with many ties, entries before them, events and strata, (n, 4)."""
    row = st.tuples(
        st.integers(0, 3) if entries else st.just(0),
        st.integers(1, 4),
        st.integers(0, 1),
        st.integers(0, 2) if strata else st.just(0),
    ).map(lambda r: (float(r[0]), float(r[0] + r[1]), float(r[2]), float(r[3])))
    return st.lists(row, min_size=n, max_size=n).map(lambda rows: np.array(rows).reshape(n, 4))


def numbers(n: int, size: float = 5.0) -> st.SearchStrategy[np.ndarray]:
    return st.lists(st.floats(-size, size), min_size=n, max_size=n).map(lambda values: np.array(values, dtype=float))


def some_weights(n: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.7]), min_size=n, max_size=n).map(np.array)


@st.composite
def problems(draw, min_size=1, max_size=12, size=5.0, **kinds):
    n = draw(st.integers(min_size, max_size))
    return draw(numbers(n, size)), draw(survival_targets(n, **kinds)), draw(some_weights(n))


# The definition.


@both
@MANY
@given(problem=problems())
def test_loss_and_gradient_are_those_of_the_partial_likelihood(ties, problem):
    f, target, weights = problem
    output = torch.from_numpy(f.copy()).requires_grad_()
    expected = slow(output, target, weights, ties)
    gradient = torch.autograd.grad(expected, output)[0].numpy() if expected.requires_grad else np.zeros(len(f))
    value, slopes = summed(f, target, weights, ties)
    np.testing.assert_allclose(value, expected.item(), rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(slopes, gradient, rtol=ROUNDING, atol=ROUNDING)


@both
@SMALL
@given(problem=problems(entries=False, strata=False))
def test_without_late_entries_and_strata_the_short_way_is_the_same(ties, problem):
    f, target, weights = problem
    short = fast(f, target, weights, ties, entries=False, strata=False)
    for found, expected in zip(short, fast(f, target, weights, ties), strict=True):
        np.testing.assert_allclose(found, expected, rtol=ROUNDING, atol=ROUNDING)


@SMALL
@given(problem=problems())
def test_the_loss_of_a_sample_is_the_hazard_that_it_has_seen_and_what_its_event_adds(problem):
    f, target, weights = problem
    entry, time, event, stratum = target.T
    event = event * (weights > 0)
    losses, slopes = fast(f, target, weights)
    for i in np.flatnonzero(weights > 0):
        here, seen, own = stratum == stratum[i], 0.0, 0.0
        for j in np.flatnonzero(here & (event > 0)):
            risk = here & (entry < time[j]) & (time >= time[j])
            total = (weights * np.exp(f))[risk].sum()
            seen += weights[j] / total * (entry[i] < time[j] <= time[i])
            own = np.log(total / weights[risk].sum()) - f[i] if i == j else own
        expected = seen * np.exp(f[i])
        np.testing.assert_allclose(slopes[0, i], expected - event[i], rtol=ROUNDING, atol=ROUNDING)
        np.testing.assert_allclose(losses[0, i], expected + event[i] * own, rtol=ROUNDING, atol=ROUNDING)


@both
def test_where_the_hazard_is_constant_each_event_costs_one(ties):
    rng = np.random.default_rng(0)
    entry = rng.integers(0, 5, 50)
    target = np.column_stack([entry, entry + rng.integers(1, 5, 50), rng.integers(0, 2, 50), rng.integers(0, 2, 50)])
    value, _ = summed(np.full(50, 3.0), target.astype(float), np.ones(50), ties)
    np.testing.assert_allclose(value, target[:, 2].sum(), rtol=ROUNDING)


@both
def test_tied_events_alone_have_a_known_loss(ties):
    f, target = np.array([0.0, 1.0, -2.0]), np.array([[0, 1, 1, 0]] * 3, dtype=float)
    risk = np.exp(f)
    off = np.arange(3)[:, None] / 3 if ties == "efron" else np.zeros((3, 1))
    totals = (risk - off * risk).sum(axis=1) / (3 - 3 * off[:, 0])
    value, _ = summed(f, target, np.ones(3), ties)
    np.testing.assert_allclose(value, 3 + np.log(totals).sum() - f.sum(), rtol=ROUNDING)


# What leaves it as it is.


@both
@SMALL
@given(problem=problems(), constant=st.floats(-50, 50))
def test_a_constant_added_to_the_outputs_changes_nothing(ties, problem, constant):
    f, target, weights = problem
    for shifted, same in zip(
        summed(f + constant, target, weights, ties), summed(f, target, weights, ties), strict=True
    ):
        np.testing.assert_allclose(shifted, same, rtol=1e-8, atol=1e-8)  # f + constant is rounded at the size of 50


@both
@SMALL
@given(problem=problems(), data=st.data())
def test_the_order_of_the_samples_changes_nothing(ties, problem, data):
    f, target, weights = problem
    order = np.array(data.draw(st.permutations(range(len(f)))))
    _, slopes = summed(f, target, weights, ties)
    value, shuffled = summed(f[order], target[order], weights[order], ties)
    np.testing.assert_allclose(value, summed(f, target, weights, ties)[0], rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(shuffled, slopes[order], rtol=ROUNDING, atol=ROUNDING)


@SMALL
@given(problem=problems())
def test_with_breslow_a_sample_of_weight_two_is_the_sample_twice(problem):
    f, target, weights = problem
    double = np.concatenate([np.arange(len(f)), [0]])
    heavier = weights.copy()
    heavier[0] *= 2
    value, slopes = summed(f, target, heavier)
    twice, gradient = summed(f[double], target[double], weights[double])
    gradient = np.append(gradient[0] + gradient[-1], gradient[1:-1])
    np.testing.assert_allclose(value, twice, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(slopes, gradient, rtol=ROUNDING, atol=ROUNDING)


@both
@SMALL
@given(problem=problems())
def test_samples_of_weight_zero_do_not_count(ties, problem):
    f, target, weights = problem
    used = weights > 0
    value, slopes = summed(f, target, weights, ties)
    alone = summed(f[used], target[used], weights[used], ties)
    np.testing.assert_allclose(value, alone[0], rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(slopes[used], alone[1], rtol=ROUNDING, atol=ROUNDING)
    assert not slopes[~used].any() and not fast(f, target, weights, ties)[0][0, ~used].any()


@both
@SMALL
@given(problem=problems(min_size=2), data=st.data())
def test_replicas_with_different_weights_equal_each_alone(ties, problem, data):
    f, target, weights = problem
    other, f_other = data.draw(some_weights(len(f))), data.draw(numbers(len(f)))
    together = fast(np.stack([f, f_other]), target, np.stack([weights, other]), ties)
    for r, alone in enumerate([(f, weights), (f_other, other)]):
        for found, expected in zip(together, fast(alone[0], target, alone[1], ties), strict=True):
            np.testing.assert_allclose(found[r], expected[0], rtol=ROUNDING, atol=ROUNDING)


@both
@SMALL
@given(problem=problems(), cut=st.floats(0.1, 0.9))
def test_a_row_cut_into_pieces_of_equal_output_is_the_row(ties, problem, cut):
    f, target, weights = problem
    entry, time = target[0, :2]
    cut = entry + cut * (time - entry)
    target = target.copy()
    first = np.array([[entry, cut, 0.0, target[0, 3]]])
    later = target.copy()
    later[0, 0] = cut
    value, slopes = summed(f, target, weights, ties)
    pieces = (np.append(f, f[0]), np.vstack([later, first]), np.append(weights, weights[0]))
    in_pieces, gradient = summed(*pieces, ties)
    gradient = np.append(gradient[0] + gradient[-1], gradient[1:-1])
    np.testing.assert_allclose(in_pieces, value, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(gradient, slopes, rtol=ROUNDING, atol=ROUNDING)


@both
@SMALL
@given(problem=problems(strata=False), other=problems(strata=False))
def test_the_losses_of_strata_add_up(ties, problem, other):
    both_strata = np.vstack([problem[1], other[1] + [0, 0, 0, 1]])
    f, weights = (np.concatenate([problem[k], other[k]]) for k in (0, 2))
    value, slopes = summed(f, both_strata, weights, ties)
    parts = [summed(*part, ties, strata=False) for part in (problem, other)]
    np.testing.assert_allclose(value, parts[0][0] + parts[1][0], rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(slopes, np.concatenate([parts[0][1], parts[1][1]]), rtol=ROUNDING, atol=ROUNDING)


# Corners.


@both
@pytest.mark.parametrize("n", [0, 1, 5])
def test_without_an_event_there_is_neither_loss_nor_gradient(ties, n):
    target = np.column_stack([np.zeros(n), np.arange(1, n + 1), np.zeros(n), np.zeros(n)])
    losses, slopes = fast(np.linspace(-1, 1, n), target, np.ones(n), ties)
    assert not losses.any() and not slopes.any()


@both
def test_the_only_sample_at_risk_tells_nothing(ties):
    losses, slopes = fast([3.0], np.array([[0.0, 1.0, 1.0, 0.0]]), [2.0], ties)
    np.testing.assert_allclose(losses, 1)
    np.testing.assert_allclose(slopes, 0, atol=ROUNDING)


@both
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@SMALL
@given(problem=problems(size=500))
def test_outputs_of_any_size_have_finite_losses_and_slopes(ties, dtype, problem):
    losses, slopes = fast(*problem, ties, dtype)
    assert np.isfinite(losses).all() and np.isfinite(slopes).all()


@both
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_hazards_that_vanish_beside_others_have_finite_losses(ties, dtype):
    # A sample under observation before an event of others, whose sum is lost in that of the first: 1 + exp(−40) = 1.
    target = np.array([[0.0, 1, 1, 0], [1, 3, 1, 0], [1, 3, 1, 0], [1, 4, 0, 0], [1, 3, 1, 0]])
    for f in ([0.0, -700, -700, -40, -1000], [0.0, -1000, -1000, -1000, -1000]):
        losses, slopes = fast(f, target, np.full(5, 20.0), ties, dtype)
        assert np.isfinite(losses).all() and np.isfinite(slopes).all()
        assert (slopes <= 4).all()  # no more events are expected than take place


@both
def test_weights_that_are_all_zero_give_finite_losses(ties):
    losses, slopes = fast([1.0, -500.0], np.array([[0.0, 1, 1, 0], [0, 2, 1, 0]]), np.zeros(2), ties)
    assert np.isfinite(losses).all() and np.isfinite(slopes).all()


@both
def test_the_hazard_of_late_samples_is_not_lost_beside_that_of_early_ones(ties):
    f = np.array([0.0, -300.0, -301.0])  # exp(−300) is far below the rounding of 1
    target = np.array([[0.0, 1, 1, 0], [0, 2, 1, 0], [0, 3, 0, 0]])
    losses, slopes = fast(f, target, np.ones(3), ties)
    np.testing.assert_allclose(slopes[0], [0, 1 / (1 + np.exp(-1)) - 1, 1 / (1 + np.e)], rtol=1e-9, atol=1e-12)
    expected = 1 / (1 + np.exp(-1)) + np.log((1 + np.exp(-1)) / 2)
    np.testing.assert_allclose(losses[0, 1], expected, rtol=1e-9)


@both
def test_single_precision_is_close_to_double_precision_on_many_samples(ties):
    rng = np.random.default_rng(0)
    n = 5000
    entry = rng.integers(0, 300, n)
    target = np.column_stack([entry, entry + rng.integers(1, 300, n), rng.random(n) < 0.3, rng.integers(0, 3, n)])
    f, weights = rng.normal(size=n).astype(np.float32).astype(float), np.ones(n, dtype=np.float32)
    single = fast(f, target.astype(float), weights, ties, torch.float32)
    for found, expected in zip(single, fast(f, target.astype(float), weights, ties), strict=True):
        # Inputs are the same numbers and sums are in float64: only what is returned is rounded, to 6e-8 of each entry.
        np.testing.assert_allclose(found, expected, rtol=2e-7, atol=1e-9)
