"""The hash over the objects of an input, and that the first answer of a launch stays."""

import hashlib
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.cloud.ports import ObjectStat
from aisbench_core.errors import CloudUnavailable
from aisbench_core.messages import Message, in_chinese
from aisbench_core.model import NOTHING_RESOLVED, Level, Resolved, ResolvedContent, resolved_of
from aisbench_core.running.resolving.inputs import MAX_SECONDS, resolve_input
from aisbench_core.running.resolving.service import resolve_once
from aisbench_core.running.resolving.stored import read_resolved
from tests import records as a
from tests.flow.following import MovableClock
from tests.memory_store import MemoryStore

IMAGES = {"/bucket/data/b.jpg": b"bb", "/bucket/data/a.jpg": b"a", "/bucket/data/": b"", "/bucket/data2/c": b"c"}


def resolve(objects: MemoryStore, directory: str = "/bucket/data/", max_objects: int = 10) -> ResolvedContent:
    return resolve_input(objects, directory, MovableClock(a.T0), lambda _: None, max_objects)


def test_the_hash_is_over_etags_sizes_and_names_in_order() -> None:
    lines = [(b"a", "a.jpg"), (b"bb", "b.jpg")]
    text = "".join(f"{hashlib.md5(data).hexdigest()} {len(data)} {name}\n" for data, name in lines)  # noqa: S324  # ETag

    found = resolve(MemoryStore(IMAGES, page=1))

    assert found == ResolvedContent(hashlib.sha256(text.encode()).hexdigest(), objects=2, size=3)


def test_equal_objects_below_another_directory_have_the_same_hash() -> None:
    moved = {path.replace("/bucket/data/", "/other/copy/"): content for path, content in IMAGES.items()}

    assert resolve(MemoryStore(moved), "/other/copy/") == resolve(MemoryStore(IMAGES))


@pytest.mark.parametrize("change", [{"/bucket/data/a.jpg": b"x"}, {"/bucket/data/c.jpg": b"c"}])
def test_each_changed_or_added_object_changes_the_hash(change: dict[str, bytes]) -> None:
    assert resolve(MemoryStore(IMAGES | change)).sha256 != resolve(MemoryStore(IMAGES)).sha256


def test_of_too_many_objects_the_data_is_unknown() -> None:
    found = resolve(MemoryStore(IMAGES, page=1), max_objects=1)

    assert (found.sha256, found.why_unknown) == ("", "it has more than 1 objects")
    assert in_chinese(found.why_unknown) == "其中的对象超过 1 个"


class SlowStore(MemoryStore):
    """Each page takes its time."""

    def __init__(self, clock: MovableClock) -> None:
        super().__init__(IMAGES, page=1)
        self.clock = clock

    def pages(self, prefix: str) -> Iterator[Sequence[ObjectStat]]:
        for page in super().pages(prefix):
            self.clock.move(MAX_SECONDS + 1)
            yield page


class LostStore(MemoryStore):
    """Answers with one page, then no more."""

    def pages(self, prefix: str) -> Iterator[Sequence[ObjectStat]]:
        yield next(iter(super().pages(prefix)))
        raise CloudUnavailable(Message("OBS does not answer"), operation="list")


def test_a_list_that_takes_too_long_or_breaks_off_is_unknown() -> None:
    clock = MovableClock(a.T0)

    slow = resolve_input(SlowStore(clock), "/bucket/data/", clock, lambda _: None)
    lost = resolve(LostStore(IMAGES, page=1))

    assert slow.why_unknown == "its objects were not listed within 300 s"
    assert "OBS does not answer" in lost.why_unknown
    assert not slow.sha256 + lost.sha256


def test_what_was_stored_first_stays_and_is_told_once(tmp_path: Path) -> None:
    file, objects, told = tmp_path / "run" / "resolved.json", MemoryStore(IMAGES), list[tuple[Level, str]]()
    clock, counts = MovableClock(a.T0), list[int]()

    def listing() -> Resolved:
        return Resolved({"data_url": resolve_input(objects, "/bucket/data/", clock, counts.append)})

    def attempt() -> Resolved | None:
        resolve_once(listing, file, lambda level, said: told.append((level, str(said))))
        return read_resolved(file)

    first = attempt()
    objects.put("/bucket/data/a.jpg", b"x")
    clock.now += timedelta(seconds=10)

    assert attempt() == first
    assert [level for level, _ in told] == [Level.INFO]
    assert told[0][1].startswith("data of input data_url: 2 objects, 3 B, ")
    assert counts == [0, 2]


def test_a_run_without_inputs_has_nothing_to_resolve(tmp_path: Path) -> None:
    file = tmp_path / "resolved.json"

    resolve_once(lambda: NOTHING_RESOLVED, file, lambda *_: None)

    assert read_resolved(file) is None


def test_a_cell_holds_only_what_is_set_and_a_damaged_one_nothing() -> None:
    resolved = Resolved({"data_url": ResolvedContent("cafe", 2, 3)})

    assert resolved.text == '{"inputs":{"data_url":{"objects":2,"sha256":"cafe","size":3}}}'
    assert resolved_of(resolved.text) == resolved
    assert NOTHING_RESOLVED.text == "{}"
    assert resolved_of(None) == resolved_of("[1]") == resolved_of("{") == NOTHING_RESOLVED
