"""Write the corpus: ``python -m tests.fuzz.seeds``. Tiny models of every kind, and tables in every format."""

from __future__ import annotations

import gzip
import io
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import riata
from riata import Training, losses
from riata.estimators import stored
from tests.fuzz.targets import ENDINGS, parts_of

CORPUS = Path(__file__).parent / "corpus"
_TINY = {
    "hidden_dims": (2,),
    "lambda_seq": (0.5,),
    "training": Training(n_iters=(3, 2)),
    "select": 0.0,
    "refit": False,
    "screening": None,
    "random_state": 0,
}


def models() -> dict[str, bytes]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = X[:, 0] + X[:, 1] ** 2
    gaps = pd.DataFrame(np.where(rng.random(X.shape) < 0.2, np.nan, X), columns=["a", "b", "größe"])
    text = gaps.assign(town=["Rome", "Oslo", None] * 10)
    alone = {name: value for name, value in _TINY.items() if name not in ("screening", "lambda_seq", "select")}
    fitted = {
        "classes": riata.LassoNetClassifier(**_TINY).fit(text, np.where(y > 0.5, "yes", "no")),
        "ordered": riata.LassoNetClassifier(**_TINY, loss="ordinal").fit(X, np.digitize(y, [0, 1])),
        "numbers": riata.LassoNetRegressor(**_TINY, loss=losses.Quantile((0.2, 0.8))).fit(gaps, y),
        "times": riata.LassoNetCoxRegressor(**_TINY).fit(X, np.column_stack([np.exp(y), np.arange(30) % 3 > 0])),
        "intervals": riata.LassoNetIntervalRegressor(**_TINY).fit(X, np.column_stack([np.exp(y), 2 * np.exp(y)])),
        "columns": riata.LassoNetAutoencoder(**alone).fit(X),
        "gaps": riata.LassoNetImputer(**alone, columns=[0, 1]).fit(gaps),
    }
    found = {}
    for name, model in fitted.items():
        data = stored.describe(model, {"task": name})
        found |= {f"{name}.archive": b"Z" + data, f"{name}.parts": parts_of(data)}
    return found


def tables() -> dict[str, bytes]:
    frame = pd.DataFrame(
        {
            "id": [f"s{i}" for i in range(8)],
            "size": [1.5, 2, np.nan, 4, 5, 6, 7, 8],
            "town": ["Rome", "Oslo", "Rome", None, "Oslo", "Rome", "Oslo", "Rome"],
            "seen": pd.date_range("2026-01-01", periods=8),
            "ill": [True, False] * 4,
            "y": [1, 2, 1, 2, 1, 2, 3, 3],
        }
    )
    plain = frame.to_csv(index=False).encode()
    messy = "name;dose;day;level\n" + "".join(
        f'"a;{i}";{i},5 mg;{i + 1}.2.2026;{"NA" if i == 3 else "high"}\n' for i in range(8)
    )
    buffers = {ending: io.BytesIO() for ending in (".parquet", ".xlsx")}
    frame.to_parquet(buffers[".parquet"], compression=None)
    frame.to_excel(buffers[".xlsx"], index=False)
    contents = {
        "plain.csv": plain,
        "messy.csv": messy.encode("utf-8-sig"),
        "wide.csv": messy.encode("utf-16"),
        "tabs.tsv": plain.replace(b",", b"\t"),
        "spaces.txt": b"a b  y\n1 2  3\n4 5  6\n7 8  9\n",
        "latin.csv": "größe,y\n1,2\n3,4\n".encode("latin-1"),
        "odd.csv": b'a,a\n1\n"\n\0,,,\n(5),1.234,5\n',
        "packed.csv.gz": gzip.compress(plain, mtime=0),
        **{f"stored{ending}": buffer.getvalue() for ending, buffer in buffers.items()},
    }
    endings = {name: next(i for i, ending in enumerate(ENDINGS) if name.endswith(ending)) for name in contents}
    return {name: bytes([endings[name]]) + data for name, data in contents.items()}


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = {"models": models(), "tables": tables()}
    for kind, files in made.items():
        (CORPUS / kind).mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (CORPUS / kind / name).write_bytes(data)
            print(f"{kind}/{name}: {len(data):,} bytes")


if __name__ == "__main__":
    main()
