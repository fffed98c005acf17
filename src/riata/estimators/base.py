"""From checked data to a path: what all estimators that select features of X share."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from riata import check, threads
from riata.estimators.model import PathModel
from riata.estimators.selector import ColumnSelector
from riata.losses import Loss
from riata.network import user
from riata.network.export import FittedModule
from riata.network.stacked import Architecture, Network, Weights
from riata.path import selection
from riata.path.grid import Grid
from riata.path.points import Point
from riata.path.refit import Plan, Refit
from riata.path.solve import follow
from riata.preprocess import categories, expansion, interactions, marginal, scaling
from riata.preprocess.interactions import Interactions
from riata.preprocess.redundancy import alternatives, contributions
from riata.preprocess.samples import Rows, merged, penalty_weights
from riata.progress import PathProgress
from riata.prox import Groups
from riata.solver.problem import Problem
from riata.solver.solve import Solver
from riata.solver.stopping import LONGEST, Stopping, affordable

_BATCH = 256
_SMALL = 2000  # samples
_SMALL_START = 0.01  # size of the first weights of features without an association, relative to those drawn
_AMPLE = 10  # samples per input from which a network of all features finds those that only interact
_ENTRIES = 2**22  # of the tensors that a block of rows takes on its way forward


class BaseLassoNet(ColumnSelector, PathModel):
    """Common constructor, path and choice; subclasses say what the target looks like to the network."""

    def __init__(
        self,
        hidden_dims=(100,),
        *,
        network=None,
        M=10.0,
        preprocessing="auto",
        missing="indicator",
        categorical_features="from_dtype",
        adaptive="auto",
        screening="auto",
        lambda_start=None,
        lambda_seq=None,
        path_multiplier=1.02,
        gamma=1e-4,
        dropout=0.0,
        batch_size="auto",
        learning_rate=1e-3,
        n_iters=None,
        patience=(50, 10),
        tol=1e-4,
        val_size=0.2,
        feature_groups=None,
        feature_costs=None,
        n_features_to_select=None,
        select="1se",
        refit="warm",
        dtype="float32",
        device=None,
        on_interrupt="raise",
        verbose=0,
        random_state=None,
    ):
        self.hidden_dims = hidden_dims
        self.network = network
        self.M = M
        self.preprocessing = preprocessing
        self.missing = missing
        self.categorical_features = categorical_features
        self.adaptive = adaptive
        self.screening = screening
        self.lambda_start = lambda_start
        self.lambda_seq = lambda_seq
        self.path_multiplier = path_multiplier
        self.gamma = gamma
        self.dropout = dropout
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.n_iters = n_iters
        self.patience = patience
        self.tol = tol
        self.val_size = val_size
        self.feature_groups = feature_groups
        self.feature_costs = feature_costs
        self.n_features_to_select = n_features_to_select
        self.select = select
        self.refit = refit
        self.dtype = dtype
        self.device = device
        self.on_interrupt = on_interrupt
        self.verbose = verbose
        self.random_state = random_state

    # What subclasses define.

    _about: tuple[float, float] | None = None  # how many features are asked for and how many are too few, on other rows
    _dwell = 1  # how many times as long as a small table allows to stay at each λ, where no number is given

    def _check_y(self, y: Any, *, fitting: bool) -> NDArray[np.float64]:
        """Check a target and return it as the network sees it, (n, o)."""
        raise NotImplementedError

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _strata(self, target: NDArray[np.float64]) -> NDArray[np.int64] | None:
        """Return labels to keep in proportion when rows are split, or None."""
        return None

    def _class_weights(
        self, target: NDArray[np.float64], weights: NDArray[np.float64], *, fitting: bool
    ) -> NDArray[np.float64]:
        """Return the weights with those of classes multiplied in, which rows to train on say."""
        return weights

    def _scale_target(self, target: NDArray[np.float64], weights: NDArray[np.float64]) -> scaling.Scaling:
        return scaling.identity(target.shape[1])

    def _shown(self, target: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the target as the screening of columns sees it, (n, o); None for no screening."""
        return target

    # Fitting.

    def _fit(self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any) -> Self:
        """Follow the path from the dense model to the empty one and choose a point."""
        grid, dense, sparse = self._settings()
        with self._all_or_nothing():
            X, target, weights = self._check_rows(X, y, sample_weight)
            names = getattr(self, "feature_names_in_", None)
            ids = check.groups(self.feature_groups, names, self.n_features_in_)
            costs = check.costs(self.feature_costs, names, self.n_features_in_, ids)
            check.reachable(self.n_features_to_select, costs, ids)
            draw = check_random_state(self.random_state)
            seeds = draw.randint(np.iinfo(np.int32).max, size=3)
            # The rows are not kept under a name: once scaled, they would only hold memory.
            problem, all_weights = self._problem(
                self._validation_rows(X, target, weights, X_val, y_val, int(seeds[0])),
                ids=ids,
                costs=costs,
                seed=int(seeds[2]),
            )
            solver = self._solver(problem, int(seeds[1]))
            with self._threads(solver):
                return self._follow(
                    solver, all_weights, grid, dense, sparse, lambda: self._start(problem, int(seeds[2]))
                )

    def _follow(
        self,
        solver: Solver,
        all_weights: torch.Tensor | None,
        grid: Grid,
        dense: Stopping,
        sparse: Stopping,
        start: Callable[[], Weights],
    ) -> Self:
        """Solve the path of a problem and apply the selection rule."""
        problem = solver.problem
        n_batches = 1 if solver.batch_size is None else -(-problem.n_fit // solver.batch_size)
        if not sparse.n_iters:
            passes = affordable(len(problem.X) * self.n_features_in_, n_batches)
            sparse = replace(sparse, n_iters=self._dwell * passes)
        if not dense.n_iters:
            dense = replace(dense, n_iters=LONGEST).in_batches(n_batches)
        until = self.n_features_to_select or 0
        with PathProgress(self.n_features_in_, until=until, shown=bool(self.verbose)) as progress:
            keep = self.on_interrupt == "keep"
            weights, trained = self._informed(solver, start(), dense)
            paths = follow(
                solver, weights, grid, dense, sparse, until=until, on_point=progress, keep=keep, trained=trained
            )
        self.path_ = paths[0]
        # A solver of its own holds the samples, but none of the buffers of the path.
        fresh = self._solver(problem, 0 if solver.draw is None else solver.draw.initial_seed())
        self._refit = refit = Refit(fresh, dense, self.path_[0], start, all_weights)
        self._refitted: dict[float, Point] = {}
        chosen = selection.pick(
            self.path_,
            self.n_features_to_select,
            self.select,
            depth=2,
            about=self._about,
            refit=(lambda point: refit(point, self.refit)) if self.refit else None,
        )
        return self.to(chosen)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much each feature matters; larger is more important, and no two are equal.

        For a selected feature, the λ at which it leaves the path for good. The others come after these, ordered by
        what they explain of the target, by themselves and beside all others: redundant features come before noise.
        """
        check_is_fitted(self, "point_")
        return _ranked(self.path_.importances(), self.selected_, self._strength)

    def comparable_importances(self) -> NDArray[np.float64]:
        """Return importances that are fair to features of different kinds; 0 for those that no point of the path holds.

        Those of the path. But noise with many levels outlasts noise in numbers, so that a category which is not selected stands
        where the p-value of its marginal association stands among those of the numbers, if that is lower.
        """
        importances, held = self.path_.importances(), self.path_.selected.any(axis=0)
        n_levels = self._n_levels()
        if n_levels is not None and self._chance is not None:
            others = held & ~self.selected_
            words, numbers = others & (n_levels > 2), others & (n_levels <= 2)
            place = np.searchsorted(np.sort(self._chance[numbers]), self._chance[words])
            highest = importances[self.selected_].min(initial=importances.max())
            ladder = np.concatenate([[highest], np.sort(importances[numbers])[::-1], [0.0]])
            importances[words] = np.minimum(importances[words], (ladder[place] + ladder[place + 1]) / 2)
        return np.where(held, importances, 0)

    def refitted(self, point: Point, how: str | bool = "warm") -> Point:
        """Return a point of the path refitted on its training samples, without a penalty."""
        return self._refit(point, how)

    def to(self, point: Point) -> Self:
        """Move to a point, refitted where the estimator refits."""
        return self.load(self._at(point))

    def refit_plan(self, point: Point, how: str | bool) -> Plan:
        """Return how a refit of a point was best, by its validation samples."""
        return self._refit.plan(point, how)

    def refit_by(self, plans: Callable[[int], Plan]) -> None:
        """Say how to refit, by number of features, where no sample validates."""
        self._refit = replace(self._refit, plans=plans)

    def _threads(self, solver: Solver) -> AbstractContextManager[None]:
        problem = solver.problem
        return threads.worth(
            min(solver.batch_size or problem.n_fit, problem.n_fit), problem.X.shape[1], problem.network
        )

    # The fitted model.

    @property
    def alternatives_(self) -> pd.DataFrame:
        """For each selected feature the dropped ones that could stand in for it, the best first.

        ``r2`` is the share of the feature's variance that a regression on the other one explains; those below 0.1 are left out.
        It needs the training samples, which a pickled model does not hold.
        """
        check_is_fitted(self, "point_")
        if self._refit is None:
            raise AttributeError("alternatives_ needs the training samples, which a pickled model does not hold")
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_).astype(object))
        problem = self._refit.solver.problem
        inputs = problem.X[: problem.n_fit].cpu().numpy()
        return alternatives(inputs, self._embedding, self._scaling.scale, self.selected_, names)

    @property
    def interactions_(self) -> pd.DataFrame:
        """The features that show the target together, the clearest first: pairs, and in narrow tables triples.

        ``statistic`` is standard normal, about, where features do not interact; ``p_value`` is corrected for the number of all
        tests, and below 0.05; ``selected`` says whether all of the features are in the model. ``feature_3`` is None for a pair.
        They come from the training samples. ``screening_`` says what was tested.
        """
        check_is_fitted(self, "point_")
        found = self._interactions or interactions.none(self.n_features_in_)
        given = getattr(self, "feature_names_in_", range(self.n_features_in_))
        names = np.array([*given, None], dtype=object)  # the last for the third feature of a pair
        frame = pd.DataFrame(names[found.features], columns=["feature_1", "feature_2", "feature_3"])
        there = np.array([*self.selected_, True])[found.features].all(axis=1)
        return frame.assign(statistic=found.statistic, p_value=found.p_value, selected=pd.Series(there, dtype=bool))

    @property
    def screening_(self) -> str:
        """What was tested on the training samples before the path, and why pairs were not.

        "none", "pairs", "pairs and triples" or "marginal", followed by the reason where ``screening="auto"`` left pairs out.
        """
        check_is_fitted(self, "point_")
        if self._chance is None:
            return "none"
        if self._interactions is None:
            return "marginal" if self._untested is None else f"marginal: {self._untested}"
        return "pairs and triples" if 3 in self._interactions.n_tests else "pairs"

    def _at(self, point: Point) -> Point:
        """Return a point refitted, where the estimator refits."""
        if not self.refit or not point.n_selected:
            return point
        if point.lambda_ not in self._refitted:
            if self._refit is None:
                warnings.warn(
                    f"the point with {point.n_selected} features was not asked for before the model was pickled, and a "
                    "pickle does not hold the training samples: it is the penalised network, not refitted",
                    UserWarning,
                    stacklevel=3,
                )
                return point
            with self._threads(self._refit.solver):
                self._refitted[point.lambda_] = self._refit.finish(point, self.refit)
        return self._refitted[point.lambda_]

    def __reduce_ex__(self, protocol: Any) -> Any:
        found = super().__reduce_ex__(protocol)
        return (*found[:2], {**found[2], "_refit": None}, *found[3:]) if "_refit" in vars(self) else found

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = type(self).__new__(type(self))
        for name, value in vars(self).items():
            setattr(twin, name, value if name in ("path_", "_refit", "_refitted") else copy.deepcopy(value, memo))
        return twin

    def _get_support_mask(self) -> NDArray[np.bool_]:
        return self.selected_

    @property
    def module_(self) -> FittedModule:
        """The model at its point as a torch module, from rows of X to outputs on the scale of the target, in float64.

        Outputs are what ``predict`` begins with: logits of classes, logarithms where a loss predicts exp(output).
        """
        check_is_fitted(self, "point_")
        if self._categories is not None:
            raise AttributeError(
                "module_ takes tensors of numbers, and X has columns of categories: encode them as 0/1 columns before fit, "
                "with feature_groups, or use predict"
            )
        parts = self._embedding, self._scaling, self._target_scaling
        return FittedModule(self.point_.weights, self._network, *parts)

    def _skip_coefficients(self) -> NDArray[np.float64]:
        """Return the skip weights on the original scale of X and of the target, (o, d).

        A column that was expanded into pieces has its average slope over them; one of categories has none: NaN, where it is in
        the model.
        """
        check_is_fitted(self, "point_")
        weights, learnt = self.point_.weights, self._embedding
        coefficients = np.zeros((weights.skip.shape[1], self.n_features_in_))
        run = (self._scaling.scale * learnt.run)[weights.columns]
        slopes = weights.skip.T.astype(np.float64) / np.where(run > 0, run, np.inf)
        marks, n_pieces = learnt.marks, np.bincount(learnt.source[~learnt.marks], minlength=learnt.n_features)
        slopes /= np.maximum(n_pieces, 1)[weights.features]
        slopes[:, marks[weights.columns]] = 0
        slopes[:, n_pieces[weights.features] == 0] = np.nan
        np.add.at(coefficients.T, weights.features, slopes.T)
        return coefficients * self._target_scaling.scale[:, None]

    def _output(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return what the network says for rows of X, on the scale of the target, (n, o); always in float64."""
        check_is_fitted(self, "point_")
        return self._output_of(self._numbers(X))

    def _output_of(self, checked: NDArray[np.floating]) -> NDArray[np.float64]:
        """Go forward in blocks of rows, so that what a block takes does not depend on the number of rows."""
        weights, network = self.point_.weights, self._network
        rows = torch.from_numpy(np.hstack([weights.skip, weights.first]).astype(np.float64))
        upper = torch.from_numpy(weights.upper.astype(np.float64))
        output = np.empty((len(checked), network.n_outputs))
        size = max(1, _ENTRIES // (len(rows) + network.width + (network.n_hidden or network.width)))
        with torch.inference_mode(), threads.worth(min(size, len(output)), len(rows), network):
            layers = network.layers(Weights(rows[None], upper[None]))
            passes = {n: network.passes(1, n, rows, learns=False) for n in {min(size, len(output)), len(output) % size}}
            for start in range(0, len(output), size):
                block = checked[start : start + size]
                Z = torch.from_numpy(self._scaling.apply(block, np.float64, weights.columns, self._embedding))
                output[start : start + size] = passes[len(Z)].forward(layers, Z)[0].numpy()
        return output * self._target_scaling.scale + self._target_scaling.center

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.allow_nan = self.missing != "error"
        return tags

    # Steps of fit.

    def _settings(self) -> tuple[Grid, Stopping, Stopping]:
        check.one_of("preprocessing", self.preprocessing, ("auto", "standard", "piecewise", None))
        check.one_of("screening", self.screening, ("auto", "marginal", "pairs", None))
        check.one_of("missing", self.missing, ("indicator", "mean", "error"))
        check.number("dropout", self.dropout, high=0.99)
        if self.network is not None:
            user.check_given(self.network)
            if self.dropout:
                raise ValueError(
                    f"dropout={self.dropout} is for hidden_dims: put torch.nn.Dropout into the network instead"
                )
        if self.batch_size is not None and self.batch_size != "auto":
            check.whole("batch_size", self.batch_size, 1)
        return super()._settings()

    def _validated(self, X: Any, y: Any, **how: Any) -> tuple[Any, Any]:
        X = self._encoded(X, reset=how.get("reset", True))
        how["ensure_all_finite"] = self._finite()
        return validate_data(self, X, y, dtype=[np.float64, np.float32], multi_output=True, y_numeric=False, **how)

    def _check_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
        """Check X, y and weights, and leave out rows of weight zero."""
        self._categories = categories.learn(X, self.categorical_features, sample_weight)
        X, y = self._validated(X, y, ensure_min_samples=2)
        self._check_number()
        weights = check.sample_weight(sample_weight, len(X))
        used = weights > 0
        if not used.all():
            X, y, weights = X[used], y[used], weights[used]
        target = self._check_y(y, fitting=True)
        return X, target, marginal.effective(self._class_weights(target, weights, fitting=True))

    def _validation_rows(self, X: Any, target: Any, weights: Any, X_val: Any, y_val: Any, seed: int) -> Rows:
        """Put the rows to train on first and those to validate on behind them."""
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val go together: give both or neither")
        if X_val is not None:
            X_val, y_val = self._validated(X_val, y_val, reset=False)
            held_out = self._check_y(y_val, fitting=False)
            stacked = np.vstack([X, X_val]), np.vstack([target, held_out])
            val_weights = self._class_weights(held_out, np.ones(len(X_val)), fitting=False)
            return Rows(*stacked, np.append(weights, val_weights), len(X))
        if not self.val_size:
            return merged(X, target, weights)
        strata = self._strata(target)
        n_classes = 1 if strata is None else len(np.unique(strata))
        n_val = min(max(int(np.ceil(self.val_size * len(X))), n_classes), len(X) - n_classes)
        fit, val = train_test_split(np.arange(len(X)), test_size=n_val, stratify=strata, random_state=seed)
        order = np.concatenate([np.sort(fit), np.sort(val)])
        return Rows(X[order], target[order], weights[order], len(fit), split=True)

    @threads.one_thread()
    def _problem(self, rows: Rows, ids: Any, costs: Any, seed: int) -> tuple[Problem, torch.Tensor | None]:
        """Prepare the columns, remember how, and move everything to the device.

        Also return the weights of all samples, where those to validate on are a part of those given.
        """
        n_fit, n = rows.n_fit, len(rows.X)
        fit_weights = rows.weights[:n_fit]
        adaptive = self._exponent()
        used = adaptive or self._prepared() == "auto" or self.screening == "pairs"
        seen = self._screened(rows) if used and self.screening else None
        self._interactions = None if seen is None else self._screened_together(rows, seen)
        if seen is not None and self._interactions is not None:
            seen = seen._replace(chance=self._interactions.chance)
        self._embedding = embedded = self._learn_embedding(rows, seen)
        judged = self._screened_groups(rows, seen, ids) if adaptive else None
        costs = costs * penalty_weights(embedded.size, judged, ids, linear=not self.M)
        self._scaling = self._learn_scaling(rows.X[:n_fit], fit_weights)
        if not embedded.trivial:
            ids, costs = embedded.source if ids is None else ids[embedded.source], costs[embedded.source]
        self._target_scaling = self._scale_target(rows.target[:n_fit], fit_weights)
        device = self._device()
        self._network = self._architecture(rows.target.shape[1], seed, device)

        def tensor(array: Any) -> torch.Tensor:
            return torch.from_numpy(np.ascontiguousarray(array, dtype=self.dtype)).to(device)

        val_weights = all_weights = None
        if n > n_fit:
            all_weights = tensor(rows.weights[None] / rows.weights.sum()) if rows.split else None
            val_weights = np.zeros((1, n))
            val_weights[0, n_fit:] = rows.weights[n_fit:] / rows.weights[n_fit:].sum()
        problem = Problem(
            network=self._network,
            loss=self._loss(),
            X=tensor(self._scaling.apply(rows.X, self.dtype, embedding=embedded)),
            target=tensor(self._target_scaling.apply(rows.target, np.float64)),
            weights=tensor(fit_weights[None] / fit_weights.sum()),
            val_weights=None if val_weights is None else tensor(val_weights),
            M=tensor([self.M]),
            costs=tensor(costs),
            groups=Groups(None if ids is None else torch.from_numpy(ids).to(device), embedded.n_columns),
            gamma=float(self.gamma),
            dropout=float(self.dropout),
            adaptive=adaptive,
            embedded=embedded.source,
        )
        self._chance = None if seen is None else seen.chance
        self._strength = np.zeros(embedded.n_features)
        if (shown := self._shown(rows.target[:n_fit])) is not None:
            bins = np.zeros(embedded.n_features) if seen is None else seen.strength
            inputs = problem.X[:n_fit].cpu().numpy()
            self._strength = contributions(inputs, shown, fit_weights, embedded, self._scaling.scale, bins)
        return problem, all_weights

    def _architecture(self, n_outputs: int, seed: int, device: torch.device) -> Architecture:
        if self.network is None:
            return Network(n_outputs, check.hidden_dims(self.hidden_dims))
        dtype = getattr(torch, self.dtype)
        return user.build(self.network, self._embedding.n_columns, n_outputs, seed, dtype, device)

    def _screened(self, rows: Rows) -> marginal.Associations | None:
        """Measure what each column shows of the target by itself; None where it is not to count."""
        n, target = rows.n_fit, self._shown(rows.target)
        return None if target is None else marginal.measure(rows.X[:n], target[:n], rows.weights[:n], self._n_levels())

    def _screened_together(self, rows: Rows, seen: marginal.Associations) -> Interactions | None:
        """Test all pairs of features, and all triples of a narrow table; None where that is not asked for, or not possible."""
        n, device = rows.n_fit, self._device()
        target = self._shown(rows.target[:n])
        self._untested = None
        if target is None or self.screening == "marginal":
            return None
        if self.screening == "auto":
            self._untested = interactions.obstacle(seen.n_rows, target.shape[1], seen.chance, device.type)
        if self._untested is not None:
            return None
        return interactions.screen(rows.X[:n], target, rows.weights[:n], seen.chance, self._n_levels(), device=device)

    def _screened_groups(
        self, rows: Rows, seen: marginal.Associations | None, ids: Any
    ) -> marginal.Associations | None:
        """Do the same for groups of columns, where there are any."""
        n, target = rows.n_fit, self._shown(rows.target)
        if seen is None or ids is None or target is None:
            return seen
        return marginal.of_groups(seen, rows.X[:n], target[:n], rows.weights[:n], ids)

    def _prepared(self) -> str | None:
        """How columns are to be prepared; "auto" leaves the lasso alone, and a module that has a width already."""
        fixed = not self.M or not user.takes_any_width(self.network)
        return "standard" if self.preprocessing == "auto" and fixed else self.preprocessing

    def _learn_embedding(self, rows: Rows, seen: marginal.Associations | None) -> expansion.Expansion:
        """Learn how columns become inputs; see the page on preprocessing for what is done to which column."""
        X, weights = rows.X[: rows.n_fit], rows.weights[: rows.n_fit]
        n, d = X.shape
        how = self._prepared()
        pieces = np.ones(d, dtype=np.int64)
        if how == "piecewise":
            pieces[:] = expansion.affordable_pieces(n)
        elif how == "auto":
            pieces[:] = expansion.affordable_pieces(n, d)
            if seen is not None:
                pieces[seen.bent] = expansion.affordable_pieces(n)
            if self._interactions is not None:
                pieces[self._interactions.interacting] = expansion.affordable_pieces(n)
        marked = self.missing == "indicator"
        return expansion.learn(X, weights, pieces, self._n_levels(), tame=how == "auto", mark_missing=marked)

    def _learn_scaling(self, X: Any, weights: Any) -> scaling.Scaling:
        if self.preprocessing is None:
            return scaling.identity(self._embedding.n_columns)
        limit = scaling.LIMIT if self._prepared() == "auto" else np.inf
        return scaling.learn(X, weights, self._embedding, limit=limit)

    def _solver(self, problem: Problem, seed: int) -> Solver:
        draw = torch.Generator(problem.X.device).manual_seed(seed)
        size = _batch_size(problem.n_fit) if self.batch_size == "auto" else self.batch_size
        return Solver(problem, learning_rate=self.learning_rate, batch_size=size, draw=draw)

    def _informed(self, solver: Solver, start: Weights, stopping: Stopping) -> tuple[Weights, int]:
        """Train on the features that are associated with the target, where some of them only interact; the rest stays small.

        Among many columns a network of all of them does not find such features, and fits its training samples with the
        others instead. Return the weights to start from, and how many passes were best.
        """
        found, problem = self._interactions, solver.problem
        if found is None or not found.hidden.any() or problem.n_fit >= _AMPLE * problem.X.shape[1]:
            return start, 0
        clear = np.flatnonzero(found.clear[problem.source] & (self._scaling.scale > 0))
        columns = torch.from_numpy(clear).to(problem.X.device)
        wider = (problem.X.shape[1] / len(clear)) ** 0.5  # weights are drawn within ±1/√(number of columns)
        few = self._solver(problem.only(columns), 0 if solver.draw is None else solver.draw.initial_seed())
        drawn = few.feasible(Weights(start.rows[:, columns] * wider, start.upper))
        solution = few.minimise(drawn, torch.zeros_like(problem.M), stopping)
        rows = _SMALL_START * start.rows
        rows[:, columns] = solution.weights.rows
        return Weights(rows, solution.weights.upper), max(1, int(solution.best_iter[0]))

    def _start(self, problem: Problem, seed: int) -> Weights:
        """Draw the weights to start from; a constant column says nothing and starts outside the model."""
        start = self._network.init(self._embedding.n_columns, [seed], problem.X.dtype, problem.X.device)
        constant = torch.from_numpy(self._scaling.scale == 0).to(problem.X.device)
        start.rows[:, constant] = 0
        return start


def _batch_size(n: int) -> int | None:
    """Return how many samples an update takes: all of a small table, else 256, or a 256th of a large one."""
    return None if n < _SMALL else max(_BATCH, n // _BATCH)


def _ranked(
    importances: NDArray[np.float64], selected: NDArray[np.bool_], strength: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Order the features that are not selected by their strength, of equals by importance, below those that are."""
    others = np.flatnonzero(~selected)
    if not len(others) or not strength.any():
        return importances
    order = others[np.lexsort([importances[others], strength[others]])]
    lowest = importances[selected].min(initial=importances.max())
    ranked = importances.copy()
    ranked[order] = lowest * np.arange(1, len(order) + 1) / (len(order) + 1)
    return ranked
