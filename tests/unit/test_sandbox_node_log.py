"""A node's log stays within bounds, whatever its processes print."""

from pathlib import Path

import pytest

from aisbench_sandbox.engine.node.logs import TAIL, BoundedLog
from aisbench_sandbox.engine.node.transfers import NodeLog
from aisbench_sandbox.obs.storage.objects import Objects

LIMIT = 4 * TAIL


def append(file: Path, text: str) -> None:
    with file.open("a") as stream:
        stream.write(text)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    file = tmp_path / "rank-0.txt"
    file.touch()
    return file


def lines(first: int, count: int) -> str:
    """About 100 bytes each."""
    return "".join(f"line {number:08} {'.' * 85}\n" for number in range(first, first + count))


def test_a_log_without_end_keeps_its_beginning_and_its_newest_part(tmp_path: Path, output: Path) -> None:
    log = BoundedLog(tmp_path / "log", LIMIT)
    printed = 0
    for _ in range(12):
        append(output, lines(printed, 10_000))
        printed += 10_000
        log.gather([output])
        assert (tmp_path / "log").stat().st_size <= LIMIT + 2 * TAIL
        assert output.stat().st_size <= LIMIT + 2 * TAIL

    log.gather([output], final=True)
    log.add_line("[end] exit code 0")

    text = (tmp_path / "log").read_text()
    assert text.startswith("line 00000000 ")
    assert f"line {printed - 1:08} " in text
    assert "of what follows, the newest part is added at the end" in text
    assert "bytes are left out here" in text
    assert text.endswith("[ModelArts Service Log][end] exit code 0\n")
    assert len(text) <= LIMIT + 3 * TAIL


def test_a_process_own_file_keeps_its_beginning_and_its_newest_part_too(tmp_path: Path, output: Path) -> None:
    log = BoundedLog(tmp_path / "log", LIMIT)
    for part in range(12):
        append(output, lines(10_000 * part, 10_000))
        log.gather([output])
    log.gather([output], final=True)

    text = log.complete_file(output).read_text()

    assert text.startswith("line 00000000 ")
    assert text.endswith(lines(119_999, 1))
    assert "bytes are left out here" in text
    assert len(text) <= LIMIT // 4 + 2 * TAIL


def test_a_process_that_prints_faster_than_is_read_loses_the_middle_only(tmp_path: Path, output: Path) -> None:
    log = BoundedLog(tmp_path / "log", TAIL)
    append(output, lines(0, 20_000))
    log.gather([output])
    append(output, lines(20_000, 100_000))

    log.gather([output], final=True)

    text = (tmp_path / "log").read_text()
    assert text.startswith("line 00000000 ")
    assert text.endswith(lines(119_999, 1))
    assert len(text) < 5 * TAIL


def test_a_line_of_the_platforms_begins_a_line(tmp_path: Path, output: Path) -> None:
    log = BoundedLog(tmp_path / "log", LIMIT)
    append(output, "no end")

    log.gather([output], final=True)
    log.add_line("[end] exit code 0")

    assert (tmp_path / "log").read_text() == "no end\n[ModelArts Service Log][end] exit code 0\n"


def test_a_short_log_is_whole(tmp_path: Path, output: Path) -> None:
    log = BoundedLog(tmp_path / "log", LIMIT)
    append(output, lines(0, 100))

    log.gather([output], final=True)

    assert (tmp_path / "log").read_text() == lines(0, 100)
    assert log.complete_file(output) == output


def test_a_long_log_is_not_stored_anew_for_every_line(tmp_path: Path, output: Path) -> None:
    objects = Objects(tmp_path / "obs")
    objects.create_bucket("bench")
    log = NodeLog(objects, tmp_path / "log", "/bench/log/worker-0.log")
    append(output, lines(0, 20_000))
    log.gather([output])
    log.export()
    first = objects.head("bench", "log/worker-0.log")

    append(output, "one line more\n")
    log.gather([output])
    log.export()
    assert objects.head("bench", "log/worker-0.log") == first

    append(output, lines(20_000, 5_000))
    log.gather([output])
    log.export()
    grown = objects.head("bench", "log/worker-0.log")
    assert grown is not None
    assert grown.size == (tmp_path / "log").stat().st_size

    append(output, "the last line\n")
    log.gather([output], final=True)
    log.export(final=True)
    assert objects.read("bench", "log/worker-0.log").endswith(b"the last line\n")


def test_what_frameworks_logged_stands_below_the_jobs_own_folder(tmp_path: Path) -> None:
    objects = Objects(tmp_path / "obs")
    objects.create_bucket("bench")
    log = NodeLog(objects, tmp_path / "log.txt", "/bench/log/modelarts-job-1-worker-0.log")
    written = {
        "modelarts-job-1/worker-0/plog-1.log": "a",
        "ascend/process_log/rank_0/plog/plog-1.log": "b",
        "mindspore/log/rdr/dump.dat": "c",
        "empty.log": "",
        "notes.txt": "not a log",
        "own.log": "d",
    }
    for name, content in written.items():
        (tmp_path / "logs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "logs" / name).write_text(content)

    log.export_tree(tmp_path / "logs", "modelarts-job-1", lambda file: file if file.is_file() else None)

    assert [stat.key for stat in objects.list("bench").objects] == [
        "log/modelarts-job-1/ascend/process_log/rank_0/plog/plog-1.log",
        "log/modelarts-job-1/mindspore/log/rdr/dump.dat",
        "log/modelarts-job-1/worker-0/plog-1.log",
        "log/own.log",
    ]


def test_a_link_in_the_place_of_a_log_is_neither_read_nor_cut(tmp_path: Path, output: Path) -> None:
    log = BoundedLog(tmp_path / "log", LIMIT)
    append(output, lines(0, 50_000))
    log.gather([output])
    mine = tmp_path / "mine.txt"
    mine.write_text("a file of this machine\n")
    output.unlink()
    output.symlink_to(mine)

    log.gather([output])
    log.gather([output], final=True)

    assert mine.read_text() == "a file of this machine\n"
    assert b"of this machine" not in (tmp_path / "log").read_bytes()
