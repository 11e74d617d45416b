"""Logs: fetched by range, cut anywhere, begun anew; a person always reads whole characters."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from aisbench_core.base.errors import CloudNotFound
from aisbench_core.base.messages import make_verbatim
from aisbench_core.cloud.ports import ObjectStat
from aisbench_core.running import logs
from aisbench_core.store.run_folders.run_paths import RunFolder
from tests.memory_store import MemoryStore

DIRECTORY = "/bench/log/job/"
PATHS = {0: f"{DIRECTORY}worker-0.log", 1: f"{DIRECTORY}worker-1.log"}
LINE = "精度 accuracy=0.97 ✓\n"


class Counting(MemoryStore):
    """Remembers what was read, and from where."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        super().__init__(contents)
        self.reads: list[tuple[str, int]] = []

    def read(self, path: str, start: int = 0) -> bytes:
        self.reads.append((path, start))
        return super().read(path, start)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "r-1")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "worker-0.log"


def test_only_what_was_added_is_fetched(folder: RunFolder) -> None:
    store = Counting({PATHS[0]: b"step 1\n", PATHS[1]: b"node 1\n"})
    logs.fetch(store, PATHS, DIRECTORY, folder)
    store.contents[PATHS[0]] += b"step 2\n"

    logs.fetch(store, PATHS, DIRECTORY, folder)

    assert store.reads == [(PATHS[0], 0), (PATHS[1], 0), (PATHS[0], 7)]
    assert folder.log(0).read_bytes() == b"step 1\nstep 2\n"
    assert logs.list_nodes(folder) == [0, 1]


VALUE = 'tök3n-with"quotes'


@pytest.mark.parametrize("form", [VALUE, 't\\u00f6k3n-with\\"quotes', 'tök3n-with\\"quotes'])
def test_a_secret_value_is_masked_wherever_the_log_was_cut(folder: RunFolder, form: str) -> None:
    whole = f"a\ntoken={form}\n{form}{form} b\n".encode()
    masked = whole.replace(form.encode(), b"*" * len(form.encode()))
    for cut in range(1, len(whole) + 1):
        store = MemoryStore({PATHS[0]: whole[:cut]})
        logs.fetch(store, PATHS, DIRECTORY, folder, [VALUE])
        first = folder.log(0).read_bytes()
        store.contents[PATHS[0]] = whole
        logs.fetch(store, PATHS, DIRECTORY, folder, [VALUE])

        assert folder.log(0).read_bytes() == masked
        assert len(first) == cut
        assert form.encode()[:4] not in first
        folder.log(0).unlink()


def test_a_log_without_secret_values_stays_as_it_is_and_short_ones_are_no_words(folder: RunFolder) -> None:
    content = b"\xff\x00 step 1 of 10: tok\n"

    logs.fetch(MemoryStore({PATHS[0]: content}), PATHS, DIRECTORY, folder, ["1", "tok", "token"])

    assert folder.log(0).read_bytes() == content


def test_a_secret_value_is_masked_in_a_log_too_large_for_memory(folder: RunFolder) -> None:
    line = b"x" * 1021 + b"secret-value"  # falls on every border sooner or later
    content = line * (logs.MOST_BYTES // len(line) + 1)

    logs.fetch(MemoryStore({PATHS[0]: content}), PATHS, DIRECTORY, folder, ["secret-value"])

    assert folder.log(0).read_bytes() == content.replace(b"secret-value", b"*" * 12)
    assert list(folder.logs.iterdir()) == [folder.log(0)]


def test_a_log_that_is_not_there_yet_is_no_file(folder: RunFolder) -> None:
    logs.fetch(MemoryStore({}), PATHS, DIRECTORY, folder)

    assert logs.list_nodes(folder) == []
    assert logs.read_tail(folder.log(0), 10) == ""
    assert logs.read(folder.log(0), 0) == ("", 0)


def test_a_log_that_shrank_was_begun_anew(folder: RunFolder) -> None:
    store = MemoryStore({PATHS[0]: b"the first attempt of the job\n"})
    logs.fetch(store, PATHS, DIRECTORY, folder)
    _, seen = logs.read(folder.log(0), 0)
    store.contents[PATHS[0]] = b"the second\n"

    logs.fetch(store, PATHS, DIRECTORY, folder)

    assert folder.log(0).read_text() == "the second\n"
    assert logs.read(folder.log(0), seen) == ("the second\n", 11)


def test_a_log_that_vanishes_between_the_list_and_the_read_keeps_what_is_here(folder: RunFolder) -> None:
    class Vanishing(MemoryStore):
        def read(self, path: str, start: int = 0) -> bytes:
            raise CloudNotFound(make_verbatim(f"{path} from {start}"), operation="read")

    logs.fetch(MemoryStore({PATHS[0]: b"step 1\n"}), PATHS, DIRECTORY, folder)

    logs.fetch(Vanishing({PATHS[0]: b"step 1\nstep 2\n"}), PATHS, DIRECTORY, folder)

    assert folder.log(0).read_bytes() == b"step 1\n"


def test_a_log_that_grows_while_it_is_fetched_loses_nothing(folder: RunFolder) -> None:
    class Growing(MemoryStore):
        def list(self, prefix: str) -> Sequence[ObjectStat]:
            stats = super().list(prefix)
            self.contents[PATHS[0]] += b"more\n"
            return stats

    store = Growing({PATHS[0]: b"step 1\n"})
    for _ in range(3):
        logs.fetch(store, PATHS, DIRECTORY, folder)

    assert folder.log(0).read_bytes() == store.contents[PATHS[0]]


def test_reading_on_gives_whole_characters_wherever_the_file_ends(log: Path) -> None:
    content = (LINE * 3).encode()
    text, position = "", 0
    for size in range(len(content) + 1):
        log.write_bytes(content[:size])
        more, position = logs.read(log, position)
        text += more

    assert text == LINE * 3
    assert position == len(content)


def test_reading_a_large_log_part_by_part_gives_all_of_it(log: Path) -> None:
    whole = LINE * 60_000
    log.write_text(whole, "utf-8")
    parts, position = [], 0
    while True:
        part, after = logs.read(log, position)
        if after == position:
            break
        assert after - position <= logs.PART_BYTES
        parts.append(part)
        position = after

    assert len(parts) == 2
    assert "".join(parts) == whole


def test_bytes_that_are_no_text_are_shown_as_such_and_do_not_stop_the_reader(log: Path) -> None:
    log.write_bytes(b"good\xff\xfe\nstill good\n")

    text, position = logs.read(log, 0)

    assert text == "good\ufffd\ufffd\nstill good\n"
    assert position == log.stat().st_size


def test_the_tail_is_the_last_lines(log: Path) -> None:
    log.write_text("".join(f"line {number}\n" for number in range(1000)), "utf-8")

    assert logs.read_tail(log, 2) == "line 998\nline 999\n"
    assert logs.read_tail(log, 0) == ""
    assert logs.read_tail(log, 5000).startswith("line 0\n")


def test_the_tail_of_a_line_that_is_being_written_shows_its_beginning(log: Path) -> None:
    log.write_bytes("line 1\n半".encode()[:-1])

    assert logs.read_tail(log, 2) == "line 1\n"


@pytest.mark.parametrize("shift", range(4))
def test_the_tail_begins_with_a_whole_character_even_in_one_endless_line(log: Path, shift: int) -> None:
    log.write_bytes(b"x" * shift + "精".encode() * logs.TAIL_BYTES)

    shown = logs.read_tail(log, 1)

    assert set(shown) == {"精"}
    assert len(shown.encode()) <= logs.TAIL_BYTES
