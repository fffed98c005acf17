"""Data sets: files are verified, OpenML is used where there is no file, and errors name what is missing."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from riata import datasets

DATA = Path(os.environ.get("RIATA_DATA", "../shared/data"))
SHAPES = {
    "mice_protein": (1080, 77, 8),
    "mnist_10k": (10_000, 784, 10),
    "fashion_mnist_10k": (10_000, 784, 10),
    "isolet": (7797, 617, 26),
    "coil20": (1440, 400, 20),
    "activity_hapt_subset": (1554, 561, 12),
}


@pytest.fixture(autouse=True)
def no_sources(tmp_path, monkeypatch):
    """No folder is named, the cache is empty, and OpenML cannot be reached."""

    def unreachable(*args, **kwargs):
        raise OSError("no route to host")

    monkeypatch.delenv("RIATA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets, "fetch_openml", unreachable)


def needs(name: str) -> None:
    if not (DATA / f"{name}.npz").exists():
        pytest.skip(f"{name}.npz is not in {DATA}: set RIATA_DATA to the folder with the data sets")


def table(labels: list[str]) -> SimpleNamespace:
    """Return a table as OpenML does, with one feature that counts samples."""
    return SimpleNamespace(data=pd.DataFrame({"a": np.arange(len(labels))}), target=pd.Series(labels, dtype="category"))


@pytest.mark.parametrize("name", SHAPES)
def test_a_file_has_the_stated_shape_and_classes_from_zero(name):
    needs(name)
    data = datasets.load(name, folder=DATA)
    n, d, classes = SHAPES[name]
    assert data.X.shape == (n, d)
    assert np.array_equal(np.unique(data.y), np.arange(classes))
    assert data.target_names is None or len(data.target_names) == classes


@pytest.mark.parametrize("name", ["hnscc", "metabric", "support", "gbsg"])
def test_survival_times_come_with_their_events(name):
    needs(name)
    data = datasets.load(name, folder=DATA)
    assert data.y.dtype.names == ("event", "time")
    assert data.y["event"].dtype == bool and (data.y["time"] >= 0).all()


def test_the_folder_may_be_set_by_an_environment_variable(monkeypatch):
    needs("boston")
    monkeypatch.setenv("RIATA_DATA", str(DATA))
    X, y = datasets.load("boston", return_X_y=True)
    assert X.shape == (506, 13) and y.dtype.kind == "f"


def test_extras_have_one_entry_per_sample_and_classes_can_be_left_out():
    needs("mice_protein")
    whole = datasets.load("mice_protein", folder=DATA)
    assert np.array_equal(np.bincount(whole.extra["mouse"]), np.full(72, 15))
    few = datasets.load("mice_protein", folder=DATA, n_classes=3)
    assert len(few.X) == len(few.extra["mouse"]) == (whole.y < 3).sum() and len(few.target_names) == 3


def test_a_damaged_file_is_refused(tmp_path):
    np.savez(tmp_path / "isolet.npz", X=np.zeros((2, 2)), y=np.zeros(2))
    with pytest.raises(ValueError, match=r"isolet\.npz is damaged or another version"):
        datasets.load("isolet", folder=tmp_path)


def test_an_error_about_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"mice_protein.*got 'iris'"):
        datasets.load("iris")


@pytest.mark.parametrize("name", [name for name in datasets.NAMES if name not in ("activity", "fashion_mnist")])
def test_an_error_about_a_missing_file_says_what_to_do(name, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"npz is not there, and OpenML .*: set RIATA_DATA .*npz") as error:
        datasets.load(name, folder=tmp_path)
    assert "(no route to host)" in str(error.value) or "OpenML does not have it" in str(error.value)


def test_an_error_about_a_set_that_has_no_file_does_not_ask_for_one():
    with pytest.raises(FileNotFoundError, match=r"fashion_mnist: comes from OpenML only, and .*: try again"):
        datasets.load("fashion_mnist")


def test_a_data_set_from_openml_is_cached_with_its_checksum(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets, "fetch_openml", lambda *args, **kwargs: table(["'10'", "'9'", "'1'", "'10'"]))
    first = datasets.load("isolet")
    monkeypatch.undo()
    monkeypatch.delenv("RIATA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cached = datasets.load("isolet")
    assert np.array_equal(first.y, [2, 1, 0, 2]) and np.array_equal(cached.y, first.y)
    file = tmp_path / "cache" / "riata" / "openml_isolet.npz"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ValueError, match="damaged"):
        datasets.load("isolet")


def test_the_two_parts_of_mnist_come_from_one_table(monkeypatch):
    monkeypatch.setattr(datasets, "fetch_openml", lambda *args, **kwargs: table([str(i % 10) for i in range(60_003)]))
    assert datasets.load("mnist").X.shape == (60_000, 1)
    assert datasets.load("mnist_10k").X[:, 0].tolist() == [60_000, 60_001, 60_002]


def test_names_of_classes_have_the_order_of_the_codes(monkeypatch):
    monkeypatch.setattr(datasets, "fetch_openml", lambda *args, **kwargs: table(["t-CS-s", "c-CS-m", "t-CS-s"]))
    data = datasets.load("mice_protein")
    assert data.target_names.tolist() == ["c-CS-m", "t-CS-s"] and data.y.tolist() == [1, 0, 1]


@pytest.mark.parametrize("pattern", ["{}.txt", "UCI HAR Dataset/{part}/{}.txt", "activity/final_{}.csv"])
def test_activity_is_read_from_the_uci_files_and_its_description_says_whether_it_is_the_papers(tmp_path, pattern):
    for part, n in (("train", 3), ("test", 2)):
        for name, values in ((f"X_{part}", np.ones((n, 561))), (f"y_{part}", np.arange(1, n + 1)[:, None])):
            file = tmp_path / pattern.format(name, part=part)
            file.parent.mkdir(parents=True, exist_ok=True)
            np.savetxt(file, values, delimiter="," if file.suffix == ".csv" else " ")
    data = datasets.load("activity", folder=tmp_path)
    assert data.X.shape == (5, 561) and data.y.tolist() == [0, 1, 2, 0, 1]
    assert data.extra["part"].tolist() == ["train"] * 3 + ["test"] * 2
    assert "not the paper's set" in data.description


def test_activity_is_never_replaced_by_the_subset():
    with pytest.raises(FileNotFoundError, match="Ambient Assisted Living"):
        datasets.load("activity", folder=DATA)
