"""Views of logs: nodes merged by time, a jump to a time, filters; what a view costs does not grow with the log."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aisbench_core.domain.logs import reading, views
from aisbench_core.domain.logs.lines import LineFilter, LogLevel

START = datetime(2026, 1, 1)  # noqa: DTZ001
ALL = LineFilter()


def at(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).isoformat(" ", "milliseconds")


def write(folder: Path, **logs: str) -> dict[int, Path]:
    files = {int(name[1:]): folder / f"worker-{name[1:]}.log" for name in logs}
    for name, text in logs.items():
        files[int(name[1:])].write_text(text)
    return files


def texts(view: views.LogView) -> list[str]:
    return [f"{line.node}:{line.text.removeprefix('2026-01-01 ')}" for line in view.lines]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=20).map(sorted), min_size=2, max_size=4),
    st.integers(1, 70),
)
def test_the_last_lines_of_all_nodes_are_those_of_the_latest_times(
    tmp_path: Path, nodes: list[list[int]], count: int
) -> None:
    logs = {node: tmp_path / f"worker-{node}.log" for node in range(len(nodes))}
    for node, seconds in enumerate(nodes):
        logs[node].write_text("".join(f"{at(second)} n{node}\n" for second in seconds))
    expected = sorted((second, node) for node, seconds in enumerate(nodes) for second in seconds)

    view = views.view_last(logs, count, ALL)

    assert [(line.at, line.node) for line in view.lines] == [
        (START + timedelta(seconds=second), node) for second, node in expected[-count:]
    ]
    assert view.by_time
    assert view.older == (len(expected) > count)


def test_lines_without_a_time_stay_behind_the_one_before_them(tmp_path: Path) -> None:
    logs = write(
        tmp_path,
        n0=f"{at(1)} a\nTraceback (most recent call last):\n  File x\nValueError: y\n{at(4)} b\n",
        n1=f"{at(2)} c\n{at(3)} d\n",
    )

    lines = texts(views.view_last(logs, 100, ALL))

    assert lines == [
        *("0:00:00:01.000 a", "0:Traceback (most recent call last):", "0:  File x", "0:ValueError: y"),
        *("1:00:00:02.000 c", "1:00:00:03.000 d", "0:00:00:04.000 b"),
    ]


def test_nodes_follow_each_other_when_one_of_them_has_no_times(tmp_path: Path) -> None:
    logs = write(tmp_path, n0=f"{at(9)} a\n{at(10)} b\n", n1="c\nd\n")

    view = views.view_last(logs, 2, ALL)

    assert not view.by_time
    assert view.older
    assert texts(view) == ["0:00:00:10.000 b", "1:d"]


def test_a_clock_that_is_set_back_does_not_change_the_order_of_a_log(tmp_path: Path) -> None:
    logs = write(tmp_path, n0=f"{at(5)} a\n{at(3)} b\n{at(6)} c\n", n1=f"{at(4)} d\n")

    assert [line[0] + line[-1] for line in texts(views.view_last(logs, 9, ALL)) if line[0] == "0"] == ["0a", "0b", "0c"]


def test_filters_show_what_they_name_with_the_frames_of_errors(tmp_path: Path) -> None:
    error = "Traceback (most recent call last):\n  File x\nValueError: y\n"
    logs = write(tmp_path, n0=f"[ModelArts Service Log][init] x\nINFO a\n{error}WARNING z\n")

    errors = views.view_last(logs, 9, LineFilter(LogLevel.ERROR))
    own = views.view_last(logs, 9, LineFilter(LogLevel.NONE, system=False))

    assert [line.text for line in errors.lines] == ["Traceback (most recent call last):", "  File x", "ValueError: y"]
    assert own.lines[0].text == "INFO a"


@pytest.mark.slow
def test_a_filter_reads_no_more_than_its_budget_and_says_so(tmp_path: Path) -> None:
    logs = write(tmp_path, n0="ERROR long ago\n" + "INFO x\n" * 2_000_000)

    view = views.view_last(logs, 100, LineFilter(LogLevel.ERROR))

    assert view.lines == ()
    assert not view.is_complete


def test_a_time_is_found_in_every_node(tmp_path: Path) -> None:
    logs = {node: tmp_path / f"worker-{node}.log" for node in range(3)}
    for node, file in logs.items():
        file.write_text("".join(f"{at(second)} step {second} " + "x" * 90 + "\n" for second in range(node, 20_000)))
    logs[2].write_text("no times here\n")

    offsets = views.offsets_at(logs, START + timedelta(seconds=12_345))
    view = views.view_around({node: logs[node] for node in offsets}, offsets, 4, ALL)

    assert set(offsets) == {0, 1}
    assert [line.at for line in view.lines if line.at] == [
        START + timedelta(seconds=second) for second in (12_344, 12_344, 12_345, 12_345)
    ]
    assert view.older
    assert view.newer
    assert views.offsets_at({0: logs[0]}, START - timedelta(days=1)) == {0: 0}
    assert views.offsets_at({0: logs[0]}, START + timedelta(days=9)) == {0: logs[0].stat().st_size}


def test_lines_around_an_offset_begin_with_whole_lines(tmp_path: Path) -> None:
    logs = write(tmp_path, n0="".join(f"line {number}\n" for number in range(1000)))

    view = views.view_around(logs, {0: 3456}, 10, ALL)

    assert len(view.lines) == 10
    assert view.lines[5].offset <= 3456 < view.lines[6].offset
    assert all(line.text.startswith("line ") for line in view.lines)


@pytest.mark.parametrize("ask", ["last", "time", "offset"])
def test_what_a_view_reads_does_not_grow_with_the_log(
    tmp_path: Path, ask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    whole = reading.read_at

    def counted(file: Path, start: int, size: int) -> bytes:
        read.append(size)
        return whole(file, start, size)

    monkeypatch.setattr(reading, "read_at", counted)
    file = tmp_path / "worker-0.log"
    line = f"{at(5)} " + "x" * 100 + "\n"
    file.write_text(line * 1000)
    with file.open("r+b") as log:  # 10 GB, of which the disk holds the ends only
        log.seek(10 * 1024**3)
        log.write(("\n" + f"{at(9)} " + "y" * 100).encode() * 2000)

    if ask == "last":
        view = views.view_last({0: file}, 300, ALL)
    elif ask == "time":
        offsets = views.offsets_at({0: file}, START + timedelta(seconds=9))
        view = views.view_around({0: file}, offsets, 300, ALL)
    else:
        view = views.view_around({0: file}, {0: 10 * 1024**3 + 5000}, 300, ALL)

    assert view.lines
    assert sum(read) < 16 * 1024**2
