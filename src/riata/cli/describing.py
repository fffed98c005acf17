"""The command that says what a model file holds."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.text import Text

from riata.cli import options
from riata.cli.opening import OpenModel, names_of, open_model
from riata.cli.options import Job
from riata.cli.output import SHOWN, as_json, mention_rest, number_table, print_json, print_text, reporting_errors
from riata.estimators.supervised import Supervised
from riata.evidence.curves import brief

__all__ = ["info"]


def info(model: options.ModelFile, json: options.AsJson = False) -> None:
    """Say what MODEL predicts from which columns, how good it was, and how it was made."""
    with reporting_errors():
        found = _description(open_model(model))
        if json:
            print_json(as_json(found))
        else:
            _print(found, Job(model.parent, 0))


def _description(opened: OpenModel) -> dict[str, Any]:
    """Return everything that is known of a model, the selected features most important first."""
    model, about = opened.model, dict(opened.about)
    reading = about.pop("reading", {})
    names, importances = names_of(model), model.feature_importances_
    order = np.argsort(-np.where(model.selected_, importances, -np.inf), kind="stable")[: model.n_selected_]
    return {
        "estimator": type(model).__name__,
        "task": opened.task if isinstance(model, Supervised) else None,
        "target": reading.get("target") or reading.get("survival"),
        "n_features": model.n_features_in_,
        "n_selected": model.n_selected_,
        "selected": [{"name": names[j], "importance": float(importances[j])} for j in order],
        "lambda": model.lambda_,
        "points": len(model.path_),
        "parameters": model.get_params(),
        **{name: about.get(name) for name in ("scores", "baseline", "rows", "seed", "file", "command", "versions")},
    }


def _print(found: dict[str, Any], job: Job) -> None:
    console = job.console
    title = f"{found['estimator']}: {found['n_selected']:,} of {found['n_features']:,} features"
    printed = number_table("", "feature", ["importance"])
    for row in found["selected"][:SHOWN]:
        printed.add_row(Text(row["name"]), brief(row["importance"], 3))
    mention_rest(printed, len(found["selected"]))
    print_text(console, title)
    console.print(printed, "", sep="\n")
    rows = [(name, text) for name, text in _facts(found) if text]
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        print_text(console, f"{name:<{width}}  {text}")


def _facts(found: dict[str, Any]) -> list[tuple[str, str]]:
    target = found["target"]
    if isinstance(target, dict):
        target = ", ".join(f"{role} {name}" for role, name in target.items() if name)
    return [
        ("target", f"{target} ({found['task']})" if target else found["task"] or ""),
        ("λ", f"{found['lambda']:.4g}, one of {found['points']} points of the path"),
        ("held-out scores", _listed(found["scores"])),
        ("without features", _listed(found["baseline"])),
        ("rows", _listed(found["rows"])),
        ("made from", found["file"] or ""),
        ("made with", found["command"] or ""),
        ("versions", _listed(found["versions"])),
    ]


def _listed(values: dict[str, Any] | None) -> str:
    return ", ".join(
        f"{name.replace('_', ' ')} {f'{value:.4g}' if isinstance(value, float) else value}"
        for name, value in (values or {}).items()
    )
