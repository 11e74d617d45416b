"""The name under which MoXing's documentation imports it: `from moxing.framework import file`."""

import sys

from moxing import file

__all__ = ["file"]

sys.modules[f"{__name__}.file"] = file  # one module under two names, because `shift` and `set_auth` change its state
