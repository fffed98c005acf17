"""The processes that fit one model together: each holds some of the samples, and all come to the same path."""

from riata.ranks.group import RankError, Ranks, join
from riata.ranks.rows import SharedRows

__all__ = ["RankError", "Ranks", "SharedRows", "join"]
