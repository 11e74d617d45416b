"""A clock that differs from the region's is named, and no duration is measured by both."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.base.clock import utc_now
from aisbench_core.warehouse.values.runs import RunRow
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER
from tests.flow.following import GOOD, Bench, MovableClock, bench_on, settings_for
from tests.sandbox_process import SandboxProcess


def bench_off_by(sandbox: SandboxProcess, data_dir: Path, ahead: timedelta) -> Bench:
    """A bench on a machine whose clock is so far ahead of the region's."""
    sandbox.script(by="look", outputs=GOOD)
    clock = MovableClock(utc_now() + ahead)
    core = open_core(settings_for(sandbox, data_dir), clock, lambda: utc_now() + ahead)
    return Bench(core, clock, core.following.follower())


def recorded(core: Core, run_id: str) -> RunRow:
    row = core.warehouse.runs.find_row(run_id)
    assert row
    return row


@pytest.mark.parametrize(
    ("ahead", "says"),
    [
        (timedelta(minutes=-8), r"(8 min( \d s)?|7 min 5\d s) behind"),
        (timedelta(minutes=8), r"(8 min( \d s)?|7 min 5\d s) ahead"),
    ],
)
def test_a_clock_that_differs_from_that_of_the_region_is_named_and_makes_no_duration(
    sandbox: SandboxProcess, tmp_path: Path, ahead: timedelta, says: str
) -> None:
    bench = bench_off_by(sandbox, tmp_path / "data", ahead)
    core = bench.core

    run = bench.follow(bench.launch())

    of_region = re.compile(rf"the clock of .* is {says} (of )?that of region ")
    assert [event.level for event in core.ledger.events(run.run_id) if of_region.match(str(event.message))] == [
        "warning"
    ]
    assert recorded(core, run.run_id).queue_s is None
    assert core.storage.check(TESTER).damages == ()
    (clock,) = [service for service in core.health.check("sandbox").services if service.name == "clock"]
    assert not clock.ok
    assert of_region.match(str(clock.sentence))


def test_clocks_that_agree_are_not_named(sandbox: SandboxProcess, tmp_path: Path) -> None:
    sandbox.script(by="look", outputs=GOOD)
    bench = bench_on(sandbox, tmp_path / "data")

    run = bench.follow(bench.launch())

    assert [str(event.message) for event in bench.core.ledger.events(run.run_id) if "clock" in str(event.message)] == []
    assert [service.name for service in bench.core.health.check("sandbox").services] == ["OBS", "ModelArts"]
    assert run.region_ahead_s is not None
    assert abs(run.region_ahead_s) < 10
