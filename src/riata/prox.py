"""The hierarchical proximal operator: pure tensors in, tensors out.

For one feature with skip row ``v`` and first-layer row ``u`` the operator solves

    minimise  ½‖v − b‖² + ½‖u − W‖² + λ‖b‖₂ + λ̄‖W‖₁   subject to  ‖W‖∞ ≤ M‖b‖₂.

Everything follows from the single number β = ‖b‖₂, the root of

    χ(β) = β − (‖v‖ − λ) − M · Σ_k max(S_λ̄(|u_k|) − Mβ, 0),

which is increasing, concave and piecewise linear. Newton's method started to the left of the root therefore climbs to it
without overshooting and ends after finitely many passes over the row: no sorting, no division by M.

With a step size of its own for every entry, as optimizers such as Adam have, squares are weighted by a_i = 1 / step of v_i and
d_k = 1 / step of u_k. Of λ there is then left

    ρ(β) = λ − M · Σ_k d_k max(S_{λ̄/d_k}(|u_k|) − Mβ, 0),

b_i is a_i v_i β / z_i with z_i = a_i β + ρ(β), and β is the root of a power mean of the z_i, less one:

    ψ(β) = (Σ_i (a_i v_i)² / z_i²)^(−1/2) − 1,

which is increasing and concave as well, since the z_i are and the mean is concave in them.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["Groups", "hier_prox", "prox_entries", "prox_rows"]


_NEWTON = 100  # steps at most; a handful is usual
_SHORT = 1e-5  # share of β² that is missing where an entry of zero has to make up for it; less is rounding


class Groups:
    """Which rows form one unit that enters and leaves together.

    ``Groups(None, d)`` is the trivial case of one row per unit, where reducing and spreading are the identity.
    """

    def __init__(self, ids: Tensor | None, n_rows: int):
        self.index: Tensor | None = None
        self.n_groups = n_rows
        if ids is not None:
            labels, self.index = torch.unique(ids, return_inverse=True)
            self.n_groups = len(labels)
            order = torch.arange(n_rows, device=ids.device)
            first = torch.full((self.n_groups,), n_rows, device=ids.device)
            self.leader = first.scatter_reduce(0, self.index, order, "amin")  # (G,) the first row of each group
            self.sizes = torch.bincount(self.index)  # (G,)

    def only(self, rows: Tensor) -> Groups:
        """The same units on some of the rows, given by position; units must stay whole."""
        return Groups(None if self.index is None else self.index[rows], len(rows))

    def sum(self, per_row: Tensor) -> Tensor:
        """Add up over the rows of each group: (..., d) -> (..., G)."""
        if self.index is None:
            return per_row
        zeros = per_row.new_zeros(*per_row.shape[:-1], self.n_groups)
        return zeros.index_add(-1, self.index, per_row)

    def mean(self, per_row: Tensor) -> Tensor:
        """Average over the rows of each group: (..., d) -> (..., G)."""
        return per_row if self.index is None else self.sum(per_row) / self.sizes

    def scatter(self, per_group: Tensor) -> Tensor:
        """Give each row its group's value: (..., G) -> (..., d)."""
        return per_group if self.index is None else per_group[..., self.index]

    def gather(self, per_row: Tensor) -> Tensor:
        """Take the value of each group's first row: (..., d) -> (..., G)."""
        return per_row if self.index is None else per_row[..., self.leader]

    def norm(self, rows: Tensor) -> Tensor:
        """Euclidean norm of the stacked rows of each group: (..., d, o) -> (..., G)."""
        norm = rows.squeeze(-1).abs() if rows.shape[-1] == 1 else torch.linalg.vector_norm(rows, dim=-1)
        return norm if self.index is None else self.sum(norm.square()).sqrt()


def prox_rows(
    skip: Tensor,
    first: Tensor,
    threshold: Tensor,
    M: Tensor,
    groups: Groups,
    lambda_bar: Tensor | None = None,
    guess: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Apply the operator to checked input; ``threshold``, ``M`` and ``lambda_bar`` are one number per group, (..., G).

    Also returns β, which is a good ``guess`` for the next call when the rows change little in between.
    """
    size = first.abs()  # (..., d, K)
    if lambda_bar is not None:
        size = (size - groups.scatter(lambda_bar).unsqueeze(-1)).clamp_min(0)
    norm = groups.norm(skip)  # (..., G)
    beta = _root(size, norm - threshold, M, groups, guess)
    bound = groups.scatter(M * beta).unsqueeze(-1)
    return _with_norm(skip, norm, beta, groups), torch.copysign(torch.minimum(size, bound), first), beta


def _root(size: Tensor, excess: Tensor, M: Tensor, groups: Groups, guess: Tensor | None) -> Tensor:
    """Find β by Newton's method; a guess to the right of the root is taken to its left by the first step.

    From there β only rises and ever fewer entries exceed the bound; when their number stays the same, β is the root.
    """
    beta = excess.clamp_min(0) if guess is None else guess
    one, M2 = torch.ones_like(M), M * M
    before: Tensor | None = None
    while True:
        bound = groups.scatter(M * beta).unsqueeze(-1)
        over = (size - bound).relu_()  # float arithmetic throughout: masks are several times slower
        total = groups.sum(over.sum(-1))
        count = groups.sum(over.sign_().sum(-1))
        new = beta + torch.addcmul(excess - beta, M, total) / torch.addcmul(one, M2, count)
        jump = before is None and guess is not None  # later on rounding must not send it back and forth
        beta = new.clamp_min_(0) if jump else torch.maximum(new, beta)
        if before is not None and torch.equal(count, before):
            return beta
        before = count


def _with_norm(skip: Tensor, norm: Tensor, beta: Tensor, groups: Groups) -> Tensor:
    """Rescale the skip rows to norm ``beta``; where the norm is lost to zero every direction will do and we take the first."""
    tiny = torch.finfo(norm.dtype).tiny ** 0.5  # squares of smaller numbers are not to be trusted
    if not bool((norm < tiny).any()):
        return skip * groups.scatter(beta / norm).unsqueeze(-1)
    lost = (norm < tiny) & (beta > norm)
    scaled = skip * groups.scatter(beta / norm.masked_fill(lost | (norm == 0), 1)).unsqueeze(-1)
    leaders = torch.arange(skip.shape[-2], device=skip.device) if groups.index is None else groups.leader
    scaled[..., leaders, 0] = torch.where(lost, beta, scaled[..., leaders, 0])
    return scaled


def prox_entries(
    skip: Tensor,
    first: Tensor,
    steps: tuple[Tensor, Tensor],
    lambda_: Tensor,
    M: Tensor,
    lambda_bar: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Apply the operator where every entry has a step size of its own; ``lambda_`` and ``M`` are one number per row.

    ``steps`` have the shapes of ``skip`` and ``first``. λ is meant before any step size.
    """
    a, d = steps[0].reciprocal(), steps[1].reciprocal()
    size = first.abs()
    if lambda_bar is not None:
        size = (size - lambda_bar.unsqueeze(-1) * steps[1]).clamp_min(0)
    row = _Row(a, d, a * skip, size, lambda_, M)
    beta = row.root()
    bound = (M * beta).unsqueeze(-1)
    return row.skip(beta), torch.copysign(torch.minimum(size, bound), first)


class _Row:
    """One row per feature, with weights a and d of the squares; c = a v."""

    def __init__(self, a: Tensor, d: Tensor, c: Tensor, size: Tensor, lambda_: Tensor, M: Tensor):
        self.a, self.d, self.c, self.size, self.lambda_, self.M = a, d, c, size, lambda_, M
        self.least = a.amin(-1)
        # The entry that comes to its limit first; of several the one with most to lose.
        self.flattest = torch.where(a == self.least.unsqueeze(-1), c.abs(), -1.0).argmax(-1)

    def root(self) -> Tensor:
        """Find β: from below, where each entry by itself, and all if they were as steep as the steepest, would have it."""
        beta = self._climb(self.a.amax(-1), torch.linalg.vector_norm(self.c, dim=-1), torch.zeros_like(self.M))
        if self.a.shape[-1] == 1:
            return beta
        beta = self._climb(self.least, self.c.abs().gather(-1, self.flattest.unsqueeze(-1)).squeeze(-1), beta)
        for _ in range(_NEWTON):
            rho, slope = self._left(beta)
            z = (self.a * beta.unsqueeze(-1) + rho.unsqueeze(-1)).clamp_min(torch.finfo(beta.dtype).tiny)
            ratio = (self.c / z).square()
            total = ratio.sum(-1)
            pull = (ratio / z * (self.a + slope.unsqueeze(-1))).sum(-1)
            new = beta + (total - total.sqrt()) * total.sqrt() / pull  # −ψ / ψ′
            new = torch.where(new > beta, new, beta)  # also where there is nothing to divide by
            done = new - beta <= 2 * torch.finfo(beta.dtype).eps * new
            beta = new
            if bool(done.all()):
                break
        return beta

    def skip(self, beta: Tensor) -> Tensor:
        """Return b of norm β; an entry of zero at its limit takes what the others leave."""
        rho, _ = self._left(beta)
        z = self.a * beta.unsqueeze(-1) + rho.unsqueeze(-1)
        tiny = torch.finfo(z.dtype).tiny
        b = self.c * beta.unsqueeze(-1) / z.clamp_min(tiny)
        at = self.flattest.unsqueeze(-1)
        others = b.scatter(-1, at, 0.0)
        rest = beta.square() - others.square().sum(-1)
        lost = (self.c.abs().gather(-1, at).squeeze(-1) < tiny**0.5) & (rest > _SHORT * beta.square())
        if bool(lost.any()):
            b = torch.where(lost.unsqueeze(-1), others.scatter(-1, at, rest.clamp_min(0).sqrt().unsqueeze(-1)), b)
        return b

    def _left(self, beta: Tensor) -> tuple[Tensor, Tensor]:
        """Return what is left of λ at β, ρ, and its slope."""
        over = self.size - (self.M * beta).unsqueeze(-1)
        total = (self.d * over.clamp_min(0)).sum(-1)
        return self.lambda_ - self.M * total, self.M.square() * (self.d * (over > 0)).sum(-1)

    def _climb(self, a: Tensor, level: Tensor, beta: Tensor) -> Tensor:
        """Find where aβ + ρ(β) reaches a level, from the left or from beyond it."""
        for _ in range(_NEWTON):
            rho, slope = self._left(beta)
            new = torch.maximum(beta, beta + (level - a * beta - rho) / (a + slope))
            done = new - beta <= 2 * torch.finfo(beta.dtype).eps * new
            beta = new
            if bool(done.all()):
                break
        return beta


def hier_prox(
    skip: Tensor,
    first: Tensor,
    *,
    lambda_: float | Tensor,
    M: float | Tensor,
    lambda_bar: float | Tensor = 0.0,
    groups: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    r"""Hierarchical proximal operator, for every feature at once.

    For each feature (each group of features, stacked) it returns the global minimiser :math:`(b, W)` of

    .. math::
        \tfrac12\|v-b\|^2 + \tfrac12\|u-W\|^2 + \lambda\|b\|_2 + \bar\lambda\|W\|_1
        \quad\text{subject to}\quad \|W\|_\infty \le M\|b\|_2 .

    Parameters
    ----------
    skip : Tensor of shape (d, o) or (R, d, o)
        One row per feature: its weights to the outputs. A leading axis holds replicas.
    first : Tensor of shape (d, K) or (R, d, K)
        One row per feature: its weights to the first hidden layer.
    lambda_, M, lambda_bar : float or Tensor
        Thresholds and the hierarchy coefficient, non-negative and finite; they broadcast against ``skip.shape[:-1]``
        (one number per replica has shape (R, 1)).
    groups : integer Tensor of shape (d,), optional
        Features with the same id enter and leave together. ``lambda_``, ``M`` and ``lambda_bar`` must not vary within a group.

    Returns
    -------
    skip, first : Tensor
        The minimiser, in the shapes and the dtype of the input.

    Notes
    -----
    Where ``skip`` is zero and ``first`` is large enough to bring the feature in, every direction of ``b`` is optimal; the
    first output is taken. With ``M = 0`` the operator is the (group) soft-threshold of ``skip`` and ``first`` is zero.

    Examples
    --------
    >>> import torch, riata
    >>> skip, first = torch.tensor([[1.0], [0.1]]), torch.tensor([[3.0, 0.2], [0.1, 0.0]])
    >>> skip, first = riata.hier_prox(skip, first, lambda_=0.5, M=1.0)
    >>> skip
    tensor([[1.7500],
            [0.0000]])
    >>> first
    tensor([[1.7500, 0.2000],
            [0.0000, 0.0000]])
    """
    if skip.ndim not in (2, 3) or skip.shape[:-1] != first.shape[:-1]:
        raise ValueError(
            "skip and first must be (d, o) and (d, K), or (R, d, o) and (R, d, K), with the same features; "
            f"got {tuple(skip.shape)} and {tuple(first.shape)}"
        )
    if skip.dtype != first.dtype or not skip.dtype.is_floating_point:
        raise ValueError(f"skip and first must share a floating-point dtype; got {skip.dtype} and {first.dtype}")
    if groups is not None and tuple(groups.shape) != (skip.shape[-2],):
        raise ValueError(f"groups must hold one id per feature, shape ({skip.shape[-2]},); got {tuple(groups.shape)}")
    unit = Groups(groups, skip.shape[-2])
    threshold, hierarchy = _per_group("lambda_", lambda_, skip, unit), _per_group("M", M, skip, unit)
    hierarchy = hierarchy.clamp_max(1e-6 * torch.finfo(skip.dtype).max ** 0.5)  # its square must not overflow
    return prox_rows(skip, first, threshold, hierarchy, unit, _per_group("lambda_bar", lambda_bar, skip, unit))[:2]


def _per_group(name: str, value: float | Tensor, skip: Tensor, groups: Groups) -> Tensor:
    number = torch.as_tensor(value, dtype=skip.dtype, device=skip.device)
    try:
        per_row = number.broadcast_to(skip.shape[:-1])
    except RuntimeError:
        raise ValueError(f"{name} must broadcast against {tuple(skip.shape[:-1])}; got {tuple(number.shape)}") from None
    if not bool((per_row.isfinite() & (per_row >= 0)).all()):
        raise ValueError(f"{name} must be finite and non-negative; got {value}")
    per_group = groups.gather(per_row)
    if not torch.equal(groups.scatter(per_group), per_row):
        raise ValueError(f"{name} must be the same for all features of a group")
    return per_group
