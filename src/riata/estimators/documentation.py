"""The parameters and attributes that all estimators share, said once."""

from __future__ import annotations

import inspect
import re

__all__ = ["documented"]

_PARAMETERS = """\
hidden_dims : tuple of int, torch.nn.Module or callable, default=(100,)
        Widths of the hidden layers; or a network of your own for g, without the linear part: a module from n_inputs columns to
        n_outputs numbers, or a function ``network(n_inputs, n_outputs)`` that returns one. The input goes into one
        ``torch.nn.Linear``, its first layer, and nowhere else. A module is copied, and starts from its own weights; a function
        is called with ``random_state`` in torch's generators. For a module ``preprocessing="auto"`` is "standard".
    M : float, default=10
        Hierarchy coefficient: a feature's weights into the first hidden layer are at most M times the norm of its linear
        (skip) weights. 0 gives the lasso; large values an unconstrained network.
    preprocessing : {"auto", "standard", "piecewise"} or None, default="auto"
        How columns become inputs, learnt on the training samples. "auto": heavy-tailed columns pass through arcsinh; where
        there are enough samples every column is expanded into piecewise-linear pieces between its quantiles, which enter and
        leave together, else only those with a non-monotone effect; inputs are standardised and kept within five standard
        deviations. "standard" only centres columns and divides them by their standard deviation, as in the paper, and is
        what "auto" does for M = 0, the lasso, and for a sparse X. "piecewise" expands every column. None leaves columns and
        target as they are.
    missing : {"indicator", "mean", "error"}, default="indicator"
        What a missing number in X (NaN) becomes: the mean of its column and a mark, which is part of the same feature; the mean
        alone; or an error. Missing categories are a level of their own.
    categorical_features : "from_dtype", sequence or None, default="from_dtype"
        Columns that hold categories, each of which is one feature with weights for every level: those of a data frame
        (pandas or polars) that hold text or have a type of categories, or the columns given by name, by position or by a mask;
        None for none. Levels are those of the samples given to ``fit``, a missing value among them; those of a single sample
        count as one level, and one that is not in ``fit`` counts as an average sample.
    adaptive : "auto" or float, default="auto"
        Exponent of an adaptive penalty. At each point the penalty weight of a feature is multiplied by (mean / own norm of
        linear weights) to this power, with the norms of the point before: weak features leave sooner and strong ones are shrunk
        less, so that one of several correlated columns takes over. A feature without a marginal association with the target has
        up to twice the penalty weight (eight times where columns far outnumber samples). 0 with ``preprocessing="standard"`` is
        the penalty of the paper; "auto" is 0.5 for M > 0 and 0 for M = 0, the lasso.
    screening : {"auto", "marginal", "pairs"} or None, default="auto"
        What is tested on the training samples before the path. "marginal": whether each feature is associated with the target.
        "pairs": also whether any two features are together, all pairs of them, and in a narrow table all triples; see
        ``interactions_``. "auto" tests pairs unless there are too many (about 10,000 columns and 1,000 samples on a CPU) or
        more features have a marginal association than can be told from interactions (20, or one for 50 samples);
        ``screening_`` says what was done. Features without any association have a larger penalty weight (``adaptive``), and
        the path starts from a network of the others where some matter only together. None tests nothing.
    lambda_seq : sequence of float, optional
        The grid of λ, increasing, instead of an automatic one. λ belongs to the standardised scale.
    training : Training, optional
        How networks are trained and how closely the path is solved: see :class:`riata.Training`.
    val_size : float, default=0.2
        Share of the samples held out to validate on; 0 for none.
    feature_groups : sequence, optional
        Features that enter and leave together: one label per feature, or lists of columns (positions or names) that cover
        each feature once. A group of p columns has √p times the penalty weight of one column, and
        up to 2p times (8p where columns far outnumber samples) where it shows no effect.
    feature_costs : array-like or dict, optional
        Penalty weight of each feature, 1 by default: 0 keeps it always, larger drop it sooner. A dict maps columns to them.
    n_features_to_select : int, optional
        Select the densest point with at most so many features, and end the path there.
    select : {"1se", "best"} or float, default="1se"
        How a point is selected otherwise. "1se": the fewest features whose validation loss exceeds the best by no more than one
        standard error of the difference, or by 0.5 % of what the best model explains, after the refit; "best": the lowest
        validation loss of the path; a number: the last point whose λ does not exceed it.
    refit : {"warm", "scratch", False}, default="warm"
        Refit a point on its features without a penalty before it is compared or used, from weights that are there already or
        from new ones. The last refit learns from training and validation samples together.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : int, RandomState instance or None, default=None
        Seed of the split, of the weights to start from, of batches and of dropout.
    checkpoint : str or path, optional
        A folder, which is made, for what is complete: the path after each point, refits, and of cross-validation every fold.
        ``fit(..., resume=True)`` continues after the last of it, and ends with the same model, to the bit."""

_CV_PARAMETERS = """\
hidden_dims : tuple of int or list of tuples, default=(100,)
        Widths of the hidden layers; of several tuples the best is selected.
    M : float or sequence of float, default=10
        Hierarchy coefficient: a feature's weights into the first hidden layer are at most M times the norm of its linear
        (skip) weights. Of several the best is selected, each on a grid of its own.
    cv : int, splitter or iterable, default=5
        Number of folds, shuffled and, for classes, stratified; or any splitter of scikit-learn, or pairs of training and
        test rows.
    scoring : str or callable, optional
        Any scorer of scikit-learn; by default the estimator's ``score``: accuracy, or R² or what suits the loss.
    n_features_to_select : int, optional
        Select the densest point with at most so many features, and end the path there; M and the network are then selected
        by their scores with about that many.
    select : {"1se", "best"} or float, default="1se"
        How λ is selected otherwise: of all candidates and λ the one with the fewest features whose mean score is within one
        standard error of the best, or within 0.5 % of what the best is above the emptiest model, the one with the best, or a
        number. The standard error is that of the best mean over folds; for accuracy, not less than a share of that many samples
        has by chance. Between numbers of features that have a score it is taken from a straight line.
    refit : {"warm", "scratch", False}, default="warm"
        Score models that are refitted on their features without a penalty, from the point's weights or from new ones, and
        refit the selected one so. A penalised network loses accuracy to its penalty before it does to missing features, so
        False keeps more features; it is several times as fast.
    val_size : float, default=0.2
        Share of all samples held out on the first path, which gives the grid of λ and the iterations of the dense model. It
        is drawn without regard to ``groups``.
    n_jobs : int, optional
        How many folds to work on at once, as in joblib; -1 for all cores. Each uses one core, and results do not depend on
        where it runs. ``joblib.parallel_config`` takes them to Dask or Ray. If not given, on a GPU the networks of all folds
        are trained side by side."""

_CV_ATTRIBUTES = """\
cv_results_ : DataFrame
        One row for each candidate and λ: ``hidden_dims``, ``M``, ``lambda_``, the mean number of features over folds
        ``n_selected``, ``mean_test_score``, ``se_test_score`` and the scores of all folds, ``split0_test_score`` and so on.
    cv_index_ : int
        The selected row of ``cv_results_``.
    cv_n_selected_ : float
        How many features the folds ask for: those of the selected row, on average, or with "1se" somewhat fewer, between this
        and the next sparser row. The model on all samples has about as many; its λ may be another.
    cv_score_, cv_score_se_ : float
        Mean score over folds with so many features, and the standard error of the selected row. The model was selected by
        these scores: for an unbiased score, hold samples out.
    M_, hidden_dims_ : float, tuple of int
        The selected ones."""

_REGRESSION_LOSS = """\
loss : str, instance of a class of riata.losses, function or list, optional
        What is minimised: "squared_error" (the default), "absolute_error", "huber", "quantile" (the median), "poisson",
        "gamma", "tweedie", or an instance with parameters, such as ``losses.Quantile((0.1, 0.9))``. "poisson", "gamma" and
        "tweedie" predict exp(output), and divide y by its mean where others standardise it. A function takes tensors
        ``(output, target)`` of shape (n, n_outputs) and returns one loss per sample, (n,), or one per output; it gets the
        standardised target, unless ``preprocessing=None``, and ``predict`` returns the output on the scale of y. A list holds
        one loss for each column of y; they are added up, and predictions have the columns of all of them, in order."""

_CLASSIFICATION_LOSS = """\
loss : str, instance of a class of riata.losses or function, optional
        What is minimised: "cross_entropy" (the default), "focal", or "ordinal" for classes with an order, that of the numbers
        in y; or an instance with parameters, such as ``losses.Focal(gamma=1.0)``. A function takes tensors ``(logits, target)``
        and returns one loss per sample, (n,), or one per logit; the target is one-hot, (n, n_classes), or 0/1 for two classes,
        (n, 1), and for a table of labels, (n, n_labels)."""

_ATTRIBUTES = """\
selected_ : bool array of shape (n_features,)
        The features in the model.
    n_selected_ : int
        Their number.
    lambda_ : float
        Penalty of the selected point.
    path_ : Path
        All points, from the dense model to the empty one.
    point_ : Point
        The selected point.
    alternatives_ : DataFrame
        For each selected feature the dropped ones that are most like it, with the share of its variance they explain.
    interactions_ : DataFrame
        Pairs (in narrow tables also triples) of features that are associated with the target together, with corrected p-values.
    screening_ : str
        What was tested before the path.
    module_ : torch.nn.Module
        The network at the selected point, from samples of X to (n, n_outputs) on the scale of the target.
    feature_importances_ : array of shape (n_features,)
        λ at which a selected feature leaves for good, and below these the others by what they explain of the target; larger is
        more important, and no two are equal."""

_PLACES = {
    "<cv parameters>": _CV_PARAMETERS,
    "<cv attributes>": _CV_ATTRIBUTES,
    "<regression loss>": _REGRESSION_LOSS,
    "<classification loss>": _CLASSIFICATION_LOSS,
}


def documented(cls: type) -> type:
    """Fill into a docstring the shared attributes, and the shared parameters that it does not describe itself."""
    doc = cls.__doc__ or ""
    for place, text in _PLACES.items():
        doc = doc.replace(place, text)
    known = inspect.signature(cls).parameters
    entries = re.split(r"\n    (?=\S)", _PARAMETERS)  # an entry begins at the margin, its description is indented
    shared = [text for text in entries if text.split(",")[0].split(" ")[0] in known]
    missing = [text for text in shared if f"    {text.split(' : ')[0]} : " not in doc]
    cls.__doc__ = doc.replace("<parameters>", "\n    ".join(missing)).replace("<attributes>", _ATTRIBUTES)
    return cls
