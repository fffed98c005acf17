"""The hierarchical proximal operator: pure tensors in, tensors out.

For one feature with skip weights ``v`` and first-layer weights ``u`` the operator solves

    minimise  ½‖v − b‖² + ½‖u − W‖² + λ‖b‖₂ + λ̄‖W‖₁   subject to  ‖W‖∞ ≤ M‖b‖₂.

Everything follows from the single number β = ‖b‖₂, the root of

    χ(β) = β − (‖v‖ − λ) − M · Σ_k max(S_λ̄(|u_k|) − Mβ, 0),

which is increasing, concave and piecewise linear. Newton's method started to the left of the root therefore climbs to it
without overshooting and ends after finitely many steps: no sorting, no division by M.

Where every entry has its own step size, as with optimizers such as Adam, and λ̄ = 0, squares are weighted by a_i = 1 / step of
v_i and d_k = 1 / step of u_k. With

    ρ(β) = λ − M · Σ_k d_k max(|u_k| − Mβ, 0)

b_i is a_i v_i β / z_i, where z_i = a_i β + ρ(β), and β is the root of a power mean of the z_i, less one:

    ψ(β) = (Σ_i (a_i v_i)² / z_i²)^(−1/2) − 1,

which is increasing and concave as well, since the z_i are and the mean is concave in them.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["Groups", "hier_prox", "prox_entries", "prox_rows"]

_NEWTON = 100  # steps at most; a handful is usual


class Groups:
    """Groups of features that enter and leave the model together.

    ``Groups(None, d)`` is the trivial case of one feature per group, where gather and scatter are the identity.
    """

    def __init__(self, ids: Tensor | None, n_features: int):
        self.index: Tensor | None = None
        self.n_groups = n_features
        if ids is not None:
            labels, self.index = torch.unique(ids, return_inverse=True)
            self.n_groups = len(labels)
            order = torch.arange(n_features, device=ids.device)
            beyond = torch.full((self.n_groups,), n_features, device=ids.device)
            self.first = beyond.scatter_reduce(0, self.index, order, "amin")  # (G,) the first feature of each group
            self.sizes = torch.bincount(self.index)  # (G,)

    def only(self, features: Tensor) -> Groups:
        """The same groups for some of the features, given by position; a group must be kept or left out as a whole."""
        return Groups(None if self.index is None else self.index[features], len(features))

    def sum(self, per_feature: Tensor) -> Tensor:
        """Add up over the features of each group: (..., d) -> (..., G)."""
        if self.index is None:
            return per_feature
        if per_feature.is_cuda:  # where index_add adds in an order that changes from one call to the next
            by_feature = per_feature.movedim(-1, 0)
            zeros = by_feature.new_zeros(self.n_groups, *by_feature.shape[1:])
            return zeros.index_put((self.index,), by_feature, accumulate=True).movedim(0, -1)
        zeros = per_feature.new_zeros(*per_feature.shape[:-1], self.n_groups)
        return zeros.index_add(-1, self.index, per_feature)

    def mean(self, per_feature: Tensor) -> Tensor:
        """Average over the features of each group: (..., d) -> (..., G)."""
        return per_feature if self.index is None else self.sum(per_feature) / self.sizes

    def scatter(self, per_group: Tensor) -> Tensor:
        """Give each feature its group's value: (..., G) -> (..., d)."""
        return per_group if self.index is None else per_group[..., self.index]

    def gather(self, per_feature: Tensor) -> Tensor:
        """Take the value of each group's first feature: (..., d) -> (..., G)."""
        return per_feature if self.index is None else per_feature[..., self.first]

    def norm(self, weights: Tensor) -> Tensor:
        """Euclidean norm of the weights of each group: (..., d, o) -> (..., G)."""
        norm = weights.squeeze(-1).abs() if weights.shape[-1] == 1 else torch.linalg.vector_norm(weights, dim=-1)
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

    Also returns β, which is a good ``guess`` for the next call when the weights change little in between.
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
    """Rescale the skip weights to norm ``beta``; where the norm has vanished every direction will do and we take the first."""
    tiny = torch.finfo(norm.dtype).tiny ** 0.5  # squares of smaller numbers underflow
    if not bool((norm < tiny).any()):
        return skip * groups.scatter(beta / norm).unsqueeze(-1)
    vanished = (norm < tiny) & (beta > norm)
    scaled = skip * groups.scatter(beta / norm.masked_fill(vanished | (norm == 0), 1)).unsqueeze(-1)
    first = torch.arange(skip.shape[-2], device=skip.device) if groups.index is None else groups.first
    scaled[..., first, 0] = torch.where(vanished, beta, scaled[..., first, 0])
    return scaled


def prox_entries(
    skip: Tensor,
    first: Tensor,
    steps: tuple[Tensor, Tensor],
    lambda_: Tensor,
    M: Tensor,
) -> tuple[Tensor, Tensor]:
    """Apply the operator where every entry has its own step size; ``lambda_`` and ``M`` are one number per feature.

    ``steps`` have the shapes of ``skip`` and ``first``. λ is meant before any step size.
    """
    a, d = steps[0].reciprocal(), steps[1].reciprocal()
    size = first.abs()
    weighted = _Weighted(a, d, a * skip, size, lambda_, M)
    beta = weighted.root()
    bound = (M * beta).unsqueeze(-1)
    return weighted.skip(beta), torch.copysign(torch.minimum(size, bound), first)


class _Weighted:
    """The operator with weights a and d of the squares; c = a v. One problem per feature."""

    def __init__(self, a: Tensor, d: Tensor, c: Tensor, size: Tensor, lambda_: Tensor, M: Tensor):
        self.a, self.d, self.c, self.size, self.lambda_, self.M = a, d, c, size, lambda_, M
        self.least = a.amin(-1)
        # The entry of v whose z_i is the smallest; of several the one with the largest a v.
        self.flattest = torch.where(a == self.least.unsqueeze(-1), c.abs(), -1.0).argmax(-1)

    def root(self) -> Tensor:
        """Find β by Newton's method, from the larger of two lower bounds: all a_i as large as the largest; one entry alone."""
        beta = self._newton(self.a.amax(-1), torch.linalg.vector_norm(self.c, dim=-1), torch.zeros_like(self.M))
        if self.a.shape[-1] == 1:
            return beta
        beta = self._newton(self.least, self.c.abs().gather(-1, self.flattest.unsqueeze(-1)).squeeze(-1), beta)
        for _ in range(_NEWTON):
            rho, slope = self._rho(beta)
            z = (self.a * beta.unsqueeze(-1) + rho.unsqueeze(-1)).clamp_min(torch.finfo(beta.dtype).tiny)
            ratio = (self.c / z).square()
            total = ratio.sum(-1)
            derivative = (ratio / z * (self.a + slope.unsqueeze(-1))).sum(-1)
            new = beta + (total - total.sqrt()) * total.sqrt() / derivative  # −ψ / ψ′
            new = torch.where(new > beta, new, beta)  # also where the division gives NaN
            done = new - beta <= 2 * torch.finfo(beta.dtype).eps * new
            beta = new
            if bool(done.all()):
                break
        return beta

    def skip(self, beta: Tensor) -> Tensor:
        """Return b of norm β; where v_i and z_i are both zero, b_i takes what is missing to β."""
        rho, _ = self._rho(beta)
        z = self.a * beta.unsqueeze(-1) + rho.unsqueeze(-1)
        tiny = torch.finfo(z.dtype).tiny
        b = self.c * beta.unsqueeze(-1) / z.clamp_min(tiny)
        at = self.flattest.unsqueeze(-1)
        others = b.scatter(-1, at, 0.0)
        rest = beta.square() - others.square().sum(-1)
        # A missing share of 1e-5 or less is rounding.
        vanished = (self.c.abs().gather(-1, at).squeeze(-1) < tiny**0.5) & (rest > 1e-5 * beta.square())
        if bool(vanished.any()):
            b = torch.where(vanished.unsqueeze(-1), others.scatter(-1, at, rest.clamp_min(0).sqrt().unsqueeze(-1)), b)
        return b

    def _rho(self, beta: Tensor) -> tuple[Tensor, Tensor]:
        """Return ρ(β) and its slope."""
        over = self.size - (self.M * beta).unsqueeze(-1)
        total = (self.d * over.clamp_min(0)).sum(-1)
        return self.lambda_ - self.M * total, self.M.square() * (self.d * (over > 0)).sum(-1)

    def _newton(self, a: Tensor, level: Tensor, beta: Tensor) -> Tensor:
        """Find where aβ + ρ(β) reaches a level, from the left; return β itself if that is to the right."""
        for _ in range(_NEWTON):
            rho, slope = self._rho(beta)
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
        \frac{1}{2}\|v-b\|^2 + \frac{1}{2}\|u-W\|^2 + \lambda\|b\|_2 + \bar\lambda\|W\|_1
        \quad\text{subject to}\quad \|W\|_\infty \le M\|b\|_2 .

    Parameters
    ----------
    skip : Tensor of shape (d, o) or (R, d, o)
        Weights of each feature to the outputs. A leading axis holds replicas.
    first : Tensor of shape (d, K) or (R, d, K)
        Weights of each feature to the first hidden layer.
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
    grouping = Groups(groups, skip.shape[-2])
    threshold, hierarchy = _per_group("lambda_", lambda_, skip, grouping), _per_group("M", M, skip, grouping)
    hierarchy = hierarchy.clamp_max(1e-6 * torch.finfo(skip.dtype).max ** 0.5)  # its square must not overflow
    return prox_rows(skip, first, threshold, hierarchy, grouping, _per_group("lambda_bar", lambda_bar, skip, grouping))[
        :2
    ]


def _per_group(name: str, value: float | Tensor, skip: Tensor, groups: Groups) -> Tensor:
    number = torch.as_tensor(value, dtype=skip.dtype, device=skip.device)
    try:
        per_feature = number.broadcast_to(skip.shape[:-1])
    except RuntimeError:
        raise ValueError(f"{name} must broadcast against {tuple(skip.shape[:-1])}; got {tuple(number.shape)}") from None
    if not bool((per_feature.isfinite() & (per_feature >= 0)).all()):
        raise ValueError(f"{name} must be finite and non-negative; got {value}")
    per_group = groups.gather(per_feature)
    if not torch.equal(groups.scatter(per_group), per_feature):
        raise ValueError(f"{name} must be the same for all features of a group")
    return per_group
