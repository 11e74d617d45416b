"""What a page loads at its first visit stays for good, so that nobody looks through it for garbage again."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache


@contextmanager
def loaded(page: str) -> Iterator[None]:
    """A page's run, however it ends.

    Streamlit collects garbage after each. Of some hundred thousand objects, nearly all are what modules consist of, and
    to look at those takes as long as many a page."""
    try:
        yield
    finally:
        _keep(page)


@cache
def _keep(_page: str) -> None:
    """Once for each page; what is garbage by then is removed first, as it would stay, too."""
    gc.collect()
    gc.freeze()
