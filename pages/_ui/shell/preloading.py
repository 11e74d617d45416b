"""Modules that a page loads at its first visit are exempt from garbage collection."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache


@contextmanager
def loaded(page: str) -> Iterator[None]:
    """Around a page's run: afterwards, at the first visit, what was loaded is frozen.

    Streamlit collects garbage after each run. Nearly all of some hundred thousand objects belong to modules, and to
    look at those takes as long as many a page."""
    try:
        yield
    finally:
        _freeze(page)


@cache
def _freeze(_page: str) -> None:
    gc.collect()  # garbage that is frozen would stay, too
    gc.freeze()
