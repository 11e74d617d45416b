"""When garbage is collected: after a page, but not after each of its fragments, and not of modules."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache

COLLECT_SECONDS = 10.0


@contextmanager
def loaded(page: str) -> Iterator[None]:
    """Around a page's run: afterwards, at the first visit, what was loaded is frozen, and garbage is collected.

    Streamlit would collect it after each fragment (`runner.postScriptGC`), which looks at the objects of all sessions:
    with 60 viewers that took longer than drawing. Nearly all other objects belong to modules."""
    try:
        yield
    finally:
        _freeze(page)
        collect(int(time.monotonic() / COLLECT_SECONDS))


@cache
def _freeze(_page: str) -> None:
    gc.collect()  # garbage that is frozen would stay, too
    gc.freeze()


@lru_cache(maxsize=1)
def collect(_period: int) -> None:
    """Once a period: what pages leave holds more memory than its number of objects tells Python's own collector."""
    gc.collect()
