"""Write results: one JSON file and one Markdown page per benchmark."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Render a table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float | None, digits: int = 3) -> str:
    """Write a number with so many significant digits; nothing is a dash."""
    if value is None or not np.isfinite(value):
        return "–"
    text = f"{value:.{digits}g}"
    return f"{value:,.0f}" if "e+" in text or abs(value) >= 10**digits else text


def spread(values: Sequence[float | None]) -> str:
    """Write mean ± standard deviation; nothing is a dash."""
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    mean = f"{np.mean(known):.3f}"
    return mean if len(known) == 1 else f"{mean} ± {np.std(known, ddof=1):.3f}"


def mean(cells: Sequence[dict[str, Any]], key: str) -> float | None:
    """Average one entry over cells."""
    known = [cell[key] for cell in cells if cell.get(key) is not None]
    return float(np.mean(known)) if known else None


def facts(device: str) -> dict[str, Any]:
    """Return versions and machine."""
    return {
        "versions": {name: version(name) for name in ("riata", "lassonet", "torch", "numpy", "scikit-learn")},
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name(device) if device.startswith("cuda") else device,
    }


def write(out: Path, name: str, device: str, results: dict[str, Any], text: str) -> None:
    """Write NAME.json and NAME.md."""
    out.mkdir(parents=True, exist_ok=True)
    known = facts(device)
    (out / f"{name}.json").write_text(json.dumps({"facts": known, **results}, indent=1))
    where = f"riata {known['versions']['riata']}, torch {known['versions']['torch']}, {known['device']}"
    page = f"## {name}\n\n{where}, {known['threads']} of {known['cores']} cores.\n\n{text}\n"
    (out / f"{name}.md").write_text(page)
