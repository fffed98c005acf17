"""Names in sentences."""

from __future__ import annotations

import unicodedata

__all__ = ["isolated", "listed"]

_NAMED = 8  # features in a sentence
_FIRST, _LAST = "\u2068", "\u2069"  # the first strong isolate of Unicode, and its end


def isolated(name: str) -> str:
    """Return a name as it is to stand in a sentence: one that is written from right to left does not reorder the others."""
    mixed = any(unicodedata.bidirectional(sign) in ("R", "AL", "RLE", "RLO", "RLI") for sign in name)
    return f"{_FIRST}{name}{_LAST}" if mixed else name


def listed(names: list[str]) -> str:
    """Return names as a list in a sentence, of more than eight the first seven and how many more there are."""
    if not names:
        return "none"
    names = [isolated(name) for name in names]
    if len(names) > _NAMED:
        return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1:,} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
