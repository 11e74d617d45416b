"""MinIO's client for Python: `python minio_python.py ENDPOINT LARGE_FILE`; each check's outcome as a line of JSON."""

import io
import json
import os
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minio import Minio
from minio.commonconfig import ENABLED, ComposeSource, CopySource, Filter, Tags
from minio.deleteobjects import DeleteObject
from minio.error import S3Error
from minio.lifecycleconfig import Expiration, LifecycleConfig, Rule
from minio.versioningconfig import VersioningConfig

endpoint, large = sys.argv[1].removeprefix("http://"), Path(sys.argv[2])
client: Any = Minio(endpoint, os.environ["ACCESS"], os.environ["SECRET"], secure=False)
bucket, odd = "minio-python", "文/a b+&.txt"


def check(name: str, act: Callable[[], object], expected: object = None) -> None:
    outcome, why = "passed", ""
    try:
        found = act()
        if expected is not None and found != expected:
            outcome, why = "failed", f"{found!r} is not {expected!r}"
    except S3Error as error:
        outcome, why = ("refused" if error.code == "NotImplemented" else "failed"), f"{error.code}: {error.message}"
    print(json.dumps({"check": name, "outcome": outcome, "why": why}))


def put(key: str, data: bytes, **more: Any) -> str | None:
    version: str | None = client.put_object(bucket, key, io.BytesIO(data), len(data), **more).version_id
    return version


def read(key: str, **more: Any) -> bytes:
    answer = client.get_object(bucket, key, **more)
    with answer:
        return bytes(answer.read())


def listed(**more: Any) -> list[Any]:
    return list(client.list_objects(bucket, **more))


def fetch(url: str, method: str = "GET", data: bytes | None = None) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, data, method=method)) as answer:
        return bytes(answer.read())


def set_and_get_tags() -> dict[str, str]:
    tags = Tags.new_object_tags()
    tags["a"] = "b"
    client.set_object_tags(bucket, "copy", tags)
    told = dict(client.get_object_tags(bucket, "copy"))
    client.delete_object_tags(bucket, "copy")
    return told


def set_and_get_lifecycle() -> int:
    rule = Rule(ENABLED, rule_filter=Filter(prefix="t/"), rule_id="a", expiration=Expiration(days=3))
    client.set_bucket_lifecycle(bucket, LifecycleConfig([rule]))
    days: int = client.get_bucket_lifecycle(bucket).rules[0].expiration.days
    client.delete_bucket_lifecycle(bucket)
    return days


def keep_versions() -> tuple[bytes, int]:
    client.set_bucket_versioning(bucket, VersioningConfig(ENABLED))
    version = put("v", b"one")
    put("v", b"two")
    client.remove_object(bucket, "v")
    return read("v", version_id=version), len(listed(prefix="v", include_version=True))


def remove_all() -> list[Any]:
    every = [DeleteObject(each.object_name, each.version_id) for each in listed(recursive=True, include_version=True)]
    errors = list(client.remove_objects(bucket, every))
    client.remove_bucket(bucket)
    return errors


def main() -> None:
    check("make bucket", lambda: client.make_bucket(bucket))
    check("bucket exists", lambda: client.bucket_exists(bucket), True)
    check("list buckets", lambda: bucket in [each.name for each in client.list_buckets()], True)
    check("put with metadata", lambda: put(odd, b"hi", metadata={"run": "7"}))
    check("get", lambda: read(odd), b"hi")
    check("stat", lambda: client.stat_object(bucket, odd).metadata["x-amz-meta-run"], "7")
    check("put a file in parts", lambda: client.fput_object(bucket, "large", str(large), part_size=5 << 20))
    stream = io.BytesIO(large.read_bytes())
    check("put a stream", lambda: client.put_object(bucket, "stream", stream, -1, part_size=5 << 20))
    check("get a range", lambda: len(read("large", offset=5, length=7)), 7)
    check("get a file", lambda: client.fget_object(bucket, "stream", f"{large}.python"))
    check("list", lambda: [each.object_name for each in listed(recursive=True)], ["large", "stream", odd])
    check("list folders", lambda: [each.object_name for each in listed()], ["large", "stream", "文/"])
    check("list, version 1", lambda: len(listed(use_api_v1=True)), 3)
    check("copy", lambda: client.copy_object(bucket, "copy", CopySource(bucket, odd)))
    sources = [ComposeSource(bucket, "large"), ComposeSource(bucket, "copy")]
    check("compose", lambda: client.compose_object(bucket, "composed", sources))
    check("tags", set_and_get_tags, {"a": "b"})
    check("signed URL to get", lambda: fetch(client.presigned_get_object(bucket, odd)), b"hi")
    check("signed URL to put", lambda: fetch(client.presigned_put_object(bucket, "up"), "PUT", b"up"))
    check("lifecycle", set_and_get_lifecycle, 3)
    check("versioning", keep_versions, (b"one", 3))
    for name in ("policy", "encryption", "notification", "tags", "replication"):
        check(f"bucket {name}", lambda name=name: getattr(client, f"get_bucket_{name}")(bucket))  # type: ignore[misc]  # mypy infers no default
    check("object lock", lambda: client.get_object_lock_config(bucket))
    check("delete many, then the bucket", remove_all, [])


if __name__ == "__main__":
    main()
