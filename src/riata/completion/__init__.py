"""Complete a table with gaps: a network predicts hidden and missing entries from the others.

A network that reconstructs its input learns the identity, and gaps keep their initial fill. So no entry is input and target at
once: before each descent a random share of the observed entries is hidden, and the loss is computed on these. Hidden entries
and gaps are filled with the network's own output, repeatedly. The network starts from the linear maps of
:mod:`riata.completion.soft_impute`, with which the fixed point of filling is that of Soft-Impute; the hidden layers add the
nonlinear part.
"""

from riata.completion.hiding import Completer, Gaps, fill
from riata.completion.points import FilledPoint, complete, evaluate_path, evaluate_point, val_weights
from riata.completion.training import HistoryRow, Trained, Trainer, train

__all__ = [
    "Completer",
    "FilledPoint",
    "Gaps",
    "HistoryRow",
    "Trained",
    "Trainer",
    "complete",
    "evaluate_path",
    "evaluate_point",
    "fill",
    "train",
    "val_weights",
]
