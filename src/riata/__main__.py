"""The command line as a module: ``python -m riata``, which is what torchrun starts."""

from riata.cli import main

main()
