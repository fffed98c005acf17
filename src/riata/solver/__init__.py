"""Minimise the objective at one λ, for several networks at once."""
