"""Survival times: what a target holds, risk sets, hazards, survival functions and scores."""
