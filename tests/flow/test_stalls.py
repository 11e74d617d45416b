"""A job that hangs: warned of once, whatever is killed, told to people, cleared when it goes on, stopped if wanted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from aisbench_core.base.messages import Message
from aisbench_core.domain.liveness.alerts import alert_of
from aisbench_core.domain.liveness.stalls import FEWEST_PAUSES, KNOWN_RUNS, UNKNOWN_MINUTES
from aisbench_core.model import AlertKind, NewsKind, Run, RunState
from aisbench_core.people.notifications.channels import channel_of
from aisbench_core.running.diagnosing.cause import Situation
from tests.actors import named
from tests.failure_corpus import answer
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, PERSON, SPEC, Bench, bench_on
from tests.receivers import Hook, webhook
from tests.sandbox_process import SandboxProcess


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    """Jobs write one line and then nothing, until the test says otherwise."""
    sandbox.script(by="hold", outputs=GOOD, log="step 1\n")
    return bench_on(sandbox, tmp_path / "data", notify_private_addresses=True)


@pytest.fixture
def hook(bench: Bench) -> Iterator[Hook]:
    with webhook() as started:
        channel = {"name": "lab", "url": started.url, "secret": "0123456789abcdef", "events": [NewsKind.STALLED]}
        bench.core.notifications.channels.save(channel_of(channel, Message("channel")), named(PERSON))
        yield started


def running(bench: Bench, minutes: int | None = None) -> Run:
    return bench.follow(bench.launch(SPEC.model_copy(update={"stop_when_stalled_minutes": minutes})), RunState.RUNNING)


def pass_minutes(bench: Bench, minutes: int) -> None:
    for _ in range(minutes):
        bench.tick(60)


def alert_kind(bench: Bench, run: Run) -> AlertKind | None:
    alert = alert_of(bench.run(run), bench.core.files.job(run.run_id), bench.core.watches.get(run.run_id))
    return alert.kind if alert else None


def warnings(bench: Bench, run: Run) -> list[str]:
    return [event.message for event in bench.core.ledger.events(run.run_id) if "sign of life" in event.message]


def grow(bench: Bench, sandbox: SandboxProcess, run: Run) -> None:
    """Let the job's log grow by a line."""
    status = bench.core.jobs.interactive("sandbox", None)
    [path] = [stat.path for stat in status.objects.list(f"/{sandbox.profile['bucket']}/") if run.run_id in stat.path
              and stat.path.endswith(".log")]  # fmt: skip
    status.objects.put(path, status.objects.read(path) + b"step 2\n")


def test_a_hang_is_warned_of_once_and_told_and_cleared(bench: Bench, hook: Hook, sandbox: SandboxProcess) -> None:
    run = running(bench)
    pass_minutes(bench, UNKNOWN_MINUTES - 2)
    before = alert_kind(bench, run)
    pass_minutes(bench, 5)

    assert before is None
    assert alert_kind(bench, run) is AlertKind.STALLED
    assert warnings(bench, run) == ["stalled: no sign of life for 60 minutes (alarm after 60)"]
    [event] = hook.events()
    assert (event["event"], event["subject"]) == ("stalled", run.run_id)
    shown = CommandLine(bench.core.settings.data_dir, sandbox).type("show", run.run_id).stdout
    assert "No sign of life since then" in shown
    found = bench.core.causes.explain(run.run_id)
    assert (found.situation, answer(found)) == (Situation.HANGING, "stall")
    assert found.error is not None
    assert "step 1" in found.error.lines

    grow(bench, sandbox, run)
    pass_minutes(bench, 2)

    assert alert_kind(bench, run) is None
    assert bench.core.causes.explain(run.run_id).situation is Situation.NOTHING
    assert warnings(bench, run)[1].startswith("sign of life again after 6")
    assert len(hook.events()) == 1


def test_a_follower_that_dies_neither_loses_nor_repeats_a_warning(
    bench: Bench, hook: Hook, sandbox: SandboxProcess
) -> None:
    """Every two minutes another process follows, which knows only what the ledger holds."""
    run = running(bench)
    for _ in range(UNKNOWN_MINUTES // 2 + 5):
        another = bench_on(sandbox, bench.core.settings.data_dir, notify_private_addresses=True)
        another.clock.now = bench.clock.now
        another.tick(60)
        another.tick(60)
        bench.clock.now = another.clock.now

    assert alert_kind(bench, run) is AlertKind.STALLED
    assert len(warnings(bench, run)) == 1
    assert [event["event"] for event in hook.events()] == ["stalled"]


def test_a_hang_after_lines_is_marked_within_minutes_long_before_it_is_a_stall(
    bench: Bench, sandbox: SandboxProcess
) -> None:
    run, line = running(bench), CommandLine(bench.core.settings.data_dir, sandbox)
    for _ in range(FEWEST_PAUSES + 1):
        grow(bench, sandbox, run)
        bench.tick(10)
    lively, shown = alert_kind(bench, run), line.type("show", run.run_id).stdout
    pass_minutes(bench, 4)

    assert lively is None
    assert "typical 10 s, a stall after 1 h" in shown
    assert alert_kind(bench, run) is AlertKind.QUIET
    assert warnings(bench, run) == [], "nobody is sent a message"
    for words in (["show", run.run_id], ["runs"]):
        assert "No sign of life since then: the longest pause of this run" in line.type(*words).stdout

    grow(bench, sandbox, run)
    bench.tick(60)

    assert alert_kind(bench, run) is None


def test_an_outage_of_the_cloud_is_no_stall(bench: Bench, sandbox: SandboxProcess) -> None:
    run = running(bench)
    pass_minutes(bench, 3)
    sandbox.faults(*({"service": name, "status": 503, "times": 9999} for name in ("obs", "modelarts")))
    for _ in range(UNKNOWN_MINUTES // 2):
        bench.tick(4 * 60)
    sandbox.faults()
    pass_minutes(bench, 10)

    assert bench.run(run).state is RunState.RUNNING
    assert warnings(bench, run) == []


def test_a_stalled_run_is_stopped_if_its_spec_says_so(bench: Bench, sandbox: SandboxProcess) -> None:
    run = running(bench, minutes=75)
    pass_minutes(bench, UNKNOWN_MINUTES + 5)
    warned = bench.run(run).state
    sandbox.script(by="look", outputs=GOOD)
    run = bench.follow(run)

    assert warned is RunState.RUNNING
    assert run.state is RunState.STOPPED
    assert run.ended_at is not None
    assert "no sign of life for 75 minutes" in run.detail
    found = bench.core.causes.explain(run.run_id)
    assert (found.situation, answer(found)) == (Situation.FAILED, "stall")


def test_what_completed_runs_needed_is_learnt_for_their_configuration(bench: Bench, sandbox: SandboxProcess) -> None:
    for _ in range(KNOWN_RUNS):
        run = running(bench)
        pass_minutes(bench, 12)
        sandbox.admin("POST", f"jobs/{run.job_id}/advance", {})
        assert bench.follow(run).state is RunState.COMPLETED
    run = running(bench)
    pass_minutes(bench, 18)
    healthy = warnings(bench, run)
    pass_minutes(bench, 8)

    assert healthy == [], "12 minutes of quiet were healthy five times"
    [warning] = warnings(bench, run)
    assert "alarm after 20" in warning
