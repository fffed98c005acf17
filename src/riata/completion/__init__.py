"""Complete a table with gaps: a network that predicts entries it is not shown from those it is.

Taken literally, a network that reconstructs its input learns the identity, and the answer is the initial fill. So an entry is
never input and target at once: before each descent a random share of the known entries is hidden, and these are what is
scored. Hidden entries and gaps alike are filled with the network's own output, several times over; with the linear maps of
:mod:`riata.completion.soft_impute` to start from this is the fixed point of Soft-Impute, and the hidden layers bend it.
"""

from riata.completion.hiding import Completer, Gaps, Round, Trained, fill, train
from riata.completion.points import FilledPoint, Training, complete, judge, judged_point, row_weights

__all__ = [
    "Completer",
    "FilledPoint",
    "Gaps",
    "Round",
    "Trained",
    "Training",
    "complete",
    "fill",
    "judge",
    "judged_point",
    "row_weights",
    "train",
]
