"""What ``--help`` shows: the commands and, below their options, examples and exit codes."""

from __future__ import annotations

__all__ = ["COMMANDS", "EXAMPLES", "EXIT_CODES"]

COMMANDS = {  # the module of each, and what it does
    "select": ("selecting", "Select the features of FILE that predict a column, or survival times."),
    "impute": (
        "filling",
        "Fill the gaps among the numbers, dates and flags of FILE, and measure how accurate that is.",
    ),
    "predict": ("predicting", "Predict the rows of FILE with MODEL, and score them where FILE has the target."),
    "info": ("describing", "Say what MODEL predicts from which columns, how good it was, and how it was made."),
    "report": ("reporting", "Write a report of MODEL on a table: scores, effects and the path, as one HTML file."),
    "export": ("exporting", "Write MODEL as ONNX, with which other programs predict."),
    "demo": ("demonstrating", "Select 5 features of the breast-cancer data, with 30 columns of noise added."),
}

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
    "report": ("riata report result/model.riata test.csv --out report.html",),
    "export": ("riata export result/model.riata model.onnx",),
    "demo": ("riata demo --out demo", "riata select demo/data.csv --target diagnosis"),
}
EXAMPLES = {
    name: "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines) + f"\n\n{EXIT_CODES}"
    for name, lines in _LINES.items()
}
