"""The path: its points, the grid of λ, the path solver, selection rules, and refits."""
