"""Knockoffs: synthetic columns distributed like the given ones, independent of the target given these, and selection by them.

Candès, Fan, Janson and Lv (2018) for the idea, Spector and Janson (2022) for "mvr", Dai and Barber (2016) for groups, Barber
and Candès (2015) for the threshold, Ren and Barber (2024) for many draws.

With Σ the covariance of the columns and S a matrix with one block γ_g Σ_gg per group of columns, samples X and knockoffs X̃ have
the joint covariance [[Σ, Σ − S], [Σ − S, Σ]], which is unchanged when a group is swapped with its knockoff. Everything is
computed on the scale on which every Σ_gg is the identity: Σ becomes A, and S the diagonal matrix Γ of the γ. Groups of one
column are single columns, and nearly singular blocks, such as those of one-hot columns, need no special treatment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.sparse import csr_array

from riata.evidence.gaussian import Gaussian

__all__ = ["METHODS", "Cut", "Knockoffs", "best_cut", "e_bh", "e_values", "fewest", "prepare", "threshold"]

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
METHODS = ("mvr", "sdp", "equicorrelated")


@dataclass(frozen=True)
class Knockoffs:
    """The distribution of knockoffs given samples."""

    mean: Floats  # (d,)
    root: Floats  # (d, d), lower triangular; root @ root.T is Σ within groups and zero elsewhere
    correlation: Floats  # (d, d), A
    gamma: Floats  # (d,), one number per column, equal within groups

    @property
    def S(self) -> Floats:
        """Σ less the covariance of samples and their knockoffs."""
        S: Floats = (self.root * self.gamma) @ self.root.T
        return S

    def draw(self, X: Floats, rng: np.random.Generator) -> Floats:
        """Draw knockoffs of samples: from N(X − (X − mean) Σ⁻¹ S, 2S − S Σ⁻¹ S)."""
        Z: Floats = solve_triangular(self.root, (X - self.mean).T, lower=True).T  # (n, d), of covariance A
        slopes = np.linalg.solve(self.correlation, np.diag(self.gamma))
        values, vectors = np.linalg.eigh(2 * np.diag(self.gamma) - self.gamma[:, None] * slopes)
        noise_root = (vectors * np.sqrt(values.clip(0))) @ vectors.T
        deviation: Floats = (rng.standard_normal(X.shape) @ noise_root - Z @ slopes) @ self.root.T
        return X + deviation


def prepare(gaussian: Gaussian, ids: Ids, method: str = "mvr") -> Knockoffs:
    """Compute the γ of each group.

    Parameters
    ----------
    gaussian : Gaussian
        The distribution of the samples.
    ids : int array of shape (d,)
        The group of each column, from 0 on.
    method : {"mvr", "sdp", "equicorrelated"}
        "mvr" makes it as hard as possible to predict a column from all others and all knockoffs: it minimises
        tr(Γ⁻¹) + tr((2A − Γ)⁻¹). "sdp" makes columns and their knockoffs as little correlated as possible: it maximises
        tr(Γ) with 0 ≤ γ ≤ 1 and Γ ≤ 2A. "equicorrelated" has one γ, as large as it can be.
    """
    covariance = _invertible(gaussian.covariance)
    root = np.linalg.cholesky(np.where(ids[:, None] == ids, covariance, 0.0))
    half = solve_triangular(root, covariance, lower=True)
    A = solve_triangular(root, half.T, lower=True)
    A = (A + A.T) / 2
    members = csr_array((np.ones(len(ids)), (np.arange(len(ids)), ids)))  # (d, G)
    # At the largest γ that all groups can have, 2A − Γ is singular, and knockoffs would be functions of the samples.
    gamma = np.full(members.shape[1], min(1.0, 2 * float(np.linalg.eigvalsh(A)[0])) * 0.999)
    if method == "mvr":
        gamma = _minimise(lambda g: _mvr(g, A, members), gamma)
    elif method == "sdp":
        for barrier in 10.0 ** np.arange(0, -5, -1):  # the last leaves each γ at most 2e-4 below its optimum
            gamma = _minimise(lambda g, mu=barrier: _sdp(g, A, members, mu), gamma)  # type: ignore[misc]
    return Knockoffs(gaussian.mean, root, A, gamma[ids])


def _invertible(covariance: Floats, smallest: float = 1e-6) -> Floats:
    """Shrink towards the diagonal until the eigenvalues of the correlations are at least ``smallest``."""
    scale = np.sqrt(np.diag(covariance))
    least = float(np.linalg.eigvalsh(covariance / np.outer(scale, scale))[0])
    if least >= smallest:
        return covariance
    share = (smallest - least) / (1 - least)
    return (1 - share) * covariance + share * np.diag(scale**2)


class _Terms(NamedTuple):
    """A function of the γ and its derivatives; outside its domain the value is infinite, and the derivatives are empty."""

    value: float
    gradient: Floats
    hessian: Floats


_OUTSIDE = _Terms(np.inf, np.empty(0), np.empty(0))


def _minimise(function: Callable[[Floats], _Terms], start: Floats) -> Floats:
    """Minimise a smooth convex function that grows without bound at the edge of its domain, by damped Newton steps."""
    point, terms = start, function(start)
    for _ in range(100):  # about ten are needed
        step = -np.linalg.solve(terms.hessian, terms.gradient)
        slope = float(terms.gradient @ step)
        if -slope <= 1e-12 * (1 + abs(terms.value)):
            break
        size = 1.0
        while (tried := function(point + size * step)).value > terms.value + size * slope / 4:
            size /= 2
            if size < 1e-8:  # any further decrease is below rounding
                return point
        point, terms = point + size * step, tried
    return point


def _mvr(gamma: Floats, A: Floats, members: csr_array) -> _Terms:
    """tr(Γ⁻¹) + tr((2A − Γ)⁻¹)."""
    found = _inverse(2 * A - np.diag(members @ gamma)) if (gamma > 0).all() else None
    if found is None:
        return _OUTSIDE
    B, square, sizes = found.B, found.B @ found.B, members.sum(axis=0)
    gradient = np.diag(square) @ members - sizes / gamma**2
    hessian = 2 * members.T @ (B * square) @ members + np.diag(2 * sizes / gamma**3)
    return _Terms(float((sizes / gamma).sum() + np.trace(B)), gradient, hessian)


def _sdp(gamma: Floats, A: Floats, members: csr_array, barrier: float) -> _Terms:
    """−tr(Γ) / barrier − log det(2A − Γ) − log det(Γ) − log det(1 − Γ)."""
    inside = (gamma > 0).all() and (gamma < 1).all()
    found = _inverse(2 * A - np.diag(members @ gamma)) if inside else None
    if found is None:
        return _OUTSIDE
    B, sizes = found.B, members.sum(axis=0)
    value = -float(sizes @ (gamma / barrier + np.log(gamma) + np.log1p(-gamma))) - found.log_det
    gradient = np.diag(B) @ members - sizes * (1 / barrier + 1 / gamma - 1 / (1 - gamma))
    hessian = members.T @ B**2 @ members + np.diag(sizes * (gamma**-2 + (1 - gamma) ** -2))
    return _Terms(value, gradient, hessian)


class _Inverse(NamedTuple):
    B: Floats
    log_det: float  # of the matrix that was inverted


def _inverse(matrix: Floats) -> _Inverse | None:
    """Invert a positive definite matrix; None for any other."""
    try:
        factor = cho_factor(matrix, lower=True)
    except np.linalg.LinAlgError:
        return None
    return _Inverse(cho_solve(factor, np.eye(len(matrix))), 2 * float(np.log(np.diag(factor[0])).sum()))


# From statistics to a selection. W is large where a group is important and its knockoff is not; for a group that is
# independent of the target given all others, its sign is positive or negative with equal probability.


class Cut(NamedTuple):
    """All groups with W of at least a threshold, and the share of them that the knockoffs estimate to be null."""

    threshold: float
    size: int
    estimate: float


def _cuts(W: Floats) -> tuple[Floats, NDArray[np.int64], Floats]:
    """All thresholds from small to large, the number of groups above each, and the estimates of knockoff+."""
    ordered = np.sort(W)
    thresholds = np.unique(np.abs(W[W != 0]))
    above = len(W) - np.searchsorted(ordered, thresholds, side="left")
    below = np.searchsorted(ordered, -thresholds, side="right")
    return thresholds, above, (1 + below) / np.maximum(1, above)


def threshold(W: Floats, fdr: float) -> float:
    """Return min {t > 0 : (1 + #{W ≤ −t}) / max(1, #{W ≥ t}) ≤ fdr}, infinite where there is none: knockoff+."""
    thresholds, above, estimates = _cuts(W)
    enough = thresholds[(estimates <= fdr) & (above > 0)]
    return float(enough[0]) if len(enough) else np.inf


def best_cut(W: Floats) -> Cut:
    """Return the cut with the lowest estimate, and the largest of these."""
    thresholds, above, estimates = _cuts(W)
    if not above.any():
        return Cut(np.inf, 0, 1.0)
    i = int(np.argmin(np.where(above > 0, estimates, np.inf)))
    return Cut(float(thresholds[i]), int(above[i]), float(estimates[i]))


def fewest(fdr: float) -> int:
    """Return the smallest number of groups that knockoff+ can select, ⌈1 / fdr⌉."""
    return next(k for k in range(int(1 / fdr), int(1 / fdr) + 2) if k and 1 / k <= fdr)


def e_values(W: Floats, fdr: float) -> Floats:
    """Return G 1{W ≥ T} / (1 + #{W ≤ −T}) for each of the G groups, with T the threshold at ``fdr``."""
    T = threshold(W, fdr)
    return len(W) * (W >= T) / (1.0 + np.count_nonzero(W <= -T))


def e_bh(e: Floats, fdr: float) -> NDArray[np.bool_]:
    """Select the k largest, for the largest k whose k-th is at least G / (k fdr): Benjamini-Hochberg for e-values."""
    ordered = np.sort(e)[::-1]
    k = np.arange(1, len(e) + 1)
    enough = np.flatnonzero((ordered > 0) & (len(e) <= fdr * k * ordered * (1 + 1e-12)))
    return e >= ordered[enough[-1]] if len(enough) else np.zeros(len(e), dtype=bool)
