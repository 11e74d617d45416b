"""A team's warehouse in the life of a console: moved there by the command line, and away for a while."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from aisbench_core.interfaces.api.health import WarehouseProbe, check_readiness
from aisbench_core.model import RunState
from aisbench_core.wiring import open_core
from tests.flow.command_line import CommandLine
from tests.flow.following import Bench, bench_on
from tests.flow.trouble import assert_completed_once, assert_retrying
from tests.postgres_server import PASSWORD, PostgresServer
from tests.sandbox_process import SandboxProcess
from tests.team_warehouse import TeamWarehouse

pytestmark = pytest.mark.postgres


@pytest.fixture
def place(postgres: PostgresServer, sandbox: SandboxProcess) -> Iterator[TeamWarehouse]:
    """A team's warehouse in the region that runs use, too."""
    yield TeamWarehouse.create(postgres, sandbox, "flow")
    postgres.drop("flow")


@pytest.fixture
def shell(tmp_path: Path, sandbox: SandboxProcess) -> Iterator[CommandLine]:
    shell = CommandLine(tmp_path / "data", sandbox)
    yield shell
    shell.end()


def test_a_console_that_worked_alone_joins_a_team(shell: CommandLine, place: TeamWarehouse) -> None:
    name = f"ducklake:postgres:{place.address}"
    shell.environment["AISBENCH_WAREHOUSE_PASSWORD"] = PASSWORD
    assert shell.type("run", "quickstart_digits", "--wait").exit_code == 0
    alone = shell.answer("leaderboard")
    assert shell.type("warehouse", "check").stdout == "no problems found\n"
    assert "before" in shell.type("warehouse", "compact").stdout

    moved = shell.type("warehouse", "move", name, "--data", place.data_path)
    assert moved.exit_code == 0, moved.output
    assert moved.stdout.startswith("1 run with ")
    assert "1 of 1 run copied" in moved.stderr
    shell.environment |= {"AISBENCH_WAREHOUSE": name, "AISBENCH_WAREHOUSE_DATA": place.data_path}

    assert shell.answer("leaderboard") == alone
    assert shell.answer("warehouse", "compact")["flushed"] > 0
    assert shell.answer("warehouse", "check")["damages"] == []
    assert shell.type("warehouse", "rebuild").stdout == "1 run recorded\n"
    assert shell.answer("leaderboard") == alone
    again = shell.type("warehouse", "move", name)
    assert (again.exit_code, "is in use" in again.stderr) == (2, True)


def test_damage_has_an_exit_code_and_what_to_do(shell: CommandLine) -> None:
    shell.type("run", "quickstart_digits", "--wait")
    for file in shell.data_dir.glob("warehouse.duckdb*"):
        file.unlink()

    checked = shell.type("warehouse", "check")

    assert checked.exit_code == 1
    assert "not in the warehouse" in checked.stdout
    assert "aisbench warehouse rebuild" in checked.stdout


def test_a_password_in_the_settings_is_refused_and_not_repeated(shell: CommandLine) -> None:
    shell.environment["AISBENCH_WAREHOUSE"] = "ducklake:postgres:host=db dbname=bench password=hunter2"

    refused = shell.type("leaderboard")

    assert refused.exit_code == 2
    assert "AISBENCH_WAREHOUSE_PASSWORD" in refused.stderr
    assert "hunter2" not in refused.output


@pytest.fixture
def bench(place: TeamWarehouse, sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    """A console whose results go to the team's warehouse."""
    bench = bench_on(
        sandbox,
        tmp_path / "data",
        warehouse=f"ducklake:postgres:{place.address}",
        warehouse_data=place.data_path,
    )
    credentials = bench.core.settings.credentials_path
    credentials.write_text(f'warehouse: {{password: "{PASSWORD}"}}\n')
    credentials.chmod(0o600)
    return bench


def test_a_run_is_recorded_once_postgresql_is_back(
    bench: Bench, sandbox: SandboxProcess, postgres: PostgresServer
) -> None:
    bench.follow(bench.launch())
    run = bench.follow(bench.launch(), RunState.COLLECTING)
    postgres.kill()
    try:
        for _ in range(2):
            bench.tick()
        assert_retrying(bench, run, RunState.COLLECTING)
        assert "check that PostgreSQL runs" in bench.run(run).detail
        assert PASSWORD not in bench.run(run).detail
    finally:
        postgres.resume()

    bench.follow(run)

    assert_completed_once(bench, sandbox, run)
    assert open_core(bench.core.settings).warehouse.runs.find_row(run.run_id) is not None
    assert not bench.core.settings.warehouse_path.exists()
    assert bench.core.health.check().sizes.warehouse is None


def test_a_follower_says_that_the_warehouse_is_away_when_it_starts(
    shell: CommandLine, place: TeamWarehouse, postgres: PostgresServer
) -> None:
    name = f"ducklake:postgres:{place.address}"
    shell.environment |= {"AISBENCH_WAREHOUSE": name, "AISBENCH_WAREHOUSE_DATA": place.data_path}
    shell.environment["AISBENCH_WAREHOUSE_PASSWORD"] = PASSWORD
    postgres.kill()
    try:
        follower = shell.start("follow", "--quiet")
        assert follower.stderr is not None
        waiting = follower.stderr.readline()
    finally:
        postgres.resume()

    assert waiting.startswith("results are stored once the warehouse answers: ")
    assert "Connection refused" in waiting
    assert follower.stderr.readline() == "PostgreSQL answers; continuing\n"
    follower.terminate()
    assert follower.wait(60) == 0


def test_health_and_readiness_say_that_the_warehouse_is_away(bench: Bench, postgres: PostgresServer) -> None:
    probe = WarehouseProbe()
    postgres.kill()
    try:
        away = check_readiness(bench.core, probe)
        (service,) = [one for one in bench.core.health.check().services if one.name == "warehouse"]
    finally:
        postgres.resume()

    assert away == {"status": "ready", "warehouse": "unavailable"}
    assert not service.ok
    assert "check that PostgreSQL runs" in str(service.sentence)
    assert check_readiness(bench.core, probe) == {"status": "ready", "warehouse": "available"}
