"""All runs of a server as a DataFrame: `open_warehouse("https://…")` beside its JSON export, read by pandas."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd

import aisbench_core
from aisbench_core.config.settings import Settings
from aisbench_core.interfaces.client import Client
from aisbench_core.model import Role
from aisbench_core.model.token import TokenRequest
from aisbench_core.wiring import open_core
from tests.actors import TESTER
from tests.bench import figures, many_runs, warehouses
from tests.flow.api_process import ApiProcess

COUNT = 100_000
MOST_MEMORY_MB = 1500  # 1 GiB of which the engine may take


def timed(read: Callable[[], pd.DataFrame]) -> tuple[float, pd.DataFrame]:
    began = time.perf_counter()
    frame = read()
    return time.perf_counter() - began, frame


def peak_mb(process_id: int) -> float:
    status = Path(f"/proc/{process_id}/status").read_text("utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def test_all_runs_of_a_server_beside_its_json(tmp_path: Path) -> None:
    source = warehouses.folder_of(COUNT) / "warehouse.duckdb"
    core = open_core(Settings(data_dir=tmp_path / "data", warehouse=str(source)))
    token = core.tokens.create(TokenRequest(name="bench", role=Role.VIEWER), TESTER)[1].plain
    server = ApiProcess(tmp_path / "data", warehouse=str(source))
    try:
        console, file = Client(server.url, token, seconds=600), tmp_path / "runs.json"

        def by_json() -> pd.DataFrame:
            console.export(file, region=many_runs.REGION, format="json")
            return pd.DataFrame(json.loads(file.read_text("utf-8")))

        with aisbench_core.open_warehouse(server.url, token=token) as opened:
            opened.sql("select 1")  # the copy is made
            before = peak_mb(server.process_id)
            ours, frame = timed(lambda: opened.runs(region=many_runs.REGION, include_invalid=True))
            memory = peak_mb(server.process_id)
            cards, ranks = timed(lambda: opened.sql("from v_ranks limit 500000"))
        naive, rows = timed(by_json)
    finally:
        server.stop()

    assert len(frame) == len(rows) > COUNT * 0.9
    assert len(ranks) == 500_000
    figures.put(
        f"All of {COUNT:,} runs over the API as a DataFrame",
        f"{ours:.1f} s",
        "2 ×",
        f"its JSON export, read by pandas: {naive:.1f} s",
        naive / ours,
    )
    figures.put("500,000 rows of `v_ranks` over the API as a DataFrame", f"{cards:.1f} s")
    figures.put(
        "All runs over the API: memory of the server",
        f"{memory:.0f} MB",
        f"{MOST_MEMORY_MB} MB",
        f"before the query: {before:.0f} MB",
    )
    assert naive / ours >= 2
    assert memory <= MOST_MEMORY_MB
