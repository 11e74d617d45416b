"""New lines of logs that grow, and the times that people name."""

from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aisbench_core.domain.logs.additions import read_added
from aisbench_core.domain.logs.moments import LogTimeError, moment_of

LATEST = datetime(2026, 1, 2, 12, 30, 5)  # noqa: DTZ001  # as lines write it


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 60), max_size=8).map(sorted))
def test_every_line_is_read_once_wherever_the_file_ended_in_between(tmp_path: Path, ends: list[int]) -> None:
    content = "一 one\r\n二 two\n\x1b[31m三\x1b[0m three\nno end".encode()
    log = tmp_path / "worker-0.log"
    positions: dict[int, int] = {}
    texts: list[str] = []
    for end in [*ends, len(content)]:
        log.write_bytes(content[:end])
        new = read_added({0: log}, positions)
        texts += [line.text for line in new.lines]
        positions = dict(new.positions)

    rest = read_added({0: log}, positions, ended=True)

    assert texts == ["一 one", "二 two", "三 three"]
    assert [line.text for line in rest.lines] == ["no end"]


def test_a_log_that_was_begun_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    log = tmp_path / "worker-0.log"
    log.write_text("first attempt\nof the job\n")
    positions = read_added({0: log}, {}).positions
    log.write_text("second\n")

    again = read_added({0: log}, positions)

    assert [line.text for line in again.lines] == ["second"]


def test_new_lines_of_several_nodes_are_in_the_order_of_their_times(tmp_path: Path) -> None:
    logs = {node: tmp_path / f"worker-{node}.log" for node in range(2)}
    logs[0].write_text("2026-01-01 00:00:01 a\n  more of a\n2026-01-01 00:00:03 c\n")
    logs[1].write_text("2026-01-01 00:00:02 b\n")

    assert [line.text[-1] for line in read_added(logs, {}).lines] == ["a", "a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-01 03:04:05", datetime(2026, 1, 1, 3, 4, 5)),  # noqa: DTZ001
        ("2026/1/2T03:04", datetime(2026, 1, 2, 3, 4)),  # noqa: DTZ001
        ("03:04", datetime(2026, 1, 2, 3, 4)),  # noqa: DTZ001
        ("12:30:05", LATEST),
        (" 13:00:00,123 ", datetime(2026, 1, 1, 13, 0, 0, 123_000)),  # noqa: DTZ001
    ],
)
def test_a_time_without_a_day_is_the_last_such_time(text: str, moment: datetime) -> None:
    assert moment_of(text, LATEST) == moment


@pytest.mark.parametrize("text", ["", "noon", "25:00", "2026-02-30 10:00", "1:2", "٣:٠٤", "9" * 5000 + ":00"])
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(LogTimeError, match=r"is not a time .*2026-01-02 03:04:05"):
        moment_of(text, LATEST)


def test_logs_without_times_have_none_to_find() -> None:
    with pytest.raises(LogTimeError, match="no line of these logs carries a time"):
        moment_of("03:04", None)
