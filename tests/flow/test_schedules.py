"""`aisbench schedule` as it is typed, and a scheduled series from its time to the message about its outcome."""

from pathlib import Path

import pytest

from aisbench_core.base.messages import Message
from aisbench_core.model import NewsKind, SeriesState
from aisbench_core.people.notifications.channels import channel_of
from tests.actors import named
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, MOST_TICKS, PERSON, bench_on
from tests.receivers import webhook
from tests.sandbox_process import SandboxProcess

WHAT = ("quickstart_digits", "--cards", "2", "--set", "flavor=sandbox.cpu.2cards")
NIGHTLY = ("nightly", *WHAT, "--repeats", "2", "--cron", "0 2 * * *", "--time-zone", "Asia/Shanghai")


@pytest.fixture
def shell(sandbox: SandboxProcess, tmp_path: Path) -> CommandLine:
    sandbox.script(by="look", outputs=GOOD)
    return CommandLine(tmp_path / "data", sandbox)


def test_a_schedule_is_added_listed_paused_resumed_and_removed(shell: CommandLine) -> None:
    added = shell.type("schedule", "add", *NIGHTLY, "--weekly-budget", "20")
    listed = shell.type("schedule", "list")
    paused = shell.type("schedule", "pause", "nightly")
    (while_paused,) = shell.answer("schedule", "list")
    resumed = shell.type("schedule", "resume", "nightly")
    removed = shell.type("schedule", "remove", "nightly")

    assert added.exit_code == 0, added.output
    assert added.stdout.startswith("nightly: next at ")
    assert added.stdout.endswith("02:00 Asia/Shanghai\n")
    assert "2 cells, about 2 node hours" in added.stderr
    assert "no follower is active" in added.stderr
    assert "0 2 * * *" in listed.stdout
    assert (paused.stdout, removed.stdout) == ("nightly: paused\n", "nightly: removed\n")
    assert (while_paused["paused"], while_paused["weekly_hours"], while_paused["series_id"]) == (True, 20.0, "")
    assert while_paused["next_at"].endswith("T18:00:00Z")
    assert resumed.stdout == added.stdout
    assert shell.answer("schedule", "list") == []


def test_a_schedule_is_changed_without_being_added_again(shell: CommandLine) -> None:
    shell.type("schedule", "add", *NIGHTLY, "--weekly-budget", "20")

    later = shell.type("schedule", "change", "nightly", "--cron", "30 3 * * *")
    free = shell.answer("schedule", "change", "nightly", "--weekly-budget", "0")
    nothing = shell.type("schedule", "change", "nightly")

    assert later.stdout.endswith("03:30 Asia/Shanghai\n"), later.output
    assert (free["cron"], free["weekly_hours"], free["plan"]["repeats"]) == ("30 3 * * *", None, 2)
    assert (nothing.exit_code, "say what changes" in nothing.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("add", *NIGHTLY, "--cron", "* * * * * *"), "day of the week, such as `0 2 * * 1-5` (Wrong number of fields)"),
        (("add", *NIGHTLY, "--cron", "at night"), "cron: must be minute, hour, day, month and day of the week"),
        (("add", *NIGHTLY, "--time-zone", "CST8"), "time_zone: must be a time zone such as Asia/Shanghai"),
        (("add", *NIGHTLY, "--weekly-budget", "-1"), "weekly_hours"),
        (("add", *NIGHTLY, "--versions", "9.9"), "9.9"),
        (("change", "nightly", "--cron", "0 2 * * *"), "there is no schedule 'nightly'"),
        (("pause", "nightly"), "there is no schedule 'nightly' (`aisbench schedule list` lists them)"),
        (("remove", "nightly"), "there is no schedule 'nightly'"),
    ],
)
def test_what_is_typed_wrong_is_refused_with_2_and_a_sentence(
    shell: CommandLine, words: tuple[str, ...], says: str
) -> None:
    refused = shell.type("schedule", *words)

    assert refused.exit_code == 2, refused.output
    assert says in refused.stderr
    assert shell.answer("schedule", "list") == []


def test_the_follower_launches_it_in_its_loop_and_tells_what_came_of_it(
    sandbox: SandboxProcess, tmp_path: Path
) -> None:
    sandbox.script(by="look", outputs=GOOD)
    shell = CommandLine(tmp_path / "data", sandbox)
    bench = bench_on(sandbox, tmp_path / "data", notify_private_addresses=True)
    with webhook() as hook:
        answers = {"name": "lab", "url": hook.url, "secret": "0123456789abcdef", "events": [NewsKind.SERIES]}
        channel = channel_of(answers, Message("channel"))
        bench.core.notifications.channels.save(channel, named(PERSON), replace=True)
        shell.type("schedule", "add", *NIGHTLY)
        (schedule,) = bench.core.schedules.all()
        bench.clock.now = schedule.next_at

        for _ in range(MOST_TICKS):
            bench.tick(1.0)
            if hook.bodies:
                break

        (event,) = hook.events()
    (schedule,) = bench.core.schedules.all()
    matrix = bench.core.series.matrix(schedule.series_id)
    assert matrix.state is SeriesState.COMPLETED
    assert bench.core.series.count() == 1
    assert event["text"].endswith("nightly: 2 of 2 cells are valid; not enough data")
    assert event["url"].endswith(f"/series?series={schedule.series_id}")
    assert {run.spec.workload for run in bench.core.ledger.page()} == {"quickstart_digits"}
