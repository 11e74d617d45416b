"""Real MLflow, in environments of its own, opens what we write: `make bench` installs 2.22 and 3.17 and asks them.

It wants other versions of our dependencies than we use, so it is no extra of ours."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from aisbench_core.mlflow.exporting import MlflowExport
from aisbench_core.warehouse import BoardQuery, Warehouse
from aisbench_core.warehouse.store.reading import reader
from tests import records as a

ASK = """
import json, sys
from mlflow import MlflowClient
client = MlflowClient(f"sqlite:///{sys.argv[1]}")
for experiment in client.search_experiments():
    wanted = "metrics.throughput > 8000"
    for run in client.search_runs([experiment.experiment_id], wanted, order_by=["metrics.throughput"]):
        history = client.get_metric_history(run.info.run_id, "rank_throughput.server_0")
        print(json.dumps([experiment.name, run.info.run_name, run.info.status, run.data.metrics["throughput"],
            run.data.params["node_count"], run.data.tags["aisbench.validity"], [point.value for point in history]]))
        client.set_tag(run.info.run_id, "seen", "yes")
"""


@pytest.mark.parametrize("packages", [("mlflow-skinny==2.22.1", "sqlalchemy<2.1"), ("mlflow-skinny==3.17.2",)], ids=str)
def test_mlflow_opens_searches_and_changes_a_written_store(packages: tuple[str, ...], tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record_many(a.records([8000, 8100, 8200]))
    MlflowExport(reader(warehouse.location)).export(BoardQuery("cn-north-9"), tmp_path / "store.db")
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", *packages, "sqlalchemy", "alembic"], check=True)

    done = subprocess.run([python, "-c", ASK, tmp_path / "store.db"], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-2000:]
    told = [json.loads(line) for line in done.stdout.splitlines()]
    experiment = "AISBench mindspore_resnet (cn-north-9)"
    assert told == [
        [experiment, "run-1", "FINISHED", 8100, "1", "valid", [1012.5] * 8],
        [experiment, "run-2", "FINISHED", 8200, "1", "valid", [1025.0] * 8],
    ]
