import numpy as np
import pytest

from riata.preprocess import blocks, expansion, marginal, scaling


@pytest.fixture
def threads(monkeypatch):
    """Run every table by so many threads."""

    def use(number):
        monkeypatch.setattr(blocks, "_LARGE", 0)
        monkeypatch.setattr(blocks, "cpu_count", lambda: number)
        monkeypatch.setenv("OMP_NUM_THREADS", str(number))

    return use


@pytest.mark.parametrize("n_columns", [0, 1, 255, 256, 257, 1000])
@pytest.mark.parametrize("n_rows", [0, 10, 10_000, 2**20])
def test_blocks_cover_each_column_once_in_order(n_rows, n_columns, threads):
    threads(3)
    found = blocks.by_columns(lambda here: list(range(n_columns))[here], n_rows, n_columns)
    assert [column for block in found for column in block] == list(range(n_columns))
    assert all(len(block) * n_rows <= max(2**18, n_rows) for block in found)


def test_what_is_learnt_does_not_depend_on_the_number_of_threads(threads):
    rng = np.random.default_rng(0)
    X = np.exp(rng.standard_normal((900, 700)) * rng.uniform(0.1, 2, 700))
    X[rng.random(X.shape) < 0.01] = np.nan
    y, weights = np.nan_to_num(X[:, :2]), np.ones(len(X))

    def learnt():
        expanded = expansion.learn(X, weights, 4, tame=True)
        scaled = scaling.learn(X, weights, expanded, limit=5.0)
        return [
            *marginal.measure(X, y, weights),
            expanded.low,
            expanded.unit,
            scaled.scale,
            scaled.apply(X, "f8", None, expanded),
        ]

    threads(1)
    one = learnt()
    threads(4)
    for first, second in zip(one, learnt(), strict=True):
        np.testing.assert_array_equal(first, second)


def test_an_error_in_a_block_is_raised(threads):
    threads(2)

    def fail(here):
        if here.start:
            raise ZeroDivisionError("second block")

    with pytest.raises(ZeroDivisionError, match="second block"):
        blocks.by_columns(fail, 10, 600)


def test_numbers_far_outside_of_what_was_learnt_stay_finite():
    learnt = scaling.learn(np.array([[0.0], [5e-324], [0.0]]), np.ones(3))
    for dtype in ("f4", "f8"):
        assert np.isfinite(learnt.apply(np.array([[1.0], [-1e308]]), dtype)).all()
