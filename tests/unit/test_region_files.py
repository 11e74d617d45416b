"""Directories of a region: which paths are read, and how far they are counted."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest

from aisbench_core.base.documents import parse_document
from aisbench_core.base.errors import SpecError
from aisbench_core.base.messages import make_verbatim
from aisbench_core.cloud.ports import Cloud, ObjectStat
from aisbench_core.cloud.region_files import COUNTED_KEYS, COUNTED_SECONDS, MAX_PAGE, RegionFiles, directory_path
from aisbench_core.config.settings import Profile
from aisbench_core.model import Api, DirectorySize
from tests.memory_store import MemoryStore

STATED = {"name": "team", "region": "cn-north-4", "project_id": "0123", "bucket": "bench"}
PROFILE = parse_document(Profile, {**STATED, "obs_server": "https://obs.example"}, make_verbatim("the profile"))


def region_files(store: MemoryStore, instants: Iterator[float] | None = None) -> RegionFiles:
    cloud = Cloud(PROFILE, store, cast("Any", None), cast("Any", None))  # the other services are not needed

    def connect(_profile: str, _api: Api | None = None) -> Cloud:
        return cloud

    return RegionFiles(connect, instants.__next__ if instants else lambda: 0.0)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/bench/data/", "/bench/data/"),
        ("/bench/data", "/bench/data/"),
        (" obs://bench/data ", "/bench/data/"),
        ("obs://bench", "/bench/"),
        ("/bench", "/bench/"),
    ],
)
def test_a_directory_may_be_written_as_people_write_it(text: str, path: str) -> None:
    assert directory_path(text) == path


@pytest.mark.parametrize("text", ["", "/", "//bench/", "bench/data/", "s3://bench/", "obs://", "obs:///a/"])
def test_what_is_no_directory_is_refused_with_the_form_that_is_allowed(text: str) -> None:
    with pytest.raises(SpecError, match=r"path: must be /bucket/directory/ or obs://bucket/directory/"):
        directory_path(text)


def test_without_a_path_the_bucket_of_the_profile_is_listed() -> None:
    page = region_files(MemoryStore({"/bench/a/b": b"", "/bench/c": b"12"})).page("team")

    assert page.path == "/bench/"
    assert [(entry.path, entry.size) for entry in page.entries] == [("/bench/a/", None), ("/bench/c", 2)]


@pytest.mark.parametrize("after", ["/other/a", "/bench/data", "/bench/data/"])
def test_a_page_cannot_begin_outside_its_directory(after: str) -> None:
    with pytest.raises(SpecError, match=r"after: must be a path inside /bench/data/"):
        region_files(MemoryStore({})).page("team", "/bench/data/", after)


def test_a_small_directory_is_counted_whole() -> None:
    store = MemoryStore({f"/bench/a/{number}": b"123" for number in range(5)} | {"/bench/b": b"not below"})

    assert region_files(store).size("team", "/bench/a") == DirectorySize(5, 15, complete=True)


def test_counting_stops_when_its_time_is_over() -> None:
    store = MemoryStore({f"/bench/{number:06}": b"1" for number in range(2 * MAX_PAGE + 1)})

    size = region_files(store, iter([0.0, COUNTED_SECONDS])).size("team", "/bench/")

    assert size == DirectorySize(MAX_PAGE, MAX_PAGE, complete=False)


class Endless(MemoryStore):
    """A directory without an end."""

    def pages(self, prefix: str) -> Iterator[Sequence[ObjectStat]]:
        while True:
            yield [ObjectStat(f"{prefix}a", 1, "")] * MAX_PAGE


def test_counting_stops_after_so_many_keys() -> None:
    size = region_files(Endless({})).size("team", "/bench/")

    assert size == DirectorySize(COUNTED_KEYS, COUNTED_KEYS, complete=False)
