"""DuckDB engines for a team's DuckLake. Their extensions come from installed packages: nothing is downloaded."""

import importlib.util
from pathlib import Path

import duckdb

from aisbench_core.errors import ConfigError, WarehouseError
from aisbench_core.messages import Message
from aisbench_core.warehouse.store.engine import NAME, Config
from aisbench_core.warehouse.store.team import Access, TeamLocation

# OBS, PostgreSQL, and the lake that needs both; in the order in which they are loaded.
EXTENSIONS = ("httpfs", "postgres_scanner", "ducklake")

# A write of up to so many rows goes into the catalogue; a larger one becomes a file of its own on OBS.
INLINED_ROWS = 500

_INSTALL = Message(
    "a team warehouse needs the extra `team`: pip install --constraint constraints.txt 'aisbench-console[team]', or "
    "--editable '.[team]' in a clone"
)


def start_lake_engine(config: Config) -> duckdb.DuckDBPyConnection:
    """An engine with the extensions. Raises ConfigError if the extra `team` is not installed, or for another DuckDB."""
    # Checking signatures means hashing 100 MB, a quarter of a second at every start, and whoever can replace the
    # extensions can replace DuckDB beside them. It is forbidden again below, so that no query can load others.
    engine = duckdb.connect(":memory:", config={**config, "allow_unsigned_extensions": True})
    for name in EXTENSIONS:
        try:
            engine.load_extension(str(_file(name)))
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise ConfigError(
                Message("DuckDB cannot load its extension {name}: {reason}", name=name, reason=reason), _INSTALL
            ) from error
    engine.execute("set allow_unsigned_extensions = false")
    return engine


def _file(name: str) -> Path:
    package = f"duckdb_extension_{name}"
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ConfigError(Message("the package {package} is not installed", package=package), _INSTALL)
    file = Path(spec.origin).parent / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
    if not file.is_file():
        raise ConfigError(
            Message("the package {package} is not for DuckDB {version}", package=package, version=duckdb.__version__),
            _INSTALL,
        )
    return file


def set_secrets(engine: duckdb.DuckDBPyConnection, access: Access) -> None:
    """Password and keys as secrets of the engine, which appear neither in its errors nor in the catalogue."""
    bucket = access.bucket
    _create_secret(engine, "catalog", type="postgres", password=access.password)
    _create_secret(
        engine,
        "bucket",
        type="s3",
        key_id=bucket.access_key,
        secret=bucket.secret_key,
        session_token=bucket.security_token,
        endpoint=bucket.host,
        region=bucket.region,
        url_style="path",
        use_ssl=str(bucket.tls).lower(),
        verify_ssl=str(bucket.verify_tls).lower(),
    )
    engine.execute("set http_proxy = ?", [bucket.proxy])  # even if empty: DuckDB would take the environment's
    engine.execute("set http_proxy_username = ?", [bucket.proxy_user])
    engine.execute("set http_proxy_password = ?", [bucket.proxy_password])


def _create_secret(engine: duckdb.DuckDBPyConnection, name: str, **values: str) -> None:
    options = ", ".join(f"{key} {sql_text(value)}" for key, value in values.items() if value)
    try:
        engine.execute(f"create secret {name} ({options})")
    except duckdb.Error:  # its message repeats the statement
        raise WarehouseError(
            Message("DuckDB does not take the {name}'s password or keys", name=name),
            Message("look for stray characters"),
        ) from None


def attach_lake(
    engine: duckdb.DuckDBPyConnection, location: TeamLocation, access: Access, *, read_only: bool = False
) -> None:
    """Attach the lake as NAME; the engine must have its secrets."""
    secret = ", meta_secret catalog" if access.password else ""
    engine.execute(
        f"attach {sql_text(f'ducklake:postgres:{location.connection}')} as {NAME} "
        f"(data_path {sql_text(location.data_path)}, "
        f"data_inlining_row_limit {INLINED_ROWS}{secret}{', read_only' if read_only else ''})"
    )


def sql_text(value: str) -> str:
    """A text as SQL literal; ATTACH and CREATE SECRET take no parameters."""
    return "'" + value.replace("'", "''") + "'"
