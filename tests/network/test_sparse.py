"""A sparse table is, to everything that uses it, the tensor with the same entries."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from riata.network import sparse
from riata.network.sparse import backward, forward, of_scipy


@pytest.fixture
def both(rng):
    """Return a table with an empty row, an empty column and an offset in each column, sparse and as a tensor."""
    stored = rng.normal(size=(30, 12)) * (rng.random((30, 12)) < 0.2)
    stored[4], stored[:, 7] = 0, 0
    offset = rng.normal(size=12)
    return of_scipy(csr_array(stored), offset, torch.float64, torch.device("cpu")), torch.tensor(stored + offset)


def whole(table):
    return table.dense(torch.arange(table.shape[1]))


def test_products_of_several_replicas_are_those_of_the_tensor(both, rng):
    table, tensor = both
    weights, above = torch.tensor(rng.normal(size=(3, 12, 5))), torch.tensor(rng.normal(size=(3, 30, 5)))
    product, gradient = torch.full((3, 30, 5), torch.nan).double(), torch.full((3, 12, 5), torch.nan).double()
    forward(table, weights, product)
    backward(table, above, gradient)
    torch.testing.assert_close(product, tensor @ weights, rtol=0, atol=1e-13)
    torch.testing.assert_close(gradient, tensor.mT @ above, rtol=0, atol=1e-13)


def test_rows_are_taken_in_a_row_and_by_position(both):
    table, tensor = both
    index = torch.tensor([29, 4, 0, 4, 11])
    torch.testing.assert_close(whole(table.rows(3, 17)), tensor[3:17])
    torch.testing.assert_close(whole(table.take(index)), tensor[index])
    torch.testing.assert_close(whole(table.rows(3, 17).take(index[1:4])), tensor[3:17][index[1:4]])
    torch.testing.assert_close(whole(table.rows(4, 5)), tensor[4:5])  # nothing is stored in this row


def test_a_batch_without_entries_has_products(both):
    table, tensor = both
    empty, weights, out = table.take(torch.tensor([4, 4])), torch.ones(1, 12, 2).double(), torch.empty(1, 2, 2).double()
    forward(empty, weights, out)
    torch.testing.assert_close(out, tensor[[4, 4]] @ weights)


def test_few_columns_are_a_tensor_and_many_are_a_sparse_table(both, monkeypatch):
    table, tensor = both
    columns = torch.tensor([0, 2, 7, 9])
    few = table.only(columns)
    assert isinstance(few, torch.Tensor)
    monkeypatch.setattr(sparse, "LARGEST", 100)
    many = table.only(columns)
    assert not isinstance(many, torch.Tensor) and many.shape == (30, 4)
    torch.testing.assert_close(few, tensor[:, columns])
    torch.testing.assert_close(whole(many), few)


def test_noise_on_stored_entries_has_the_mean_variance_of_noise_on_all(rng):
    X = rng.poisson(0.05, size=(20_000, 3)) * rng.exponential(size=(20_000, 3))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    offset = X.min(axis=0)  # the zeros
    table = of_scipy(csr_array(X - offset), offset, torch.float64, torch.device("cpu"))
    noisy = table.noisy(torch.full((3,), 0.1).double(), torch.Generator().manual_seed(0))
    added = (whole(noisy) - torch.tensor(X)).numpy()
    assert (added[offset == X] == 0).all()
    # 0.1² / (1 − share of stored entries), with an error of about 10 % from a thousand entries with heavy tails
    np.testing.assert_allclose(np.square(added).mean(axis=0), 0.01 / 0.95, rtol=0.3)
