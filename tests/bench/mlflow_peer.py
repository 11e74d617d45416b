"""MLflow with SQLite, as its own Python runs it: `mlflow_peer.py FOLDER RUNS` prints what it took, in ms, as JSON.

The runs are put into its tables with SQL, which is many times as quick as its own way; then its public functions are
timed: search with a filter and an order, and search as an export.
"""

import json
import random
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path

PARAMS = ("model", "framework_version", "flavor", "node_count", "cards_per_node", "batch_size", "epoch_size", "dataset")
METRICS = ("throughput", "per_node", "per_card", "accuracy", "duration_s", "queue_s", "rank_cv", "average_power")


def values(number: int) -> tuple[dict[str, str], dict[str, float]]:
    luck = random.Random(number)
    params = {
        "model": f"model{luck.randrange(12)}_v1.5",
        "framework_version": luck.choice(["r1.8", "r1.9", "r1.10", "r2.0", "r2.1"]),
        "flavor": luck.choice(["kat1", "kat2", "p6", "snt9b"]),
        "node_count": luck.choice(["1", "2", "4", "8"]),
        "cards_per_node": "8",
        "batch_size": luck.choice(["32", "256"]),
        "epoch_size": "90",
        "dataset": "imagenet",
    }
    return params, {name: luck.gauss(1000, 10) for name in METRICS}


def fill(file: str, experiment: str, runs: int) -> None:
    run_rows: list[tuple[object, ...]] = []
    params: list[tuple[object, ...]] = []
    metrics: list[tuple[object, ...]] = []
    tags: list[tuple[object, ...]] = []
    for number in range(runs):
        run_id = f"{number:032x}"
        told, measured = values(number)
        run_rows.append((run_id, f"run-{number}", "ann", 1_700_000_000_000 + number * 60_000, "active", experiment))
        params += [(key, value, run_id) for key, value in told.items()]
        metrics += [(key, value, 1_700_000_000_000, run_id, 0, 0) for key, value in measured.items()]
        tags.append(("validity", "valid", run_id))
    with sqlite3.connect(file) as con:
        con.executemany(
            "insert into runs (run_uuid, name, user_id, start_time, lifecycle_stage, experiment_id, status,"
            " source_type, source_name, entry_point_name, source_version, artifact_uri)"
            " values (?, ?, ?, ?, ?, ?, 'FINISHED', 'LOCAL', '', '', '', 'x')",
            run_rows,
        )
        con.executemany("insert into params (key, value, run_uuid) values (?,?,?)", params)
        for table in ("metrics", "latest_metrics"):
            con.executemany(
                f"insert into {table} (key, value, timestamp, run_uuid, step, is_nan) values (?,?,?,?,?,?)",
                metrics,
            )
        con.executemany("insert into tags (key, value, run_uuid) values (?,?,?)", tags)


def took(work: Callable[[], None], times: int) -> float:
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append((time.perf_counter() - start) * 1000)
    return sorted(found)[len(found) // 2]


def main(folder: str, runs: int) -> None:
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    experiment = mlflow.create_experiment("bench", artifact_location=f"file://{folder}/artifacts")
    fill(f"{folder}/mlflow.db", experiment, runs)
    client = mlflow.MlflowClient()
    asked = "params.model = 'model3_v1.5' and params.framework_version = 'r2.0' and params.flavor = 'p6'"

    def search() -> None:
        found = client.search_runs([experiment], asked, order_by=["metrics.throughput DESC"], max_results=50)
        assert found

    def export() -> None:
        mlflow.search_runs([experiment], max_results=runs).to_csv(Path(folder) / "export.csv")

    print(
        json.dumps(
            {
                "version": mlflow.__version__,
                "search_ms": took(search, 5),
                "export_ms": took(export, 1),
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
