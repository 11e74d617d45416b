"""The core of AISBench Console: configures, runs, collects and compares training benchmarks.

For notebooks and programs of others: `aisbench_core.open_warehouse()` and `aisbench_core.Client`.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aisbench_core.interfaces.client import Client
    from aisbench_core.warehouse.open.frames import OpenWarehouse
    from aisbench_core.warehouse.open.tables import WarehouseTables

__all__ = ["Client", "open_warehouse"]

# As long as a server may compute before its answer begins.
READ_SECONDS = 600.0


def open_warehouse(path: str | Path | None = None, *, token: str = "") -> "OpenWarehouse":
    """Open a results warehouse read-only, to query it as pandas DataFrames: a file, a snapshot, the settings' own, or
    that of a server, as `https://bench.example`, with a token (default: AISBENCH_TOKEN, or that of `aisbench login`).

    Close it, or use it in `with`. Safe beside a running console. Raises ConfigError when there is no such file, or
    when the settings cannot be used, or without a token."""
    from aisbench_core.warehouse.open.frames import OpenWarehouse

    return OpenWarehouse(_of_server(path, token) if str(path).startswith(("http://", "https://")) else _of_disk(path))


def __getattr__(name: str) -> object:
    if name == "Client":  # its HTTP library is imported when somebody asks for it
        from aisbench_core.interfaces.client import Client

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _of_disk(path: str | Path | None) -> "WarehouseTables":
    from aisbench_core.base.errors import ConfigError
    from aisbench_core.base.messages import Message
    from aisbench_core.config.settings import load_settings
    from aisbench_core.maintenance.storage import warehouse_location
    from aisbench_core.warehouse.open.reading import make_reader
    from aisbench_core.warehouse.open.tables import LocalTables

    if path is None:
        return LocalTables(make_reader(warehouse_location(load_settings())))
    if not Path(path).is_file():
        raise ConfigError(
            Message("{path} is not a file", path=path),
            Message("name a warehouse or a snapshot, or nothing for the settings' warehouse"),
        )
    return LocalTables(make_reader(Path(path), foreign=True))


def _of_server(address: object, token: str) -> "WarehouseTables":
    from aisbench_core.interfaces.client.client import Client
    from aisbench_core.interfaces.client.tables import ServerTables

    return ServerTables(Client(str(address), token, seconds=READ_SECONDS))
