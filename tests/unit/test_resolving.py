"""The hash over the objects of an input, and that the newest answer of a launch is stored."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from aisbench_core.base.errors import CloudUnavailable
from aisbench_core.base.messages import Message, in_chinese
from aisbench_core.cloud.ports import ObjectStat
from aisbench_core.model import NOTHING_RESOLVED, Level, Resolved, ResolvedContent, RunSpec, resolved_of
from aisbench_core.running.resolving.config_files import resolve_files
from aisbench_core.running.resolving.inputs import MAX_SECONDS, list_pages, resolve_input
from aisbench_core.running.resolving.service import store_resolved
from aisbench_core.store.run_folders.resolved import read_resolved
from aisbench_core.store.run_folders.run_paths import RunFolder
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


class LongStore(MemoryStore):
    """Counts the pages that are asked for."""

    asked = 0

    def pages(self, prefix: str) -> Iterator[Sequence[ObjectStat]]:
        for page in super().pages(prefix):
            self.asked += 1
            yield page


def names_of(objects: MemoryStore, max_objects: int = 10) -> Iterator[set[str]]:
    for page in list_pages(objects, "/bucket/data/", MovableClock(a.T0), lambda _: None, max_objects):
        yield {stat.path.removeprefix("/bucket/data/") for stat in page}


def test_code_is_listed_until_the_files_that_parameters_name_are_found_or_the_limit_is_reached() -> None:
    contents = {f"/bucket/data/{name}.yaml": b"" for name in "abcdef"}
    spec, objects = RunSpec(workload="w", flavor="f"), LongStore(contents, page=1)

    assert resolve_files(spec, {"config": "b.yaml"}, names_of(objects), (), objects) == {}
    assert objects.asked == 2
    [missing] = resolve_files(spec, {"config": "g.yaml"}, names_of(objects), (), objects).values()
    assert missing.why_unknown == "the run's code has no file g.yaml"
    [found] = resolve_files(spec, {"config": "f.yaml"}, names_of(objects, max_objects=3), (), objects).values()
    assert found.why_unknown == "it has more than 3 objects"
    assert resolve_files(spec, {"config": "g.yaml"}, None, (), objects) == {}


@dataclass
class Store:
    """Stores what a launch is about, and notes what was sealed of it."""

    folder: RunFolder
    sealed: list[bytes | None] = field(default_factory=list)

    @contextmanager
    def sealing(self, run_id: str, content: bytes | None) -> Iterator[None]:
        assert run_id == self.folder.path.name
        yield
        assert (self.folder.resolved.read_bytes() if self.folder.resolved.exists() else None) == content
        self.sealed.append(content)

    def store(self, resolved: Resolved) -> list[tuple[Level, str]]:
        return [(level, str(said)) for level, said in store_resolved(resolved, self.folder, self.sealing)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(RunFolder(tmp_path / "run"))


def test_what_a_repeated_attempt_finds_replaces_what_was_stored_before_and_is_told(store: Store) -> None:
    objects, counts = MemoryStore(IMAGES), list[int]()

    def attempt() -> list[tuple[Level, str]]:
        found = resolve_input(objects, "/bucket/data/", MovableClock(a.T0), counts.append)
        return store.store(Resolved({"data_url": found}))

    [first] = attempt()
    objects.put("/bucket/data/a.jpg", b"xyz")
    [second] = attempt()

    assert first[0] is second[0] is Level.INFO
    assert first[1].startswith("data of input data_url: 2 objects, 3 B, SHA-256 ")
    assert second[1].startswith("data of input data_url: 2 objects, 5 B, SHA-256 ")
    assert read_resolved(store.folder.resolved) == Resolved({"data_url": resolve(objects)})
    assert len(set(store.sealed)) == 2
    assert counts == [0, 2, 0, 2]


def test_a_run_without_inputs_has_nothing_to_resolve_and_keeps_no_file_of_others(store: Store) -> None:
    assert store.store(NOTHING_RESOLVED) == []
    assert (read_resolved(store.folder.resolved), store.sealed) == (None, [])

    store.folder.path.mkdir()
    store.folder.resolved.write_text("{}", "utf-8")

    assert store.store(NOTHING_RESOLVED) == []
    assert (read_resolved(store.folder.resolved), store.sealed) == (None, [None])


def test_a_cell_holds_only_what_is_set_and_a_damaged_one_nothing() -> None:
    resolved = Resolved({"data_url": ResolvedContent("cafe", 2, 3)})

    assert resolved.text == '{"inputs":{"data_url":{"objects":2,"sha256":"cafe","size":3}}}'
    assert resolved_of(resolved.text) == resolved
    assert NOTHING_RESOLVED.text == "{}"
    assert resolved_of(None) == resolved_of("[1]") == resolved_of("{") == NOTHING_RESOLVED
