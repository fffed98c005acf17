"""Files that are hard to read give a result, or one message that says what to do; never a traceback."""

from __future__ import annotations

import re

import pytest

from tests.cli.test_cli import riata_cli

ROWS = "".join(f"{i},{i % 7},{(i * 5) % 11},{i % 2}\n" for i in range(40))
TABLE = "a,b,c,y\n" + ROWS
REFUSED = {
    "an empty file": (b"", "empty"),
    "an empty line": (b"\n", "empty|names"),
    "only names": (b"a,b,y\n", "no rows|0 rows|rows"),
    "one row": (b"a,b,y\n1,2,3\n", "row"),
    "one column": (b"y\n" + b"1\n2\n" * 20, "column"),
    "zeros": (b"\0" * 300, "."),
    "an image": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4, "."),
    "ragged rows": ((TABLE + "1,2,3,4,5\n").encode(), "line 42 has 5 fields"),
    "names that are equal": (TABLE.replace("b", "a", 1).encode(), "names must differ.*'a'"),
    "no target": (TABLE.replace("y", "z", 1).encode(), "'y'"),
    "a target with one class": (TABLE.replace(",1\n", ",0\n").encode(), "y"),
    "a target without cells": (("a,b,y\n" + "1,2,\n3,5,\n" * 20).encode(), "y"),
    "a damaged archive": (b"\x1f\x8b\x08\x00" + b"\xff" * 60, "cannot read"),
    "columns that are constant": (("a,b,y\n" + "1,2,0\n1,2,1\n" * 20).encode(), "."),
    "columns that are empty": (("a,b,y\n" + ",,0\n,,1\n" * 20).encode(), "."),
}
READ = {
    "an infinity": TABLE.replace("\n3,", "\ninf,", 1).encode(),
    "a number beyond all": TABLE.replace("\n3,", "\n1e999,", 1).encode(),
    "huge and tiny numbers": TABLE.replace("\n3,", "\n1e300,", 1).replace("\n4,", "\n1e-300,", 1).encode(),
    "returns between lines": TABLE.replace("\n", "\r").encode(),
    "another encoding": TABLE.replace("a,b", "größe,b").encode("utf-16"),
    "names that are odd": TABLE.replace("a,b", '"=1+1","<b>x</b>"').encode(),
}


def select(folder, contents):
    file = folder / "table.csv"
    file.write_bytes(contents)
    words = ("--target", "y", "--task", "classification", "--hidden", 2, "--k", 1, "--no-report", "--quiet")
    return riata_cli("select", file, *words, "--out", folder / "out")


@pytest.mark.parametrize("case", REFUSED)
def test_a_table_that_cannot_be_used_is_refused_in_one_message(case, tmp_path):
    contents, text = REFUSED[case]
    result = select(tmp_path, contents)
    assert result.exit_code == 2 and result.stderr.startswith("error: "), result.output
    assert len(result.stderr) > 30 and "Traceback" not in result.output
    assert re.search(text, result.stderr), result.stderr
    assert not (tmp_path / "out" / "model.riata").exists()


@pytest.mark.parametrize("case", READ)
def test_a_table_that_is_odd_is_read(case, tmp_path):
    result = select(tmp_path, READ[case])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "model.riata").exists()
