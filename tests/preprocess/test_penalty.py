"""Penalty weights: what multiplies λ for a feature, by its number of inputs and its marginal association."""

from __future__ import annotations

import numpy as np

from riata.preprocess import expansion
from riata.preprocess.marginal import measure, of_groups
from riata.preprocess.penalty import penalty_weights

N = 200
X = np.random.default_rng(0).normal(size=(N, 3))
ones = np.ones(N)


def factors(found):
    """Penalty weights of features of one input each."""
    return penalty_weights(np.ones(len(found.p_values)), found)


def test_penalty_weights_of_columns_go_from_one_with_a_clear_association_to_two_without_any(rng):
    table = np.hstack([X, rng.normal(size=(N, 47))])
    found = factors(measure(table, X[:, :1] + np.abs(X[:, 1:2]), ones))
    assert found[:2].tolist() == [1, 1]
    assert np.median(found[2:]) > 1.6
    assert found.max() <= 2


def test_noise_has_a_larger_penalty_weight_where_columns_outnumber_samples(rng):
    few, many = (measure(rng.normal(size=(100, d)), rng.normal(size=(100, 1)), np.ones(100)) for d in (60, 200))
    assert factors(few).max() <= 2
    assert 4 < factors(many).max() <= 6


SIZE = np.where(np.arange(30) == 2, 4.0, 1.0)  # one column in four pieces


def screened(rng):
    """Column 0 is clearly associated, the others are noise, and column 2 has four pieces."""
    table = np.hstack([X, rng.normal(size=(N, 27))])
    learnt = expansion.learn(table, ones, SIZE.astype(int))
    np.testing.assert_array_equal(learnt.size, SIZE)
    return table, measure(table, X[:, :1], ones)


def test_penalty_weights_go_from_the_root_of_the_number_of_columns_to_twice_it(rng):
    """A feature of p columns has √p with a clear association, and up to 2p without any; p without screening."""
    _, found = screened(rng)
    assert penalty_weights(SIZE, None).tolist() == SIZE.tolist()
    assert penalty_weights(SIZE, None, linear=True).tolist() == np.sqrt(SIZE).tolist()
    doubt = np.log2(factors(found))  # from 0, a clear association, to 1, none
    np.testing.assert_allclose(penalty_weights(SIZE, found), np.sqrt(SIZE) * (2 * np.sqrt(SIZE)) ** doubt)
    assert penalty_weights(SIZE, found)[0] == 1
    clear = found._replace(p_values=np.zeros(30))
    none = found._replace(p_values=np.ones(30))
    assert penalty_weights(SIZE, clear)[[1, 2]].tolist() == [1, 2]
    assert penalty_weights(SIZE, none)[[1, 2]].tolist() == [2, 8]


def test_a_group_has_one_penalty_weight_that_of_all_its_columns(rng):
    table, found = screened(rng)
    ids = np.arange(30)
    ids[[10, 0]] = 1  # noise, and the clear column behind it
    ids[3] = 2
    _, ids = np.unique(ids, return_inverse=True)
    weights = penalty_weights(SIZE, of_groups(found, table, X[:, :1], ones, ids), ids)
    assert weights[[0, 1, 10]].tolist() == [np.sqrt(3)] * 3
    assert weights[2] == weights[3] > np.sqrt(5)
    np.testing.assert_allclose(penalty_weights(SIZE, None, ids)[[2, 3]], 5)


def test_no_feature_is_preferred_where_nothing_is_associated():
    found = measure(X, np.ones((N, 1)), ones)
    assert (factors(found) == 2).all()
