"""Concurrent requests to OBS, and large files and copies in parts; each part that is sent is verified by its MD5."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from obs import CompleteMultipartUploadRequest, CompletePart

from aisbench_core.base.errors import CloudError
from aisbench_core.base.messages import Message
from aisbench_core.cloud.obs.client import SharedClient
from aisbench_core.cloud.ports import ObjectStat

Item = TypeVar("Item")
Result = TypeVar("Result")

Ask = Callable[[Message, Callable[[], Any]], Any]
"""Sends one request and raises our errors: (operation, send) -> body of the result."""

PART = 16 * 1024 * 1024
# A part of a copy is not sent by us; the request lasts as long as OBS copies it.
COPIED_PART = 512 * 1024 * 1024
MOST_PARTS = 10_000  # OBS's limit
PARTS_AT_ONCE = 4


def send_parts(client: SharedClient, ask: Ask, bucket: str, key: str, source: Path, size: int) -> None:
    """Store the file as one object. After a failure the parts are deleted, because OBS charges for them."""
    part = max(PART, -(-size // MOST_PARTS))

    def send_part(upload: str, number: int) -> Any:
        return client.uploadPart(
            bucket,
            key,
            number,
            upload,
            str(source),
            isFile=True,
            partSize=part,
            offset=(number - 1) * part,
            isAttachMd5=True,
        )

    operation = Message("store {path}", path=f"/{bucket}/{key}")
    _assemble_object(client, ask, operation, (bucket, key), -(-size // part), send_part)


def copy_parts(client: SharedClient, ask: Ask, source: ObjectStat, target: tuple[str, str], most: int) -> None:
    """Copy a large object inside OBS, in parts of at most `most` bytes; parts of a failed copy are deleted.

    Every part demands the same version of the source, so that a copy never mixes two."""
    part = max(min(COPIED_PART, most), -(-source.size // MOST_PARTS))
    unchanged = {client.ha.copy_source_if_match_header(): source.etag}  # copyPart has no argument for it

    def copy_part(upload: str, number: int) -> Any:
        begin = (number - 1) * part
        span = f"{begin}-{min(begin + part, source.size) - 1}"
        return client.copyPart(*target, number, upload, source.path, span, extensionHeaders=unchanged)

    operation = Message("copy {path}", path=source.path)
    _assemble_object(client, ask, operation, target, -(-source.size // part), copy_part)


def _assemble_object(
    client: SharedClient,
    ask: Ask,
    operation: Message,
    target: tuple[str, str],
    count: int,
    store: Callable[[str, int], Any],
) -> None:
    """Make an object of parts, each stored by `store(upload, number)`."""
    upload = ask(operation, lambda: client.initiateMultipartUpload(*target)).uploadId

    def store_part(number: int) -> Any:
        named = Message("{operation}, part {number} of {count}", operation=operation, number=number, count=count)
        return CompletePart(partNum=number, etag=ask(named, lambda: store(upload, number)).etag)

    try:
        parts = sorted(run_parallel(store_part, range(1, count + 1), PARTS_AT_ONCE), key=lambda done: done.partNum)
        whole = CompleteMultipartUploadRequest(parts=parts)
        ask(operation, lambda: client.completeMultipartUpload(*target, upload, whole))
    except CloudError:
        with suppress(CloudError):
            ask(operation, lambda: client.abortMultipartUpload(*target, upload))
        raise


def run_parallel(work: Callable[[Item], Result], items: Sequence[Item], at_once: int) -> Iterator[Result]:
    """The results of `work` on each item, in order of completion, from at most `at_once` threads.

    After a failure no more work is started; the failure is raised once the running work has ended."""
    with ThreadPoolExecutor(max(1, min(at_once, len(items))), thread_name_prefix="transfer") as pool:
        try:
            for future in as_completed([pool.submit(work, item) for item in items]):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)
