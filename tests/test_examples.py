"""The examples run, and find what they were made to find."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
DATA = Path(os.environ.get("RIATA_DATA", "../shared/data"))

# plt.show() has nowhere to show a figure here.
pytestmark = pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")


@pytest.fixture
def run(monkeypatch):
    """Run an example, and return its variables; figures are closed afterwards."""
    plt.switch_backend("agg")

    def run(name: str, *arguments: str) -> dict[str, Any]:
        monkeypatch.setattr("sys.argv", [name, *arguments])
        return runpy.run_path(str(EXAMPLES / name), run_name="__main__")

    yield run
    plt.close("all")


def test_a_first_selection_is_about_as_good_as_all_features(run):
    made = run("first_selection.py")
    assert made["model"].n_selected_ <= 10
    assert made["model"].score(made["X_new"], made["y_new"]) > 0.9
    assert len(plt.get_fignums()) == 1


def test_genes_are_selected_beside_clinical_columns(run):
    made = run("clinical_and_expression.py")
    model, X_new, y_new = made["model"], made["X_new"], made["y_new"]
    assert {"age", "sex", "stage", "g40"} <= set(model.get_feature_names_out())
    clinical_score = made["clinical_only"].score(X_new[list(made["clinical"])], y_new)
    assert model.score(X_new, y_new) > clinical_score + 0.05
    assert {"pathway 0", "pathway 10"} <= set(made["selected"])


def test_half_of_the_pixels_read_digits_nearly_as_well_as_all(run):
    made = run("image_pixels.py")
    assert made["model"].at(n_features=32).score(made["X_new"], made["y_new"]) > 0.9
    assert [few <= most for few, most in zip(made["n_used"], made["counts"], strict=True)] == [True] * 4


def test_a_pipeline_selects_and_a_grid_is_searched(run):
    made = run("pipeline_and_grid_search.py")
    assert {"bmi", "s5"} <= set(made["neighbours"][:-1].get_feature_names_out())
    assert made["search"].score(made["X_new"], made["y_new"]) > 0.25


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # of anndata's own making
def test_marker_genes_are_selected_into_var(run):
    pytest.importorskip("anndata", reason="anndata is not installed")
    made = run("anndata_selection.py")
    selected = made["adata"].var["selected"].to_numpy()
    assert set(selected.nonzero()[0]) <= set(range(10))
    assert made["small"].n_vars == made["panel"].n_selected_ <= 3


def test_quantile_regression_finds_the_columns(run):
    model = run("quantile_regression.py")["model"]
    assert model.selected_.nonzero()[0].tolist() == [0, 1, 2, 3, 4]


def test_interactions_are_found(run):
    assert run("interactions.py")["selected"] == {name: [12, 200] for name in ("xor", "ring", "genes")}


def test_features_of_survival_times_are_selected(run):
    pytest.importorskip("sksurv", reason="scikit-survival is not installed")
    made = run("survival.py")
    assert {"pnodes", "progrec"} <= set(made["model"].get_feature_names_out())
    for fitted in (made["model"], made["linear"]):
        assert fitted.score(made["X_new"], made["y_new"]) > 0.6


def test_three_lines_make_a_loop_select(run):
    selected = run("torch_loop.py")["selected"]
    assert {"bmi", "s5"} <= set(selected) and sum(name.startswith("noise") for name in selected) <= 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # of skorch's own making
def test_skorch_selects_with_one_callback(run):
    pytest.importorskip("skorch", reason="skorch is not installed")
    made = run("skorch_selection.py")
    assert made["accuracy"] > 0.9
    assert 1 <= made["n_selected"] < 30


def test_the_factors_of_a_table_are_counted(run, capsys):
    run("latent_units.py", "--factors", "2")
    words = capsys.readouterr().out.split()
    assert abs(int(words[3].rstrip(",")) - 2) <= 1 and abs(int(words[7]) - 2) <= 1


def test_filters_are_selected_and_drawn(run, tmp_path, monkeypatch, capsys):
    if not (DATA / "mnist_10k.npz").exists():
        pytest.skip(f"mnist_10k.npz is not in {DATA}: set RIATA_DATA to the folder with the data sets")
    monkeypatch.setenv("RIATA_DATA", str(DATA))
    picture = tmp_path / "picture.png"
    run("mnist_filters.py", "--quick", "--out", str(picture))
    assert picture.stat().st_size > 10_000
    assert "of 32 filters" in capsys.readouterr().out
