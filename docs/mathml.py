"""Formulas as MathML, which browsers draw themselves: the pages load no script from anywhere."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml


def inline(writer: Any, node: nodes.math) -> None:
    """Write a formula of a line of text."""
    writer.body.append(latex2mathml.tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    """Write a formula of its own."""
    writer.body.append(latex2mathml.tex2mathml(node.astext(), as_block=True))
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True}
