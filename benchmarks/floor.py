"""The floor: the seconds that the arithmetic of a path must take on this machine, at rates measured in the same run.

Counted are the two large products of each iteration, of X with the features' weights forward and of Xᵀ with the gradient by
that product backward, over the active features, the weights that each update reads (present, last, gradient) and writes
(new), and on a GPU one launch for each update. Everything else is left out, as it could in principle take no time.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch

from benchmarks.clock import best
from riata.solver.problem import Problem


@dataclass(frozen=True)
class Work:
    """Arithmetic and memory traffic that cannot be avoided."""

    flops: float = 0.0
    bytes: float = 0.0
    updates: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(self.flops + other.flops, self.bytes + other.bytes, self.updates + other.updates)

    @staticmethod
    def of(problem: Problem, n_features: int, n_iters: int, batch_size: int | None = None) -> Work:
        """Count so many iterations on a problem with so many active features."""
        n = problem.n_fit
        entries = problem.n_replicas * n_features * problem.network.width
        n_updates = n_iters * -(-n // min(batch_size or n, n))
        return Work(4.0 * n * entries * n_iters, update_bytes(entries, problem.X) * n_updates, n_updates)


@dataclass(frozen=True)
class Rates:
    """What the machine can do in a second."""

    flops: float
    bytes: float
    launch: float = 0.0  # seconds

    def floor(self, work: Work) -> float:
        """Seconds that the work takes at these rates."""
        return work.flops / self.flops + work.bytes / self.bytes + work.updates * self.launch

    def report(self) -> dict[str, float]:
        """Return plain numbers."""
        return asdict(self)


def update_bytes(entries: int, like: torch.Tensor) -> float:
    """Bytes that one update of so many weights must move: three reads and one write."""
    return 4.0 * entries * like.element_size()


def rates(device: str) -> Rates:
    """Measure the rate of a large float32 product and of a large copy."""
    is_cuda = torch.device(device).type == "cuda"
    side = 8_192 if is_cuda else 2_048
    a, b = torch.rand(2, side, side, device=device)
    out = torch.empty_like(a)
    product = best(lambda: torch.mm(a, b, out=out), device, calls=2)
    copies = copy_rate(device, 2**28 if is_cuda else 2**26)  # more than any cache holds
    return Rates(2 * side**3 / product, copies, _launch(device) if is_cuda else 0.0)


def _launch(device: str) -> float:
    """Measure the seconds that a kernel without work takes in a recorded graph."""
    tiny, graph, n_kernels = torch.zeros(1, device=device), torch.cuda.CUDAGraph(), 1_000
    tiny.add_(1)
    with torch.cuda.graph(graph):
        for _ in range(n_kernels):
            tiny.add_(1)
    return best(graph.replay, device) / n_kernels


def copy_rate(device: str, n_floats: int) -> float:
    """Measure the bytes per second that a copy reads and writes."""
    source = torch.zeros(n_floats, device=device)
    target = torch.zeros_like(source)
    return 2 * source.nbytes / best(lambda: target.copy_(source), device)
