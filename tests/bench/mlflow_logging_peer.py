"""MLflow with SQLite, as its own Python runs it: `mlflow_logging_peer.py FOLDER RUNS` prints its version when its store
holds so many runs and has logged one, and for each line that it is sent what logging one more takes, in ms.

The run is the one of FOLDER/told.json. Its store stays open the whole time.
"""

import json
import sys
from pathlib import Path

from mlflow_peer import fill, took  # type: ignore[import-not-found]  # beside this file, which runs as a script


def main(folder: str, runs: int) -> None:
    import mlflow
    from mlflow.entities import Metric, Param

    told = json.loads((Path(folder) / "told.json").read_text("utf-8"))
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    experiment = mlflow.create_experiment("bench", artifact_location=f"file://{folder}/artifacts")
    fill(f"{folder}/mlflow.db", experiment, runs)
    client = mlflow.MlflowClient()

    def log_one() -> None:
        run_id = client.create_run(experiment, tags=told["tags"]).info.run_id
        client.log_batch(
            run_id,
            [Metric(*point) for point in told["metrics"]],
            [Param(key, value) for key, value in told["params"].items()],
        )
        client.set_terminated(run_id)

    log_one()
    print(mlflow.__version__, flush=True)
    for _ in sys.stdin:
        print(took(log_one, 1), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
