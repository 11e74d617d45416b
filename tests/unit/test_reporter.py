"""The reporter: which files a rank writes, in a cluster and on its own server, and what it refuses."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

from aisbench_core.config.settings import HOME
from aisbench_core.domain.progress.patterns import ProgressPatterns
from aisbench_core.domain.results.progress import read_progress
from aisbench_core.domain.summaries.curves import iter_scalars

REPORTER = HOME / "workloads" / "_reporter"
THREE_CALLS = "aisbench_report.throughput(12.5); aisbench_report.accuracy(0.75); aisbench_report.done()"


def report(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a training script that does nothing but report."""
    clean = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPORTER), "PYTHONWARNINGS": "error"}
    return subprocess.run(
        [sys.executable, "-c", f"import aisbench_report; {code}", *arguments],
        env=clean | environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def files_in(directory: Path) -> dict[str, str]:
    """Every file below a directory, by its path."""
    return {
        str(file.relative_to(directory)): file.read_text("utf-8") for file in directory.rglob("*") if file.is_file()
    }


def test_a_script_without_ranks_is_the_only_rank(tmp_path: Path) -> None:
    done = report(THREE_CALLS, f"--train_url={tmp_path}")

    assert done.returncode == 0, done.stderr
    assert files_in(tmp_path) == {
        "throughput_0.json": "12.5",
        "accuracy.json": "0.75",
        "accuracy_0.json": "0.75",
        "ranksize.json": "1",
    }


def test_in_a_cluster_every_rank_writes_its_throughput_and_the_first_one_the_rest(tmp_path: Path) -> None:
    for rank in range(4):
        place = {"RANK_ID": str(rank), "RANK_SIZE": "4", "DEVICE_ID": str(rank % 2), "VC_TASK_INDEX": str(rank // 2)}
        done = report(THREE_CALLS, "--train_url", str(tmp_path), **place)
        assert done.returncode == 0, done.stderr

    assert sorted(files_in(tmp_path)) == [
        "accuracy.json",
        "accuracy_0.json",
        "ranksize.json",
        "throughput_0.json",
        "throughput_1.json",
        "throughput_2.json",
        "throughput_3.json",
    ]
    assert files_in(tmp_path)["ranksize.json"] == "4"


def test_in_single_server_mode_every_server_reports_for_itself(tmp_path: Path) -> None:
    for rank in range(4):
        place = {"RANK_ID": str(rank), "RANK_SIZE": "4", "DEVICE_ID": str(rank % 2), "VC_TASK_INDEX": str(rank // 2)}
        done = report(THREE_CALLS, train_url=str(tmp_path), SINGLESERVER_MODE="True", VC_WORKER_NUM="2", **place)
        assert done.returncode == 0, done.stderr

    assert files_in(tmp_path) == {
        "0/throughput_0.json": "12.5",
        "0/throughput_1.json": "12.5",
        "1/throughput_0.json": "12.5",
        "1/throughput_1.json": "12.5",
        "accuracy_0.json": "0.75",
        "accuracy_1.json": "0.75",
        "ranksize.json": "2",
    }


def test_ranks_of_torchrun_are_understood(tmp_path: Path) -> None:
    done = report(THREE_CALLS, f"--train_url={tmp_path}", RANK="3", WORLD_SIZE="4", LOCAL_RANK="1", GROUP_RANK="1")

    assert done.returncode == 0, done.stderr
    assert list(files_in(tmp_path)) == ["throughput_3.json"]


def test_the_data_set_is_named_and_made_up_data_is_marked(tmp_path: Path) -> None:
    report("aisbench_report.dataset('noise', sha256='ab', synthetic=True)", f"--train_url={tmp_path}")

    assert files_in(tmp_path) == {"dataset.json": '{"name": "noise", "synthetic": true, "sha256": "ab"}'}


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("aisbench_report.throughput(float('nan'))", "ValueError: throughput must be a finite number, and it is nan"),
        ("aisbench_report.throughput(float('inf'))", "ValueError: throughput must be a finite number, and it is inf"),
        ("aisbench_report.throughput(0)", "ValueError: throughput must be above 0, and it is 0.0"),
        ("aisbench_report.throughput(-1)", "ValueError: throughput must be above 0, and it is -1.0"),
        ("aisbench_report.accuracy(75.9)", "ValueError: accuracy must be a share between 0 and 1, and it is 75.9"),
        ("aisbench_report.accuracy(float('nan'))", "ValueError: accuracy must be a finite number, and it is nan"),
        ("aisbench_report.done()", "RuntimeError: rank 0 calls done(), but has not called throughput()"),
    ],
)
def test_a_number_that_cannot_be_true_ends_the_training_script(tmp_path: Path, code: str, sentence: str) -> None:
    done = report(code, f"--train_url={tmp_path}")

    assert done.returncode == 1
    assert sentence in done.stderr
    assert files_in(tmp_path) == {}


def test_a_script_that_does_not_know_where_to_write_is_told_how_to_say_it() -> None:
    done = report(THREE_CALLS)

    assert "pass --train_url DIR or set train_url" in done.stderr


def test_an_obs_address_needs_moxing() -> None:
    done = report(THREE_CALLS, "--train_url=obs://bucket/out/")

    assert "cannot write obs://bucket/out/throughput_0.json: moxing is not installed here" in done.stderr


def test_moxing_writes_to_obs_where_it_is_installed(tmp_path: Path) -> None:
    (tmp_path / "moxing.py").write_text(
        "class file:\n"
        "    make_dirs = staticmethod(lambda path: print('make_dirs', path))\n"
        "    write = staticmethod(lambda path, text: print('write', path, text))\n"
    )

    both = f"{REPORTER}{os.pathsep}{tmp_path}"
    done = report("aisbench_report.throughput(2)", "--train_url=s3://bucket/out/", PYTHONPATH=both)

    assert done.stdout.splitlines()[:2] == ["make_dirs s3://bucket/out", "write s3://bucket/out/throughput_0.json 2.0"]


def scalars_in(directory: Path) -> dict[str, list[tuple[str, int, float]]]:
    """What TensorBoard's own reader finds, by the files' folder."""
    files = sorted(directory.rglob("events.out.tfevents.*"))
    found = {str(file.parent.relative_to(directory)): [*EventFileLoader(str(file)).Load()] for file in files}
    return {
        folder: [
            (value.tag, event.step, value.tensor.float_val[0]) for event in events for value in event.summary.value
        ]
        for folder, events in found.items()
    }


def test_tensorboard_reads_the_scalars_of_the_first_rank(tmp_path: Path) -> None:
    code = "[aisbench_report.scalar('train/损失', 2.5 * step, step) for step in (0, 1, 300, -1)]"
    for rank in range(2):
        done = report(f"{code}; {THREE_CALLS}", f"--train_url={tmp_path}", RANK_ID=str(rank), RANK_SIZE="2")
        assert (done.returncode, done.stderr) == (0, "")

    points = [("train/损失", 0, 0.0), ("train/损失", 1, 2.5), ("train/损失", 300, 750.0), ("train/损失", -1, -2.5)]
    assert scalars_in(tmp_path) == {"summaries": points}
    assert [(point.tag, point.step, point.value) for _, point in iter_scalars(tmp_path)] == points


def test_each_single_server_writes_scalars_of_its_own(tmp_path: Path) -> None:
    for server in range(2):
        place = {"RANK_ID": str(server), "RANK_SIZE": "2", "VC_TASK_INDEX": str(server), "SINGLESERVER_MODE": "True"}
        report(f"aisbench_report.scalar('x', {server}, 1); {THREE_CALLS}", f"--train_url={tmp_path}", **place)

    assert scalars_in(tmp_path) == {
        "summaries/server_0": [("x", 1, 0.0)],
        "summaries/server_1": [("x", 1, 1.0)],
    }


def test_odd_scalars_are_stored_as_far_as_the_format_goes(tmp_path: Path) -> None:
    code = "f = aisbench_report.scalar; f('é' * 60, 1e300, 2**40); f('', float('nan'), 0)"
    report(f"{code}; {THREE_CALLS}", f"--train_url={tmp_path}")

    (first, second) = scalars_in(tmp_path)["summaries"]
    assert first == ("é" * 40, 2**40, math.inf)
    assert (second[:2], math.isnan(second[2])) == (("", 0), True)


def test_a_scalar_that_cannot_be_stored_does_not_end_the_training(tmp_path: Path) -> None:
    (tmp_path / "summaries").write_text("a file is in the way")

    done = report(
        f"[aisbench_report.scalar('x', 1, step) for step in range(9)]; {THREE_CALLS}", train_url=str(tmp_path)
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("aisbench: scalars are not stored: ") == 1
    assert (tmp_path / "ranksize.json").exists()


def test_it_explains_itself() -> None:
    shown = subprocess.run(
        [sys.executable, REPORTER / "aisbench_report.py"], capture_output=True, text=True, timeout=30, check=True
    )

    assert "aisbench_report.throughput(samples_per_second)" in shown.stdout


def test_progress_is_a_line_of_the_first_rank_and_no_result(tmp_path: Path) -> None:
    code = "aisbench_report.progress(3, throughput=12.5, accuracy=0.75)"

    first = report(code, f"--train_url={tmp_path}", RANK_ID="0", RANK_SIZE="2")
    second = report(code, f"--train_url={tmp_path}", RANK_ID="1", RANK_SIZE="2")

    (log := tmp_path / "worker-0.log").write_text(first.stdout, "utf-8")
    (point,) = read_progress(log)
    assert (point.step, point.throughput, point.accuracy) == (3, 12.5, 0.75)
    assert 0 <= point.seconds < 30
    assert (second.stdout, second.returncode) == ("", 0)
    assert list(files_in(tmp_path)) == [log.name]


def test_progress_that_is_no_number_is_refused(tmp_path: Path) -> None:
    refused = report("aisbench_report.progress(1, throughput=float('nan'))", f"--train_url={tmp_path}")

    assert refused.returncode == 1
    assert "throughput must be a finite number" in refused.stderr


def test_progress_says_how_many_steps_there_are_and_leaves_out_a_loss_that_diverged(tmp_path: Path) -> None:
    code = (
        "aisbench_report.progress(120, 910.5, of=1000, epoch=2, epochs=10, loss=2.5, stage='evaluate'); "
        "aisbench_report.progress(130, of=1000, loss=float('nan'))"
    )

    first, second = ProgressPatterns().readings(report(code, f"--train_url={tmp_path}").stdout.encode())

    assert (first.step, first.steps, first.epoch, first.epochs) == (120, 1000, 2, 10)
    assert (first.card_throughput, first.loss, first.stage) == (910.5, 2.5, "evaluate")
    assert (second.step, second.loss) == (130, None)
