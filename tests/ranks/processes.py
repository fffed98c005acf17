"""Two processes that do the same work together, for the tests of fits by several processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import socket
import traceback
import warnings
from collections.abc import Callable
from typing import Any


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def serve(rank: int, port: int, pipe: Any) -> None:
    """Join a process group, then do one work after another; answer with the result, or with the name and text of an error."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    while (todo := pipe.recv()) is not None:
        work, arguments = todo
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                answer = ("done", work(rank, *arguments))
        except Exception as error:
            answer = (type(error).__name__, f"{error}\n{''.join(traceback.format_tb(error.__traceback__))}")
        pipe.send(answer)
    dist.destroy_process_group()


class Pair:
    """Two ranks, each a process of its own."""

    def __init__(self) -> None:
        context, port = multiprocessing.get_context("spawn"), free_port()
        self.pipes, self.processes = [], []
        for rank in range(2):
            ours, theirs = context.Pipe()
            process = context.Process(target=serve, args=(rank, port, theirs), daemon=True)
            process.start()
            theirs.close()
            self.pipes.append(ours)
            self.processes.append(process)

    @property
    def alive(self) -> bool:
        """Whether both processes run."""
        return all(process.is_alive() for process in self.processes)

    def start(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Let both ranks begin: ``work(rank, *arguments)``, a function of a module."""
        for pipe in self.pipes:
            pipe.send((work, arguments))

    def answer(self, rank: int, seconds: float = 60) -> tuple[str, Any]:
        """Return what came of the work of a rank."""
        assert self.pipes[rank].poll(seconds), f"rank {rank} has not answered for {seconds} s"
        return self.pipes[rank].recv()

    def both(self, work: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return the results of both ranks."""
        self.start(work, *arguments)
        answers = [self.answer(rank) for rank in range(2)]
        for rank, (how, value) in enumerate(answers):
            assert how == "done", f"rank {rank}: {how}: {value}"
        return [value for _, value in answers]

    def errors(self, work: Callable[..., Any], *arguments: Any) -> list[tuple[str, str]]:
        """Return the names and the texts of the errors of both ranks."""
        self.start(work, *arguments)
        answers = [self.answer(rank) for rank in range(2)]
        assert all(how != "done" for how, _ in answers), answers
        return [(how, text.splitlines()[0]) for how, text in answers]

    def end(self) -> None:
        """End both processes."""
        for pipe in self.pipes:
            with contextlib.suppress(OSError):
                pipe.send(None)
        for process in self.processes:
            process.join(5)
            if process.is_alive():
                process.kill()
