"""Concurrent requests to OBS, and large files sent in parts, each verified by its MD5."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from obs import CompleteMultipartUploadRequest, CompletePart

from aisbench_core.cloud.obs.client import SharedClient
from aisbench_core.errors import CloudError
from aisbench_core.messages import Message

Item = TypeVar("Item")
Result = TypeVar("Result")

Ask = Callable[[Message, Callable[[], Any]], Any]
"""Sends one request and raises our errors: (operation, send) -> body of the result."""

PART = 16 * 1024 * 1024
MOST_PARTS = 10_000  # OBS's limit
PARTS_AT_ONCE = 4


def send(client: SharedClient, ask: Ask, bucket: str, key: str, source: Path, size: int) -> None:
    """Store the file as one object. After a failure the parts are deleted, because OBS charges for them."""
    operation = Message("store {path}", path=f"/{bucket}/{key}")
    upload = ask(operation, lambda: client.initiateMultipartUpload(bucket, key)).uploadId
    part = max(PART, -(-size // MOST_PARTS))
    numbers = range(1, -(-size // part) + 1)

    def send_part(number: int) -> Any:
        sent = ask(
            Message("{operation}, part {number} of {count}", operation=operation, number=number, count=len(numbers)),
            lambda: client.uploadPart(
                bucket,
                key,
                number,
                upload,
                str(source),
                isFile=True,
                partSize=part,
                offset=(number - 1) * part,
                isAttachMd5=True,
            ),
        )
        return CompletePart(partNum=number, etag=sent.etag)

    try:
        parts = sorted(spread(send_part, numbers, PARTS_AT_ONCE), key=lambda done: done.partNum)
        whole = CompleteMultipartUploadRequest(parts=parts)
        ask(operation, lambda: client.completeMultipartUpload(bucket, key, upload, whole))
    except CloudError:
        with suppress(CloudError):
            ask(operation, lambda: client.abortMultipartUpload(bucket, key, upload))
        raise


def spread(work: Callable[[Item], Result], items: Sequence[Item], at_once: int) -> Iterator[Result]:
    """The results of `work` on each item, in order of completion, from at most `at_once` threads.

    After a failure no more work is started; the failure is raised once the running work has ended."""
    with ThreadPoolExecutor(max(1, min(at_once, len(items))), thread_name_prefix="transfer") as pool:
        try:
            for future in as_completed([pool.submit(work, item) for item in items]):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)
