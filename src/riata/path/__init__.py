"""The path: its points, the λ to visit, the loop along them, selection rules, and refits."""
