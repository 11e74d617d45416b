"""`aisbench bisect` over HTTP, with jobs that run: names the first slower version, also if its follower is killed."""

from collections.abc import Iterator
from functools import partial

import pytest

from aisbench_core.config.settings import Settings
from aisbench_core.model import SeriesState
from aisbench_core.wiring import Core, open_core
from tests.flow.command_line import CommandLine
from tests.flow.killable import Killable
from tests.flow.trouble import jobs_named
from tests.sandbox_process import SandboxProcess

VERSIONS = [f"r{number}" for number in range(1, 9)]
FIRST_SLOWER = "r6"
KILLED_AFTER = (1, 4, 9)  # runs that were launched
WHAT = ("recipe", "--cards", "2", "--set", "flavor=sandbox.cpu.2cards")
MANIFEST = """
title: A recipe
summary: Prints the throughput of its version, with a run-to-run spread of 1 %.
model: MLP
framework: Python
boot_file: train.py
reporter: true
throughput_unit: samples/s
dataset: {name: none, optional: true}
definitions: {whole: {text: All samples / their seconds}}
versions:
"""
VERSION = """\
  {version}:
    throughput_definition: whole
    engine_version: mindspore_2.2.12-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt9b
    parameters: {{speed: {{type: float, default: {speed}, help: Throughput of a card., decides_speed: true}}}}
"""
SCRIPT = """
import argparse, random
import aisbench_report

parser = argparse.ArgumentParser()
parser.add_argument("--speed", type=float)
speed = parser.parse_known_args()[0].speed
aisbench_report.throughput(speed * random.gauss(1, 0.01))
aisbench_report.accuracy(0.9)
aisbench_report.done()
"""


@pytest.fixture
def core(real_shell: CommandLine) -> Core:
    core = open_core(Settings(data_dir=real_shell.data_dir, profile="lab"))
    folder = core.settings.own_workloads_dir / "recipe"
    (folder / "code").mkdir(parents=True)
    (folder / "code" / "train.py").write_text(SCRIPT)
    editions = [VERSION.format(version=name, speed=90.0 if name >= FIRST_SLOWER else 100.0) for name in VERSIONS]
    (folder / "workload.yaml").write_text(MANIFEST + "".join(editions))
    return core


@pytest.fixture
def follower(real_shell: CommandLine, core: Core) -> Iterator[Killable]:
    follower = Killable(real_shell, core)
    yield follower
    follower.kill()


@pytest.mark.slow
def test_the_first_slower_version_is_named_although_the_follower_is_killed(
    real_shell: CommandLine, core: Core, real_sandbox: SandboxProcess, follower: Killable
) -> None:
    series_id = real_shell.answer("bisect", *WHAT, "--hours-per-run", "0.01")["series_id"]

    def has_ended() -> bool:  # asked of the ledger, as the follower needs the warehouse
        waiting = [attempt for attempt in core.series.ledger.attempts([series_id]) if attempt.is_waiting]
        return not waiting and not core.ledger.active()

    for launched in KILLED_AFTER:
        follower.start()
        follower.wait(partial(lambda least: core.ledger.count() >= least or has_ended(), launched), "some runs")
        follower.kill()
    follower.start()
    follower.wait(has_ended, "the series to end")

    follower.kill()
    shown = real_shell.answer("series", "show", series_id)
    runs = core.ledger.page(limit=100)
    assert core.series.matrix(series_id).state is SeriesState.COMPLETED
    assert shown["judgement"]["is_met"] is True
    assert shown["judgement"]["finding"].startswith(f"{FIRST_SLOWER} is the first slower one: ")
    assert len(runs) <= 20, "all eight, five times each, are 40"
    assert {len(jobs_named(real_sandbox, run.job_name)) for run in runs} == {1}


def test_what_cannot_be_searched_is_refused_with_its_field_and_nothing_is_launched(
    real_shell: CommandLine, core: Core
) -> None:
    unknown = real_shell.type("bisect", *WHAT, "--good", "r1", "--bad", "r99")
    turned = real_shell.type("bisect", *WHAT, "--good", "r7", "--bad", "r2")
    dry = real_shell.type("bisect", *WHAT, "--good", "r2", "--bad", "r5", "--dry-run")

    assert unknown.exit_code == turned.exit_code == 2
    assert "bad: must be one of versions: r1, r2, " in unknown.stderr
    assert "versions: r7 and r2 must be in this order" in turned.stderr
    assert dry.exit_code == 0, dry.output
    assert "at most 40 cells" in dry.stderr
    assert core.ledger.count() == 0
