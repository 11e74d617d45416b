"""What is loaded before the first page, and when garbage is collected: after a page, not after each of its parts."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache

# Altair looks into any pandas and pyarrow there are, also into one that another visitor's thread has half loaded.
import altair  # noqa: F401
import pandas  # noqa: F401
import pyarrow  # noqa: F401

COLLECT_SECONDS = 10.0


@contextmanager
def freeze_after_run(page: str) -> Iterator[None]:
    """Around a page's run: afterwards, at the first visit, what was loaded is frozen, and garbage is collected.

    Streamlit would collect it after each fragment (`runner.postScriptGC`), which looks at the objects of all sessions:
    with 60 viewers that took longer than drawing. Nearly all other objects belong to modules."""
    try:
        yield
    finally:
        _freeze_objects(page)
        collect_garbage(int(time.monotonic() / COLLECT_SECONDS))


@cache
def _freeze_objects(_page: str) -> None:
    gc.collect()  # garbage that is frozen would stay, too
    gc.freeze()


@lru_cache(maxsize=1)
def collect_garbage(_period: int) -> None:
    """Once a period: what pages leave holds more memory than its number of objects tells Python's own collector."""
    gc.collect()
