"""Experiments on ordinary tables: added columns are what they are said to be, and what is scored is scored rightly."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from experiments import added, data, page, runner, tables
from experiments.__main__ import main
from experiments.baselines import networks, packages
from experiments.baselines import tables as methods
from experiments.baselines.task import Task
from experiments.cells import Cell, Options, Store
from experiments.protocol import Part

MANY = 40_000  # samples: a mean or a correlation is off by 5 / √40,000 = 0.025 at most
PACKAGES = {"stg": "stg", "boosting": "lightgbm"}
# Left out: lassonet takes half a minute; all ranks nothing.
FINDERS = [name for name in methods.METHODS if name not in ("lassonet", "all")]


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "results")


@pytest.fixture(autouse=True)
def quick_learners(monkeypatch):
    """Hardly train what the scores are not looked at of."""
    monkeypatch.setattr("experiments.network.UPDATES", 20)
    monkeypatch.setattr(packages, "_GATE_UPDATES", 1_500)
    monkeypatch.setattr(packages, "_MOST", 2)
    monkeypatch.setattr(networks, "_DEEP_UPDATES", 400)
    for module in (methods, tables):
        monkeypatch.setattr(module, "N_TREES", 30)


@pytest.fixture
def stand_ins(tmp_path, monkeypatch):
    """A table with classes and one with numbers, of which the first two columns matter."""
    (tmp_path / "data" / "tables").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name in ("churn", "fried"):
        X = (rng.standard_normal((400, 4)) * [1, 100, 1, 0.01]).astype(np.float32)
        effect = X[:, 0] + X[:, 1] / 100 + 0.1 * rng.standard_normal(400)
        y = effect if name == "fried" else (effect > 0).astype(np.int64)
        np.savez(tmp_path / "data" / "tables" / f"{name}.npz", X=X, y=y)
    monkeypatch.setenv("RIATA_DATA", str(tmp_path / "data"))
    data.load.cache_clear()
    yield
    data.load.cache_clear()


def skewed(n: int = MANY, d: int = 4) -> np.ndarray:
    """Independent columns of different scales, not centred."""
    return np.random.default_rng(0).exponential([1.0, 10.0, 0.1, 5.0][:d], (n, d)).astype(np.float32)


def standardised(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0)


def planted(kind: str) -> Task:
    """Eight columns on scales of their own, of which 2 and 5 matter."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((500, 8))
    y = Z[:, 2] - Z[:, 5] + 0.3 * rng.standard_normal(500)
    X = (Z * 10.0 ** rng.integers(-2, 3, 8) + 1).astype(np.float32)
    return Task(X, 1_000 * y if kind == "numbers" else np.digitize(y, [-0.5, 0.5]), 2, 0)


# What is added.


@pytest.mark.parametrize("share", added.SHARES)
@pytest.mark.parametrize("kind", added.KINDS)
def test_added_columns_are_the_share_they_are_said_to_be_and_a_tables_own_are_not_changed(kind, share):
    X = skewed(50)
    wide, original = added.add(X, kind, share, np.random.default_rng(1))
    assert (~original).mean() == share / 100 and wide.dtype == np.float32
    own = wide[:, original]
    order = np.argsort(own[0])
    np.testing.assert_array_equal(own[:, order], X[:, np.argsort(X[0])])


def test_a_table_as_it_is_has_only_its_own_columns():
    wide, original = added.add(skewed(50), added.NONE, 0, np.random.default_rng(0))
    assert wide.shape == (50, 4) and original.all()


def test_random_columns_are_standard_normal_and_go_along_with_nothing():
    X = skewed()
    noise = added.random(X, 8, np.random.default_rng(1))
    np.testing.assert_allclose(noise.mean(axis=0), 0, atol=0.025)
    np.testing.assert_allclose(noise.std(axis=0), 1, atol=0.025)
    assert np.abs(np.corrcoef(X.T, noise.T)[:4, 4:]).max() < 0.025


def test_a_corrupted_column_keeps_half_of_its_source():
    X = skewed().astype(np.float64)
    copies = added.corrupted(X, 12, np.random.default_rng(1))
    correlations = np.corrcoef(X.T, copies.T)[:4, 4:]
    sources = correlations.argmax(axis=0)
    np.testing.assert_allclose(correlations.max(axis=0), np.sqrt(0.5), atol=0.025)
    # An exponential's variance is off by √8 times as much as its mean, in standard deviations.
    np.testing.assert_allclose(copies.std(axis=0), np.sqrt(0.5) * X.std(axis=0)[sources], rtol=0.05)


def test_no_column_is_copied_twice_where_there_are_enough():
    X = skewed()
    copies = added.corrupted(X, 4, np.random.default_rng(1))
    assert sorted(np.corrcoef(X.T, copies.T)[:4, 4:].argmax(axis=0)) == [0, 1, 2, 3]


def test_a_second_order_column_is_the_product_of_two_different_standardised_columns():
    X = skewed(100).astype(np.float64)
    Z = standardised(X)
    products = {(i, j): Z[:, i] * Z[:, j] for i in range(4) for j in range(i)}
    for column in added.second_order(X, 12, np.random.default_rng(1)).T:
        assert sum(np.allclose(column, product) for product in products.values()) == 1


def test_rows_and_splits_are_those_of_a_seed_whatever_is_added(stand_ins):
    drawn = [
        added.draw("churn", kind, share, 200, 3) for kind, share in (("none", 0), ("random", 50), ("corrupted", 75))
    ]
    assert [len(part.y) for part in drawn[0].parts] == [140, 20, 40]
    for table in drawn[1:]:
        for part, first in zip(table.parts, drawn[0].parts, strict=True):
            np.testing.assert_array_equal(part.y, first.y)
            np.testing.assert_array_equal(np.sort(part.X[:, table.original]), np.sort(first.X))
    assert len(drawn[0].training.y) == 160
    share = [part.y.mean() for part in drawn[0].parts]
    np.testing.assert_allclose(
        share, share[0], atol=0.5 / 20
    )  # in proportion, to the nearest sample of the smallest part
    again, other = (added.draw("churn", "random", 75, 200, seed) for seed in (3, 4))
    assert (again.original != other.original).any()
    np.testing.assert_array_equal(again.parts.fit.X, added.draw("churn", "random", 75, 200, 3).parts.fit.X)


# What is scored.


def test_roc_auc_is_one_for_a_perfect_ranking_and_a_half_for_none():
    original = np.array([True, False, True, False, False])
    assert tables.auc(np.array([3.0, 1, 2, 0, 1]), original) == 1
    assert tables.auc(np.zeros(5), original) == 0.5
    assert tables.auc(np.array([0.0, 1, 0, 2, 1]), original) == 0


def test_shuffled_columns_have_the_same_roc_auc():
    rng = np.random.default_rng(0)
    importances, original = rng.integers(5, size=40), rng.random(40) < 0.3
    order = rng.permutation(40)
    assert tables.auc(importances, original) == pytest.approx(
        tables.auc(importances[order], original[order]), abs=1e-12
    )


@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize("name", FINDERS)
def test_planted_columns_have_the_largest_importances_whatever_their_scale(name, kind):
    if name in PACKAGES:
        pytest.importorskip(PACKAGES[name])
    task = planted(kind)
    fitted = methods.fit(name, task)
    assert set(np.argsort(fitted.importances)[-2:].tolist()) == {2, 5}
    assert (fitted.model is not None) == (name in methods.PREDICT)
    if fitted.model is not None:
        assert 2 <= fitted.n_kept <= 8
        assert tables._score(fitted.model, Part(task.X, task.y)) > 0.7


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_deep_lasso_ranks_a_column_first_whose_effect_is_not_monotone(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_000, 6)).astype(np.float32)
    y = np.abs(X[:, 3]).astype(np.float64)
    importances = networks.deep_lasso(Task(X, (y > 0.7).astype(int) if kind == "classes" else y, 1, 0))
    assert importances.shape == (6,) and importances.argmax() == 3


def test_a_larger_penalty_of_deep_lasso_makes_columns_that_do_not_matter_matter_less():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 6)).astype(np.float32)
    parts = networks._parts(Task(X, X[:, 0] + rng.standard_normal(500), 1, 0))

    def share(penalty: float) -> float:
        _, network = networks._deep_lasso(*parts, penalty, 0)
        weights = network[0].weight.detach().norm(dim=0)
        return float(weights[1:].sum() / weights[0])

    assert share(1.0) < share(0.0)


def test_the_reference_predicts_on_the_scale_of_the_target_from_its_point_of_lowest_loss(monkeypatch):
    asked = SimpleNamespace(rows=0, loaded=None)
    points = [SimpleNamespace(val_loss=loss, selected=np.arange(3) < n) for loss, n in ((2.0, 3), (1.0, 2), (3.0, 0))]

    def path(task, hidden_dims, *, keep):
        asked.rows = len(task.X)
        assert keep and abs(task.y.mean()) < 0.3 and abs(task.X.mean()) < 0.3

        def predict(X):
            return X[:, :1]

        def load(point):
            asked.loaded = point

        importances = np.array([3.0, 1.0, np.nan])
        return SimpleNamespace(path_=points, feature_importances_=importances, predict=predict, load=load)

    monkeypatch.setattr(networks, "reference_path", path)
    monkeypatch.setattr(methods, "REFERENCE_ROWS", 100)
    X = 7 + 5 * np.random.default_rng(0).standard_normal((300, 3))
    fitted = methods.fit("lassonet", Task(X, 1_000 * X[:, 0], 1, 0))
    assert asked.rows == 100 and asked.loaded is points[1] and fitted.n_kept == 2
    assert fitted.importances.tolist() == [3, 1, 0]
    np.testing.assert_allclose(fitted.model.predict(X), 1_000 * X[:, 0], rtol=1e-4, atol=0.1)


# Cells and the page.


def written(store: Store) -> str:
    page.write([tables.page(store)], store, "test")
    return (store.folder / "pages" / "results.md").read_text()


def lines(text: str, word: str) -> list[list[str]]:
    """Return the rows of tables that begin with a word."""
    rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|"))
    return [row for row in rows if row[0] == word]


def write(store: Store, data: str, method: str, seed: int, auc: float, kind: str = "random") -> None:
    """Write the result of a cell that was not run."""
    cell = Cell("tables", data, method, seed, (("added", kind), ("share", 75), ("rows", 100)))
    scores = {"auc": auc, "network": 0.5, "trees": 0.6, "seconds": 1.0, "n_columns": 8, "n_original": 2}
    store.write(cell, {"config": cell.config, "scores": scores, "error": None, "seconds": 1.0})


def test_there_is_nothing_to_show_without_results(store):
    assert tables.page(store) is None


def test_quick_cells_run_and_are_on_the_page(store, stand_ins):
    cells = tables.cells(Options(methods=("riata", "fisher", "forest", "all"), quick=True))
    assert {(cell.data, cell["added"]) for cell in cells} == {
        (d, a) for d in ("churn", "fried") for a in ("none", "corrupted")
    }
    assert runner.run(cells, store) == []
    text = written(store)
    assert "Without results: house_16h" in text and len(lines(text, "forest")) == 3
    churn = lines(text, "churn")[0]
    assert len(lines(text, "data set")[0]) == len(churn) and "–" not in churn
    for cell in cells:
        scores = store.read(cell)["scores"]
        assert scores["n_original"] == 4 and scores["n_columns"] == (4 if cell["added"] == "none" else 16)
        assert ("auc" in scores) == (cell["added"] != "none" and cell.method != "all")
        assert ("few" in scores) == (cell["added"] == "none" and cell.method in ("riata", "forest"))


def test_every_setting_has_a_cell_and_rankings_none_where_nothing_is_added():
    cells = tables.cells(Options(data=("churn",)))
    assert {(cell["added"], cell["share"]) for cell in cells} == {
        ("none", 0),
        *((kind, share) for kind in ("random", "corrupted", "second_order") for share in (50, 75)),
    }
    assert {cell.method for cell in cells if cell["added"] == "none"} == set(methods.PREDICT)
    assert {cell["rows"] for cell in cells} == {10_000} and {cell.seed for cell in cells} == {0, 1, 2}
    assert len({cell.name for cell in cells}) == len(cells)


def test_tables_that_are_not_here_are_left_out_with_a_reason(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RIATA_DATA", str(tmp_path))
    assert tables.cells(Options()) == []
    assert "adult is left out" in capsys.readouterr().out
    assert tables.cells(Options(data=("breast_cancer",))) == []  # another experiment's


def test_some_settings_can_be_run_alone(tmp_path, stand_ins, capsys):
    arguments = [
        "tables",
        "--data",
        "churn",
        "--methods",
        "fisher",
        "mrmr",
        "--seeds",
        "1",
        "--out",
        str(tmp_path / "out"),
    ]
    assert main([*arguments, "--only", "added=random", "added=corrupted", "share=75"]) == 0
    found = sorted(path.name for path in (tmp_path / "out" / "tables").glob("*.json"))
    assert len(found) == 4 and all("share75" in name and "second" not in name for name in found)


def test_equal_areas_share_their_ranks_and_ranks_add_up(store):
    for seed in (0, 1):
        for method, area in (("riata", 0.9), ("fisher", 0.5 + 0.4 * seed), ("forest", 0.5)):
            write(store, "churn", method, seed, area)
    ranks = tables.mean_ranks(*tables.common(store.all("tables")))
    assert ranks == {"riata": 1.25, "fisher": 2.0, "forest": 2.75}
    (_, row, *_) = lines(written(store), "fisher")
    assert row[2:4] == ["0.700 ± 0.200", "2.00"]


def test_a_method_with_fewer_cells_has_no_rank_but_on_the_cells_that_all_methods_have(store):
    for name in ("churn", "fried"):
        write(store, name, "riata", 0, 0.9)
        write(store, name, "fisher", 0, 0.8)
    write(store, "fried", "stg", 0, 1.0)
    text = written(store)
    whole, shared, *_ = lines(text, "riata")
    assert whole[1:4] == ["2", "0.900", "1.00"] and shared[1:4] == ["1", "0.900", "2.00"]
    assert lines(text, "(stg)")[0][1:4] == ["1", "1.000", "–"]
    assert lines(text, "stg")[0][1:4] == ["1", "1.000", "1.00"]
