"""Time riata against the lassonet package in one process, on the same splits, and score the features both pick.

    python -m benchmarks [--data mice_protein coil20] [--seeds 3] [--multiplier 1.02] [--out benchmarks/results]

Data are read from the folder in RIATA_DATA (default: ../shared/data). Writes JSON and prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

import riata

N_FEATURES = 50


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    folder = Path(os.environ.get("RIATA_DATA", "../shared/data"))
    if not (folder / f"{name}.npz").exists():
        raise SystemExit(f"{folder / name}.npz is not there: set RIATA_DATA to the folder that holds the data sets")
    with np.load(folder / f"{name}.npz") as file:
        X, y = file["X"].astype(np.float32), file["y"]
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X).astype(np.float32), y


def split(X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """70-10-20, scaled on the training part."""
    rest, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed)
    fit, val = train_test_split(rest, test_size=0.125, stratify=y[rest], random_state=seed)
    scaler = StandardScaler().fit(X[fit])
    return {name: (scaler.transform(X[rows]), y[rows]) for name, rows in (("fit", fit), ("val", val), ("test", test))}


def run_riata(parts: dict, width: int, multiplier: float, seed: int) -> tuple[np.ndarray, dict]:
    model = riata.LassoNetClassifier((width,), path_multiplier=multiplier, random_state=seed, device="cpu")
    path = model.path(*parts["fit"], X_val=parts["val"][0], y_val=parts["val"][1])
    return model.feature_importances_, {"points": len(path), "epochs": model.n_iter_}


def run_lassonet(parts: dict, width: int, multiplier: float, seed: int) -> tuple[np.ndarray, dict]:
    from lassonet import LassoNetClassifier

    model = LassoNetClassifier(
        hidden_dims=(width,), path_multiplier=multiplier, random_state=seed, torch_seed=seed, device="cpu", verbose=0
    )
    path = model.path(*parts["fit"], X_val=parts["val"][0], y_val=parts["val"][1])
    epochs = sum(point.n_iters for point in path)
    return np.asarray(model.feature_importances_), {"points": len(path), "epochs": epochs}


def score(parts: dict, features: np.ndarray, seed: int) -> dict[str, float]:
    (X, y), (X_test, y_test) = parts["fit"], parts["test"]
    learners = {
        "network": MLPClassifier((len(features),), max_iter=100, random_state=seed),
        "trees": ExtraTreesClassifier(50, random_state=seed),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return {n: m.fit(X[:, features], y).score(X_test[:, features], y_test) for n, m in learners.items()}


def measure(name: str, seeds: int, multiplier: float) -> list[dict]:
    X, y = load(name)
    cells = []
    for seed in range(seeds):
        parts = split(X, y, seed)
        for library, run in (("riata", run_riata), ("lassonet", run_lassonet)):
            start = time.perf_counter()
            importances, facts = run(parts, X.shape[1] // 3, multiplier, seed)
            seconds = time.perf_counter() - start
            features = np.argsort(-importances)[:N_FEATURES]
            cell = {"data": name, "library": library, "seed": seed, "seconds": seconds, **facts}
            cells.append(cell | score(parts, features, seed))
            print(cell, flush=True)
    return cells


def table(cells: list[dict]) -> str:
    lines = [
        f"| data | library | time (s) | points | epochs | accuracy, {N_FEATURES} features: network | trees |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(c["data"] for c in cells):
        for library in ("riata", "lassonet"):
            rows = [c for c in cells if c["data"] == name and c["library"] == library]
            mean = {key: np.mean([c[key] for c in rows]) for key in ("seconds", "points", "epochs")}
            accuracy = (
                f"{np.mean(v):.3f} ± {np.std(v):.3f}" for v in ([c[k] for c in rows] for k in ("network", "trees"))
            )
            lines.append(
                f"| {name} | {library} | {mean['seconds']:.1f} | {mean['points']:.0f} | {mean['epochs']:.0f} | "
                + " | ".join(accuracy)
                + " |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["mice_protein", "coil20"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--multiplier", type=float, default=1.02)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    cells = [cell for name in arguments.data for cell in measure(name, arguments.seeds, arguments.multiplier)]
    facts = {"torch": torch.__version__, "threads": torch.get_num_threads(), "machine": platform.machine()}
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "paths.json").write_text(json.dumps({"facts": facts, "cells": cells}, indent=1))
    print(table(cells))


if __name__ == "__main__":
    main()
