"""Event files come from a run's outputs into its folder: as they grow, up to a limit, wherever a job puts them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from aisbench_core.cloud.ports import ObjectStat
from aisbench_core.domain.summaries.curves import CurveReader
from aisbench_core.domain.summaries.fetching import MOST_FILES, MOST_PAGES, FetchedEvents, fetch_event_files
from aisbench_core.model import Channel
from tests.event_files import MINDSPORE, MINDSPORE_NAME, NAME, event, file_of
from tests.memory_store import MemoryStore

OUT = "/bucket/out/job-1/"
OUTPUTS = (Channel(name="train_url", path=OUT),)
MUCH = 10_000_000
FIVE = file_of(*(event(step, x=step) for step in range(5)))


def fetch(
    contents: Mapping[str, bytes] | MemoryStore,
    folder: Path,
    most: int = MUCH,
    outputs: Sequence[Channel] = OUTPUTS,
    secrets: Sequence[str] = (),
) -> FetchedEvents:
    store = contents if isinstance(contents, MemoryStore) else MemoryStore(contents)
    return fetch_event_files(store, outputs, folder, most, secrets)


def files_in(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_event_files_are_fetched_and_nothing_else(tmp_path: Path) -> None:
    fetched = fetch(
        {
            f"{OUT}logs/{NAME}": FIVE,
            f"{OUT}{MINDSPORE_NAME}": MINDSPORE,
            f"{OUT}model.ckpt": b"weights",
            f"{OUT}tfevents/model.ckpt": b"weights",
            f"/bucket/out/job-2/{NAME}": FIVE,
        },
        tmp_path,
    )

    assert files_in(tmp_path) == {f"train_url/logs/{NAME}": FIVE, f"train_url/{MINDSPORE_NAME}": MINDSPORE}
    assert fetched == FetchedEvents(files=2, grew=True, left=0)


def test_only_what_a_file_has_grown_by_is_read(tmp_path: Path) -> None:
    class Counting(MemoryStore):
        def read_range(self, path: str, start: int, size: int) -> bytes:
            ranges.append((start, size))
            return super().read_range(path, start, size)

    ranges: list[tuple[int, int]] = []
    store = Counting({f"{OUT}{NAME}": FIVE[:100]})

    first, again = fetch(store, tmp_path), fetch(store, tmp_path)
    store.contents[f"{OUT}{NAME}"] = FIVE
    last = fetch(store, tmp_path)

    assert [first.grew, again.grew, last.grew] == [True, False, True]
    assert ranges == [(0, 100), (100, len(FIVE) - 100)]
    assert files_in(tmp_path) == {f"train_url/{NAME}": FIVE}


def test_a_shorter_file_replaces_the_one_that_was_fetched(tmp_path: Path) -> None:
    short = file_of(event(0, x=7))
    fetch({f"{OUT}{NAME}": FIVE}, tmp_path)

    fetch({f"{OUT}{NAME}": short}, tmp_path)

    assert files_in(tmp_path) == {f"train_url/{NAME}": short}


def test_beyond_the_limit_the_rest_stays_in_obs(tmp_path: Path) -> None:
    contents = {f"{OUT}a/{NAME}": FIVE, f"{OUT}b/{NAME}": FIVE}
    most = len(FIVE) + 100

    results = [fetch(contents, tmp_path, most) for _ in range(3)]

    assert files_in(tmp_path) == {f"train_url/a/{NAME}": FIVE, f"train_url/b/{NAME}": FIVE[:100]}
    assert [result.left for result in results] == [len(FIVE) - 100] * 3
    assert [result.grew for result in results] == [True, False, False]
    read = CurveReader().read(tmp_path)
    assert (read.damaged, next(curve.count for curve in read.curves)) == ((), 5)


def test_a_limit_of_zero_fetches_nothing(tmp_path: Path) -> None:
    class Closed(MemoryStore):
        def pages(self, prefix: str) -> Iterator[Sequence[ObjectStat]]:
            raise AssertionError(prefix)

    assert fetch(Closed({}), tmp_path, 0) == FetchedEvents()


def test_further_outputs_have_a_folder_each_even_below_the_first(tmp_path: Path) -> None:
    outputs = (*OUTPUTS, Channel(name="summary_url", path=f"{OUT}summary_url/"))

    fetch({f"{OUT}{NAME}": FIVE, f"{OUT}summary_url/x/{NAME}": FIVE}, tmp_path, outputs=outputs)

    assert set(files_in(tmp_path)) == {f"train_url/{NAME}", f"summary_url/x/{NAME}"}


@pytest.mark.parametrize(
    "key",
    [
        f"../{NAME}",
        f"a/../../{NAME}",
        f"./{NAME}",
        f"/{NAME}",
        f"a//{NAME}",
        f"a\\..\\{NAME}",
        f"a\n/{NAME}",
        f"\x00{NAME}",
        f"{'x' * 300}{NAME}",
        "a/" * 20 + NAME,
    ],
)
def test_a_key_that_is_no_plain_path_is_not_fetched(tmp_path: Path, key: str) -> None:
    fetch({f"{OUT}{key}": FIVE, f"{OUT}good/{NAME}": FIVE}, tmp_path / "run")

    assert set(files_in(tmp_path)) == {f"run/train_url/good/{NAME}"}


def test_an_object_and_a_directory_of_one_name_do_not_stop_the_others(tmp_path: Path) -> None:
    fetch({f"{OUT}{NAME}": FIVE, f"{OUT}{NAME}/b/{NAME}": FIVE, f"{OUT}z/{NAME}": FIVE}, tmp_path)

    assert files_in(tmp_path) == {f"train_url/{NAME}": FIVE, f"train_url/z/{NAME}": FIVE}


def test_an_object_that_is_gone_is_left_out(tmp_path: Path) -> None:
    class Vanishing(MemoryStore):
        def pages(self, prefix: str) -> Iterator[Sequence[ObjectStat]]:
            yield from super().pages(prefix)
            self.contents.pop(f"{OUT}a/{NAME}")

    fetch(Vanishing({f"{OUT}a/{NAME}": FIVE, f"{OUT}b/{NAME}": FIVE}), tmp_path)

    assert set(files_in(tmp_path)) == {f"train_url/b/{NAME}"}


def test_many_files_and_large_directories_are_searched_up_to_a_limit(tmp_path: Path) -> None:
    few = {f"{OUT}{index:05}/{NAME}": b"" for index in range(MOST_FILES + 10)}
    fetch(dict.fromkeys(few, FIVE), tmp_path / "files")
    pages = MemoryStore({f"{OUT}{index:05}": b"" for index in range(MOST_PAGES)} | {f"{OUT}z/{NAME}": FIVE}, page=1)
    fetch(pages, tmp_path / "pages")

    assert len(files_in(tmp_path / "files")) == MOST_FILES
    assert files_in(tmp_path / "pages") == {}


def test_a_secret_is_masked_and_the_file_stays_readable(tmp_path: Path) -> None:
    secret = "correct-horse-battery"
    content = file_of(event(0, x=1), event(1, **{secret: 2.0}), event(2, x=3))
    store = MemoryStore({f"{OUT}{NAME}": content[: len(content) // 2]})

    fetch(store, tmp_path, secrets=[secret])
    store.contents[f"{OUT}{NAME}"] = content
    fetch(store, tmp_path, secrets=[secret])
    fetch(store, tmp_path, secrets=[secret])

    (stored,) = files_in(tmp_path).values()
    read = CurveReader().read(tmp_path)
    assert len(stored) == len(content)
    assert secret.encode() not in stored
    assert read.damaged == ()
    assert [(curve.tag, curve.count) for curve in read.curves] == [("*" * len(secret), 1), ("x", 2)]
