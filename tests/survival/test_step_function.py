"""Step functions: right-continuous, constant between times, and scikit-survival's."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sksurv.functions import StepFunction as Reference

from riata.survival.step_function import StepFunction

TIMES, VALUES = np.array([1.0, 2.5, 4.0]), np.array([0.9, 0.5, 0.2])
STEPS = StepFunction(TIMES, VALUES, 1.0)


def test_a_value_holds_from_its_time_up_to_the_next():
    np.testing.assert_array_equal(
        STEPS([0.0, 0.999, 1.0, 2.4, 2.5, 3.9, 4.0, 100.0]), [1, 1, 0.9, 0.9, 0.5, 0.5, 0.2, 0.2]
    )


def test_a_number_gives_a_number_and_an_array_its_shape():
    assert np.ndim(STEPS(2)) == 0 and float(STEPS(2)) == 0.9
    assert STEPS(np.ones((2, 3))).shape == (2, 3)


def test_within_its_domain_it_is_the_step_function_of_scikit_survival():
    times = np.random.default_rng(0).uniform(1, 4, 50)
    reference = Reference(x=TIMES, y=VALUES, domain=(0, 4))
    np.testing.assert_array_equal(STEPS(times), reference(times))
    assert STEPS.domain == reference.domain == pytest.approx((0, 4))


def test_it_survives_pickling():
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(STEPS))([0.5, 3]), STEPS([0.5, 3]))
