"""A job measures its cards with the tool on its path; the run keeps it, and page, command line and SQL show it."""

import json
from pathlib import Path

from aisbench_core.model import RunSpec, RunState
from tests.flow.command_line import CommandLine
from tests.flow.following import bench_on
from tests.sandbox_process import SandboxProcess

TOOL = """#!/bin/sh
cat <<END
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
| 0     910B3               | OK            | 93.6        40                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          3331 / 65536         |
| 1     910B3               | OK            | NA          41                0    / 0             |
| 0                         | 0000:C2:00.0  | 55          0    / 0          3332 / 65536         |
END
"""
TRAIN = """
import os, pathlib, time
tools = pathlib.Path(__file__).parent / f"tools{{os.environ['DEVICE_ID']}}"
tools.mkdir(exist_ok=True)
(tools / "npu-smi").write_text({tool!r})
(tools / "npu-smi").chmod(0o755)
os.environ["PATH"] = f"{{tools}}:{{os.environ['PATH']}}"
import aisbench_report
aisbench_report.cards()
time.sleep(1)
aisbench_report.throughput(100.0)
aisbench_report.accuracy(0.9)
aisbench_report.done()
"""


def test_what_a_job_measured_on_its_cards_is_kept_and_shown(real_sandbox: SandboxProcess, tmp_path: Path) -> None:
    real_sandbox.reset()
    bench = bench_on(real_sandbox, tmp_path / "data")
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text(TRAIN.format(tool=TOOL))
    spec = RunSpec(
        workload="quickstart_digits", code_dir=str(code), flavor="sandbox.cpu.2cards", cards_per_node=2, node_count=1
    )
    run = bench.launch(spec)
    bench.await_end(run)
    command = CommandLine(bench.core.settings.data_dir, real_sandbox)
    shown = command.type("show", run.run_id).stdout
    cards = json.loads(command.type("show", run.run_id, "--json").stdout)["cards"]
    query = "select card, name, value from v_card_metrics where name in ('power', 'memoryUsed') order by all"
    rows = json.loads(command.type("sql", query, "--format", "json").stdout)

    assert bench.run(run).state is RunState.COMPLETED, bench.run(run).detail
    assert len(bench.core.files.card_samples(run.run_id)) == 9, "what was not measured has no sample"
    assert [(card["memory_used"], card["power"]) for card in cards] == [(3331, 93.6), (3332, None)]
    assert "94 W" in shown
    assert [list(row.values()) for row in rows] == [
        [0, "memoryUsed", 3331],
        [0, "power", 93.6],
        [1, "memoryUsed", 3332],
    ]


READINGS = """
import json, pathlib
import aisbench_report
output = pathlib.Path(aisbench_report._train_url())
output.mkdir(parents=True, exist_ok=True)
with open(output / "cards_0_1.jsonl", "w") as file:
    for number in range(7):
        cards = {{"0": {{"power": 300}}, "1": {{"power": 90 + 10 * number}}}}
        file.write(json.dumps({{"at": {began} + 10 * number, "cards": cards}}) + "\\n")
aisbench_report.throughput(105.0)
aisbench_report.accuracy(0.9)
aisbench_report.done()
"""


def test_the_block_of_a_run_holds_the_power_that_was_read(real_sandbox: SandboxProcess, tmp_path: Path) -> None:
    real_sandbox.reset()
    bench = bench_on(real_sandbox, tmp_path / "data")
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text(READINGS.format(began=1_800_000_000))
    spec = RunSpec(
        workload="quickstart_digits", code_dir=str(code), flavor="sandbox.cpu.2cards", cards_per_node=2, node_count=1
    )
    run = bench.launch(spec)
    bench.await_end(run)
    command = CommandLine(bench.core.settings.data_dir, real_sandbox)
    assert bench.run(run).state is RunState.COMPLETED, bench.run(run).detail
    block = json.loads(Path(bench.core.settings.data_dir, "runs", run.run_id, "train_result_info.json").read_text())
    query = "select average_power_w, energy_j, power_efficiency, failed_checks from v_runs"
    row = json.loads(command.type("sql", query, "--format", "json").stdout)[0]
    exported = command.type("export").stdout

    assert (block["average_power"], block["max_power"], block["energy_consumption"]) == (420, 450, 420 * 60)
    assert (row["average_power_w"], row["energy_j"], row["power_efficiency"]) == (420, 25_200, 0.5)
    assert "V19" not in row["failed_checks"]
    assert "card samples" in exported
