"""What is learnt of a sparse table is what is learnt of the table with all of its entries."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

from riata.preprocess import expansion, marginal, scaling, sparse
from riata.preprocess.redundancy import alternatives, contributions
from riata.preprocess.samples import merged


@pytest.fixture
def table(rng):
    """Return columns of counts, a constant one, an empty one and one without zeros."""
    X = rng.poisson(0.2, size=(150, 40)).astype(float) * rng.normal(size=(150, 40))
    X[:, 0], X[:, 1], X[:, 2] = 3, 0, rng.normal(size=150) + 20
    X[:, 4] = X[:, 3] + 0.1 * (rng.random(150) < 0.1)  # a copy, nearly
    return X


@pytest.fixture
def target(table, rng):
    return np.column_stack([table[:, 2] - table[:, 3] + 0.3 * rng.normal(size=150), np.abs(table[:, 5])])


@pytest.fixture(params=["equal", "different"])
def weights(request, rng):
    return np.ones(150) if request.param == "equal" else marginal.effective(rng.exponential(size=150) + 0.1)


def test_marginal_associations_are_the_same(table, target, weights):
    one, other = (marginal.measure(X, target, weights) for X in (table, csc_array(table)))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-12)
    ids = np.arange(40) // 4
    grouped = (marginal.of_groups(one, X, target, weights, ids) for X in (table, csc_array(table)))
    np.testing.assert_allclose(*(each.p_values for each in grouped), rtol=1e-6)


def test_centres_and_scales_are_the_same(table, weights):
    identity = expansion.identity(40)
    one, other = (scaling.learn(X, weights, identity) for X in (table, csc_array(table)))
    np.testing.assert_allclose(one.center, other.center, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(one.scale, other.scale, rtol=1e-12, atol=1e-15)


def test_a_scaled_table_is_its_stored_entries_and_an_offset_of_at_most_one(table):
    learnt = scaling.learn(table, np.ones(150), expansion.identity(40))
    implicit = sparse.scaled(csr_array(table), learnt.center, learnt.scale)
    np.testing.assert_allclose(implicit.stored.toarray() + implicit.offset, learnt.apply(table, np.float64), atol=1e-12)
    assert np.abs(implicit.offset).max() <= 1
    assert implicit.stored.nnz <= np.count_nonzero(table) + 150


def test_single_precision_loses_nothing_to_columns_far_from_zero(rng):
    X = np.column_stack([rng.normal(size=200) + 1e6, rng.random(200) < 0.1])
    learnt = scaling.learn(X, np.ones(200), expansion.identity(2))
    implicit = sparse.scaled(csr_array(X), learnt.center, learnt.scale)
    single = implicit.stored.toarray().astype(np.float32) + implicit.offset.astype(np.float32)
    np.testing.assert_allclose(single, learnt.apply(X, np.float32), atol=1e-6)


def test_equal_samples_are_merged_in_the_same_order(table, target):
    X, y = np.vstack([table, table[:30]]).round() + 0.0, np.vstack([target, target[:30]])
    one, other = merged(X, y, np.ones(180)), merged(csr_array(X), y, np.ones(180))
    np.testing.assert_array_equal(one.X, other.X.toarray())
    np.testing.assert_array_equal(one.target, other.target)
    np.testing.assert_array_equal(one.weights, other.weights)
    assert one.n_fit == other.n_fit < 180


def test_what_features_explain_is_the_same(table, target, weights):
    X = (table - table.mean(axis=0)) / np.where(table.std(axis=0) > 0, table.std(axis=0), np.inf)
    identity, ones, nonlinear = expansion.identity(40), np.ones(40), np.linspace(0, 1, 40)
    stored = csr_array(X - X.min(axis=0))
    one, other = (contributions(each, target, weights, identity, ones, nonlinear) for each in (X, stored))
    np.testing.assert_allclose(one, other, atol=1e-5)  # lsqr stops at 1e-6
    selected = np.isin(np.arange(40), [2, 3, 9])
    names = np.arange(40).astype(object)
    dense, few = (alternatives(each, identity, ones, selected, names) for each in (X, stored))
    assert dense["alternative"].tolist() == few["alternative"].tolist() == [4]
    np.testing.assert_allclose(dense["r2"], few["r2"], rtol=1e-10)
