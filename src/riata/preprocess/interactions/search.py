"""All pairs of features, and all triples of a narrow table, tested for an interaction.

Every feature becomes a few bounded basis functions of its ranks, b. With the residual r of the target, given the features that
have a marginal association, all pairs of basis functions together are the entries Σ r b_i b_j of one matrix product,
(B ∘ r)ᵀ B, taken in blocks. The pairs with the largest entries are then tested one by one (``statistics``), and p-values
corrected for the number of all of them (Bonferroni). For a target of zeros and ones the tail of the statistic is a saddlepoint
approximation, which rare classes and rare values need; else r is the normal score of the residual, so that the distribution of
the target does not matter. What is found is taken off the target, and the rest tested in another round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import norm
from torch import Tensor

from riata.preprocess import expansion, marginal, scaling, sparse
from riata.preprocess.interactions import statistics
from riata.preprocess.interactions.basis import Basis, Floats, Ids, expand
from riata.preprocess.interactions.residuals import Target, residuals

__all__ = ["ALPHA", "Interactions", "none", "obstacle", "screen"]

ALPHA = 0.05  # corrected p-value under which an interaction is clear
_EXPECTED = 1_000  # entries that exceed the threshold of the first pass if nothing interacts, at most
_HOPEFUL = 0.6  # share of the statistic of a clear interaction under which a product is no candidate
_MOST = 2_000  # candidates of one pass that are tested one by one
_SAMPLES = 5_000  # that are enough: an interaction that these do not show explains less than one percent
_ENTRIES = {"cpu": 2**24, "cuda": 2**28}  # of a block of the matrix product
_ROUNDS = 4  # screenings, each with what the last ones found taken off the target
_PER_FEATURE, _PER_INTERACTION = 50, 150  # samples for each that is taken off the target
_FEATURES, _INTERACTIONS = 20, 6  # that are taken off at most
_PER_CELL = 20  # samples in a cell of the grid of two features, or of three
_BINS = {2: (3, 6), 3: (2, 4)}  # of a feature in these grids, at least and at most
_WORK = {"cpu": 5e11, "cuda": 1e14}  # floating-point operations that a screening of all pairs may take by default
_WORK_TRIPLES = {"cpu": 2e9, "cuda": 2e9}  # and one of all triples, which are many short products


@dataclass(frozen=True, eq=False)
class Interactions:
    """Features that interact, one row each, the clearest first; the third feature of a pair is −1."""

    features: Ids  # (m, 3)
    statistic: Floats
    p_value: Floats  # corrected for the number of tests
    marginal_p_values: Floats  # of the association of each feature, by itself or given the interactions
    n_tests: dict[int, int]  # of sets of basis functions, by the number of features that interact

    @property
    def joint_p_values(self) -> Floats:
        """P-value of each feature, by itself or in its clearest interaction; not corrected for the number of features."""
        found = self.marginal_p_values.copy()
        for column in self.features.T:
            np.minimum.at(found, column[column >= 0], self.p_value[column >= 0] / len(found))
        return found

    @property
    def interacting(self) -> NDArray[np.bool_]:
        """Which features are in an interaction."""
        return np.isin(np.arange(len(self.marginal_p_values)), self.features)

    @property
    def clear(self) -> NDArray[np.bool_]:
        """Which features are associated with the target."""
        return self.joint_p_values * len(self.marginal_p_values) < 1

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """Which of them have no marginal association."""
        return self.clear & (self.marginal_p_values * len(self.marginal_p_values) >= 1)


def none(n_features: int) -> Interactions:
    """Return that nothing was found."""
    return Interactions(np.empty((0, 3), dtype=np.int64), np.empty(0), np.empty(0), np.ones(n_features), {})


def obstacle(n_samples: float, n_outputs: int, p_values: Floats, device: str) -> str | None:
    """Return why pairs are not to be tested by default, or None: there are too many, or too many main effects to take off."""
    if not _affordable(n_samples, len(p_values), n_outputs, device, 2):
        return f"{len(p_values):,} features have too many pairs"
    clear, most = int(np.count_nonzero(p_values * len(p_values) < 1)), _most_features(n_samples)
    if clear > most:
        return (
            f"{clear:,} features are associated with the target by themselves, and from {n_samples:,.0f} samples the effects "
            f"of at most {most} can be removed before a test of pairs"
        )
    return None


def _affordable(n_samples: float, n_features: int, n_outputs: int, device: str, order: int) -> bool:
    operations = n_outputs * min(n_samples, _SAMPLES) * (2.0 * n_features) ** order
    return operations <= (_WORK if order == 2 else _WORK_TRIPLES)["cuda" if device == "cuda" else "cpu"]


def _most_features(n: float) -> int:
    """Return how many features can be taken off the target."""
    return min(max(1, int(min(n, _SAMPLES)) // _PER_FEATURE), _FEATURES)


def screen(
    X: NDArray[np.floating],
    target: Floats,
    weights: Floats,
    p_values: Floats,
    n_levels: Ids | None = None,
    *,
    device: torch.device | str = "cpu",
) -> Interactions:
    """Test all pairs of features, and all triples if these are few.

    Parameters
    ----------
    X : array of shape (n, d)
        Numbers, NaN where they are missing, and codes of categories.
    target : array of shape (n, o)
        Outputs; those of zeros and ones are classes.
    weights : array of shape (n,)
        They sum to the number of samples they stand for.
    p_values : array of shape (d,)
        P-values of the marginal association of each feature.
    n_levels : array of shape (d,), optional
        Number of codes of each feature, 0 for numbers.
    device
        Where the matrix products are taken.
    """
    if len(target) > _SAMPLES:
        kept = np.linspace(0, len(target) - 1, _SAMPLES).astype(int)
        X, target, weights = X[kept], target[kept], weights[kept]
    X = sparse.dense(X)
    n = round(weights.sum())
    basis = expand(X, weights, n_levels)
    triples = _affordable(n, X.shape[1], target.shape[1], torch.device(device).type, 3)
    orders = (2, 3) if triples else (2,)
    features, statistic, p_value = np.empty((0, 3), dtype=np.int64), np.empty(0), np.empty(0)
    for _ in range(_ROUNDS):
        clear = _clear(p_values, n)
        cells = [_cells(basis, row[row >= 0], weights) for row in features]
        additive = _additive(X[:, clear], weights, None if n_levels is None else n_levels[clear])
        targets = residuals(np.hstack([additive, *cells]), target, weights)
        if len(features):
            residual = np.stack([output.residual for output in targets], axis=1)
            again = marginal.measure(X, residual, weights, n_levels).p_values
            p_values = np.minimum(2 * np.minimum(p_values, again), 1)
        clear = _clear(p_values, n)
        found = [_pass(basis, targets, weights, clear, order, device, level=ALPHA / len(orders)) for order in orders]
        found = [(rows, each, p * len(orders)) for rows, each, p in found]
        new = [np.concatenate(part) for part in zip(*found, strict=True)]
        known = (new[0][:, None] == features).all(axis=-1).any(axis=1)
        features, statistic, p_value = (
            np.concatenate([old, part[~known]]) for old, part in zip((features, statistic, p_value), new, strict=True)
        )
        if known.all() or len(features) > min(n // _PER_INTERACTION, _INTERACTIONS):
            break  # nothing new, or more than can be taken off
    order = np.lexsort([-np.abs(statistic), p_value])
    n_tests = {order: _n_tests(basis.source, order) for order in orders}
    return Interactions(features[order], statistic[order], p_value[order], p_values, n_tests)


def _clear(p_values: Floats, n: int) -> Ids:
    """Return the features with a clear marginal association, at most so many as the samples allow."""
    clear = np.flatnonzero(p_values * len(p_values) < 1)
    return np.sort(clear[np.argsort(p_values[clear], kind="stable")][: _most_features(n)])


def _pass(
    basis: Basis,
    targets: list[Target],
    weights: Floats,
    clear: Ids,
    order: int,
    device: torch.device | str,
    level: float,
) -> tuple[Ids, Floats, Floats]:
    """Return the features of clear interactions, their statistics and corrected p-values.

    Features with a marginal association are few and interact more often than others: the error rate is shared equally between
    all interactions, those with at least one such feature, and those of such features alone.
    """
    inside = np.isin(basis.source, clear)
    near = _candidates(basis.only(inside), targets, weights, order, device)
    near[:, 1:] = np.flatnonzero(inside)[near[:, 1:]]
    candidates = np.concatenate([_candidates(basis, targets, weights, order, device), near])
    n_all, n_without, n_near = (_n_tests(basis.source[each], order) for each in (slice(None), ~inside, inside))
    features, statistic, p_value = _tested(basis, targets, weights, candidates, level / max(n_near, 1))
    n_clear = np.isin(features, clear).sum(axis=1)
    families = n_all, n_all - n_without, n_near
    n_tests = np.select([n_clear == 0, n_clear < order], families[:2], n_near) * np.count_nonzero(families)
    p_value = np.minimum(p_value * len(targets) * n_tests, 1)
    kept = p_value < level
    return features[kept], statistic[kept], p_value[kept]


def _additive(columns: NDArray[np.floating], weights: Floats, n_levels: Ids | None) -> Floats:
    """Return the inputs of an additive model of some columns."""
    if not columns.shape[1]:
        return np.empty(columns.shape)
    learnt = expansion.learn(
        columns, weights, expansion.affordable_pieces(round(weights.sum()), columns.shape[1]), n_levels, tame=True
    )
    scaled = scaling.learn(columns, weights, learnt, limit=scaling.LIMIT)
    return scaled.apply(columns, np.float64, embedding=learnt)


def _cells(basis: Basis, features: Ids, weights: Floats) -> Floats:
    """Mark the cells of a grid of the features of an interaction, so that a linear model of them is any function of these."""
    cells = np.zeros(len(basis.columns), dtype=np.int64)
    for feature in features:
        bins = basis.bins(feature, _n_bins(weights.sum(), len(features)))
        cells = cells * (bins.max() + 1) + bins
    marks: Floats = (cells[:, None] == np.unique(cells)).astype(np.float64)
    return marks


def _n_bins(n: float, order: int) -> int:
    """Return how many bins of each feature leave enough samples for each cell."""
    return int(np.clip((n / _PER_CELL) ** (1 / order), *_BINS[order]))


def _n_tests(source: Ids, order: int) -> int:
    """Return the number of sets of basis columns of different features: an elementary symmetric polynomial."""
    counts = np.bincount(source, minlength=1).astype(np.float64)
    one, two, three = (float(np.power(counts, k).sum()) for k in (1, 2, 3))
    return round((one**2 - two) / 2 if order == 2 else (one**3 - 3 * one * two + 2 * three) / 6)


def _candidates(basis: Basis, targets: list[Target], weights: Floats, order: int, device: torch.device | str) -> Ids:
    """Return the sets of basis columns with the largest products, (m, 1 + order), the output first."""
    Z = torch.from_numpy(basis.columns).to(device)
    source = torch.from_numpy(basis.source).to(device)
    n_tests = max(_n_tests(basis.source, order) * len(targets), 1)
    threshold = max(norm.isf(min(_EXPECTED / n_tests, 1) / 2), _HOPEFUL * norm.isf(ALPHA / n_tests / 2))
    found, sizes = [np.empty((0, 1 + order), dtype=np.int64)], [np.empty(0)]
    for o, target in enumerate(targets):
        spread = np.sqrt(weights @ np.square(target.residual))
        r = torch.from_numpy(weights * target.residual / spread).to(Z)  # Σ r b_i b_j is about standard normal
        for i in range(Z.shape[1] if order == 3 else 1):
            later = int(torch.searchsorted(source, source[i], right=True)) if order == 3 else 0
            pairs, values = _largest(Z[:, later:], source[later:], r * Z[:, i] if order == 3 else r, threshold)
            ahead = np.broadcast_to([o, i][: order - 1], (len(pairs), order - 1))
            found.append(np.hstack([ahead, pairs + later]))
            sizes.append(values)
    largest = np.argsort(-np.concatenate(sizes), kind="stable")[:_MOST]
    return np.concatenate(found)[largest]


def _largest(Z: Tensor, source: Tensor, r: Tensor, threshold: float) -> tuple[Ids, Floats]:
    """Return the pairs of basis columns whose product with the residual exceeds a threshold, at most so many, and by what."""
    m = Z.shape[1]
    pairs, values = [torch.empty((0, 2), dtype=torch.int64, device=Z.device)], [Z.new_empty(0)]
    n_found = 0
    size = max(1, min(m, _ENTRIES["cuda" if Z.is_cuda else "cpu"] // max(m, 1)))
    for start in range(0, m, size):
        block = slice(start, min(start + size, m))
        product = ((Z[:, block] * r[:, None]).T @ Z[:, start:]).abs_()  # (b, m - start)
        hits = (product > threshold).nonzero()
        hits = hits[source[hits[:, 0] + start] < source[hits[:, 1] + start]]
        values.append(product[hits[:, 0], hits[:, 1]])
        pairs.append(hits + start)
        n_found += len(hits)
        if n_found > _MOST:
            kept, at = torch.cat(values).topk(_MOST)
            values, pairs, threshold, n_found = [kept], [torch.cat(pairs)[at]], float(kept[-1]), _MOST
    return torch.cat(pairs).cpu().numpy(), torch.cat(values).cpu().double().numpy()


def _tested(
    basis: Basis, targets: list[Target], weights: Floats, candidates: Ids, level: float
) -> tuple[Ids, Floats, Floats]:
    """Test candidates one by one; of those with the same features keep the clearest. P-values above the level are rough."""
    features = np.full((len(candidates), 3), -1)
    features[:, : candidates.shape[1] - 1] = basis.source[candidates[:, 1:]]
    statistic, p_value = np.zeros(len(candidates)), np.ones(len(candidates))
    n_bins = [_n_bins(target.n_effective(weights), 2) for target in targets]
    for i, (o, *columns) in enumerate(candidates.tolist()):
        if statistics.redundant(basis, columns, weights):
            continue
        statistic[i], p_value[i] = statistics.product_test(basis, columns, targets[o], weights, level)
        if len(columns) == 2:
            first, second = (basis.bins(basis.source[c], n_bins[o]) for c in columns)
            by_cells = statistics.grid_p_value(first, second, targets[o], weights)
            p_value[i] = min(2 * min(p_value[i], by_cells), 1)
    order = np.lexsort([-np.abs(statistic), p_value])
    _, first = np.unique(features[order], axis=0, return_index=True)
    kept = order[first]
    return features[kept], statistic[kept], p_value[kept]
