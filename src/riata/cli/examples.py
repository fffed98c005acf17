"""What ``--help`` shows below the options: examples, and exit codes."""

from __future__ import annotations

__all__ = ["EXAMPLES", "EXIT_CODES"]

EXIT_CODES = """\b
Exit codes:
  0    done
  1    an error of riata itself, with a traceback
  2    unusable options, table or model file; the message says what to do
  130  interrupted; what was complete is in the folder
"""

_LINES = {
    "select": (
        "riata select cells.csv --target label --out result",
        "riata select cells.csv --target label --k 10 --stability --fdr 0.1 --jobs -1",
        "riata select claims.parquet --target amount --loss tweedie=1.5 --cv 5",
        "riata select patients.xlsx --time days --event status=dead",
        "riata select cells.h5ad --target cell_type --json > summary.json",
        "riata select digits.csv --target digit --image 28x28",
    ),
    "impute": (
        "riata impute measured.csv --out filled.csv",
        "riata impute measured.csv --na -99 --drop comment --k 10 --out filled.parquet",
    ),
    "predict": (
        "riata predict result/model.riata new.csv --out predictions.csv",
        "riata predict result/model.riata new.csv --out - | head",
        "riata predict result/model.riata patients.csv --at 365 --at 730",
    ),
    "info": ("riata info result/model.riata", "riata info result/model.riata --json"),
    "report": ("riata report result/model.riata --data test.csv --out report.html",),
    "demo": ("riata demo --out demo", "riata select demo/data.csv --target diagnosis --k 10"),
}
EXAMPLES = {
    name: "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines) + f"\n\n{EXIT_CODES}"
    for name, lines in _LINES.items()
}
