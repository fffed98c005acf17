"""Fuzzing of what reads files: ``python -m tests.fuzz models`` or ``tables``; the corpus is replayed in the tests."""
