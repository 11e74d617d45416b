"""`aisbench mllog`: a run as MLPerf's training log, which says no more than is known of it."""

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.domain.progress.points import add_points
from aisbench_core.domain.results.record import write_record
from aisbench_core.exchange.readers.logs import read_log
from aisbench_core.exchange.readers.results import UPSTREAM_ZONE, ParsedResult
from aisbench_core.model import RunRecord, TrainingPoint
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.wiring import Core
from tests import records as a
from tests.flow.command_line import CommandLine
from tests.sandbox_process import SandboxProcess
from tests.unit import test_history_mllog as printed

DEMANDED = {
    "submission_benchmark": "llama31_8b",
    "cache_clear": True,
    "lowest_numerical_precision_in_linear": "bfloat16",
    "lowest_numerical_precision_in_attn": "bfloat16",
    "lowest_numerical_precision_in_comm": "fp32",
    "tensor_parallelism": 1,
    "pipeline_parallelism": 1,
    "context_parallelism": 1,
    "expert_parallelism": 1,
    "micro_batch_size": 1,
    "config_filename": "config.yaml",
    "global_batch_size": 32,
    "gradient_accumulation_steps": 4,
    "train_samples": 1_574_207_408,
    "eval_samples": 1024,
}
"""What the checker of MLPerf Training 6.1 asks every log for, as parameters of a run."""


@pytest.fixture
def shell(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[CommandLine]:
    shell = CommandLine(tmp_path / "data", sandbox)
    yield shell
    shell.end()


def store(core: Core, record: RunRecord, steps: int = 50) -> RunFolder:
    folder = RunFolder(core.settings.runs_dir / record.run.run_id)
    write_record(record, folder.record, folder.metrics, folder.events)
    add_points([TrainingPoint(a.T0, step=steps, steps=steps)], folder.progress, 0)
    core.warehouse.record(record)
    return folder


def measured() -> RunRecord:
    record = a.record(parameters=DEMANDED, throughputs=[1000.0] * 8)
    assert record.result
    info = replace(
        record.result.info,
        prepare_start_time=a.T0,
        proc_start_time=a.T0 + timedelta(seconds=90),
        proc_end_time=a.T0 + timedelta(seconds=690),
    )
    return replace(record, result=replace(record.result, info=info))


def entries(log: str) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = {}
    for line in log.splitlines():
        entry = json.loads(line.removeprefix(":::MLLOG "))
        found.setdefault(entry["key"], []).append(entry)
    return found


def read_back(log: str) -> ParsedResult:
    (result,) = read_log(io.BytesIO(log.encode()), "result_0.txt", UPSTREAM_ZONE)
    assert isinstance(result, ParsedResult)
    return result


def test_a_run_that_printed_no_mllog_is_written_from_its_record(shell: CommandLine, core: Core) -> None:
    record = measured()
    store(core, record)
    shell.type("system", "edit", "run-1", "submitter=A Lab", "system_name=8 cards", "division=open")

    log = shell.type("mllog", "run-1").stdout

    said, result = entries(log), read_back(log)
    assert record.result
    assert {name: said[name][0]["value"] for name in DEMANDED} == DEMANDED
    assert [said[key][0]["value"] for key in ("submission_org", "submission_platform", "submission_division")] == [
        "A Lab",
        "8 cards",
        "open",
    ]
    assert said["eval_accuracy"][0]["metadata"] == {"file": "aisbench", "lineno": 0, "samples_count": 50 * 32}
    assert result.info.throughput_ratio == record.result.info.throughput_ratio
    assert (result.info.accuracy, result.target_s) == (record.result.info.accuracy, 600.0)
    assert result.described
    assert result.described.values["submitter"] == "A Lab"


def test_what_is_not_known_of_a_run_has_no_line(shell: CommandLine, core: Core) -> None:
    record = measured()
    assert record.result
    unknown = replace(record.result, info=replace(record.result.info, accuracy=None, throughput_ratio=None))
    store(core, replace(record, result=unknown, run=replace(record.run, spec=a.spec(parameters={}))))

    said = entries(shell.type("mllog", "run-1").stdout)

    assert not {"eval_accuracy", "tracked_stats", "train_samples", "cache_clear", "submission_org"} & said.keys()


def test_a_run_that_missed_its_target_was_aborted(shell: CommandLine, core: Core) -> None:
    record = measured()
    store(core, replace(record, workload=replace(record.workload, accuracy_target=0.99)))

    assert read_back(shell.type("mllog", "run-1").stdout).target_s is None


def test_the_lines_of_a_job_that_printed_mllog_are_its_log(shell: CommandLine, core: Core) -> None:
    folder = store(core, measured())
    folder.logs.mkdir()
    folder.log(0).write_text("starting\n" + printed.log(), "utf-8")

    log = shell.type("mllog", "run-1").stdout

    assert log.endswith(printed.log())
    assert read_back(log).target_s == read_back(printed.log()).target_s


def test_an_imported_log_is_written_as_it_was_read(shell: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "result_0.txt").write_text(printed.log())
    saved = shell.answer("import", str(tmp_path / "result_0.txt"))

    shell.type("mllog", saved["new"][0], "-o", str(tmp_path / "again.txt"))

    assert (tmp_path / "again.txt").read_text() == printed.log()


def test_a_rehearsal_stays_one(shell: CommandLine, core: Core) -> None:
    store(core, replace(measured(), rehearsal=True))

    assert read_back(shell.type("mllog", "run-1").stdout).rehearsal


def test_initialisation_never_begins_after_its_end(shell: CommandLine, core: Core) -> None:
    record = measured()
    assert record.result
    assert record.result.info.proc_start_time
    ahead = record.result.info.proc_start_time + timedelta(seconds=5)
    info = replace(record.result.info, prepare_start_time=None)
    run = replace(record.run, created_at=ahead)
    store(core, replace(record, run=run, result=replace(record.result, info=info)))

    said = entries(shell.type("mllog", "run-1").stdout)

    assert said["init_start"][0]["time_ms"] == said["init_stop"][0]["time_ms"]


def test_a_run_without_a_result_is_refused(shell: CommandLine, core: Core) -> None:
    store(core, a.record(with_result=False))

    refused = shell.type("mllog", "run-1")

    assert refused.exit_code == 2
    assert "run: has no result: name a run that has completed" in refused.stderr
