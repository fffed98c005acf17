"""From the dictionary of a report to one HTML document: a template, a style sheet and a script, all inlined."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

__all__ = ["render"]

# Characters that could end a script element or a line of a script, as JSON writes them.
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def render(summary: dict[str, Any]) -> str:
    """Return the document. Every text of the summary is escaped, and only the script of riata may run."""
    style, script = _asset("report.css"), _asset("report.js")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_asset("report.html")).render(
        summary=summary,
        style=Markup(style),
        style_hash=_hash(style),
        script=Markup(script),
        script_hash=_hash(script),
        data=Markup(_as_json(summary)),
    )


@cache
def _asset(name: str) -> str:
    return files("riata.report").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _as_json(summary: dict[str, Any]) -> str:
    text = json.dumps(summary, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES)
