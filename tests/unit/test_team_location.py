"""What the settings say of a team's warehouse becomes a place, and a password never gets into it."""

from pathlib import Path

import pytest

from aisbench_core.base.errors import ConfigError
from aisbench_core.config.credentials import find_password
from aisbench_core.config.settings import HOME, Settings
from aisbench_core.maintenance.storage import warehouse_location
from aisbench_core.warehouse.store.team import TeamLocation

DATA = "s3://our-bucket/results"
SECRET = "hunter2"


def place(warehouse: str, data: str = DATA) -> TeamLocation:
    found = warehouse_location(Settings(warehouse=warehouse, warehouse_data=data))
    assert isinstance(found, TeamLocation)
    return found


def test_without_a_word_the_warehouse_is_a_file_of_the_data_folder(tmp_path: Path) -> None:
    assert warehouse_location(Settings(data_dir=tmp_path)) == tmp_path / "warehouse.duckdb"


@pytest.mark.parametrize(
    ("said", "file"),
    [
        ("/srv/results.duckdb", Path("/srv/results.duckdb")),
        ("shared/results.duckdb", HOME / "shared/results.duckdb"),
        ("~/results.duckdb", Path("~/results.duckdb").expanduser()),
    ],
)
def test_another_file_can_be_named(said: str, file: Path) -> None:
    assert warehouse_location(Settings(warehouse=said)) == file


@pytest.mark.parametrize(
    ("said", "catalog"),
    [
        ("host=db dbname=bench", "host=db dbname=bench"),
        ("  dbname = bench  host=/run/postgresql ", "dbname=bench host=/run/postgresql"),
        (r"dbname='our bench' user='O\'Neil' host=db", r"dbname='our bench' user='O\'Neil' host=db"),
        ("postgresql://ann@db.example.com:5433/bench", "host=db.example.com port=5433 user=ann dbname=bench"),
        ("postgres://db/our%20bench?sslmode=require", "host=db dbname='our bench' sslmode=require"),
    ],
)
def test_a_connection_string_may_be_pairs_or_an_address(said: str, catalog: str) -> None:
    found = place(f"ducklake:postgres:{said}")

    assert str(found) == f"ducklake:postgres:{catalog}"
    assert found.connection.startswith(f"{catalog} connect_timeout=5 keepalives_idle=30 ")
    assert found.data_path == f"{DATA}/"


@pytest.mark.parametrize("own", ["connect_timeout=30", "keepalives_idle=7", "tcp_user_timeout=90000"])
def test_a_wait_of_ones_own_is_kept(own: str) -> None:
    connection = place(f"ducklake:postgres:host=db dbname=b {own}").connection

    assert own in connection
    assert connection.count(own.partition("=")[0]) == 1


@pytest.mark.parametrize(
    "said",
    [
        f"host=db dbname=bench password={SECRET}",
        f"host=db dbname=bench password = '{SECRET}'",
        f"postgresql://ann:{SECRET}@db/bench",
        f"postgresql://ann@db/bench?password={SECRET}",
        f"mysql://ann:{SECRET}@db/bench",
        f"host=db dbname=bench password={SECRET} '",
        f"postgresql://ann:{SECRET}@db:port/bench",
        "host=db",
        "postgresql://db",
        "",
    ],
)
def test_what_cannot_be_used_is_refused_without_repeating_a_password(said: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        place(f"ducklake:postgres:{said}")

    assert refusal.value.hint
    assert SECRET not in str(refusal.value)


def test_another_kind_of_lake_is_refused() -> None:
    with pytest.raises(ConfigError, match="not known"):
        place("ducklake:catalogue.sqlite")


@pytest.mark.parametrize("data", ["", "s3://", "s3://x", "/srv/files", "https://bucket.example.com/x", "s3://b/it's"])
def test_files_are_kept_in_a_bucket(data: str) -> None:
    with pytest.raises(ConfigError, match="warehouse_data"):
        place("ducklake:postgres:host=db dbname=bench", data)


def test_the_password_comes_from_the_environment_or_the_credentials(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    assert find_password(settings, "warehouse", {}) == ""

    settings.credentials_path.write_text(f"warehouse: {{password: {SECRET}}}\nteam: {{access_key: a, secret_key: b}}\n")
    settings.credentials_path.chmod(0o600)

    assert find_password(settings, "warehouse", {}) == SECRET
    assert find_password(settings, "warehouse", {"AISBENCH_WAREHOUSE_PASSWORD": "other"}) == "other"


def test_credentials_that_others_can_read_are_refused(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    settings.credentials_path.write_text(f"warehouse: {{password: {SECRET}}}\n")
    settings.credentials_path.chmod(0o644)

    with pytest.raises(ConfigError, match="read by others"):
        find_password(settings, "warehouse", {})
