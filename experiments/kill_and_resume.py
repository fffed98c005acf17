"""Kill fits at random moments, or let their disk run full, continue them, and compare them with unbroken ones.

    python -m experiments.kill_and_resume --runs 50                   kill -9, on the CPU
    python -m experiments.kill_and_resume --runs 10 --device cuda     on a GPU
    python -m experiments.kill_and_resume --full-disk 20              a full disk; needs the right to mount one (Linux)
    python -m experiments.kill_and_resume --cost                      what a checkpoint costs

A run is one fit in processes of its own, the first of which are killed, up to three, and the last of which goes on to the end.
Its result, to the last bit, is that of an unbroken fit; no file under a final name is ever incomplete. Prints one line for each
run and a summary, and exits with 1 if one of them differs.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_classification, make_friedman1, make_regression

_MOST_KILLS = 3
_FULL = 75  # exit status of a fit whose disk is full


def cases(device: str) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Return estimators and data, by name; of a second or some."""
    import riata
    from riata import Training

    training = Training(device=device, path_multiplier=1.05)
    coarse = Training(device=device, path_multiplier=1.2)
    common: dict[str, Any] = {"hidden_dims": (30,), "random_state": 0}
    few = make_friedman1(600, 15, noise=0.5, random_state=0)
    many = make_classification(4000, 25, n_informative=8, random_state=0)
    wide = make_regression(300, 40, n_informative=10, noise=5, random_state=0)
    gaps = np.where(np.random.default_rng(0).random(few[0].shape) < 0.1, np.nan, few[0])
    times = np.column_stack([np.exp(-few[1] / 5), np.random.default_rng(1).random(600) < 0.8])
    plain = riata.LassoNetRegressor(**common, training=coarse)
    found = {
        "full batch": (riata.LassoNetRegressor(**common, training=training), few),
        "mini-batches": (riata.LassoNetClassifier(**common, training=coarse), many),
        "cross-validation": (riata.LassoNetRegressorCV(**common, training=coarse, cv=3), few),
        "stability": (riata.StabilitySelector(plain, n_resamples=6, max_false=3, random_state=0), few),
        "knockoffs": (riata.KnockoffSelector(plain, fdr=0.3, n_fits=2, random_state=0), wide),
        "dropout": (
            riata.LassoNetRegressor(**common, training=Training(device=device, path_multiplier=1.1, dropout=0.2)),
            few,
        ),
        "gaps": (riata.LassoNetImputer(**common, training=training), (gaps,)),
    }
    if device == "cpu":  # sums over risk sets may differ from one fit to the next on a GPU
        found["survival"] = (riata.LassoNetCoxRegressor(**common, training=training), (few[0], times))
    return found


def digest(value: Any) -> str:
    """Return a hash of all numbers of a result."""
    found = hashlib.sha256()

    def feed(value: Any) -> None:
        if hasattr(value, "to_numpy"):
            value = value.to_numpy()
        if isinstance(value, np.ndarray) and value.dtype != object:
            found.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, np.ndarray | list | tuple):
            for each in value:
                feed(each)
        elif hasattr(value, "visited"):
            feed([value.visited, list(value)])
        elif hasattr(value, "__dataclass_fields__"):
            feed([getattr(value, name) for name in value.__dataclass_fields__])
        else:
            found.update(repr(value).encode())

    names = ("path_", "point_", "cv_results_", "path_frequencies_", "statistics_", "e_values_", "selected_")
    feed([getattr(value, name, None) for name in names])
    return found.hexdigest()[:16]


def fit(name: str, folder: str | None, device: str) -> int:
    """Fit, in a process of its own; say when it begins, and what came of it."""
    warnings.simplefilter("ignore")
    from riata.storage import UnwritableError

    model, data = cases(device)[name]
    print("begin", flush=True)
    start = time.perf_counter()
    try:
        model.set_params(checkpoint=folder).fit(*data, **({} if folder is None else {"resume": True}))
    except UnwritableError as error:
        print(error, flush=True)
        return _FULL
    print(json.dumps({"digest": digest(model), "seconds": time.perf_counter() - start}), flush=True)
    return 0


def started(name: str, folder: Path | None, device: str) -> subprocess.Popen[str]:
    """Start a fit, and wait until it begins."""
    command = [sys.executable, "-m", "experiments.kill_and_resume", "--fit", name, "--device", device]
    command += [] if folder is None else ["--folder", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None and process.stdout.readline() == "begin\n"
    return process


def kill_after(seconds: float, name: str, folder: Path, device: str) -> None:
    """Start a fit, and kill it some time after it has begun. On the CPU it is forked, which saves the time of the imports."""
    if device != "cpu":
        process = started(name, folder, device)
        time.sleep(seconds)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return
    forked = multiprocessing.get_context("fork").Process(target=quietly, args=(name, str(folder), device))
    forked.start()
    forked.join(seconds)
    forked.kill()
    forked.join()


def quietly(name: str, folder: str, device: str, printed: Any = None) -> None:
    """Fit, print nothing, and send what would have been printed."""
    with io.StringIO() as buffer, redirect_stdout(buffer):
        status = fit(name, folder, device)
        if printed is not None:
            printed.send(None if status == _FULL else json.loads(buffer.getvalue().splitlines()[-1]))


def done(name: str, folder: Path, device: str) -> dict[str, Any] | None:
    """Fit, on the CPU in a forked process; return the result, None where the disk was full."""
    if device != "cpu":
        return ended(started(name, folder, device))
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    forked = context.Process(target=quietly, args=(name, str(folder), device, sender))
    forked.start()
    sender.close()
    result: dict[str, Any] | None = receiver.recv()
    forked.join()
    return result


def ended(process: subprocess.Popen[str]) -> dict[str, Any] | None:
    """Wait for the result; None where the disk was full."""
    printed, _ = process.communicate()
    if process.returncode == _FULL:
        return None
    if process.returncode:
        raise RuntimeError(f"a fit ended with {process.returncode}: {printed}")
    result: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return result


def incomplete(folder: Path) -> list[str]:
    """Return the files that have a final name and cannot be read."""
    from riata.storage import ModelFileError, unpack
    from riata.storage.archive import CHECKPOINT

    found = []
    for file in folder.rglob("*.checkpoint"):
        try:
            unpack(file.read_bytes(), CHECKPOINT)
        except ModelFileError as error:
            found.append(f"{file}: {error}")
    return found


def complete(folder: Path) -> dict[str, str]:
    """Return the files that hold what is complete, with a hash of each; states come and go."""
    files = [file for file in folder.rglob("*.checkpoint") if not file.name.startswith(("state", "about"))]
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def killed(
    name: str, seconds: float, device: str, draw: np.random.Generator, folder: Path
) -> tuple[dict[str, Any], str]:
    """Kill a fit up to three times, then let it end; return its result and what happened.

    Of five fits one ends in a process that imports everything anew, the others in one that is forked.
    """
    moments, problems = [], []
    for _ in range(int(draw.integers(1, _MOST_KILLS + 1))):
        moments.append(float(draw.uniform(0, seconds)))
        kill_after(moments[-1], name, folder, device)
        problems += incomplete(folder)
    fresh = draw.random() < 0.2
    result = ended(started(name, folder, device)) if fresh else done(name, folder, device)
    assert result is not None
    shown = f"{'ended anew, ' if fresh else ''}killed after " + ", ".join(f"{moment:.2f} s" for moment in moments)
    return {**result, "problems": problems + incomplete(folder)}, shown


def filled(
    name: str, seconds: float, device: str, draw: np.random.Generator, folder: Path
) -> tuple[dict[str, Any], str]:
    """Fit on a disk that is too small for the checkpoint, make room, and let the fit end."""
    needed = _needed(name, device)
    size, problems = int(draw.uniform(0.05, 0.9) * needed), []
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(folder)], check=True)
    try:
        result = done(name, folder, device)
        problems += [] if result is None else ["the disk was not full"]
        before = complete(folder)
        problems += incomplete(folder)
        subprocess.run(["mount", "-o", "remount,size=1g", str(folder)], check=True)
        result = done(name, folder, device)
        assert result is not None
        after = complete(folder)
        problems += [f"{file} was lost" for file, found in before.items() if after.get(file, found) != found]
        shown = f"a disk of {size} of {needed} kB, {len(before)} files complete"
        return {**result, "problems": problems + incomplete(folder)}, shown
    finally:
        subprocess.run(["umount", str(folder)], check=True)


_sizes: dict[str, int] = {}


def _needed(name: str, device: str) -> int:
    """Return about how many kilobytes the whole checkpoint of a fit takes on a disk."""
    if name not in _sizes:
        with tempfile.TemporaryDirectory() as folder:
            done(name, Path(folder) / "run", device)
            files = [file for file in Path(folder).rglob("*") if file.is_file()]
            _sizes[name] = sum(-(-file.stat().st_size // 4096) * 4 for file in files)
    return _sizes[name]


def cost() -> None:
    """Print what a checkpoint costs, of one core and on a disk."""
    warnings.simplefilter("ignore")
    from riata import LassoNetClassifier

    tables = {
        "breast cancer": load_breast_cancer(return_X_y=True),
        "digits": load_digits(return_X_y=True),
        "made": make_classification(400, 3000, n_informative=20, random_state=0),
    }
    LassoNetClassifier(random_state=0).fit(*tables["breast cancer"])  # compiles
    for name, (X, y) in tables.items():
        with tempfile.TemporaryDirectory() as home:
            seconds = []
            for folder in (None, home):
                start = time.process_time()
                LassoNetClassifier(random_state=0, checkpoint=folder).fit(X, y)
                seconds.append(time.process_time() - start)
            sizes = [file.stat().st_size for file in Path(home).iterdir()]
        without, with_ = seconds
        shown = f"{len(sizes)} files, {sum(sizes) / 1e6:.1f} MB, processor {without:.2f} s without, {with_:.2f} s with"
        print(f"{name}, {X.shape[0]} x {X.shape[1]}: {shown}", flush=True)


def main() -> int:
    """Parse, run, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=0, help="fits to kill")
    parser.add_argument("--full-disk", type=int, default=0, help="fits whose disk runs full")
    parser.add_argument("--cost", action="store_true", help="what a checkpoint costs")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--cases", nargs="*", help="some of the kinds of fits")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fit", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.fit:
        return fit(asked.fit, asked.folder, asked.device)
    if asked.cost:
        cost()
        return 0
    names = asked.cases or list(cases(asked.device))
    whole: dict[str, dict[str, Any]] = {}
    draw, n_same, n = np.random.default_rng(asked.seed), 0, 0
    for what, times in ((killed, asked.runs), (filled, asked.full_disk)):
        for i in range(times):
            name = names[i % len(names)]
            with tempfile.TemporaryDirectory() as home:
                folder = Path(home) / "run"
                if name not in whole:
                    whole[name] = ended(started(name, folder, asked.device)) or {}
                    shutil.rmtree(folder)
                    if asked.device != "cpu":
                        again = ended(started(name, folder, asked.device)) or {}
                        shutil.rmtree(folder)
                        if again["digest"] != whole[name]["digest"]:
                            print(f"    {name}: two unbroken fits differ", flush=True)
                result, shown = what(name, whole[name]["seconds"], asked.device, draw, folder)
            same = result["digest"] == whole[name]["digest"] and not result["problems"]
            n, n_same = n + 1, n_same + same
            print(
                f"{n:3d} {name}: {shown}: {'the same' if same else 'ANOTHER RESULT'}", *result["problems"], flush=True
            )
    print(f"{n_same} of {n} runs are those of an unbroken fit, to the bit ({asked.device})")
    return int(n_same < n)


if __name__ == "__main__":
    sys.exit(main())
