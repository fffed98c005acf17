"""The parameters and attributes that all estimators share, said once."""

from __future__ import annotations

import inspect
import re

__all__ = ["documented"]

_PARAMETERS = """\
hidden_dims : tuple of int, default=(100,)
        Widths of the hidden layers.
    M : float, default=10
        Hierarchy coefficient: a feature's weights into the first hidden layer are at most M times the norm of its linear
        (skip) weights. 0 gives the lasso; large values an unconstrained network.
    embedding : {"auto", "piecewise"}, int or None, default="auto"
        Expand columns into piecewise-linear pieces between quantiles of the training rows, which enter and leave together,
        so that a column whose effect rises and falls has a main effect to be seen by. "piecewise" expands every column, an
        integer does so with that many pieces; "auto" expands the columns whose effect on the target a straight line hardly
        shows, and none for M = 0, the lasso. An expanded column costs as much as its pieces.
    adaptive : "auto" or float, default="auto"
        Exponent of an adaptive penalty. At each point the price of a feature is its cost times (mean / own norm of linear
        weights) to this power, with the norms of the point before: weak features leave sooner and strong ones are shrunk
        less, so that of several columns that say the same one takes over. A column that shows no effect on the target by
        itself costs up to twice as much as one that does (eight times where columns far outnumber rows), whatever the
        exponent. 0 with ``embedding=None`` is the penalty of the paper; "auto" is 0.5 for M > 0 and 0 for M = 0, the lasso.
    lambda_start : float, optional
        First λ after the dense model; found automatically by default.
    lambda_seq : sequence of float, optional
        The λ to visit, increasing, instead of an automatic grid. λ belongs to the standardised scale.
    path_multiplier : float, default=1.02
        Smallest ratio of one λ to the last; strides are longer where hardly any feature leaves.
    gamma : float, default=1e-4
        L2 penalty on the weights above the first layer. With 0 the problem has no minimiser for M > 0, and a path is defined
        by its number of updates.
    gamma_skip : float, default=0
        L2 penalty on the linear weights.
    dropout : float, default=0
        Share of hidden units that are dropped at each update.
    batch_size : int, optional
        Rows per update; all by default.
    learning_rate : float, default=1e-3
        Size of the first steps relative to the gradient. With full batches and no dropout, step sizes are found from there.
    n_iters : int or pair, default=(1000, None)
        Most passes over the training rows, for the dense model and for every other point. The second number says how
        thoroughly the path is followed: time grows with it, and points come closer to the solution for their λ. None is 14
        for a table of up to a million entries and fewer for larger ones, 7 at least.
    patience : int, None or pair, default=(50, 10)
        Passes without a better validation objective after which a point is left; None to stop on ``tol`` alone. The second
        number matters where ``n_iters`` allows more passes.
    tol : float, default=1e-4
        Fall of the objective over 20 passes, as a share of its value on entering a point, under which the point is solved
        and left, once no feature outside the model wants in. Plays no part where ``n_iters`` ends a point sooner.
    val_size : float, default=0.2
        Share of the rows held out to validate on; 0 for none.
    groups, feature_groups : sequence, optional
        Features that enter and leave together: one label per feature, or lists of columns (positions or names) that cover
        each feature once. Two names for one parameter.
    feature_costs : array-like or dict, optional
        Price of each feature, 1 by default: 0 keeps it always, larger ones drop it sooner. A dict maps columns to prices.
    n_features_to_select : int, optional
        Choose the densest point with at most so many features, and end the path there.
    select : {"1se", "best"} or float, default="1se"
        How a point is chosen otherwise: the sparsest one within one paired standard error of the lowest validation loss, the
        one with the lowest, or the last one whose λ does not exceed a number.
    refit : {False, "warm", "scratch"}, default=False
        Train again on the chosen features without a penalty, from the chosen point's weights or from new ones.
    standardize : bool, default=True
        Centre and scale the columns of X and, for regression, of y. λ, M and γ act on that scale.
    dtype : {"float32", "float64"}, default="float32"
        Precision of training.
    device : str, optional
        Where to train, such as "cpu" or "cuda"; CUDA where there is one by default.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : int, RandomState instance or None, default=None
        Seed of the split, of the weights to start from, of batches and of dropout."""

_ATTRIBUTES = """\
selected_ : bool array of shape (n_features,)
        The features in the model.
    n_selected_ : int
        Their number.
    lambda_ : float
        Penalty of the chosen point.
    path_ : Path
        All points, from the dense model to the empty one.
    point_ : Point
        The chosen point.
    feature_importances_ : array of shape (n_features,)
        λ at which a feature leaves for good; larger is more important, and no two are equal."""


def documented(cls: type) -> type:
    """Fill into a docstring the shared attributes, and the shared parameters that it does not describe itself."""
    doc = cls.__doc__ or ""
    known = inspect.signature(cls).parameters
    entries = re.split(r"\n    (?=\S)", _PARAMETERS)  # an entry begins at the margin, its description is indented
    shared = [text for text in entries if text.split(",")[0].split(" ")[0] in known]
    missing = [text for text in shared if f"    {text.split(' : ')[0]} : " not in doc]
    cls.__doc__ = doc.replace("<parameters>", "\n    ".join(missing)).replace("<attributes>", _ATTRIBUTES)
    return cls
