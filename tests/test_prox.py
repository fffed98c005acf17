"""Laws of the hierarchical proximal operator, compared with a brute force that shares no code with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from riata.prox import hier_prox, prox_entries

Array = np.ndarray


def law(cases: int) -> settings:
    """Run so many cases, the same ones every time."""
    return settings(max_examples=cases, derandomize=True, deadline=None, database=None)


# ---- the problem, in numpy float64 ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """One call of the operator; the parameters have the shape in which they are handed over."""

    skip: Array  # (..., d, o)
    first: Array  # (..., d, K)
    lambda_: Array  # broadcasts against (..., d)
    M: Array
    lambda_bar: Array
    groups: Array | None  # (d,)

    def solve(self, dtype: torch.dtype = torch.float64) -> tuple[Array, Array]:
        """Apply the operator under test."""
        skip, first = hier_prox(
            torch.tensor(self.skip, dtype=dtype),
            torch.tensor(self.first, dtype=dtype),
            lambda_=torch.tensor(self.lambda_, dtype=dtype),
            M=torch.tensor(self.M, dtype=dtype),
            lambda_bar=torch.tensor(self.lambda_bar, dtype=dtype),
            groups=None if self.groups is None else torch.tensor(self.groups),
        )
        assert skip.dtype == first.dtype == dtype
        return skip.double().numpy(), first.double().numpy()

    @cached_property
    def member(self) -> Array:
        """Indicator of the features of each group, (d, G)."""
        ids = np.arange(self.skip.shape[-2]) if self.groups is None else self.groups
        return (ids[:, None] == np.unique(ids)).astype(float)

    def per_group(self, rows: Array) -> Array:
        """Add up over a group's entries: (..., d, width) -> (..., G)."""
        return rows.sum(-1) @ self.member

    def of_group(self, parameter: Array) -> Array:
        """Turn a parameter as handed over into one number per group, (..., G)."""
        per_row = np.broadcast_to(parameter, self.skip.shape[:-1])
        return per_row[..., self.member.argmax(0)]

    def of_feature(self, per_group: Array) -> Array:
        """Give each feature its group's number: (..., G) -> (..., d, 1)."""
        return (per_group @ self.member.T)[..., None]

    def bound(self, skip: Array) -> Array:
        """Largest size allowed in ``first`` next to ``skip``, M‖b‖, per feature."""
        return self.of_feature(self.of_group(self.M) * np.sqrt(self.per_group(skip**2)))

    @property
    def scale(self) -> Array:
        """Objective at zero, ½(‖v‖² + ‖u‖²), per group."""
        return 0.5 * (self.per_group(self.skip**2) + self.per_group(self.first**2))

    def objective(self, skip: Array, first: Array) -> Array:
        """Objective per group, the constraint aside."""
        distance = self.per_group((self.skip - skip) ** 2) + self.per_group((self.first - first) ** 2)
        norm = np.sqrt(self.per_group(skip**2))
        penalty = self.of_group(self.lambda_) * norm + self.of_group(self.lambda_bar) * self.per_group(np.abs(first))
        return 0.5 * distance + penalty

    def profile(self) -> Callable[[Array], Array]:
        """Objective as a function of β = ‖b‖ alone: b points along v, and the rest has a closed form given β.

        Convex in β, because the problem is jointly convex in β and the sizes of ``first``.
        """
        v, u = np.sqrt(self.per_group(self.skip**2)), np.abs(self.first)
        lambda_, M = self.of_group(self.lambda_), self.of_group(self.M)
        bar = self.of_feature(self.of_group(self.lambda_bar))
        free = np.maximum(u - bar, 0)

        def at(beta: Array) -> Array:
            size = np.minimum(free, self.of_feature(M * beta))
            return 0.5 * (v - beta) ** 2 + lambda_ * beta + self.per_group(0.5 * (u - size) ** 2 + bar * size)

        return at

    def brute_force(self) -> Array:
        """Least objective of each group, by ternary search on the profile."""
        profile = self.profile()
        low = np.zeros_like(self.scale)
        # The derivative of the profile is at least β − ‖v‖ − M‖u‖₁, so the minimiser is not beyond its root.
        high = np.sqrt(self.per_group(self.skip**2)) + self.of_group(self.M) * self.per_group(np.abs(self.first))
        at_zero = profile(low)
        for _ in range(80):  # (2/3)^80 = 8e-15, and the gap is quadratic in it
            third = (high - low) / 3
            inner = np.stack([low + third, high - third])
            left, right = profile(inner)
            low, high = np.where(left > right, inner[0], low), np.where(left > right, high, inner[1])
        return np.minimum(at_zero, profile((low + high) / 2))


# ---- strategies -----------------------------------------------------------------------------------------------------

# A few round numbers, so that ties between entries and between a norm and λ are common.
ROUND = st.sampled_from([0.0, 0.5, 1.0, -1.0, 2.0, -3.0, 4.0])
NEAR_TIE = st.floats(1, 1 + 2**-7, width=32)
ENTRY = ROUND | NEAR_TIE | st.floats(-100, 100, width=32).filter(lambda x: x == 0 or abs(x) > 1e-9)
THRESHOLD = st.sampled_from([0.0, 0.5, 1.0, 5.0]) | st.floats(0, 100, width=32)
HIERARCHY = st.sampled_from([0.0, 1.0, 10.0]) | st.floats(2**-10, 2**10, width=32)


@st.composite
def parameters(draw: st.DrawFn, values: st.SearchStrategy[float], lead: tuple[int, ...], ids: Array) -> Array:
    """One number, one number per replica, or one number per group."""
    kind = draw(st.sampled_from(["number", "replica", "group"]))
    if kind == "number":
        return np.asarray(draw(values))
    if kind == "replica":
        return draw(arrays(float, (*lead, 1), elements=values))
    per_group = draw(arrays(float, (*lead, len(ids)), elements=values))
    return per_group[..., np.unique(ids, return_inverse=True)[1]]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Any call: with and without replicas, groups, zero weights, and from one entry to a few dozen."""
    d, o, k = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 6))
    lead = draw(st.sampled_from([(), (1,), (2,)]))
    grouping = draw(st.sampled_from(["none", "all together", "any"]))
    groups = {
        "none": None,
        "all together": np.zeros(d, dtype=np.int64),
        "any": draw(arrays(np.int64, d, elements=st.integers(-1, 2))),
    }[grouping]
    ids = np.arange(d) if groups is None else groups
    scale = 2.0 ** draw(st.integers(-12, 12))
    skip, first = (scale * draw(arrays(float, (*lead, d, width), elements=ENTRY)) for width in (o, k))
    skip, first = (rows * draw(arrays(bool, (*lead, d, 1), elements=st.booleans())) for rows in (skip, first))
    lambda_, lambda_bar = (scale * draw(parameters(THRESHOLD, lead, ids)) for _ in range(2))
    bar_used = draw(st.booleans())
    return Problem(skip, first, lambda_, draw(parameters(HIERARCHY, lead, ids)), bar_used * lambda_bar, groups)


def draw_rows(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


# ---- the laws -------------------------------------------------------------------------------------------------------


@law(1000)
@given(problems())
def test_no_brute_force_finds_a_lower_objective(problem: Problem) -> None:
    skip, first = problem.solve()
    assert np.isfinite(skip).all()
    assert np.isfinite(first).all()
    gap = problem.objective(skip, first) - problem.brute_force()
    # Both ways: a brute force that fails to converge would make the law empty.
    assert (np.abs(gap) <= 1e-9 * problem.scale).all()


@pytest.mark.parametrize("M", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("groups", [None, np.arange(60) // 4])
@pytest.mark.parametrize("spread", [0.01, 1.0, 10.0])
def test_no_brute_force_finds_a_lower_objective_with_many_units_of_any_spread(
    spread: float, groups: Array | None, M: float
) -> None:
    # Sizes over many orders of magnitude, or all nearly tied, are where a root finder needs the most steps.
    rng = np.random.default_rng(0)
    skip, first = rng.standard_normal((60, 2)), np.exp(spread * rng.standard_normal((60, 400)))
    problem = Problem(skip, first, np.asarray(0.5), np.asarray(M), np.asarray(0.0), groups)
    gap = problem.objective(*problem.solve()) - problem.brute_force()
    assert (np.abs(gap) <= 1e-9 * problem.scale).all()


@law(200)
@given(problems(), st.integers(0, 2**32 - 1))
def test_no_feasible_point_nearby_or_far_has_a_lower_objective(problem: Problem, seed: int) -> None:
    # Unlike the brute force this does not assume that b points along v.
    skip, first = problem.solve()
    least = problem.objective(skip, first)
    rng = np.random.default_rng(seed)
    for size in (1e-6, 1e-3, 1e-1, 1, 10):
        step = size * np.sqrt(problem.of_feature(problem.scale))
        near = skip + step * rng.standard_normal(skip.shape)
        bound = problem.bound(near)
        feasible = np.clip(first + step * rng.standard_normal(first.shape), -bound, bound)
        assert (least <= problem.objective(near, feasible) + 1e-9 * problem.scale).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@law(100)
@given(problem=problems())
def test_first_is_bounded_by_M_times_the_skip_norm(problem: Problem, dtype: torch.dtype) -> None:
    skip, first = problem.solve(dtype)
    # The norm of up to 12 rescaled entries, and one product: a dozen roundings.
    assert (np.abs(first) <= problem.bound(skip) * (1 + 16 * torch.finfo(dtype).eps)).all()


@law(100)
@given(problems())
def test_float32_stays_float32_and_is_close_to_float64(problem: Problem) -> None:
    skip, first = problem.solve(torch.float32)
    exact_skip, exact_first = problem.solve(torch.float64)
    # A sum over at most 36 entries, in units of the data and the thresholds it is compared with.
    size = np.sqrt(2 * problem.scale) + problem.of_group(problem.lambda_) + problem.of_group(problem.lambda_bar)
    slack = 64 * np.finfo(np.float32).eps * problem.of_feature(size)
    assert (np.abs(skip - exact_skip) <= slack).all()
    assert (np.abs(first - exact_first) <= slack).all()


@law(100)
@given(problems(), st.integers(-8, 8))
def test_scaling_the_data_and_the_thresholds_scales_the_answer(problem: Problem, power: int) -> None:
    c = 2.0**power  # exact in binary, so the answers agree to the last bit
    data = {name: c * getattr(problem, name) for name in ("skip", "first", "lambda_", "lambda_bar")}
    scaled = replace(problem, **data)
    for answer, expected in zip(scaled.solve(), problem.solve(), strict=True):
        np.testing.assert_array_equal(answer, c * expected)


@law(100)
@given(problems())
def test_signs_and_directions_of_the_input_are_kept(problem: Problem) -> None:
    skip, first = problem.solve()
    assert (first * problem.first >= 0).all()
    has_direction = problem.of_feature(problem.per_group(problem.skip**2)) > 0
    assert (skip * problem.skip >= 0).all()
    assert (skip[np.broadcast_to(has_direction & (problem.skip == 0), skip.shape)] == 0).all()


@law(50)
@given(problems())
def test_the_input_is_not_changed(problem: Problem) -> None:
    skip, first = torch.tensor(problem.skip), torch.tensor(problem.first)
    before = skip.clone(), first.clone()
    groups = None if problem.groups is None else torch.tensor(problem.groups)
    hier_prox(skip, first, lambda_=1.0, M=2.0, lambda_bar=0.5, groups=groups)
    assert torch.equal(skip, before[0])
    assert torch.equal(first, before[1])


# ---- special cases --------------------------------------------------------------------------------------------------


@law(100)
@given(problems())
def test_with_M_zero_it_is_the_group_soft_threshold(problem: Problem) -> None:
    lasso = replace(problem, M=np.zeros(()))
    skip, first = lasso.solve()
    norm = np.sqrt(lasso.per_group(lasso.skip**2))
    threshold = lasso.of_group(lasso.lambda_)
    factor = np.maximum(norm - threshold, 0) / np.where(norm > 0, norm, 1)
    np.testing.assert_allclose(skip, lasso.of_feature(factor) * lasso.skip, rtol=0, atol=1e-14 * (1 + norm.max()))
    assert (first == 0).all()


@law(100)
@given(problems())
def test_with_lambda_zero_it_is_a_projection(problem: Problem) -> None:
    free = replace(problem, lambda_=np.zeros(()), lambda_bar=np.zeros(()))
    skip, first = free.solve()
    once = replace(free, skip=skip, first=first)
    size = np.sqrt(2 * once.of_feature(once.scale))
    for again, before in zip(once.solve(), (once.skip, once.first), strict=True):
        assert (np.abs(again - before) <= 1e-13 * size).all()


@law(100)
@given(problems())
def test_one_group_with_all_features_is_one_feature_with_their_weights_stacked(problem: Problem) -> None:
    skip, first = torch.tensor(problem.skip), torch.tensor(problem.first)
    together = hier_prox(skip, first, lambda_=1.0, M=2.0, groups=torch.zeros(skip.shape[-2], dtype=torch.long))
    stacked = hier_prox(skip.flatten(-2).unsqueeze(-2), first.flatten(-2).unsqueeze(-2), lambda_=1.0, M=2.0)
    slack = 1e-13 * (1 + np.sqrt(2 * problem.scale.max()) * problem.skip.shape[-2])
    for answer, expected in zip(together, stacked, strict=True):
        torch.testing.assert_close(answer.flatten(-2).unsqueeze(-2), expected, rtol=1e-12, atol=slack)


def test_group_ids_are_only_names() -> None:
    skip, first = draw_rows(0, 5, 2), draw_rows(1, 5, 3)
    answers = [
        hier_prox(skip, first, lambda_=0.5, M=1.0, groups=torch.tensor(ids))
        for ids in ([0, 1, 0, 2, 1], [7, -3, 7, 100, -3])
    ]
    torch.testing.assert_close(answers[0], answers[1], rtol=1e-14, atol=0)


def test_a_group_for_each_feature_is_no_groups() -> None:
    skip, first = draw_rows(0, 5, 2), draw_rows(1, 5, 3)
    alone = hier_prox(skip, first, lambda_=0.5, M=1.0)
    named = hier_prox(skip, first, lambda_=0.5, M=1.0, groups=torch.tensor([4, 2, 0, 1, 3]))
    torch.testing.assert_close(named, alone, rtol=1e-14, atol=0)


@pytest.mark.parametrize("parameter", ["lambda_", "M", "lambda_bar"])
def test_a_number_per_replica_equals_separate_calls(parameter: str) -> None:
    skip, first = draw_rows(0, 4, 6, 2), draw_rows(1, 4, 6, 5)
    values = torch.tensor([0.0, 0.3, 1.0, 3.0], dtype=torch.float64)
    common = {"lambda_": 0.4, "M": 2.0, "lambda_bar": 0.1}
    groups = torch.tensor([0, 0, 1, 2, 2, 3])
    together = hier_prox(skip, first, **(common | {parameter: values.unsqueeze(-1)}), groups=groups)
    for r, value in enumerate(values):
        alone = hier_prox(skip[r], first[r], **(common | {parameter: float(value)}), groups=groups)
        # Other replicas may need one more step, which changes an answer by a few roundings.
        torch.testing.assert_close((together[0][r], together[1][r]), alone, rtol=1e-13, atol=1e-14)


@law(100)
@given(arrays(float, (3, 4), elements=ENTRY), st.integers(1, 3))
def test_zero_skip_weights_that_become_positive_are_those_of_the_first_output(first: Array, o: int) -> None:
    skip, rows = torch.zeros(3, o, dtype=torch.float64), torch.tensor(first)
    answer, bounded = hier_prox(skip, rows, lambda_=1.0, M=2.0)
    again, _ = hier_prox(skip, rows, lambda_=1.0, M=2.0)
    assert torch.equal(answer, again)
    assert (answer[:, 0] >= 0).all()
    assert (answer[:, 1:] == 0).all()
    assert torch.equal(answer[:, 0] > 0, 2.0 * rows.abs().sum(-1) > 1.0)  # in exactly if M·Σ|u| exceeds λ
    assert torch.equal((bounded != 0).any(-1), answer[:, 0] > 0)


def test_a_zero_group_brought_in_by_first_takes_the_first_output_of_its_first_feature() -> None:
    groups = torch.tensor([1, 0, 1, 0])
    answer, _ = hier_prox(torch.zeros(4, 2), torch.ones(4, 3), lambda_=1.0, M=1.0, groups=groups)
    assert torch.equal(answer != 0, torch.tensor([[True, False], [True, False], [False, False], [False, False]]))


@pytest.mark.parametrize("M", [0.0, 1.0, 1e6])
@pytest.mark.parametrize("lambda_", [0.0, 1.0])
def test_zero_stays_zero(lambda_: float, M: float) -> None:
    for answer in hier_prox(torch.zeros(2, 3, 2), torch.zeros(2, 3, 4), lambda_=lambda_, M=M):
        assert torch.equal(answer, torch.zeros_like(answer))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("o", [1, 2])
@pytest.mark.parametrize("exponent", [0.2, 0.5, 0.55, 0.9, 1.0, 1.02])
def test_vanishing_skip_weights_give_the_right_norm_and_never_nan(
    exponent: float, o: int, grouped: bool, dtype: torch.dtype
) -> None:
    # From small to where the square, then the reciprocal, then the number itself leaves the range of the dtype.
    skip = torch.full((1, o), torch.finfo(dtype).tiny ** exponent, dtype=dtype)
    first = torch.full((1, 1), 10.0, dtype=dtype)
    groups = torch.zeros(1, dtype=torch.long) if grouped else None
    answer, bounded = hier_prox(skip, first, lambda_=0.0, M=1.0, groups=groups)
    # v is nothing next to u: minimise ½β² + ½(10 − β)².
    np.testing.assert_allclose(answer.double().norm(), 5.0, rtol=1e-5)
    np.testing.assert_allclose(bounded.double(), 5.0, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("M", [0.0, 1.0])
@pytest.mark.parametrize("exponent", [0.2, 0.4, 0.45, 0.9])
def test_tiny_feasible_weights_do_not_change_whatever_their_sign(exponent: float, M: float, dtype: torch.dtype) -> None:
    skip = torch.tensor([[1.0], [-1.0]], dtype=dtype) * torch.finfo(dtype).tiny ** exponent
    answer, _ = hier_prox(skip, torch.zeros(2, 3, dtype=dtype), lambda_=0.0, M=M)
    assert torch.equal(answer, skip)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_M_whose_square_overflows_leaves_first_free(dtype: torch.dtype) -> None:
    M = 2 * torch.finfo(dtype).max ** 0.5
    skip, first = torch.tensor([[3.0], [0.5], [0.0]], dtype=dtype), torch.tensor([[10.0], [0.0], [0.0]], dtype=dtype)
    answer, bounded = hier_prox(skip, first, lambda_=1.0, M=M)
    assert torch.equal(answer, torch.tensor([[2.0], [0.0], [0.0]], dtype=dtype))
    assert torch.equal(bounded, first)


# ---- errors ---------------------------------------------------------------------------------------------------------


def call(**changes: Any) -> None:
    arguments: dict[str, Any] = {"skip": torch.ones(3, 2), "first": torch.ones(3, 4), "lambda_": 0.5, "M": 1.0}
    hier_prox(**(arguments | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"skip": torch.ones(3)},
        {"skip": torch.ones(1, 2, 3, 2), "first": torch.ones(1, 2, 3, 4)},
        {"first": torch.ones(2, 4)},
        {"skip": torch.ones(5, 3, 2)},
        {"first": torch.ones(3, 4, dtype=torch.float64)},
        {"skip": torch.ones(3, 2, dtype=torch.long), "first": torch.ones(3, 4, dtype=torch.long)},
    ],
)
def test_weights_that_do_not_match_raise_and_name_skip_and_first(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="skip and first must"):
        call(**changes)


@pytest.mark.parametrize("parameter", ["lambda_", "M", "lambda_bar"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), torch.tensor([1.0, -1.0, 1.0])])
def test_a_negative_or_infinite_parameter_raises_and_is_named(parameter: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{parameter} must"):
        call(**{parameter: value})


@pytest.mark.parametrize("parameter", ["lambda_", "M", "lambda_bar"])
@pytest.mark.parametrize("shape", [(7,), (2, 3)])
def test_a_parameter_that_does_not_broadcast_raises_and_is_named(parameter: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=f"^{parameter} must"):
        call(**{parameter: torch.ones(shape)})


@pytest.mark.parametrize("parameter", ["lambda_", "M", "lambda_bar"])
def test_a_parameter_that_varies_within_a_group_raises_and_is_named(parameter: str) -> None:
    with pytest.raises(ValueError, match=f"^{parameter} must"):
        call(**{parameter: torch.tensor([1.0, 2.0, 3.0])}, groups=torch.tensor([0, 0, 1]))


@pytest.mark.parametrize("ids", [[0, 1], [0, 1, 2, 3], [[0, 1, 2]]])
def test_groups_of_the_wrong_length_raise_and_are_named(ids: list[object]) -> None:
    with pytest.raises(ValueError, match=r"^groups must"):
        call(groups=torch.tensor(ids))


# ---- one step size for every entry -----------------------------------------------------------------------------------


def weighted(v: Array, u: Array, a: Array, d: Array, lambda_: float, M: float, b: Array) -> Array:
    """Objective at b, (..., o), with the best first weights for it."""
    norm = np.linalg.norm(b, axis=-1)
    W = np.clip(u, -M * norm[..., None], M * norm[..., None])
    return (a * (v - b) ** 2).sum(-1) / 2 + (d * (u - W) ** 2).sum(-1) / 2 + lambda_ * norm


def per_feature(value: float, n: int) -> torch.Tensor:
    return torch.full((n,), value, dtype=torch.float64)


numbers = st.floats(-5, 5).map(lambda x: 0.0 if abs(x) < 1e-3 else x)
sizes = st.floats(0.05, 20.0) | st.sampled_from([0.2, 1.0])  # some of them equal


@law(150)
@given(
    st.integers(1, 3).flatmap(
        lambda o: st.tuples(arrays(float, o, elements=numbers), arrays(float, o, elements=sizes))
    ),
    st.integers(1, 4).flatmap(
        lambda K: st.tuples(arrays(float, K, elements=numbers), arrays(float, K, elements=sizes))
    ),
    st.floats(0, 5),
    st.sampled_from([0.0, 0.1, 1.0, 10.0]),
)
def test_with_a_step_for_every_entry_no_random_point_is_better(of_skip, of_first, lambda_, M):
    (v, skip_steps), (u, first_steps) = of_skip, of_first
    tensors = [torch.from_numpy(array)[None] for array in (v, u, skip_steps, first_steps)]
    b, W = prox_entries(tensors[0], tensors[1], (tensors[2], tensors[3]), per_feature(lambda_, 1), per_feature(M, 1))
    b, W = b[0].numpy(), W[0].numpy()
    bound = M * np.linalg.norm(b)
    assert (np.abs(W) <= bound * (1 + 1e-9) + 1e-12).all()
    a, d = 1 / skip_steps, 1 / first_steps
    found = weighted(v, u, a, d, lambda_, M, b)
    draw = np.random.default_rng(0)
    around = b + draw.standard_normal((400, len(v))) * 10 ** draw.uniform(-6, 0, (400, 1))
    anywhere = draw.standard_normal((400, len(v))) * 10 ** draw.uniform(-2, 1.3, (400, 1))
    others = np.vstack([around, anywhere, v[None], np.zeros((1, len(v)))])
    assert found <= weighted(v, u, a, d, lambda_, M, others).min() * (1 + 1e-9) + 1e-12


@law(100)
@given(
    arrays(float, (3, 2), elements=numbers),
    arrays(float, (3, 4), elements=numbers),
    sizes,
    st.floats(0, 5),
    st.floats(0, 10),
)
def test_with_one_step_for_all_entries_it_is_the_operator(skip, first, step, lambda_, M):
    v, u = torch.from_numpy(skip), torch.from_numpy(first)
    steps = torch.full_like(v, step), torch.full_like(u, step)
    found = prox_entries(v, u, steps, per_feature(lambda_, 3), per_feature(M, 3))
    expected = hier_prox(v, u, lambda_=step * lambda_, M=M)
    norms = [rows.norm(dim=-1) for rows in (found[0], expected[0])]  # where skip is zero, directions are free
    torch.testing.assert_close(norms[0], norms[1], atol=1e-9, rtol=1e-9)
    torch.testing.assert_close(found[1], expected[1], atol=1e-8, rtol=1e-9)
    given_ = (v != 0).any(-1)
    torch.testing.assert_close(found[0][given_], expected[0][given_], atol=1e-9, rtol=1e-9)
