"""Mixed tables as files: the command line on a csv against the library on the same frame, and against a forest."""

from __future__ import annotations

import importlib.util
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from experiments.cells import Cell, Options, Result, Store
from experiments.data import TABLES, here, path
from experiments.page import Section, Table, columns, names
from riata import LassoNetClassifier, LassoNetRegressor, cli
from riata.files import prepare, read

# Target, and columns that give it away. The first eight are files of the package ISLP.
TARGETS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Carseats": ("Sales", ()),
    "Wage": ("wage", ("logwage",)),
    "Hitters": ("Salary", ()),
    "Bikeshare": ("bikers", ("casual", "registered")),
    "College": ("Apps", ()),
    "Default": ("default", ()),
    "OJ": ("Purchase", ()),
    "Credit": ("Balance", ()),
    "adult": ("target", ()),
    "churn": ("target", ()),
}
_SEEDS = 3
_QUICK = ("Carseats",)


def cells(options: Options) -> list[Cell]:
    """One cell for each table and split."""
    asked = options.data or (_QUICK if options.quick else tuple(TARGETS))
    data = [name for name in TARGETS if name in asked and (here(name) if name in TABLES else _folder() is not None)]
    return [Cell("mixed", name, "riata", seed) for name in data for seed in options.seeds(_SEEDS)]


def _folder() -> Path | None:
    spec = importlib.util.find_spec("ISLP")
    places = None if spec is None else spec.submodule_search_locations
    return Path(places[0]) / "data" if places else None


def frame_of(name: str) -> pd.DataFrame:
    """Return a table as a user has it: numbers, text and gaps."""
    if name not in TABLES:
        folder = _folder()
        if folder is None:
            raise FileNotFoundError("the package ISLP holds this table: pip install '.[experiments]'")
        return pd.read_csv(folder / f"{name}.csv")
    with np.load(path(name)) as file:
        frame = pd.DataFrame(file["X"].astype(np.float64), columns=file["feature_names"].tolist())
        for column, kind in zip(frame.columns, file["kinds"], strict=True):
            if kind in ("categorical", "binary"):
                frame[column] = "level " + frame[column].astype(int).astype(str)
        return frame.assign(target="class " + pd.Series(file["y"]).astype(int).astype(str))


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Write the table to a file, give that to the command line, and the frame to the library and to a forest."""
    target, drop = TARGETS[cell.data]
    frame = frame_of(cell.data).drop(columns=list(drop))
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "data.csv", Path(folder) / "out"
        frame.to_csv(file, index=False)
        options = ["select", str(file), "--target", target, "--seed", str(cell.seed), "--out", str(out), "--quiet"]
        cli.app(options, standalone_mode=False)
        table = prepare(read(file), target)
        chosen, solved = pd.read_csv(out / "selected.csv"), pd.read_csv(out / "path.csv")
        summary = json.loads((out / "summary.json").read_text("utf-8"))
    fit, held_out = table.split(cell.seed)
    X, y = frame.loc[table.rows, table.X.columns], frame.loc[table.rows, target].to_numpy()
    classify = table.task == "classification"
    model = (LassoNetClassifier if classify else LassoNetRegressor)(random_state=cell.seed).fit(X.iloc[fit], y[fit])
    own = dict(zip(model.feature_names_in_, model.feature_importances_, strict=True))
    forest = _forest(X, cell.seed, classify=classify).fit(X.iloc[fit], y[fit])
    score = "accuracy" if classify else "R²"
    return {
        "columns": frame.shape[1] - 1,
        "features": table.X.shape[1],
        "selected": chosen["name"].tolist(),
        "same_columns": set(chosen["name"]) == set(model.get_feature_names_out()),
        "same_path": bool(np.allclose(solved["val_loss"], model.path_.to_frame()["val_loss"], rtol=1e-9)),
        "same_importances": bool(np.allclose(chosen["importance"], [own[name] for name in chosen["name"]], rtol=1e-9)),
        "score": summary["scores"]["selected"][score],
        "library": float(model.score(X.iloc[held_out], y[held_out])),
        "forest": float(forest.score(X.iloc[held_out], y[held_out])),
    }


def _forest(X: pd.DataFrame, seed: int, *, classify: bool) -> Any:
    words = make_column_selector(dtype_exclude="number")
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), words), remainder=SimpleImputer(strategy="median")
    )
    kind = RandomForestClassifier if classify else RandomForestRegressor
    return make_pipeline(encode, kind(300, n_jobs=-1, random_state=seed))


def _spread(values: NDArray[np.float64]) -> str:
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}" if len(values) > 1 else ""
    return f"{values.mean():.3f}{error}"


def page(store: Store) -> Section | None:
    """One row for each table."""
    found = store.all("mixed")
    if not found:
        return None
    rows = []
    for name in names(found, "data"):
        scores = [result["scores"] for result in columns(found, data=name)]
        equal = all(each["same_columns"] and each["same_path"] and each["same_importances"] for each in scores)
        kept = np.mean([len(each["selected"]) for each in scores])
        numbers = [np.array([each[key] for each in scores]) for key in ("score", "library", "forest")]
        cells = [_spread(values) for values in numbers]
        rows.append([name, str(scores[0]["columns"]), f"{kept:.1f}", *cells, "yes" if equal else "**no**"])
    text = (
        "Tables with text, gaps and whole numbers, written to a csv file and given to `riata select`; the same frame given "
        "to `fit`; and a forest of 300 trees with all columns, text as 0/1 columns. R² or accuracy on a fifth of the rows, "
        "mean over splits ± standard error. Identifiers and constants are left out."
    )
    header = [
        "table",
        "columns",
        "kept",
        "command line",
        "library",
        "forest, all columns",
        "same path, columns and importances",
    ]
    return Section("Mixed tables through the command line", text, [Table(header, rows, "Scores on held-out rows")])
