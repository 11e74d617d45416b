"""What every ObjectStore keeps to; runs against the sandbox over HTTP, and unchanged against a real region."""

import hashlib
import uuid
from pathlib import Path

import pytest

from aisbench_core.base.errors import CloudNotFound, CloudRejected, ConfigError
from aisbench_core.cloud.obs.objects import BIG, SMALL
from tests.contract.region import Region


def md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def test_what_is_put_can_be_read_listed_and_looked_at(region: Region) -> None:
    path = region.path("a directory/résumé +~&?#%20.txt")

    stored = region.objects.put(path, b"hello")

    assert (stored.path, stored.size, stored.etag) == (path, 5, md5(b"hello"))
    assert region.objects.read(path) == b"hello"
    assert region.objects.head(path) == stored
    assert list(region.objects.list(region.folder)) == [stored]


def test_a_second_put_replaces_the_first(region: Region) -> None:
    region.objects.put(region.path("a"), b"first")

    region.objects.put(region.path("a"), b"second one")

    assert region.objects.read(region.path("a")) == b"second one"


def test_a_copy_is_made_inside_the_cloud_and_replaces_what_was_there(region: Region) -> None:
    source, target = region.path("files/résumé +~&?#%20.txt"), region.path("code/a copy.txt")
    region.objects.put(source, b"hello")
    region.objects.put(target, b"something else")

    region.objects.copy(source, target)

    assert region.objects.read(target) == region.objects.read(source) == b"hello"
    stat = region.objects.head(target)
    assert stat is not None
    assert (stat.size, stat.etag) == (5, md5(b"hello"))


def test_what_is_not_there_cannot_be_copied(region: Region) -> None:
    with pytest.raises(CloudNotFound):
        region.objects.copy(region.path("nothing"), region.path("target"))

    assert region.objects.head(region.path("target")) is None


def test_an_empty_object_is_an_object(region: Region) -> None:
    region.objects.put(region.path("empty"), b"")

    assert region.objects.read(region.path("empty")) == b""
    assert region.objects.read(region.path("empty"), 7) == b""
    stat = region.objects.head(region.path("empty"))
    assert stat is not None
    assert stat.size == 0


@pytest.mark.parametrize("size", [SMALL, SMALL + 1, 3 * SMALL + 17])
def test_files_of_every_size_arrive_as_they_are(region: Region, tmp_path: Path, size: int) -> None:
    content = bytes(range(256)) * (size // 256) + b"z" * (size % 256)
    (tmp_path / "file.bin").write_bytes(content)

    stored = region.objects.put(region.path("file.bin"), tmp_path / "file.bin")

    assert (stored.size, stored.etag) == (size, md5(content))
    assert region.objects.read(region.path("file.bin"), size - 20) == content[-20:]


def test_a_range_has_at_most_its_size_and_ends_with_the_object(region: Region) -> None:
    path = region.path("ranges")
    region.objects.put(path, b"0123456789")

    assert region.objects.read_range(path, 0, 4) == b"0123"
    assert region.objects.read_range(path, 4, 4) == b"4567"
    assert region.objects.read_range(path, 8, 4) == b"89"
    assert region.objects.read_range(path, 10, 4) == b""
    assert region.objects.read_range(path, 99, 4) == b""
    with pytest.raises(CloudNotFound):
        region.objects.read_range(region.path("missing"), 0, 4)


def test_a_large_file_is_sent_in_parts_and_arrives_as_it_is(region: Region, tmp_path: Path) -> None:
    source = tmp_path / "large.bin"
    with source.open("wb") as file:
        file.truncate(BIG + 1)
        file.seek(BIG // 2)
        file.write(b"in the middle")

    stored = region.objects.put(region.path("large.bin"), source)

    region.objects.get(region.path("large.bin"), tmp_path / "back.bin")
    assert stored.size == BIG + 1
    with source.open("rb") as sent, (tmp_path / "back.bin").open("rb") as back:
        assert hashlib.file_digest(sent, "sha256").digest() == hashlib.file_digest(back, "sha256").digest()


def test_a_file_that_is_gone_is_our_trouble_and_named(region: Region, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.bin cannot be read"):
        region.objects.put(region.path("gone.bin"), tmp_path / "gone.bin")


def test_many_files_are_put_and_counted_one_by_one(region: Region, tmp_path: Path) -> None:
    pairs = []
    for number in range(40):
        (tmp_path / f"{number:02}").write_bytes(b"x" * number)
        pairs.append((region.path(f"many/{number:02}"), tmp_path / f"{number:02}"))
    seen: list[tuple[int, int]] = []

    region.objects.put_many(pairs, lambda done, total: seen.append((done, total)))

    assert seen == [(done, 40) for done in range(1, 41)]
    assert [stat.size for stat in region.objects.list(region.path("many/"))] == list(range(40))


def test_no_files_are_put_at_once_too(region: Region) -> None:
    region.objects.put_many([], lambda _done, _total: pytest.fail("nothing was done"))

    assert not region.objects.list(region.folder)


def test_the_first_failure_of_many_is_raised(region: Region, tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"there")
    pairs = [(region.path("there"), tmp_path / "there"), (region.path("gone"), tmp_path / "gone")]

    with pytest.raises(ConfigError, match="gone"):
        region.objects.put_many(pairs, lambda _done, _total: None)


def test_get_makes_the_whole_file_and_its_directory(region: Region, tmp_path: Path) -> None:
    region.objects.put(region.path("a"), b"content")

    region.objects.get(region.path("a"), tmp_path / "new" / "a")

    assert (tmp_path / "new" / "a").read_bytes() == b"content"
    assert [entry.name for entry in (tmp_path / "new").iterdir()] == ["a"]


def test_get_of_nothing_leaves_what_was_there(region: Region, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"before")

    with pytest.raises(CloudNotFound):
        region.objects.get(region.path("nothing"), tmp_path / "a")

    assert (tmp_path / "a").read_bytes() == b"before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize(("start", "rest"), [(0, b"0123456789"), (4, b"456789"), (9, b"9"), (10, b""), (11, b"")])
def test_reading_begins_where_it_is_told_to(region: Region, start: int, rest: bytes) -> None:
    region.objects.put(region.path("log"), b"0123456789")

    assert region.objects.read(region.path("log"), start) == rest


def test_reading_nothing_is_not_found(region: Region) -> None:
    with pytest.raises(CloudNotFound) as raised:
        region.objects.read(region.path("nothing"))

    assert (raised.value.status, raised.value.code) == (404, "NoSuchKey")
    assert region.path("nothing") in str(raised.value)


def test_read_many_leaves_out_what_is_not_there(region: Region) -> None:
    paths = [region.path(f"rank_{rank}.json") for rank in range(30)]
    for rank in range(0, 30, 2):
        region.objects.put(paths[rank], str(rank).encode())

    found = region.objects.read_many([*paths, paths[0]])

    assert found == {paths[rank]: str(rank).encode() for rank in range(0, 30, 2)}
    assert list(found) == paths[::2]


def test_a_list_has_all_pages_in_order(region: Region, tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"1")
    paths = [region.path(f"page/{number:04}") for number in range(1005)]
    region.objects.put_many([(path, tmp_path / "one") for path in paths], lambda _done, _total: None)

    assert [stat.path for stat in region.objects.list(region.path("page/"))] == paths
    assert [stat.path for stat in region.objects.first(region.path("page/"), 3)] == paths[:3]


def test_a_prefix_is_the_start_of_a_path_and_may_match_nothing(region: Region) -> None:
    region.objects.put(region.path("one/a"), b"")
    region.objects.put(region.path("one-more"), b"")

    assert [stat.path for stat in region.objects.list(region.path("one"))] == [
        region.path("one-more"),
        region.path("one/a"),
    ]
    assert not region.objects.list(region.path("two"))


def test_a_bucket_that_is_not_there_is_not_found(region: Region) -> None:
    bucket = f"aisbench-contract-{uuid.uuid4().hex}"

    with pytest.raises(CloudNotFound, match="NoSuchBucket"):
        region.objects.list(f"/{bucket}/")
    with pytest.raises(CloudNotFound, match="NoSuchBucket"):
        region.objects.put(f"/{bucket}/a", b"")
    with pytest.raises(CloudNotFound, match="NoSuchBucket"):
        region.objects.read_many([f"/{bucket}/a"])
    with pytest.raises(CloudNotFound):
        region.objects.location(bucket)


def test_a_bucket_tells_its_region(region: Region) -> None:
    assert region.objects.location(region.profile.bucket) == region.profile.region


def test_head_of_nothing_is_none(region: Region) -> None:
    assert region.objects.head(region.path("nothing")) is None


def test_deleting_twice_is_fine(region: Region) -> None:
    region.objects.put(region.path("a"), b"")

    region.objects.delete(region.path("a"))
    region.objects.delete(region.path("a"))

    assert region.objects.head(region.path("a")) is None


def test_pages_hold_a_long_listing_once_also_while_their_objects_are_deleted(region: Region, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12")
    names = [f"many/{number:04}" for number in range(1003)]
    region.objects.put_many([(region.path(name), tmp_path / "a") for name in names], lambda *_: None)
    region.objects.put(region.path("many-more"), b"")

    pages = []
    for page in region.objects.pages(region.path("many/")):
        pages.append(page)
        region.objects.delete_many([stat.path for stat in page])

    assert [len(page) for page in pages] == [1000, 3]
    assert [(stat.path, stat.size) for page in pages for stat in page] == [(region.path(name), 2) for name in names]
    assert [stat.path for stat in region.objects.list(region.folder)] == [region.path("many-more")]


def test_many_objects_are_deleted_whatever_their_names_and_missing_ones_are_fine(region: Region) -> None:
    odd = [region.path(name) for name in ("a b+c~&?#%20.txt", "结果/é", "dir/", "tab\tand <xml>")]
    for path in odd:
        region.objects.put(path, b"1")

    region.objects.delete_many([*odd, region.path("missing")])
    region.objects.delete_many([])

    assert list(region.objects.list(region.folder)) == []


def test_nothing_can_be_deleted_from_a_missing_bucket(region: Region) -> None:
    with pytest.raises(CloudNotFound):
        region.objects.delete_many(["/no-such-bucket-of-anybody-7f3a/key"])


def test_a_made_directory_is_listed_and_can_be_made_again(region: Region) -> None:
    region.objects.make_directory(region.path("out/"))
    region.objects.make_directory(region.path("out/"))

    assert [(stat.path, stat.size) for stat in region.objects.list(region.folder)] == [(region.path("out/"), 0)]


@pytest.mark.parametrize("path", ["", "key", "obs://bucket/key", "/", "//key", "/bucket", "/bucket/"])
def test_what_is_no_path_of_an_object_is_refused_before_it_is_sent(region: Region, path: str) -> None:
    with pytest.raises(CloudRejected, match="write /bucket/key"):
        region.objects.read(path)
