"""Measurements: one value per minute and task, whatever comes and goes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from aisbench_sandbox.engine.node.meter import Meter
from aisbench_sandbox.engine.node.processes import Process


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


def test_a_program_in_a_session_of_its_own_counts_with_the_one_that_started_it() -> None:
    starts_another = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'while True: pass'], start_new_session=True)\n"
        "print(child.pid, flush=True)\n"
        "child.wait()"
    )
    popen = subprocess.Popen([sys.executable, "-c", starts_another], stdout=subprocess.PIPE, start_new_session=True)
    assert popen.stdout is not None
    child = int(popen.stdout.readline())
    meter = Meter(0.0)
    meter.watch([Process("worker-0", "rank 0", popen)])
    before = meter.sample(10.0)["worker-0"]["cpuUsage"][0]

    deadline = time.monotonic() + 60
    while meter.sample(10.0)["worker-0"]["cpuUsage"][0] <= before:
        assert time.monotonic() < deadline

    os.kill(child, signal.SIGKILL)
    popen.communicate()


def test_a_job_that_runs_again_keeps_its_values_and_waiting_has_none(busy: Process) -> None:
    earlier = {"worker-0": {"cpuUsage": (50.0, 60.0), "memUsage": (1.0, 2.0)}}
    meter = Meter(0.0, earlier, minutes=4)
    meter.watch([busy])

    values = meter.sample(1.0)["worker-0"]

    assert values["cpuUsage"][:4] == (50.0, 60.0, -1.0, -1.0)
    assert len(values["cpuUsage"]) == len(values["memUsage"]) == 5
    assert values["npuUtil"] == (-1.0,) * 5


def test_activity_is_what_was_read_written_and_computed(busy: Process) -> None:
    meter = Meter(0.0)
    assert meter.activity() is None
    meter.watch([busy])
    meter.sample(1.0)
    first = meter.activity()
    assert first is not None

    deadline = time.monotonic() + 60
    while (now := meter.activity()) is None or now.cpu_s == first.cpu_s:
        meter.sample(2.0)
        assert time.monotonic() < deadline

    assert now.transferred == first.transferred > 0
