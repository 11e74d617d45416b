"""The reporter's metric(), phase(), step() and power(): what the console reads of them, also after a kill."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from aisbench_core.config.settings import HOME
from aisbench_core.domain.results.card_samples import fetch_card_samples
from aisbench_core.domain.results.reported import (
    bound_metrics,
    fetch_reported,
    is_reported_file,
    read_metrics,
    read_phases,
    read_step_times,
)
from aisbench_core.model import Better, Combined, PhaseName, RunMetric
from tests.memory_store import MemoryStore

REPORTER = HOME / "workloads" / "_reporter"


def train(out: Path | str, calls: str, rank: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script that makes these calls on a rank."""
    script = f"import os, signal\nfrom aisbench_report import *\n{calls}\n"
    environment = {
        "PYTHONPATH": str(REPORTER), "PYTHONWARNINGS": "error", "RANK_ID": str(rank), "DEVICE_ID": str(rank),
        "RANK_SIZE": "2", **variables,
    }  # fmt: skip
    command = [sys.executable, "-c", script, f"--train_url={out}"]
    return subprocess.run(command, check=False, env=environment, capture_output=True, text=True)


KILL = "os.kill(os.getpid(), signal.SIGKILL)"


def test_nothing_reported_is_lost_when_the_rank_is_killed(tmp_path: Path) -> None:
    calls = (
        "phase('init'); phase('train')\n"
        "for n in range(1, 101): step(32, 0.5, tokens=4096 + n, n=n); metric('loss_scale', n, better='lower')\n"
    )
    ended = train(tmp_path, calls + KILL)

    metrics, refused = read_metrics(tmp_path)
    steps, phases = read_step_times(tmp_path), read_phases(tmp_path)

    assert ended.returncode == -9
    assert metrics == [RunMetric("loss_scale", 100.0, "", Better.LOWER, Combined.MEAN)]
    assert not refused
    assert [(step.number, step.seconds, step.samples, step.tokens) for step in steps] == [
        (n, 0.5, 32.0, 4096.0 + n) for n in range(1, 101)
    ]
    assert [(phase.name, phase.ended_at is None) for phase in phases] == [
        (PhaseName.INIT, False),
        (PhaseName.TRAIN, True),
    ]


def test_the_attempt_after_a_kill_adds_to_what_is_there(tmp_path: Path) -> None:
    train(tmp_path, f"step(1, 1.0, n=7); metric('first', 1); metric('both', 1); phase('train')\n{KILL}")
    train(tmp_path, "step(1, 1.0, n=5); metric('both', 2)\nwith phase('checkpoint_load'): pass\nthroughput(1); done()")

    steps, phases = read_step_times(tmp_path), read_phases(tmp_path)

    assert [(metric.name, metric.value) for metric in read_metrics(tmp_path)[0]] == [("both", 2.0), ("first", 1.0)]
    assert [step.number for step in steps] == [7, 5]
    assert steps[0].process_began_at < steps[1].process_began_at
    assert [(phase.name, phase.ended_at is None) for phase in phases] == [("train", True), ("checkpoint_load", False)]


def test_an_object_store_keeps_what_each_life_reported(tmp_path: Path) -> None:
    """Its objects are written whole: a stand-in for moxing writes into a folder."""
    fake = (
        "import pathlib, sys, types, aisbench_lines\n"
        f"path = lambda address: pathlib.Path({str(tmp_path)!r}, address.rpartition('/')[2])\n"
        "file = types.SimpleNamespace(make_dirs=str, write=lambda address, text: path(address).write_text(text))\n"
        "sys.modules['moxing'] = types.SimpleNamespace(file=file)\n"
    )
    for life in (1, 2):
        began = f"aisbench_lines._began = 1764072000.0 + {life}\n"
        train(
            "obs://b/out",
            f"{fake}{began}metric('m', {life}); phase('train'); step(1, 1.0); step(1, 1.0); throughput(1); done()",
        )

    steps = read_step_times(tmp_path)

    assert [metric.value for metric in read_metrics(tmp_path)[0]] == [2.0]
    assert len({phase.process_began_at for phase in read_phases(tmp_path)}) == 2
    assert [step.number for step in steps] == [1, 2, 3, 4], "steps without a number go on counting"
    assert len({step.process_began_at for step in steps}) == 2


@pytest.mark.parametrize(
    ("combined", "expected"), [("sum", 30.0), ("mean", 15.0), ("max", 20.0), ("min", 10.0), ("first", 10.0)]
)
def test_the_values_of_ranks_are_combined_as_the_script_says(combined: str, expected: float, tmp_path: Path) -> None:
    for rank in (1, 0):
        train(tmp_path, f"metric('m', {10.0 * (rank + 1)}, 'tokens/J', 'higher', '{combined}')", rank)

    assert read_metrics(tmp_path)[0] == [RunMetric("m", expected, "tokens/J", Better.HIGHER, Combined(combined))]


@pytest.mark.parametrize(
    ("calls", "values", "problems"),
    [
        (["metric('m', 1, 'J', combined='sum')", ""], [], ["metric m: 1 of 2 ranks reported it in the unit 'J'"]),
        (
            ["metric('m', 1, 'J', combined='sum')", "metric('m', 1, 'kJ', combined='sum')"],
            [],
            ["metric m: 1 of 2 ranks reported it in the unit 'J'"],
        ),
        (["metric('m', 1, 's')", "metric('m', 1, 'ms')"], [1], ["metric m: 1 of 2 ranks reported it in the unit 's'"]),
        (["metric('m', 1)", ""], [1], []),
        (["metric('m', 1.7e308)"] * 2, [], ["metric m is inf, and not a finite number"]),
    ],
)
def test_ranks_that_have_no_common_value_are_named(
    calls: list[str], values: list[float], problems: list[str], tmp_path: Path
) -> None:
    for rank, call in enumerate(calls):
        train(tmp_path, call, rank)

    metrics, refused = read_metrics(tmp_path)

    assert [metric.value for metric in metrics] == values
    assert [str(problem) for problem in refused] == problems


def test_what_is_no_number_is_refused_by_name_and_the_training_goes_on(tmp_path: Path) -> None:
    ended = train(tmp_path, "metric('good', 1); metric('bad', float('nan')); metric('worse', float('inf'))")

    metrics, refused = read_metrics(tmp_path)

    assert ended.returncode == 0, ended.stderr
    assert [metric.name for metric in metrics] == ["good"]
    assert [str(problem) for problem in refused] == [
        "metric bad is nan, and not a finite number",
        "metric worse is nan, and not a finite number",
    ]


@pytest.mark.parametrize(
    "call",
    [
        "metric('a b', 1)",
        "metric('', 1)",
        "metric('x' * 81, 1)",
        "metric('a', 1, unit='x\\n')",
        "metric('a', 1, unit='x' * 41)",
        "metric('a', 1, better='more')",
        "metric('a', 1, combined='median')",
        "phase('training')",
    ],
)
def test_a_script_learns_at_once_what_it_says_wrongly(call: str, tmp_path: Path) -> None:
    ended = train(tmp_path, call)

    assert ended.returncode == 1
    assert "ValueError" in ended.stderr


def test_a_metric_reported_all_the_time_keeps_its_file_small_and_the_others(tmp_path: Path) -> None:
    train(tmp_path, "metric('once', 5)\nfor n in range(20_000): metric('often', n)")

    assert {metric.name: metric.value for metric in read_metrics(tmp_path)[0]} == {"often": 19_999.0, "once": 5.0}
    assert (tmp_path / "metrics_0_0.jsonl").stat().st_size <= 256 * 1024


def test_a_run_has_a_bounded_number_of_metrics_and_says_so(tmp_path: Path) -> None:
    train(tmp_path, "for n in range(600): metric(f'm{n:03}', n)")

    metrics, problems = bound_metrics(*read_metrics(tmp_path))

    assert len(metrics) == 500
    assert [str(problem) for problem in problems] == ["a run has up to 500 metrics; the others are not stored"]


def test_what_else_a_job_writes_under_these_names_is_ignored(tmp_path: Path) -> None:
    lines = [
        '{"at":1,"value":"x","rank":0,"name":"a","unit":"","better":"","combined":"mean"}', "[1]", "null", "{", "\x00",
        '{"at":1,"value":1,"rank":-1,"name":"a","unit":"","better":"","combined":"mean"}',
        '{"at":1,"value":1,"rank":0,"name":"<b>","unit":"","better":"","combined":"mean"}',
        '{"at":1,"value":2,"rank":0,"name":"ok","unit":"","better":"","combined":"mean"}', '{"at":1,"val',
    ]  # fmt: skip
    (tmp_path / "metrics_0_0.jsonl").write_text("\n".join(lines), "utf-8")
    (tmp_path / "phases_0_0.jsonl").write_text('{"at":1e99,"phase":"train","process":1,"rank":0}\n[]\n', "utf-8")
    (tmp_path / "step_times_0_0.csv").write_text(
        "1,1,1,1,1\nprocess,1,0\n1,1,nan,1,\n2,2,1,-1,\n3,3,inf,1,\n4,x,1,1,\n4,4,7e10,1,\n5,5,1,1,\n6,6,1", "utf-8"
    )

    metrics, refused = read_metrics(tmp_path)

    assert [metric.name for metric in metrics] == ["ok"]
    assert [str(problem) for problem in refused] == ["metric '<b>': a name has up to 80 letters, digits and _ . / -"]
    assert read_phases(tmp_path) == []
    assert [step.number for step in read_step_times(tmp_path)] == [5]


def test_the_files_of_a_runs_own_nodes_are_fetched_within_limits(tmp_path: Path) -> None:
    objects = MemoryStore({})
    for name in ("metrics_0_0.jsonl", "metrics_2_0.jsonl", "phases_1_7.jsonl", "step_times_0_0.csv", "metrics_x.jsonl"):
        objects.put(f"/b/out/{name}", b"{}\n")
    objects.put("/b/out/metrics_0_0.jsonl", b"k3y\xff\n")
    objects.put("/b/out/step_times_1_0.csv", b"1" * (5 * 1024 * 1024 + 1))

    left = fetch_reported(objects, "/b/out/", 2, tmp_path / "reported", lambda text: text.replace("k3y", "***"))

    assert left == 1
    assert {file.name for file in (tmp_path / "reported").iterdir()} == {
        "metrics_0_0.jsonl", "phases_1_7.jsonl", "step_times_0_0.csv",
    }  # fmt: skip
    assert (tmp_path / "reported" / "metrics_0_0.jsonl").read_bytes() == b"***\xff\n", "secrets are masked"
    assert all(is_reported_file(file.name) for file in (tmp_path / "reported").iterdir())


def test_power_becomes_a_sample_of_the_card(tmp_path: Path) -> None:
    train(tmp_path, "power(310.5); power(-1); power(float('nan'))", 1)
    objects = MemoryStore({})
    for file in tmp_path.iterdir():
        objects.put(f"/b/out/{file.name}", file.read_bytes())

    [sample] = fetch_card_samples(objects, "/b/out/", 1)

    assert (sample.node, sample.card, sample.name, sample.value) == (0, 1, "power", 310.5)


def test_a_directory_that_cannot_be_written_disturbs_nothing(tmp_path: Path) -> None:
    (tmp_path / "metrics_0_0.jsonl").mkdir()

    ended = train(tmp_path, "metric('a', 1); metric('a', 2); phase('train'); throughput(1); done()")

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("is no longer written") == 1


def test_an_evaluation_is_progress_of_the_stage(tmp_path: Path) -> None:
    ended = train(tmp_path, "eval(3, 0.75, loss=1.5)\neval(3, accuracy=0.75, step=120)")

    lines = [json.loads(line.partition("progress ")[2]) for line in ended.stdout.splitlines()]

    assert [(line["step"], line.get("epoch"), line["accuracy"], line["stage"]) for line in lines] == [
        (3, None, 0.75, "evaluate"),
        (120, 3, 0.75, "evaluate"),
    ]
    assert not math.isnan(lines[0]["loss"])
