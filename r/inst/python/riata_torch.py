"""Import PyTorch with its own linear algebra.

R's process holds R's BLAS, and a library that is loaded later would call it in the place of its own functions of the same
names: matrix products would take many times as long with the reference BLAS, and results would differ from those of Python
in the last digits. With RTLD_DEEPBIND a library prefers its own.
"""

import os
import sys

_DEEP = getattr(os, "RTLD_DEEPBIND", 0)  # Linux; on other systems libraries keep to their own names

if _DEEP:
    before = sys.getdlopenflags()
    sys.setdlopenflags(before | _DEEP)
    try:
        import torch  # noqa: F401
    finally:
        sys.setdlopenflags(before)
