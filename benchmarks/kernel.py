"""One update of riata's rows against the bandwidth of the device, and against the operator of lassonet alone.

python -m benchmarks.kernel                         on CUDA: d = 100,000, K = 256, o = 10, float32
python -m benchmarks.kernel --device cpu --d 2000   the same code on the CPU, to see that it runs
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lassonet.prox import prox

from benchmarks import engine, table
from benchmarks.clock import best
from benchmarks.floor import copy_rate, update_bytes
from riata.descent import Descent
from riata.kernels import bind
from riata.network import Weights

_ROWS = 16  # of X: the update knows nothing of them
_LAMBDA = 1e-3
_LEARNING_RATE = 1e-5  # so small that the weights are the same kind of weights after all the calls


@torch.inference_mode()
def measure(d: int, width: int, n_outputs: int, device: str) -> dict[str, Any]:
    """Time the update, the copy and the reference's operator on the same shapes."""
    weights, update = _bound_update(d, width, n_outputs, device)
    n_bytes = update_bytes(weights.rows.numel(), weights.rows)
    skip, first = (part.mT.contiguous() for part in weights.rows[0].split((n_outputs, width), dim=-1))
    M = engine.DEFAULTS["M"]
    update_seconds = best(update, device, calls=20)
    prox_seconds = best(lambda: prox(skip, first, lambda_=_LAMBDA, lambda_bar=0, M=M), device)
    rate, peak = n_bytes / update_seconds, copy_rate(device, int(n_bytes) // 8)  # a copy that moves as many bytes
    return {
        "d": d,
        "K": width,
        "o": n_outputs,
        "bytes": n_bytes,
        "update_seconds": update_seconds,
        "prox_seconds": prox_seconds,
        "update_bytes_per_second": rate,
        "copy_bytes_per_second": peak,
    }


def _bound_update(d: int, width: int, n_outputs: int, device: str) -> tuple[Weights, Callable[[], None]]:
    """Bind the update to random weights and a random gradient; every call moves, since no objective is looked at."""
    X = np.zeros((_ROWS, d), dtype=np.float32)
    posed = engine.problem(X, np.arange(_ROWS) % n_outputs, width, np.ones((1, _ROWS)), device=device)
    state, weights = Descent(posed, _LEARNING_RATE).state, engine.start(posed)
    for iterate in state.iterates:
        iterate.weights.rows.copy_(weights.rows)
        iterate.weights.upper.copy_(weights.upper)
        iterate.norms.copy_(posed.groups.norm(posed.skip(weights.rows)))
    state.price.fill_(_LAMBDA)
    for gradient in state.gradient:
        gradient.normal_()
    return weights, bind(replace(state, adaptive=False))


def page(cell: dict[str, Any]) -> str:
    """Render as a table."""
    rate, peak = cell["update_bytes_per_second"], cell["copy_bytes_per_second"]
    update, prox_alone = cell["update_seconds"], cell["prox_seconds"]
    rows = [
        ["riata: step and operator", table.number(1e3 * update), table.number(rate / 1e9), f"{rate / peak:.0%}"],
        ["copy of as many bytes", table.number(1e3 * cell["bytes"] / peak), table.number(peak / 1e9), "100%"],
        ["lassonet: operator alone", table.number(1e3 * prox_alone), "–", "–"],
    ]
    text = table.markdown(["what", "ms", "GB/s", "of the copy"], rows)
    shape = (
        f"d = {cell['d']:,}, K = {cell['K']}, o = {cell['o']}, float32; {cell['bytes'] / 1e6:,.0f} MB must be moved."
    )
    return (
        f"{text}\n\n{shape} lassonet's operator alone takes {prox_alone / update:.1f} times as long as riata's update."
    )


def main() -> None:
    """Parse, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--d", type=int, default=100_000)
    parser.add_argument("--width", type=int, default=256, help="K, the width of the first hidden layer")
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
