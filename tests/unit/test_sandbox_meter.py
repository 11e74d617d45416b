"""Measurements: one value per minute and task, whatever comes and goes."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from aisbench_core.sandbox.meter import Meter
from aisbench_core.sandbox.processes import Process


@pytest.fixture
def busy() -> Iterator[Process]:
    """A process that leads its session and computes."""
    popen = subprocess.Popen(
        [sys.executable, "-c", "print(flush=True)\nwhile True: pass"], stdout=subprocess.PIPE, start_new_session=True
    )
    assert popen.stdout is not None
    popen.stdout.readline()
    yield Process("worker-0", "rank 0", popen)
    popen.kill()
    popen.communicate()


def test_each_minute_gets_one_value_and_the_running_one_is_renewed(busy: Process) -> None:
    meter = Meter(0.0)
    meter.watch([busy])

    first = meter.sample(1.0)["worker-0"]
    renewed = meter.sample(50.0)["worker-0"]
    next_minute = meter.sample(61.0)["worker-0"]

    assert [len(values["cpuUsage"]) for values in (first, renewed, next_minute)] == [1, 1, 2]
    assert renewed["memUsage"][0] > 0
    assert next_minute["gpuUtil"] == next_minute["npuMemUsage"] == (-1.0, -1.0)


def test_minutes_in_which_nobody_looked_are_minutes_without_a_value(busy: Process) -> None:
    meter = Meter(0.0)
    meter.watch([busy])

    values = meter.sample(150.0)["worker-0"]["memUsage"]

    assert values[:2] == (-1.0, -1.0)
    assert values[2] > 0


def test_a_process_that_has_ended_costs_nothing_any_more_but_its_time_still_counts(busy: Process) -> None:
    meter = Meter(0.0)
    meter.watch([busy])
    while meter.sample(10.0)["worker-0"]["cpuUsage"][0] == 0:
        assert busy.exit_code is None
    before = meter.sample(10.0)["worker-0"]

    busy.popen.kill()
    busy.popen.wait()

    after = meter.sample(10.0)["worker-0"]
    assert after["cpuUsage"][0] >= before["cpuUsage"][0] > 0
    assert after["memUsage"] == (0.0,)
