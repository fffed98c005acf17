"""Tables that need not fit into memory: a small protocol, adapters for memmaps, Zarr, HDF5, Parquet and AnnData, one pass."""

from riata.sources.limits import n_held
from riata.sources.one_pass import Survey, steps, survey
from riata.sources.open import in_memory, open_rows, recognised
from riata.sources.order import Order
from riata.sources.rows import Rows, numbers

__all__ = ["Order", "Rows", "Survey", "in_memory", "n_held", "numbers", "open_rows", "recognised", "steps", "survey"]
