"""What a script asks for that means something else here: said once."""

from __future__ import annotations

import warnings
from functools import cache

__all__ = ["LassoNetDifference", "differs"]


class LassoNetDifference(UserWarning):
    """Something that a script for ``lassonet`` asks for is different here."""


@cache
def differs(message: str) -> None:
    """Warn, the first time that something is said."""
    warnings.warn(message, LassoNetDifference, stacklevel=4)
