"""A data folder may have any name that DuckDB can open: marks of URLs and patterns in it are letters."""

from pathlib import Path

import pytest

from aisbench_core.data_folder import prepare_data_folder
from aisbench_core.errors import ConfigError
from aisbench_core.settings import Settings
from tests.flow.following import GOOD, bench_on
from tests.flow.trouble import assert_completed_once
from tests.sandbox_process import SandboxProcess


@pytest.mark.parametrize("name", ["da#ta", "da%20ta", "da*[1]t'a;"])
def test_a_run_in_a_folder_of_any_name_is_recorded(sandbox: SandboxProcess, tmp_path: Path, name: str) -> None:
    sandbox.script(by="look", outputs=GOOD)
    bench = bench_on(sandbox, tmp_path / name)

    run = bench.launch()
    bench.follow(run)

    assert_completed_once(bench, sandbox, run)
    assert bench.core.warehouse.check([]).damages == ()


def test_a_folder_that_duckdb_cannot_open_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"da\?ta/warehouse.duckdb cannot be used: DuckDB allows no \? in a path"):
        prepare_data_folder(Settings(data_dir=tmp_path / "da?ta"))

    assert not (tmp_path / "da?ta").exists()
