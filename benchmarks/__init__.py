"""Time riata against the lassonet package and against the machine: see ``python -m benchmarks --help``."""
