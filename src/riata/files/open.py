"""From a file to a table that is ready to fit on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from riata.files.columns import ColumnOptions, SurvivalColumns
from riata.files.messages import TableError
from riata.files.read import ReadOptions, read
from riata.files.survival import prepare_survival
from riata.files.table import Table, prepare

__all__ = ["read_table"]

Names = Sequence[str]


def read_table(
    path: str | Path,
    target: str | None = None,
    *,
    time: str | None = None,
    event: str | None = None,
    entry: str | None = None,
    strata: str | None = None,
    id: str | None = None,
    task: str = "auto",
    categorical: Names = (),
    numeric: Names = (),
    dates: Names = (),
    drop: Names = (),
    keep_constants: bool = False,
    sep: str | None = None,
    decimal: str | None = None,
    na: Names = (),
    skip: int = 0,
) -> Table:
    r"""Read a table from a file as ``riata select`` does, and determine what each of its columns holds.

    Parameters
    ----------
    path : str or Path
        A csv, tsv, txt, parquet, feather, xlsx or h5ad file; text may be compressed with gzip, ``-`` is standard input. Of
        AnnData (h5ad) the variables are features; columns of ``obs`` are used if they are named.
    target : str, optional
        The column to predict.
    time, event : str, optional
        Instead of a target, survival times, and whether they end with the event: a column, or ``column=level`` with the
        level that is the event.
    entry, strata, id : str, optional
        Of survival times: when observation begins, groups with a baseline hazard of their own, and subjects.
    task : {"auto", "classification", "regression"}
        Whether the target holds classes or a quantity.
    categorical, numeric, dates : sequence of str
        Columns to take as categories, as numbers or as dates, whatever would be inferred.
    drop : sequence of str
        Columns to leave out.
    keep_constants : bool
        Whether columns with the same number in all cells are features, such as the corners of images.
    sep, decimal : str, optional
        The separator of fields, and the decimal sign; detected from the file by default.
    na : sequence of str
        Cells that stand for missing values, beside the usual ones such as ``NA``.
    skip : int
        Rows above the names, such as a title.

    Returns
    -------
    Table
        ``X`` and ``y`` to fit on, ``kinds``, a description of each column, and ``split`` to hold rows out.

    Raises
    ------
    TableError
        A ValueError; if the file cannot be read or used, with the remedy.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import riata
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "table.csv"
    >>> _ = file.write_text("id;size;town;price\n" + "".join(f"{i};{i % 7},5;T{i % 3};{i % 5}\n" for i in range(30)))
    >>> table = riata.read_table(file, "price")
    >>> table.kinds[["name", "kind"]].to_numpy().tolist()
    [['id', 'identifier'], ['size', 'number'], ['town', 'category']]
    >>> fit, held_out = table.split(random_state=0)
    >>> len(fit), len(held_out)
    (24, 6)
    """
    survival = _survival(target, time, event, entry=entry, strata=strata, id=id)
    columns = ColumnOptions(_names(categorical), _names(numeric), _names(dates), _names(drop), keep_constants)
    source = read(Path(path), ReadOptions(sep, decimal, _names(na), skip))
    if survival is not None:
        return prepare_survival(source, survival, columns)
    return prepare(source, str(target), task, columns)


def _names(given: Names) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _survival(target: str | None, time: str | None, event: str | None, **others: str | None) -> SurvivalColumns | None:
    """Return the columns of survival times; None where there is a target."""
    if target is not None and all(name is None for name in (time, event, *others.values())):
        return None
    if target is not None or time is None or event is None:
        raise TableError("give target, or time and event (with entry, strata and id where they apply)")
    return SurvivalColumns(time, event, **others)
