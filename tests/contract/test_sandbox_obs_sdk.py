"""The official SDK's larger errands at the sandbox's OBS: directories, files in parts that resume, appends, links."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from obs import AppendObjectContent, ObsClient

from tests.sandbox_process import SandboxProcess

MB = 1 << 20
PART = 5 * MB
PARTS = 4


@pytest.fixture
def obs(sandbox: SandboxProcess) -> Iterator[Any]:
    client = ObsClient(*sandbox.keys, server=sandbox.obs_url, max_retry_count=0)
    yield client
    client.close()


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A file of four parts, no two of them alike."""
    file = tmp_path / "weights.ckpt"
    file.write_bytes(b"".join(bytes([65 + number]) * PART for number in range(PARTS)))
    return file


def test_a_directory_is_uploaded_with_everything_below_it(sandbox: SandboxProcess, obs: Any, tmp_path: Path) -> None:
    tree = tmp_path / "code"
    for name in ("train.py", "conf/a.yaml", "conf/deep/数据 1.txt", ".hidden"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(f"content of {name}")

    obs.putFile(sandbox.bucket, "runs/7", str(tree))

    listed = obs.listObjects(sandbox.bucket, prefix="runs/").body.contents
    assert sorted(entry.key for entry in listed) == [
        "runs/7/.hidden",
        "runs/7/conf/a.yaml",
        "runs/7/conf/deep/数据 1.txt",
        "runs/7/train.py",
    ]
    got = obs.getObject(sandbox.bucket, "runs/7/conf/deep/数据 1.txt", loadStreamInMemory=True)
    assert got.body.buffer.decode() == "content of conf/deep/数据 1.txt"


def test_an_upload_that_broke_off_goes_on_after_the_last_part_that_arrived(
    sandbox: SandboxProcess, obs: Any, weights: Path
) -> None:
    sandbox.faults({"service": "obs", "method": "PUT", "path": "partNumber=3", "times": 100, "status": 503})
    with pytest.raises(Exception, match="parts are failed when upload"):
        obs.uploadFile(sandbox.bucket, "weights", str(weights), partSize=PART, enableCheckpoint=True)
    sandbox.restart()
    sandbox.forget_requests()

    resumed = obs.uploadFile(sandbox.bucket, "weights", str(weights), partSize=PART, enableCheckpoint=True)

    assert resumed.status == 200
    assert 1 <= sandbox.requests()["obs"]["PUT"] < PARTS
    got = obs.getObject(sandbox.bucket, "weights", loadStreamInMemory=True)
    assert got.body.buffer == weights.read_bytes()
    assert got.body.etag.endswith(f'-{PARTS}"')
    assert list(weights.parent.iterdir()) == [weights]  # the checkpoint is gone


def test_a_download_that_broke_off_goes_on_with_the_parts_that_are_missing(
    sandbox: SandboxProcess, obs: Any, weights: Path, tmp_path: Path
) -> None:
    obs.uploadFile(sandbox.bucket, "weights", str(weights), partSize=PART)
    get = {"service": "obs", "method": "GET", "path": "weights"}
    sandbox.faults({**get, "times": 2}, {**get, "times": 100, "status": 503})
    target = tmp_path / "back" / "weights"
    with pytest.raises(Exception, match="parts are failed when download"):
        obs.downloadFile(sandbox.bucket, "weights", str(target), partSize=PART, enableCheckpoint=True)
    sandbox.restart()
    sandbox.forget_requests()

    resumed = obs.downloadFile(sandbox.bucket, "weights", str(target), partSize=PART, enableCheckpoint=True)

    assert resumed.status == 200
    assert sandbox.requests()["obs"]["GET"] == PARTS - 2
    assert target.read_bytes() == weights.read_bytes()


def test_a_file_that_changed_between_is_uploaded_anew(sandbox: SandboxProcess, obs: Any, weights: Path) -> None:
    sandbox.faults({"service": "obs", "method": "PUT", "path": "partNumber=3", "times": 100, "status": 503})
    with pytest.raises(Exception, match="parts are failed when upload"):
        obs.uploadFile(sandbox.bucket, "weights", str(weights), partSize=PART, enableCheckpoint=True)
    sandbox.faults()
    weights.write_bytes(weights.read_bytes()[::-1] + b"more")

    again = obs.uploadFile(sandbox.bucket, "weights", str(weights), partSize=PART, enableCheckpoint=True)

    got = obs.getObject(sandbox.bucket, "weights", loadStreamInMemory=True)
    assert (again.status, got.body.buffer == weights.read_bytes()) == (200, True)


def test_a_log_is_appended_to_and_read_while_it_grows(sandbox: SandboxProcess, obs: Any) -> None:
    position = 0
    for number in range(20):
        line = f"epoch {number}: 张三\n"
        answer = obs.appendObject(sandbox.bucket, "log", AppendObjectContent(content=line, position=position))
        position = answer.body.nextPosition

    head = obs.headObject(sandbox.bucket, "log")
    got = obs.getObject(sandbox.bucket, "log", loadStreamInMemory=True).body.buffer.decode()
    assert got == "".join(f"epoch {number}: 张三\n" for number in range(20))
    assert (position, head.status) == (len(got.encode()), 200)
    obs.putContent(sandbox.bucket, "plain", "put")
    refused = obs.appendObject(sandbox.bucket, "plain", AppendObjectContent(content="x", position=3))
    assert (refused.status, refused.errorCode) == (409, "ObjectNotAppendable")


@pytest.mark.parametrize("signature", ["v2", "v4"])
def test_a_signed_link_puts_heads_gets_and_deletes(sandbox: SandboxProcess, signature: str) -> None:
    client = ObsClient(*sandbox.keys, server=sandbox.obs_url, signature=signature, path_style=True, region="cn-north-4")

    def link(method: str) -> str:
        return str(client.createSignedUrl(method, sandbox.bucket, "a b/文", expires=60).signedUrl)

    put = requests.put(link("PUT"), b"content", timeout=30)
    head, got = requests.head(link("HEAD"), timeout=30), requests.get(link("GET"), timeout=30)
    deleted = requests.delete(link("DELETE"), timeout=30)
    gone = requests.get(link("GET"), timeout=30)
    client.close()

    assert (put.status_code, head.status_code, got.content, deleted.status_code) == (200, 200, b"content", 204)
    assert (gone.status_code, head.headers["content-length"]) == (404, "7")
