"""Model files: values as JSON and arrays, in an archive that holds no code."""

from riata.storage.archive import ModelFileError, pack, unpack
from riata.storage.disk import write_whole
from riata.storage.values import Kind, Reader, Writer

__all__ = ["Kind", "ModelFileError", "Reader", "Writer", "pack", "unpack", "write_whole"]
