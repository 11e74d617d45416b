"""What every ObjectStore keeps to when a directory is listed: one request, one page, nothing of what lies below."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from aisbench_core.base.errors import CloudNotFound
from aisbench_core.cloud.ports import ObjectStore
from tests.contract.region import Region, sandbox_region
from tests.memory_store import MemoryStore
from tests.sandbox_process import SandboxProcess

KEYS = ("a.txt", "a/", "a/deep/er.txt", "a/x", "a-b/c", "a b/résumé +~&?#%20.txt", "z", "空/一")
MANY = 100_000


@dataclass(frozen=True)
class Place:
    """An adapter, and a directory of the test's own."""

    objects: ObjectStore
    folder: str


@pytest.fixture(params=["cloud", "memory"])
def place_of_each(request: pytest.FixtureRequest, region: Region) -> Place:
    """The adapter of OBS, and the one that other tests use instead, so that both keep the same promises."""
    return Place(region.objects if request.param == "cloud" else MemoryStore({}), region.folder)


@pytest.fixture
def filled(place_of_each: Place) -> Place:
    for key in KEYS:
        place_of_each.objects.put(place_of_each.folder + key, b"content")
    return place_of_each


def names(place: Place, path: str = "", most: int = 1000, after: str = "") -> list[str]:
    return [entry.name for entry in place.objects.directory(place.folder + path, most, after).entries]


def test_a_directory_lists_what_is_directly_inside_in_key_order(filled: Place) -> None:
    page = filled.objects.directory(filled.folder, 1000)

    assert [entry.name for entry in page.entries] == ["a b/", "a-b/", "a.txt", "a/", "z", "空/"]
    assert [entry.is_directory for entry in page.entries] == [True, True, False, True, False, True]
    assert {entry.size for entry in page.entries if not entry.is_directory} == {7}
    assert all(entry.path == filled.folder + entry.name for entry in page.entries)
    assert page.next_after == ""


def test_the_empty_object_of_a_directory_is_no_entry_of_it(filled: Place) -> None:
    assert names(filled, "a/") == ["deep/", "x"]
    assert names(filled, "a/deep/") == ["er.txt"]
    assert names(filled, "a b/") == ["résumé +~&?#%20.txt"]


@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_pages_follow_one_another_until_the_last(filled: Place, most: int) -> None:
    seen, after = [], ""
    while True:
        page = filled.objects.directory(filled.folder, most, after)
        assert len(page.entries) <= most
        seen += [entry.name for entry in page.entries]
        after = page.next_after
        if not after:
            break

    assert seen == ["a b/", "a-b/", "a.txt", "a/", "z", "空/"]


def test_a_page_may_begin_behind_any_entry(filled: Place) -> None:
    assert names(filled, after=filled.folder + "a/") == ["z", "空/"]


def test_a_directory_without_objects_is_empty(filled: Place) -> None:
    page = filled.objects.directory(filled.folder + "nothing/", 1000)

    assert (page.entries, page.next_after) == ((), "")


def test_a_directory_of_a_missing_bucket_is_not_found(region: Region) -> None:
    with pytest.raises(CloudNotFound, match="NoSuchBucket"):
        region.objects.directory("/aisbench-contract-no-such-bucket/", 10)


@pytest.mark.slow
def test_a_hundred_thousand_keys_cost_one_request_and_one_page(tmp_path: Path) -> None:
    """Files are put into the folder of a sandbox of its own: as many requests would take minutes."""
    sandbox = SandboxProcess.start(tmp_path)
    many = f"/{sandbox.bucket}/many/"
    _fill(tmp_path / "obs" / sandbox.bucket / "many" / "flat")
    objects = sandbox_region(sandbox).objects
    sandbox.forget_requests()

    above = objects.directory(many, 100)
    first = objects.directory(f"{many}flat/", 100)
    last = objects.directory(f"{many}flat/", 100, f"{many}flat/{MANY - 2:06}")

    requests = sum(sandbox.requests()["obs"].values())
    sandbox.stop()
    assert requests == 3
    assert [entry.name for entry in above.entries] == ["flat/"]
    assert (len(first.entries), first.next_after) == (100, f"{many}flat/000099")
    assert [entry.name for entry in last.entries] == [f"{MANY - 1:06}"]
    assert last.next_after == ""


def _fill(folder: Path) -> None:
    folder.mkdir(parents=True)
    for number in range(MANY):
        os.mknod(folder / f"{number:06}")
