"""The name under which MoXing's own documents import it: `from moxing.framework import file`."""

import sys

from moxing import file

__all__ = ["file"]

sys.modules[f"{__name__}.file"] = file  # one module under two names, as `shift` and `set_auth` change it
