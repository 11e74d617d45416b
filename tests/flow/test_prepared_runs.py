"""Runs whose spec updates CANN and MindSpore, sets log levels, or lets each server train alone: to the leaderboard."""

import io
import json
import re
import zipfile
from pathlib import Path

import pytest

from aisbench_core.model import Api, Mode, Run, RunSpec, RunState
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow
from tests.flow.command_line import CommandLine
from tests.flow.following import Bench, bench_on
from tests.sandbox_process import SandboxProcess

CANN = "Ascend-cann-nnae_5.0.2.1_linux-aarch64.run"
MINDSPORE = "mindspore_ascend-1.3.0-py3-none-any.whl"
PROTOBUF = "protobuf-3.20.1-py3-none-any.whl"

CANN_PACKAGE = """#!/bin/sh
# Stands for an installer: it notes how it was called, where the boot file finds it.
echo "installer said $*"
echo "$*" > "$HOME/cann-installed"
"""

TRAIN = """
import importlib.metadata, os, pathlib
import aisbench_report
levels = ("GLOG_v", "ASCEND_GLOBAL_LOG_LEVEL", "ASCEND_GLOBAL_EVENT_ENABLE", "ASCEND_SLOG_PRINT_TO_STDOUT")
print("levels", [os.environ.get(name) for name in levels], "mode", os.environ.get("SINGLESERVER_MODE"), flush=True)
for name in ("mindspore-ascend", "protobuf"):
    try:
        print("installed", name, importlib.metadata.version(name), flush=True)
    except importlib.metadata.PackageNotFoundError:
        pass
cann = pathlib.Path(os.environ["HOME"], "cann-installed")
print("cann", cann.read_text().strip() if cann.exists() else "of the image", "own", os.environ.get("OWN"), flush=True)
server = int(os.environ["VC_TASK_INDEX"])
aisbench_report.throughput(100.0 + 10 * server + int(os.environ["DEVICE_ID"]))
aisbench_report.accuracy(0.9 + 0.02 * server)
aisbench_report.done()
"""


def wheel(name: str) -> bytes:
    """A package without modules, as small as pip takes it."""
    distribution, version = name.split("-")[:2]
    info = f"{distribution}-{version}.dist-info"
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{each},,\n" for each in [*files, f"{info}/RECORD"])
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for each, content in files.items():
            packed.writestr(each, content)
    return archive.getvalue()


@pytest.fixture
def packages(tmp_path: Path) -> dict[str, str]:
    """An update of a spec: its files."""
    folder = tmp_path / "packages"
    folder.mkdir()
    (folder / CANN).write_text(CANN_PACKAGE)
    for name in (MINDSPORE, PROTOBUF):
        (folder / name).write_bytes(wheel(name))
    return {
        "cann": str(folder / CANN),
        "mindspore": str(folder / MINDSPORE),
        "protobuf": str(folder / PROTOBUF),
    }


@pytest.fixture
def spec(tmp_path: Path) -> RunSpec:
    """Two cards that only say what they find, and report made-up numbers."""
    code = tmp_path / "my code"
    code.mkdir()
    (code / "train.py").write_text(TRAIN)
    return RunSpec(
        workload="quickstart_digits", code_dir=str(code), flavor="sandbox.cpu.2cards", cards_per_node=2, node_count=1
    )


@pytest.fixture
def bench(real_sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    real_sandbox.reset()
    return bench_on(real_sandbox, tmp_path / "data")


def ended(bench: Bench, spec: RunSpec, **answers: object) -> Run:
    """The run of a spec, at its end; the sandbox really runs it."""
    return bench.await_end(bench.launch(RunSpec.model_validate(spec.model_dump() | answers)))


def log(bench: Bench, run: Run, node: int = 0) -> str:
    return bench.core.files.log_tail(run.run_id, node)


def recorded(bench: Bench, run: Run) -> RunRow:
    found = bench.core.warehouse.runs.find_row(run.run_id)
    assert found is not None
    return found


@pytest.mark.parametrize("api", [Api.V2, pytest.param(Api.V1, marks=pytest.mark.exhaustive)])
def test_packages_are_installed_and_log_levels_reach_the_boot_file(
    bench: Bench, spec: RunSpec, packages: dict[str, str], api: Api
) -> None:
    levels = {"cann": "error", "mindspore": "fatal", "events": False, "stdout": False}
    Path(spec.code_dir, "ma-pre-start.sh").write_text("export OWN=kept GLOG_v=0\n")

    run = ended(bench, spec, update=packages, log_levels=levels, api=api)

    said = log(bench, run)
    assert run.state is RunState.COMPLETED, said
    assert "levels ['3', '3', '0', '0'] mode None" in said
    assert "installed mindspore-ascend 1.3.0" in said
    assert "installed protobuf 3.20.1" in said
    assert "cann --upgrade --quiet own kept" in said
    assert said.index("Successfully installed") < said.index("installer said --upgrade --quiet") < said.index("levels")
    assert (bench.core.settings.runs_dir / run.run_id / "ma-pre-start.sh").is_file()


def test_a_package_that_cannot_be_installed_fails_the_run_before_anything_is_measured(
    bench: Bench, spec: RunSpec, packages: dict[str, str]
) -> None:
    Path(packages["cann"]).write_text("#!/bin/sh\necho no room\nexit 3\n")

    run = ended(bench, spec, update={"cann": packages["cann"]})

    said = log(bench, run)
    assert run.state is RunState.FAILED
    assert "no room" in said
    assert f"{CANN} could not be installed; the job ends here" in said
    assert "levels" not in said


def test_the_same_code_with_another_script_lies_in_another_place_and_packages_are_sent_once(
    bench: Bench, spec: RunSpec, packages: dict[str, str]
) -> None:
    plain = ended(bench, spec)
    first = ended(bench, spec, update={"cann": packages["cann"]})
    again = ended(bench, spec, update={"cann": packages["cann"]})

    assert plain.code_sha256 != first.code_sha256 == again.code_sha256
    assert "cann of the image" in log(bench, plain)
    bucket = bench.core.regions.profile("sandbox").bucket
    stored = [stat.path for stat in bench.objects().list(f"/{bucket}/aisbench/code/") if stat.path.endswith(CANN)]
    assert len(stored) == 1


@pytest.mark.parametrize("api", [Api.V1, pytest.param(Api.V2, marks=pytest.mark.exhaustive)])
def test_single_servers_are_measured_one_by_one_from_launch_to_leaderboard(
    bench: Bench, real_sandbox: SandboxProcess, spec: RunSpec, api: Api
) -> None:
    run = ended(bench, spec, mode=Mode.SINGLE_SERVER, node_count=2, api=api)

    said = log(bench, run)
    assert run.state is RunState.COMPLETED, said
    assert "mode True" in said
    row = recorded(bench, run)
    assert row.throughput == pytest.approx((100 + 101 + 110 + 111) / 2)
    assert row.accuracy == pytest.approx(0.91)
    (first,) = bench.core.warehouse.board.list_rows(BoardQuery(region=row.region)).rows
    assert (first.mode, first.throughput) == (Mode.SINGLE_SERVER, row.throughput)
    shell = CommandLine(bench.core.settings.data_dir, real_sandbox)
    shown = shell.type("show", run.run_id).stdout
    assert re.search(r"^mode +single_server$", shown, re.MULTILINE)
    assert re.search(r"^  mean +211 +0.91$", shown, re.MULTILINE), shown
    servers = shell.answer("show", run.run_id)["servers"]
    assert [(each["throughput"], each["accuracy"]) for each in servers["results"]] == [(201, 0.9), (221, 0.92)]
    assert (servers["throughput"]["lowest"], servers["throughput"]["highest"]) == (201, 221)
    result = json.loads((bench.core.settings.runs_dir / run.run_id / "train_result_info.json").read_text("utf-8"))
    assert float(result["throughput_ratio"]) == row.throughput


@pytest.mark.parametrize("nodes", [2, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_single_servers_and_a_cluster_share_no_row_and_no_ratio(bench: Bench, spec: RunSpec, nodes: int) -> None:
    cluster = ended(bench, spec, node_count=2)
    alone = ended(bench, spec, node_count=nodes, mode=Mode.SINGLE_SERVER)

    comparison = bench.core.warehouse.runs.compare([cluster.run_id, alone.run_id])

    assert "mode" in comparison.reasons
    assert all(cell.ratio is None and cell.difference is None for metric in comparison.metrics
               for cell in metric.values[1:])  # fmt: skip
    rows = bench.core.warehouse.board.list_rows(BoardQuery(region=recorded(bench, alone).region)).rows
    assert sorted(row.mode for row in rows) == [Mode.CLUSTER, Mode.SINGLE_SERVER]
