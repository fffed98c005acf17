"""From results to pages: sections of tables and pictures, written as Markdown and as one HTML page."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from experiments.baselines import METHODS, completion, knockoffs, survival, tables, unsupervised
from experiments.cells import Result, Store
from experiments.data import PAPER

_ALSO = ("riata_at",)  # a setting of riata: few columns without a refit
_METHODS = [*METHODS, *unsupervised.METHODS, *completion.METHODS, *_ALSO, *knockoffs.METHODS, *tables.METHODS]
_METHODS += survival.METHODS
KNOWN = tuple(dict.fromkeys(_METHODS))  # as pages order them
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
img { max-width: 100%; }
"""


@dataclass(frozen=True)
class Table:
    """Text in rows and columns; ``**`` around a text makes it bold."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure that is written to NAME.png."""

    name: str
    figure: Figure
    caption: str


@dataclass(frozen=True, eq=False)
class Section:
    """What one experiment has to show."""

    title: str
    text: str
    blocks: Sequence[Table | Picture]


# What experiments say it with.


def names(found: Sequence[Result], key: str) -> list[Any]:
    """Return the different values of one part of the configuration, in the order they are presented in."""
    values = {result["config"][key] for result in found}
    known = [*PAPER, *KNOWN]
    return sorted(values, key=lambda value: (known.index(value) if value in known else len(known), value))


def columns(found: Sequence[Result], **wanted: Any) -> list[Result]:
    """Return the results whose configuration has these values."""
    return [r for r in found if all(r["config"].get(key) == value for key, value in wanted.items())]


def mean(values: Sequence[float]) -> float | None:
    """Average; nothing of nothing."""
    return float(np.mean(values)) if values else None


def spread(values: Sequence[float], digits: int = 3) -> str:
    """Write mean ± standard error; nothing is a dash."""
    if not values:
        return "–"
    return f"{np.mean(values):.{digits}f}" + (f" ± {error(values):.{digits}f}" if len(values) > 1 else "")


def number(value: float | None) -> str:
    """Write a number with three digits or more; nothing is a dash."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def error(values: Sequence[float]) -> float:
    """Return the standard error of a mean; none of one value."""
    return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0


def style(method: str) -> dict[str, Any]:
    """Return what a line of a method looks like in every figure."""
    selects = method not in METHODS or METHODS[method].selects
    return {
        "color": colormaps["tab20"](KNOWN.index(method) % 20) if method in KNOWN else "black",
        "linestyle": "-" if selects else "--",
        "linewidth": 2.5 if method == "riata" else 1,
        "label": method,
    }


# Writing.


def write(sections: Sequence[Section], store: Store, command: str) -> Path:
    """Write results.md, results.html and the pictures; return the folder."""
    folder = store.folder / "pages"
    folder.mkdir(parents=True, exist_ok=True)
    for section in sections:
        for block in section.blocks:
            if isinstance(block, Picture):
                block.figure.savefig(folder / f"{block.name}.png", dpi=110, metadata={"Software": None})
    sections = [*sections, _made(store, command)]
    (folder / "results.md").write_text("\n\n".join(["# Results", *map(_section_markdown, sections)]) + "\n")
    body = "\n".join(map(_section_html, sections))
    head = f"<meta charset='utf-8'><title>riata: results</title><style>{_STYLE}</style>"
    (folder / "results.html").write_text(
        f"<!doctype html>\n<html lang='en'><head>{head}</head><body>\n<h1>Results</h1>\n{body}\n</body></html>\n"
    )
    return folder


def _made(store: Store, command: str) -> Section:
    """Say what the pages were made with, and what failed."""
    results = [result for path in sorted(store.folder.glob("*/")) for result in store.all(path.name)]
    rows = [[key, _counted([result.get(key) for result in results])] for key in ("hardware", "commit", "python")]
    packages = sorted({(name, str(v)) for r in results for name, v in r.get("versions", {}).items() if v is not None})
    rows += [["threads per cell", _counted([result.get("threads") for result in results])]]
    rows += [["packages", ", ".join(f"{name} {number}" for name, number in packages)]]
    hours = sum(result["seconds"] for result in results) / 3600
    rows += [["cells", f"{len(results):,}, {hours:.2f} hours together"], ["command", f"`{command}`"]]
    tables = [Table(["what", "with"], rows, "Made with")]
    failed = [["; ".join(map(str, r["config"].values())), r["error"].splitlines()[-1]] for r in store.failed()]
    if failed:
        tables.append(Table(["cell", "error"], failed, "Cells that failed"))
    return Section("How this was made", "One JSON file per cell lies beside these pages.", tables)


def _counted(values: Sequence[Any]) -> str:
    """List the different values, each with the number of cells it is said of where there are several."""
    counts = Counter(map(str, values)).most_common()
    return "; ".join(f"{value} ({n:,} cells)" if len(counts) > 1 else value for value, n in counts)


def _section_markdown(section: Section) -> str:
    return "\n\n".join([f"## {section.title}", section.text, *map(_block_markdown, section.blocks)])


def _block_markdown(block: Table | Picture) -> str:
    if isinstance(block, Picture):
        return f"![{block.caption}]({block.name}.png)"
    lines = [block.header, ["---", *("--:" for _ in block.header[1:])], *block.rows]
    text = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    return f"**{block.caption}**\n\n{text}"


def _section_html(section: Section) -> str:
    return "\n".join(
        [f"<h2>{html.escape(section.title)}</h2><p>{_inline(section.text)}</p>", *map(_block_html, section.blocks)]
    )


def _block_html(block: Table | Picture) -> str:
    if isinstance(block, Picture):
        caption = html.escape(block.caption)
        return f"<figure><img src='{block.name}.png' alt='{caption}'><figcaption>{caption}</figcaption></figure>"
    head = "".join(f"<th>{_inline(cell)}</th>" for cell in block.header)
    rows = "\n".join("<tr>" + "".join(f"<td>{_inline(cell)}</td>" for cell in row) + "</tr>" for row in block.rows)
    return f"<table><caption>{html.escape(block.caption)}</caption>\n<tr>{head}</tr>\n{rows}\n</table>"


def _inline(text: str) -> str:
    """Escape; then the two marks that texts here use, bold and code."""
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(text))
    return re.sub(r"`(.+?)`", r"<code>\1</code>", text)
