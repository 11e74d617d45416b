"""A team's warehouse and OBS, secrets and extensions: what may fail, and what nobody gets to see."""

import dataclasses
import re
import sys
from pathlib import Path

import duckdb
import pytest

from aisbench_core.base.errors import ConfigError, WarehouseError
from aisbench_core.config.settings import HOME
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.postgres_server import PASSWORD, PostgresServer
from tests.sandbox_process import SandboxProcess
from tests.team_warehouse import TeamWarehouse, at, refused, with_many_samples

pytestmark = pytest.mark.postgres

BOARD = BoardQuery("cn-north-9")


# --- OBS ----------------------------------------------------------------------------------------------


def test_a_bucket_that_does_not_answer_loses_nothing_that_was_recorded(
    team: TeamWarehouse, obs: SandboxProcess
) -> None:
    warehouse = team.open()
    warehouse.record(a.record("run-1"))
    obs.kill()
    try:
        with pytest.raises(WarehouseError, match="OBS can be reached"):
            warehouse.record(with_many_samples("run-2"))
        assert warehouse.runs.find_row("run-2") is None
        assert warehouse.runs.find_row("run-1") is not None
    finally:
        obs.resume()

    warehouse.record(with_many_samples("run-2"))
    assert warehouse.runs.list_rows(BOARD).total == 2


def test_wrong_keys_are_refused_in_words_and_right_ones_help_at_once(team: TeamWarehouse) -> None:
    bucket = dataclasses.replace(team.access.bucket, secret_key="not the key")
    wrong = at(team, access=dataclasses.replace(team.access, bucket=bucket))

    with pytest.raises(WarehouseError, match="check the keys") as refusal:
        wrong.open().record(with_many_samples("run-1"))

    assert "not the key" not in str(refusal.value)
    team.open().record(with_many_samples("run-1"))


def test_keys_that_were_changed_are_looked_up_after_a_refusal(team: TeamWarehouse) -> None:
    bucket = dataclasses.replace(team.access.bucket, secret_key="not the key")
    known = [dataclasses.replace(team.access, bucket=bucket), team.access]
    warehouse = Warehouse(dataclasses.replace(team.location, access=lambda: known.pop(0)))
    with pytest.raises(WarehouseError):
        warehouse.record(with_many_samples("run-1"))

    warehouse.record(with_many_samples("run-1"))

    assert warehouse.runs.find_row("run-1") is not None


def test_a_proxy_of_the_environment_does_not_lead_away_from_this_machine(
    team: TeamWarehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")

    team.open().record(with_many_samples("run-1"))

    assert team.open().runs.find_row("run-1") is not None


# --- secrets and extensions ---------------------------------------------------------------------------


def test_neither_password_nor_keys_are_in_the_catalogue_or_on_obs(
    team: TeamWarehouse, postgres: PostgresServer, obs: SandboxProcess
) -> None:
    team.open().record(with_many_samples("run-1"))
    secrets = [PASSWORD, *obs.keys]

    tables = postgres.sql("select tablename from pg_tables where schemaname = 'public'", team.database)
    texts = [line for table in tables for line in postgres.sql(f"table {table}", team.database)]
    objects = [file for file in (obs.data_dir / "obs").rglob("*") if file.is_file() and team.database in str(file)]

    assert texts
    assert objects
    assert [text for text in texts if any(secret in text for secret in secrets)] == []
    assert [file for file in objects if any(secret.encode() in file.read_bytes() for secret in secrets)] == []
    assert PASSWORD not in repr(team.location)


def test_without_the_extra_it_is_said_what_to_install(team: TeamWarehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [path for path in sys.path if "site-packages" not in path])
    monkeypatch.delitem(sys.modules, "duckdb_extension_httpfs", raising=False)

    said = refused(team, ConfigError)

    assert "duckdb_extension_httpfs is not installed" in said
    assert "'aisbench-console[team]'" in said


def test_nothing_is_downloaded_loaded_from_elsewhere_or_kept_beside_the_packages(team: TeamWarehouse) -> None:
    with team.open().cursor() as cur:
        places = cur.execute(
            "select install_path from duckdb_extensions() where loaded and install_path <> ''"
        ).fetchall()
        settings = cur.execute(
            "select value from duckdb_settings() where name in ('autoinstall_known_extensions', "
            "'autoload_known_extensions', 'allow_unsigned_extensions')"
        ).fetchall()
        with pytest.raises(duckdb.InvalidInputException, match="Cannot change"):
            cur.execute("set allow_unsigned_extensions = true")

    assert settings == [("false",)] * 3
    assert [place for (place,) in places if "site-packages" not in place and place != "(BUILT-IN)"] == []
    assert not (Path.home() / ".duckdb").exists()


@pytest.mark.postgres
def test_an_analyst_attaches_it_offline_as_the_document_says(
    team: TeamWarehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.open().record(with_many_samples("run-1"))
    [program] = re.findall("```python\n(.+?)```", (HOME / "docs" / "warehouse.md").read_text("utf-8"), re.DOTALL)
    bucket = team.access.bucket
    secret = f"key_id '{bucket.access_key}', secret '{bucket.secret_key}', endpoint '{bucket.host}'"
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    no_downloads = dict.fromkeys(("autoinstall_known_extensions", "autoload_known_extensions"), False)
    offline = {**no_downloads, "extension_directory": str(tmp_path)}
    told = {
        "duckdb.connect()": f"duckdb.connect(config={offline})",
        "key_id 'AK', secret 'SK', endpoint 'obs.cn-north-9.myhuaweicloud.com'": f"{secret}, use_ssl false",
        "host=db.example.com dbname=bench user=analyst": team.address,
        'con.execute("from bench.runs")': 'found = con.execute("select count(*) from bench.metric_samples").fetchall()',
    }
    for written, ours in told.items():
        assert written in program
        program = program.replace(written, ours)
    names: dict[str, object] = {}

    exec(program, names)  # noqa: S102 (the document's own lines)

    assert names["found"] == [(600,)]
