"""The data of a run's inputs: a hash over the list of their objects, which OBS gives without their content."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

from aisbench_core.base.errors import CloudError, ResultError
from aisbench_core.base.messages import Message
from aisbench_core.cloud.ports import ObjectStat, ObjectStore
from aisbench_core.model import Clock, ResolvedContent

MAX_OBJECTS = 2_000_000
"""Of an input: ImageNet's images are 1.3 million."""

MAX_SECONDS = 300.0
"""For the list of an input, at about 1000 objects per .1 s."""


def resolve_input(
    objects: ObjectStore,
    directory: str,
    clock: Clock,
    on_page: Callable[[int], None],
    max_objects: int = MAX_OBJECTS,
) -> ResolvedContent:
    """The objects below a directory now; without a hash if they cannot be listed, or are too many.

    The hash is SHA-256 over a line for each object, `<ETag> <size> <name below the directory>`, in the order of the
    bytes of the names; docs/warehouse.md publishes it. `on_page`: called with the number of objects so far."""
    try:
        return _hash_list(objects, directory, clock, on_page, max_objects)
    except (CloudError, ResultError) as error:
        return ResolvedContent.unknown(error.sentence)


def list_line(stat: ObjectStat, directory: str) -> bytes:
    """The line of an object in the list of a directory."""
    return f"{stat.etag} {stat.size} {stat.path.removeprefix(directory)}\n".encode()


def _hash_list(
    objects: ObjectStore, directory: str, clock: Clock, on_page: Callable[[int], None], max_objects: int
) -> ResolvedContent:
    digest, count, size = hashlib.sha256(), 0, 0
    for page in list_pages(objects, directory, clock, on_page, max_objects):
        for stat in page:  # in key order, so that no list of them is held
            digest.update(list_line(stat, directory))
        count += len(page)
        size += sum(stat.size for stat in page)
    return ResolvedContent(digest.hexdigest(), count, size)


def list_pages(
    objects: ObjectStore,
    directory: str,
    clock: Clock,
    on_page: Callable[[int], None],
    max_objects: int = MAX_OBJECTS,
) -> Iterator[Sequence[ObjectStat]]:
    """The objects below a directory in pages, in key order. Raises CloudError, and ResultError if they are too many.

    `on_page`: called with the number of objects so far; it may raise to give up."""
    count, deadline = 0, clock() + timedelta(seconds=MAX_SECONDS)
    on_page(0)
    for page in objects.pages(directory):
        # The empty object with which consoles create a directory is no data.
        data = [stat for stat in page if not stat.path.endswith("/")]
        count += len(data)
        if count > max_objects:
            raise ResultError(Message("it has more than {most} objects", most=f"{max_objects:,}"))
        if clock() > deadline:
            raise ResultError(Message("its objects were not listed within {seconds} s", seconds=int(MAX_SECONDS)))
        yield data
        on_page(count)
