"""How classes are encoded for the network, and what its outputs say about classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, softmax

__all__ = ["Coding", "Labels", "OneHot", "Pair", "Steps"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Decided = NDArray[np.integer]


class Coding(Protocol):
    """From positions of classes, (n,), to a target, (n, o), and back from the network's output.

    Examples
    --------
    >>> import numpy as np
    >>> from riata.losses import CrossEntropy
    >>> coding = CrossEntropy().coding(np.array(["a", "b", "c"]))
    >>> coding.encode(np.array([2, 0]))
    array([[0., 0., 1.],
           [1., 0., 0.]])
    >>> coding.decide(np.array([[0.1, 0.5, 0.2]]))
    array([1])
    """

    @property
    def independent(self) -> bool:
        """Whether each output is a logit of its own."""
        ...

    @property
    def many(self) -> bool:
        """Whether a sample may have several labels at once."""
        ...

    def encode(self, codes: Codes) -> Floats:
        """Return the target.

        Parameters
        ----------
        codes : int array of shape (n,)
            Positions of the classes.

        Returns
        -------
        array of shape (n, o)
            The target.
        """
        ...

    def codes(self, target: Floats) -> Codes:
        """Return the positions of the classes.

        Parameters
        ----------
        target : array of shape (n, o)
            What :meth:`encode` returns.

        Returns
        -------
        int array of shape (n,)
            The positions.
        """
        ...

    def screened(self, target: Floats) -> Floats:
        """Return the target for the screening of columns of X, (n, ·).

        Parameters
        ----------
        target : array of shape (n, o)
            What :meth:`encode` returns.

        Returns
        -------
        array of shape (n, ·)
            One column or several, whose association with columns of X is tested.
        """
        ...

    def scores(self, output: Floats) -> Floats:
        """Return what ``decision_function`` returns.

        Parameters
        ----------
        output : array of shape (n, o)
            What the network returns.

        Returns
        -------
        array of shape (n,) or (n, ·)
            The scores.
        """
        ...

    def decide(self, scores: Floats) -> Decided:
        """Return the positions of the classes that the scores speak for.

        Parameters
        ----------
        scores : array
            What :meth:`scores` returns.

        Returns
        -------
        int array of shape (n,)
            The positions.
        """
        ...

    def probability(self, scores: Floats) -> Floats:
        """Return the probabilities of the classes, (n, n_classes).

        Parameters
        ----------
        scores : array
            What :meth:`scores` returns.

        Returns
        -------
        array of shape (n, n_classes)
            The probabilities.
        """
        ...


@dataclass(frozen=True)
class Pair:
    """Two classes, one logit."""

    independent = True
    many = False

    def encode(self, codes: Codes) -> Floats:
        """Return a column of 0 and 1."""
        return codes[:, None].astype(np.float64)

    def codes(self, target: Floats) -> Codes:
        """Return the column."""
        return target[:, 0].astype(np.int64)

    def screened(self, target: Floats) -> Floats:
        """Return the target."""
        return target

    def scores(self, output: Floats) -> Floats:
        """Return the logits, (n,)."""
        return output[:, 0]

    def decide(self, scores: Floats) -> Decided:
        """Return 1 where that is more probable."""
        return (scores > 0).astype(int)

    def probability(self, scores: Floats) -> Floats:
        """Return the probabilities of 0 and of 1."""
        positive = expit(scores)
        return np.column_stack([1 - positive, positive])


@dataclass(frozen=True)
class OneHot:
    """Many classes, one logit each."""

    n_classes: int
    independent = False
    many = False

    def encode(self, codes: Codes) -> Floats:
        """Return a 1 in the column of the class and 0 elsewhere."""
        return np.eye(self.n_classes)[codes]

    def codes(self, target: Floats) -> Codes:
        """Return the columns of the ones."""
        codes: Codes = target.argmax(axis=1)
        return codes

    def screened(self, target: Floats) -> Floats:
        """Return the target."""
        return target

    def scores(self, output: Floats) -> Floats:
        """Return the logits."""
        return output

    def decide(self, scores: Floats) -> Decided:
        """Return the most probable class."""
        decided: Decided = scores.argmax(axis=1)
        return decided

    def probability(self, scores: Floats) -> Floats:
        """Return the softmax of the logits."""
        probability: Floats = softmax(scores, axis=1)
        return probability


@dataclass(frozen=True)
class Steps:
    """Ordered classes, a logit for each step from one to the next: σ(f_k) = P(y > k | y ≥ k).

    The target of a step is 1 if it is taken, 0 if not, and NaN if it is not reached.
    """

    n_classes: int
    independent = False
    many = False

    def encode(self, codes: Codes) -> Floats:
        """Return the steps that are taken, not taken and not reached, (n, n_classes − 1)."""
        steps = np.arange(self.n_classes - 1)
        return np.where(codes[:, None] < steps, np.nan, codes[:, None] > steps)

    def codes(self, target: Floats) -> Codes:
        """Return the number of steps taken."""
        return self.screened(target)[:, 0].astype(np.int64)

    def screened(self, target: Floats) -> Floats:
        """Return the number of steps taken."""
        taken: Floats = np.nansum(target, axis=1, keepdims=True)
        return taken

    def scores(self, output: Floats) -> Floats:
        """Return the logarithms of the probabilities of the classes, (n, n_classes)."""
        start = np.zeros((len(output), 1))
        reached = np.hstack([start, np.cumsum(log_expit(output), axis=1)])
        scores: Floats = reached + np.hstack([log_expit(-output), start])
        return scores

    def decide(self, scores: Floats) -> Decided:
        """Return the most probable class."""
        decided: Decided = scores.argmax(axis=1)
        return decided

    def probability(self, scores: Floats) -> Floats:
        """Return the probabilities."""
        return np.exp(scores)


@dataclass(frozen=True)
class Labels:
    """A table of labels that are there or not, one logit each; codes are the table itself."""

    dtype: np.dtype
    independent = True
    many = True

    def encode(self, codes: Codes) -> Floats:
        """Return the table."""
        return codes.astype(np.float64)

    def codes(self, target: Floats) -> Codes:
        """Return the table."""
        return target.astype(np.int64)

    def screened(self, target: Floats) -> Floats:
        """Return the target."""
        return target

    def scores(self, output: Floats) -> Floats:
        """Return the logits."""
        return output

    def decide(self, scores: Floats) -> Decided:
        """Return 1 for labels that are more probable than not, in the numbers of the table that was learnt."""
        return (scores > 0).astype(self.dtype)

    def probability(self, scores: Floats) -> Floats:
        """Return the probability of each label."""
        probability: Floats = expit(scores)
        return probability
