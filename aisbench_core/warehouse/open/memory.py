"""How much memory a query may take: the engine limits itself, but not one large value, and not what rows become."""

import contextlib
import resource
from collections.abc import Iterator
from pathlib import Path

from aisbench_core.base.errors import QueryError
from aisbench_core.base.messages import Message

# Beyond what the process has: the engine's own limit (reading.MEMORY), and what an answer is converted to.
MEMORY_BYTES = 3 * 1024**3

# How much address space this process has, in pages; Linux says so.
_SIZES = Path("/proc/self/statm")


@contextlib.contextmanager
def memory_limited() -> Iterator[None]:
    """A context in which this process gets MEMORY_BYTES more at most; outside of Linux, as much as there is.

    Raises QueryError when it needs more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if _SIZES.exists():
        size = int(_SIZES.read_text("ascii").split()[0]) * resource.getpagesize()
        most = [limit for limit in (soft, hard, size + MEMORY_BYTES) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min(most), hard))
    try:
        yield
    except MemoryError:
        raise too_large() from None
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def too_large() -> QueryError:
    """The error of a query that takes more memory than it may have."""
    return QueryError(
        Message("the query needs more than {limit} GiB of memory with its answer", limit=MEMORY_BYTES // 1024**3),
        Message("group, filter or limit it"),
    )
