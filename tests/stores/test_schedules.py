"""Schedules: each time launches one series, whatever is killed; what is not launched is told."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from shutil import copytree
from types import FrameType
from typing import Any

import pytest

from aisbench_core.base.errors import AisbenchError, ConfigError, NotAllowed, SpecError
from aisbench_core.model import Actor, News, NewsKind, Notice, Role, RunState, Schedule, Series, WayIn
from aisbench_core.store.audit.audit import AuditQuery
from tests.actors import named
from tests.flow.following import PERSON
from tests.series_bench import SPEC, SeriesBench
from tests.team_ledger import IN_A_FILE

NIGHTLY = {"name": "nightly", "cron": "0 2 * * *", "time_zone": "Asia/Shanghai"}
NOON = datetime.fromisoformat("2026-03-02T12:00:00+08:00")
ME = named(PERSON)


@pytest.fixture
def bench(tmp_path: Path, ledger_url: str) -> SeriesBench:
    bench = SeriesBench.on(tmp_path / "data", ledger=ledger_url)
    bench.clock.now = NOON
    return bench


def add(bench: SeriesBench, timing: dict[str, Any] = NIGHTLY, **plan: Any) -> Schedule:
    draft = bench.core.series.plan(SPEC, {"repeats": 2, **plan})
    return bench.core.schedules.add(draft.plan, timing, "", ME)


def tick(bench: SeriesBench, at: str | datetime) -> Schedule:
    """What the follower does at that time; the only schedule after it."""
    bench.clock.now = datetime.fromisoformat(at) if isinstance(at, str) else at
    bench.core.following.schedule()
    (schedule,) = bench.core.schedules.all()
    return schedule


def launched(bench: SeriesBench) -> list[Series]:
    return sorted(bench.core.series.newest(50), key=lambda series: series.created_at)


def end_all(bench: SeriesBench, *throughputs: float) -> None:
    """Let every cell of the last series end."""
    for throughput in throughputs:
        (run,) = bench.admit()
        bench.end(run, throughput)


def told(bench: SeriesBench, kind: str) -> list[Notice]:
    return [notice for notice in bench.core.notifications.outbox.notices() if notice.kind == kind]


def test_the_audit_names_the_schedule_that_was_changed_and_not_its_last_series(bench: SeriesBench) -> None:
    add(bench)
    tick(bench, "2026-03-03T02:00:01+08:00")

    bench.core.schedules.pause("nightly", ME)
    bench.core.schedules.resume("nightly", ME)
    bench.core.schedules.change("nightly", None, {"cron": "0 3 * * *"}, "", ME)

    changes = {
        entry.act.change: entry.act.object for entry in bench.core.audit.entries(AuditQuery(change="schedule."), ME)
    }
    assert {changes[f"schedule.{name}"] for name in ("pause", "resume", "change")} == {"nightly"}


@pytest.mark.every_store
def test_a_series_is_launched_at_its_time_for_its_owner_and_once(bench: SeriesBench) -> None:
    schedule = add(bench)
    assert schedule.next_at == datetime.fromisoformat("2026-03-03T02:00:00+08:00")

    before = tick(bench, "2026-03-03T01:59:59+08:00")
    after = tick(bench, "2026-03-03T02:00:01+08:00")
    again = tick(bench, "2026-03-03T02:00:02+08:00")

    assert before.series_id == ""
    (series,) = launched(bench)
    assert (after.series_id, again.series_id) == (series.series_id, series.series_id)
    assert (series.created_by, series.plan) == (PERSON, schedule.plan)
    assert after.next_at == datetime.fromisoformat("2026-03-04T02:00:00+08:00")
    assert str(after.detail) == f"launched: {series.series_id}"
    assert told(bench, "skipped") == []


def test_while_the_series_before_runs_nothing_is_launched_and_that_is_told(bench: SeriesBench) -> None:
    add(bench)
    first = tick(bench, "2026-03-03T02:00:01+08:00")
    bench.admit()

    skipped = tick(bench, "2026-03-04T02:00:01+08:00")

    assert len(launched(bench)) == 1
    assert str(skipped.detail) == f"not launched: the previous series, {first.series_id}, has not ended"
    (notice,) = told(bench, "skipped")
    assert (notice.subject, notice.text) == ("nightly", skipped.detail)
    end_all(bench, 200.0, 201.0)
    assert tick(bench, "2026-03-05T02:00:01+08:00").series_id != first.series_id
    assert len(launched(bench)) == 2


def test_times_without_a_follower_are_told_once_and_not_made_up_for(bench: SeriesBench) -> None:
    add(bench)

    late = tick(bench, "2026-03-06T09:00:00+08:00")
    tick(bench, "2026-03-06T09:00:01+08:00")

    assert launched(bench) == []
    assert str(late.detail) == (
        "missed since 2026-03-02 18:00 UTC because no follower was running: 4 launches;"
        " missed launches are not repeated"
    )
    assert len(told(bench, "skipped")) == 1
    tick(bench, "2026-03-07T02:09:59+08:00")
    assert len(launched(bench)) == 1, "ten minutes late is in time"


def test_the_budget_of_any_seven_days_is_never_exceeded(bench: SeriesBench) -> None:
    add(bench, NIGHTLY | {"weekly_hours": 3.5}, hours_per_run=1)
    day = datetime.fromisoformat("2026-03-03T02:00:01+08:00")

    used = []
    for _ in range(9):
        schedule = tick(bench, day)
        for _ in range(2):
            for run in bench.admit():
                bench.end(run, hours=0.5)
        used.append(str(schedule.detail).partition(":")[0])
        day = day.replace(hour=2, minute=0, second=1) + timedelta(days=1)

    # 2 node hours are needed for each; ended series count with the 1 that they took.
    assert used == ["launched", "launched", *["not launched"] * 5, "launched", "launched"]
    texts = {str(notice.text) for notice in told(bench, "skipped")}
    assert texts == {
        "not launched: the budget is 3.5 node hours a week, of which 2 are used, and the series needs about 2"
    }


@pytest.mark.every_store
def test_a_removed_schedule_of_the_same_name_goes_on_with_its_week(bench: SeriesBench) -> None:
    add(bench, NIGHTLY | {"weekly_hours": 3})
    tick(bench, "2026-03-03T02:00:01+08:00")
    end_all(bench, 200.0, 200.0)
    bench.core.schedules.remove("nightly", ME)
    add(bench, NIGHTLY | {"weekly_hours": 2.5})

    skipped = tick(bench, "2026-03-04T02:00:01+08:00")

    assert "of which 1 are used" in str(skipped.detail)
    assert len(launched(bench)) == 1


def test_when_a_series_has_ended_its_verdict_is_told(bench: SeriesBench) -> None:
    add(bench, repeats=6)
    tick(bench, "2026-03-03T02:00:01+08:00")
    end_all(bench, 200.0, 201.0, 199.0, 200.5, 199.5, 200.0)
    first = tick(bench, bench.clock() + timedelta(seconds=1))
    second = tick(bench, "2026-03-04T02:00:01+08:00")
    end_all(bench, 180.0, 181.0, 179.0, 180.5, 179.5, 180.0)

    reported = tick(bench, bench.clock() + timedelta(seconds=1))
    tick(bench, bench.clock() + timedelta(seconds=1))

    assert str(first.detail).startswith("6 of 6 cells are valid; ")
    assert "6 of 6 cells are valid; regression: throughput changed by −10.0 %" in str(reported.detail)
    notices = told(bench, "series")
    assert [notice.subject for notice in notices] == [first.series_id, second.series_id]
    assert str(notices[1].text).startswith("nightly: 6 of 6 cells are valid; regression")


def test_lost_cells_are_told_as_well(bench: SeriesBench) -> None:
    add(bench)
    tick(bench, "2026-03-03T02:00:01+08:00")
    for state in (RunState.COMPLETED, RunState.FAILED):
        (run,) = bench.admit()
        bench.end(run, state=state)

    reported = tick(bench, bench.clock() + timedelta(seconds=1))

    assert str(reported.detail) == "1 of 2 cells are valid; not enough data"


def test_a_plan_that_has_become_impossible_is_told_with_its_reason(bench: SeriesBench, tmp_path: Path) -> None:
    add(bench)
    (tmp_path / "data" / "profiles" / "quiet.yaml").unlink()

    skipped = tick(bench, "2026-03-03T02:00:01+08:00")
    tick(bench, "2026-03-03T02:00:02+08:00")

    assert str(skipped.detail).startswith("not launched: there is no profile named 'quiet'")
    assert len(told(bench, "skipped")) == 1


@pytest.mark.parametrize(
    ("role", "says"),
    [
        (Role.ENGINEER, "launched: "),
        (Role.VIEWER, "not launched: permission denied: series.launch needs the role engineer"),
        (None, f"not launched: the access of {PERSON} was revoked"),
    ],
)
def test_a_schedule_launches_in_the_role_that_its_owner_has_today(
    bench: SeriesBench, role: Role | None, says: str
) -> None:
    add(bench)
    bench.core.people.set_role("boss", Role.ADMIN, ME)
    bench.core.people.set_role(PERSON, role or Role.ENGINEER, ME)
    if role is None:
        bench.core.people.revoke(PERSON, ME)

    schedule = tick(bench, "2026-03-03T02:00:01+08:00")

    assert str(schedule.detail).startswith(says)
    assert len(launched(bench)) == (role is Role.ENGINEER)


def test_a_paused_schedule_launches_nothing_and_misses_nothing(bench: SeriesBench) -> None:
    add(bench)
    bench.core.schedules.pause("nightly", ME)
    tick(bench, "2026-03-06T02:00:01+08:00")

    resumed = bench.core.schedules.resume("nightly", ME)

    assert launched(bench) == []
    assert told(bench, "skipped") == []
    assert resumed.next_at == datetime.fromisoformat("2026-03-07T02:00:00+08:00")
    events = [str(event.message) for event in bench.core.schedules.events(resumed)]
    assert events == ["added: 0 2 * * *, Asia/Shanghai", "paused", "resumed"]


@pytest.mark.parametrize(
    ("timing", "says"),
    [
        ({"cron": "0 25 * * *"}, "cron: must be minute, hour"),
        ({"time_zone": "Peking"}, "time_zone: must be a time zone such as Asia/Shanghai"),
        ({"weekly_hours": 0}, "weekly_hours"),
        ({"name": "Every Night"}, "name"),
    ],
)
def test_a_schedule_without_sense_is_refused_and_not_stored(
    bench: SeriesBench, timing: dict[str, Any], says: str
) -> None:
    with pytest.raises(SpecError, match=says):
        add(bench, NIGHTLY | timing)

    assert bench.core.schedules.all() == []


def test_a_change_to_each_second_is_refused_too(bench: SeriesBench) -> None:
    add(bench)

    with pytest.raises(SpecError, match="Wrong number of fields"):
        bench.core.schedules.change("nightly", None, {"cron": "* * * * * *"}, "", ME)


def test_a_name_is_given_once_and_unknown_ones_are_said(bench: SeriesBench) -> None:
    add(bench)

    with pytest.raises(ConfigError, match="there is a schedule 'nightly' already"):
        add(bench)
    with pytest.raises(ConfigError, match="there is no schedule 'daily'"):
        bench.core.schedules.pause("daily", ME)


def test_only_its_owner_or_a_lead_may_change_it(bench: SeriesBench) -> None:
    add(bench)
    other = Actor("other", frozenset({Role.ENGINEER}), WayIn.CONSOLE)

    with pytest.raises(NotAllowed):
        bench.core.schedules.remove("nightly", other)

    bench.core.schedules.pause("nightly", Actor("lead", frozenset({Role.LEAD}), WayIn.CONSOLE))
    assert bench.core.schedules.all()[0].paused


def test_what_people_are_told_names_workload_person_and_page(bench: SeriesBench) -> None:
    add(bench)
    tick(bench, "2026-03-06T09:00:00+08:00")
    (notice,) = told(bench, "skipped")

    newsroom = bench.core.notifications._newsroom
    (news,) = newsroom.news_of(notice, [*NewsKind])

    assert isinstance(news, News)
    assert (news.facts["workload"], news.facts["person"]) == ("quickstart_digits", PERSON)
    assert str(news.title) == "Not launched"
    assert bench.core.notifications._link(news).endswith("/series")


class Killed(BaseException):
    """Stands in for a kill: nothing in the product catches it."""


@contextmanager
def killed_at(line: int) -> Iterator[Counter[str]]:
    """Ends whatever runs at the so-many-th line of what decides and of what stores."""
    seen: Counter[str] = Counter()
    deciding = ("aisbench_core/running/schedules/launching.py", "aisbench_core/running/series/service.py")
    storing = {"transaction", "change", "add", "keep"}

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.endswith(deciding) and frame.f_code.co_name not in storing:
            return None
        if event == "line":
            seen["lines"] += 1
            if seen["lines"] == line:
                raise Killed
        return trace

    earlier = sys.gettrace()
    sys.settrace(trace)
    try:
        yield seen
    finally:
        sys.settrace(earlier)


def kill_and_take_over(data_dir: Path, copy: Path, line: int, at: datetime) -> tuple[bool, SeriesBench]:
    """Whether the tick was killed at that line; another process after it, which has done what was left."""
    copytree(data_dir, copy)
    first = SeriesBench.on(copy)
    first.clock.now = at
    was_killed = False
    with killed_at(line):
        try:
            first.core.following.schedule()
        except Killed:
            was_killed = True
    second = SeriesBench.on(copy)
    second.clock.now = at + timedelta(minutes=1)
    second.core.following.schedule()
    return was_killed, second


@pytest.mark.slow
@IN_A_FILE
def test_a_time_launches_once_although_the_follower_is_killed_at_any_line(bench: SeriesBench, tmp_path: Path) -> None:
    add(bench)
    at = datetime.fromisoformat("2026-03-03T02:00:01+08:00")

    line, was_killed = 0, True
    while was_killed:
        line += 1
        was_killed, after = kill_and_take_over(tmp_path / "data", tmp_path / f"copy-{line}", line, at)
        (schedule,) = after.core.schedules.all()
        (series,) = launched(after)
        assert (schedule.series_id, schedule.due_at) == (series.series_id, None), line
        assert len(after.core.series.ledger.attempts([series.series_id])) == 2, line
        said = [str(event.message) for event in after.core.schedules.events(schedule)]
        assert said == ["added: 0 2 * * *, Asia/Shanghai", f"launched: {series.series_id}"], line
        assert told(after, "skipped") == [], line

    assert line > 40


@IN_A_FILE
def test_a_ledger_that_cannot_be_used_is_logged_once_and_ends_nothing(
    bench: SeriesBench, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    add(bench)
    for file in (tmp_path / "data").glob("ledger.sqlite3*"):
        file.write_bytes(b"damaged" * 1000)

    for _ in range(3):
        bench.core.following.schedule()

    assert len([record for record in caplog.records if "schedules" in record.getMessage()]) == 1
    with pytest.raises(AisbenchError):
        bench.core.schedules.all()
