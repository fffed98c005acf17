"""The command line: parse, call, print."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from sklearn.datasets import load_breast_cancer

import riata
from riata.cli.describing import info
from riata.cli.examples import EXAMPLES, EXIT_CODES
from riata.cli.filling import impute
from riata.cli.options import AsJson, Job, K, OutFolder, Quiet, Seed, check_k
from riata.cli.output import make_folder, print_text, reporting_errors, write
from riata.cli.predicting import predict
from riata.cli.recipe import Origin, command_line
from riata.cli.reporting import report
from riata.cli.selecting import run, select
from riata.files import encode, read_table

__all__ = ["app", "main"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help=f"{riata.__doc__}\n\n{EXIT_CODES}",
)


def main() -> None:
    """Run the command line; the entry point of the ``riata`` command."""
    app(prog_name="riata")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"riata {riata.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


for command in (select, impute, predict, info, report):
    app.command(epilog=EXAMPLES[command.__name__])(command)


@app.command(epilog=EXAMPLES["demo"])
def demo(
    context: typer.Context,
    k: K = 5,
    out: OutFolder = Path("result"),
    seed: Seed = 0,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Select 5 features of the breast-cancer data of scikit-learn, with 30 columns of noise added."""
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
