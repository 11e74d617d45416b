"""The sandbox's keys and buckets as paths on disk: every key has its place, in order, and none is outside."""

import hashlib
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aisbench_sandbox.obs.storage.objects import Objects
from aisbench_sandbox.obs.storage.stored import ObjectError

BUCKET = "bench"
SLASHES_AND_DOTS = st.text(alphabet="a./%+\0é文\x7f", min_size=1, max_size=60)
ANY_KEY = st.one_of(SLASHES_AND_DOTS, st.text(st.characters(codec="utf-8"), min_size=1, max_size=300)).filter(
    lambda key: len(key.encode()) <= 1024
)


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    store = Objects(tmp_path / "obs")
    store.create_bucket(BUCKET)
    return store


def all_keys(objects: Objects, page: int = 1000, **query: str) -> list[str]:
    keys: list[str] = []
    marker = ""
    while True:
        listing = objects.list(BUCKET, marker=marker, max_keys=page, **query)
        keys += [stat.key for stat in listing.objects]
        if not listing.truncated:
            return keys
        marker = listing.next_marker


def files_below(folder: Path) -> list[Path]:
    return [Path(top) / name for top, _, names in os.walk(folder) for name in names]


@pytest.mark.slow
@settings(deadline=None, max_examples=50)  # a key of 1,024 slashes is 1,024 folders
@given(st.sets(ANY_KEY, min_size=1, max_size=12))
@example({"a", "a/b", "a/", "a//", "a%", "a%/b", "a/%", "%", "%%", "%2F", "..", "../..", "x/../y", "/", "//"})
@example({"n" * 201, "n" * 200 + ".", "n" * 200, "n" * 200 + "/x", "n" * 200 + "!", "n" * 1024, "%" * 1024})
@example({"/" * 1024, "../" * 100, "文" * 341})
def test_any_set_of_keys_comes_back_in_byte_order_and_stays_below_its_bucket(keys: set[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        objects = Objects(Path(folder, "obs"))
        objects.create_bucket(BUCKET)

        for key in keys:
            objects.put(BUCKET, key, key.encode())

        assert all_keys(objects) == sorted(keys, key=str.encode)
        assert all_keys(objects, page=1) == sorted(keys, key=str.encode)
        assert all(objects.read(BUCKET, key) == key.encode() for key in keys)
        outside = [p for p in files_below(Path(folder)) if Path(folder, "obs") not in p.parents]
        assert outside == []
        for key in keys:
            objects.delete(BUCKET, key)
        assert list(Path(folder, "obs", BUCKET).iterdir()) == []


@pytest.mark.slow
@given(
    st.sets(SLASHES_AND_DOTS, max_size=12), SLASHES_AND_DOTS, SLASHES_AND_DOTS, st.sampled_from(["", "/", "a/", "%"])
)
def test_a_listing_equals_filtering_all_keys(keys: set[str], prefix: str, marker: str, delimiter: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        objects = Objects(Path(folder, "obs"))
        objects.create_bucket(BUCKET)
        for key in keys:
            objects.put(BUCKET, key, b"")
        expected = set()
        for key in keys:
            if key.startswith(prefix):
                head, found, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
                expected.add(prefix + head + found if found else key)

        listing = objects.list(BUCKET, prefix=prefix, marker=marker, delimiter=delimiter)

        got = [stat.key for stat in listing.objects] + list(listing.prefixes)
        assert sorted(got) == sorted(name for name in expected if name > marker)
        assert not [stat for stat in listing.objects if delimiter and delimiter in stat.key[len(prefix) :]]


def test_a_key_and_keys_below_it_live_side_by_side_in_any_order_of_coming_and_going(objects: Objects) -> None:
    objects.put(BUCKET, "a/b", b"below")
    objects.put(BUCKET, "a", b"above")
    objects.delete(BUCKET, "a/b")
    objects.put(BUCKET, "a", b"above again")
    objects.put(BUCKET, "a/c", b"below again")

    assert all_keys(objects) == ["a", "a/c"]
    assert objects.read(BUCKET, "a") == b"above again"
    assert objects.read(BUCKET, "a/c") == b"below again"


def test_everyday_keys_are_files_that_a_person_finds(objects: Objects) -> None:
    objects.put(BUCKET, "runs/7/train.py", b"print()")

    assert (objects.root / BUCKET / "runs/7/train.py").read_bytes() == b"print()"


def test_a_file_that_a_person_drops_in_is_an_object(objects: Objects) -> None:
    (objects.root / BUCKET / "data").mkdir()
    (objects.root / BUCKET / "data/train.bin").write_bytes(b"rows")

    listing = objects.list(BUCKET, prefix="data/")

    etag = hashlib.md5(b"rows", usedforsecurity=False).hexdigest()
    assert [(stat.key, stat.etag) for stat in listing.objects] == [("data/train.bin", etag)]


def test_a_symbolic_link_is_not_an_object(objects: Objects, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("not in the store")
    (objects.root / BUCKET / "link").symlink_to(secret)
    (objects.root / BUCKET / "folder").symlink_to(tmp_path)

    assert all_keys(objects) == []
    assert objects.head(BUCKET, "link") is None
    assert objects.head(BUCKET, "folder/secret") is None
    objects.put(BUCKET, "folder/secret", b"beside")
    assert secret.read_text() == "not in the store"


@pytest.mark.parametrize("name", ["..", ".drafts", "a", "A-b", "a..b", "a/b", "192.168.0.1", "x" * 64, ""])
def test_a_bucket_name_that_obs_would_refuse_is_refused(objects: Objects, name: str) -> None:
    with pytest.raises(ObjectError) as refused:
        objects.create_bucket(name)

    assert refused.value.code == "InvalidBucketName"
    with pytest.raises(ObjectError, match="bucket does not exist"):
        objects.put(name, "key", b"")


@pytest.mark.parametrize(
    ("key", "code"), [("", "KeyTooLongError"), ("文" * 342, "KeyTooLongError"), ("\udc80", "InvalidURI")]
)
def test_a_key_that_obs_would_refuse_is_refused(objects: Objects, key: str, code: str) -> None:
    with pytest.raises(ObjectError) as refused:
        objects.put(BUCKET, key, b"")

    assert refused.value.code == code
