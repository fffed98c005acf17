"""Screening of interactions: pairs and triples of features that show the target together, tested on training samples.

Every feature becomes a few bounded basis functions of its ranks, b. A pair of basis columns of two features is tested by

    T = Σ r b_i b_j / √(Σ v x̃²),        x̃ = b_i b_j, less what main effects of both features explain of it,

with r the residual of the target given the features that have a marginal association, and v its variance. All pairs together
are the entries of one matrix product, (B ∘ r)ᵀ B, taken in blocks; the largest entries are then tested one by one. For a
target of zeros and ones the tail of T is a saddlepoint approximation, which rare classes and rare values need; else r is the
normal score of the residual, and T is normal whatever the distribution of the target. P-values are corrected for the number of
all tests (Bonferroni).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression, Ridge
from torch import Tensor

from riata import effects, embedding, scaling

__all__ = ["ALPHA", "Interactions", "affordable", "none", "screen"]

Floats = NDArray[np.float64]
ALPHA = 0.05  # corrected p-value under which an interaction is clear
_LEVELS = 8  # commonest levels of a category that have a basis column
_RARE = 0.15  # least standard deviation that a basis column is divided by, as a share of its range
_EXPECTED = 1000  # entries that exceed the threshold of the first pass if nothing interacts, at most
_HOPEFUL = 0.6  # share of the statistic of a clear interaction under which a product is no candidate
_MOST = 2_000  # candidates of one pass that are tested one by one
_SAMPLES = 5_000  # that are enough: an interaction that these do not show explains less than one percent
_ENTRIES = 2**24  # of a block of the matrix product
_REDUNDANT = (
    0.9  # correlation of the ranks of two features over which they are one, which has no interaction with itself
)
_ROUNDS = 4  # screenings, each with what the last ones found taken off the target
_PER_FEATURE, _PER_CELLS = 50, 150  # samples for each feature, and each interaction, that is taken off the target
_FEATURES, _INTERACTIONS = 20, 6  # that are taken off at most
_LOOSE = 10.0  # inverse strength of the ridge in the regression on classes
_GRID = {2: 6, 3: 4}  # bins of a feature in the grid of a pair and of a triple
_LEFT = 0.1  # share of the variance of a product that main effects must leave for a test
_FAR = 5.0  # interquartile ranges from the median that a target may be in the regression that gives residuals
_NEWTON = 60  # steps of the saddlepoint equation, halved where Newton's leave the bracket
_WORK = {"cpu": 5e11, "cuda": 1e14}  # floating-point operations that a screening of all pairs may take by default
_WORK_TRIPLES = {"cpu": 2e9, "cuda": 2e9}  # and one of all triples, which are many short products


@dataclass(frozen=True, eq=False)
class Interactions:
    """Features that interact, one row each, the clearest first; the third feature of a pair is −1."""

    features: NDArray[np.int64]  # (m, 3)
    statistic: Floats
    p_value: Floats  # corrected for the number of tests
    marginal: Floats  # p-values of the association of each feature, by itself or given the interactions
    n_tests: dict[int, int]  # of sets of basis functions, by the number of features that interact

    @property
    def chance(self) -> Floats:
        """P-value of each feature, by itself or in its clearest interaction; not corrected for the number of features."""
        found = self.marginal.copy()
        for column in self.features.T:
            np.minimum.at(found, column[column >= 0], self.p_value[column >= 0] / len(found))
        return found

    @property
    def clear(self) -> NDArray[np.bool_]:
        """Which features are associated with the target."""
        return self.chance * len(self.marginal) < 1

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """Which of them have no marginal association."""
        return self.clear & (self.marginal * len(self.marginal) >= 1)


class _Basis(NamedTuple):
    """Basis columns, standardised, and the feature that each is of."""

    columns: NDArray[np.float32]  # (n, m)
    source: NDArray[np.int64]

    def of(self, feature: int) -> Floats:
        here = slice(*np.searchsorted(self.source, [feature, feature + 1]))
        return self.columns[:, here].astype(np.float64)


class _Target(NamedTuple):
    """Residual of one output and what its distribution is given the features: Bernoulli(mean) or a normal score."""

    residual: Floats
    mean: Floats | None

    @property
    def variance(self) -> Floats:
        return np.ones_like(self.residual) if self.mean is None else self.mean * (1 - self.mean)


def none(n_features: int) -> Interactions:
    """Return that nothing was found."""
    return Interactions(np.empty((0, 3), dtype=np.int64), np.empty(0), np.empty(0), np.ones(n_features), {})


def affordable(n_samples: int, n_features: int, n_outputs: int, device: str, order: int = 2) -> bool:
    """Say whether a screening of all pairs, or of all triples, is within the default budget."""
    operations = n_outputs * min(n_samples, _SAMPLES) * (2.0 * n_features) ** order
    return operations <= (_WORK if order == 2 else _WORK_TRIPLES)["cuda" if device == "cuda" else "cpu"]


def screen(
    X: NDArray[np.floating],
    target: Floats,
    weights: Floats,
    marginal: Floats,
    n_levels: NDArray[np.int64] | None = None,
    *,
    triples: bool = False,
    device: torch.device | str = "cpu",
) -> Interactions:
    """Test all pairs of features, and all triples if asked.

    Parameters
    ----------
    X : array of shape (n, d)
        Numbers, NaN where they are missing, and codes of categories.
    target : array of shape (n, o)
        Outputs; those of zeros and ones are classes.
    weights : array of shape (n,)
        They sum to the number of samples they stand for.
    marginal : array of shape (d,)
        P-values of the marginal association of each feature.
    n_levels : array of shape (d,), optional
        Number of codes of each feature, 0 for numbers.
    triples : bool
        Whether to test triples, too.
    device
        Where the matrix products are taken.
    """
    if len(X) > _SAMPLES:
        X, target, weights = (table[np.linspace(0, len(X) - 1, _SAMPLES).astype(int)] for table in (X, target, weights))
    n = round(weights.sum())
    basis = _basis(X, weights, n_levels)
    orders = (2, 3) if triples else (2,)
    features, statistic, p_value = np.empty((0, 3), dtype=np.int64), np.empty(0), np.empty(0)
    for _ in range(_ROUNDS):
        clear = _clear(marginal, n)
        cells = [_cells(basis, row[row >= 0]) for row in features]
        additive = _additive(X[:, clear], weights, None if n_levels is None else n_levels[clear])
        targets = _residuals(np.hstack([additive, *cells]), target, weights)
        if len(features):
            residual = np.stack([output.residual for output in targets], axis=1)
            again = effects.measure(X, residual, weights, n_levels).chance
            marginal = np.minimum(2 * np.minimum(marginal, again), 1)
        found = [_pass(basis, targets, weights, _clear(marginal, n), order, device) for order in orders]
        found = [(rows, each, np.minimum(p * len(orders), 1)) for rows, each, p in found]
        new = [np.concatenate(part) for part in zip(*found, strict=True)]
        known = (new[0][:, None] == features).all(axis=-1).any(axis=1)
        features, statistic, p_value = (
            np.concatenate([old, part[~known]]) for old, part in zip((features, statistic, p_value), new, strict=True)
        )
        if known.all() or len(features) > min(n // _PER_CELLS, _INTERACTIONS):
            break  # nothing new, or more than can be taken off
    order = np.lexsort([-np.abs(statistic), p_value])
    n_tests = {order: _n_tests(basis.source, order) for order in orders}
    return Interactions(features[order], statistic[order], p_value[order], marginal, n_tests)


def _clear(marginal: Floats, n: int) -> NDArray[np.int64]:
    """Return the features with a clear marginal association, at most so many as the samples allow."""
    clear = np.flatnonzero(marginal * len(marginal) < 1)
    return np.sort(clear[np.argsort(marginal[clear], kind="stable")][: min(max(1, n // _PER_FEATURE), _FEATURES)])


def _pass(
    basis: _Basis,
    targets: list[_Target],
    weights: Floats,
    clear: NDArray[np.int64],
    order: int,
    device: torch.device | str,
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return the features of clear interactions, their statistics and corrected p-values.

    Half of the error rate is for the interactions of features with a marginal association, which are few.
    """
    candidates = _candidates(basis, targets, weights, order, device)
    features, statistic, p_value = _tested(basis, targets, weights, candidates)
    n_all = _n_tests(basis.source, order)
    n_likely = n_all - _n_tests(basis.source[~np.isin(basis.source, clear)], order)
    n_tests = np.where(np.isin(features, clear).any(axis=1), n_likely, n_all) * (2 if n_likely else 1)
    p_value = np.minimum(p_value * len(targets) * n_tests, 1)
    kept = p_value < ALPHA
    return features[kept], statistic[kept], p_value[kept]


def _basis(X: NDArray[np.floating], weights: Floats, n_levels: NDArray[np.int64] | None) -> _Basis:
    """Return the first two orthogonal polynomials of the ranks of each number, and marks of the levels of each category."""
    share = weights / weights.sum()
    columns, source = [], []
    for j in range(X.shape[1]):
        if n_levels is not None and n_levels[j] > 2:
            raw = [(X[:, j] == level).astype(np.float64) for level in range(min(n_levels[j], _LEVELS))]
        else:
            raw = _polynomials(X[:, j].astype(np.float64), share)
        for column in raw:
            centred = column - share @ column
            spread = max(np.sqrt(share @ np.square(centred)), _RARE * np.ptp(centred))
            if spread > 0:
                columns.append((centred / spread).astype(np.float32))
                source.append(j)
    table = np.stack(columns, axis=1) if columns else np.empty((len(X), 0), dtype=np.float32)
    return _Basis(table, np.array(source, dtype=np.int64))


def _polynomials(column: Floats, share: Floats) -> list[Floats]:
    known = ~np.isnan(column)
    if not known.any():
        return []
    weight, rank = share[known] / share[known].sum(), np.zeros(len(column))
    _, where = np.unique(column[known], return_inverse=True)
    mass = np.bincount(where, weight)
    rank[known] = (np.cumsum(mass) - mass / 2)[where]
    line = np.where(known, rank - weight @ rank[known], 0)
    total = share @ np.square(line)
    if total < 1e-12:
        return []
    square = np.where(known, np.square(line), 0)
    square = np.where(known, square - (share @ square) / share[known].sum(), 0)
    square -= (share @ (square * line)) / total * line
    return [line, square] if share @ np.square(square) > 1e-3 * total**2 else [line]


def _additive(columns: NDArray[np.floating], weights: Floats, n_levels: NDArray[np.int64] | None) -> Floats:
    """Return the inputs of an additive model of some columns."""
    if not columns.shape[1]:
        return np.empty(columns.shape)
    learnt = embedding.learn(
        columns, weights, embedding.affordable_pieces(round(weights.sum()), columns.shape[1]), n_levels, tame=True
    )
    scaled = scaling.learn(columns, weights, learnt, limit=scaling.LIMIT)
    return scaled.apply(columns, np.float64, embedding=learnt)


def _cells(basis: _Basis, features: NDArray[np.int64]) -> Floats:
    """Mark the cells of a grid of the features of an interaction, so that a linear model of them is any function of these."""
    bins = np.zeros(len(basis.columns), dtype=np.int64)
    for feature in features:
        line = basis.of(feature)[:, 0]
        edges = np.unique(np.quantile(line, np.linspace(0, 1, _GRID[len(features)] + 1)[1:-1]))
        bins = bins * _GRID[2] + np.searchsorted(edges, line, side="right")
    marks: Floats = (bins[:, None] == np.unique(bins)).astype(np.float64)
    return marks


def _residuals(inputs: Floats, target: Floats, weights: Floats) -> list[_Target]:
    """Take off each output what a linear model of the inputs explains; marks of classes that exclude each other share one."""
    if target.shape[1] > 1 and np.isin(target, (0, 1)).all() and (target.sum(axis=1) == 1).all():
        means = _class_means(inputs, target.argmax(axis=1), weights)
        return [
            _Target(column - mean, mean) for column, mean in zip(target.T, means.T, strict=True) if np.ptp(column) > 0
        ]
    found = []
    for column in target[:, np.ptp(target, axis=0) > 0].T:
        if np.isin(column, (0, 1)).all():
            mean = _class_means(inputs, column.astype(np.int64), weights)[:, 1]
            found.append(_Target(column - mean, mean))
        else:
            found.append(_numbers(inputs, column, weights))
    return found


def _class_means(inputs: Floats, codes: NDArray[np.int64], weights: Floats) -> Floats:
    """Return the probabilities of classes given the inputs, (n, n_classes), inside of (0, 1)."""
    counts = np.bincount(codes, weights)
    means = np.broadcast_to(counts / counts.sum(), (len(codes), len(counts))).copy()
    if inputs.shape[1]:
        model = LogisticRegression(C=_LOOSE, max_iter=500).fit(inputs, codes, sample_weight=weights)
        means[:, model.classes_] = model.predict_proba(inputs)
    return np.clip(means, 1e-6, 1 - 1e-6)


def _numbers(inputs: Floats, column: Floats, weights: Floats) -> _Target:
    low, middle, high = np.quantile(column, [0.25, 0.5, 0.75])
    reach = _FAR * (high - low)
    left = np.clip(column, middle - reach, middle + reach) if reach > 0 else column
    if inputs.shape[1]:
        left = left - Ridge(1.0).fit(inputs, left, sample_weight=weights).predict(inputs)
    _, where = np.unique(left, return_inverse=True)
    mass = np.bincount(where, weights) / weights.sum()
    score = norm.ppf(np.cumsum(mass) - mass / 2)[where]
    share = weights / weights.sum()
    score = score - share @ score
    return _Target(score / np.sqrt(share @ np.square(score)), None)


def _n_tests(source: NDArray[np.int64], order: int) -> int:
    """Return the number of sets of basis columns of different features: an elementary symmetric polynomial."""
    counts = np.bincount(source, minlength=1).astype(np.float64)
    one, two, three = (float(np.power(counts, k).sum()) for k in (1, 2, 3))
    return round((one**2 - two) / 2 if order == 2 else (one**3 - 3 * one * two + 2 * three) / 6)


def _candidates(
    basis: _Basis, targets: list[_Target], weights: Floats, order: int, device: torch.device | str
) -> NDArray[np.int64]:
    """Return the sets of basis columns with the largest products, (m, 1 + order), the output first."""
    Z = torch.from_numpy(basis.columns).to(device)
    source = torch.from_numpy(basis.source).to(device)
    n_tests = max(_n_tests(basis.source, order) * len(targets), 1)
    threshold = max(norm.isf(min(_EXPECTED / n_tests, 1) / 2), _HOPEFUL * norm.isf(ALPHA / n_tests / 2))
    found = [np.empty((0, 1 + order), dtype=np.int64)]
    for o, target in enumerate(targets):
        spread = np.sqrt(weights @ np.square(target.residual))
        r = torch.from_numpy(weights * target.residual / spread).to(Z)  # Σ r b_i b_j is about standard normal
        for i in range(Z.shape[1] if order == 3 else 1):
            later = int(torch.searchsorted(source, source[i], right=True)) if order == 3 else 0
            pairs = _largest(Z[:, later:], source[later:], r * Z[:, i] if order == 3 else r, threshold) + later
            ahead = np.broadcast_to([o, i][: order - 1], (len(pairs), order - 1))
            found.append(np.hstack([ahead, pairs]))
    return np.concatenate(found)


def _largest(Z: Tensor, source: Tensor, r: Tensor, threshold: float) -> NDArray[np.int64]:
    """Return the pairs of basis columns whose product with the residual exceeds a threshold, at most so many."""
    m = Z.shape[1]
    pairs, values = [torch.empty((0, 2), dtype=torch.int64, device=Z.device)], [Z.new_empty(0)]
    size = max(1, min(m, _ENTRIES // max(m, 1)))
    for start in range(0, m, size):
        block = slice(start, min(start + size, m))
        product = ((Z[:, block] * r[:, None]).T @ Z[:, start:]).abs_()  # (b, m - start)
        hits = (product > threshold).nonzero()
        hits = hits[source[hits[:, 0] + start] < source[hits[:, 1] + start]]
        values.append(product[hits[:, 0], hits[:, 1]])
        pairs.append(hits + start)
        if sum(map(len, values)) > _MOST:
            kept, at = torch.cat(values).topk(_MOST)
            values, pairs, threshold = [kept], [torch.cat(pairs)[at]], float(kept[-1])
    return torch.cat(pairs).cpu().numpy()


def _tested(
    basis: _Basis, targets: list[_Target], weights: Floats, candidates: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Test candidates one by one; of those with the same features keep the clearest."""
    features = np.full((len(candidates), 3), -1)
    features[:, : candidates.shape[1] - 1] = basis.source[candidates[:, 1:]]
    statistic, p_value = np.zeros(len(candidates)), np.ones(len(candidates))
    for i, (o, *columns) in enumerate(candidates.tolist()):
        product = _adjusted(basis, columns, weights, targets[o].variance)
        if product is not None:
            statistic[i], p_value[i] = _test(product, targets[o], weights)
    order = np.lexsort([-np.abs(statistic), p_value])
    _, first = np.unique(features[order], axis=0, return_index=True)
    kept = order[first]
    return features[kept], statistic[kept], p_value[kept]


def _adjusted(basis: _Basis, columns: list[int], weights: Floats, variance: Floats) -> Floats | None:
    """Return the product of basis columns less what fewer of the features explain; None where little is left.

    Fewer are main effects, with polynomials up to the third degree, and for triples the products of two.
    """
    parts = [basis.columns[:, c].astype(np.float64) for c in columns]
    covariance = np.cov(np.stack(parts), aweights=weights)
    spread = np.sqrt(np.diag(covariance))
    if np.abs(np.triu(covariance / np.outer(spread, spread), 1)).max() > _REDUNDANT:
        return None
    product = np.prod(parts, axis=0)
    lower = [np.ones((len(product), 1))]
    for c in columns:
        own = basis.of(basis.source[c])
        lower += [own, own[:, :1] * own[:, 1:2]]
    if len(columns) == 3:
        lower += [(parts[a] * parts[b])[:, None] for a, b in ((0, 1), (0, 2), (1, 2))]
    root = np.sqrt(weights * variance)
    design = np.hstack(lower)
    coefficients = np.linalg.lstsq(design * root[:, None], product * root, rcond=1e-8)[0]
    left = product - design @ coefficients
    return left if weights @ np.square(left) > _LEFT * (weights @ np.square(product)) else None


def _test(x: Floats, target: _Target, weights: Floats) -> tuple[float, float]:
    """Return the statistic of one product, standardised, and its two-sided p-value."""
    r, variance = target.residual, target.variance
    total = float(weights @ (x * r))
    statistic = total / float(np.sqrt(weights @ (np.square(x) * variance)))
    robust = total / float(np.sqrt(weights @ np.square(x * r)))  # smaller where the residual varies more where x does
    p_value = float(2 * norm.sf(min(abs(statistic), abs(robust))))
    if target.mean is not None:
        p_value = max(p_value, 2 * _tail(x * np.sign(total), target.mean, weights, abs(total)))
    return statistic, min(p_value, 1.0)


def _tail(x: Floats, mean: Floats, weights: Floats, total: float) -> float:
    """Return P(Σ x (y − mean) ≥ total) for y ~ Bernoulli(mean), by Lugannani and Rice's formula."""
    logit = np.log(mean / (1 - mean))

    def slope(t: float) -> tuple[float, float]:
        tilted = 1 / (1 + np.exp(-np.clip(logit + t * x, -700, 700)))
        return float(weights @ (x * (tilted - mean))), float(weights @ (np.square(x) * tilted * (1 - tilted)))

    low, high, t = 0.0, np.inf, 0.0
    for _ in range(_NEWTON):
        value, curvature = slope(t)
        low, high = (t, high) if value < total else (low, t)
        step = t + (total - value) / max(curvature, 1e-300)
        inside = low < step < high and step < 10 * (low + 1)
        following = step if inside else (2 * low + 1 if np.isinf(high) else (low + high) / 2)
        if abs(following - t) <= 1e-9 * (1 + t):
            break
        t = following
    curvature = slope(t)[1]
    cumulant = weights @ (np.logaddexp(np.log1p(-mean), np.log(mean) + t * x) - t * mean * x)
    signed = float(np.sqrt(max(2 * (t * total - float(cumulant)), 0)))
    scaled = t * np.sqrt(curvature)
    if signed < 1e-3 or scaled <= 0:
        return 0.5
    return float(norm.sf(signed + np.log(scaled / signed) / signed))
