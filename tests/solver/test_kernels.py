"""All forms of the update give the same result: the compiled one is compared with plain tensor operations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from riata.network.stacked import Weights
from riata.prox import hier_prox
from riata.solver.descent import Descent
from riata.solver.kernels import State, bind, plain
from riata.solver.kernels.constants import GROW, MOMENTUM, SHRINK, SHRINK_REVERTED, TINY
from riata.solver.solve import Solver
from tests.conftest import FORMS, start_descent

CPU = torch.device("cpu")
D = 7
GROUPS = np.array([2, 0, 1, 0, 2, 3, 2])  # neither in order nor contiguous
both_forms = pytest.mark.parametrize("form", FORMS)
outputs = pytest.mark.parametrize("o", [1, 3])
grouping = pytest.mark.parametrize("grouped", [False, True], ids=["features", "groups"])


@dataclass(frozen=True)
class Case:
    """A small problem, and where on it to start."""

    o: int = 2
    grouped: bool = False
    R: int = 3
    gamma: float = 0.0
    batch_size: int | None = None
    dtype: torch.dtype = torch.float64
    hidden: tuple[int, ...] = (6, 4)
    learning_rate: float = 1e-2
    out: tuple[int, ...] = ()  # features inactive in the last replica

    def descent(self, make_problem) -> Descent:
        """Return a descent at its start; two calls return equal descents that share no memory."""
        rng = np.random.default_rng(0)
        costs = np.array([1.0, 2.0, 0.0, 2.0, 1.0, 0.5, 1.0])  # the same within each group
        problem = make_problem(
            rng.normal(size=(40, D)),
            rng.normal(size=(40, self.o)),
            weights=rng.uniform(size=(self.R, 40)),
            M=[10.0] if self.R == 1 else [0.0, 1.0, 10.0],
            hidden=self.hidden,
            groups=GROUPS if self.grouped else None,
            costs=costs,
            dtype=self.dtype,
            gamma=self.gamma,
        )
        start = problem.network.init(D, list(range(self.R)), self.dtype, CPU)
        active = torch.ones(self.R, D, dtype=torch.bool)
        active[-1, list(self.out)] = False
        start.rows[~active] = 0
        descent = Descent(problem, self.learning_rate, self.batch_size, torch.Generator().manual_seed(0))
        start_descent(descent, Solver(problem).feasible(start), [100.0] if self.R == 1 else [0.0, 0.5, 100.0], active)
        return descent

    def pair(self, make_problem) -> tuple[Descent, Descent]:
        """One descent with the compiled update, one with the plain one."""
        compiled, by_hand = self.descent(make_problem), self.descent(make_problem)
        by_hand._update = partial(plain.update, by_hand.state)
        return compiled, by_hand


def numbers(state: State) -> dict[str, torch.Tensor]:
    """Everything that an update changes."""
    places = {"now": state.now, "last": state.last}
    return {
        **{f"features {name}": place.weights.rows for name, place in places.items()},
        **{f"upper {name}": place.weights.upper for name, place in places.items()},
        **{f"norms {name}": place.norms for name, place in places.items()},
        "moments of features": state.moments.rows,
        "moments of upper": state.moments.upper,
        "scale": state.scale,
        "objective": state.last_objective,
    }


def copied(state: State) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in numbers(state).items()}


def assert_same(one: State, other: State, tolerance: float) -> None:
    """Compare replica by replica, relative to the largest number of each kind."""
    assert one.turn == other.turn
    assert torch.equal(one.restarted, other.restarted)
    theirs = numbers(other)
    for name, mine in numbers(one).items():
        assert mine.isfinite().all() or name == "objective", name
        for r, (a, b) in enumerate(zip(mine, theirs[name], strict=True)):
            size = float(b.abs().max())
            torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance * size, msg=lambda m: f"{name}, {r}: {m}")  # noqa: B023
        zero = "features" in name or "norms" in name
        assert not zero or torch.equal(mine == 0, theirs[name] == 0), name


# ---- many updates ---------------------------------------------------------------------------------------------------


@outputs
@grouping
@pytest.mark.parametrize("R", [1, 3])
@pytest.mark.parametrize("gamma", [0.0, 0.1])
@pytest.mark.parametrize("batch_size", [None, 15], ids=["full", "batches"])
def test_many_compiled_updates_equal_as_many_plain_ones(make_problem, o, grouped, R, gamma, batch_size):
    compiled, by_hand = Case(o, grouped, R, gamma, batch_size).pair(make_problem)
    start, dropped = compiled.state.now.weights.rows.clone(), False
    for _ in range(5):
        for descent in (compiled, by_hand):
            descent.run(10 if batch_size is None else 3)  # three batches each
        assert_same(compiled.state, by_hand.state, 1e-10)
        dropped = dropped or bool((compiled.state.now.norms == 0).any())
    assert dropped
    assert (compiled.state.now.weights.rows - start).abs().max() > 0.01


@outputs
@grouping
@pytest.mark.parametrize("gamma", [0.0, 0.1])
@pytest.mark.parametrize("batch_size", [None, 15], ids=["full", "batches"])
def test_a_few_compiled_updates_in_single_precision_equal_as_many_plain_ones(
    make_problem, o, grouped, gamma, batch_size
):
    compiled, by_hand = Case(o, grouped, 3, gamma, batch_size, torch.float32).pair(make_problem)
    for _ in range(6 if batch_size is None else 2):  # three batches each
        for descent in (compiled, by_hand):
            descent.run(1)
        assert_same(compiled.state, by_hand.state, 1e-5)


@grouping
@pytest.mark.parametrize("hidden", [(1,), (9,), (5, 4, 3)], ids=str)
@pytest.mark.parametrize("learning_rate", [1e-4, 1e-1, 3.0])
def test_the_forms_agree_for_any_depth_and_for_steps_too_short_and_too_long(
    make_problem, grouped, hidden, learning_rate
):
    compiled, by_hand = Case(2, grouped, gamma=0.1, hidden=hidden, learning_rate=learning_rate).pair(make_problem)
    for _ in range(20):
        for descent in (compiled, by_hand):
            descent.run(1)
        assert_same(compiled.state, by_hand.state, 1e-10)


def same(mine: torch.Tensor, other: torch.Tensor, form) -> bool:
    """Compare bits or, in plain tensors, up to rounding: there all replicas take as many Newton steps as the slowest."""
    if form is bind or not mine.is_floating_point():
        return torch.equal(mine, other)
    slack = 64 * torch.finfo(mine.dtype).eps
    return torch.allclose(mine, other, rtol=slack, atol=slack)


@both_forms
@grouping
@pytest.mark.parametrize("batch_size", [None, 15], ids=["full", "batches"])
def test_a_replica_that_is_not_live_keeps_every_number_and_the_others_change(make_problem, form, grouped, batch_size):
    case = Case(2, grouped, gamma=0.1, batch_size=batch_size)
    descent, alone = case.descent(make_problem), case.descent(make_problem)
    descent._update, alone._update = form(descent.state), form(alone.state)
    for each in (descent, alone):
        each.run(3)
    descent.state.live[1] = False
    here, restarted = copied(descent.state), descent.state.restarted.clone()
    descent.run(7)
    alone.run(7)
    after, free = numbers(descent.state), numbers(alone.state)
    for name in after:
        expected = here[name.replace("last", "now")][1]  # both iterates are then the same
        assert torch.equal(after[name][1], expected), name
        assert same(after[name][::2], free[name][::2], form), name
    assert descent.state.restarted[1] == restarted[1]
    assert not torch.equal(after["features now"][0], here["features now"][0])


@grouping
@pytest.mark.parametrize("live", [(True, False, True), (False, True, False), (False, False, False)], ids=str)
@pytest.mark.parametrize("batch_size", [None, 15], ids=["full", "batches"])
def test_the_forms_agree_when_not_all_replicas_are_live(make_problem, grouped, live, batch_size):
    compiled, by_hand = Case(2, grouped, gamma=0.1, batch_size=batch_size).pair(make_problem)
    for descent in (compiled, by_hand):
        descent.run(3)
        descent.state.live.copy_(torch.tensor(live))
    for _ in range(20):
        for descent in (compiled, by_hand):
            descent.run(1)
        assert_same(compiled.state, by_hand.state, 1e-10)


@both_forms
def test_a_replica_that_has_stopped_stays_finite_however_long_the_others_run(make_problem, form):
    descent = Case(dtype=torch.float32, hidden=(2,)).descent(make_problem)
    descent._update = form(descent.state)
    descent.run(3)
    descent.state.live[0] = False
    here = copied(descent.state)
    descent.run(2000)  # 1.05 to this power is not a number of single precision
    for name, value in numbers(descent.state).items():
        assert torch.equal(value[0], here[name.replace("last", "now")][0]), name
        assert value.isfinite().all(), name


@both_forms
@pytest.mark.parametrize("grouped", [False, True], ids=["features", "groups"])
@pytest.mark.parametrize("batch_size", [None, 15], ids=["full", "batches"])
def test_an_inactive_feature_stays_at_zero_and_the_others_change_as_if_it_were_not_there(
    make_problem, form, grouped, batch_size
):
    out = (1, 3, 5)  # whole groups
    whole = Case(2, grouped, R=1, batch_size=batch_size, out=out).descent(make_problem)
    keep = torch.tensor([j for j in range(D) if j not in out])
    narrow = Descent(whole.problem.only(keep), 1e-2, batch_size, torch.Generator().manual_seed(0))
    start_descent(narrow, Weights(whole.state.now.weights.rows[:, keep], whole.state.now.weights.upper), 100.0)
    for descent in (whole, narrow):
        descent._update = form(descent.state)
        descent.run(20)
    assert (whole.state.now.weights.rows[:, list(out)] == 0).all()
    assert (whole.state.moments.rows[:, list(out)] == 0).all()
    torch.testing.assert_close(whole.state.now.weights.rows[:, keep], narrow.state.now.weights.rows, rtol=1e-10, atol=0)
    torch.testing.assert_close(whole.state.now.weights.upper, narrow.state.now.weights.upper, rtol=1e-10, atol=1e-12)


@outputs
@grouping
@pytest.mark.parametrize("R", [1, 3])
@pytest.mark.parametrize("batch_size", [None, 15], ids=["full", "batches"])
def test_the_forms_agree_when_features_are_inactive(make_problem, o, grouped, R, batch_size):
    case = Case(o, grouped, R, 0.1, batch_size, out=(1, 3, 5))
    compiled, by_hand = case.pair(make_problem)
    for _ in range(20):
        for descent in (compiled, by_hand):
            descent.run(1)
        assert_same(compiled.state, by_hand.state, 1e-10)


# ---- the size of the steps ------------------------------------------------------------------------------------------


def rising(make_problem, form, grouped: bool) -> tuple[Descent, torch.Tensor]:
    """Three replicas after four updates, the last objective set so that it rose by a fifth, rose by a hundredth, and fell."""
    descent = Case(2, grouped, gamma=0.1).descent(make_problem)
    descent._update = form(descent.state)
    descent.run(4)
    objective = torch.tensor(descent.evaluate()[0].objective)
    descent.state.last_objective.copy_(objective / torch.tensor([1.2, 1.01, 0.99]))
    return descent, objective


@both_forms
@grouping
def test_a_fall_lengthens_the_steps_a_rise_halves_them_and_a_rise_by_a_tenth_is_reverted(make_problem, form, grouped):
    descent, objective = rising(make_problem, form, grouped)
    state = descent.state
    before, restarted = copied(state), state.restarted.clone()
    assert not restarted.any()
    descent.run(1)
    after = numbers(state)
    np.testing.assert_allclose(after["scale"] / before["scale"], [SHRINK_REVERTED, SHRINK, GROW], rtol=1e-14)
    np.testing.assert_allclose(after["objective"], [before["objective"][0], *objective[1:]], rtol=1e-12)
    assert state.restarted.tolist() == [True, False, False]
    for name in ("features", "upper", "norms"):
        assert torch.equal(after[f"{name} now"][0], before[f"{name} last"][0])
        assert not torch.equal(after[f"{name} now"][1:], before[f"{name} now"][1:])
    for name in ("moments of features", "moments of upper"):
        assert torch.equal(after[name][0], before[name][0])  # that gradient belongs to the rejected iterate


@grouping
def test_the_forms_agree_after_falls_rises_and_reverted_steps(make_problem, grouped):
    descents = [rising(make_problem, form.values[0], grouped)[0] for form in FORMS]
    for i in range(20):
        for descent in descents:
            descent.run(1)
            if i % 5 == 4:
                ratio = 1 + 0.3 * torch.tensor([i % 2, 0.02, (i + 1) % 2], dtype=torch.float64)
                descent.state.last_objective.copy_(torch.tensor(descent.evaluate()[0].objective) / ratio)
        assert_same(descents[0].state, descents[1].state, 1e-10)


@both_forms
def test_a_step_after_a_rise_is_without_momentum(make_problem, form):
    descent, _ = rising(make_problem, form, False)
    other, _ = rising(make_problem, form, False)
    for iterate, name in ((other.state.last, "rows"), (other.state.last, "upper")):
        getattr(iterate.weights, name)[1:].add_(1.0)  # another last step
    for each in (descent, other):
        each.run(1)
    for mine, theirs in zip(descent.state.now.weights, other.state.now.weights, strict=True):
        assert torch.equal(mine[1], theirs[1])  # it rose
        assert not torch.allclose(mine[2], theirs[2])  # it fell


@both_forms
@grouping
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_a_loss_that_is_not_a_number_is_reverted_and_changes_no_weight(make_problem, form, grouped, dtype):
    case = Case(2, grouped, gamma=0.1, dtype=dtype)
    spoilt, sound = case.descent(make_problem), case.descent(make_problem)
    advance = form(spoilt.state)
    sound._update = form(sound.state)

    def spoil():
        state = spoilt.state
        for tensor in (state.loss, *state.gradient):
            tensor[1] = torch.nan
        advance()

    spoilt._update = advance
    for descent in (spoilt, sound):
        descent.run(4)
    spoilt._update = spoil
    before = copied(spoilt.state)
    spoilt.run(1)
    for name in ("features", "upper", "norms"):
        assert torch.equal(numbers(spoilt.state)[f"{name} now"][1], before[f"{name} last"][1])
    spoilt.run(6)
    sound.run(7)
    after, others = numbers(spoilt.state), numbers(sound.state)
    for name, value in after.items():
        assert value.isfinite().all(), name
        assert same(value[::2], others[name][::2], form), name
    spoilt._update = advance
    spoilt.run(20)
    assert (spoilt.evaluate()[0].objective < before["objective"].numpy()).all()


@both_forms
def test_data_that_are_not_numbers_change_no_weight(make_problem, form):
    descent = Case().descent(make_problem)
    descent._update = form(descent.state)
    start = copied(descent.state)
    descent.problem.target[3] = torch.nan
    descent.set_weights(Weights(start["features now"], start["upper now"]))
    descent.run(10)
    for name in ("features", "upper", "norms"):
        assert torch.equal(numbers(descent.state)[f"{name} now"], start[f"{name} now"])


@both_forms
def test_an_iterate_that_is_not_finite_leaves_no_trace_once_it_is_reverted(make_problem, form):
    descent = Case().descent(make_problem)
    descent._update = form(descent.state)
    descent.run(4)
    for weights in descent.state.now.weights:
        weights[1] = torch.nan
    descent.state.loss[1] = torch.nan
    descent.run(1)
    for _ in range(5):
        descent.run(1)
        assert all(weights.isfinite().all() for weights in descent.state.now.weights)


@both_forms
def test_steps_that_lead_out_of_range_are_shortened_until_the_objective_falls(make_problem, form):
    descent = Case(learning_rate=1e100).descent(make_problem)  # the product of three layers overflows
    descent._update = form(descent.state)
    first = descent.evaluate()[0].objective
    descent.run(1000)
    assert (descent.state.last_objective.numpy() < first).all()
    assert all(weights.isfinite().all() for weights in descent.state.now.weights)


# ---- the operator, through one update without a gradient ------------------------------------------------------------

UNIT = TINY / (1 - MOMENTUM)  # the learning rate at which a step without a gradient has size 1

# A few round numbers, so that ties between entries and between a norm and λ are common.
ROUND = st.sampled_from([0.0, 0.5, 1.0, -1.0, 2.0, -3.0, 4.0])
ENTRY = ROUND | st.floats(1, 1 + 2**-7, width=32) | st.floats(-100, 100, width=32).filter(lambda x: x == 0 or x > 1e-9)


@dataclass(frozen=True)
class Call:
    """One application of the operator."""

    skip: np.ndarray  # (R, d, o)
    first: np.ndarray  # (R, d, K)
    lambda_: np.ndarray  # (R,)
    M: np.ndarray  # (R,)
    groups: np.ndarray | None = None
    guess: np.ndarray | None = None  # (R,) relative to the norms

    def through_update(self, make_problem, form, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Apply one update to these weights, with λ for each group: new skip, first and norms."""
        R, d, o = self.skip.shape
        X, target, weights = np.zeros((2, d)), np.zeros((2, o)), np.ones((R, 2))
        hidden, M = (self.first.shape[-1],), list(self.M)
        problem = make_problem(X, target, weights=weights, M=M, hidden=hidden, groups=self.groups, dtype=dtype)
        descent = Descent(problem, UNIT, batch_size=2)
        rows = torch.tensor(np.concatenate([self.skip, self.first], -1), dtype=dtype)
        upper = torch.zeros(R, problem.network.n_upper, dtype=dtype)
        start_descent(descent, Weights(rows, upper), torch.tensor(self.lambda_, dtype=dtype))
        if self.guess is not None:
            descent.state.now.norms.mul_(torch.tensor(self.guess, dtype=dtype).unsqueeze(-1))
        form(descent.state)()
        new = descent.state.now
        return problem.skip(new.weights.rows), problem.first(new.weights.rows), new.norms

    def directly(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Apply the operator itself, in double precision."""
        groups = None if self.groups is None else torch.tensor(self.groups)
        lambda_, M = (torch.tensor(a).unsqueeze(-1) for a in (self.lambda_, self.M))
        return hier_prox(torch.tensor(self.skip), torch.tensor(self.first), lambda_=lambda_, M=M, groups=groups)

    @property
    def size(self) -> float:
        """The largest number in the arithmetic."""
        guess = 0.0 if self.guess is None else float(self.guess.max())
        norm = np.sqrt((self.skip**2).sum())
        return float(norm * (1 + guess) + np.sqrt((self.first**2).sum()) + self.lambda_.max())


@st.composite
def calls(draw: st.DrawFn) -> Call:
    """Any weights: zero ones, tied ones, one entry to a few dozen, in groups or not, and any guess at the norms."""
    R, d, o, k = (draw(st.integers(1, n)) for n in (2, 4, 3, 6))
    groups = draw(st.none() | arrays(np.int64, d, elements=st.integers(-1, 2)))
    skip, first = (draw(arrays(float, (R, d, width), elements=ENTRY)) for width in (o, k))
    skip, first = (rows * draw(arrays(bool, (R, d, 1), elements=st.booleans())) for rows in (skip, first))
    lambda_ = draw(arrays(float, R, elements=st.sampled_from([0.0, 0.5, 1.0, 5.0]) | st.floats(0, 100, width=32)))
    M = draw(arrays(float, R, elements=st.sampled_from([0.0, 1.0, 10.0]) | st.floats(2**-10, 2**10, width=32)))
    guess = draw(st.none() | arrays(float, R, elements=st.sampled_from([0.0, 0.5, 1.0, 3.0, 1000.0])))
    return Call(skip, first, lambda_, M, groups, guess)


@both_forms
@pytest.mark.parametrize(("dtype", "slack"), [(torch.float64, 1e-12), (torch.float32, 1e-5)], ids=str)
@given(call=calls())
@settings(max_examples=300, derandomize=True, deadline=None, database=None)
def test_an_update_without_a_gradient_is_the_operator_whatever_the_guess(make_problem, form, dtype, slack, call):
    skip, first, norms = call.through_update(make_problem, form, dtype)
    for mine, exact in zip((skip, first), call.directly(), strict=True):
        # A sum over up to 36 entries, with λ and the guess among them.
        np.testing.assert_allclose(mine.double(), exact, rtol=0, atol=slack * call.size)
    ids = np.arange(skip.shape[1]) if call.groups is None else np.unique(call.groups, return_inverse=True)[1]
    squares = skip.double().square().sum(-1) @ torch.eye(norms.shape[-1], dtype=torch.float64)[ids]
    np.testing.assert_allclose(norms.double(), squares.sqrt(), rtol=16 * torch.finfo(dtype).eps, atol=0)
    bound = call.M[:, None] * norms.double().numpy()[:, ids]
    assert (first.double().abs().amax(-1).numpy() <= bound * (1 + 4 * torch.finfo(dtype).eps)).all()


@both_forms
@pytest.mark.parametrize("lambda_", [0.0, 1.0])
@pytest.mark.parametrize("M", [0.0, 1.0, 1e6])
def test_zero_weights_stay_zero(make_problem, form, lambda_, M):
    call = Call(np.zeros((1, 3, 2)), np.zeros((1, 3, 4)), np.array([lambda_]), np.array([M]), np.array([0, 1, 0]))
    for answer in call.through_update(make_problem, form, torch.float64):
        assert (answer == 0).all()


@both_forms
def test_a_zero_group_brought_in_by_first_takes_the_first_output_of_its_first_feature(make_problem, form):
    groups = np.array([1, 0, 1, 0])
    call = Call(np.zeros((1, 4, 2)), np.ones((1, 4, 3)), np.array([1.0]), np.array([1.0]), groups)
    skip, _, _ = call.through_update(make_problem, form, torch.float64)
    assert skip[0].bool().tolist() == [[True, False], [True, False], [False, False], [False, False]]
    assert (skip >= 0).all()


@both_forms
@grouping
@outputs
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("exponent", [0.2, 0.5, 0.55, 0.9, 1.0, 1.02])
def test_vanishing_skip_weights_get_the_right_norm_and_never_nan(make_problem, form, exponent, o, grouped, dtype):
    # From small to where the square, then the reciprocal, then the number itself leaves the range of the dtype.
    skip = np.full((1, 1, o), torch.finfo(dtype).tiny ** exponent)
    groups = np.zeros(1, dtype=int) if grouped else None
    call = Call(skip, np.full((1, 1, 1), 10.0), np.zeros(1), np.ones(1), groups)
    answer, bounded, norms = call.through_update(make_problem, form, dtype)
    # v is nothing next to u: minimise ½β² + ½(10 − β)².
    np.testing.assert_allclose(answer.double().norm(), 5.0, rtol=1e-5)
    np.testing.assert_allclose(bounded.double(), 5.0, rtol=1e-5)
    np.testing.assert_allclose(norms.double(), 5.0, rtol=1e-5)


@both_forms
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("M", [0.0, 1.0])
@pytest.mark.parametrize("exponent", [0.2, 0.4, 0.45, 0.9])
def test_tiny_feasible_weights_do_not_change_whatever_their_sign(make_problem, form, exponent, M, dtype):
    skip = np.array([[[1.0], [-1.0]]]) * torch.finfo(dtype).tiny ** exponent
    call = Call(skip, np.zeros((1, 2, 3)), np.zeros(1), np.array([M]))
    answer, _, norms = call.through_update(make_problem, form, dtype)
    assert torch.equal(answer, torch.tensor(skip, dtype=dtype))
    assert torch.equal(norms, answer.abs().squeeze(-1))


@both_forms
@pytest.mark.parametrize("n", [2, 5])
def test_ties_share_the_bound(make_problem, form, n):
    """With n entries at 2, v = 1, λ = 1/2 and M = 1: β − 1/2 = n (2 − β)."""
    call = Call(np.ones((1, 1, 1)), np.full((1, 1, n), -2.0), np.array([0.5]), np.ones(1))
    skip, first, _ = call.through_update(make_problem, form, torch.float64)
    beta = (0.5 + 2 * n) / (1 + n)
    np.testing.assert_allclose(skip, beta, rtol=1e-12)
    np.testing.assert_allclose(first, -beta, rtol=1e-12)


@both_forms
def test_a_norm_at_the_threshold_exactly_becomes_zero(make_problem, form):
    call = Call(np.array([[[3.0, 4.0]]]), np.zeros((1, 1, 2)), np.array([5.0]), np.array([10.0]))
    for dtype in (torch.float32, torch.float64):
        skip, first, norms = call.through_update(make_problem, form, dtype)
        assert (first == 0).all()
        assert (norms <= 5 * torch.finfo(dtype).eps).all()
        assert (skip.norm() <= 5 * torch.finfo(dtype).eps).all()


def test_the_forms_at_hand_are_two_different_ones(make_problem):
    state = Case().descent(make_problem).state
    assert not isinstance(bind(state), partial)
    assert isinstance(FORMS[1].values[0](state), partial)
