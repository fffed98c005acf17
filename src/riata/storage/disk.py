"""Files that are whole or absent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files under temporary names and rename them when all are on the disk, so that none is ever incomplete.

    Parameters
    ----------
    folder : Path
        Where to; it exists.
    contents : mapping of str to bytes
        Names and contents.

    Raises
    ------
    OSError
        If there is no space, or no permission; the files that were there before are as they were.
    """
    drafts = {name: folder / f".{name}-{os.getpid()}.tmp" for name in contents}
    try:
        for name, data in contents.items():
            with drafts[name].open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        for name, draft in drafts.items():
            draft.replace(folder / name)
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)
