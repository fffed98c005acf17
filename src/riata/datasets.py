"""The data sets of the paper by name: from a folder of files, or from OpenML into a cache.

Files are compressed NumPy archives with ``X`` and ``y`` (or ``time`` and ``event``). They are read from ``folder``, or
else from the folder that the environment variable ``RIATA_DATA`` names, or else from the cache (``$XDG_CACHE_HOME/riata`` or
``~/.cache/riata``), where data sets from OpenML are stored. Every file is verified against its checksum.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml

__all__ = ["NAMES", "Dataset", "load"]

_TRAIN, _TEST = slice(None, 60_000), slice(60_000, None)  # OpenML holds both parts of (Fashion-)MNIST in one table


class _Source(NamedTuple):
    """Where a data set comes from."""

    description: str
    sha256: str | None = None  # of NAME.npz; None: no such file is known
    file: str | None = None  # if it is not NAME.npz
    openml: tuple[str, int] | None = None  # name and version there
    samples: slice = slice(None)  # the part of the table at OpenML


_SOURCES = {
    "mice_protein": _Source(
        "Mice Protein Expression (UCI), 1,080 x 77, 8 classes, with gaps; extra: mouse, genotype, treatment, behavior",
        "2c1146ae29c2cb5f96c15e489aa5a22247c234a45a9e0eea4ed4af0f44dbf685",
        openml=("MiceProtein", 4),
    ),
    "mnist": _Source(
        "MNIST, training part, 60,000 x 784, 10 classes, pixels 0 to 255",
        "a053f604ce606963274dfe1a1a92ee243d95b5686279ff1a5ae08da4726dc2e3",
        "mnist_60k.npz",
        ("mnist_784", 1),
        _TRAIN,
    ),
    "mnist_10k": _Source(
        "MNIST, test part, 10,000 x 784, 10 classes, pixels 0 to 255",
        "96ec6a9c413a1e20a45398cb23275e33c439c12ee65564d4b8ff0a0ef4d64f14",
        openml=("mnist_784", 1),
        samples=_TEST,
    ),
    "fashion_mnist": _Source(
        "Fashion-MNIST, training part, 60,000 x 784, 10 classes, pixels 0 to 255",
        openml=("Fashion-MNIST", 1),
        samples=_TRAIN,
    ),
    "fashion_mnist_10k": _Source(
        "Fashion-MNIST, test part, 10,000 x 784, 10 classes, pixels 0 to 255",
        "8ec252feec84770162e616c2fa14cdd4a91d9a5639865467f62e161e96287d92",
        openml=("Fashion-MNIST", 1),
        samples=_TEST,
    ),
    "isolet": _Source(
        "ISOLET (UCI), spoken letters, 7,797 x 617, 26 classes; extra: part (1 to 5; the official test part is 5)",
        "bdcfe5a6527fa299d987c9d9353ca9309a6372b7dfd91163776e14edbdf44acf",
        openml=("isolet", 1),
    ),
    "coil20": _Source(
        "COIL-20, objects on a turntable, 20 x 20 pixels, 1,440 x 400, 20 classes; extra: view, X_nearest",
        "e490329037145d5d4fe3389a711dca8e2aa6eb144c69565f915a4cbea5990f46",
    ),
    "activity": _Source("Activities by smartphone sensors (UCI), 561 features, 6 classes"),
    "activity_hapt_subset": _Source(
        "A fifth of the training part of HAPT (UCI), 1,554 x 561, 6 activities and 6 transitions; NOT the paper's Activity",
        "d4f147c6799dc8cb3d38368c1a152bf40d14d413e0f271b7e293fea085b0d498",
    ),
    "boston": _Source(
        "Boston housing, 506 x 13, regression on MEDV; extra: cmedv (MEDV corrected in 8 samples)",
        "bbc98dbeabb41d4a4079e10f2d9940e588c8efe11d63c759c5fd416f158f0a07",
        openml=("boston", 1),
    ),
    "hnscc": _Source(
        "Head and neck cancer, radiomics, 451 x 107, survival",
        "e0b466286fa626cd30868e49c7006e3d1253e50c3148cf12050e847064524443",
    ),
    "metabric": _Source(
        "METABRIC, breast cancer, 1,904 x 9, survival; extra: is_test",
        "188d50d425c323fd0dc12d4dcd242ec84f3462f44b4ffeb9281c0c9ccc91465e",
    ),
    "support": _Source(
        "SUPPORT, seriously ill patients, 8,873 x 14, survival; extra: is_test",
        "be2b1071f656b0da6904f29ebcc0c624ee0cb092442ee6f73bab5118a97460cc",
    ),
    "gbsg": _Source(
        "Rotterdam tumour bank and GBSG, breast cancer, 2,232 x 7, survival; extra: is_test",
        "2b42da632e91c5f6ea9338872e626fd71d1c08df27b6dbe0eb6d50fefe588ab8",
    ),
}
NAMES = tuple(_SOURCES)
N_PAPER_ACTIVITY = 5_744  # samples of the set that the paper calls Activity


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set as its source provides it, without scaling, imputation or shuffling.

    Attributes
    ----------
    name, description : str
        Its name in ``riata.datasets.NAMES``, and its title with source, size and extra arrays.
    X : array of shape (n_samples, n_features)
        Missing values are NaN.
    y : array of shape (n_samples,)
        Classes 0, 1, …; the target of a regression; or, for survival, a structured array with fields ``event`` and ``time``.
    feature_names, target_names : array of str, or None
        Names of the columns and of the classes, if they are known.
    extra : mapping
        Other arrays with one entry per sample, such as ``mouse``.

    Examples
    --------
    >>> import numpy as np
    >>> from riata.datasets import Dataset
    >>> data = Dataset("small", "Two samples of one feature", np.zeros((2, 1)), np.array([0, 1]))
    >>> data.X.shape, dict(data.extra)
    ((2, 1), {})
    """

    name: str
    description: str
    X: NDArray[Any]
    y: NDArray[Any]
    feature_names: NDArray[np.str_] | None = None
    target_names: NDArray[np.str_] | None = None
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict)


@overload
def load(
    name: str,
    *,
    folder: str | os.PathLike[str] | None = ...,
    n_classes: int | None = ...,
    return_X_y: Literal[False] = ...,
) -> Dataset: ...
@overload
def load(
    name: str, *, folder: str | os.PathLike[str] | None = ..., n_classes: int | None = ..., return_X_y: Literal[True]
) -> tuple[NDArray[Any], NDArray[Any]]: ...
def load(
    name: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    n_classes: int | None = None,
    return_X_y: bool = False,
) -> Dataset | tuple[NDArray[Any], NDArray[Any]]:
    """Load a data set.

    Parameters
    ----------
    name : str
        One of ``riata.datasets.NAMES``.
    folder : path, optional
        Folder of the files; by default the one that ``RIATA_DATA`` names.
    n_classes : int, optional
        Keep only the samples of the first so many classes: 6 keeps the activities of ``activity_hapt_subset``.
    return_X_y : bool, default=False
        Return two arrays instead of a :class:`Dataset`.

    Returns
    -------
    Dataset, or X and y

    Raises
    ------
    FileNotFoundError
        If there is no file and OpenML does not have it or cannot be reached; the message says what to do.

    Examples
    --------
    A file is verified, and its arrays come as they are:

    >>> from riata import datasets
    >>> "metabric" in datasets.NAMES
    True
    >>> X, y = datasets.load("metabric", return_X_y=True)  # doctest: +SKIP
    >>> datasets.load("iris")
    Traceback (most recent call last):
    ...
    ValueError: name must be one of mice_protein, mnist, ...; got 'iris'
    """
    if name not in _SOURCES:
        raise ValueError(f"name must be one of {', '.join(NAMES)}; got {name!r}")
    folder = folder or os.environ.get("RIATA_DATA")
    data = _activity(folder) if name == "activity" else _dataset(name, _find(name, folder))
    if n_classes is not None:
        data = _first_classes(data, n_classes)
    return (data.X, data.y) if return_X_y else data


def _find(name: str, folder: str | os.PathLike[str] | None) -> dict[str, NDArray[Any]]:
    """Read the file of a data set, or fetch it from OpenML into the cache and read it from there."""
    source = _SOURCES[name]
    file = source.file or f"{name}.npz"
    if source.sha256 is not None and folder is not None and (Path(folder) / file).exists():
        return _read(Path(folder) / file, source.sha256)
    cached = _cache() / f"openml_{name}.npz"
    if not cached.exists():
        _store(cached, _from_openml(name, folder))
    checksum = _checksum_file(cached)
    return _read(cached, checksum.read_text().strip() if checksum.exists() else "missing")


def _read(path: Path, expected: str) -> dict[str, NDArray[Any]]:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != expected:
        raise ValueError(
            f"{path} is damaged or another version: its sha256 is {found}, expected {expected}; "
            "remove it and get it again"
        )
    with np.load(path) as archive:
        return dict(archive)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "riata"


def _checksum_file(path: Path) -> Path:
    return path.with_suffix(".sha256")


def _store(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write an archive and its checksum; the archive is renamed last, so that a file of its name is always complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{os.getpid()}_{path.name}")
    np.savez_compressed(unfinished, **arrays)  # type: ignore[arg-type]  # the stubs mistake the names for allow_pickle
    _checksum_file(path).write_text(hashlib.sha256(unfinished.read_bytes()).hexdigest())
    unfinished.replace(path)


def _from_openml(name: str, folder: str | os.PathLike[str] | None) -> dict[str, NDArray[Any]]:
    """Fetch a data set, as the arrays of its file."""
    source = _SOURCES[name]
    if source.openml is None:
        raise _missing(name, folder, "OpenML does not have it")
    title, version = source.openml
    try:
        table = fetch_openml(title, version=version, as_frame=True, parser="auto")
    except Exception as reason:  # no network, a proxy, a server that is down: the user can do the same about all
        raise _missing(name, folder, f"OpenML could not be reached ({reason})") from reason
    columns = table.data.iloc[source.samples].apply(lambda column: column.astype(np.float32))
    arrays: dict[str, NDArray[Any]] = {
        "X": columns.to_numpy(np.float32),
        "feature_names": np.asarray(columns.columns, dtype=str),
    }
    target = np.asarray(table.target.iloc[source.samples])
    if name == "boston":
        return {**arrays, "y": target.astype(np.float32)}
    labels = np.array([str(label).strip("'") for label in target])
    if all(label.isdigit() for label in labels):  # sorted as numbers: "10" comes after "9"
        return {**arrays, "y": np.unique(labels.astype(int), return_inverse=True)[1]}
    names, codes = np.unique(labels, return_inverse=True)
    return {**arrays, "y": codes, "target_names": names}


def _missing(name: str, folder: str | os.PathLike[str] | None, reason: str) -> FileNotFoundError:
    source, file = _SOURCES[name], _SOURCES[name].file or f"{name}.npz"
    remedies = ["try again with an internet connection"] if source.openml else []
    where = "comes from OpenML only"
    if source.sha256 is not None:
        where = f"{Path(folder) / file} is not there" if folder else f"RIATA_DATA is not set, so {file} was not read"
        remedies.insert(0, f"set RIATA_DATA (or folder=) to a folder that holds {file}")
    return FileNotFoundError(f"{name}: {where}, and {reason}: {', or '.join(remedies)}")


def _dataset(name: str, arrays: Mapping[str, NDArray[Any]]) -> Dataset:
    if "time" in arrays:
        y = np.empty(len(arrays["time"]), dtype=[("event", bool), ("time", np.float64)])
        y["event"], y["time"] = arrays["event"], arrays["time"]
    else:
        y = arrays["y"] if arrays["y"].dtype.kind == "f" else arrays["y"].astype(np.int64)
    fields = {"X", "y", "time", "event", "feature_names", "target_names"}
    return Dataset(
        name,
        _SOURCES[name].description,
        arrays["X"],
        y,
        arrays.get("feature_names"),
        arrays.get("target_names"),
        {key: array for key, array in arrays.items() if key not in fields},
    )


def _first_classes(data: Dataset, n_classes: int) -> Dataset:
    if data.y.dtype.kind != "i":
        raise ValueError(f"n_classes={n_classes}: {data.name} has no classes")
    kept = data.y < n_classes
    names = None if data.target_names is None else data.target_names[:n_classes]
    extra = {key: array[kept] for key, array in data.extra.items()}
    return Dataset(data.name, data.description, data.X[kept], data.y[kept], data.feature_names, names, extra)


def _activity(folder: str | os.PathLike[str] | None) -> Dataset:
    """Read the files of the UCI repository: text tables of the training and the test part.

    Two sets have this form: the paper's (5,744 samples, "in Ambient Assisted Living") and a better known one of 10,299. The
    description says which of them was read. There are no checksums, because the user downloads the files.
    """
    parts = {part: (_activity_file(folder, "X", part), _activity_file(folder, "y", part)) for part in ("train", "test")}
    found = {part: (_text(X), _text(y)[:, 0]) for part, (X, y) in parts.items() if X is not None and y is not None}
    if not found:
        raise FileNotFoundError(
            "activity: X_train.txt and y_train.txt (or final_X_train.txt and so on) of the UCI repository's Smartphone "
            f"Dataset for Human Activity Recognition in Ambient Assisted Living are not in {folder or 'RIATA_DATA'}. Get them "
            "there and set RIATA_DATA (or folder=) to the folder that holds them, or a folder activity/ with them; "
            "activity_hapt_subset is another, smaller set with the same features"
        )
    X = np.vstack([part[0] for part in found.values()])
    labels = np.concatenate([part[1] for part in found.values()])
    part = np.repeat(list(found), [len(part[1]) for part in found.values()])
    origin = "the paper's set" if len(X) == N_PAPER_ACTIVITY else f"not the paper's set, which has {N_PAPER_ACTIVITY:,}"
    description = f"{_SOURCES['activity'].description}; {len(X):,} samples: {origin}; extra: part"
    return Dataset("activity", description, X, np.unique(labels, return_inverse=True)[1], extra={"part": part})


def _activity_file(folder: str | os.PathLike[str] | None, letter: str, part: str) -> Path | None:
    folders = (
        [] if folder is None else [Path(folder), *(Path(folder) / name for name in ("activity", "UCI HAR Dataset"))]
    )
    stems = (f"{letter}_{part}", f"{part}/{letter}_{part}", f"final_{letter}_{part}")
    files = (folder / f"{stem}.{kind}" for folder in folders for stem in stems for kind in ("txt", "csv"))
    return next((file for file in files if file.exists()), None)


def _text(path: Path) -> NDArray[np.float32]:
    """Read numbers separated by commas or blanks."""
    with path.open() as file:
        comma = "," in file.readline()
    return np.loadtxt(path, dtype=np.float32, delimiter="," if comma else None, ndmin=2)
