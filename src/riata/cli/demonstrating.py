"""The command that shows what a selection is, on data that are at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import typer
from sklearn.datasets import load_breast_cancer

from riata.cli.options import AsJson, Job, K, OutFolder, Quiet, Seed, check_k
from riata.cli.output import make_folder, print_text, reporting_errors, write
from riata.cli.recipe import Origin, command_line
from riata.cli.selecting import run
from riata.files import encode, read_table

__all__ = ["demo"]


def demo(
    context: typer.Context,
    k: K = 5,
    out: OutFolder = Path("result"),
    seed: Seed = 0,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Select 5 features of the breast-cancer data, with 30 columns of noise added."""
    with reporting_errors():
        job = Job(out, seed, check_k(k, 60, "features"), quiet=quiet, json=json)
        data = load_breast_cancer(as_frame=True)
        noise = np.random.default_rng(seed).standard_normal((len(data.data), 30))
        frame = data.data.assign(**{f"noise_{j:02d}": column for j, column in enumerate(noise.T)})
        frame["diagnosis"] = data.target_names[data.target]
        make_folder(out)
        write(out, {"data.csv": encode(frame, out / "data.csv")})
        file = out / "data.csv"
        print_text(job.console, "The breast-cancer data of scikit-learn, and 30 columns of noise:")
        origin = Origin(file, {"target": "diagnosis"}, command_line(context))
        names = run(read_table(file, **origin.arguments), job, origin)
        n_noise = sum(name.startswith("noise_") for name in names)
        print_text(job.console, f"{n_noise} of the {len(names)} selected features are among the 30 columns of noise.")
