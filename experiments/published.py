"""Numbers that the paper reports, as it reports them: mostly accuracy on test rows with 50 features.

Lemhadri, Ruan, Abraham and Tibshirani, "LassoNet: A Neural Network with Feature Sparsity", JMLR 22 (2021).
"""

from __future__ import annotations

METHODS = ("all", "fisher", "hsic_lasso", "pfa", "lassonet")  # the columns, by our names of the methods

# The paper's MNIST and MNIST-Fashion have 10,000 rows. Its Activity has no counterpart in the files: the stand-in is
# another set, and is never shown beside these numbers.
_ROWS = ("mice_protein", "mnist_10k", "fashion_mnist_10k", "isolet", "coil20", "activity")
_NETWORK = (  # table "Classification accuracies of feature selection methods using decoder networks as the learner"
    (0.990, 0.944, 0.958, 0.939, 0.958),
    (0.928, 0.813, 0.870, 0.873, 0.873),
    (0.833, 0.671, 0.785, 0.793, 0.800),
    (0.953, 0.793, 0.877, 0.863, 0.885),
    (0.996, 0.986, 0.972, 0.975, 0.991),
    (0.853, 0.769, 0.829, 0.779, 0.849),
)
_TREES = (  # appendix table "Classification accuracies of feature selection methods using the tree-based learner"
    (0.997, 0.996, 0.996, 0.997, 0.997),
    (0.941, 0.818, 0.869, 0.879, 0.892),
    (0.831, 0.66, 0.775, 0.784, 0.794),
    (0.951, 0.818, 0.888, 0.855, 0.891),
    (0.996, 0.996, 0.993, 0.993, 0.993),
    (0.859, 0.794, 0.845, 0.808, 0.860),
)
BOSTON = {"real": 12, "noise": 1}  # features of the model of lowest test error on Boston housing with 13 of noise
_TABLES = {"network": _NETWORK, "trees": _TREES}


def accuracy(learner: str, data: str, method: str) -> float | None:
    """Look a number up; None where the paper has none."""
    if data not in _ROWS or method not in METHODS:
        return None
    return _TABLES[learner][_ROWS.index(data)][METHODS.index(method)]
