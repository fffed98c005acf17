"""Products by any library are the same numbers."""

from __future__ import annotations

import pytest
import torch

from riata.network import products


def matrix(R, n, m, layout, dtype, draw):
    """Draw R matrices: row by row, column by column, or rows that are a part of longer ones."""
    if layout == "columns":
        return torch.randn(R, m, n, generator=draw, dtype=dtype).mT
    if layout == "part":
        return torch.randn(R, n, m + 5, generator=draw, dtype=dtype)[..., 5:]
    return torch.randn(R, n, m, generator=draw, dtype=dtype)


@pytest.mark.parametrize("n, m, k", [(1, 1, 1), (40, 7, 3), (300, 200, 40), (40, 300, 200)])
@pytest.mark.parametrize("left", ["rows", "columns"])
@pytest.mark.parametrize("right", ["rows", "columns", "part"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("worth", [0, products._WORTH])
def test_a_product_equals_that_of_plain_tensors_in_any_layout(n, m, k, left, right, dtype, worth, monkeypatch):
    monkeypatch.setattr(products, "_WORTH", worth)
    draw = torch.Generator().manual_seed(0)
    a, b = matrix(2, n, m, left, dtype, draw), matrix(2, m, k, right, dtype, draw)
    out = torch.full((2, n, k + 3), torch.nan, dtype=dtype)
    products.multiply(a, b, out[..., 3:])
    # Each of m products and sums is rounded.
    torch.testing.assert_close(out[..., 3:], a @ b, rtol=0, atol=4 * m * torch.finfo(dtype).eps)
    assert out[..., :3].isnan().all()


def test_samples_can_be_shared_by_networks(monkeypatch):
    monkeypatch.setattr(products, "_WORTH", 0)
    X, slopes = torch.randn(50, 20), torch.randn(3, 50, 9)
    out = torch.empty(3, 20, 9)
    products.multiply(X.mT.expand(3, 20, 50), slopes, out)
    torch.testing.assert_close(out, X.mT @ slopes, rtol=0, atol=1e-4)
