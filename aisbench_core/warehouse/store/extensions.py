"""DuckDB's extensions for a team's warehouse, from the installed packages: nothing is downloaded at run time."""

import importlib.util
from pathlib import Path

import duckdb

from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message

NAMES = ("httpfs", "postgres_scanner", "ducklake")
"""OBS, PostgreSQL, and the lake that needs both; in the order in which they are loaded."""


Config = dict[str, str | bool | int | float | list[str]]


def started(config: Config) -> duckdb.DuckDBPyConnection:
    """An engine that has nothing but memory and them. Raises ConfigError when the extra `team` is not installed, or
    belongs to another DuckDB.

    Their signatures are not looked at: hashing 100 MB takes a quarter of a second at every start, and whoever can
    change them can change DuckDB, which lies beside them. The engine cannot allow it again for any other extension.
    """
    engine = duckdb.connect(":memory:", config={**config, "allow_unsigned_extensions": True})
    _load(engine)
    engine.execute("set allow_unsigned_extensions = false")
    return engine


def _load(engine: duckdb.DuckDBPyConnection) -> None:
    for name in NAMES:
        try:
            engine.load_extension(str(_file(name)))
        except duckdb.Error as error:
            said = str(error).splitlines()[0]
            raise ConfigError(
                Message("DuckDB cannot load its extension {name}: {reason}", name=name, reason=said), _INSTALL
            ) from error


_INSTALL = Message(
    "a team warehouse needs the extra `team`: pip install --constraint constraints.txt 'aisbench-console[team]', or "
    "--editable '.[team]' in a clone"
)


def _file(name: str) -> Path:
    package = f"duckdb_extension_{name}"
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise ConfigError(Message("the package {package} is not installed", package=package), _INSTALL)
    file = Path(found.origin).parent / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
    if not file.is_file():
        raise ConfigError(
            Message("the package {package} is not for DuckDB {version}", package=package, version=duckdb.__version__),
            _INSTALL,
        )
    return file
