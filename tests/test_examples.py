"""The examples run, and find what they were made to find."""

from __future__ import annotations

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_quantile_regression_finds_the_columns_and_draws_a_picture(tmp_path, monkeypatch, capsys):
    picture = tmp_path / "picture.png"
    monkeypatch.setattr("sys.argv", ["quantile_regression.py", str(picture)])
    runpy.run_path(str(EXAMPLES / "quantile_regression.py"), run_name="__main__")
    assert picture.stat().st_size > 10_000
    assert "selected columns: 0, 1, 2, 3, 4 " in capsys.readouterr().out
