"""Experiments on interactions: tables are what they are said to be, and results reach the page."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import designs, interactions, nulls, runner, synthetic
from experiments.cells import Options, Store

WEIGHTS = np.array([0.25, 0.5, 0.25])


@pytest.mark.parametrize("table", interactions._PENETRANCE)
@pytest.mark.parametrize("heritability", [0.1, 0.2, 0.4])
def test_genes_have_the_heritability_and_no_effect_by_themselves(table, heritability):
    f = interactions.scale(table, heritability) * np.array(interactions._PENETRANCE[table])
    K = WEIGHTS @ f @ WEIGHTS
    np.testing.assert_allclose([*(f @ WEIGHTS), *(WEIGHTS @ f)], K)
    assert (np.square(f - K) @ WEIGHTS) @ WEIGHTS / (K * (1 - K)) == pytest.approx(heritability)
    assert f.min() >= 0 and f.max() <= 1


@pytest.mark.parametrize("cell", interactions.cells(Options(n_seeds=1)), ids=lambda cell: cell.name)
def test_half_of_the_samples_are_positive_or_most_and_true_columns_are_there(cell):
    sample = interactions.draw(cell)
    assert 0.45 < sample.y.mean() < 0.8 and abs(sample.y.mean() - sample.y_test.mean()) < 0.06
    assert len(set(sample.truth.tolist())) == len(sample.truth) and sample.truth.max() < sample.X.shape[1]


def test_columns_of_pairs_say_nothing_by_themselves():
    X, y, truth = designs.draw("independent_pairs", 0)
    correlations = [np.corrcoef(column, y)[0, 1] for column in X.T]
    assert np.abs(correlations).max() < 4.5 / np.sqrt(len(y))
    assert truth.sum() == 20


def test_causes_of_the_graph_are_the_truth_and_others_go_along():
    sample = synthetic.sample("graph", 16, seed=0, n=4000)
    assert len(sample.truth) == 4
    scores = np.abs([np.corrcoef(column, sample.y)[0, 1] for column in sample.X.T])
    others = [j for j in range(16) if (j,) not in sample.truth]
    assert scores[others].max() > 0.1


@pytest.mark.parametrize("experiment", [interactions, nulls])
def test_results_are_on_the_page(experiment, tmp_path, monkeypatch):
    monkeypatch.setattr(nulls, "N_TABLES", 2)
    store, asked = Store(tmp_path), Options(quick=True, data=("parity", "codes"))
    cells = experiment.cells(asked)
    assert cells and not runner.run(cells, store)
    (table,) = experiment.page(store).blocks
    assert all(len(row) == len(table.header) for row in table.rows)
    assert "1 of 1" in table.rows[0] if experiment is interactions else "0.000" in table.rows[4]
