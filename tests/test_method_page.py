"""The page on the method names tests that exist, and switches that estimators take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sklearn.datasets import load_diabetes

from riata import LassoNetRegressor, Training

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
LAWS = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
HEURISTICS = PAGE.split("## Defaults that are not the paper's")[1]
SWITCHES = sorted({row.split("|")[-2].strip().strip("`") for row in re.findall(r"^\|.*`.*\|$", HEURISTICS, re.M)})


@pytest.mark.parametrize(("file", "test"), LAWS, ids=[test for _, test in LAWS])
def test_a_law_has_the_test_that_is_named(file, test):
    assert re.search(rf"^def {test}\(", (ROOT / file).read_text(encoding="utf-8"), flags=re.M)


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_switch_of_a_default_is_a_parameter_with_another_value(switch):
    of_training = switch.startswith("Training(")
    given = eval(switch.replace("Training(", "dict(", 1) if of_training else f"dict({switch})")
    defaults = (Training() if of_training else LassoNetRegressor()).get_params()
    assert all(defaults[name] != value for name, value in given.items())
    X, y = load_diabetes(return_X_y=True)
    parameters = {"training": Training(**given)} if of_training else given
    LassoNetRegressor((5,), random_state=0, **parameters).fit(X[:200], y[:200])


def test_the_page_has_laws_and_switches():
    assert len(LAWS) > 30 and len(SWITCHES) > 10
