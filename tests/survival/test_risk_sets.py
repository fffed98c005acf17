"""Sums over risk sets equal those over a mask of each."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from riata.survival.risk_sets import RiskSets

SMALL = settings(max_examples=100, deadline=None)
EXACT = {"rtol": 0, "atol": 0}  # sums of whole numbers

ROW = st.tuples(st.integers(0, 3), st.integers(1, 4), st.booleans(), st.integers(0, 2), st.integers(-9, 9))


@pytest.mark.parametrize("entries", [False, True])
@pytest.mark.parametrize("strata", [False, True])
@SMALL
@given(rows=st.lists(ROW, max_size=15))
def test_sums_are_those_over_masks(entries, strata, rows):
    entry, length, event, stratum, values = np.array(rows, dtype=float).reshape(-1, 5).T
    entry, stratum = entry * entries, stratum * strata
    time = entry + length
    target = torch.from_numpy(np.column_stack([entry, time, event, stratum]))
    sets = RiskSets(target, torch.ones(2, len(rows)), entries=entries, strata=strata)
    given_ = sets.sort(torch.from_numpy(np.stack([values, -values])))

    same = stratum[:, None] == stratum
    tied = same & (time[:, None] == time)
    at_risk = same & (entry < time[:, None]) & (time[:, None] <= time)  # (event, sample)
    for found, mask in (
        (sets.at_risk(given_), at_risk),
        (sets.observed(given_), at_risk.T),
        (sets.tied(given_), tied),
    ):
        expected = mask @ values
        np.testing.assert_allclose(sets.unsort(found).numpy(), [expected, -expected], **EXACT)
    counted = sets.unsort(sets.up_to(torch.ones_like(given_))).numpy()[0]
    for group in np.unique(tied, axis=0) if len(rows) else ():
        assert sorted(counted[group]) == list(range(1, group.sum() + 1))


@SMALL
@given(rows=st.lists(ROW, max_size=15))
def test_values_come_back_in_the_order_of_the_samples(rows):
    table = np.array(rows, dtype=float).reshape(-1, 5)
    sets = RiskSets(torch.from_numpy(table[:, :4]), torch.ones(1, len(rows)), entries=False, strata=True)
    values = torch.from_numpy(table[:, 4])[None]
    assert torch.equal(sets.unsort(sets.sort(values)), values)


def test_an_event_of_weight_zero_is_none():
    target = torch.tensor([[0.0, 1, 1, 0], [0, 2, 1, 0]])
    sets = RiskSets(target, torch.tensor([[1.0, 0.0], [0.5, 2.0]]), entries=False, strata=False)
    np.testing.assert_array_equal(sets.unsort(sets.event), [[1, 0], [1, 1]])
