"""Model files and checkpoints: values as JSON and arrays, in archives that hold no code."""

from riata.storage.archive import ModelFileError, pack, unpack
from riata.storage.checkpoint import UNSAVED, Checkpoint, Fingerprint, Part, finished
from riata.storage.disk import write_whole
from riata.storage.store import CheckpointError, Store, UnwritableError
from riata.storage.values import Kind, Reader, Writer

__all__ = [
    "UNSAVED",
    "Checkpoint",
    "CheckpointError",
    "Fingerprint",
    "Kind",
    "ModelFileError",
    "Part",
    "Reader",
    "Store",
    "UnwritableError",
    "Writer",
    "finished",
    "pack",
    "unpack",
    "write_whole",
]
