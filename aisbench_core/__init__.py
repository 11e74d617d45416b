"""The core of AISBench Console: configures, runs, collects and compares training benchmarks.

For notebooks and programs of others: `aisbench_core.open_warehouse()`.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aisbench_core.warehouse.open.frames import OpenWarehouse

__all__ = ["open_warehouse"]


def open_warehouse(path: str | Path | None = None) -> "OpenWarehouse":
    """Open a results warehouse read-only, to query it as pandas DataFrames: a file, a snapshot, or the settings' own.

    Close it, or use it in `with`. Safe beside a running console. Raises ConfigError when there is no such file, or
    when the settings cannot be used."""
    from aisbench_core.errors import ConfigError
    from aisbench_core.messages import Message
    from aisbench_core.settings import load_settings
    from aisbench_core.storage import warehouse_location
    from aisbench_core.warehouse.open.frames import OpenWarehouse

    if path is None:
        return OpenWarehouse(warehouse_location(load_settings()))
    if not Path(path).is_file():
        raise ConfigError(
            Message("{path} is no file", path=path),
            Message("name a warehouse or a snapshot, or nothing for the settings' warehouse"),
        )
    return OpenWarehouse(Path(path), foreign=True)
