"""When a job counts as hanging: neither bytes nor computing for a while."""

from aisbench_sandbox.engine.node.hang_detector import Activity, HangDetector


def test_the_time_runs_from_the_last_byte_that_moved() -> None:
    detector = HangDetector(0.0)

    assert detector.idle_seconds(Activity(10, 0.0), 100.0) == 0
    assert detector.idle_seconds(Activity(10, 0.0), 160.0) == 60
    assert detector.idle_seconds(Activity(11, 0.0), 161.0) == 0


def test_a_job_that_computes_without_reading_or_writing_does_not_hang() -> None:
    detector = HangDetector(0.0)

    assert [detector.idle_seconds(Activity(0, 30.0 * minute), 60.0 * minute) for minute in range(1, 5)] == [0, 0, 0, 0]


def test_a_process_that_only_polls_hangs() -> None:
    detector = HangDetector(0.0)

    assert detector.idle_seconds(Activity(0, 0.1), 60.0) == 60
    assert detector.idle_seconds(Activity(0, 0.2), 120.0) == 120


def test_where_the_system_tells_nothing_nothing_is_suspected() -> None:
    assert HangDetector(0.0).idle_seconds(None, 9999.0) == 0
