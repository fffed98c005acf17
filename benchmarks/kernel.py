"""One update of riata's weights against the bandwidth of the device, and against the operator of lassonet alone.

python -m benchmarks.kernel                         on CUDA: d = 100,000, K = 256, o = 10, float32
python -m benchmarks.kernel --device cpu --d 2000   the same code on the CPU, to see that it runs
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lassonet import LassoNet
from lassonet.prox import prox

from benchmarks import engine, table
from benchmarks.clock import best
from benchmarks.floor import copy_rate, update_bytes
from riata.solver.descent import Descent
from riata.solver.kernels import Recorded, bind

_SAMPLES = 16  # of X, which the update does not use
_LAMBDA = 1e-3
_LEARNING_RATE = 1e-5  # so small that the weights hardly change


class _Update:
    """The update of random weights by a random gradient, recorded as the solver records it.

    Every call takes a step, since no objective is evaluated.
    """

    def __init__(self, d: int, width: int, n_outputs: int, device: str):
        X = np.zeros((_SAMPLES, d), dtype=np.float32)
        posed = engine.problem(X, np.arange(_SAMPLES) % n_outputs, width, np.ones((1, _SAMPLES)), device=device)
        state, self.weights = Descent(posed, _LEARNING_RATE).state, engine.start(posed)
        for iterate in state.iterates:
            iterate.weights.rows.copy_(self.weights.rows)
            iterate.weights.upper.copy_(self.weights.upper)
            iterate.norms.copy_(posed.groups.norm(posed.skip(self.weights.rows)))
        state.lambdas.fill_(_LAMBDA)
        for gradient in state.gradient:
            gradient.normal_()
        self._state = replace(state, adapts_scale=False)
        self._update = bind(self._state)
        self.with_momentum = Recorded(self._with_momentum, self._state)
        self.without_momentum = Recorded(self._without_momentum, self._state)

    def _with_momentum(self) -> None:
        """Step as all but the first at each λ do; the last iterate is read too."""
        self._update()

    def _without_momentum(self) -> None:
        """Step as at the start of a λ; setting the flag is timed with it."""
        self._state.restarted.fill_(True)
        self._update()


@torch.inference_mode()
def measure(d: int, width: int, n_outputs: int, device: str) -> dict[str, Any]:
    """Time the update, the copy and the reference's operator on the same shapes."""
    update = _Update(d, width, n_outputs, device)
    rows = update.weights.rows
    n_bytes, M = update_bytes(rows.numel(), rows), engine.ESTIMATOR.M
    skip, first = (part.mT.contiguous() for part in rows[0].split((n_outputs, width), dim=-1))
    model = LassoNet(d, width, n_outputs).to(device)
    return {
        "d": d,
        "K": width,
        "o": n_outputs,
        "bytes": n_bytes,
        "bytes_without_momentum": n_bytes * 3 / 4,
        "update_seconds": best(update.with_momentum, device, calls=20),
        "update_seconds_without_momentum": best(update.without_momentum, device, calls=20),
        "copy_bytes_per_second": copy_rate(device, int(n_bytes) // 8),  # a copy that moves as many bytes
        "prox_seconds": best(lambda: prox(skip, first, lambda_=_LAMBDA, lambda_bar=0, M=M), device),
        "prox_seconds_in_training": best(lambda: model.prox(lambda_=_LAMBDA * _LEARNING_RATE, M=M), device),
    }


def page(cell: dict[str, Any]) -> str:
    """Render as a table."""
    peak, reference = cell["copy_bytes_per_second"], cell["prox_seconds"]

    def row(name: str, seconds: float, n_bytes: float | None = None) -> list[str]:
        rate = n_bytes and n_bytes / seconds
        share = f"{rate / peak:.0%}" if rate else "–"
        return [
            name,
            table.number(1e3 * seconds),
            table.number(rate and rate / 1e9),
            share,
            f"{reference / seconds:.1f}",
        ]

    rows = [
        row("riata: step with momentum, and operator", cell["update_seconds"], cell["bytes"]),
        row(
            "riata: step without (the first at each λ), and operator",
            cell["update_seconds_without_momentum"],
            cell["bytes_without_momentum"],
        ),
        row("copy of as many bytes as with momentum", cell["bytes"] / peak, cell["bytes"]),
        row("lassonet: operator alone", reference),
        row("lassonet: operator alone, as its training calls it", cell["prox_seconds_in_training"]),
    ]
    text = table.markdown(["what", "ms", "GB/s", "of the copy", "times as fast as lassonet's operator"], rows)
    return (
        f"{text}\n\nd = {cell['d']:,}, K = {cell['K']}, o = {cell['o']}, float32; {cell['bytes'] / 1e6:,.0f} MB must be "
        f"moved, {cell['bytes_without_momentum'] / 1e6:,.0f} MB without momentum, where the last iterate need not be read."
    )


def main() -> None:
    """Parse, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--d", type=int, default=100_000)
    parser.add_argument("--width", type=int, default=256, help="K, width of the first hidden layer")
    parser.add_argument("--outputs", type=int, default=10, help="o, the number of classes")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    if arguments.device.startswith("cuda") and not torch.cuda.is_available():
        raise SystemExit("no CUDA device here; to see that the code runs: --device cpu --d 2000")
    cell = measure(arguments.d, arguments.width, arguments.outputs, arguments.device)
    table.write(arguments.out, "kernel", arguments.device, {"cell": cell}, page(cell))
    print(page(cell))


if __name__ == "__main__":
    main()
