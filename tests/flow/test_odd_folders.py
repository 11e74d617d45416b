"""A data folder may have any name that DuckDB can open: marks of URLs and patterns in it are letters."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from aisbench_core.base.errors import AisbenchError, ConfigError
from aisbench_core.config.data_folder import prepare_data_folder
from aisbench_core.config.settings import Settings
from aisbench_core.store.ledger.database.ledger_schema import VERSION
from aisbench_core.wiring import open_core
from tests.flow.following import GOOD, bench_on
from tests.flow.trouble import assert_completed_once
from tests.sandbox_process import SandboxProcess


def test_an_older_version_names_the_schemas_before_it_reads_anything_else(tmp_path: Path) -> None:
    assert open_core(Settings(data_dir=tmp_path)).ledger.count() == 0
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite3")) as con:
        con.execute("pragma user_version = 99")
    profile = tmp_path / "profiles" / "lab.yaml"
    profile.parent.mkdir()
    profile.write_text("key_of_a_later_version: 1\n", "utf-8")

    with pytest.raises(AisbenchError, match=rf"its ledger has schema 99, and this one knows schemas up to {VERSION}"):
        open_core(Settings(data_dir=tmp_path))


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
