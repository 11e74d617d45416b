"""Multipart uploads, large objects and restarts of the sandbox's OBS, driven over real HTTP."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from boto3.s3.transfer import TransferConfig
from obs import CompleteMultipartUploadRequest, CompletePart

from tests.contract.obs_server import BUCKET, Served, md5, sdk, serving


def test_a_multipart_upload_becomes_one_object(obs: Any, served: Served) -> None:
    parts = [b"a" * 102_400, b"b" * 102_400, b"end"]
    started = obs.initiateMultipartUpload(BUCKET, "big")
    upload_id = started.body.uploadId
    pending = obs.listMultipartUploads(BUCKET).body.upload
    etags = [
        obs.uploadPart(BUCKET, "big", number, upload_id, part).body.etag for number, part in enumerate(parts, start=1)
    ]
    wanted = CompleteMultipartUploadRequest([CompletePart(number, etag) for number, etag in enumerate(etags, start=1)])

    done = obs.completeMultipartUpload(BUCKET, "big", upload_id, wanted)

    assert [(upload.key, upload.uploadId) for upload in pending] == [("big", upload_id)]
    assert done.status == 200
    assert done.body.etag.endswith('-3"')
    assert served.objects.read(BUCKET, "big") == b"".join(parts)
    assert obs.completeMultipartUpload(BUCKET, "big", upload_id, wanted).errorCode == "NoSuchUpload"
    assert obs.listMultipartUploads(BUCKET).body.upload == []


def test_a_multipart_upload_with_a_wrong_part_is_refused_and_can_be_aborted(obs: Any, served: Served) -> None:
    upload_id = obs.initiateMultipartUpload(BUCKET, "big").body.uploadId
    etags = [obs.uploadPart(BUCKET, "big", number, upload_id, b"too small").body.etag for number in (1, 2)]

    def complete(*parts: tuple[int, str]) -> str:
        wanted = CompleteMultipartUploadRequest([CompletePart(number, etag) for number, etag in parts])
        return str(obs.completeMultipartUpload(BUCKET, "big", upload_id, wanted).errorCode)

    assert complete((1, etags[0]), (2, etags[1])) == "EntityTooSmall"
    assert complete((1, "0" * 32)) == "InvalidPart"
    assert complete((3, etags[0])) == "InvalidPart"
    assert obs.abortMultipartUpload(BUCKET, "big", upload_id).status == 204
    assert complete((1, etags[0])) == "NoSuchUpload"
    assert served.objects.list(BUCKET).objects == ()


def test_a_deleted_bucket_takes_its_unfinished_uploads_along(obs: Any) -> None:
    obs.createBucket("another")
    obs.initiateMultipartUpload("another", "big")

    obs.deleteBucket("another")

    obs.createBucket("another")
    assert obs.listMultipartUploads("another").body.upload == []


def test_the_sdk_and_boto3_move_large_files_in_parts(s3: Any, served: Served, tmp_path: Path) -> None:
    source = tmp_path / "weights.bin"
    source.write_bytes(bytes(range(256)) * 80_000)  # 20 MB
    parts = TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20)

    s3.upload_file(str(source), BUCKET, "by-boto3", Config=parts)
    s3.copy({"Bucket": BUCKET, "Key": "by-boto3"}, BUCKET, "copied", Config=parts)
    with sdk(served, long_conn_mode=False) as obs:  # its threads forget connections that are kept
        uploaded = obs.uploadFile(BUCKET, "by-sdk", str(source), partSize=6 << 20, taskNum=2)
        downloaded = obs.downloadFile(BUCKET, "by-boto3", str(tmp_path / "one"), taskNum=2)
    s3.download_file(BUCKET, "by-sdk", str(tmp_path / "two"), Config=parts)

    assert (uploaded.status, downloaded.status) == (200, 200)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes() == source.read_bytes()
    assert served.objects.read(BUCKET, "copied") == source.read_bytes()


def test_a_large_object_is_one_put_and_one_get(s3: Any, served: Served) -> None:
    body = bytes(range(256)) * 40_000  # 10 MB: received and answered in blocks
    s3.put_object(Bucket=BUCKET, Key="big", Body=body)

    got = s3.get_object(Bucket=BUCKET, Key="big")

    assert got["Body"].read() == body
    assert got["ETag"] == f'"{md5(body)}"'
    assert list((served.objects.root / ".drafts").iterdir()) == []


def test_objects_and_half_uploads_outlive_the_server(tmp_path: Path) -> None:
    with serving(tmp_path) as served, sdk(served) as client:
        client.createBucket(BUCKET)
        client.putContent(BUCKET, "a", "content", metadata={"run": "7"})
        before = client.getObjectMetadata(BUCKET, "a")
        upload_id = client.initiateMultipartUpload(BUCKET, "big").body.uploadId
        part = client.uploadPart(BUCKET, "big", 1, upload_id, b"part").body.etag

    with serving(tmp_path) as served, sdk(served) as client:
        after = client.getObjectMetadata(BUCKET, "a")
        client.completeMultipartUpload(
            BUCKET, "big", upload_id, CompleteMultipartUploadRequest([CompletePart(1, part)])
        )

    assert (after.body, dict(after.header)["run"]) == (before.body, "7")
    assert served.objects.read(BUCKET, "big") == b"part"


def test_concurrent_puts_to_one_key_end_in_one_whole_object(s3: Any) -> None:
    bodies = [bytes([65 + number]) * (300_000 + number) for number in range(8)]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda body: s3.put_object(Bucket=BUCKET, Key="a", Body=body), bodies))

    got = s3.get_object(Bucket=BUCKET, Key="a")
    content = got["Body"].read()
    assert content in bodies
    assert got["ETag"] == f'"{md5(content)}"'
