def read(path: Path) -> pd.DataFrame:
    """Read a csv or parquet file.

    Parameters
    ----------
    path : Path
        A ``.csv`` file (``.csv.gz`` too; separated by comma, semicolon or tab) or a ``.parquet`` file.

    Returns
    -------
    DataFrame
        As stored, with text for column names.

    Raises
    ------
    TableError
        If it cannot be read, or two columns have the same name.
    """
    kinds = {".csv": _read_csv, ".csv.gz": _read_csv, ".parquet": _read_parquet, ".pq": _read_parquet}
    reader = next((kinds[kind] for kind in kinds if path.name.lower().endswith(kind)), None)
    if reader is None:
        raise TableError(f"{path} is neither .csv nor .parquet: save it as one of these")
    try:
        frame = reader(path)
    except TableError:
        raise
    except UnicodeDecodeError:
        raise TableError(f"cannot read {path}: it is not UTF-8 text; save it with that encoding") from None
    except ImportError:
        raise TableError("reading parquet needs pyarrow: pip install 'riata[parquet]'") from None
    except (OSError, EOFError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else " ".join(str(error).split())
        raise TableError(f"cannot read {path}: {reason}") from None
    frame.columns = frame.columns.map(str)
    _refuse_duplicates(frame.columns)
    return frame


def _read_csv(path: Path) -> pd.DataFrame:
    def header(separator: str) -> list[str]:
        top = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, sep=separator)
        return top.iloc[0].tolist()

    separator = max(",;\t", key=lambda s: len(header(s)))
    _refuse_duplicates(name for name in header(separator) if name)  # pandas would rename them without a word
    frame = pd.read_csv(path, sep=separator, low_memory=False)
    if not isinstance(frame.index, pd.RangeIndex):
        raise TableError(f"cannot read {path}: its rows have more fields than the header has names; name every column")
    return frame


def _read_parquet(path: Path) -> pd.DataFrame:
    frame = pd.read_parquet(path)
    named = [name for name in frame.index.names if name is not None]
    return frame.reset_index() if named else frame.reset_index(drop=True)


def _refuse_duplicates(names: Iterable[str]) -> None:
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    twice = [f"{name!r} ({count} times)" for name, count in seen.items() if count > 1]
    if twice:
        raise TableError(f"column names must differ; found {some(twice)}: rename or remove the copies")
