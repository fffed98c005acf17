"""How much of a table is held in memory at a time."""

from __future__ import annotations

from riata.preprocess.expansion import affordable_pieces

__all__ = ["n_held"]

MOST_ROWS = 2**17  # rows from which everything is learnt that is not learnt from all
MOST_INPUTS = 2**27  # numbers that a network gets of the rows in memory; half a gigabyte in single precision
_FEWEST = 256


def n_held(n_rows: int, n_columns: int) -> int:
    """Return how many rows of a table are held in memory at a time: all of one that is small, else a part.

    What counts is the size of what a network gets: a column may be expanded into several pieces.
    """
    affordable = MOST_INPUTS // max(n_columns * affordable_pieces(MOST_ROWS, max(n_columns, 1)), 1)
    return n_rows if n_rows <= affordable else max(min(MOST_ROWS, affordable), _FEWEST)
